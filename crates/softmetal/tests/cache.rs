//! The cache of compiled kernels is not trusted: whatever happened to its files, kernels run right, and the files are made again.

use softmetal::*;
use std::path::{Path, PathBuf};

const SOURCE: &str = "#include <metal_stdlib>\nusing namespace metal;\n\
    kernel void scale(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 3; }\n\
    kernel void shift(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 3; }\n";

/// Opens a device on a cache folder and runs both kernels, compiled together or one by one.
fn run(cache: &Path, together: bool) -> Result<Vec<f32>> {
    let device =
        Device::new(DeviceOptions { cache_dir: Some(cache.to_path_buf()), ..DeviceOptions::default() })?;
    let recipe = |function| Recipe {
        source: SOURCE,
        options: CompileOptions::default(),
        function,
        constants: FunctionConstants::new(),
    };
    if together {
        device.prepare(&[recipe("scale"), recipe("shift")]);
    }
    let library = device.new_library(SOURCE, &CompileOptions::default())?;
    let buffer = device.new_buffer_with_bytes(bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, 4.0]))?;
    for name in ["scale", "shift"] {
        let pipeline = device.new_pipeline(&library.function(name)?)?;
        let command = device.new_queue().command_buffer();
        let mut encoder = command.compute_encoder(DispatchType::Serial);
        encoder.set_pipeline(&pipeline);
        encoder.set_buffer(0, &buffer, 0)?;
        encoder.dispatch_threads(4, 4)?;
        encoder.end_encoding();
        command.run()?;
    }
    buffer.read()
}

const RIGHT: [f32; 4] = [6.0, 9.0, 12.0, 15.0];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<_> = entries.flat_map(|p| if p.is_dir() { files(&p) } else { vec![p] }).collect();
    all.sort();
    all
}

/// Puts another file in a file's place, as after a crash: the old one may still be mapped by this process.
fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("other");
    std::fs::write(&beside, bytes).unwrap();
    std::fs::rename(beside, path).unwrap();
}

/// The ways in which a file goes bad: what it becomes, by its content.
fn damages(content: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let flipped = |at: usize| {
        let mut bytes = content.to_vec();
        bytes[at] ^= 0x10;
        bytes
    };
    let mut list = vec![("empty", vec![]), ("garbage", vec![0xa5; content.len() + 1])];
    if !content.is_empty() {
        list.push(("cut in half", content[..content.len() / 2].to_vec()));
        list.push(("cut by one", content[..content.len() - 1].to_vec()));
        list.push(("flipped at its start", flipped(0)));
        list.push(("flipped in the middle", flipped(content.len() / 2)));
        list.push(("flipped at its end", flipped(content.len() - 1)));
    }
    list
}

#[test]
fn damaged_files_are_made_again() {
    for together in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(run(folder.path(), together).unwrap(), RIGHT);
        let all = files(folder.path());
        assert!(all.iter().any(|f| f.extension().is_some_and(|e| e == "so")), "{all:?}");
        let full = std::env::var_os("WOOTZ_FULL").is_some();
        // Headers of the shim are written from the program where they differ: two of them stand for all.
        let headers = |f: &&PathBuf| f.extension().is_some_and(|e| e == "h" || e == "inc");
        let (shim, own): (Vec<_>, Vec<_>) = all.iter().partition(|f| headers(f) || f.extension().is_none());
        let shim = shim.into_iter().take(if full { usize::MAX } else { 6 });
        for path in own.into_iter().chain(shim) {
            let content = std::fs::read(path).unwrap();
            let every = if full { 1 } else { 3 };
            for (what, bytes) in damages(&content).into_iter().step_by(every) {
                replace(path, &bytes);
                let values = run(folder.path(), together);
                assert_eq!(values.ok().as_deref(), Some(&RIGHT[..]), "{}: {what}", path.display());
            }
            replace(path, &content);
        }
    }
}

#[test]
fn everything_cut_short_at_once_heals() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), true).unwrap(), RIGHT);
    for path in files(folder.path()) {
        let content = std::fs::read(&path).unwrap();
        replace(&path, &content[..content.len().min(7)]);
    }
    assert_eq!(run(folder.path(), true).unwrap(), RIGHT);
    // Now everything is whole again: a device whose compiler is gone would find all it needs.
    let library = files(folder.path()).into_iter().find(|f| f.extension().is_some_and(|e| e == "so"));
    let made = std::fs::metadata(library.as_ref().unwrap()).unwrap().modified().unwrap();
    assert_eq!(run(folder.path(), true).unwrap(), RIGHT);
    assert_eq!(std::fs::metadata(library.unwrap()).unwrap().modified().unwrap(), made);
}

#[cfg(unix)]
mod owners {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn files_that_others_may_have_written_are_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(run(folder.path(), false).unwrap(), RIGHT);
        let libraries: Vec<_> =
            files(folder.path()).into_iter().filter(|f| f.extension().is_some_and(|e| e == "so")).collect();
        let elsewhere = folder.path().join("elsewhere");
        let before = std::fs::metadata(&libraries[0]).unwrap().ino();
        std::fs::rename(&libraries[0], &elsewhere).unwrap();
        symlink(&elsewhere, &libraries[0]).unwrap();
        std::fs::set_permissions(&libraries[1], PermissionsExt::from_mode(0o666)).unwrap();
        assert_eq!(run(folder.path(), false).unwrap(), RIGHT);
        let after = std::fs::symlink_metadata(&libraries[0]).unwrap();
        assert!(after.is_file() && after.ino() != before);
        assert_eq!(std::fs::metadata(&libraries[1]).unwrap().mode() & 0o022, 0);
    }

    /// A folder of somebody else, or one that everybody may write, is not where the command loads code from.
    #[test]
    fn the_folder_is_closed_to_others_or_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("k.metal");
        std::fs::write(&source, SOURCE).unwrap();
        let open = folder.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        let check = |cache: &Path| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_softmetal"));
            let output = command.arg("check").arg(&source).env("SOFTMETAL_CACHE", cache).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        check(&open);
        assert_eq!(std::fs::metadata(&open).unwrap().mode() & 0o022, 0);
        let new = folder.path().join("new");
        check(&new);
        assert_eq!(std::fs::metadata(&new).unwrap().mode() & 0o777, 0o700);
        // Only the superuser can give a folder away, to show what happens with one.
        let given = folder.path().join("given");
        std::fs::create_dir(&given).unwrap();
        if std::os::unix::fs::chown(&given, Some(65534), None).is_ok() {
            check(&given);
            assert_eq!(std::fs::read_dir(&given).unwrap().count(), 0);
        }
    }
}
