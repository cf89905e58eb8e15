//! A transformer block: norm, rotary embedding, attention with a KV cache, gated feed-forward network.
//!
//! The block runs token by token, as in decoding. Keys and values are in two buffers that the caller donates: each
//! step writes one row in place and attends over all rows so far. Processing the same tokens at once must give the
//! same last row.

use wootz::{AttentionOptions, Compiled, DType, Device, Result, RopeStyle, Tensor, compile};

const WIDTH: usize = 64;
const HEADS: usize = 4;
const HEAD: usize = WIDTH / HEADS;
const INNER: usize = 128;
const CONTEXT: usize = 32;

struct Block {
    device: Device,
    qkv: Tensor,
    out: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
    frequencies: Tensor,
}

impl Block {
    fn new(device: &Device) -> Result<Block> {
        let weight = |rows: usize, columns: usize, seed: u64| -> Result<Tensor> {
            let scale = (rows as f64).powf(-0.5);
            let weight = Tensor::normal([rows, columns], seed, DType::F32)?.mul(scale)?;
            weight.eval()?;
            weight.to_device(device)
        };
        let frequencies: Vec<f32> =
            (0..HEAD / 2).map(|i| 10000f32.powf(-2.0 * i as f32 / HEAD as f32)).collect();
        Ok(Block {
            device: device.clone(),
            qkv: weight(WIDTH, 3 * WIDTH, 1)?,
            out: weight(WIDTH, WIDTH, 2)?,
            gate: weight(WIDTH, INNER, 3)?,
            up: weight(WIDTH, INNER, 4)?,
            down: weight(INNER, WIDTH, 5)?,
            frequencies: Tensor::from_slice_on(&frequencies, device)?,
        })
    }

    /// `x [t, WIDTH]` at `position` with the cache before it: the output, and the cache after it.
    fn forward(&self, x: &Tensor, position: &Tensor, keys: &Tensor, values: &Tensor) -> Result<Vec<Tensor>> {
        let count = x.shape()[0];
        let qkv = x.rms_norm(None, 1e-5)?.matmul(&self.qkv)?.reshape([count, 3, HEADS, HEAD])?;
        // [t, heads, d] → [1, heads, t, d]
        let part = |i: usize| qkv.narrow(1, i, 1)?.squeeze(1)?.permute([1, 0, 2])?.unsqueeze(0);
        let places = Tensor::iota_on([count], &self.device)?.cast(DType::I32)?.add(position)?;
        let turned = |t: Tensor| t.rope(&places, &self.frequencies, RopeStyle::Half);
        let keys = keys.write_at(&turned(part(1)?)?, position, 2)?;
        let values = values.write_at(&part(2)?, position, 2)?;
        let options = AttentionOptions { position: Some(position), ..AttentionOptions::default() };
        let mixed = turned(part(0)?)?.attention(&keys, &values, options)?;
        let mixed = mixed.squeeze(0)?.permute([1, 0, 2])?.reshape([count, WIDTH])?;
        let x = x.add(mixed.matmul(&self.out)?)?;
        let normed = x.rms_norm(None, 1e-5)?;
        let gate = normed.matmul(&self.gate)?;
        let gated = gate.mul(gate.sigmoid()?)?.mul(normed.matmul(&self.up)?)?;
        Ok(vec![x.add(gated.matmul(&self.down)?)?, keys, values])
    }
}

fn empty_cache(device: &Device) -> Result<Tensor> {
    Tensor::full_on([1, HEADS, CONTEXT, HEAD], 0, DType::F32, device)?.copied()?.donate()
}

/// The last row of the output after all rows of `x`, processed `at_once` or one by one.
fn last_row(step: &Compiled, x: &Tensor, device: &Device, at_once: bool) -> Result<Vec<f32>> {
    let mut cache = [empty_cache(device)?, empty_cache(device)?];
    let count = x.shape()[0];
    let chunk = if at_once { count } else { 1 };
    let mut row = Vec::new();
    for start in (0..count).step_by(chunk) {
        let position = Tensor::from_slice_on(&[start as i32], device)?;
        let input = x.narrow(0, start, chunk)?;
        let result = step.call(&[&input, &position, &cache[0], &cache[1]])?;
        cache = [result[1].donate()?, result[2].donate()?];
        row = result[0].narrow(0, chunk - 1, 1)?.to_vec::<f32>()?;
    }
    Ok(row)
}

fn main() -> Result<()> {
    let device = Device::current()?;
    let block = Block::new(&device)?;
    let step = compile(&device, move |t| block.forward(&t[0], &t[1], &t[2], &t[3]));
    let x = Tensor::normal([12, WIDTH], 9, DType::F32)?;
    x.eval()?;
    let x = x.to_device(&device)?;
    let one_by_one = last_row(&step, &x, &device, false)?;
    let at_once = last_row(&step, &x, &device, true)?;
    let difference = one_by_one.iter().zip(&at_once).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("12 tokens one by one and at once agree: {}", difference < 1e-4);
    println!("norm of the last row: {:.3}", one_by_one.iter().map(|v| v * v).sum::<f32>().sqrt());
    let memory = device.memory();
    println!("pool: {} of {} allocations came from it", memory.hits, memory.hits + memory.misses);
    println!("device: {} ({})", device.name(), device.info().description);
    Ok(())
}
