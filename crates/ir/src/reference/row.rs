//! Reductions, scans, sorts, norms and rotary embedding.

use super::HostTensor;
use crate::dtype::{DType, Number, ScalarType};
use crate::error::Result;
use crate::graph::GraphNode;
use crate::op::{ArgOp, Axes, Op, ReduceOp, RopeStyle, ScanOp};
use crate::reference::evaluate_binary;
use crate::scalar::BinaryFn;
use crate::shape::Shape;
use std::cmp::Ordering;

/// The definitions of this file's families.
pub fn evaluate(node: &GraphNode, operands: &[&HostTensor]) -> Result<HostTensor> {
    let (x, shape) = (operands[0], &node.shape);
    Ok(match &node.op {
        Op::Reduce(op, axes) => reduce(*op, *axes, x, shape),
        Op::ArgReduce(op, axis) => arg_reduce(*op, *axis as usize, x, shape),
        Op::Scan(op) => scan(*op, x),
        Op::Sort { descending, limit } => sort(x, *descending, *limit, shape),
        Op::ArgSort { descending, limit } => argsort(x, *descending, *limit, shape),
        Op::Softmax { log } => softmax(x, *log),
        Op::RmsNorm { eps } => rms_norm(operands, eps.get()),
        Op::LayerNorm { eps } => layer_norm(operands, eps.get()),
        Op::Rope(style) => rope(operands, *style),
        other => unreachable!("{} is defined elsewhere", other.name()),
    })
}

/// The type in which elements of a dtype are combined: f64 for floats, their own width for integers.
fn wide(dtype: DType) -> ScalarType {
    if dtype.is_float() { ScalarType::F64 } else { dtype.compute() }
}

fn combine(op: ReduceOp) -> BinaryFn {
    match op {
        ReduceOp::Sum => BinaryFn::Add,
        ReduceOp::Prod => BinaryFn::Mul,
        ReduceOp::Min => BinaryFn::Min,
        ReduceOp::Max => BinaryFn::Max,
        ReduceOp::Any => BinaryFn::Or,
        ReduceOp::All => BinaryFn::And,
    }
}

fn reduce(op: ReduceOp, axes: Axes, x: &HostTensor, shape: &Shape) -> HostTensor {
    let mut groups: Vec<Vec<Number>> = vec![Vec::new(); shape.count()];
    for (i, &value) in x.data.iter().enumerate() {
        let coords = x.shape.unravel(i);
        let kept: Vec<usize> = (0..coords.len()).filter(|&a| !axes.contains(a)).map(|a| coords[a]).collect();
        let group = shape.iter().zip(&kept).fold(0, |index, (&extent, &c)| index * extent + c);
        groups[group].push(value);
    }
    let identity = match op {
        ReduceOp::Prod => Number::Int(1).cast(x.dtype),
        ReduceOp::All => Number::Bool(true),
        ReduceOp::Sum | ReduceOp::Any | ReduceOp::Min | ReduceOp::Max => Number::Int(0).cast(x.dtype),
    };
    let step = |a, b| evaluate_binary(combine(op), wide(x.dtype), a, b).expect("reductions do not fault");
    let data = groups.into_iter().map(|g| g.into_iter().reduce(step).unwrap_or(identity).cast(x.dtype));
    HostTensor { shape: shape.clone(), dtype: x.dtype, data: data.collect() }
}

/// Elements of `x` along `axis`, with the other coordinates as in `coords` (which lack the axis).
fn line(x: &HostTensor, axis: usize, coords: &[usize]) -> Vec<Number> {
    let mut full = coords.to_vec();
    full.insert(axis, 0);
    (0..x.shape[axis])
        .map(|i| {
            full[axis] = i;
            x.at(&full)
        })
        .collect()
}

/// Ascending order with NaN last.
pub fn order(a: &Number, b: &Number) -> Ordering {
    match (a, b) {
        (Number::Float(a), Number::Float(b)) => {
            a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        (Number::Int(a), Number::Int(b)) => a.cmp(b),
        (Number::Uint(a), Number::Uint(b)) => a.cmp(b),
        (Number::Bool(a), Number::Bool(b)) => a.cmp(b),
        _ => unreachable!("elements of one dtype"),
    }
}

fn is_nan(n: &Number) -> bool {
    matches!(n, Number::Float(f) if f.is_nan())
}

fn arg_reduce(op: ArgOp, axis: usize, x: &HostTensor, shape: &Shape) -> HostTensor {
    HostTensor::from_coords(shape, DType::I64, |coords| {
        let line = line(x, axis, coords);
        let mut best = 0;
        for i in 1..line.len() {
            let better = match op {
                ArgOp::Min => order(&line[i], &line[best]).is_lt(),
                ArgOp::Max => order(&line[i], &line[best]).is_gt(),
            };
            if !is_nan(&line[best]) && (better || is_nan(&line[i])) {
                best = i;
            }
        }
        Number::Int(best as i64)
    })
}

/// Applies `f` to each row (last axis) and concatenates the results.
fn rows(x: &HostTensor, dtype: DType, shape: &Shape, f: impl Fn(&[Number]) -> Vec<Number>) -> HostTensor {
    let length = x.shape.last().copied().unwrap_or(1);
    let count = x.data.len().checked_div(length).unwrap_or(0);
    let data = (0..count).flat_map(|r| f(&x.data[r * length..][..length])).map(|n| n.cast(dtype)).collect();
    HostTensor { shape: shape.clone(), dtype, data }
}

fn scan(op: ScanOp, x: &HostTensor) -> HostTensor {
    let f = match op {
        ScanOp::Sum => BinaryFn::Add,
        ScanOp::Prod => BinaryFn::Mul,
    };
    rows(x, x.dtype, &x.shape, |row| {
        let mut running = row[0];
        let mut out = vec![running];
        for &value in &row[1..] {
            running = evaluate_binary(f, wide(x.dtype), running, value).expect("scans do not fault");
            out.push(running);
        }
        out
    })
}

fn sorted_positions(row: &[Number], descending: bool, limit: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..row.len()).collect();
    positions.sort_by(|&i, &j| {
        let ordering = order(&row[i], &row[j]);
        if descending { ordering.reverse() } else { ordering }
    });
    positions.truncate(limit);
    positions
}

