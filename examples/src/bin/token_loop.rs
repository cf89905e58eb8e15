//! A token loop over Q4_K weights. The entire step (embedding, four layers, logits, greedy sampling) is one plan that
//! is created once and replayed: the device gets one batch per token, and only the token id is read back.

use wootz::{Activations, BlockFormat, DType, Device, Result, Tensor, compile};

const WIDTH: usize = 256;
const VOCABULARY: usize = 512;
const LAYERS: usize = 4;
const TOKENS: usize = 16;

/// A matrix as rows of Q4_K blocks, and its dequantised values.
struct Matrix {
    coded: Tensor,
    plain: Tensor,
}

fn matrix(rows: usize, seed: u64, device: &Device) -> Result<Matrix> {
    let format = BlockFormat::Q4_K;
    let scale = (WIDTH as f64).powf(-0.5);
    let values = Tensor::normal([rows, WIDTH], seed, DType::F32)?.mul(scale)?.to_vec::<f32>()?;
    let mut bytes = vec![0; rows * WIDTH / format.block_len() * format.block_bytes()];
    let mut plain = vec![0.0; values.len()];
    let failed = |e: wootz_blocks::BlockError| wootz::Error::argument("quantize", e.to_string());
    wootz_blocks::quantize(format, &values, None, &mut bytes).map_err(failed)?;
    wootz_blocks::dequantize(format, &bytes, &mut plain).map_err(failed)?;
    Ok(Matrix {
        coded: Tensor::from_bytes_on(&bytes, DType::U8, [rows, bytes.len() / rows], device)?,
        plain: Tensor::from_slice_on(&plain, device)?.reshape([rows, WIDTH])?,
    })
}

/// The logits after a token; `plain` uses float weights instead of blocks.
fn logits(token: &Tensor, embedding: &Matrix, layers: &[Matrix], plain: bool) -> Result<Tensor> {
    let product = |x: &Tensor, m: &Matrix| match plain {
        true => x.matmul(&m.plain.t()?),
        false => x.quant_matmul(&m.coded, BlockFormat::Q4_K, Activations::Rounded),
    };
    let mut x = embedding.coded.quant_gather(token, BlockFormat::Q4_K)?;
    for layer in layers {
        x = x.add(product(&x.rms_norm(None, 1e-5)?, layer)?.tanh()?)?;
    }
    product(&x.rms_norm(None, 1e-5)?, embedding)
}

fn main() -> Result<()> {
    let device = Device::current()?;
    let embedding = matrix(VOCABULARY, 1, &device)?;
    let layers: Vec<Matrix> =
        (0..LAYERS).map(|i| matrix(WIDTH, 2 + i as u64, &device)).collect::<Result<_>>()?;
    let start = Tensor::from_slice_on(&[7i32], &device)?;

    // Blocks against dequantised weights: only the rounding of activations to 8 bits differs.
    let coded = logits(&start, &embedding, &layers, false)?.to_vec::<f32>()?;
    let plain = logits(&start, &embedding, &layers, true)?.to_vec::<f32>()?;
    let size = plain.iter().map(|v| v.abs()).fold(0.0, f32::max);
    let error = coded.iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / size;
    println!("Q4_K and plain logits agree: {}", error < 0.05);

    let step = compile(&device, move |t| {
        let logits = logits(&t[0], &embedding, &layers, false)?;
        // Do not repeat the last token, so that the loop goes on.
        let same = Tensor::iota_on([1, VOCABULARY], t[0].device())?.equal(t[0].reshape([1, 1])?)?;
        let masked = same.where_(f64::NEG_INFINITY, &logits)?;
        Ok(vec![masked.argmax(-1)?.cast(DType::I32)?.reshape([1])?])
    });
    let mut token = start;
    let mut written = Vec::new();
    for _ in 0..TOKENS {
        token = step.call(&[&token])?.remove(0);
        written.push(token.to_vec::<i32>()?[0]);
    }
    println!("tokens: {written:?}");
    println!("device: {} ({})", device.name(), device.info().description);
    Ok(())
}
