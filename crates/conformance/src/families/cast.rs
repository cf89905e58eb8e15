//! Conversions: every pair of dtypes.

use super::{Draft, Level, QUICK};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::Tolerance;
use crate::values::{self, Values};
use wootz_ir::build;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    for (from, to) in DType::ALL.into_iter().flat_map(|a| DType::ALL.map(|b| (a, b))).filter(|(a, b)| a != b)
    {
        if level == Level::Quick {
            if QUICK.contains(&from) && QUICK.contains(&to) {
                list.push(special(from, to));
            }
            continue;
        }
        list.push(special(from, to));
        for class in LayoutClass::STRIDED {
            list.push(strided(from, to, class));
        }
    }
}

/// Exact, except for wide numbers to f16 or bf16: scalar code converts through f32 and may round twice.
fn tolerance(from: DType, to: DType) -> Tolerance {
    let wide = from == DType::F64 || (from.is_integer() && from.size() >= 4);
    let narrow = matches!(to, DType::F16 | DType::BF16);
    if wide && narrow { Tolerance { ulps: 1.0, ..Tolerance::SIGNED } } else { Tolerance::SIGNED }
}

fn finish(draft: Draft, to: DType, leaf: Leaf) -> Case {
    let tolerance = tolerance(draft.dtype, to);
    draft
        .case(vec![leaf], tolerance, move |n| Ok(build::cast(&n[0], to)))
        .numpy(format!("np_cast(a, '{to}')"))
}

fn draft(from: DType, to: DType) -> Draft {
    Draft::new("map", "cast", from).detail(format!("to_{to}"))
}

fn special(from: DType, to: DType) -> Case {
    let draft = draft(from, to).values(Values::Special);
    let mut numbers = values::specials(from);
    if let (true, Some((low, high))) = (from.is_float(), to.integer_range()) {
        // Around the ends of the range, where conversions must saturate.
        let ends =
            [low as f64, high as f64].into_iter().flat_map(|v| [v, v * 1.01, v * 0.99, v - 0.75, v + 0.75]);
        numbers.extend(ends.map(|v| Number::Float(v).cast(from)));
    }
    if from.is_integer() && from.size() == 8 {
        // Between two neighbours of f32, a little above the middle: by way of f64 they would round down.
        numbers.extend(
            [(1i64 << 60) + (1 << 36) + 1, (1 << 61) + (1 << 37) + 1].map(|v| Number::Int(v).cast(from)),
        );
    }
    if from == DType::F64 {
        // Just above the middle between two neighbours of f16, bf16 and f32.
        numbers.extend([-11, -8, -24].map(|n| Number::Float(1.0 + 2f64.powi(n) + 2f64.powi(-45))));
    }
    let n = numbers.len();
    finish(draft, to, Leaf::contiguous(HostTensor::new([n], from, numbers)))
}

fn strided(from: DType, to: DType, class: LayoutClass) -> Case {
    let draft = draft(from, to).layout(class);
    let mut random = draft.random();
    let tensor = values::ordinary(&mut random, [4, 9], from, -300.0, 300.0);
    finish(draft, to, Leaf::new(tensor, class, 0))
}
