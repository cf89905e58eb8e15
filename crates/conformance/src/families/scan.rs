//! Cumulative sums and products.

use super::{Draft, Level, QUICK};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::Tolerance;
use crate::values::{self, Values};
use wootz_ir::op::ScanOp;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number, Shape, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    let dtypes: &[DType] = if level == Level::Quick { &QUICK } else { &DType::ALL };
    for &dtype in dtypes {
        for op in [ScanOp::Sum, ScanOp::Prod] {
            if level == Level::Quick {
                list.push(along(op, dtype, LayoutClass::Transposed, 1, [3, 17].into()));
                continue;
            }
            for class in LayoutClass::STRIDED {
                for axis in 0..3 {
                    list.push(along(op, dtype, class, axis, [3, 4, 5].into()));
                }
            }
            for n in [1, 2, 8, 31, 64, 65, 257] {
                list.push(along(op, dtype, LayoutClass::Contiguous, 1, [2, n].into()));
            }
            list.push(along(op, dtype, LayoutClass::Empty, 1, [2, 0].into()));
            list.push(along(op, dtype, LayoutClass::Broadcast, 0, [4, 3].into()));
        }
        if dtype.is_float() {
            list.push(special(dtype));
        }
    }
}

fn name(op: ScanOp) -> &'static str {
    match op {
        ScanOp::Sum => "cumsum",
        ScanOp::Prod => "cumprod",
    }
}

fn along(op: ScanOp, dtype: DType, class: LayoutClass, axis: usize, shape: Shape) -> Case {
    let detail = format!("axis{axis}_n{}", shape[axis]);
    let draft = Draft::new("scan", name(op), dtype).layout(class).detail(detail);
    let mut random = draft.random();
    let tensor = match op {
        ScanOp::Sum => values::ordinary(&mut random, shape, dtype, -4.0, 4.0),
        ScanOp::Prod => values::ordinary(&mut random, shape, dtype, 0.8, 1.25),
    };
    finish(op, draft, Leaf::new(tensor, class, 0), axis)
}

fn special(dtype: DType) -> Case {
    let draft = Draft::new("scan", "cumsum", dtype).values(Values::Special);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows = [[1.0, inf, 2.0, -inf, 1.0], [1.0, nan, 2.0, 3.0, 4.0], [-inf, 1.0, 2.0, 3.0, 4.0]];
    let tensor = HostTensor::new([3, 5], dtype, rows.concat().into_iter().map(Number::Float));
    finish(ScanOp::Sum, draft, Leaf::contiguous(tensor), 1)
}

fn finish(op: ScanOp, draft: Draft, leaf: Leaf, axis: usize) -> Case {
    let terms = leaf.tensor.shape[axis] as f64;
    let dtype = draft.dtype;
    let tolerance = match op {
        ScanOp::Sum => Tolerance::sum(dtype, 4.0 + terms / 8.0),
        ScanOp::Prod => Tolerance::sum(dtype, 4.0 + terms),
    };
    let expression = format!("np.{}(a, axis={axis})", draft.op);
    let case =
        draft.case(vec![leaf], tolerance, move |n| build::scan(op, &n[0], axis as isize)).numpy(expression);
    match op {
        ScanOp::Sum if dtype.is_float() => case.magnitude(move |n| build::scan(op, &n[0], axis as isize)),
        _ => case,
    }
}
