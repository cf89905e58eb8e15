//! `wootz estimate`: how much memory a model will take.

use crate::models;
use crate::output::{HEAD, Outcome, Table, bytes};
use anstyle::Style;
use serde_json::json;
use std::process::ExitCode;
use wootz_llm::config::Config;
use wootz_llm::estimate::{CacheFormat, Estimate, Load};

/// Estimate the memory that a model needs at a context length
#[derive(clap::Args)]
pub struct Args {
    /// A GGUF file or a known model
    model: String,
    /// Context length in tokens [default: the model's own]
    #[arg(long)]
    context: Option<usize>,
    /// Number of parallel sequences
    #[arg(long, default_value_t = 1)]
    sequences: usize,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let gguf = models::open(&models::find(&args.model)?)?;
    let config = Config::from_gguf(&gguf)?;
    let context = args.context.unwrap_or(config.context);
    let mut table = Table::default();
    table.row(HEAD, ["cache", "weights", "context", "activations", "in all"]);
    let mut list = Vec::new();
    for (name, cache) in CacheFormat::ALL {
        let load = Load { context, sequences: args.sequences, batch: 128, cache };
        let estimate = Estimate::new(&gguf, &config, load)?;
        let parts = [estimate.weights, estimate.cache, estimate.activations, estimate.total()];
        let cells = [name.to_string()].into_iter().chain(parts.iter().map(|&b| bytes(b as usize)));
        table.row(Style::new(), cells);
        list.push(json!({
            "cache": name, "weights_bytes": parts[0], "cache_bytes": parts[1], "activation_bytes": parts[2],
            "total_bytes": parts[3],
        }));
    }
    if args.json {
        let report = json!({ "model": args.model, "context": context, "sequences": args.sequences, "estimates": list });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        crate::output::outln!("{} with a context of {context} tokens", args.model);
        table.print();
    }
    Ok(ExitCode::SUCCESS)
}
