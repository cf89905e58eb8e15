//! Real clients from the Python index against a server with a small model: see `clients.py`.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use support::Running;

fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match std::env::var_os("WOOTZ_PYTHON") {
        Some(path) => path.into(),
        None if root.join(".venv/bin/python").exists() => root.join(".venv/bin/python"),
        None => "python3".into(),
    }
}

/// Whether Python has the modules; where it must, it is an error that it has not.
fn has(modules: &str) -> bool {
    let works = Command::new(python()).args(["-c", &format!("import {modules}")]).output();
    let works = works.is_ok_and(|output| output.status.success());
    assert!(
        works || std::env::var_os("WOOTZ_REQUIRE_PYTHON").is_none(),
        "WOOTZ_REQUIRE_PYTHON is set, but {} cannot import {modules}; run scripts/setup",
        python().display()
    );
    if !works {
        wootz_testkit::skipped(&format!("{} cannot import {modules}; run scripts/setup", python().display()));
    }
    works
}

fn pytest(file: &str, server: &Running) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let output = Command::new(python())
        .args(["-m", "pytest", "-q", "-x", "-s", "-p", "no:cacheprovider"])
        .arg(path)
        .env("WOOTZ_URL", format!("http://{}", server.address))
        .env("WOOTZ_PID", std::process::id().to_string())
        .env("NO_PROXY", "*")
        .output()
        .expect("python runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    println!("{text}");
}

#[test]
fn clients_of_three_vendors() {
    if !has("pytest, openai, anthropic, ollama") {
        return;
    }
    let server = Running::start_with(true, |_, _| {});
    pytest("clients.py", &server);
    server.stop();
}

#[test]
fn bad_input_gets_the_right_status() {
    if !has("pytest, httpx") {
        return;
    }
    let server = Running::start(|options, engine| {
        options.keys = vec!["secret".into(), "other".into()];
        options.origins = vec!["http://localhost:3000".into()];
        options.body_limit = 1 << 20;
        options.read_timeout = Duration::from_secs(2);
        options.write_timeout = Duration::from_secs(2);
        options.embedding_queue = 1;
        engine.slots = 1;
        engine.queue = 1;
    });
    pytest("bad_input.py", &server);
    server.stop();
}

#[test]
fn schemathesis_finds_no_server_error() {
    if !has("pytest, schemathesis") {
        return;
    }
    let server = Running::start(|options, _| options.token_limit = 8);
    pytest("schema.py", &server);
    server.stop();
}

#[test]
fn answers_follow_random_schemas() {
    if !has("pytest, httpx, jsonschema_rs") {
        return;
    }
    let server = Running::start(|_, _| {});
    pytest("schemas.py", &server);
    server.stop();
}

#[test]
fn idle_models_are_dropped_for_others() {
    let server = Running::start(|options, _| options.model_memory = 1);
    let ask = |method: &str, path: &str, body: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    };
    let loaded = || {
        let answer = ask("GET", "/api/ps", "");
        ["tiny", "second", "tiny-bert"].map(|name| answer.contains(&format!("\"name\":\"{name}\"")))
    };
    assert_eq!(loaded(), [true, false, false]);
    let body = r#"{"model": "NAME", "prompt": "abc", "max_tokens": 8, "temperature": 0}"#;
    let text = |name: &str| {
        let answer = ask("POST", "/v1/completions", &body.replace("NAME", name));
        let start = answer.find("\"text\"").unwrap();
        answer[start..].split("logprobs").next().unwrap().to_owned()
    };
    let first = text("tiny");
    let counted = || {
        let text = ask("GET", "/metrics", "");
        let start = "wootz_answers_total{model=\"tiny\"} ";
        text.lines().find_map(|line| line.strip_prefix(start)?.parse::<u64>().ok())
    };
    assert_eq!(counted(), Some(1));
    // Each is too much, so that there is never more than one.
    assert_eq!(text("second"), first);
    assert_eq!(loaded(), [false, true, false]);
    ask("POST", "/v1/embeddings", r#"{"model": "tiny-bert", "input": "a"}"#);
    assert_eq!(loaded(), [false, false, true]);
    assert_eq!(counted(), Some(1), "counters of a model that was unloaded do not fall");
    assert_eq!(text("tiny"), first);
    assert_eq!(loaded(), [true, false, false]);
    assert_eq!(counted(), Some(2));
    server.stop();
}

/// Half an hour of it with `WOOTZ_SOAK=1800`.
#[test]
#[cfg(target_os = "linux")]
fn mixed_load_with_faults_changes_nothing() {
    if !has("pytest, httpx") {
        return;
    }
    let server = Running::start(|options, engine| {
        options.read_timeout = Duration::from_secs(2);
        engine.slots = 8;
        engine.queue = 8;
        // A little more than the sequences of all slots, so that caches come and go.
        engine.budget = 4 << 20;
    });
    pytest("soak.py", &server);
    server.stop();
}

#[test]
fn the_page_in_a_browser() {
    let found = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    if !["chromium", "chromium-browser", "google-chrome"].iter().any(|name| found(name)) {
        assert!(std::env::var_os("WOOTZ_REQUIRE_BROWSER").is_none(), "no chromium; run scripts/setup");
        eprintln!("skipped: no chromium on this machine (scripts/setup installs it)");
        return;
    }
    if !has("pytest, websocket") {
        return;
    }
    let server = Running::start(|_, _| {});
    pytest("page.py", &server);
    server.stop();
}

/// Whether it still runs or not, it has been accepted.
fn wait_until_accepted(address: SocketAddr) {
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        if !answer.contains("\"steps\":0") {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_server_finishes_what_runs() {
    let server = Running::start(|_, _| {});
    let mut stream = TcpStream::connect(server.address).unwrap();
    let body = r#"{"prompt": "Hello", "max_tokens": 1500, "ignore_eos": true, "temperature": 0}"#;
    let length = body.len();
    write!(
        stream,
        "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    wait_until_accepted(server.address);
    server.stop();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"completion_tokens\":1500"), "{answer}");
}
