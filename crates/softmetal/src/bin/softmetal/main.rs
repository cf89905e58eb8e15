//! `softmetal`: list, check, run and test Metal kernels on any machine.

mod args;
mod check;
mod isolate;
mod list;
mod npy;
mod report;
mod run;
mod test;
mod texture;
mod value;

use args::{Cli, Verb};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    end_with_the_pipe();
    end_with_the_disk();
    let outcome = match Cli::parse().verb {
        Verb::List(a) => list::list(&a),
        Verb::Check(a) => check::check(&a),
        Verb::Run(a) => run::run(&a),
        Verb::Test(a) => test::test(&a),
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

/// Printing panics where standard output cannot be written: a full disk is one line, and no report of a bug.
fn end_with_the_disk() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let told = panic.payload_as_str().and_then(|text| text.strip_prefix("failed printing to stdout: "));
        if let Some(problem) = told {
            eprintln!("softmetal: standard output cannot be written: {problem}");
            std::process::exit(1);
        }
        usual(panic);
    }));
}

/// `softmetal list … | head` ends quietly when the reader has enough, as other programs do.
fn end_with_the_pipe() {
    #[cfg(unix)]
    // SAFETY: before any thread is started; the default action of a signal is always valid.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
