//! All quantised products of a real model file, in file order, as decoding one token and prefilling 128 would do
//! them: the time that is left for everything else is what a peer's tokens per second allow.
//!
//! `cargo run --release -p wootz-cpu --example quant_model -- MODEL.gguf [THREADS]`

use wootz_cpu::quant::{ActLayout, Acts, Output, Weights, matmul_rows, quantize_rows};
use wootz_cpu::team::Team;
use wootz_gguf::Gguf;
use wootz_ir::op::Activations;

mod clock;
use clock::Clock;

struct Layer<'a> {
    weights: Weights<'a>,
    layout: ActLayout,
    one: Vec<u32>,
    many: Vec<u32>,
    /// The output matrix, of which prefill needs only one row of activations.
    head: bool,
}

fn run(team: &Team, layers: &[Layer<'_>], prefill: bool, out: &mut [f32]) {
    for layer in layers {
        let records = if prefill && !layer.head { &layer.many } else { &layer.one };
        let acts = Acts::new(layer.layout, records).expect("whole records");
        let output = Output::new(out.as_mut_ptr(), layer.weights.rows());
        team.run(&|w| {
            // SAFETY: workers' rows are disjoint, and `out` has a value for each row and activation row.
            unsafe { matmul_rows(&layer.weights, &acts, w.split(layer.weights.rows(), 16), output) };
        });
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let gguf = Gguf::open(args.first().ok_or("usage: quant_model MODEL.gguf [THREADS]")?)?;
    let team = Team::new(args.get(1).map_or(Ok(2), |n| n.parse())?);
    let mut layers = Vec::new();
    for tensor in gguf.tensors().iter().filter(|t| t.dims.len() == 2) {
        let (cols, rows) = (tensor.dims[0] as usize, tensor.dims[1] as usize);
        let weights = Weights::new(tensor.format()?, gguf.data(tensor), rows, cols)?;
        let layout = ActLayout::new(cols, Activations::Rounded).ok_or("columns are not whole groups")?;
        let x: Vec<f32> = (0..128 * cols).map(|i| (i as f32 * 0.37).sin()).collect();
        let (one, many) = (quantize_rows(layout, &x[..cols]), quantize_rows(layout, &x));
        layers.push(Layer { weights, layout, one, many, head: tensor.name.starts_with("token_embd") });
    }
    let bytes: u64 = gguf.tensors().iter().filter(|t| t.dims.len() == 2).map(|t| t.bytes).sum();
    let most = layers.iter().map(|l| if l.head { l.weights.rows() } else { 128 * l.weights.rows() }).max();
    let mut out = vec![0.0; most.unwrap_or(0)];
    let clock = Clock::new(team.size());
    let decode = clock.best(|| run(&team, &layers, false, &mut out));
    let prefill = clock.best(|| run(&team, &layers, true, &mut out));
    println!("{} products, {:.1} MB, {} threads", layers.len(), bytes as f64 / 1e6, team.size());
    println!(
        "decode: {:.2} ms, {:.1} GB/s; at most {:.0} tokens/s",
        decode * 1e3,
        bytes as f64 / decode / 1e9,
        1.0 / decode
    );
    println!("prefill(128): {:.1} ms; at most {:.0} tokens/s", prefill * 1e3, 128.0 / prefill);
    Ok(())
}
