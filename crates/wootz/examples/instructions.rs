//! Runs one kernel by name, for counting its instructions: `bench/instructions` calls this under callgrind.
//!
//! `instructions list` prints the names. `instructions NAME` prepares inputs, runs the kernel once so that it is planned and its
//! memory is there, and then runs it once more inside of [`wootz_counted_region`], which is all that is counted. Set
//! `WOOTZ_THREADS=1` and `WOOTZ_ISA`, so that the count depends on neither the machine's cores nor its newest instructions.

use wootz::{Activations, AttentionOptions, BlockFormat, DType, Device, Result, Tensor};

/// Inputs, and what is done with them.
type Kernel = (&'static str, fn(&Device) -> Result<Vec<Tensor>>, fn(&[Tensor]) -> Result<Tensor>);

const KERNELS: &[Kernel] = &[
    ("add 64K", |d| floats(d, &[&[65536], &[65536]]), |t| t[0].add(&t[1])),
    ("exp 64K", |d| floats(d, &[&[65536]]), |t| t[0].exp()),
    ("chain of nine 64K", |d| floats(d, &[&[65536], &[65536]]), chain),
    ("sum 64K", |d| floats(d, &[&[65536]]), |t| t[0].sum()),
    ("sum over rows 256", |d| floats(d, &[&[256, 256]]), |t| t[0].sum_axes([0], false)),
    ("softmax 64x1024", |d| floats(d, &[&[64, 1024]]), |t| t[0].softmax(-1)),
    ("rms_norm 64x1024", |d| floats(d, &[&[64, 1024]]), |t| t[0].rms_norm(None, 1e-5)),
    ("matmul 128", |d| floats(d, &[&[128, 128], &[128, 128]]), |t| t[0].matmul(&t[1])),
    ("matrix-vector 512", |d| floats(d, &[&[512, 512], &[512]]), |t| t[0].matmul(&t[1])),
    (
        "Q4_K 512 × 1",
        |d| coded(d, BlockFormat::Q4_K, 1),
        |t| t[0].quant_matmul(&t[1], BlockFormat::Q4_K, Activations::Rounded),
    ),
    (
        "Q6_K 512 × 1",
        |d| coded(d, BlockFormat::Q6_K, 1),
        |t| t[0].quant_matmul(&t[1], BlockFormat::Q6_K, Activations::Rounded),
    ),
    (
        "Q8_0 512 × 16",
        |d| coded(d, BlockFormat::Q8_0, 16),
        |t| t[0].quant_matmul(&t[1], BlockFormat::Q8_0, Activations::Rounded),
    ),
    (
        "attention 64",
        |d| floats(d, &[&[1, 4, 64, 32], &[1, 2, 64, 32], &[1, 2, 64, 32]]),
        |t| t[0].attention(&t[1], &t[2], AttentionOptions::default()),
    ),
    ("sort 16K", |d| floats(d, &[&[16384]]), |t| t[0].sort(0, false)),
    ("transpose 256", |d| floats(d, &[&[256, 256]]), |t| t[0].t()?.copied()),
    ("ten ops on 16", |d| floats(d, &[&[16], &[16]]), ten_ops),
];

fn floats(device: &Device, shapes: &[&[usize]]) -> Result<Vec<Tensor>> {
    let one = |(i, shape): (usize, &&[usize])| -> Result<Tensor> {
        let tensor = Tensor::uniform(*shape, i as u64 + 1, DType::F32)?.mul(2.0)?.sub(1.0)?;
        tensor.eval()?;
        tensor.to_device(device)
    };
    shapes.iter().enumerate().map(one).collect()
}

/// Activations, and a matrix of 512 coded rows of 512 values.
fn coded(device: &Device, format: BlockFormat, rows: usize) -> Result<Vec<Tensor>> {
    let n = 512;
    let tensors = floats(device, &[&[rows, n], &[n * n]])?;
    let values = tensors[1].to_vec::<f32>()?;
    let mut bytes = vec![0; format.bytes_of(values.len()).unwrap_or(0)];
    wootz_blocks::quantize(format, &values, None, &mut bytes)
        .map_err(|e| wootz::Error::argument("quantize", e.to_string()))?;
    let weights = Tensor::from_bytes_on(&bytes, DType::U8, [n, bytes.len() / n], device)?;
    Ok(vec![tensors[0].clone(), weights])
}

fn chain(t: &[Tensor]) -> Result<Tensor> {
    let (x, y) = (&t[0], &t[1]);
    x.mul(x)?.add(y.mul(y)?)?.neg()?.exp()?.mul(x)?.div(y.abs()?.add(1.0)?)
}

fn ten_ops(t: &[Tensor]) -> Result<Tensor> {
    let (x, y) = (&t[0], &t[1]);
    let a = x.add(y)?.mul(x)?.sub(y)?.div(2.0)?.maximum(x)?;
    a.add(1.0)?.mul(y)?.sub(x)?.abs()?.add(y)
}

/// What callgrind counts: building the graph, finding its plan, running it.
#[inline(never)]
fn wootz_counted_region(run: fn(&[Tensor]) -> Result<Tensor>, inputs: &[Tensor]) -> Result<Tensor> {
    let result = run(inputs)?;
    result.eval()?;
    Ok(result)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).ok_or("the name of a kernel, or `list`")?;
    if name == "list" {
        KERNELS.iter().for_each(|(name, ..)| println!("{name}"));
        return Ok(());
    }
    let kernel = KERNELS.iter().find(|(known, ..)| *known == name);
    let (_, prepare, run) = kernel.ok_or_else(|| format!("no kernel {name:?}; `list` names them"))?;
    let device = Device::cpu();
    let inputs = prepare(&device)?;
    // Warm-up outside of the region, called in another way so that the function above runs once.
    for _ in 0..2 {
        run(&inputs)?.eval()?;
    }
    let result = wootz_counted_region(*run, &inputs)?;
    // A sum of the result, so that a kernel which does nothing is seen.
    println!("{name}: {}", result.cast(DType::F64)?.sum()?.to_f64()?);
    Ok(())
}
