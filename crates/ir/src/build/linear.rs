//! Matrix products: matmul, attention, quantised products, WKV.

use super::index::one_index;
use super::{cast, expand, node};
use crate::dtype::{DType, Number};
use crate::error::{Error, Result};
use crate::graph::NodeRef;
use crate::op::{Activations, AttentionSpec, Bits, Op};
use crate::shape::Shape;
use wootz_blocks::BlockFormat;

/// `[…, m, k] · […, k, n]` with broadcasting of the leading axes.
pub fn matmul(a: &NodeRef, b: &NodeRef) -> Result<NodeRef> {
    let (sa, sb) = (a.shape(), b.shape());
    let bad = |expected: &str| Error::shape("matmul", &[sa, sb], expected);
    if sa.rank() < 2 || sb.rank() < 2 {
        return Err(bad("at least two axes each"));
    }
    let Some(dtype) = a.dtype().promote(b.dtype()).filter(|&d| d != DType::Bool) else {
        return Err(Error::dtype("matmul", &[a.dtype(), b.dtype()], "numbers with a common dtype"));
    };
    let (m, k) = (sa[sa.rank() - 2], sa[sa.rank() - 1]);
    let (k2, n) = (sb[sb.rank() - 2], sb[sb.rank() - 1]);
    if k != k2 {
        return Err(bad("[…, m, k] and […, k, n] with equal k"));
    }
    let lead = |s: &Shape| Shape::from(&s[..s.rank() - 2]);
    let batch =
        Shape::broadcast("matmul", &lead(sa), &lead(sb)).map_err(|_| bad("broadcastable leading axes"))?;
    let full = |r: usize, c: usize| -> Shape { batch.iter().copied().chain([r, c]).collect() };
    let a = expand("matmul", &cast(a, dtype), &full(m, k))?;
    let b = expand("matmul", &cast(b, dtype), &full(k, n))?;
    node(Op::Matmul, [a, b], full(m, n), dtype)
}

/// Options of [`attention`].
#[derive(Clone, Copy, Default)]
pub struct AttentionOptions<'a> {
    /// Factor on the scores; `1/√d` by default.
    pub scale: Option<f64>,
    /// Added to the scores; broadcasts to `[b, h, t, s]`. A bool mask keeps positions where it is true.
    pub mask: Option<&'a NodeRef>,
    /// Attention sinks `[h]`: a score per head that takes part in the softmax but contributes nothing.
    pub sinks: Option<&'a NodeRef>,
    /// Position of the first query (an integer with one element): query `t` sees keys up to position plus `t`.
    pub position: Option<&'a NodeRef>,
    /// With `position`: the size of the sliding window, in most recent visible keys.
    pub window: Option<usize>,
    /// Soft cap on the scores.
    pub softcap: Option<f64>,
}

