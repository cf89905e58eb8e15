//! Families whose formulas are easy to get wrong, against networks in NumPy with floats of 64 bits (`tools/reference.py`). They are
//! written from the papers, so that an error of llama.cpp, or one that both have, would show.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use wootz::Device;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};

const FAMILIES: [&str; 5] = ["deepseek2", "gemma4", "granitehybrid", "qwen35moe", "rwkv7"];

fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match std::env::var_os("WOOTZ_PYTHON") {
        Some(path) => path.into(),
        None if root.join(".venv/bin/python").exists() => root.join(".venv/bin/python"),
        None => "python3".into(),
    }
}

/// The logits of all models in NumPy; none if Python has no such packages.
fn expected(models: &[PathBuf], tokens: &[u32]) -> Option<Vec<f32>> {
    let has = Command::new(python()).args(["-c", "import numpy, gguf"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("WOOTZ_REQUIRE_PYTHON").is_none(), "no numpy or gguf; run scripts/setup");
        wootz_testkit::skipped("Python cannot import numpy and gguf; run scripts/setup");
        return None;
    }
    let ids: Vec<String> = tokens.iter().map(u32::to_string).collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/reference.py");
    let output = Command::new(python()).arg(script).arg(ids.join(",")).args(models).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

#[test]
fn logits_equal_numpys() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let models = FAMILIES.map(|family| golden.join(format!("tiny-{family}.model")));
    // More than the windows of 16 tokens.
    let tokens: Vec<u32> = (0..60).map(|i| (i * i * 7 + 3 * i + 11) % 256).collect();
    let Some(expected) = expected(&models, &tokens) else { return };
    for ((family, path), expected) in
        FAMILIES.iter().zip(&models).zip(expected.chunks_exact(expected.len() / FAMILIES.len()))
    {
        let model = Arc::new(Model::open(path, &Device::cpu(), ModelOptions { precise: true }).unwrap());
        let options = SessionOptions { context: 64, cache: CacheFormat::F32, batch_invariant: false };
        let mut got: Vec<f32> = Vec::new();
        let keep = |rows: &[f32]| {
            got.extend_from_slice(rows);
            Ok(())
        };
        Session::new(&model, options).unwrap().score(&tokens, keep).unwrap();
        assert_eq!(got.len(), expected.len(), "{family}");
        let size = expected.iter().fold(0f32, |m, v| m.max(v.abs()));
        let worst = got.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max) / size;
        assert!(size > 1.0 && worst < 1e-4, "{family}: logits differ by {worst} of their range");
    }
}
