//! `wootz run`, `wootz chat` and `wootz estimate` over ranks: the answers of one rank, and what cannot be done, said once.
#![cfg(target_os = "linux")]

#[path = "../../mpi/tests/launch/mod.rs"]
#[allow(dead_code, reason = "the tests of wootz-mpi use more of it")]
mod launch;

use launch::{Installed, installed, text};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const WOOTZ: &str = env!("CARGO_BIN_EXE_wootz");

fn model(name: &str) -> String {
    format!("{}/../llm/tests/golden/tiny-{name}.model", env!("CARGO_MANIFEST_DIR"))
}

/// One library for each kind of launcher.
fn libraries() -> Vec<Installed> {
    installed().into_iter().filter(|library| ["mpich from pip", "Open MPI"].contains(&library.name)).collect()
}

/// What a command answers to these lines.
fn answer(mut command: Command, lines: &str) -> Output {
    // Open MPI's launcher gives rank 0 a terminal.
    command.env("WOOTZ_THREADS", "1").env("WOOTZ_MPI_TIMEOUT", "60").env("NO_COLOR", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("it starts");
    process.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it is read");
    process.wait_with_output().expect("it ends")
}

fn alone(arguments: &[&str], lines: &str) -> String {
    let mut command = Command::new(WOOTZ);
    command.args(arguments).args(["--device", "cpu"]);
    let output = answer(command, lines);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn over(library: &Installed, ranks: usize, arguments: &[&str], lines: &str) -> Output {
    let mut command = library.command(ranks);
    command.arg(WOOTZ).args(arguments);
    answer(command, lines)
}

#[test]
fn run_over_ranks_gives_the_tokens_of_one() {
    let tokens = |json: &str| {
        let report: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
        report["tokens"].clone()
    };
    for (name, ways) in [("llama", &["pipeline", "tensor"][..]), ("qwen3moe", &["expert"])] {
        let model = model(name);
        let arguments = ["run", "-m", &model, "--raw", "-n", "12", "--json"];
        let expected = tokens(&alone(&[&arguments[..], &["t1 t2"]].concat(), ""));
        assert_eq!(expected.as_array().map(Vec::len), Some(12));
        for library in libraries() {
            for way in ways {
                // The prompt comes from the terminal of rank 0.
                let output = over(&library, 2, &[&arguments[..], &["--split", way]].concat(), "t1 t2");
                assert!(output.status.success(), "{}, {way}: {}", library.name, text(&output));
                assert_eq!(
                    tokens(&String::from_utf8_lossy(&output.stdout)),
                    expected,
                    "{}, {way}",
                    library.name
                );
            }
        }
    }
}

/// A model file with a template for chats, which the tiny ones lack: one more pair of metadata, as long as the alignment of what
/// comes behind asks for.
fn with_template(name: &str, folder: &Path) -> PathBuf {
    let file = std::fs::read(model(name)).expect("a model");
    let (key, mut template) =
        ("tokenizer.chat_template", String::from("{% for m in messages %}{{ m.content }} {% endfor %}"));
    while !(8 + key.len() + 4 + 8 + template.len()).is_multiple_of(32) {
        template.push(' ');
    }
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
    // Magic, version, number of tensors, number of pairs; a string has the type 8.
    let mut new = file[..16].to_vec();
    new.extend((word(16) + 1).to_le_bytes());
    new.extend((key.len() as u64).to_le_bytes());
    new.extend(key.as_bytes());
    new.extend(8u32.to_le_bytes());
    new.extend((template.len() as u64).to_le_bytes());
    new.extend(template.as_bytes());
    new.extend(&file[24..]);
    let path = folder.join("chat.gguf");
    std::fs::write(&path, new).expect("room for a model");
    path
}

#[test]
fn chat_over_ranks_answers_as_one_rank_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = with_template("llama", folder.path());
    let path = path.to_str().expect("a plain path");
    let arguments = ["chat", "-m", path, "-n", "6"];
    let lines = "t1 t2\nt5\n/clear\nt1 t2\n";
    // The first line names where the model runs.
    let answers = |out: &str| out.split_once("\n\n").map(|(_, rest)| rest.to_owned()).expect("a head");
    let expected = answers(&alone(&arguments, lines));
    assert!(expected.contains("(new conversation)"), "{expected}");
    for library in libraries() {
        let output = over(&library, 2, &[&arguments[..], &["--split", "pipeline"]].concat(), lines);
        assert!(output.status.success(), "{}: {}", library.name, text(&output));
        assert_eq!(answers(&String::from_utf8_lossy(&output.stdout)), expected, "{}", library.name);
    }
}

/// Runs a command that must fail, and what is said once.
fn refused(what: &str, mut command: Command, expected: &str) {
    command.env("WOOTZ_THREADS", "1").env("WOOTZ_MPI_TIMEOUT", "60").stdin(Stdio::null());
    let output = command.output().expect("the launcher runs");
    let text = text(&output);
    assert!(!output.status.success(), "{what}: {text}");
    assert_eq!(text.matches(expected).count(), 1, "{what}: {text}");
    assert_eq!(text.matches("error: ").count(), 1, "{what}: {text}");
}

#[test]
fn what_cannot_be_run_over_ranks_is_said_once() {
    let (llama, qwen) = (model("llama"), model("qwen3"));
    for library in libraries() {
        let start = |ranks, arguments: &[&str]| {
            let mut command = library.command(ranks);
            command.arg(WOOTZ).args(arguments);
            command
        };
        let run = ["run", "--raw", "-n", "4", "t1"];
        let mut command = start(1, &[&run[..], &["-m", &llama]].concat());
        command.args([":", "-n", "1", WOOTZ]).args(run).args(["-m", &qwen]);
        refused("other arguments", command, "ranks disagree on the arguments: rank 0");
        let command = start(3, &[&run[..], &["-m", &llama, "--split", "pipeline"]].concat());
        refused("too many ranks", command, "3 ranks are too many for 2 layers");
        let command = start(3, &[&run[..], &["-m", &llama, "--split", "tensor"]].concat());
        refused("too many ranks", command, "3 ranks are too many for 2 key-value heads");
        let mut command = start(2, &[&run[..], &["-m", &llama]].concat());
        command.env("WOOTZ_MPI_LIBRARY", "libm.so.6");
        refused("no MPI library", command, "libm.so.6 is not an MPI library");
        // The file is in the folder of rank 0 only.
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("1")).expect("a folder for rank 1");
        std::fs::create_dir(folder.path().join("0")).expect("a folder for rank 0");
        std::os::unix::fs::symlink(&llama, folder.path().join("0/here.gguf")).expect("a link");
        let mut command = library.command(2);
        let script = "cd $1/$PMI_RANK$OMPI_COMM_WORLD_RANK; shift; exec \"$@\"";
        command.args(["sh", "-c", script, "sh"]).arg(folder.path()).arg(WOOTZ).args(run);
        command.args(["-m", "here.gguf"]);
        refused("a missing file", command, "no file 'here.gguf'");
    }
}

