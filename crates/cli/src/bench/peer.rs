//! Peers: other programs that run the same cases on the same data in turn (the protocol is in `bench/peers/README.md`).

use super::cases::{Case, Fallible, Ready};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use wootz::{DType, Device};
use wootz_report::Skipped;

/// A temporary folder for inputs, removed after the run.
pub struct Data(PathBuf);

impl Data {
    pub fn new() -> Fallible<Data> {
        let path = std::env::temp_dir().join(format!("wootz-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Data(path))
    }

    /// The request that transfers a case; `None` if its inputs have no common file format.
    pub fn save(&self, case: &Case, ready: &Ready) -> Option<Value> {
        let mut paths = Vec::new();
        for (i, tensor) in ready.inputs.iter().enumerate() {
            if tensor.dtype() == DType::BF16 {
                return None;
            }
            let path = self.0.join(format!("{i}.npy"));
            wootz::save_npy(&path, tensor).ok()?;
            paths.push(path.display().to_string());
        }
        Some(json!({ "prepare": { "op": case.op, "inputs": paths, "extra": ready.extra } }))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Peer {
    pub name: String,
    pub version: String,
    /// False once it has exited or sent an invalid reply.
    pub alive: bool,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// A peer from `bench/peers`.
struct Known {
    name: &'static str,
    /// Its name in `bench/peers/setup`.
    package: &'static str,
    program: Program,
    /// Our device that must be measured for `all` to include this peer: on a software GPU a case takes minutes.
    beside: Option<&'static str>,
}

enum Program {
    /// A Python script.
    Script,
    /// A compiled program with these arguments.
    Binary(&'static [&'static str]),
}

const KNOWN: [Known; 6] = [
    Known { name: "numpy", package: "numpy", program: Program::Script, beside: None },
    Known { name: "mlx", package: "mlx", program: Program::Script, beside: None },
    Known { name: "candle", package: "candle", program: Program::Binary(&[]), beside: None },
    Known { name: "burn", package: "burn", program: Program::Binary(&[]), beside: None },
    Known { name: "burn-wgpu", package: "burn", program: Program::Binary(&["wgpu"]), beside: Some("webgpu") },
    Known { name: "llama_cpp", package: "llama_cpp", program: Program::Script, beside: None },
];

/// Starts the selected peers. Known peers that fail to start are skipped with the reason; one given by path must start.
pub fn start(
    names: &[String],
    programs: &[PathBuf],
    devices: &[Device],
) -> Fallible<(Vec<Peer>, Vec<Skipped>)> {
    let all = names.iter().any(|n| n == "all");
    if let Some(name) = names.iter().find(|n| *n != "all" && KNOWN.iter().all(|known| known.name != **n)) {
        let known: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
        return Err(format!("unknown peer {name:?}; known peers: {}", known.join(", ")).into());
    }
    let (mut peers, mut skipped) = (Vec::new(), Vec::new());
    let fits = |known: &Known| known.beside.is_none_or(|name| devices.iter().any(|d| d.name() == name));
    let wanted = |known: &&Known| names.iter().any(|name| name == known.name) || all && fits(known);
    for known in KNOWN.iter().filter(wanted) {
        match command(known).and_then(|command| Peer::start(known.name, command)) {
            Ok(peer) => peers.push(peer),
            Err(error) => skipped.push(Skipped { name: known.name.into(), reason: error.to_string() }),
        }
    }
    for program in programs {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        peers.push(Peer::start(&name, Command::new(program)).map_err(|e| format!("peer {name}: {e}"))?);
    }
    Ok((peers, skipped))
}

/// The peers folder: `WOOTZ_PEERS`, bench/peers in the current folder, or in the source tree this program was built
/// from.
fn folder() -> PathBuf {
    if let Some(path) = std::env::var_os("WOOTZ_PEERS") {
        return path.into();
    }
    let here = PathBuf::from("bench/peers");
    if here.is_dir() { here } else { Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers") }
}

fn command(known: &Known) -> Fallible<Command> {
    let folder = folder();
    let (program, argument) = match known.program {
        Program::Script => {
            (folder.join(".venv/bin/python"), Some(folder.join(known.package).join("peer.py")))
        }
        Program::Binary(_) => (folder.join(format!("target/release/peer-{}", known.package)), None),
    };
    if !program.is_file() {
        return Err(format!("not installed; run bench/peers/setup {}", known.package).into());
    }
    let mut command = Command::new(program);
    command.args(argument);
    if let Program::Binary(arguments) = known.program {
        command.args(arguments);
    }
    Ok(command)
}

impl Peer {
    fn start(name: &str, mut command: Command) -> Fallible<Peer> {
        // Ctrl-C is for us: it must not kill peers in the middle of a turn.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("cannot open its stdin and stdout".into());
        };
        let mut peer = Peer {
            name: name.into(),
            version: String::new(),
            alive: true,
            child,
            input,
            output: BufReader::new(output),
        };
        let hello = match peer.ask(&json!({ "hello": 1 })) {
            Ok(hello) => hello,
            Err(error) => {
                // It may still be running; killing it ends its stderr.
                let _ = peer.child.kill();
                return Err(last_line(errors).map_or(error, Into::into));
            }
        };
        // Drain and discard stderr, so that the pipe never fills up.
        std::thread::spawn(move || std::io::copy(&mut { errors }, &mut std::io::sink()));
        peer.version = hello["version"].as_str().unwrap_or_default().into();
        Ok(peer)
    }

    fn ask(&mut self, command: &Value) -> Fallible<Value> {
        self.set_running(true);
        let answer = self.exchange(command);
        self.set_running(false);
        self.alive = answer.is_ok();
        let answer = answer?;
        match answer["error"].as_str() {
            Some(error) => Err(error.into()),
            None => Ok(answer),
        }
    }

    /// Suspends the process between questions: the threads of some libraries keep spinning for a tenth of a second, on
    /// cores that the next contender needs.
    #[cfg(unix)]
    fn set_running(&self, running: bool) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = if running { Signal::CONT } else { Signal::STOP };
        // Signalling a process that has exited fails; the exchange reports that.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    /// Where processes cannot be suspended, waits until their threads sleep.
    #[cfg(not(unix))]
    fn set_running(&self, running: bool) {
        if !running {
            std::thread::sleep(std::time::Duration::from_millis(250));
        }
    }

    fn exchange(&mut self, command: &Value) -> Fallible<Value> {
        writeln!(self.input, "{command}")?;
        self.input.flush()?;
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err("it exited during the run".into());
        }
        serde_json::from_str(&line).map_err(|e| format!("invalid reply {line:?}: {e}").into())
    }

    /// Sends a case; false if the peer does not support it.
    pub fn prepare(&mut self, request: &Value) -> Fallible<bool> {
        Ok(self.ask(request)?["ready"].as_bool().unwrap_or(false))
    }

    /// One turn: seconds per execution.
    pub fn turn(&mut self, repeats: usize) -> Fallible<f64> {
        let answer = self.ask(&json!({ "turn": repeats }))?;
        match answer["seconds"].as_f64() {
            Some(seconds) if seconds > 0.0 => Ok(seconds),
            _ => Err(format!("its reply has no time: {answer}").into()),
        }
    }
}

/// The last lines on stderr of a process that exited.
fn last_line(errors: impl std::io::Read) -> Option<String> {
    let lines: Vec<String> = BufReader::new(errors).lines().map_while(Result::ok).collect();
    lines.into_iter().rev().find(|l| !l.trim().is_empty())
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
