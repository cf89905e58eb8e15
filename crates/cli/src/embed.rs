//! `wootz embed`: text embeddings.

use crate::models;
use crate::output::{self, Outcome};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use wootz::Tensor;
use wootz_llm::{EmbedOptions, Embedder, cosine};

/// Embed texts with an embedding model
#[derive(clap::Args)]
pub struct Args {
    /// A GGUF file, a folder of safetensors, or a known model
    #[arg(short, long)]
    model: String,
    /// Texts to embed [default: the lines of stdin]
    texts: Vec<String>,
    /// Device to run on [default: the fastest one that passed its checks]
    #[arg(long, env = "WOOTZ_DEVICE")]
    device: Option<String>,
    /// Write the vectors to an .npy file instead of printing JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Truncate texts that exceed the model's context length
    #[arg(long)]
    truncate: bool,
    /// Print the cosine similarity between the first text and each of the others instead of the vectors
    #[arg(long)]
    similarity: bool,
}

pub fn run(args: &Args) -> Outcome {
    let texts = texts_or_lines(&args.texts)?;
    let model = open(&args.model, args.device.as_deref())?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let started = Instant::now();
    let vectors = model.embed(&texts, EmbedOptions { truncate: args.truncate })?;
    report(&model, vectors.len(), started.elapsed());
    if args.similarity {
        for (text, vector) in texts.iter().zip(&vectors).skip(1) {
            crate::output::outln!("{:.4}  {text}", cosine(&vectors[0], vector));
        }
    } else if let Some(out) = &args.out {
        let tensor = Tensor::from_vec(vectors.concat(), [vectors.len(), model.config().width])?;
        wootz::save_npy(out, &tensor)?;
        crate::output::outln!("{} {} to {}", tensor.dtype(), tensor.shape(), out.display());
    } else {
        for vector in &vectors {
            crate::output::outln!("{}", serde_json::to_string(vector)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens an embedding or reranking model on the requested device.
pub fn open(model: &str, device: Option<&str>) -> Result<Embedder, models::Failure> {
    let path = models::find(model)?;
    let device = models::device(device)?;
    let gguf = models::open(&path)?;
    let model = models::with_checks(|on_progress| Embedder::from_gguf(gguf, &device, on_progress));
    model.map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The texts given as arguments, or the lines of standard input.
pub fn texts_or_lines(arguments: &[String]) -> Result<Vec<String>, models::Failure> {
    let mut texts = arguments.to_vec();
    if texts.is_empty() {
        let mut all = String::new();
        std::io::stdin().read_to_string(&mut all)?;
        texts = all.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    }
    if texts.is_empty() {
        return Err("no texts; pass them as arguments or on standard input".into());
    }
    Ok(texts)
}

/// The status line: number of texts, time, device and the reason for it. Also warns if a device failed.
pub fn report(model: &Embedder, count: usize, time: Duration) {
    for notice in model.notices() {
        anstream::eprintln!("{}", output::paint(output::KNOWN, format!("warning: {notice}")));
    }
    let line = format!(
        "{count} texts in {:.2} s on {}",
        time.as_secs_f64(),
        models::device_line(&model.device(), model.placement())
    );
    anstream::eprintln!("{}", output::paint(output::DIM, line));
}
