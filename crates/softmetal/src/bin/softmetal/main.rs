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
        Ok(false) => ExitCode::from(FINDINGS),
        Err(e) => {
            eprintln!("softmetal: {e}");
            ExitCode::from(if e.is_finding() { FINDINGS } else { TROUBLE })
        }
    }
}

/// The exit code where kernels do not compile, run or compute what they should.
const FINDINGS: u8 = 1;
/// The exit code where nothing can be said about them: no compiler, wrong arguments.
const TROUBLE: u8 = 2;

/// `print!` panics if standard output is not writable: report a full disk in one line, not as a panic.
fn end_with_the_disk() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let told = panic.payload_as_str().and_then(|text| text.strip_prefix("failed printing to stdout: "));
        if let Some(problem) = told {
            eprintln!("softmetal: cannot write to standard output: {problem}");
            std::process::exit(TROUBLE.into());
        }
        usual(panic);
    }));
}

/// Lets `softmetal list … | head` exit silently when the pipe is closed, like other programs.
fn end_with_the_pipe() {
    #[cfg(unix)]
    // SAFETY: no thread has been started yet, and the default action of a signal is always valid.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
