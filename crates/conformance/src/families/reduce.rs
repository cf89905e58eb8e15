//! Reductions over any set of axes, and arg-reductions.

use super::{Draft, Level, QUICK};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::Tolerance;
use crate::values::{self, Values};
use wootz_ir::op::{ArgOp, Axes, ReduceOp};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number, Shape, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    let dtypes: &[DType] = if level == Level::Quick { &QUICK } else { &DType::ALL };
    for &dtype in dtypes {
        for op in ReduceOp::ALL {
            match level {
                Level::Quick => {
                    list.push(over(op, dtype, LayoutClass::Transposed, 0b101, true));
                    list.push(length(op, dtype, 65));
                }
                Level::Full => full(op, dtype, list),
            }
        }
        for op in [ArgOp::Min, ArgOp::Max] {
            positions(op, dtype, level, list);
        }
    }
}

fn full(op: ReduceOp, dtype: DType, list: &mut Vec<Case>) {
    for axes in 0..8u32 {
        list.push(over(op, dtype, LayoutClass::Contiguous, axes, axes % 2 == 0));
    }
    for class in [
        LayoutClass::Transposed,
        LayoutClass::Sliced,
        LayoutClass::Reversed,
        LayoutClass::Broadcast,
        LayoutClass::Offset,
    ] {
        for axes in [0b001, 0b010, 0b100, 0b101, 0b111] {
            list.push(over(op, dtype, class, axes, axes == 0b101));
        }
    }
    for n in [1, 2, 7, 8, 9, 16, 31, 33, 64, 65, 257, 1000] {
        list.push(length(op, dtype, n));
    }
    if dtype.is_float() {
        list.push(special(op, dtype));
    }
    let draft = Draft::new("reduce", op.name(), dtype);
    // Nothing along the reduced axis gives the identity, where there is one; nothing elsewhere gives nothing.
    let nothing = |detail: &str, shape: Shape, axes: u32| {
        let draft = draft.clone().layout(LayoutClass::Empty).detail(detail);
        finish(op, draft, Leaf::contiguous(HostTensor::new(shape, dtype, [])), axes, false)
    };
    list.push(nothing("outer", [0, 3].into(), 0b10));
    if !matches!(op, ReduceOp::Min | ReduceOp::Max) {
        list.push(nothing("inner", [2, 0].into(), 0b10));
    }
    let one = HostTensor::new([], dtype, [Number::Int(1)]);
    list.push(finish(op, draft.layout(LayoutClass::ZeroDim), Leaf::contiguous(one), 0, false));
}

fn data(op: ReduceOp, dtype: DType, shape: Shape, draft: &Draft) -> HostTensor {
    let mut random = draft.random();
    match op {
        // Near 1, so that long products stay within f16.
        ReduceOp::Prod => values::ordinary(&mut random, shape, dtype, 0.8, 1.25),
        ReduceOp::Any => {
            let mut tensor = values::whole(&mut random, shape, dtype, 0, 0);
            if !tensor.data.is_empty() {
                let at = random.below(tensor.data.len());
                tensor.data[at] = Number::Int(1).cast(dtype);
            }
            tensor
        }
        ReduceOp::All => {
            let mut tensor = values::whole(&mut random, shape, dtype, 1, 3);
            if !tensor.data.is_empty() {
                let at = random.below(tensor.data.len());
                tensor.data[at] = Number::Int(0).cast(dtype);
            }
            tensor
        }
        ReduceOp::Sum | ReduceOp::Min | ReduceOp::Max => {
            values::ordinary(&mut random, shape, dtype, -4.0, 4.0)
        }
    }
}

fn over(op: ReduceOp, dtype: DType, class: LayoutClass, axes: u32, keepdims: bool) -> Case {
    let detail = format!("axes{axes:03b}{}", if keepdims { "_keep" } else { "" });
    let draft = Draft::new("reduce", op.name(), dtype).layout(class).detail(detail);
    let tensor = data(op, dtype, [3, 4, 5].into(), &draft);
    finish(op, draft, Leaf::new(tensor, class, 1), axes, keepdims)
}

/// Rows and columns of a length.
fn length(op: ReduceOp, dtype: DType, n: usize) -> Case {
    let draft = Draft::new("reduce", op.name(), dtype).detail(format!("n{n}"));
    let tensor = data(op, dtype, [3, n].into(), &draft);
    finish(op, draft, Leaf::contiguous(tensor), 0b10, false)
}

