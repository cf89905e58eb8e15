//! Model arguments that mean no model.

use std::process::Command;

#[test]
fn a_file_that_is_no_model_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("letter.gguf");
    std::fs::write(&path, "dear reader").expect("a file");
    let out = folder.path().join("out.gguf");
    let (path, out) = (path.to_str().expect("a plain path"), out.to_str().expect("a plain path"));
    for arguments in [
        &["inspect", path][..],
        &["estimate", path],
        &["quantize", path, out, "--type", "q4_k_m"],
        &["run", "--device", "cpu", "-m", path, "hello"],
    ] {
        let result = Command::new(env!("CARGO_BIN_EXE_wootz")).args(arguments).output().expect("it runs");
        let message = String::from_utf8_lossy(&result.stderr);
        assert!(!result.status.success(), "{arguments:?}");
        assert!(message.contains(path) && message.contains("not a GGUF file"), "{arguments:?}: {message}");
        assert!(!std::path::Path::new(out).exists(), "{arguments:?}");
    }
}
