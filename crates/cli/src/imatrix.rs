//! `wootz imatrix`: how much each input of each matrix matters to a text.

use crate::models;
use crate::output::{self, Outcome};
use std::path::PathBuf;
use std::process::ExitCode;
use wootz_llm::importance::collect;
use wootz_llm::tokenizer::{Encoding, Tokenizer};

/// Compute an importance matrix, by which `wootz quantize --imatrix` weighs errors
#[derive(clap::Args)]
pub struct Args {
    /// A GGUF file, a folder or a known model; with floats, or quantised little
    #[arg(short, long)]
    model: String,
    /// Text file, of what the model will be used for
    #[arg(short, long, value_name = "TEXT")]
    file: PathBuf,
    /// Output file
    #[arg(short, long, default_value = "imatrix.gguf")]
    output: PathBuf,
    /// Window length in tokens, rounded down to a multiple of 16; windows are independent
    #[arg(long, default_value_t = 512)]
    window: usize,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args) -> Outcome {
    if args.output.exists() && !args.force {
        return Err(format!("{} already exists; use --force to overwrite it", args.output.display()).into());
    }
    let text = std::fs::read_to_string(&args.file).map_err(|e| format!("{}: {e}", args.file.display()))?;
    let gguf = models::open(&models::find(&args.model)?)?;
    let tokens = Tokenizer::from_gguf(&gguf)?.encode(&text, Encoding::TEXT);
    let bar = output::progress(tokens.len() / args.window.max(1), "windows");
    let dataset = args.file.to_string_lossy();
    let importance = collect(gguf, &tokens, args.window, &dataset, &mut || bar.inc(1));
    bar.finish_and_clear();
    let importance = importance?;
    importance.save(&args.output)?;
    let (tensors, chunks) = (importance.names().count(), importance.chunks);
    println!(
        "{}: {tensors} tensors from {chunks} windows of {} tokens",
        args.output.display(),
        importance.chunk_size
    );
    Ok(ExitCode::SUCCESS)
}
