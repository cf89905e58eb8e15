//! What a user gets without naming a device. No GPU is here, so software devices are declared real by the hook for tests.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use wootz_gguf::{Gguf, TensorSpec, Writer};

/// A tiny model with quantised weights, so that activations matter.
fn model(folder: &Path) -> PathBuf {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llm/tests/golden/tiny-qwen3.model");
    let coded = folder.join("coded.gguf");
    let made = Command::new(env!("CARGO_BIN_EXE_wootz"))
        .args([
            "quantize".as_ref(),
            golden.as_os_str(),
            coded.as_os_str(),
            "--type".as_ref(),
            "q8_0".as_ref(),
        ])
        .output()
        .expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    coded
}

fn wootz(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wootz"));
    command.args(arguments).env_remove("WOOTZ_DEVICE").env_remove("WOOTZ_PRETEND_REAL");
    command.envs(variables.iter().copied()).output().expect("it runs")
}

fn json(arguments: &[&str], variables: &[(&str, &str)]) -> Value {
    let output = wootz(arguments, variables);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_real_gpu_answers_without_a_flag_as_the_cpu_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = model(folder.path());
    let path = path.to_str().expect("a plain path");
    let run = ["run", "-m", path, "--raw", "--json", "--temp", "0"];
    let prompt = ["-n", "6", "one two three"];
    let run: Vec<&str> = run.into_iter().chain(prompt).collect();
    let on_cpu: Vec<&str> = run.iter().copied().chain(["--device", "cpu"]).collect();
    let expected = json(&on_cpu, &[]);
    assert!(expected["device_reason"].is_null(), "a device that was asked for needs no reason");
    for name in ["metal", "webgpu"] {
        let got = json(&run, &[("WOOTZ_PRETEND_REAL", name)]);
        assert_eq!(got["device"], name);
        let reason = got["device_reason"].as_str().expect("a reason");
        assert!(reason.contains("tokens/s") && reason.contains("cpu: about"), "{reason}");
        assert_eq!(got["tokens"], expected["tokens"], "{name}");
        assert_eq!(got["notices"].as_array().map(Vec::len), Some(0));
        // The verdicts are on disk now, and the status line says where and why.
        let plain: Vec<&str> = run.iter().copied().filter(|a| *a != "--json").collect();
        let output = wootz(&plain, &[("WOOTZ_PRETEND_REAL", name)]);
        let status = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(status.contains(&format!("on {name} (about")), "{status}");
        let devices = json(&["devices", "--for", path, "--json"], &[("WOOTZ_PRETEND_REAL", name)]);
        let list = devices["devices"].as_array().expect("a list");
        let chosen = list.iter().find(|d| d["chosen"] == true).expect("one is chosen");
        assert_eq!(chosen["name"], name);
        assert!(chosen["decode_tokens_per_second"].as_f64().is_some_and(|rate| rate > 0.0));
        assert!(list.iter().any(|d| d["name"] == "cpu" && d["chosen"] == false));
    }
}

#[test]
fn a_real_gpu_embeds_without_a_flag_as_the_cpu_does() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../llm/tests/golden");
    for family in ["bert", "qwen3"] {
        let path = format!("{golden}/tiny-{family}.model");
        let embed = ["embed", "-m", &path, "the cat sat"];
        let vector = |output: &Output| -> Vec<f32> {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            serde_json::from_slice(&output.stdout).expect("a vector")
        };
        let expected = vector(&wootz(&embed, &[("WOOTZ_DEVICE", "cpu")]));
        for name in ["metal", "webgpu"] {
            let output = wootz(&embed, &[("WOOTZ_PRETEND_REAL", name)]);
            let status = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(status.contains(&format!("on {name} (about")), "{status}");
            let far = vector(&output).iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(far < 1e-4, "{family} on {name}: {far}");
        }
    }
}

/// The model with a chat template.
fn talkative(path: &Path, folder: &Path) -> PathBuf {
    let gguf = Gguf::open(path).expect("a model");
    let mut writer = Writer::new();
    for (key, value) in gguf.metadata().iter().filter(|(key, _)| *key != "general.alignment") {
        writer.set(key, value);
    }
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}";
    writer.set("tokenizer.chat_template", template);
    for tensor in gguf.tensors() {
        writer.tensor(&tensor.name, &tensor.dims, tensor.format().expect("a format"));
    }
    let chatty = folder.join("chatty.gguf");
    let mut file = std::fs::File::create(&chatty).expect("a file");
    let data = |spec: &TensorSpec| Ok(gguf.data(gguf.tensor(&spec.name)?).to_vec());
    writer.write(&mut file, data).expect("written");
    chatty
}

#[test]
fn a_real_gpu_chats_without_a_flag_as_the_cpu_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = talkative(&model(folder.path()), folder.path());
    let chat = |variables: &[(&str, &str)], more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wootz"));
        command.args(["chat", "-m"]).arg(&path).args(["--temp", "0", "-n", "6"]).args(more);
        command.env_remove("WOOTZ_DEVICE").env_remove("WOOTZ_PRETEND_REAL").envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        child.stdin.take().expect("a pipe").write_all(b"one two three\n").expect("it listens");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let expected = chat(&[], &["--device", "cpu"]);
    let (head, answer) = expected.split_once('\n').expect("a head and an answer");
    assert!(head.contains("on cpu") && !answer.trim().is_empty(), "{expected}");
    for name in ["metal", "webgpu"] {
        let got = chat(&[("WOOTZ_PRETEND_REAL", name)], &[]);
        let (head, same) = got.split_once('\n').expect("a head and an answer");
        assert!(head.contains(&format!("on {name} (about")), "{head}");
        assert_eq!(same, answer, "{name}");
    }
}

#[test]
fn software_devices_are_not_taken_by_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = model(folder.path());
    let report = json(&["devices", "--for", path.to_str().expect("a plain path"), "--json"], &[]);
    let list = report["devices"].as_array().expect("a list");
    let metal = list.iter().find(|d| d["name"] == "metal").expect("it is listed");
    assert!(metal["reason"].as_str().is_some_and(|reason| reason.contains("software")), "{metal}");
}

#[test]
fn a_device_that_is_not_there_is_one_line() {
    for (arguments, variables) in [
        (&["run", "--device", "abacus", "hello"][..], &[][..]),
        (&["run", "hello"], &[("WOOTZ_DEVICE", "abacus")]),
        (&["devices"], &[("WOOTZ_DEVICE", "abacus")]),
    ] {
        let output = wootz(arguments, variables);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(message.contains("abacus") && message.contains("cpu"), "{arguments:?}: {message}");
        assert_eq!(message.trim().lines().count(), 1, "{message}");
    }
}
