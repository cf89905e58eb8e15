//! Elementwise ops, casts and movements.

use super::{HostTensor, run};
use crate::dtype::Number;
use crate::elementwise::ElementwiseOp;
use crate::error::{Error, Result};
use crate::graph::GraphNode;
use crate::layout::{Layout, Span, View};
use crate::op::Op;
use crate::scalar::{Builder, Instr};
use crate::shape::Shape;

/// The definitions of this file's family.
pub fn evaluate(node: &GraphNode, operands: &[&HostTensor]) -> Result<HostTensor> {
    let GraphNode { op, shape, dtype, .. } = node;
    let with = |data: Vec<Number>| HostTensor { shape: shape.clone(), dtype: *dtype, data };
    Ok(match op {
        Op::Iota => with((0..shape.count()).map(|i| Number::Int(i as i64)).collect()),
        Op::Elementwise(op) => return elementwise(*op, node, operands),
        Op::Cast => HostTensor::new(shape.clone(), *dtype, operands[0].data.iter().copied()),
        Op::View(view) => {
            let source = operands[0];
            let layout =
                Layout::contiguous(&source.shape).view(view).expect("a contiguous layout has all views");
            with(layout.positions().map(|p| source.data[p]).collect())
        }
        Op::Concat { axis } => concat(operands, *axis as usize, shape),
        Op::UpdateSlice(spans) => update_slice(operands, spans),
        other => unreachable!("{} is defined elsewhere", other.name()),
    })
}

fn elementwise(op: ElementwiseOp, node: &GraphNode, operands: &[&HostTensor]) -> Result<HostTensor> {
    let GraphNode { shape, dtype, .. } = node;
    let builder = Builder::new();
    let load = |(i, x): (usize, &&HostTensor)| builder.emit(Instr::Load(i as u16, x.dtype.compute()));
    let args: Vec<_> = operands.iter().enumerate().map(load).collect();
    let result = op.define(&args).reg;
    let program = builder.finish(vec![result]);
    let mut data = Vec::with_capacity(shape.count());
    for i in 0..shape.count() {
        let loads: Vec<Number> = operands.iter().map(|x| x.data[i]).collect();
        let value = run(&program, &loads, &[]).map_err(|fault| Error::Fault {
            op: op.name().into(),
            fault,
            shape: shape.clone(),
            dtype: *dtype,
            device: "reference".into(),
        })?;
        data.push(value[0].cast(*dtype));
    }
    Ok(HostTensor { shape: shape.clone(), dtype: *dtype, data })
}

fn concat(operands: &[&HostTensor], axis: usize, shape: &Shape) -> HostTensor {
    HostTensor::from_coords(shape, operands[0].dtype, |coords| {
        let mut at = coords.to_vec();
        for x in operands {
            if at[axis] < x.shape[axis] {
                return x.at(&at);
            }
            at[axis] -= x.shape[axis];
        }
        unreachable!("the extents add up to the shape's")
    })
}

pub fn update_slice(operands: &[&HostTensor], spans: &[Span]) -> HostTensor {
    let (x, values) = (operands[0], operands[1]);
    let mut out = x.clone();
    let target = Layout::contiguous(&x.shape).view(&View::Slice(spans.into())).expect("slices are views");
    for (position, &value) in target.positions().zip(&values.data) {
        out.data[position] = value;
    }
    out
}
