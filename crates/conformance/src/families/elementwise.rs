//! Every op of the elementwise table, with every dtype that it accepts, over every layout class.

use super::{Draft, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::random::Random;
use crate::tolerance::elementwise_tolerance;
use crate::values::{self, Values};
use wootz_ir::build;
use wootz_ir::elementwise::Accepts;
use wootz_ir::graph::{Node, NodeRef};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, ElementwiseOp, Number, Result, Shape};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    for &op in ElementwiseOp::ALL {
        let dtypes: Vec<DType> =
            DType::ALL.into_iter().filter(|&d| op.resolve(&operands(op, d)).is_ok()).collect();
        match level {
            Level::Full => dtypes.iter().for_each(|&dtype| full(op, dtype, list)),
            Level::Quick => quick(op, &dtypes, list),
        }
    }
    if level == Level::Full {
        sizes(list);
        promotions(list);
        scalars(list);
    }
}

/// The dtypes of the op's operands where `dtype` is what varies.
fn operands(op: ElementwiseOp, dtype: DType) -> Vec<DType> {
    let mut dtypes = vec![dtype; op.row().arity];
    if op.row().accepts == Accepts::Condition {
        dtypes[0] = DType::Bool;
    }
    dtypes
}

fn full(op: ElementwiseOp, dtype: DType, list: &mut Vec<Case>) {
    for class in LayoutClass::ALL {
        list.push(strided(op, dtype, class));
    }
    list.push(special(op, dtype));
    if dtype.is_float() {
        list.push(subnormal(op, dtype));
    }
    if op.row().arity > 1 {
        list.push(broadcasting(op, dtype));
    }
}

/// Each op once with special values, and the ops that kernels are built of in more dtypes.
fn quick(op: ElementwiseOp, dtypes: &[DType], list: &mut Vec<Case>) {
    use ElementwiseOp::*;
    let main = [DType::F32, DType::I32, DType::U32, DType::Bool].into_iter().find(|d| dtypes.contains(d));
    let main = main.expect("every op takes one of these");
    list.push(if op.row().arity == 1 {
        special(op, main)
    } else {
        strided(op, main, LayoutClass::Transposed)
    });
    if matches!(op, Add | Mul | Less | Where | FloorDivide | Exp) {
        for &dtype in dtypes.iter().filter(|&&d| d != main && (op != Exp || d.is_float())) {
            list.push(strided(op, dtype, LayoutClass::Sliced));
        }
    }
}

/// The range in which the op is worth testing.
fn domain(op: ElementwiseOp) -> (f64, f64) {
    use ElementwiseOp::*;
    match op {
        Sqrt | Rsqrt | Log | Log2 | Log10 => (0.0, 20.0),
        Log1p => (-1.0, 20.0),
        Asin | Acos | Atanh => (-1.0, 1.0),
        Acosh => (1.0, 20.0),
        Exp | Exp2 | Expm1 | Sinh | Cosh | Sigmoid | Silu | Softplus | LogAddExp => (-10.0, 10.0),
        Sin | Cos | Tan | Floor | Ceil | Round | Trunc => (-50.0, 50.0),
        _ => (-4.0, 4.0),
    }
}

/// Keeps integer operands within what the op is defined on: no zero divisors, no negative exponents.
fn restrict(op: ElementwiseOp, slot: usize, tensor: &mut HostTensor) {
    use ElementwiseOp::*;
    if !tensor.dtype.is_integer() || slot != 1 {
        return;
    }
    let dtype = tensor.dtype;
    for value in &mut tensor.data {
        let v = value.to_i64();
        *value = match op {
            FloorDivide | Remainder if v == 0 => Number::Int(3),
            Pow => Number::Int(v.rem_euclid(6)),
            ShiftLeft | ShiftRight => Number::Int(v.rem_euclid(dtype.size() as i64 * 8 + 2)),
            _ => *value,
        }
        .cast(dtype);
    }
}

fn operand(op: ElementwiseOp, slot: usize, dtype: DType, shape: &Shape, random: &mut Random) -> HostTensor {
    let (low, high) = domain(op);
    let mut tensor = values::ordinary(random, shape.clone(), operands(op, dtype)[slot], low, high);
    restrict(op, slot, &mut tensor);
    tensor
}

fn strided(op: ElementwiseOp, dtype: DType, class: LayoutClass) -> Case {
    let shape: Shape = match class {
        LayoutClass::Empty => [3, 0, 2].into(),
        LayoutClass::ZeroDim => ().into(),
        _ => [3, 4, 5].into(),
    };
    let draft = Draft::new("map", op.name(), dtype).layout(class);
    let mut random = draft.random();
    let leaves = (0..op.row().arity)
        .map(|slot| Leaf::new(operand(op, slot, dtype, &shape, &mut random), class, (slot + 1) % 3))
        .collect();
    finish(op, draft, leaves)
}

/// Operands whose shapes broadcast, so that the graph itself has the expansion.
fn broadcasting(op: ElementwiseOp, dtype: DType) -> Case {
    let draft = Draft::new("map", op.name(), dtype).layout(LayoutClass::Broadcast).detail("shapes");
    let mut random = draft.random();
    let shapes: [Shape; 3] = [[3, 1, 5].into(), [4, 1].into(), [5].into()];
    let leaves = (0..op.row().arity)
        .map(|slot| Leaf::contiguous(operand(op, slot, dtype, &shapes[slot], &mut random)))
        .collect();
    finish(op, draft, leaves)
}

