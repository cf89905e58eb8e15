//! Views and ops that copy them: reshape, permute, expand, slice, concat, update_slice, iota, full.

use super::{Draft, Level};
use crate::case::{Build, Case};
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::Tolerance;
use crate::values;
use wootz_ir::graph::NodeRef;
use wootz_ir::{DType, ElementwiseOp, Number, Result, Shape, Span, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    let (dtypes, classes): (&[DType], &[LayoutClass]) = match level {
        Level::Quick => (&[DType::F32, DType::F16, DType::I64, DType::U8], &[LayoutClass::Transposed]),
        Level::Full => (&DType::ALL, &LayoutClass::STRIDED),
    };
    for &dtype in dtypes {
        for &class in classes {
            chains(dtype, class, list);
            joins(dtype, class, list);
        }
        list.push(empty_join(dtype));
        list.push(full(dtype));
    }
    iota(list);
    random_numbers(list);
}

const fn span(start: usize, step: isize, len: usize) -> Span {
    Span { start, step, len }
}

/// A chain of views over `[4, 3, 6]`, and the same in NumPy.
fn chains(dtype: DType, class: LayoutClass, list: &mut Vec<Case>) {
    let chains: [(&'static str, &'static str, Build); 9] = [
        ("reshape", "a.reshape(12, 6)", Box::new(|n| build::reshape(&n[0], &[12, 6].into()))),
        ("permute", "a.transpose(2, 0, 1)", Box::new(|n| build::permute(&n[0], &[2, 0, 1]))),
        (
            "slice",
            "a[1:4:2, :, ::-1]",
            Box::new(|n| build::slice(&n[0], &[span(1, 2, 2), Span::all(3), span(5, -1, 6)])),
        ),
        (
            "slice_backwards",
            "a[::-2, ::-1, 4::-3]",
            Box::new(|n| build::slice(&n[0], &[span(3, -2, 2), span(2, -1, 3), span(4, -3, 2)])),
        ),
        (
            "expand",
            "np.broadcast_to(a.reshape(4, 1, 18), (2, 4, 3, 18))",
            Box::new(|n| {
                build::expand("expand", &build::reshape(&n[0], &[4, 1, 18].into())?, &[2, 4, 3, 18].into())
            }),
        ),
        (
            "reshape_of_permute",
            "a.transpose(1, 2, 0).reshape(9, 8)",
            Box::new(|n| build::reshape(&build::permute(&n[0], &[1, 2, 0])?, &[9, 8].into())),
        ),
        (
            "reshape_of_slice",
            "a[:, ::-1, 1:6:2].reshape(6, 6)",
            Box::new(|n| {
                build::reshape(
                    &build::slice(&n[0], &[Span::all(4), span(2, -1, 3), span(1, 2, 3)])?,
                    &[6, 6].into(),
                )
            }),
        ),
        (
            "permute_of_reshape_of_expand",
            "np.broadcast_to(a[:, :1], (4, 5, 6)).reshape(20, 6).transpose(1, 0)",
            Box::new(|n| {
                let first = build::slice(&n[0], &[Span::all(4), span(0, 1, 1), Span::all(6)])?;
                let wide = build::expand("expand", &first, &[4, 5, 6].into())?;
                build::permute(&build::reshape(&wide, &[20, 6].into())?, &[1, 0])
            }),
        ),
        (
            "slice_of_reshape_of_permute",
            "a.transpose(2, 1, 0).reshape(3, 24)[::2, 20::-7]",
            Box::new(|n| {
                let flat = build::reshape(&build::permute(&n[0], &[2, 1, 0])?, &[3, 24].into())?;
                build::slice(&flat, &[span(0, 2, 2), span(20, -7, 3)])
            }),
        ),
    ];
    for (op, expression, view) in chains {
        let draft = Draft::new("map", op, dtype).layout(class);
        let mut random = draft.random();
        let leaf = Leaf::new(values::salted(&mut random, [4, 3, 6], dtype, -4.0, 4.0), class, 0);
        list.push(draft.case(vec![leaf], Tolerance::SIGNED, view).numpy(expression));
    }
}

