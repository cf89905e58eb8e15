//! Tokens per second of a model: `cargo run --release -p wootz-llm --example speed -- MODEL [PROMPT] [STEPS] [ROUNDS]
//! [--fast]`.
//!
//! Prints the best and the median round of a prefill of PROMPT tokens and of STEPS single tokens after it. With
//! `WOOTZ_THREADS=1` on Linux times are those that the thread ran, which a busy machine disturbs less.

use std::sync::Arc;
use std::time::Instant;
use wootz::Device;
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};

/// Seconds, from a point of time that does not change.
struct Clock {
    started: Instant,
    own_time: bool,
}

impl Clock {
    fn now(&self) -> f64 {
        let schedule = self.own_time.then(|| std::fs::read_to_string("/proc/thread-self/schedstat"));
        let ran = schedule.and_then(|text| text.ok()?.split(' ').next()?.parse::<f64>().ok());
        ran.map_or_else(|| self.started.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (flags, arguments): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument == "--fast");
    let options = ModelOptions { precise: flags.is_empty() };
    let path = arguments.first().ok_or("a model file is needed")?;
    let number = |i: usize, default: usize| arguments.get(i).map_or(Ok(default), |a| a.parse());
    let (prompt, steps, rounds) = (number(1, 128)?, number(2, 32)?, number(3, 5)?);
    let started = Instant::now();
    let model = Arc::new(Model::open(path, &Device::current()?, options)?);
    let mut session = Session::new(&model, SessionOptions::default())?;
    let tokens: Vec<u32> = (0..prompt as u32).map(|i| i * 37 % 1000 + 20).collect();
    session.advance(&tokens)?;
    println!("load and first token {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    let own_time = std::env::var("WOOTZ_THREADS").is_ok_and(|threads| threads == "1");
    let clock = Clock { started, own_time };
    let (mut prefill, mut decode) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        session.clear()?;
        let started = clock.now();
        session.advance(&tokens)?;
        prefill.push(prompt as f64 / (clock.now() - started));
        let mut times = Vec::new();
        for i in 0..steps as u32 {
            let started = clock.now();
            session.advance(&[100 + i])?;
            times.push(clock.now() - started);
        }
        times.sort_by(f64::total_cmp);
        decode.push(1.0 / if own_time { times[0] } else { times[times.len() / 2] });
    }
    for (name, mut rates) in [("prefill", prefill), ("decode", decode)] {
        rates.sort_by(f64::total_cmp);
        println!("{name} best {:.1} median {:.1} tokens/s", rates[rates.len() - 1], rates[rates.len() / 2]);
    }
    Ok(())
}
