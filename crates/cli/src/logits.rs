//! `wootz logits`: write the logits at each position, for comparison with other implementations.

use crate::models::Choice;
use crate::output::Outcome;
use std::path::PathBuf;
use std::process::ExitCode;
use wootz::Tensor;

/// Write the logits after each token to an .npy file
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    /// Token ids
    #[arg(long, value_delimiter = ',', required = true, value_name = "IDS")]
    tokens: Vec<u32>,
    /// Output file: f32, one row per token
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let model = args.choice.load()?;
    let mut session = args.choice.session(&model)?;
    let mut logits = Vec::new();
    session.score(&args.tokens, |rows| {
        logits.extend_from_slice(rows);
        Ok(())
    })?;
    let tensor = Tensor::from_vec(logits, [args.tokens.len(), model.config().vocab])?;
    wootz::save_npy(&args.out, &tensor)?;
    println!("{} {} to {}", tensor.dtype(), tensor.shape(), args.out.display());
    Ok(ExitCode::SUCCESS)
}
