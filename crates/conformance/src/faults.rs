//! Graphs that must end with a fault: an error that names it, not a wrong result or a crash.

use crate::case::Build;
use crate::leaf::Leaf;
use crate::random::Random;
use crate::values;
use wootz_blocks::BlockFormat;
use wootz_ir::op::{Activations, ScatterMode};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, ElementwiseOp, Fault, Kind, Number, build};

/// A graph, and the fault that evaluating it must report.
pub struct FaultCase {
    /// Unique.
    pub name: String,
    /// The kernel family that has to detect it.
    pub family: &'static str,
    /// The dtype of the most important operand.
    pub dtype: DType,
    /// Inputs.
    pub leaves: Vec<Leaf>,
    /// Builds the output node from leaf nodes.
    pub build: Build,
    /// The expected fault.
    pub fault: Fault,
}

/// All kinds of faults in the data.
pub fn expected_faults() -> Vec<FaultCase> {
    let mut list = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
        for op in [ElementwiseOp::FloorDivide, ElementwiseOp::Remainder] {
            list.push(elementwise(op, dtype, 0, Fault::DivisionByZero));
        }
        if dtype.kind() == Kind::Signed {
            list.push(elementwise(ElementwiseOp::Pow, dtype, -1, Fault::NegativeExponent));
        }
    }
    for dtype in [DType::F32, DType::F16, DType::I64, DType::U8] {
        for index in [4, -5, i64::MAX, i64::MIN] {
            list.push(gather(dtype, index));
            list.push(scatter(dtype, index, ScatterMode::Set));
            list.push(scatter(dtype, index, ScatterMode::Add));
        }
        for start in [-1, 3, i32::MAX as i64] {
            list.push(write_at(dtype, start));
        }
    }
    for index in [3, -4] {
        list.push(quant_gather(index));
        list.push(expert_matmul(index, 1));
        list.push(expert_matmul(index, 16));
    }
    list.push(first_of_two());
    list
}

fn whole(name: &str, shape: &[usize], dtype: DType) -> Leaf {
    Leaf::contiguous(values::whole(&mut Random::named(name), shape, dtype, 1, 9))
}

fn case(name: String, family: &'static str, fault: Fault, leaves: Vec<Leaf>, build: Build) -> FaultCase {
    FaultCase { dtype: leaves[0].dtype(), name, family, leaves, build, fault }
}

/// One bad operand among good ones, at the end, where a vector loop may leave it to the scalar tail.
fn elementwise(op: ElementwiseOp, dtype: DType, bad: i64, fault: Fault) -> FaultCase {
    let name = format!("map/{}/{dtype}/fault", op.name());
    let mut leaves = vec![whole(&name, &[3, 7], dtype), whole(&name, &[3, 7], dtype)];
    leaves[1].tensor.data[20] = Number::Int(bad).cast(dtype);
    case(name, "map", fault, leaves, Box::new(move |n| build::elementwise(op, &[&n[0], &n[1]])))
}

fn positions(bad: i64) -> Leaf {
    Leaf::contiguous(HostTensor::new([3, 2], DType::I64, [0, 1, -4, 3, bad, 2].map(Number::Int)))
}

fn gather(dtype: DType, index: i64) -> FaultCase {
    let name = format!("gather/gather/{dtype}/fault/{index}");
    let leaves = vec![whole(&name, &[4, 2], dtype), positions(index)];
    case(name, "gather", Fault::IndexOutOfRange, leaves, Box::new(|n| build::gather(&n[0], &n[1], 0)))
}

fn scatter(dtype: DType, index: i64, mode: ScatterMode) -> FaultCase {
    let op = if mode == ScatterMode::Set { "scatter" } else { "scatter_add" };
    let name = format!("scatter/{op}/{dtype}/fault/{index}");
    let leaves = vec![whole(&name, &[4, 2], dtype), positions(index), whole(&name, &[3, 2], dtype)];
    let build: Build = Box::new(move |n| build::scatter(&n[0], &n[1], &n[2], 0, mode));
    case(name, "scatter", Fault::IndexOutOfRange, leaves, build)
}

fn write_at(dtype: DType, start: i64) -> FaultCase {
    let name = format!("write_at/write_at/{dtype}/fault/{start}");
    let at = Leaf::contiguous(HostTensor::new([1], DType::I32, [Number::Int(start)]));
    let leaves = vec![whole(&name, &[4, 2], dtype), whole(&name, &[2, 2], dtype), at];
    let build: Build = Box::new(|n| build::write_at(&n[0], &n[1], &n[2], 0));
    case(name, "write_at", Fault::IndexOutOfRange, leaves, build)
}

fn quant_gather(index: i64) -> FaultCase {
    let name = format!("quant_gather/Q8_0/f32/fault/{index}");
    let weights = HostTensor::new([3, 34], DType::U8, vec![Number::Int(0); 102]);
    let rows = HostTensor::new([2], DType::I64, [Number::Int(0), Number::Int(index)]);
    let leaves = vec![Leaf::contiguous(weights), Leaf::contiguous(rows)];
    let build: Build = Box::new(|n| build::quant_gather(&n[0], &n[1], BlockFormat::Q8_0));
    case(name, "quant_gather", Fault::IndexOutOfRange, leaves, build)
}

/// One bad choice among few, or among so many that they are sorted.
fn expert_matmul(choice: i64, rows: usize) -> FaultCase {
    let name = format!("expert_matmul/Q8_0/f32/fault/{choice}/{rows}");
    let x = whole(&name, &[rows, 32], DType::F32);
    let weights = HostTensor::new([3, 2, 34], DType::U8, vec![Number::Int(0); 204]);
    let mut choices = vec![Number::Int(1); 2 * rows];
    choices[rows] = Number::Int(choice);
    let choices = HostTensor::new([rows, 2], DType::I64, choices);
    let leaves = vec![x, Leaf::contiguous(weights), Leaf::contiguous(choices)];
    let build: Build =
        Box::new(|n| build::expert_matmul(&n[0], &n[1], &n[2], BlockFormat::Q8_0, Activations::Rounded));
    case(name, "expert_matmul", Fault::IndexOutOfRange, leaves, build)
}

/// A bad index, and in a later step, behind a sort, divisors of zero: what is reported is the earlier step's fault.
fn first_of_two() -> FaultCase {
    let name = "gather/first_of_two/i32/fault".to_string();
    let zeros = HostTensor::new([3, 2], DType::I32, [Number::Int(0); 6]);
    let leaves = vec![whole(&name, &[4, 2], DType::I32), positions(9), Leaf::contiguous(zeros)];
    let build: Build = Box::new(|n| {
        let sorted = build::sort(&build::gather(&n[0], &n[1], 0)?, 1, false, None)?;
        build::elementwise(ElementwiseOp::FloorDivide, &[&sorted, &n[2]])
    });
    case(name, "gather", Fault::IndexOutOfRange, leaves, build)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::evaluate;

    #[test]
    fn the_reference_reports_each_fault() {
        for case in expected_faults() {
            let tensors: Vec<HostTensor> = case.leaves.iter().map(|leaf| leaf.tensor.clone()).collect();
            match evaluate(&tensors, |n| Ok(vec![(case.build)(n)?])) {
                Err(wootz_ir::Error::Fault { fault, .. }) => assert_eq!(fault, case.fault, "{}", case.name),
                Err(other) => panic!("{}: another error: {other}", case.name),
                Ok(_) => panic!("{}: no fault", case.name),
            }
        }
    }
}
