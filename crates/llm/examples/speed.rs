//! Tokens per second of a model: `cargo run --release -p wootz-llm --example speed -- MODEL [PROMPT] [STEPS] [ROUNDS]`.
//!
//! Prints the best and the median round of a prefill of PROMPT tokens and of STEPS single tokens after it.

use std::sync::Arc;
use std::time::Instant;
use wootz::Device;
use wootz_llm::{Model, Session, SessionOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("a model file is needed")?;
    let number = |i: usize, default: usize| arguments.get(i).map_or(Ok(default), |a| a.parse());
    let (prompt, steps, rounds) = (number(1, 128)?, number(2, 32)?, number(3, 5)?);
    let started = Instant::now();
    let model = Arc::new(Model::open(path, &Device::from_environment()?)?);
    let mut session = Session::new(&model, SessionOptions::default())?;
    let tokens: Vec<u32> = (0..prompt as u32).map(|i| i * 37 % 1000 + 20).collect();
    session.advance(&tokens)?;
    println!("load and first token {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    let (mut prefill, mut decode) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        session.clear()?;
        let started = Instant::now();
        session.advance(&tokens)?;
        prefill.push(prompt as f64 / started.elapsed().as_secs_f64());
        let mut times = Vec::new();
        for i in 0..steps as u32 {
            let started = Instant::now();
            session.advance(&[100 + i])?;
            times.push(started.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        decode.push(1.0 / times[times.len() / 2]);
    }
    for (name, mut rates) in [("prefill", prefill), ("decode", decode)] {
        rates.sort_by(f64::total_cmp);
        println!("{name} best {:.1} median {:.1} tokens/s", rates[rates.len() - 1], rates[rates.len() / 2]);
    }
    Ok(())
}