/// Scaled-dot-product attention of q `[b, h, t, d]`, k `[b, g, s, d]`, v `[b, g, s, e]`, where `g` divides `h`.
pub fn attention(q: &NodeRef, k: &NodeRef, v: &NodeRef, options: AttentionOptions<'_>) -> Result<NodeRef> {
    let (sq, sk, sv) = (q.shape(), k.shape(), v.shape());
    let fits = sq.rank() == 4
        && sk.rank() == 4
        && sv.rank() == 4
        && sq[0] == sk[0]
        && sk[..3] == sv[..3]
        && sq[3] == sk[3]
        && sk[1] > 0
        && sq[1].is_multiple_of(sk[1]);
    if !fits {
        let expected = "q [b, h, t, d], k [b, g, s, d], v [b, g, s, e] with h a multiple of g";
        return Err(Error::shape("attention", &[sq, sk, sv], expected));
    }
    if ![q, k, v].iter().all(|x| x.dtype().is_float()) || k.dtype() != v.dtype() {
        let dtypes = [q.dtype(), k.dtype(), v.dtype()];
        return Err(Error::dtype("attention", &dtypes, "floats, with the same dtype for k and v"));
    }
    if q.dtype() != DType::F64 && k.dtype() == DType::F64 {
        let dtypes = [q.dtype(), k.dtype(), v.dtype()];
        return Err(Error::dtype("attention", &dtypes, "k and v no wider than q (cast q to f64)"));
    }
    if options.window.is_some() && options.position.is_none() {
        return Err(Error::argument("attention", "a window requires a position"));
    }
    let spec = AttentionSpec {
        scale: Bits::from(options.scale.unwrap_or(1.0 / (sq[3].max(1) as f64).sqrt())),
        mask: options.mask.is_some(),
        sinks: options.sinks.is_some(),
        causal: options.position.is_some(),
        window: options.window,
        softcap: options.softcap.map(Bits::from),
    };
    let compute = if q.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let mut operands = vec![q.clone(), k.clone(), v.clone()];
    if let Some(mask) = options.mask {
        let scores = Shape::from([sq[0], sq[1], sq[2], sk[2]]);
        operands.push(expand("attention", &additive(mask, compute)?, &scores)?);
    }
    if let Some(sinks) = options.sinks {
        if sinks.shape().as_ref() != [sq[1]] || !sinks.dtype().is_float() {
            let expected = format!("sinks [{}] of floats, one per head", sq[1]);
            return Err(Error::shape("attention", &[sq, sinks.shape()], expected));
        }
        operands.push(cast(sinks, compute));
    }
    if let Some(position) = options.position {
        operands.push(one_index("attention", position)?);
    }
    node(Op::Attention(spec), operands, Shape::from([sq[0], sq[1], sq[2], sv[3]]), q.dtype())
}

/// Converts a bool mask to 0 and −∞.
fn additive(mask: &NodeRef, dtype: DType) -> Result<NodeRef> {
    use crate::elementwise::ElementwiseOp;
    use crate::graph::Node;
    if mask.dtype() != DType::Bool {
        return Ok(cast(mask, dtype));
    }
    let zero = Node::constant(0.0.into(), dtype);
    let none = Node::constant(f64::NEG_INFINITY.into(), dtype);
    super::elementwise(ElementwiseOp::Where, &[mask, &zero, &none])
}

/// The number of columns of rows with `bytes` bytes.
fn quant_columns(op: &'static str, weights: &NodeRef, format: BlockFormat) -> Result<usize> {
    let shape = weights.shape();
    let whole =
        weights.dtype() == DType::U8 && shape.rank() == 2 && shape[1].is_multiple_of(format.block_bytes());
    if !whole {
        let expected = format!("u8 [rows, bytes] in whole {format} blocks of {} bytes", format.block_bytes());
        return Err(Error::shape(op, &[shape], expected));
    }
    Ok(shape[1] / format.block_bytes() * format.block_len())
}

/// `x […, k] · Wᵀ`, where the rows of `W [n, k]` are given as bytes quantised in `format`.
pub fn quant_matmul(
    x: &NodeRef,
    weights: &NodeRef,
    format: BlockFormat,
    activations: Activations,
) -> Result<NodeRef> {
    let columns = quant_columns("quant_matmul", weights, format)?;
    let rank = x.shape().rank();
    if rank == 0 || x.shape()[rank - 1] != columns {
        let expected = format!("x […, {columns}]");
        return Err(Error::shape("quant_matmul", &[x.shape(), weights.shape()], expected));
    }
    if !x.dtype().is_float() {
        return Err(Error::dtype("quant_matmul", &[x.dtype()], "a float"));
    }
    let dtype = x.dtype();
    let shape = x.shape().with(rank - 1, weights.shape()[0]);
    if columns == 0 {
        return super::full(&shape, Number::Int(0), dtype);
    }
    let x = cast(x, DType::F32);
    let op = Op::QuantMatmul { format, activations };
    Ok(cast(&node(op, [x, weights.clone()], shape, DType::F32)?, dtype))
}

