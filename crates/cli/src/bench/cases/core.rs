//! The kernels. Within a family the most telling case comes first: the README shows that one.

use super::{Case, Fallible, Input, Ready, Suite, Work, evaluating, graph, input};
use serde_json::json;
use wootz::{Activations, AttentionOptions, BlockFormat, DType, Device, Tensor};
use wootz_report::Arithmetic;

pub fn cases() -> Vec<Case> {
    let mut cases = gemm();
    cases.extend(gemv());
    cases.extend(quantised());
    cases.extend(elementwise());
    cases.extend(reductions());
    cases.extend(rows());
    cases.extend(attention());
    cases.push(sort());
    cases
}

/// Bytes read, bytes written, and operations.
fn work(read: usize, written: usize, flops: usize) -> Work {
    let (read, written, flops) = (read as f64, written as f64, flops as f64);
    Work { bytes: read + written, written, flops, ..Work::default() }
}

/// Square matrix products by size, then by dtype.
fn gemm() -> Vec<Case> {
    let case = |n: usize, dtype: DType| {
        let inputs = vec![input([n, n], 1).of(dtype), input([n, n], 2).of(dtype)];
        let arithmetic = if dtype == DType::F64 { Arithmetic::Double } else { Arithmetic::Single };
        let matrix = n * n * dtype.size();
        let work = Work { arithmetic, ..work(2 * matrix, matrix, 2 * n * n * n) };
        let name = if dtype == DType::F32 { format!("matmul {n}") } else { format!("matmul {n} {dtype}") };
        graph((Suite::Core, "gemm", "matmul"), name, work, inputs, |t| t[0].matmul(&t[1]))
    };
    let sizes = [1024, 256, 512, 2048].map(|n| case(n, DType::F32));
    let dtypes = [DType::F64, DType::F16, DType::BF16].map(|dtype| case(1024, dtype));
    sizes.into_iter().chain(dtypes).collect()
}

fn gemv() -> Vec<Case> {
    let case = |dtype: DType| {
        let n = 4096;
        let inputs = vec![input([n, n], 1).of(dtype), input([n], 2).of(dtype)];
        let work = work((n * n + n) * dtype.size(), n * dtype.size(), 2 * n * n);
        let name = format!("matrix-vector {n} {dtype}");
        graph((Suite::Core, "gemv", "matmul"), name, work, inputs, |t| t[0].matmul(&t[1]))
    };
    [DType::F32, DType::F16].map(case).into()
}

/// Products with quantised weights: one row of activations as in decode, and many as in prefill.
fn quantised() -> Vec<Case> {
    use BlockFormat as F;
    let mut cases: Vec<Case> =
        [F::Q4_K, F::Q4_0, F::Q5_K, F::Q6_K, F::Q8_0].map(|f| quant_case(f, 1, 4096)).into();
    cases.extend([F::Q4_K, F::Q4_0, F::Q6_K, F::Q8_0].map(|f| quant_case(f, 128, 2048)));
    cases
}

fn quant_case(format: BlockFormat, rows: usize, n: usize) -> Case {
    let row_bytes = format.bytes_of(n).unwrap_or(0);
    let family = if rows == 1 { "quantised gemv" } else { "quantised gemm" };
    let prepare = move |device: &Device| -> Fallible<Ready> {
        let x = input([rows, n], 1).tensor(device)?;
        let weights = coded(format, n, device)?;
        let mut ready =
            evaluating(vec![x, weights], move |t| t[0].quant_matmul(&t[1], format, Activations::Rounded));
        ready.extra = json!({ "format": format.name(), "rows": n, "columns": n });
        Ok(ready)
    };
    Case {
        suite: Suite::Core,
        family,
        name: if rows == 1 { format!("{format} {n} × 1") } else { format!("{format} {n} × {rows}") },
        op: "quant_matmul",
        work: Work {
            arithmetic: Arithmetic::Bytes,
            ..work(n * row_bytes + 4 * rows * n, 4 * rows * n, 2 * rows * n * n)
        },
        neighbours: 0,
        prepare: Box::new(prepare),
    }
}

/// A square matrix of quantised rows. A few rows are quantised and repeated: speed does not depend on values, and
/// searching for the best scales would take longer than all measuring.
fn coded(format: BlockFormat, n: usize, device: &Device) -> Fallible<Tensor> {
    const DISTINCT: usize = 8;
    let values = input([DISTINCT * n], 2).tensor(&Device::cpu())?.to_vec::<f32>()?;
    let mut some = vec![0; format.bytes_of(values.len()).ok_or("whole blocks were expected")?];
    wootz_blocks::quantize(format, &values, None, &mut some)?;
    let row_bytes = some.len() / DISTINCT;
    let all = some.repeat(n.div_ceil(DISTINCT));
    Ok(Tensor::from_bytes_on(&all[..n * row_bytes], DType::U8, [n, row_bytes], device)?)
}

