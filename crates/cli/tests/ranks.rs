//! `wootz serve` and `wootz bench` over ranks: the answers of one rank, and what clients hear when a rank is lost.
#![cfg(target_os = "linux")]

#[path = "../../mpi/tests/launch/mod.rs"]
#[allow(dead_code, reason = "the tests of wootz-mpi use more of it")]
mod launch;

use launch::{Installed, installed};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// In the environment of all processes of a test, so that none is overlooked.
const MARK: &str = "WOOTZ_RANKS_TEST";

fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../llm/tests/golden/tiny-{name}.model"))
}

/// A server, on one rank or on several.
struct Server {
    process: Child,
    port: u16,
    mark: String,
}

impl Server {
    fn start(mut command: Command, options: &[&str]) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
        let mark = format!("{}-{port}", std::process::id());
        command.env(MARK, &mark).env("WOOTZ_THREADS", "1").env("WOOTZ_MPI_TIMEOUT", "4");
        command.arg(env!("CARGO_BIN_EXE_wootz")).args([
            "serve",
            "--port",
            &port.to_string(),
            "--context",
            "128",
        ]);
        let process = command.args(options).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut server = Server { process, port, mark };
        let begin = Instant::now();
        while server.ask("GET", "/health", "").is_none_or(|answer| answer.0 != 200) {
            let ended = server.process.try_wait().expect("it can be waited for");
            assert!(ended.is_none() && begin.elapsed() < Duration::from_secs(120), "{}", server.words());
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// Status and body of an answer; none if the connection was refused or cut.
    fn ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        Some((status, answer.split_once("\r\n\r\n")?.1.to_owned()))
    }

    fn complete(&self, prompt: &[u32], tokens: usize) -> Option<(u16, String)> {
        let body = format!(
            r#"{{"prompt": {prompt:?}, "max_tokens": {tokens}, "temperature": 0, "ignore_eos": true, "logprobs": 1}}"#
        );
        self.ask("POST", "/v1/completions", &body)
    }

    /// The answers to a few prompts at once, as far as they depend on the prompts alone.
    fn answers(&self) -> Vec<String> {
        let prompt =
            |i: u32| (0..20 + 9 * i).map(|k| (k * k * 7 + (k / 16) * i + 3) % 60).collect::<Vec<_>>();
        std::thread::scope(|scope| {
            let ask = |i| scope.spawn(move || self.complete(&prompt(i), 12).expect("an answer"));
            let waiting: Vec<_> = (0..6).map(ask).collect();
            let heard = waiting.into_iter().map(|thread| thread.join().expect("it ends"));
            heard
                .map(|(status, text)| {
                    assert_eq!(status, 200, "{text}");
                    text[text.find("\"choices\"").expect("choices")..]
                        .split("\"usage\"")
                        .next()
                        .unwrap_or_default()
                        .into()
                })
                .collect()
        })
    }

    /// The processes of its ranks, by rank; a shell may run them.
    fn rank(&self, rank: usize) -> Option<u32> {
        let wanted = [format!("PMI_RANK={rank}"), format!("OMPI_COMM_WORLD_RANK={rank}")];
        let found = self.processes(|words| words.iter().any(|word| wanted.contains(word)));
        let is_wootz =
            |id: &u32| std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe.ends_with("wootz"));
        found.into_iter().find(is_wootz)
    }

    /// Its processes whose environment is as asked.
    fn processes(&self, wanted: impl Fn(&[String]) -> bool) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.mark);
        let list = std::fs::read_dir("/proc").expect("/proc").flatten();
        let numbers = list.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_wanted = |id: &u32| {
            let words = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let words: Vec<String> =
                words.split(|&b| b == 0).map(|w| String::from_utf8_lossy(w).into_owned()).collect();
            words.contains(&mark) && wanted(&words)
        };
        numbers.filter(is_wanted).collect()
    }

    fn signal(&self, id: u32, name: &str) {
        let sent = Command::new("kill").args([name, &id.to_string()]).status().expect("kill runs");
        assert!(sent.success(), "{name} {id}");
    }

    fn words(&mut self) -> String {
        let _ = self.process.kill();
        let mut text = String::new();
        let _ = self.process.stderr.take().map(|mut stderr| stderr.read_to_string(&mut text));
        text
    }

    /// Asks it to end, and waits until no process of it is left. What it wrote.
    fn stop(mut self) -> String {
        // A rank that is stopped does not hear anything.
        (0..4).filter_map(|rank| self.rank(rank)).for_each(|id| self.signal(id, "-CONT"));
        self.signal(self.process.id(), "-TERM");
        let begin = Instant::now();
        while self.process.try_wait().expect("it can be waited for").is_none() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let words = self.words();
        while !self.processes(|_| true).is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(60), "orphans: {:?}", self.processes(|_| true));
            std::thread::sleep(Duration::from_millis(20));
        }
        words
    }
}

fn alone(model: &str) -> Vec<String> {
    let path = self::model(model);
    let mut command = Command::new("/usr/bin/env");
    command.arg("--");
    let server = Server::start(command, &["--device", "cpu", "-m", path.to_str().expect("a plain path")]);
    let answers = server.answers();
    server.stop();
    answers
}

fn over(library: &Installed, ranks: usize, options: &[&str], model: &str) -> Server {
    let path = self::model(model);
    let model = ["-m", path.to_str().expect("a plain path")];
    Server::start(library.command(ranks), &[options, &model].concat())
}