fn sort(x: &HostTensor, descending: bool, limit: usize, shape: &Shape) -> HostTensor {
    rows(x, x.dtype, shape, |row| {
        sorted_positions(row, descending, limit).into_iter().map(|i| row[i]).collect()
    })
}

fn argsort(x: &HostTensor, descending: bool, limit: usize, shape: &Shape) -> HostTensor {
    rows(x, DType::I64, shape, |row| {
        sorted_positions(row, descending, limit).into_iter().map(|i| Number::Int(i as i64)).collect()
    })
}

pub(super) fn softmax_row(row: &[f64]) -> Vec<f64> {
    let max = row.iter().copied().fold(f64::NEG_INFINITY, |a, b| if b.is_nan() { b } else { a.max(b) });
    let exps: Vec<f64> = row.iter().map(|v| libm::exp(v - max)).collect();
    let sum: f64 = exps.iter().sum();
    exps.into_iter().map(|e| e / sum).collect()
}

fn softmax(x: &HostTensor, log: bool) -> HostTensor {
    rows(x, x.dtype, &x.shape, |row| {
        let row: Vec<f64> = row.iter().map(|n| n.to_f64()).collect();
        if !log {
            return softmax_row(&row).into_iter().map(Number::Float).collect();
        }
        let max = row.iter().copied().fold(f64::NEG_INFINITY, |a, b| if b.is_nan() { b } else { a.max(b) });
        let sum: f64 = row.iter().map(|v| libm::exp(v - max)).sum();
        row.iter().map(|v| Number::Float(v - max - libm::log(sum))).collect()
    })
}

fn scaled(row: Vec<f64>, parameters: &[&HostTensor]) -> Vec<Number> {
    row.into_iter()
        .enumerate()
        .map(|(i, v)| {
            let weighted = parameters.first().map_or(v, |w| v * w.data[i].to_f64());
            Number::Float(parameters.get(1).map_or(weighted, |b| weighted + b.data[i].to_f64()))
        })
        .collect()
}

fn rms_norm(operands: &[&HostTensor], eps: f64) -> HostTensor {
    let x = operands[0];
    rows(x, x.dtype, &x.shape, |row| {
        let row: Vec<f64> = row.iter().map(|n| n.to_f64()).collect();
        let mean = row.iter().map(|v| v * v).sum::<f64>() / row.len() as f64;
        let scale = 1.0 / (mean + eps).sqrt();
        scaled(row.into_iter().map(|v| v * scale).collect(), &operands[1..])
    })
}

fn layer_norm(operands: &[&HostTensor], eps: f64) -> HostTensor {
    let x = operands[0];
    rows(x, x.dtype, &x.shape, |row| {
        let row: Vec<f64> = row.iter().map(|n| n.to_f64()).collect();
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / row.len() as f64;
        let scale = 1.0 / (variance + eps).sqrt();
        scaled(row.into_iter().map(|v| (v - mean) * scale).collect(), &operands[1..])
    })
}

fn rope(operands: &[&HostTensor], style: RopeStyle) -> HostTensor {
    let [x, positions, frequencies] = operands else { unreachable!("rope has three operands") };
    let half = frequencies.data.len();
    let rank = x.shape.rank();
    HostTensor::from_coords(&x.shape, x.dtype, |coords| {
        let i = coords[rank - 1];
        if i >= 2 * half {
            return x.at(coords);
        }
        let (pair, first, second) = match style {
            RopeStyle::Half => (i % half, i % half, i % half + half),
            RopeStyle::Interleaved => (i / 2, i / 2 * 2, i / 2 * 2 + 1),
        };
        let angle = positions.at(&coords[..rank - 1]).to_f64() * frequencies.data[pair].to_f64();
        let mut at = coords.to_vec();
        let mut value = |i: usize| {
            at[rank - 1] = i;
            x.at(&at).to_f64()
        };
        let (a, b) = (value(first), value(second));
        let turned = if i == first {
            a * libm::cos(angle) - b * libm::sin(angle)
        } else {
            a * libm::sin(angle) + b * libm::cos(angle)
        };
        Number::Float(turned)
    })
}
