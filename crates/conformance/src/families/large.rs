//! Sizes larger than any block, tile or thread's share: where work is split, and the remainders at the ends.

use super::{Draft, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::{Tolerance, elementwise_tolerance, epsilon};
use crate::values;
use wootz_ir::op::{Axes, ReduceOp, ScanOp, ScatterMode};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, ElementwiseOp, Number, Shape, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    if level == Level::Quick {
        return;
    }
    for dtype in [DType::F32, DType::F16, DType::F64, DType::I64, DType::U8] {
        for class in LayoutClass::STRIDED {
            list.push(chain(dtype, class));
        }
        for (shape, axes) in [([3, 5001], 0b10), ([5001, 3], 0b01), ([61, 257], 0b11), ([257, 61], 0b01)] {
            list.push(reduction(dtype, shape.into(), axes));
        }
        list.push(running_sum(dtype));
        list.push(product(dtype));
        list.push(order(dtype));
        list.push(transposition(dtype));
        list.push(lookup(dtype));
        list.push(histogram(dtype));
    }
    for dtype in [DType::F32, DType::F64] {
        list.push(softmax(dtype));
    }
}

fn draft(family: &'static str, op: &'static str, dtype: DType) -> Draft {
    Draft::new(family, op, dtype).detail("large")
}

/// Two ops over operands in different layouts, one of them broadcast.
fn chain(dtype: DType, class: LayoutClass) -> Case {
    let draft = draft("map", "mul", dtype).layout(class);
    let mut random = draft.random();
    let mut leaf = |shape: [usize; 2], class| {
        Leaf::new(values::ordinary(&mut random, shape, dtype, -4.0, 4.0), class, 0)
    };
    let leaves = vec![
        leaf([9, 1031], class),
        leaf([9, 1031], LayoutClass::Transposed),
        leaf([9, 1], LayoutClass::Contiguous),
    ];
    let tolerance = elementwise_tolerance(ElementwiseOp::Mul, dtype);
    let case = draft.case(leaves, tolerance, |n| {
        build::elementwise(
            ElementwiseOp::Mul,
            &[&build::elementwise(ElementwiseOp::Maximum, &[&n[0], &n[1]])?, &n[2]],
        )
    });
    case.numpy("np.maximum(a, b) * c")
}

fn reduction(dtype: DType, shape: Shape, axes: u32) -> Case {
    let set: Axes = (0..2).filter(|axis| axes >> axis & 1 == 1).collect();
    let terms: usize = set.iter().map(|axis| shape[axis]).product();
    let draft =
        Draft::new("reduce", "sum", dtype).detail(format!("large_{}x{}_axes{axes:02b}", shape[0], shape[1]));
    let leaf = Leaf::contiguous(values::ordinary(&mut draft.random(), shape, dtype, -4.0, 4.0));
    let tolerance = Tolerance::sum(dtype, 4.0 + terms as f64 / 64.0);
    let case = draft.case(vec![leaf], tolerance, move |n| build::reduce(ReduceOp::Sum, &n[0], set, false));
    let list: Vec<String> = set.iter().map(|axis| format!("{axis},")).collect();
    let case = case.numpy(format!("np.sum(a, axis=({}))", list.concat()));
    if dtype.is_float() {
        case.magnitude(move |n| build::reduce(ReduceOp::Sum, &n[0], set, false))
    } else {
        case
    }
}

fn running_sum(dtype: DType) -> Case {
    let draft = draft("scan", "cumsum", dtype);
    let leaf = Leaf::contiguous(values::ordinary(&mut draft.random(), [2, 5001], dtype, -4.0, 4.0));
    let case = draft.case(vec![leaf], Tolerance::sum(dtype, 100.0), |n| build::scan(ScanOp::Sum, &n[0], 1));
    let case = case.numpy("np.cumsum(a, axis=1)");
    if dtype.is_float() { case.magnitude(|n| build::scan(ScanOp::Sum, &n[0], 1)) } else { case }
}

fn product(dtype: DType) -> Case {
    let draft = draft("matmul", "matmul", dtype);
    let mut random = draft.random();
    let mut leaf = |shape: [usize; 2], class| {
        Leaf::new(values::ordinary(&mut random, shape, dtype, -2.0, 2.0), class, 0)
    };
    let leaves = vec![leaf([67, 130], LayoutClass::Contiguous), leaf([130, 71], LayoutClass::Transposed)];
    let case =
        draft.case(leaves, Tolerance::sum(dtype, 20.0), |n| build::matmul(&n[0], &n[1])).numpy("a @ b");
    if dtype.is_float() { case.magnitude(|n| build::matmul(&n[0], &n[1])) } else { case }
}

fn order(dtype: DType) -> Case {
    let draft = draft("argsort", "argsort", dtype);
    let leaf = Leaf::contiguous(values::whole(&mut draft.random(), [2, 3001], dtype, 0, 200));
    let case = draft.case(vec![leaf], Tolerance::EXACT, |n| build::argsort(&n[0], 1, true, None));
    case.numpy("np_argsort(a, 1, True, None)")
}

fn transposition(dtype: DType) -> Case {
    let draft = draft("map", "permute", dtype);
    let leaf = Leaf::contiguous(values::ordinary(&mut draft.random(), [97, 131], dtype, -4.0, 4.0));
    let case = draft.case(vec![leaf], Tolerance::SIGNED, |n| {
        build::reshape(&build::permute(&n[0], &[1, 0])?, &[97 * 131].into())
    });
    case.numpy("a.T.reshape(-1)")
}

fn lookup(dtype: DType) -> Case {
    let draft = draft("gather", "take", dtype);
    let mut random = draft.random();
    let x = values::ordinary(&mut random, [301, 17], dtype, -4.0, 4.0);
    let rows = values::whole(&mut random, [700], DType::I32, -301, 300);
    let leaves = vec![Leaf::contiguous(x), Leaf::contiguous(rows)];
    draft.case(leaves, Tolerance::SIGNED, |n| build::take(&n[0], &n[1], 0)).numpy("np.take(a, b, 0)")
}

/// Many additions to few places: threads must not lose any.
fn histogram(dtype: DType) -> Case {
    let draft = draft("scatter", "scatter_add", dtype);
    let mut random = draft.random();
    let x = HostTensor::new([13], dtype, vec![Number::Int(0); 13]);
    let index = values::whole(&mut random, [1500], DType::I64, -13, 12);
    let ones = HostTensor::new([1500], dtype, vec![Number::Int(1); 1500]);
    let leaves = vec![Leaf::contiguous(x), Leaf::contiguous(index), Leaf::contiguous(ones)];
    // Counts below 256 are whole numbers of every dtype, and so are all sums on the way.
    let case =
        draft.case(leaves, Tolerance::EXACT, |n| build::scatter(&n[0], &n[1], &n[2], 0, ScatterMode::Add));
    case.numpy("np_scatter_add(a, b, c, 0)")
}

fn softmax(dtype: DType) -> Case {
    let draft = draft("softmax", "softmax", dtype);
    let leaf = Leaf::contiguous(values::ordinary(&mut draft.random(), [3, 5003], dtype, -8.0, 8.0));
    let tolerance = Tolerance { ulps: 1.0, relative: 100.0 * epsilon(dtype), ..Tolerance::EXACT };
    draft.case(vec![leaf], tolerance, |n| build::softmax(&n[0], 1, false)).numpy("np_softmax(a, 1)")
}
