//! Teacher-forced logits: `logits MODEL.gguf OUT.f32 TOKEN TOKEN …` writes `[tokens, vocab]` as 32-bit floats.

use std::sync::Arc;
use std::time::Instant;

use wootz::{DType, Device};
use wootz_gguf::Gguf;
use wootz_llm::models::load;
use wootz_llm::session::{Session, Want};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, out, tokens @ ..] = args.as_slice() else {
        return Err("usage: logits MODEL OUT TOKENS".into());
    };
    let tokens = tokens.iter().map(|t| t.parse()).collect::<Result<Vec<u32>, _>>()?;
    let device = Device::cpu();
    let start = Instant::now();
    let model = load(Arc::new(Gguf::open(model)?), &device)?;
    println!("loaded in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    let mut session = Session::new(model.clone(), &device, 512, DType::F32)?;
    let logits = session.extend(&tokens, Want::All)?;
    let bytes: Vec<u8> = logits.iter().flat_map(|l| l.to_le_bytes()).collect();
    std::fs::write(out, bytes)?;
    let mut session = Session::new(model, &device, 512, DType::F32)?;
    for _ in 0..2 {
        let n = tokens.len().min(128);
        let start = Instant::now();
        session.extend(&tokens[..n], Want::Last)?;
        println!("prefill {n}: {:.1} tokens/s", n as f64 / start.elapsed().as_secs_f64());
        session.truncate(0)?;
    }
    let mut best = f64::INFINITY;
    for &t in &tokens[..tokens.len().min(32)] {
        let start = Instant::now();
        session.extend(&[t], Want::Last)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("decode: best {:.1} tokens/s", 1.0 / best);
    Ok(())
}
