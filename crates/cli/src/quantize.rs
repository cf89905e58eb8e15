//! `wootz quantize`: convert a model file to another quantisation format.

use crate::models;
use crate::output::{self, Outcome, bytes};
use std::path::PathBuf;
use std::process::ExitCode;
use wootz_llm::importance::Importance;
use wootz_llm::quantize::{MIXES, Mix, Options, quantize_file};

/// Convert a model file to another quantisation format
#[derive(clap::Args)]
pub struct Args {
    /// A GGUF file or a known model
    input: String,
    /// Output file
    output: PathBuf,
    /// Quantisation type, e.g. q4_k_m or q8_0
    #[arg(long = "type", value_name = "TYPE", value_parser = clap::builder::PossibleValuesParser::new(MIXES.iter().map(|m| m.name)), ignore_case = true)]
    mix: String,
    /// Importance matrix, as `wootz imatrix` writes it: what matters most keeps more of its precision
    #[arg(long, value_name = "FILE")]
    imatrix: Option<PathBuf>,
    /// Split the output into files with at most SIZE bytes of tensors each, e.g. 2G or 500M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    split_max_size: Option<u64>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// A number of bytes: `500M`, `2G`.
fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1_000),
        Some((at, 'M' | 'm')) => (&text[..at], 1_000_000),
        Some((at, 'G' | 'g')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let bytes =
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| format!("'{text}' is not a size like 500M or 2G"))
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
    let importance = args.imatrix.as_ref().map(Importance::open).transpose()?;
    let options =
        Options { importance: importance.as_ref(), split: args.split_max_size, ..Options::new(mix, threads) };
    let bar = output::progress(gguf.tensors().len(), "tensors");
    let result = quantize_file(&gguf, &args.output, options, &mut |step| bar.set_position(step.done as u64));
    bar.finish_and_clear();
    let files = result?;
    let sizes = files.iter().map(|file| Ok(std::fs::metadata(file)?.len() as usize));
    let size: usize = sizes.sum::<std::io::Result<usize>>()?;
    let first = files[0].display();
    let more = if files.len() > 1 { format!(" and {} more parts", files.len() - 1) } else { String::new() };
    println!("{first}{more}: {} from {}", bytes(size), bytes(gguf.file_bytes()));
    Ok(ExitCode::SUCCESS)
}