#[test]
fn a_server_over_ranks_answers_as_one_rank_does() {
    let (llama, experts) = (alone("llama"), alone("qwen3moe"));
    for library in installed().iter().filter(|l| ["mpich from pip", "Open MPI"].contains(&l.name)) {
        let pipeline = over(library, 2, &["--split", "pipeline"], "llama");
        assert_eq!(pipeline.answers(), llama, "{}: not the same bits", library.name);
        // Kept beginnings are used again.
        assert_eq!(pipeline.answers(), llama, "{}: the second time", library.name);
        pipeline.stop();
        let expert = over(library, 2, &["--split", "expert"], "qwen3moe");
        let text = |answers: &[String]| -> Vec<String> {
            answers.iter().map(|a| a.split("\"logprobs\"").next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(text(&expert.answers()), text(&experts), "{}", library.name);
        expert.stop();
    }
}

#[test]
fn clients_of_a_server_that_lost_a_rank_get_503() {
    for library in installed().iter().filter(|l| ["mpich from pip", "Open MPI"].contains(&l.name)) {
        for stalled in [true, false] {
            let mut command = library.command(2);
            command.args(library.survive);
            let path = model("llama");
            let server =
                Server::start(command, &["--split", "tensor", "-m", path.to_str().expect("a plain path")]);
            assert_eq!(server.complete(&[1, 2, 3], 4).map(|a| a.0), Some(200));
            let rank = server.rank(1).expect("rank 1 runs");
            server.signal(rank, if stalled { "-STOP" } else { "-KILL" });
            let begin = Instant::now();
            let (status, text) = server.complete(&[1, 2, 3, 4], 60).expect("an answer");
            let what = format!("{}, stalled: {stalled}: {text}", library.name);
            assert_eq!(status, 503, "{what}");
            assert!(text.contains(&format!("rank 1 (process {rank}")), "{what}");
            assert!(begin.elapsed() < Duration::from_secs(60), "{what}: {:?}", begin.elapsed());
            assert_eq!(server.complete(&[1, 2], 1).map(|a| a.0), Some(503), "{what}");
            assert_eq!(server.ask("GET", "/health", "").map(|a| a.0), Some(503), "{what}");
            assert_eq!(server.ask("GET", "/v1/models", "").map(|a| a.0), Some(200), "{what}");
            let words = server.stop();
            assert!(words.contains("rank 1 (process"), "{what}: {words}");
        }
    }
}

#[test]
fn a_server_whose_rank_0_has_stopped_ends() {
    for library in installed().iter().filter(|l| ["mpich from pip", "Open MPI"].contains(&l.name)) {
        let mut server = over(library, 2, &["--split", "tensor"], "llama");
        assert_eq!(server.complete(&[1, 2, 3], 4).map(|a| a.0), Some(200));
        let rank = server.rank(0).expect("rank 0 runs");
        server.signal(rank, "-STOP");
        let begin = Instant::now();
        while server.process.try_wait().expect("it can be waited for").is_none() {
            assert!(begin.elapsed() < Duration::from_secs(60), "{}: it does not end", library.name);
            std::thread::sleep(Duration::from_millis(20));
        }
        let words = server.words();
        assert!(words.contains(&format!("rank 0 (process {rank}")), "{}: {words}", library.name);
        assert!(words.contains("does not answer"), "{}: {words}", library.name);
        assert!(server.processes(|_| true).is_empty(), "{}: orphans", library.name);
    }
}

#[test]
fn what_cannot_be_served_over_ranks_is_said_once() {
    let Some(library) = installed().into_iter().next() else { return };
    let run = |options: &[&str]| {
        let mut command = library.command(2);
        command.env("WOOTZ_THREADS", "1").arg(env!("CARGO_BIN_EXE_wootz")).args(options);
        let output = command.output().expect("the launcher runs");
        assert!(!output.status.success(), "{options:?}");
        launch::text(&output)
    };
    let (llama, folder) = (model("llama"), std::env::temp_dir());
    let llama = llama.to_str().expect("a plain path");
    let cases = [
        (vec!["serve", "--port", "0", "-m", llama, "--also", llama], "one model is served over MPI ranks"),
        (
            vec![
                "serve",
                "--port",
                "0",
                "-m",
                llama,
                "--prompt-cache",
                folder.to_str().expect("a plain path"),
            ],
            "--prompt-cache does not work over MPI ranks",
        ),
        (vec!["serve", "--port", "0", "-m", llama, "--split", "expert"], "it has no experts"),
    ];
    for (options, expected) in cases {
        let text = run(&options);
        assert_eq!(text.matches(expected).count(), 1, "{options:?}: {text}");
    }
}

#[test]
fn the_distributed_suite_measures_on_every_rank() {
    for library in installed().iter().filter(|l| ["mpich from pip", "Open MPI"].contains(&l.name)) {
        let mut command = library.command(2);
        command.env("WOOTZ_THREADS", "1").arg(env!("CARGO_BIN_EXE_wootz"));
        let path = model("llama");
        command.args(["bench", "--suite", "distributed", "--json", "--filter", "tiny", "-m"]).arg(path);
        let output = command.output().expect("the launcher runs");
        let text = launch::text(&output);
        assert!(output.status.success(), "{}: {text}", library.name);
        for expected in [
            "\"ranks\": 2",
            "\"parallel\": \"pipeline\"",
            "\"parallel\": \"tensor\"",
            "forecast_tokens_per_second",
        ] {
            assert_eq!(
                text.matches(expected).count(),
                if expected.contains("fore") { 2 } else { 1 },
                "{expected}: {text}"
            );
        }
    }
}
