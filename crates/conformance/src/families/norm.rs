//! RMS norm and layer norm.

use super::{Draft, FLOATS, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::{Tolerance, epsilon};
use crate::values;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    for dtype in FLOATS {
        for layer in [false, true] {
            let mut push = |class, n, parameters| list.push(norm(dtype, layer, class, n, parameters));
            push(LayoutClass::Transposed, 33, if layer { 2 } else { 1 });
            if level == Level::Full {
                for class in LayoutClass::STRIDED {
                    for parameters in 0..=layer as usize + 1 {
                        push(class, 12, parameters);
                    }
                }
                push(LayoutClass::Broadcast, 12, 1);
                for n in [1, 2, 7, 31, 64, 65, 257, 1000, 2060] {
                    push(LayoutClass::Contiguous, n, 1);
                }
                push(LayoutClass::Empty, 5, 1);
            }
            list.push(far_from_zero(dtype, layer));
        }
    }
}

fn draft(dtype: DType, layer: bool) -> Draft {
    let name = if layer { "layer_norm" } else { "rms_norm" };
    Draft::new(name, name, dtype)
}

fn norm(dtype: DType, layer: bool, class: LayoutClass, n: usize, parameters: usize) -> Case {
    let draft = draft(dtype, layer).layout(class).detail(format!("n{n}_parameters{parameters}"));
    let mut random = draft.random();
    let rows = if class == LayoutClass::Empty { [0, 2] } else { [3, 2] };
    let x = values::ordinary(&mut random, [rows[0], rows[1], n], dtype, -4.0, 4.0);
    let mut leaves = vec![Leaf::new(x, class, 0)];
    for _ in 0..parameters {
        leaves.push(Leaf::contiguous(values::ordinary(&mut random, [n], dtype, 0.5, 2.0)));
    }
    finish(draft, layer, leaves, 4.0)
}

/// A mean far larger than the spread: a variance from E[x²] − E[x]² has no correct digit left.
fn far_from_zero(dtype: DType, layer: bool) -> Case {
    let draft = draft(dtype, layer).detail("far_from_zero");
    let mut random = draft.random();
    let data = (0..80).map(|i| Number::Float(1000.0 + random.uniform(-2.0, 2.0) + (i / 20) as f64));
    let x = HostTensor::new([4, 20], dtype, data);
    finish(draft, layer, vec![Leaf::contiguous(x)], 1000.0)
}

/// `reach` is the largest |x|: the error of x − mean is a fraction of it.
fn finish(draft: Draft, layer: bool, leaves: Vec<Leaf>, reach: f64) -> Case {
    let dtype = draft.dtype;
    let n = *leaves[0].tensor.shape.last().expect("norms have rows") as f64;
    let eps = epsilon(dtype);
    let narrow = matches!(dtype, DType::F16 | DType::BF16);
    let tolerance = Tolerance::ulps(if narrow { 1.0 } else { 8.0 + n / 8.0 });
    let tolerance = if layer { tolerance.or_within(eps * (16.0 + n / 8.0) * reach) } else { tolerance };
    let function = if layer { "np_layer_norm" } else { "np_rms_norm" };
    let arguments = ["a", "a, b", "a, b, c"][leaves.len() - 1];
    let case = draft.case(leaves, tolerance, move |n| match layer {
        true => build::layer_norm(&n[0], n.get(1), n.get(2), 1e-5),
        false => build::rms_norm(&n[0], n.get(1), 1e-5),
    });
    case.numpy(format!("{function}({arguments})"))
}