fn special(op: ElementwiseOp, dtype: DType) -> Case {
    let draft = Draft::new("map", op.name(), dtype).values(Values::Special);
    let mut random = draft.random();
    let mut numbers = values::specials(dtype);
    if op == ElementwiseOp::Fma {
        // Where the rounded product overflows and the fused one does not, devices may differ.
        numbers.retain(|n| n.to_f64().abs() < 2000.0 || n.to_f64().is_infinite() || n.to_f64().is_nan());
    }
    let leaves = with_numbers(op, dtype, &numbers, &mut random);
    finish(op, draft, leaves)
}

fn subnormal(op: ElementwiseOp, dtype: DType) -> Case {
    let draft = Draft::new("map", op.name(), dtype).values(Values::Subnormal);
    let mut random = draft.random();
    let leaves = with_numbers(op, dtype, &values::subnormals(dtype), &mut random);
    finish(op, draft, leaves)
}

/// One operand: each number; two: each pair of numbers; three: random picks.
fn with_numbers(op: ElementwiseOp, dtype: DType, numbers: &[Number], random: &mut Random) -> Vec<Leaf> {
    let n = numbers.len();
    (0..op.row().arity)
        .map(|slot| {
            let dtype = operands(op, dtype)[slot];
            let mut tensor = match (op.row().arity, slot) {
                (1, _) => values::cycle([n], dtype, numbers),
                (2, 0) => values::cycle([n, 1], dtype, numbers),
                (2, _) => values::cycle([n], dtype, numbers),
                _ if dtype == DType::Bool => values::ordinary(random, [150], dtype, 0.0, 1.0),
                _ => HostTensor::new([150], dtype, (0..150).map(|_| random.pick(numbers))),
            };
            restrict(op, slot, &mut tensor);
            Leaf::contiguous(tensor)
        })
        .collect()
}

fn apply(op: ElementwiseOp, nodes: &[NodeRef]) -> Result<NodeRef> {
    build::elementwise(op, &nodes.iter().collect::<Vec<_>>())
}

fn finish(op: ElementwiseOp, draft: Draft, leaves: Vec<Leaf>) -> Case {
    let dtypes: Vec<DType> = leaves.iter().map(Leaf::dtype).collect();
    let resolved = op.resolve(&dtypes).expect("only dtypes that the op takes");
    let tolerance = elementwise_tolerance(op, resolved.result);
    let case = draft.case(leaves, tolerance, move |n| apply(op, n));
    let case = if tolerance.relative > 0.0 { case.magnitude(move |n| magnitude(op, n)) } else { case };
    case.numpy_in(resolved.operand, op.row().numpy)
}

/// What the error of an op with cancellation is a fraction of.
fn magnitude(op: ElementwiseOp, nodes: &[NodeRef]) -> Result<NodeRef> {
    let wide: Vec<NodeRef> = nodes
        .iter()
        .map(|x| apply(ElementwiseOp::Abs, &[build::cast(x, DType::F64)]))
        .collect::<Result<_>>()?;
    match op {
        ElementwiseOp::Fma => apply(op, &wide),
        // Further out, 1 + erf and 1 + tanh are 0 or 2 exactly.
        _ => apply(ElementwiseOp::Minimum, &[wide[0].clone(), Node::constant(8.0.into(), DType::F64)]),
    }
}

/// Lengths around vector widths and block sizes.
fn sizes(list: &mut Vec<Case>) {
    for n in [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129, 255, 257, 1000] {
        for dtype in DType::ALL {
            let op = if dtype == DType::Bool { ElementwiseOp::LogicalXor } else { ElementwiseOp::Add };
            let draft = Draft::new("map", op.name(), dtype).detail(format!("n{n}"));
            let mut random = draft.random();
            let leaves =
                (0..2).map(|i| Leaf::contiguous(operand(op, i, dtype, &[n].into(), &mut random))).collect();
            list.push(finish(op, draft, leaves));
        }
    }
}

/// Operands of two dtypes.
fn promotions(list: &mut Vec<Case>) {
    for op in [ElementwiseOp::Add, ElementwiseOp::Less, ElementwiseOp::Where, ElementwiseOp::Div] {
        for (a, b) in DType::ALL.into_iter().flat_map(|a| DType::ALL.map(|b| (a, b))).filter(|(a, b)| a != b)
        {
            let mut dtypes = vec![a, b];
            if op == ElementwiseOp::Where {
                dtypes.insert(0, DType::Bool);
            }
            if op.resolve(&dtypes).is_err() {
                continue;
            }
            let draft = Draft::new("map", op.name(), a).detail(format!("with_{b}"));
            let mut random = draft.random();
            let leaves = dtypes
                .iter()
                .map(|&dtype| match dtype.is_integer() {
                    true => values::whole(&mut random, [7], dtype, 0, 100),
                    false => values::ordinary(&mut random, [7], dtype, -4.0, 4.0),
                })
                .map(Leaf::contiguous)
                .collect();
            list.push(finish(op, draft, leaves));
        }
    }
}

/// A constant operand, which is a parameter of the plan.
fn scalars(list: &mut Vec<Case>) {
    for dtype in DType::ALL.into_iter().filter(|&d| d != DType::Bool) {
        let draft = Draft::new("map", "mul", dtype).detail("constant");
        let mut random = draft.random();
        let leaves = vec![Leaf::contiguous(values::salted(&mut random, [3, 7], dtype, -4.0, 4.0))];
        let tolerance = elementwise_tolerance(ElementwiseOp::Mul, dtype);
        let case = draft.case(leaves, tolerance, move |n| {
            apply(ElementwiseOp::Mul, &[n[0].clone(), Node::constant(3.0.into(), dtype)])
        });
        list.push(case.numpy("a * 3"));
    }
}
