//! Commands on models: what they compute, and arguments that mean no model.

use std::path::Path;
use std::process::Command;

fn wootz(arguments: &[&str]) {
    let result = Command::new(env!("CARGO_BIN_EXE_wootz")).args(arguments).output().expect("it runs");
    let message = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{arguments:?}: {message}");
}

#[test]
fn precise_logits_are_those_of_floats() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_string();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llm/tests/golden/tiny-qwen3.model");
    let (coded, floats) = (path("coded.gguf"), path("floats.gguf"));
    wootz(&["quantize", golden.to_str().expect("a plain path"), &coded, "--type", "q4_0"]);
    wootz(&["quantize", &coded, &floats, "--type", "f32"]);
    let logits = |model: &str, flags: &[&str]| {
        let out = path("logits.npy");
        let arguments = [
            "logits",
            "-m",
            model,
            "--device",
            "cpu",
            "--cache",
            "f32",
            "--tokens",
            "3,14,15,92,65",
            "--out",
            &out,
        ];
        wootz(&[&arguments, flags].concat());
        wootz::load_npy(&out).and_then(|t| t.to_vec::<f32>()).expect("an array")
    };
    let expected = logits(&floats, &[]);
    let size = expected.iter().fold(0f32, |m, v| m.max(v.abs()));
    let error =
        |got: Vec<f32>| got.iter().zip(&expected).map(|(a, b)| (a - b).abs() / size).fold(0f32, f32::max);
    let (rounded, precise) = (error(logits(&coded, &["--fast"])), error(logits(&coded, &[])));
    assert!(precise < 1e-4 && rounded > 10.0 * precise, "{precise}, and {rounded} with --fast");
}

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
        assert!(!Path::new(out).exists(), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn output_that_nobody_reads_or_that_cannot_be_written_ends_the_command_without_a_panic() {
    use std::process::Stdio;
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llm/tests/golden/tiny-qwen3.model");
    let golden = golden.to_str().expect("a plain path");
    let commands =
        [&["inspect", golden, "--tensors"][..], &["inspect", golden, "--json"], &["pull"], &["devices"]];
    for arguments in commands {
        let command = |stdout: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_wootz"));
            command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
            command.spawn().expect("it starts")
        };
        // The reader is gone before the command starts, so that nothing can be written in between.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let closed = command(writer.into()).wait_with_output().expect("it ends");
        let message = String::from_utf8_lossy(&closed.stderr);
        assert_eq!((closed.status.code(), message.as_ref()), (Some(141), ""), "{arguments:?}");
        let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { continue };
        let full = command(full.into()).wait_with_output().expect("it ends");
        let message = String::from_utf8_lossy(&full.stderr);
        assert_eq!(full.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.starts_with("error: ") && message.lines().count() == 1, "{arguments:?}: {message}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llm/tests/golden/tiny-qwen3.model");
    for json in [&[][..], &["--json"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has one");
        let mut command = Command::new(env!("CARGO_BIN_EXE_wootz"));
        command.args(["run", "--device", "cpu", "-n", "4", "--raw", "hello", "-m"]).arg(&golden).args(json);
        let output = command.stdout(full).output().expect("it starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("error: ") && !message.contains("panicked"), "{message}");
    }
}
