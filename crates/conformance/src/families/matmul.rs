//! Matrix products: edge shapes, batches, every dtype, operands in any layout.

use super::{Draft, Level, QUICK};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::Tolerance;
use crate::values::{self, Values};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number, Shape, build};

/// Rows, columns and inner extents around the edges of tiles: (m, k, n).
const SHAPES: [(usize, usize, usize); 24] = [
    (1, 1, 1),
    (1, 5, 1),
    (1, 17, 33),
    (1, 64, 65),
    (2, 3, 2),
    (3, 1, 5),
    (5, 2, 3),
    (5, 31, 1),
    (7, 8, 9),
    (8, 8, 8),
    (9, 17, 4),
    (16, 16, 16),
    (17, 5, 31),
    (17, 33, 17),
    (31, 2, 33),
    (33, 31, 5),
    (33, 65, 2),
    (64, 3, 17),
    (65, 17, 65),
    (2, 257, 3),
    (4, 100, 33),
    (6, 64, 16),
    (66, 36, 72),
    (40, 20, 130),
];

pub fn cases(level: Level, list: &mut Vec<Case>) {
    if level == Level::Quick {
        for dtype in QUICK {
            list.push(plain(dtype, (9, 17, 5), LayoutClass::Transposed));
            list.push(plain(dtype, (1, 33, 17), LayoutClass::Contiguous));
        }
        list.push(batched(DType::F32, &[2, 1, 5, 3], &[3, 3, 4]));
        return;
    }
    for dtype in DType::ALL.into_iter().filter(|&d| d != DType::Bool) {
        for shape in SHAPES {
            list.push(plain(dtype, shape, LayoutClass::Contiguous));
        }
        for class in LayoutClass::STRIDED {
            list.push(plain(dtype, (9, 17, 6), class));
            list.push(plain(dtype, (1, 9, 18), class));
            list.push(plain(dtype, (19, 7, 1), class));
        }
        list.push(plain(dtype, (6, 10, 7), LayoutClass::Broadcast));
        for (a, b) in [
            (&[3usize, 4, 5][..], &[3usize, 5, 2][..]),
            (&[3, 4, 5], &[5, 2]),
            (&[4, 5], &[3, 5, 2]),
            (&[2, 1, 5, 3], &[3, 3, 4]),
            (&[2, 3, 1, 7], &[2, 1, 7, 9]),
        ] {
            list.push(batched(dtype, a, b));
        }
        for shape in [(0, 3, 2), (2, 0, 3), (2, 3, 0)] {
            list.push(plain(dtype, shape, LayoutClass::Empty));
        }
        if dtype.is_float() {
            list.push(special(dtype));
        }
    }
}

fn leaves(draft: &Draft, a: Shape, b: Shape, class: LayoutClass) -> Vec<Leaf> {
    let mut random = draft.random();
    // Operands lie in different ways, so that kernels cannot take one's strides for the other's.
    let other = match class {
        LayoutClass::Sliced => LayoutClass::Transposed,
        other => other,
    };
    vec![
        Leaf::new(values::ordinary(&mut random, a, draft.dtype, -2.0, 2.0), class, 1),
        Leaf::new(values::ordinary(&mut random, b, draft.dtype, -2.0, 2.0), other, 0),
    ]
}

fn plain(dtype: DType, (m, k, n): (usize, usize, usize), class: LayoutClass) -> Case {
    let draft = Draft::new("matmul", "matmul", dtype).layout(class).detail(format!("{m}x{k}x{n}"));
    let leaves = leaves(&draft, [m, k].into(), [k, n].into(), class);
    finish(draft, leaves)
}

fn batched(dtype: DType, a: &[usize], b: &[usize]) -> Case {
    let draft = Draft::new("matmul", "matmul", dtype).detail(format!("{a:?}x{b:?}").replace(", ", "_"));
    let leaves = leaves(&draft, a.into(), b.into(), LayoutClass::Contiguous);
    finish(draft, leaves)
}

/// Infinities and NaN stay in their rows and columns.
fn special(dtype: DType) -> Case {
    let draft = Draft::new("matmul", "matmul", dtype).values(Values::Special);
    let mut leaves = leaves(&draft, [9, 5].into(), [5, 7].into(), LayoutClass::Contiguous);
    let put = |tensor: &mut HostTensor, at: usize, v: f64| tensor.data[at] = Number::Float(v);
    put(&mut leaves[0].tensor, 7, f64::INFINITY);
    put(&mut leaves[0].tensor, 22, f64::NAN);
    put(&mut leaves[1].tensor, 16, f64::NEG_INFINITY);
    finish(draft, leaves)
}

fn finish(draft: Draft, leaves: Vec<Leaf>) -> Case {
    let dtype = draft.dtype;
    let terms = *leaves[0].tensor.shape.last().expect("matrices have columns") as f64;
    let case = draft
        .case(leaves, Tolerance::sum(dtype, 4.0 + terms / 8.0), |n| build::matmul(&n[0], &n[1]))
        .numpy("a @ b");
    if dtype.is_float() { case.magnitude(|n| build::matmul(&n[0], &n[1])) } else { case }
}
