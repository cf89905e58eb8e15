//! `wootz rerank`: documents in the order in which they answer a query.

use crate::embed::{self, report, texts_or_lines};
use crate::output::{self, Outcome};
use std::process::ExitCode;
use std::time::Instant;
use wootz_llm::EmbedOptions;

/// Rank documents by how well they answer a query, with a reranking model
#[derive(clap::Args)]
pub struct Args {
    /// A GGUF file
    #[arg(short, long)]
    model: String,
    /// The query
    query: String,
    /// Documents to rank [default: the lines of stdin]
    documents: Vec<String>,
    /// Device to run on [default: the fastest one that passed its checks]
    #[arg(long, env = "WOOTZ_DEVICE")]
    device: Option<String>,
    /// Print only the best documents
    #[arg(long, value_name = "COUNT")]
    top: Option<usize>,
    /// Truncate documents that exceed the model's context length
    #[arg(long)]
    truncate: bool,
}

pub fn run(args: &Args) -> Outcome {
    let documents = texts_or_lines(&args.documents)?;
    let model = embed::open(&args.model, args.device.as_deref())?;
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    let started = Instant::now();
    let scores = model.score(&args.query, &documents, EmbedOptions { truncate: args.truncate })?;
    report(&model, scores.len(), started.elapsed());
    let mut order: Vec<(f32, &str)> = scores.into_iter().zip(documents).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (score, document) in order.iter().take(args.top.unwrap_or(usize::MAX)) {
        output::outln!("{score:.4}  {document}");
    }
    Ok(ExitCode::SUCCESS)
}
