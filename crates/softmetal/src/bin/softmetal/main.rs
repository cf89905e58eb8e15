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
    end_with_the_pipe();
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

/// `softmetal list … | head` ends quietly when the reader has enough, as other programs do.
fn end_with_the_pipe() {
    #[cfg(unix)]
    // SAFETY: before any thread is started; the default action of a signal is always valid.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