#[test]
fn a_library_of_another_launcher_is_refused() {
    let libraries = libraries();
    let [mpich, _open] = &libraries[..] else { return };
    let mut command = mpich.command(2);
    // The other way round, MPICH's library ends the process by itself, and says that it does not know the launcher.
    command.env("WOOTZ_MPI_LIBRARY", "libmpi.so.40");
    command.arg(WOOTZ).args(["run", "--raw", "t1", "-m", &model("llama")]);
    refused("Open MPI's library", command, "MPICH's launcher started 2 ranks, but libmpi.so.40");
}

#[test]
fn devices_names_the_library_that_is_loaded() {
    for library in installed() {
        let mut command = library.command(1);
        command.arg(WOOTZ).args(["devices", "--json"]);
        let output = answer(command, "");
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}: {}", library.name, text(&output)));
        assert_eq!(report["mpi"]["interface"], library.abi.name(), "{}: {}", library.name, report["mpi"]);
        let maker = if library.name == "Open MPI" { "Open MPI" } else { "MPICH" };
        assert!(report["mpi"]["version"].as_str().is_some_and(|v| v.contains(maker)), "{}", report["mpi"]);
    }
}

#[test]
fn estimate_shows_what_each_rank_would_hold() {
    let llama = model("llama");
    let estimate = |options: &[&str]| {
        let mut command = Command::new(WOOTZ);
        command.args(["estimate", &llama, "--json"]).args(options);
        answer(command, "")
    };
    let report = |options: &[&str]| -> Value {
        let output = estimate(options);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output)))
    };
    let whole = report(&[])["estimates"][0]["weights_bytes"].as_u64().expect("bytes");
    let two = report(&["--ranks", "2", "--link", "10gbe"]);
    for way in ["pipeline", "tensor"] {
        let parts = two["estimates"].as_array().expect("a list").iter().filter(|e| e["parallel"] == way);
        let parts: Vec<u64> = parts.filter_map(|e| e["weights_bytes"].as_u64()).collect();
        assert_eq!(parts.len(), 2, "{two}");
        assert!(
            parts.iter().sum::<u64>() >= whole && parts.iter().all(|&part| part < whole),
            "{parts:?}, {whole}"
        );
    }
    let rate =
        |report: &Value, i: usize| report["forecasts"][i]["tokens_per_second"].as_f64().expect("a rate");
    assert_eq!(two["forecasts"].as_array().map(Vec::len), Some(2));
    let slow = report(&["--ranks", "2", "--link", "1gbe"]);
    assert!(rate(&two, 0) > rate(&slow, 0) && rate(&two, 1) > rate(&slow, 1), "{two}, {slow}");
    let busy = report(&["--ranks", "2", "--link", "10gbe", "--gflops", "0.001"]);
    assert!(rate(&two, 0) > rate(&busy, 0), "{two}, {busy}");
    for (options, expected) in [
        (&["--ranks", "3"][..], "3 ranks are too many for 2 layers"),
        (&["--ranks", "0"], "--ranks must be at least 1"),
        (&["--ranks", "2", "--link", "pigeon"], "unknown link 'pigeon'"),
    ] {
        let output = estimate(options);
        assert!(
            !output.status.success() && text(&output).contains(expected),
            "{options:?}: {}",
            text(&output)
        );
    }
}
