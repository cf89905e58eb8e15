//! The NumPy process on the other side of a pipe.

use std::io::{BufRead, BufReader, Error, Result, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peer {
    pub fn start() -> Result<Peer> {
        let python = std::env::var("WOOTZ_PYTHON").unwrap_or_else(|_| "python3".into());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/numpy_peer.py");
        let mut child =
            Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let missing = || Error::other("the peer has no pipes");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Peer { child, input: Some(input), output })
    }

    /// Seconds that NumPy needs per run of the case, over `repeats` runs.
    pub fn time(&mut self, name: &str, repeats: usize) -> Result<f64> {
        if let Some(input) = &mut self.input {
            writeln!(input, "{repeats} {name}")?;
        }
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        line.trim().parse().map_err(|e| Error::other(format!("case {name}: NumPy answered {line:?}: {e}")))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.input = None; // end of input ends the script
        let _ = self.child.wait();
    }
}
