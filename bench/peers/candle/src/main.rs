//! candle as a peer of `wootz bench`: one command per line of JSON, one answer per line.

use candle_core::{D, Device, Result, Tensor};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::time::Instant;

type Case = fn(&[Tensor]) -> Result<Tensor>;

/// The cases that candle has, by the names that `wootz bench` gives them.
fn case(name: &str) -> Option<Case> {
    Some(match name {
        "add 10M" => |t| t[0].add(&t[1]),
        "exp 10M" => |t| t[0].exp(),
        "sum 10M" => |t| t[0].sum_all(),
        "chain 10M" => |t| {
            let (x, y) = (&t[0], &t[1]);
            let bell = ((x * x)? + (y * y)?)?.neg()?.exp()?;
            (bell * x)? / (y.abs()? + 1.0)?
        },
        "softmax 1024x4096" => |t| {
            let exps = t[0].broadcast_sub(&t[0].max_keepdim(D::Minus1)?)?.exp()?;
            exps.broadcast_div(&exps.sum_keepdim(D::Minus1)?)
        },
        "sum axis 0 4096x4096" => |t| t[0].sum(0),
        "sum axis 1 4096x4096" => |t| t[0].sum(1),
        "ten ops on 16" => |t| {
            let (x, y) = (&t[0], &t[1]);
            let a = ((((x + y)? * x)? - y)? / 2.0)?.maximum(x)?;
            (((a + 1.0)? * y)? - x)?.abs()? + y
        },
        name if name.starts_with("matmul") => |t| t[0].matmul(&t[1]),
        _ => return None,
    })
}

fn answer(command: &Value, state: &mut Option<(Case, Vec<Tensor>)>) -> Result<Value> {
    if command.get("hello").is_some() {
        return Ok(json!({ "version": "candle-core" }));
    }
    if let Some(prepare) = command.get("prepare") {
        let Some(case) = case(prepare["name"].as_str().unwrap_or_default()) else {
            return Ok(json!({ "ready": false }));
        };
        let paths = prepare["inputs"].as_array().cloned().unwrap_or_default();
        let load = |path: &Value| Tensor::read_npy(path.as_str().unwrap_or_default());
        let inputs: Vec<Tensor> = paths.iter().map(load).collect::<Result<_>>()?;
        debug_assert!(inputs.iter().all(|t| matches!(t.device(), Device::Cpu)));
        case(&inputs)?;
        *state = Some((case, inputs));
        return Ok(json!({ "ready": true }));
    }
    let repeats = command["turn"].as_u64().unwrap_or(1);
    let Some((case, inputs)) = state else { candle_core::bail!("a turn before a case") };
    // Not timed: threads wake up, caches fill.
    std::hint::black_box(case(inputs)?);
    let begin = Instant::now();
    for _ in 0..repeats {
        std::hint::black_box(case(inputs)?);
    }
    Ok(json!({ "seconds": begin.elapsed().as_secs_f64() / repeats as f64 }))
}

fn main() {
    let mut state = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let reply = match serde_json::from_str(&line) {
            Ok(command) => answer(&command, &mut state).unwrap_or_else(|e| json!({ "error": e.to_string() })),
            Err(e) => json!({ "error": e.to_string() }),
        };
        println!("{reply}");
        let _ = std::io::stdout().flush();
    }
}
