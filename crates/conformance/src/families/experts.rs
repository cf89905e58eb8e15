//! Products of rows with chosen matrices of a stack.

use super::quant::{columns, weights};
use super::{Draft, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::random::Random;
use crate::tolerance::{Tolerance, epsilon};
use crate::values;
use wootz_blocks::BlockFormat;
use wootz_ir::op::{Activations, Axes, ReduceOp};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, ElementwiseOp, Number, build};

/// Rows of x, choices of each, matrices, and their rows.
type Sizes = (usize, usize, usize, usize);

pub fn cases(level: Level, list: &mut Vec<Case>) {
    for &format in BlockFormat::ALL {
        if level == Level::Quick {
            list.push(product(format, (2, 2, 3, 2), LayoutClass::Contiguous));
            continue;
        }
        list.push(product(format, (3, 2, 4, 5), LayoutClass::Contiguous));
        // One row; one choice; more choices than matrices are sorted, with tiles that are full, ragged and empty.
        for sizes in [(1, 1, 1, 1), (1, 4, 8, 33), (7, 1, 3, 16), (40, 2, 3, 70), (9, 4, 5, 3)] {
            list.push(product(format, sizes, LayoutClass::Contiguous));
        }
        list.push(product(format, (5, 3, 2, 4), LayoutClass::Transposed));
        list.push(product(format, (0, 2, 3, 4), LayoutClass::Empty));
    }
    list.push(with_code());
}

/// Random whole activations, which 8 bits hold exactly, and choices from both ends of the stack.
fn leaves(draft: &Draft, format: BlockFormat, sizes: Sizes, class: LayoutClass) -> (Vec<Leaf>, Vec<f32>) {
    let (rows, slots, experts, width) = sizes;
    let mut random = draft.random();
    let mut x = values::whole(&mut random, [rows, columns(format)], DType::F32, -126, 126);
    x.data.iter_mut().step_by(32).for_each(|first| *first = Number::Float(127.0));
    let chosen = values::whole(&mut random, [rows, slots], DType::I32, -(experts as i64), experts as i64 - 1);
    let (bytes, floats) =
        weights(&mut Random::named(&format!("{}/weights", draft.name())), format, experts * width);
    let stack = HostTensor { shape: [experts, width, bytes.shape[1]].into(), ..bytes };
    (vec![Leaf::new(x, class, 0), Leaf::contiguous(stack), Leaf::contiguous(chosen)], floats)
}

fn product(format: BlockFormat, sizes: Sizes, class: LayoutClass) -> Case {
    let (rows, slots, experts, width) = sizes;
    let draft = Draft::new("expert_matmul", format.name(), DType::F32)
        .layout(class)
        .detail(format!("{rows}x{slots}of{experts}x{width}"));
    let (leaves, floats) = leaves(&draft, format, sizes, class);
    // The error of summing, relative to a sum without cancellation: no value of W is larger than this.
    let largest = floats.iter().fold(0f32, |most, value| most.max(value.abs())) as f64;
    let tolerance = Tolerance { ulps: 1.0, relative: 32.0 * epsilon(DType::F32), ..Tolerance::EXACT };
    let case = draft.case(leaves, tolerance, move |n| {
        build::expert_matmul(&n[0], &n[1], &n[2], format, Activations::Rounded)
    });
    case.magnitude(move |n| {
        let x = build::elementwise(ElementwiseOp::Abs, &[&n[0]])?;
        let sums = build::reduce(ReduceOp::Sum, &x, Axes::default().with(1), false)?;
        let scale = build::full(&[rows].into(), largest.into(), DType::F32)?;
        let rowwise = build::elementwise(ElementwiseOp::Mul, &[&sums, &scale])?;
        let rowwise = build::reshape(&rowwise, &[rows, 1, 1].into())?;
        build::expand("expert_matmul", &rowwise, &[rows, slots, width].into())
    })
}

/// Code in front of x and of the choices, and behind the product.
fn with_code() -> Case {
    let format = BlockFormat::Q4_K;
    let draft = Draft::new("expert_matmul", format.name(), DType::F32).detail("with_code");
    let (leaves, _) = leaves(&draft, format, (4, 2, 4, 8), LayoutClass::Contiguous);
    draft.case(leaves, Tolerance::ulps(16.0).or_within(1e-3), move |n| {
        let x = build::elementwise(ElementwiseOp::Neg, &[&n[0]])?;
        let chosen = build::elementwise(ElementwiseOp::BitwiseNot, &[&n[2]])?;
        let y = build::expert_matmul(&x, &n[1], &chosen, format, Activations::Rounded)?;
        build::elementwise(ElementwiseOp::Abs, &[&y])
    })
}
