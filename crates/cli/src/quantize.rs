//! `wootz quantize`: a model file in another format.

use crate::models;
use crate::output::{self, Outcome, bytes};
use std::path::PathBuf;
use std::process::ExitCode;
use wootz_llm::quantize::{MIXES, Mix, quantize_file};

/// Rewrite a model file in another format
#[derive(clap::Args)]
pub struct Args {
    /// A GGUF file or a known model
    input: String,
    /// Output file
    output: PathBuf,
    /// Quantisation type, e.g. q4_k_m or q8_0
    #[arg(long = "type", value_name = "TYPE", value_parser = clap::builder::PossibleValuesParser::new(MIXES.iter().map(|m| m.name)), ignore_case = true)]
    mix: String,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args) -> Outcome {
    let mix = Mix::from_name(&args.mix)?;
    let input = models::find(&args.input)?;
    if args.output.exists() && !args.force {
        return Err(format!("{} already exists; use --force to overwrite it", args.output.display()).into());
    }
    let same = args.output.canonicalize().ok().is_some_and(|path| input.canonicalize().ok() == Some(path));
    if same {
        return Err("input and output are the same file".into());
    }
    let gguf = models::open(&input)?;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let bar = output::progress(gguf.tensors().len(), "tensors");
    let result =
        quantize_file(&gguf, &args.output, mix, threads, &mut |step| bar.set_position(step.done as u64));
    bar.finish_and_clear();
    result?;
    let size = std::fs::metadata(&args.output)?.len() as usize;
    println!("{}: {} from {}", args.output.display(), bytes(size), bytes(gguf.file_bytes()));
    Ok(ExitCode::SUCCESS)
}
