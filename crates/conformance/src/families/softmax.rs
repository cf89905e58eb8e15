//! Softmax and its logarithm.

use super::{Draft, FLOATS, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::{Tolerance, epsilon};
use crate::values::{self, Values};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    for dtype in FLOATS {
        for log in [false, true] {
            list.push(special(dtype, log));
            list.push(along(dtype, log, LayoutClass::Transposed, 1, 17));
            if level == Level::Quick {
                continue;
            }
            for class in LayoutClass::STRIDED {
                for axis in 0..2 {
                    list.push(along(dtype, log, class, axis, 9));
                }
            }
            list.push(along(dtype, log, LayoutClass::Broadcast, 1, 9));
            for n in [1, 2, 3, 8, 31, 33, 64, 65, 257, 1000, 2060] {
                list.push(along(dtype, log, LayoutClass::Contiguous, 1, n));
            }
            list.push(along(dtype, log, LayoutClass::Empty, 1, 0));
        }
    }
    if level == Level::Full {
        for dtype in DType::ALL.into_iter().filter(|d| !d.is_float()) {
            list.push(of_integers(dtype));
        }
    }
}

fn draft(dtype: DType, log: bool) -> Draft {
    Draft::new("softmax", if log { "log_softmax" } else { "softmax" }, dtype)
}

fn along(dtype: DType, log: bool, class: LayoutClass, axis: usize, n: usize) -> Case {
    let draft = draft(dtype, log).layout(class).detail(format!("axis{axis}_n{n}"));
    let shape = if axis == 0 { [n, 4] } else { [4, n] };
    let tensor = values::ordinary(&mut draft.random(), shape, dtype, -8.0, 8.0);
    finish(draft, log, Leaf::new(tensor, class, 0), axis, 8.0)
}

/// Rows that overflow a naive softmax, and rows with nothing in them.
fn special(dtype: DType, log: bool) -> Case {
    let draft = draft(dtype, log).values(Values::Special);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows = [
        [1000.0, 1001.0, 1002.0, 999.0, 1000.0, 1000.0],
        [-1000.0, -1001.0, -1002.0, -999.0, -1000.0, -1000.0],
        [-inf, -inf, -inf, -inf, -inf, -inf],
        [-inf, 1.0, 2.0, -inf, 0.0, 3.0],
        [1.0, inf, 2.0, 3.0, 4.0, 5.0],
        [1.0, nan, 2.0, 3.0, 4.0, 5.0],
        [30000.0, -30000.0, 0.0, 1.0, 30000.0, 0.0],
        [0.0, -0.0, 0.0, 0.0, -0.0, 0.0],
    ];
    let tensor = HostTensor::new([8, 6], dtype, rows.concat().into_iter().map(Number::Float));
    finish(draft, log, Leaf::contiguous(tensor), 1, 30000.0)
}

fn of_integers(dtype: DType) -> Case {
    let draft = draft(dtype, false).detail("integers");
    let leaf = Leaf::contiguous(values::whole(&mut draft.random(), [3, 7], dtype, 0, 9));
    finish(draft, false, leaf, 1, 9.0)
}

/// `reach` is the largest finite |x|: the error of x − max in the exponent is a fraction of it.
fn finish(draft: Draft, log: bool, leaf: Leaf, axis: usize, reach: f64) -> Case {
    let dtype = draft.dtype.to_float();
    let n = leaf.tensor.shape[axis] as f64;
    let narrow = matches!(dtype, DType::F16 | DType::BF16);
    let eps = epsilon(dtype);
    let tolerance = if log {
        Tolerance::ulps(if narrow { 1.0 } else { 2.0 })
            .or_within(eps * (2.0 * reach.min(1000.0) + 8.0 + n / 8.0))
    } else {
        let relative = eps * (2.0 * reach.min(20.0) + 8.0 + n / 8.0);
        Tolerance { ulps: 1.0, relative, ..Tolerance::EXACT }.or_within(100.0 * f32::MIN_POSITIVE as f64)
    };
    let expression = if log { "np_log_softmax" } else { "np_softmax" };
    let case = draft.case(vec![leaf], tolerance, move |nodes| build::softmax(&nodes[0], axis as isize, log));
    case.numpy(format!("{expression}(a, {axis})"))
}
