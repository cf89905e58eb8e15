//! The `wootz` command: devices, their validation, their speed.
#![forbid(unsafe_code)]

mod bench;
mod check;
mod devices;
mod output;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Lazy tensors and local language models on the fastest device proven correct.
#[derive(Parser)]
#[command(name = "wootz", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the devices of this machine
    Devices(devices::Args),
    /// Compare a device with the reference evaluator, op by op
    Check(check::Args),
    /// Measure speed, as a fraction of the machine's limit and next to NumPy
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Devices(args) => devices::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            anstream::eprintln!("{}error:{} {error}", output::BAD.render(), output::BAD.render_reset());
            ExitCode::FAILURE
        }
    }
}
