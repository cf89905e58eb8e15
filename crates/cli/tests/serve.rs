//! `wootz serve` from outside: signals, and the clients that Wootz brings.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use wootz_gguf::{Gguf, MetaValue, Writer};

/// A small model with a long context and a chat template.
fn model(folder: &Path) -> PathBuf {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llm/tests/golden/tiny-llama.model");
    let golden = Gguf::open(golden).expect("a model");
    let mut writer = Writer::new();
    for (key, value) in golden.metadata().iter() {
        writer.set(key, MetaValue::from(value));
    }
    writer.set("llama.context_length", MetaValue::U32(65536));
    writer.set("tokenizer.chat_template", "{{ messages[-1].content }}");
    for tensor in golden.tensors() {
        writer.tensor(&tensor.name, &tensor.dims, tensor.format().expect("a known format"));
    }
    let mut bytes = Vec::new();
    let data = |spec: &wootz_gguf::TensorSpec| Ok(golden.data(golden.tensor(&spec.name)?).to_vec());
    writer.write(&mut bytes, data).expect("a well-formed file");
    let path = folder.join("tiny.gguf");
    std::fs::write(&path, bytes).expect("a file");
    path
}

struct Server {
    process: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_wootz"));
        command.args(["serve", "--device", "cpu", "--port", "0", "--max-tokens", "100000", "-m"]);
        let process = command.arg(model(folder.path())).env("NO_COLOR", "1").stderr(Stdio::piped()).spawn();
        let mut process = process.expect("it starts");
        let mut lines = BufReader::new(process.stderr.take().expect("a pipe")).lines();
        let address = lines.find_map(|line| {
            let line = line.expect("text");
            Some(line.split_once("http://")?.1.split(' ').next()?.to_owned())
        });
        // Somebody has to read what it says.
        std::thread::spawn(move || lines.for_each(drop));
        Server { process, address: address.expect("it says its address"), _folder: folder }
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).ok()?;
        Some(stream)
    }

    /// An answer of so many tokens, when it runs.
    fn begin(&self, tokens: usize) -> TcpStream {
        let body = format!(
            r#"{{"prompt": [3, 4, 5], "max_tokens": {tokens}, "ignore_eos": true, "temperature": 0}}"#
        );
        let answer = self.send("POST", "/v1/completions", &body).expect("a connection");
        let begin = Instant::now();
        while !read(self.send("GET", "/health", "").expect("a connection")).contains("\"running\":1") {
            assert!(begin.elapsed() < Duration::from_secs(60), "it does not run");
        }
        answer
    }

    fn interrupt(&self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    }

    fn wait(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("it can be waited for") {
                return status;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn read(mut stream: TcpStream) -> String {
    let mut text = String::new();
    // What was cut off is shorter.
    let _ = stream.read_to_string(&mut text);
    text
}

#[test]
fn the_first_interrupt_finishes_what_runs() {
    let mut server = Server::start();
    let answer = server.begin(3000);
    server.interrupt();
    let answer = read(answer);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"completion_tokens\":3000"), "{answer}");
    assert!(server.wait().success());
    assert!(server.send("GET", "/health", "").is_none(), "nobody listens any more");
}

#[test]
fn the_second_interrupt_ends_at_once() {
    let mut server = Server::start();
    let answer = server.begin(60_000);
    server.interrupt();
    std::thread::sleep(Duration::from_millis(200));
    let begin = Instant::now();
    server.interrupt();
    assert!(server.wait().success());
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(!read(answer).contains("\"completion_tokens\":60000"));
}

#[test]
fn chat_and_bench_are_clients() {
    let server = Server::start();
    let url = format!("http://{}", server.address);
    let mut chat = Command::new(env!("CARGO_BIN_EXE_wootz"));
    chat.args(["chat", "--url", &url, "-n", "16"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut chat = chat.spawn().expect("it starts");
    chat.stdin.take().expect("a pipe").write_all(b"Hello\nAnd again\n").expect("it reads");
    let output = chat.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.iter().filter(|byte| **byte != b'\n').count() > 8, "{output:?}");

    let mut bench = Command::new(env!("CARGO_BIN_EXE_wootz"));
    bench.args(["bench", "--serve", &url, "--requests", "6", "--streams", "2", "--prompt-words", "4"]);
    let run = |bench: &mut Command| -> serde_json::Value {
        let output = bench.output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let bench = bench.args(["--tokens", "8", "--json"]);
    let report = run(bench);
    assert_eq!((&report["requests"], &report["tokens"]), (&6.into(), &48.into()), "{report}");
    assert!(report["first_token_ms"]["p99"].as_f64() > Some(0.0), "{report}");
    let cached = |report: serde_json::Value| report["cached_tokens"].as_u64();
    assert!(cached(run(bench)) > Some(0), "the same prompts again");
    let before = cached(run(bench.args(["--seed", "7"])));
    assert!(before < cached(run(bench)), "with another seed they are new");
    let folder = tempfile::tempdir().unwrap();
    let (page, file) = (folder.path().join("load.html"), folder.path().join("load.json"));
    let mut both = Command::new(env!("CARGO_BIN_EXE_wootz"));
    both.args([
        "bench",
        "--serve",
        &url,
        "--serve",
        &url,
        "--requests",
        "2",
        "--prompt-words",
        "4",
        "--tokens",
        "4",
    ]);
    let output = both.arg("--html").arg(&page).arg("--json").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reports: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(reports.as_array().is_some_and(|all| all.len() == 2 && all.iter().all(|one| one["tokens"] == 8)));
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.matches("<polyline").count() == 4 && page.contains(&url), "a curve per server and chart");
}