const LONG: usize = 10_000_000;

fn elementwise() -> Vec<Case> {
    let case =
        |op, name: &str, operands: usize, (written, flops): (usize, usize), run: fn(&[Tensor]) -> _| {
            let inputs = (0..operands).map(|i| input([LONG], i as u64 + 1)).collect();
            let work = work(4 * operands * LONG, written * LONG, flops * LONG);
            graph((Suite::Core, "elementwise", op), format!("{name} 10M"), work, inputs, run)
        };
    let square = 4096;
    let transpose = work(4 * square * square, 4 * square * square, 0);
    vec![
        case("chain", "chain of nine", 2, (4, 9), chain),
        case("add", "add", 2, (4, 1), |t| t[0].add(&t[1])),
        case("exp", "exp", 1, (4, 1), |t| t[0].exp()),
        case("cast_f16", "to f16", 1, (2, 1), |t| t[0].cast(DType::F16)),
        graph(
            (Suite::Core, "movement", "transpose"),
            format!("transpose {square}"),
            transpose,
            vec![input([square, square], 1)],
            |t| t[0].t()?.copied(),
        ),
    ]
}

fn chain(t: &[Tensor]) -> wootz::Result<Tensor> {
    let (x, y) = (&t[0], &t[1]);
    x.mul(x)?.add(y.mul(y)?)?.neg()?.exp()?.mul(x)?.div(y.abs()?.add(1.0)?)
}

fn reductions() -> Vec<Case> {
    let n = 4096;
    let case = |op, name: &str, shape: Vec<usize>, run: fn(&[Tensor]) -> _| {
        let count: usize = shape.iter().product();
        graph((Suite::Core, "reduction", op), name, work(4 * count, 0, count), vec![input(shape, 1)], run)
    };
    vec![
        case("sum_0", "sum over rows 4096", vec![n, n], |t| t[0].sum_axes([0], false)),
        case("sum_1", "sum over columns 4096", vec![n, n], |t| t[0].sum_axes([1], false)),
        case("sum", "sum 10M", vec![LONG], |t| t[0].sum()),
        case("argmax", "argmax of rows 4096", vec![n, n], |t| t[0].argmax(-1)),
    ]
}

/// Row kernels.
fn rows() -> Vec<Case> {
    let case = |family, op, per_element: usize, run: fn(&[Tensor]) -> _| {
        let inputs: Vec<Input> = vec![input([1024, 4096], 1), input([4096], 2), input([4096], 3)];
        let count = 1024 * 4096;
        let work = work(4 * count, 4 * count, per_element * count);
        graph((Suite::Core, family, op), format!("{op} 1024x4096"), work, inputs, run)
    };
    vec![
        case("softmax", "softmax", 5, |t| t[0].softmax(-1)),
        case("norm", "rms_norm", 4, |t| t[0].rms_norm(Some(&t[1]), 1e-5)),
        case("norm", "layer_norm", 7, |t| t[0].layer_norm(Some(&t[1]), Some(&t[2]), 1e-5)),
    ]
}

/// Attention of 16 query heads over 4 key heads, as in prefill and as in decode.
fn attention() -> Vec<Case> {
    let case = |name: &str, queries: usize, keys: usize| {
        let (heads, groups, d) = (16, 4, 64);
        let inputs = vec![
            input([1, heads, queries, d], 1),
            input([1, groups, keys, d], 2),
            input([1, groups, keys, d], 3),
        ];
        let rows = 4 * heads * queries * d;
        let work = work(rows + 8 * groups * keys * d, rows, 4 * heads * queries * keys * d);
        graph((Suite::Core, "attention", "attention"), name, work, inputs, |t| {
            t[0].attention(&t[1], &t[2], AttentionOptions::default())
        })
    };
    vec![case("attention 512 queries", 512, 512), case("attention 1 query of 4096", 1, 4096)]
}

fn sort() -> Case {
    let n = 1_000_000;
    graph((Suite::Core, "sort", "sort"), "sort 1M", work(4 * n, 4 * n, 0), vec![input([n], 1)], |t| {
        t[0].sort(0, false)
    })
}