/// `out[r, j] = W[experts[r, j]] · x[r]` for rows `x [r, k]`, choices `experts [r, j]`, and a stack of matrices `W
/// [e, n, k]` whose rows are given as bytes quantised in `format`.
pub fn expert_matmul(
    x: &NodeRef,
    weights: &NodeRef,
    experts: &NodeRef,
    format: BlockFormat,
    activations: Activations,
) -> Result<NodeRef> {
    let (sx, sw, se) = (x.shape(), weights.shape(), experts.shape());
    let whole = weights.dtype() == DType::U8
        && sw.rank() == 3
        && sw[0] > 0
        && sw[2].is_multiple_of(format.block_bytes());
    let columns = if whole { sw[2] / format.block_bytes() * format.block_len() } else { 0 };
    if !whole || sx.rank() != 2 || se.rank() != 2 || sx[0] != se[0] || sx[1] != columns {
        let expected = format!(
            "x [rows, k], u8 weights [experts, n, bytes] with k values in whole {format} blocks, choices [rows, slots]"
        );
        return Err(Error::shape("expert_matmul", &[sx, sw, se], expected));
    }
    if !x.dtype().is_float() || !experts.dtype().is_integer() {
        let expected = "a float x and integer choices";
        return Err(Error::dtype("expert_matmul", &[x.dtype(), experts.dtype()], expected));
    }
    let dtype = x.dtype();
    let shape = Shape::from([sx[0], se[1], sw[1]]);
    if columns == 0 {
        return super::full(&shape, Number::Int(0), dtype);
    }
    let operands = [cast(x, DType::F32), weights.clone(), cast(experts, DType::I64)];
    Ok(cast(&node(Op::ExpertMatmul { format, activations }, operands, shape, DType::F32)?, dtype))
}

/// Rows of a quantised matrix by index, as f32.
pub fn quant_gather(weights: &NodeRef, rows: &NodeRef, format: BlockFormat) -> Result<NodeRef> {
    let columns = quant_columns("quant_gather", weights, format)?;
    if !rows.dtype().is_integer() {
        return Err(Error::dtype("quant_gather", &[rows.dtype()], "integer rows"));
    }
    let shape: Shape = rows.shape().iter().copied().chain([columns]).collect();
    node(Op::QuantGather { format }, [weights.clone(), cast(rows, DType::I64)], shape, DType::F32)
}

/// RWKV-7's recurrence over `[r, w, k, v, a, b]`, each `[t, h, d]` except v `[t, h, n]`, from a state `[h, n, d]`: `S
/// ← S·diag(w) + (S·a)·bᵀ + v·kᵀ`, `out = S·r`. The result is flat: outputs `[t, h, n]`, then the new state.
///
/// Gated delta rules (`w` and `b` scaled by a decay, `a = −k`) and state spaces (`a = b = 0`) are special cases.
pub fn wkv7(inputs: [&NodeRef; 6], state: &NodeRef) -> Result<NodeRef> {
    let shape = inputs[0].shape();
    let values = inputs[3].shape();
    let fits = shape.rank() == 3
        && values.rank() == 3
        && values[..2] == shape[..2]
        && inputs.iter().enumerate().all(|(slot, x)| slot == 3 || x.shape() == shape)
        && state.shape().as_ref() == [shape[1], values[2], shape[2]];
    if !fits {
        let expected = "r, w, k, a, b [t, h, d], v [t, h, n] and a state [h, n, d]";
        return Err(Error::shape("wkv7", &[shape, values, state.shape()], expected));
    }
    let operands = inputs.into_iter().chain([state]).map(|x| cast(x, DType::F32));
    let total = values.count() + state.shape().count();
    if shape[2] == 0 {
        return super::full(&Shape::from([total]), Number::Int(0), DType::F32);
    }
    node(Op::Wkv7, operands, Shape::from([total]), DType::F32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::full;

    #[test]
    fn attention_refuses_keys_wider_than_the_queries() {
        let of = |dtype| full(&Shape::from([1, 1, 2, 4]), 1.0.into(), dtype).unwrap();
        let run = |q, kv| attention(&of(q), &of(kv), &of(kv), AttentionOptions::default());
        assert!(run(DType::F64, DType::F16).is_ok() && run(DType::F32, DType::F16).is_ok());
        let refused = run(DType::F32, DType::F64).err().expect("f64 keys under f32 queries").to_string();
        assert!(refused.contains("f32, f64 and f64") && refused.contains("no wider"), "{refused}");
    }
}
