//! The everyday suite: ordinary array programs in Python, over our module and over NumPy, in turns.
//!
//! The programs are Python, because that is what they are in everyday life; this runs them with the interpreter at hand.

use super::Args;
use super::cases::{Fallible, Suite};
use crate::output::Outcome;
use std::process::{Command, ExitCode};

/// The programs, and what times them.
const PROGRAMS: &str = include_str!("../../../../bench/everyday.py");

/// The interpreter to use instead of `python3`.
const PYTHON: &str = "WOOTZ_PYTHON";

/// Whether the suite is asked for; it cannot share a run with others, which have a report of another form.
pub fn is_asked_for(args: &Args) -> Fallible<bool> {
    match args.suite.as_slice() {
        [Suite::Everyday] => Ok(true),
        suites if suites.contains(&Suite::Everyday) => {
            Err("--suite everyday runs alone: its programs are Python".into())
        }
        _ => Ok(false),
    }
}

/// Runs the programs; the table, or with `--json` the figures, go to stdout.
pub fn run(args: &Args) -> Outcome {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(&python);
    command.args(["-c", PROGRAMS]);
    let seconds = args.seconds.unwrap_or(if args.quick { 0.05 } else { 0.4 });
    command.args(["--seconds", &seconds.to_string()]);
    if args.json.is_some() {
        command.arg("--json");
    }
    if let Some(text) = &args.filter {
        command.args(["--filter", text]);
    }
    let status = command.status().map_err(|error| {
        format!("{python}: {error}; {PYTHON} names the Python that has the modules wootz and numpy")
    })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
