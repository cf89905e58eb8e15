//! Matrix products.

use super::HostTensor;
use super::row::softmax_row;
use crate::dtype::{DType, Number};
use crate::error::{Error, Fault, Result};
use crate::graph::GraphNode;
use crate::op::{AttentionSpec, Op};
use crate::shape::Shape;
use wootz_blocks::{BlockFormat, dequantize};

/// The definitions of this file's families.
pub fn evaluate(node: &GraphNode, operands: &[&HostTensor]) -> Result<HostTensor> {
    let shape = &node.shape;
    match &node.op {
        Op::Matmul => Ok(matmul(operands[0], operands[1], shape)),
        Op::Attention(spec) => Ok(attention(operands, spec, shape)),
        Op::QuantMatmul { format, .. } => quant_matmul(operands, *format, shape),
        Op::ExpertMatmul { format, .. } => expert_matmul(operands, *format, shape),
        Op::QuantGather { format } => quant_gather(operands, *format, shape),
        Op::Wkv7 => Ok(wkv7(operands, shape)),
        other => unreachable!("{} is defined elsewhere", other.name()),
    }
}

fn matmul(a: &HostTensor, b: &HostTensor, shape: &Shape) -> HostTensor {
    let rank = shape.rank();
    let inner = a.shape[rank - 1];
    HostTensor::from_coords(shape, a.dtype, |coords| {
        let (mut at, mut bt) = (coords.to_vec(), coords.to_vec());
        let mut terms = (0..inner).map(|k| {
            at[rank - 1] = k;
            bt[rank - 2] = k;
            (a.at(&at), b.at(&bt))
        });
        if a.dtype.is_float() {
            Number::Float(terms.map(|(x, y)| x.to_f64() * y.to_f64()).sum())
        } else {
            Number::Int(
                terms
                    .by_ref()
                    .fold(0i64, |sum, (x, y)| sum.wrapping_add(x.to_i64().wrapping_mul(y.to_i64()))),
            )
        }
    })
}

fn attention(operands: &[&HostTensor], spec: &AttentionSpec, shape: &Shape) -> HostTensor {
    let (q, k, v) = (operands[0], operands[1], operands[2]);
    let mask = spec.mask.then(|| operands[3]);
    let sinks = spec.sinks.then(|| operands[3 + usize::from(spec.mask)]);
    let position = spec.causal.then(|| operands[operands.len() - 1].data[0].to_i64());
    let group = q.shape[1] / k.shape[1];
    let (depth, keys) = (q.shape[3], k.shape[2]);
    HostTensor::from_coords(shape, q.dtype, |coords| {
        let [b, h, t, e] = *coords else { unreachable!("attention has four axes") };
        let g = h / group;
        let score = |s: usize| {
            let dot: f64 =
                (0..depth).map(|d| q.at(&[b, h, t, d]).to_f64() * k.at(&[b, g, s, d]).to_f64()).sum();
            let scaled = dot * spec.scale.get();
            let capped = spec.softcap.map_or(scaled, |cap| cap.get() * libm::tanh(scaled / cap.get()));
            let hidden = position.is_some_and(|p| {
                let last = p + t as i64;
                let s = s as i64;
                s > last || spec.window.is_some_and(|w| s + w as i64 <= last)
            });
            if hidden {
                f64::NEG_INFINITY
            } else {
                capped + mask.map_or(0.0, |m| m.at(&[b, h, t, s]).to_f64())
            }
        };
        let mut scores: Vec<f64> = (0..keys).map(score).collect();
        scores.extend(sinks.map(|sinks| sinks.at(&[h]).to_f64()));
        if scores.iter().all(|s| *s == f64::NEG_INFINITY) {
            return Number::Float(0.0);
        }
        let weights = softmax_row(&scores);
        let visible = weights.iter().take(keys).enumerate().filter(|(_, w)| **w != 0.0);
        Number::Float(visible.map(|(s, w)| w * v.at(&[b, g, s, e]).to_f64()).sum())
    })
}

/// Dequantises row `row`.
fn dequantized_row(weights: &HostTensor, row: usize, format: BlockFormat) -> Result<Vec<f32>> {
    let width = weights.shape[1];
    let bytes: Vec<u8> = weights.data[row * width..][..width].iter().map(|n| n.to_i64() as u8).collect();
    let mut values = vec![0.0; width / format.block_bytes() * format.block_len()];
    dequantize(format, &bytes, &mut values).map_err(|e| Error::format("quantised rows", e.to_string()))?;
    Ok(values)
}