fn special(op: ReduceOp, dtype: DType) -> Case {
    let draft = Draft::new("reduce", op.name(), dtype).values(Values::Special);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    // One row per trap; orders of overflow are left out, for sums may be taken in any order.
    let rows = [
        [1.0, nan, 2.0, 3.0, -1.0],
        [1.0, inf, 2.0, 3.0, 0.5],
        [-inf, 1.0, inf, 2.0, 1.0],
        [-0.0, 0.0, -0.0, 0.0, -0.0],
        [-inf, -inf, -inf, -inf, -inf],
        [0.0, inf, 1.0, 2.0, 2.0],
        [2.0, 0.5, 2.0, 0.5, nan],
    ];
    let tensor = HostTensor::new([7, 5], dtype, rows.concat().into_iter().map(Number::Float));
    finish(op, draft, Leaf::contiguous(tensor), 0b10, false)
}

fn finish(op: ReduceOp, draft: Draft, leaf: Leaf, axes: u32, keepdims: bool) -> Case {
    let set: Axes = (0..3).filter(|axis| axes >> axis & 1 == 1).collect();
    let shape = leaf.tensor.shape.clone();
    let terms: usize = set.iter().map(|axis| shape[axis]).product();
    let dtype = draft.dtype;
    let tolerance = match op {
        // Partial sums in any order; f16 and bf16 accumulate in f32.
        ReduceOp::Sum => Tolerance::sum(dtype, 4.0 + terms as f64 / 8.0),
        ReduceOp::Prod => Tolerance::sum(dtype, 4.0 + terms as f64),
        ReduceOp::Min | ReduceOp::Max | ReduceOp::Any | ReduceOp::All => Tolerance::EXACT,
    };
    let case = draft.case(vec![leaf], tolerance, move |n| build::reduce(op, &n[0], set, keepdims));
    let case = match op {
        ReduceOp::Sum if dtype.is_float() => case.magnitude(move |n| build::reduce(op, &n[0], set, keepdims)),
        _ => case,
    };
    let list: Vec<String> = set.iter().map(|axis| format!("{axis},")).collect();
    let keep = if keepdims { ", keepdims=True" } else { "" };
    case.numpy(format!("np.{}(a, axis=({}){keep})", op.name(), list.concat()))
}

fn positions(op: ArgOp, dtype: DType, level: Level, list: &mut Vec<Case>) {
    let name = if op == ArgOp::Min { "argmin" } else { "argmax" };
    let mut push = |draft: Draft, leaf: Leaf, axis: usize| {
        let case =
            draft.case(vec![leaf], Tolerance::EXACT, move |n| build::arg_reduce(op, &n[0], axis as isize));
        list.push(case.numpy(format!("np.{name}(a, axis={axis})")));
    };
    let draft = Draft::new("arg_reduce", name, dtype);
    let classes: &[LayoutClass] = match level {
        Level::Quick => &[LayoutClass::Transposed],
        Level::Full => &LayoutClass::STRIDED,
    };
    for &class in classes {
        for axis in 0..3 {
            let draft = draft.clone().layout(class).detail(format!("axis{axis}"));
            // Few different values: the first among equals counts.
            let tensor = values::whole(&mut draft.random(), [3, 4, 5], dtype, 0, 3);
            push(draft, Leaf::new(tensor, class, 0), axis);
        }
    }
    if level == Level::Full {
        for n in [1, 2, 8, 17, 64, 100, 257] {
            let draft = draft.clone().detail(format!("n{n}"));
            let tensor = values::ordinary(&mut draft.random(), [2, n], dtype, -4.0, 4.0);
            push(draft, Leaf::contiguous(tensor), 1);
        }
        let nothing = HostTensor::new([0, 3], dtype, []);
        push(draft.clone().layout(LayoutClass::Empty), Leaf::contiguous(nothing), 1);
        let draft = draft.clone().layout(LayoutClass::Broadcast);
        let tensor = values::ordinary(&mut draft.random(), [3, 4, 5], dtype, -4.0, 4.0);
        push(draft, Leaf::new(tensor, LayoutClass::Broadcast, 2), 2);
    }
    if dtype.is_float() {
        let draft = draft.values(Values::Special);
        let tensor = values::salted(&mut draft.random(), [12, 9], dtype, -4.0, 4.0);
        push(draft, Leaf::contiguous(tensor), 1);
    }
}
