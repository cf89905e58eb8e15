//! The everyday suite: ordinary array programs in Python, run with Wootz and with NumPy in turn.
//!
//! The programs are Python because that is how such programs are written; this module runs them with the Python
//! interpreter it finds.

use super::Args;
use super::cases::{Fallible, Suite};
use super::outputs;
use crate::output::Outcome;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The programs and the script that times them.
const PROGRAMS: &str = include_str!("../../../../bench/everyday.py");

/// The interpreter to use instead of `python3`.
const PYTHON: &str = "WOOTZ_PYTHON";

/// Whether this suite was selected. It cannot be combined with others because its report has a different format.
pub fn is_asked_for(args: &Args) -> Fallible<bool> {
    match args.suite.as_slice() {
        [Suite::Everyday] => Ok(true),
        suites if suites.contains(&Suite::Everyday) => {
            Err("--suite everyday cannot be combined with other suites".into())
        }
        _ => Ok(false),
    }
}

/// Rejects options that have no meaning for this suite: its peer is always NumPy, and its report has no page.
fn check(args: &Args) -> Fallible<()> {
    let given = [
        ("--html", args.html.is_some()),
        ("--svg", args.svg.is_some()),
        ("--compare", args.compare.is_some()),
        ("--peers", !args.peers.is_empty()),
        ("--peer", !args.peer.is_empty()),
        ("--model", !args.model.is_empty()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(format!("--suite everyday cannot be combined with {name}").into()),
        None => Ok(()),
    }
}

/// Runs the programs and prints the table or, with `--json`, writes the figures.
pub fn run(args: &Args) -> Outcome {
    check(args)?;
    let file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    file.map_or(Ok(()), outputs::try_to_write)?;
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(&python);
    command.args(["-c", PROGRAMS]);
    let seconds = args.seconds.unwrap_or(if args.quick { 0.05 } else { 0.4 });
    command.args(["--seconds", &seconds.to_string()]);
    if args.json.is_some() {
        command.arg("--json");
    }
    if file.is_some() {
        command.stdout(Stdio::piped());
    }
    if let Some(text) = &args.filter {
        command.args(["--filter", text]);
    }
    let output = command.spawn().and_then(|child| child.wait_with_output()).map_err(|error| {
        format!("{python}: {error}; set {PYTHON} to a Python that has the modules wootz and numpy")
    })?;
    if let (Some(path), true) = (file, output.status.success()) {
        outputs::write(path, &String::from_utf8(output.stdout)?)?;
    }
    Ok(if output.status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