fn quant_matmul(operands: &[&HostTensor], format: BlockFormat, shape: &Shape) -> Result<HostTensor> {
    let (x, weights) = (operands[0], operands[1]);
    let rows: Vec<Vec<f32>> =
        (0..weights.shape[0]).map(|r| dequantized_row(weights, r, format)).collect::<Result<_>>()?;
    let inner = *x.shape.last().expect("checked when the node was built");
    let data = (0..x.data.len().checked_div(inner).unwrap_or(0))
        .flat_map(|i| rows.iter().map(move |row| (i, row)))
        .map(|(i, row)| {
            let x = &x.data[i * inner..][..inner];
            let dot: f64 = x.iter().zip(row).map(|(a, &b)| a.to_f64() * b as f64).sum();
            Number::Float(dot).cast(DType::F32)
        })
        .collect();
    Ok(HostTensor { shape: shape.clone(), dtype: DType::F32, data })
}

fn expert_matmul(operands: &[&HostTensor], format: BlockFormat, shape: &Shape) -> Result<HostTensor> {
    let (x, weights, experts) = (operands[0], operands[1], operands[2]);
    let (count, width) = (weights.shape[0], weights.shape[1]);
    let (slots, inner) = (experts.shape[1], x.shape[1]);
    // The stack as one tall matrix.
    let tall = HostTensor {
        shape: Shape::from([count * width, weights.shape[2]]),
        dtype: weights.dtype,
        data: weights.data.clone(),
    };
    let mut data = Vec::with_capacity(shape.count());
    for (i, choice) in experts.data.iter().enumerate() {
        let expert = super::index::resolve(choice.to_i64(), count)
            .ok_or_else(|| out_of_range("expert_matmul", shape))?;
        let x = &x.data[i / slots * inner..][..inner];
        for row in expert * width..(expert + 1) * width {
            let row = dequantized_row(&tall, row, format)?;
            let dot: f64 = x.iter().zip(&row).map(|(a, &b)| a.to_f64() * b as f64).sum();
            data.push(Number::Float(dot).cast(DType::F32));
        }
    }
    Ok(HostTensor { shape: shape.clone(), dtype: DType::F32, data })
}

fn out_of_range(op: &'static str, shape: &Shape) -> Error {
    Error::Fault {
        op: op.into(),
        fault: Fault::IndexOutOfRange,
        shape: shape.clone(),
        dtype: DType::F32,
        device: "reference".into(),
    }
}

fn quant_gather(operands: &[&HostTensor], format: BlockFormat, shape: &Shape) -> Result<HostTensor> {
    let (weights, rows) = (operands[0], operands[1]);
    let mut data = Vec::with_capacity(shape.count());
    for index in &rows.data {
        let row = super::index::resolve(index.to_i64(), weights.shape[0])
            .ok_or_else(|| out_of_range("quant_gather", shape))?;
        data.extend(dequantized_row(weights, row, format)?.into_iter().map(Number::from));
    }
    Ok(HostTensor { shape: shape.clone(), dtype: DType::F32, data })
}

fn wkv7(operands: &[&HostTensor], shape: &Shape) -> HostTensor {
    let [r, w, k, v, a, b, state] = operands else { unreachable!("wkv7 has seven operands") };
    let [steps, heads, depth] = *r.shape else { unreachable!("wkv7 inputs have three axes") };
    let rows = v.shape[2];
    let mut state = state.to_f64();
    let mut out = Vec::with_capacity(shape.count());
    for t in 0..steps {
        for h in 0..heads {
            let at = |x: &HostTensor, i: usize| x.at(&[t, h, i]).to_f64();
            for i in 0..rows {
                let row = &mut state[(h * rows + i) * depth..][..depth];
                let removed: f64 = (0..depth).map(|j| row[j] * at(a, j)).sum();
                for j in 0..depth {
                    row[j] = row[j] * at(w, j) + removed * at(b, j) + at(v, i) * at(k, j);
                }
                out.push((0..depth).map(|j| row[j] * at(r, j)).sum::<f64>());
            }
        }
    }
    out.extend(state);
    HostTensor::new(shape.clone(), DType::F32, out.into_iter().map(Number::Float))
}
