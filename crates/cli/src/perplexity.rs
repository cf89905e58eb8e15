//! `wootz perplexity`: the perplexity of a text.

use crate::models::Choice;
use crate::output::{self, Outcome};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use wootz_llm::tokenizer::Encoding;

/// Compute the perplexity of a text
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    /// Text file
    #[arg(short, long, value_name = "TEXT")]
    file: PathBuf,
    /// Window length in tokens; windows are independent, and the second half of each is scored
    #[arg(long, default_value_t = 512)]
    window: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let text = std::fs::read_to_string(&args.file).map_err(|e| format!("{}: {e}", args.file.display()))?;
    let model = args.choice.load()?;
    let mut session = args.choice.session(&model)?;
    let window = args.window.min(session.context());
    let tokens = model.tokenizer().encode(&text, Encoding::TEXT);
    if window < 2 || tokens.len() < window {
        let problem = format!(
            "the text has {} tokens, fewer than a window of {window} needs (at least 2)",
            tokens.len()
        );
        return Err(problem.into());
    }
    let (mut loss, mut judged) = (0.0f64, 0usize);
    let bar = output::progress(tokens.len() / window, "windows");
    for chunk in tokens.chunks_exact(window) {
        session.clear()?;
        let mut at = 0;
        session.score(chunk, |rows| {
            for row in rows.chunks_exact(model.config().vocab) {
                at += 1;
                // Tokens at the start of a window have too little context to be scored.
                if at >= window / 2 && at < window {
                    loss += surprise(row, chunk[at] as usize);
                    judged += 1;
                }
            }
            Ok(())
        })?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let perplexity = (loss / judged as f64).exp();
    if args.json {
        println!("{}", json!({ "perplexity": perplexity, "tokens": judged, "window": window }));
    } else {
        println!("perplexity {perplexity:.4} over {judged} tokens in windows of {window}");
    }
    Ok(ExitCode::SUCCESS)
}

/// The negative log-likelihood of a token under the logits.
fn surprise(logits: &[f32], token: usize) -> f64 {
    let best = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&l| f64::from(l - best).exp()).sum();
    sum.ln() - f64::from(logits[token] - best)
}