/// Concat and update_slice, which write to parts of a result.
fn joins(dtype: DType, class: LayoutClass, list: &mut Vec<Case>) {
    for axis in 0..3usize {
        let draft = Draft::new("map", "concat", dtype).layout(class).detail(format!("axis{axis}"));
        let mut random = draft.random();
        let leaves = [2, 1, 3]
            .map(|extent| {
                let shape = Shape::from([2, 3, 4]).with(axis, extent);
                Leaf::new(values::salted(&mut random, shape, dtype, -4.0, 4.0), class, 0)
            })
            .into();
        let case = draft.case(leaves, Tolerance::SIGNED, move |n| build::concat(n, axis as isize));
        list.push(case.numpy(format!("np.concatenate([a, b, c], {axis})")));
    }
    let spans = [span(3, -2, 2), span(1, 1, 2)];
    let draft = Draft::new("map", "update_slice", dtype).layout(class);
    let mut random = draft.random();
    let leaves = [[4, 5], [2, 2]]
        .map(|s| Leaf::new(values::salted(&mut random, s, dtype, -4.0, 4.0), class, 0))
        .into();
    let case = draft.case(leaves, Tolerance::SIGNED, move |n| build::update_slice(&n[0], &spans, &n[1]));
    list.push(case.numpy("np_update(a, np.s_[3::-2, 1:3], b)"));
}

fn empty_join(dtype: DType) -> Case {
    let draft = Draft::new("map", "concat", dtype).layout(LayoutClass::Empty);
    let mut random = draft.random();
    let leaves = [[2, 0], [2, 3], [2, 0]]
        .map(|s| Leaf::contiguous(values::ordinary(&mut random, s, dtype, -4.0, 4.0)))
        .into();
    draft.case(leaves, Tolerance::SIGNED, |n| build::concat(n, 1)).numpy("np.concatenate([a, b, c], 1)")
}

fn full(dtype: DType) -> Case {
    let draft = Draft::new("map", "full", dtype);
    let case =
        draft.case(vec![], Tolerance::SIGNED, move |_| build::full(&[2, 3].into(), Number::Int(1), dtype));
    case.numpy("np.ones((2, 3))")
}

fn iota(list: &mut Vec<Case>) {
    let plain = Draft::new("map", "iota", DType::I64);
    let case = plain.case(vec![], Tolerance::EXACT, |_| build::iota(&[3, 5].into()));
    list.push(case.numpy("np.arange(15).reshape(3, 5)"));
    let permuted = Draft::new("map", "iota", DType::I64).detail("permuted");
    let case = permuted.case(vec![], Tolerance::EXACT, |_| {
        let columns = build::permute(&build::iota(&[3, 5].into())?, &[1, 0])?;
        build::elementwise(ElementwiseOp::Mul, &[&columns, &columns])
    });
    list.push(case.numpy("np.square(np.arange(15).reshape(3, 5).T)"));
}

/// Counter-based random bits from an iota, as the front end draws them.
fn random_numbers(list: &mut Vec<Case>) {
    let bits = |seed: u32| -> Result<NodeRef> {
        let low = build::cast(&build::iota(&[64].into())?, DType::U32);
        let high = build::full(&[64].into(), Number::Int(7), DType::U32)?;
        let key = build::full(&[64].into(), Number::from(seed), DType::U32)?;
        build::elementwise(ElementwiseOp::RandomBits, &[&low, &high, &key])
    };
    for seed in [0, 1, 0xdead_beef] {
        let draft = Draft::new("map", "random_bits", DType::U32).detail(format!("seed{seed}"));
        let case = draft.case(vec![], Tolerance::EXACT, move |_| bits(seed));
        let counter = "np.arange(64, dtype=np.uint32), np.full(64, 7, np.uint32)";
        list.push(case.numpy(format!("np_philox({counter}, np.full(64, {seed}, np.uint32))")));
    }
}
