//! Peers: programs that run the same cases on the same data, one turn at a time.
//!
//! A peer reads commands from its standard input, one per line of JSON, and answers each with a line of JSON:
//! `{"prepare": {"name", "numpy", "inputs": [paths of .npy files]}}` → `{"ready": true | false}`, and
//! `{"turn": repeats}` → `{"seconds": per repeat}`.

use super::cases::Case;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use wootz::Tensor;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A folder of inputs that disappears with the run.
pub struct Data(PathBuf);

impl Data {
    pub fn new() -> Result<Data> {
        let path = std::env::temp_dir().join(format!("wootz-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Data(path))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Peer {
    pub name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const NUMPY: &str = include_str!("../../../../bench/peers/numpy_peer.py");

impl Peer {
    /// NumPy, through `WOOTZ_PYTHON`, the project's own environment, or `python3`.
    pub fn numpy() -> Result<Peer> {
        let own = PathBuf::from(".venv/bin/python");
        let python = match std::env::var_os("WOOTZ_PYTHON") {
            Some(path) => PathBuf::from(path),
            None if own.exists() => own,
            None => PathBuf::from("python3"),
        };
        let mut command = Command::new(&python);
        command.arg("-c").arg(NUMPY);
        Peer::start(
            "numpy",
            command,
            "scripts/setup installs NumPy into .venv; WOOTZ_PYTHON names another Python",
        )
    }

    /// A peer's own program.
    pub fn program(path: &Path) -> Result<Peer> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Peer::start(&name, Command::new(path), "see bench/peers/README.md for how peers are built")
    }

    fn start(name: &str, mut command: Command, advice: &str) -> Result<Peer> {
        let failed = |e: &dyn std::fmt::Display| format!("peer {name} did not start: {e}; {advice}");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| failed(&e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(&"its streams are missing").into());
        };
        let mut peer = Peer { name: name.into(), child, input, output: BufReader::new(output) };
        let hello = peer.ask(&json!({ "hello": 1 })).map_err(|e| failed(&e))?;
        if let Some(version) = hello["version"].as_str() {
            eprintln!("peer {name} {version}");
        }
        Ok(peer)
    }

    fn ask(&mut self, command: &Value) -> Result<Value> {
        writeln!(self.input, "{command}")?;
        self.input.flush()?;
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(format!("peer {} ended", self.name).into());
        }
        let answer: Value = serde_json::from_str(&line)?;
        match answer["error"].as_str() {
            Some(error) => Err(format!("peer {}: {error}", self.name).into()),
            None => Ok(answer),
        }
    }

    /// Hands a case over; false when the peer does not have it.
    pub fn prepare(&mut self, case: &Case, inputs: &[Tensor], data: &Data) -> Result<bool> {
        let mut paths = Vec::new();
        for (i, tensor) in inputs.iter().enumerate() {
            let path = data.0.join(format!("{i}.npy"));
            wootz::save_npy(&path, tensor)?;
            paths.push(path.display().to_string());
        }
        let prepare = json!({ "name": case.name, "numpy": case.numpy, "inputs": paths });
        Ok(self.ask(&json!({ "prepare": prepare }))?["ready"].as_bool().unwrap_or(false))
    }

    /// One turn: seconds per repeat.
    pub fn turn(&mut self, repeats: usize) -> Result<f64> {
        let answer = self.ask(&json!({ "turn": repeats }))?;
        answer["seconds"].as_f64().ok_or_else(|| format!("peer {} gave no time", self.name).into())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
