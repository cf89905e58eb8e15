//! The reference evaluator: computes any graph one element at a time, in the widest type of its kind.
//!
//! It defines the semantics of the engine. Floats are computed in f64 and rounded once per op to the op's dtype;
//! integers are exact and wrap; sums run in index order in f64. It is slow, has no fast path, and shares no code with
//! the planner or a backend except the definitions in the op table.

mod index;
mod linear;
mod row;
mod scalar;

pub use scalar::{evaluate_binary, evaluate_unary, run};

use crate::dtype::{DType, Number};
use crate::error::{Error, Result};
use crate::graph::{Graph, GraphNode};
use crate::layout::Layout;
use crate::op::Op;
use crate::scalar::Builder;
use crate::shape::Shape;

/// A tensor as a plain list of numbers in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    /// Shape.
    pub shape: Shape,
    /// Dtype; every number is exactly representable in it.
    pub dtype: DType,
    /// Elements.
    pub data: Vec<Number>,
}

impl HostTensor {
    /// A tensor whose elements are cast to `dtype`.
    pub fn new(shape: impl Into<Shape>, dtype: DType, data: impl IntoIterator<Item = Number>) -> HostTensor {
        let shape = shape.into();
        let data: Vec<Number> = data.into_iter().map(|n| n.cast(dtype)).collect();
        assert_eq!(data.len(), shape.count(), "a host tensor has as many elements as its shape says");
        HostTensor { shape, dtype, data }
    }

    /// The element at these coordinates.
    pub fn at(&self, coords: &[usize]) -> Number {
        self.data[Layout::contiguous(&self.shape).position(coords)]
    }

    /// Elements as doubles.
    pub fn to_f64(&self) -> Vec<f64> {
        self.data.iter().map(|n| n.to_f64()).collect()
    }

    /// Calls `f` with the coordinates of each element of a shape, in order, and collects the results.
    fn from_coords(shape: &Shape, dtype: DType, mut f: impl FnMut(&[usize]) -> Number) -> HostTensor {
        let data = (0..shape.count()).map(|i| f(&shape.unravel(i)).cast(dtype)).collect();
        HostTensor { shape: shape.clone(), dtype, data }
    }
}

/// Evaluates a graph: `leaves` and `constants` are the values of its leaf and constant nodes, in node order.
pub fn evaluate(graph: &Graph, leaves: &[HostTensor], constants: &[Number]) -> Result<Vec<HostTensor>> {
    let (mut leaves, mut constants) = (leaves.iter(), constants.iter());
    let mut values: Vec<HostTensor> = Vec::with_capacity(graph.nodes.len());
    let missing = || Error::argument("reference", "not enough values for the graph's leaves and constants");
    for node in &graph.nodes {
        let value = match &node.op {
            Op::Leaf { .. } => leaves.next().ok_or_else(missing)?.clone(),
            Op::Constant => HostTensor::new([], node.dtype, [*constants.next().ok_or_else(missing)?]),
            _ => {
                let operands: Vec<&HostTensor> = node.operands.iter().map(|&i| &values[i as usize]).collect();
                evaluate_node(node, &operands)?
            }
        };
        values.push(value);
    }
    Ok(graph.outputs.iter().map(|&i| values[i as usize].clone()).collect())
}

/// Evaluates one node from the values of its operands.
pub fn evaluate_node(node: &GraphNode, operands: &[&HostTensor]) -> Result<HostTensor> {
    let GraphNode { op, shape, dtype, .. } = node;
    Ok(match op {
        Op::Leaf { .. } | Op::Constant => unreachable!("leaves and constants have values already"),
        Op::Iota => HostTensor {
            shape: shape.clone(),
            dtype: *dtype,
            data: (0..shape.count()).map(|i| Number::Int(i as i64)).collect(),
        },
        Op::Elementwise(op) => {
            let builder = Builder::new();
            let args: Vec<_> = operands
                .iter()
                .enumerate()
                .map(|(i, x)| builder.emit(crate::scalar::Instr::Load(i as u16, x.dtype.compute())))
                .collect();
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
            HostTensor { shape: shape.clone(), dtype: *dtype, data }
        }
        Op::Cast => HostTensor::new(shape.clone(), *dtype, operands[0].data.iter().copied()),
        Op::View(view) => {
            let source = operands[0];
            let layout =
                Layout::contiguous(&source.shape).view(view).expect("a contiguous layout has all views");
            let data = layout.positions().map(|p| source.data[p]).collect();
            HostTensor { shape: shape.clone(), dtype: *dtype, data }
        }
        Op::Reduce(op, axes) => row::reduce(*op, *axes, operands[0], shape),
        Op::ArgReduce(op, axis) => row::arg_reduce(*op, *axis as usize, operands[0], shape),
        Op::Scan(op) => row::scan(*op, operands[0]),
        Op::Sort { descending, limit } => row::sort(operands[0], *descending, *limit, shape),
        Op::ArgSort { descending, limit } => row::argsort(operands[0], *descending, *limit, shape),
        Op::Softmax { log } => row::softmax(operands[0], *log),
        Op::RmsNorm { eps } => row::rms_norm(operands, eps.get()),
        Op::LayerNorm { eps } => row::layer_norm(operands, eps.get()),
        Op::Rope(style) => row::rope(operands, *style),
        Op::Matmul => linear::matmul(operands[0], operands[1], shape),
        Op::Attention(spec) => linear::attention(operands, spec, shape),
        Op::QuantMatmul { format, .. } => linear::quant_matmul(operands, *format, shape)?,
        Op::ExpertMatmul { format, .. } => linear::expert_matmul(operands, *format, shape)?,
        Op::QuantGather { format } => linear::quant_gather(operands, *format, shape)?,
        Op::Wkv7 => linear::wkv7(operands, shape),
        // A user's kernel is its own and only definition.
        Op::Custom(kernel) => return Err(kernel.unavailable("reference", *dtype)),
        Op::Gather { axis } => index::gather(operands, *axis as usize, shape)?,
        Op::Scatter { axis, mode } => index::scatter(operands, *axis as usize, *mode)?,
        Op::Concat { axis } => index::concat(operands, *axis as usize, shape),
        Op::UpdateSlice(spans) => index::update_slice(operands, spans),
        Op::WriteAt { axis } => index::write_at(operands, *axis as usize)?,
    })
}
