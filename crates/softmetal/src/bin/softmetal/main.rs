//! `softmetal`: list, check and run Metal kernels on any machine.

mod args;
mod check;
mod list;
mod npy;
mod run;
mod value;

use args::{Cli, Verb};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::List(a) => list::list(&a),
        Verb::Check(a) => check::check(&a),
        Verb::Run(a) => run::run(&a),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("softmetal: {e}");
            ExitCode::FAILURE
        }
    }
}
