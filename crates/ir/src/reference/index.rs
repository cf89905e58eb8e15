//! Gather, scatter and binary search.

use super::map::update_slice;
use super::row::order;
use super::{HostTensor, evaluate_binary};
use crate::dtype::{DType, Number, ScalarType};
use crate::error::{Error, Fault, Result};
use crate::graph::GraphNode;
use crate::layout::{Layout, Span};
use crate::op::{Op, ScatterMode};
use crate::scalar::BinaryFn;
use crate::shape::Shape;
use std::cmp::Ordering;

/// The definitions of this file's families.
pub fn evaluate(node: &GraphNode, operands: &[&HostTensor]) -> Result<HostTensor> {
    match &node.op {
        Op::SearchSorted { right } => Ok(search_sorted(operands, *right)),
        Op::Gather { axis } => gather(operands, *axis as usize, &node.shape),
        Op::Scatter { axis, mode } => scatter(operands, *axis as usize, *mode),
        Op::WriteAt { axis } => write_at(operands, *axis as usize),
        other => unreachable!("{} is defined elsewhere", other.name()),
    }
}

/// Converts an index that may count from the end to a non-negative one.
pub fn resolve(index: i64, extent: usize) -> Option<usize> {
    let resolved = if index < 0 { index + extent as i64 } else { index };
    (0..extent as i64).contains(&resolved).then_some(resolved as usize)
}

fn out_of_range(op: &str, x: &HostTensor) -> Error {
    Error::Fault {
        op: op.into(),
        fault: Fault::IndexOutOfRange,
        shape: x.shape.clone(),
        dtype: x.dtype,
        device: "reference".into(),
    }
}

/// The number of elements before each value, which may go behind its equals.
fn search_sorted(operands: &[&HostTensor], right: bool) -> HostTensor {
    let (sorted, values) = (operands[0], operands[1]);
    let place = |&value: &Number| {
        let comes_before = |element: &Number| match order(element, &value) {
            Ordering::Less => true,
            Ordering::Equal => right,
            Ordering::Greater => false,
        };
        Number::Int(sorted.data.partition_point(comes_before) as i64)
    };
    HostTensor::new(values.shape.clone(), DType::I64, values.data.iter().map(place))
}

fn gather(operands: &[&HostTensor], axis: usize, shape: &Shape) -> Result<HostTensor> {
    let (x, index) = (operands[0], operands[1]);
    let mut data = Vec::with_capacity(shape.count());
    for (i, at) in index.data.iter().enumerate() {
        let mut coords = shape.unravel(i);
        coords[axis] = resolve(at.to_i64(), x.shape[axis]).ok_or_else(|| out_of_range("gather", x))?;
        data.push(x.at(&coords));
    }
    Ok(HostTensor { shape: shape.clone(), dtype: x.dtype, data })
}

fn scatter(operands: &[&HostTensor], axis: usize, mode: ScatterMode) -> Result<HostTensor> {
    let (x, index, values) = (operands[0], operands[1], operands[2]);
    let layout = Layout::contiguous(&x.shape);
    let mut out = x.clone();
    for (i, at) in index.data.iter().enumerate() {
        let mut coords = index.shape.unravel(i);
        coords[axis] = resolve(at.to_i64(), x.shape[axis]).ok_or_else(|| out_of_range("scatter", x))?;
        let place = &mut out.data[layout.position(&coords)];
        let wide = if x.dtype.is_float() { ScalarType::F64 } else { x.dtype.compute() };
        *place = match mode {
            ScatterMode::Set => values.data[i],
            ScatterMode::Add => {
                evaluate_binary(BinaryFn::Add, wide, *place, values.data[i]).expect("sums do not fault")
            }
        };
    }
    out.data.iter_mut().for_each(|n| *n = n.cast(x.dtype));
    Ok(out)
}

fn write_at(operands: &[&HostTensor], axis: usize) -> Result<HostTensor> {
    let (x, rows, start) = (operands[0], operands[1], operands[2].data[0].to_i64());
    if start < 0 || start as usize + rows.shape[axis] > x.shape[axis] {
        return Err(out_of_range("write_at", x));
    }
    let spans: Vec<Span> = (0..x.shape.rank())
        .map(|a| Span { start: if a == axis { start as usize } else { 0 }, step: 1, len: rows.shape[a] })
        .collect();
    Ok(update_slice(&[x, rows], &spans))
}
