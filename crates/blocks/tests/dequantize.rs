//! Dequantisation against the `gguf` Python package: golden bytes in git, and live where Python is.

use std::path::{Path, PathBuf};
use std::process::Command;

use wootz_blocks::{BlockFormat, dequantize};

/// Q8_K is an intermediate format that the package cannot read.
fn formats() -> impl Iterator<Item = BlockFormat> {
    BlockFormat::ALL.iter().copied().filter(|f| *f != BlockFormat::Q8_K)
}

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn assert_same_bits(format: BlockFormat, ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len(), "{format}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let same = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(
            same,
            "{format}: value {i} is {a:e} ({:#x}), expected {b:e} ({:#x})",
            a.to_bits(),
            b.to_bits()
        );
    }
}

#[test]
fn golden_blocks_dequantise_to_the_same_bits() {
    for format in formats() {
        let file = std::fs::read(golden_dir().join(format!("{}.bin", format.name().to_lowercase()))).unwrap();
        let per_block = format.block_bytes() + 4 * format.block_len();
        assert_eq!(file.len() % per_block, 0, "{format}: the golden file is cut off");
        let blocks = file.len() / per_block;
        let (raw, expected) = file.split_at(blocks * format.block_bytes());
        let mut values = vec![0.0; blocks * format.block_len()];
        dequantize(format, raw, &mut values).unwrap();
        assert_same_bits(format, &values, &floats(expected));
    }
}

/// The interpreter of the project's virtual environment, or of `WOOTZ_PYTHON`.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = std::env::var_os("WOOTZ_PYTHON").map_or(root.join(".venv/bin/python"), PathBuf::from);
    let works =
        Command::new(&path).args(["-c", "import gguf, numpy"]).output().is_ok_and(|o| o.status.success());
    assert!(
        works || std::env::var_os("WOOTZ_REQUIRE_PYTHON").is_none(),
        "WOOTZ_REQUIRE_PYTHON is set, but {} cannot import gguf and numpy; run scripts/setup",
        path.display()
    );
    works.then_some(path)
}

#[test]
fn random_bytes_dequantise_to_the_same_bits_as_python() {
    let Some(python) = python() else {
        return wootz_testkit::skipped("there is no Python with gguf; run scripts/setup");
    };
    let dir = tempfile::tempdir().unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    // Enough for most points of the largest grid.
    let blocks = |f: BlockFormat| if f.grid().is_some() { 256 } else { 4096 / f.block_len() };
    let raw: Vec<Vec<u8>> =
        formats().map(|f| (0..blocks(f) * f.block_bytes()).map(|_| byte()).collect()).collect();
    for (format, raw) in formats().zip(&raw) {
        std::fs::write(dir.path().join(format.name()), raw).unwrap();
    }
    let run = Command::new(&python).arg(golden_dir().join("make.py")).arg(dir.path()).status().unwrap();
    assert!(run.success(), "make.py failed");
    for (format, raw) in formats().zip(&raw) {
        let expected = std::fs::read(dir.path().join(format!("{format}.f32"))).unwrap();
        let mut values = vec![0.0; blocks(format) * format.block_len()];
        dequantize(format, raw, &mut values).unwrap();
        assert_same_bits(format, &values, &floats(&expected));
    }
}
