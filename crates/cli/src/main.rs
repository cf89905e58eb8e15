//! The `wootz` command: devices, their validation, and language models on them.
#![deny(unsafe_code)]

mod bench;
mod chat;
mod check;
mod devices;
mod embed;
mod estimate;
mod http;
mod imatrix;
mod inspect;
mod logits;
mod models;
mod output;
mod perplexity;
mod placement;
mod pull;
mod quantize;
mod ranks;
mod remote;
mod rerank;
mod run;
mod serve;
mod warnings;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Lazy tensors and local language models on the fastest device proven correct.
#[derive(Parser)]
#[command(name = "wootz", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the devices of this machine
    Devices(devices::Args),
    /// Check a device against the reference evaluator, op by op
    Check(check::Args),
    /// Benchmark a device: throughput, fraction of the machine's limit, comparison with other libraries
    Bench(bench::Args),
    /// Answer a prompt with a language model
    Run(run::Args),
    /// Chat with a language model
    Chat(chat::Args),
    /// Serve a language model over HTTP
    Serve(serve::Args),
    /// Download a model, or list the known ones
    Pull(pull::Args),
    /// Embed texts with an embedding model
    Embed(embed::Args),
    /// Rank documents by how well they answer a query, with a reranking model
    Rerank(rerank::Args),
    /// Show the metadata and tensors of a model file
    Inspect(inspect::Args),
    /// Estimate the memory that a model needs at a context length
    Estimate(estimate::Args),
    /// Convert a model file to another quantisation format
    Quantize(quantize::Args),
    /// Compute the importance matrix of a model for a text
    Imatrix(imatrix::Args),
    /// Compute the perplexity of a text
    Perplexity(perplexity::Args),
    /// Write the logits after each token to an .npy file
    Logits(logits::Args),
}

fn main() -> ExitCode {
    quiet_mesa();
    output::end_quietly_when_unread();
    warnings::show();
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Devices(args) => devices::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Chat(args) => chat::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Pull(args) => pull::run(&args),
        Command::Embed(args) => embed::run(&args),
        Command::Rerank(args) => rerank::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Estimate(args) => estimate::run(&args),
        Command::Quantize(args) => quantize::run(&args),
        Command::Imatrix(args) => imatrix::run(&args),
        Command::Perplexity(args) => perplexity::run(&args),
        Command::Logits(args) => logits::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&*error) => ExitCode::from(output::CLOSED_PIPE),
        Err(error) => {
            ranks::report(&*error);
            ExitCode::FAILURE
        }
    }
}

/// Without a desktop session, Mesa's device-selection layer prints errors whenever Vulkan is opened. There is nothing
/// to select then, so disable it unless the user has set the variable.
#[expect(unsafe_code)]
fn quiet_mesa() {
    let absent = |name| std::env::var_os(name).is_none();
    if cfg!(target_os = "linux") && absent("XDG_RUNTIME_DIR") && absent("NODEVICE_SELECT") {
        // SAFETY: the program has just started, and no other thread reads the environment yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn options_of_every_command_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
