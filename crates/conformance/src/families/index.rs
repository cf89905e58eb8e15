//! Gather, take, scatter, write_at and search_sorted.

use super::{Draft, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::Tolerance;
use crate::values::{self, Values};
use wootz_ir::op::ScatterMode;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number, Shape, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    let (dtypes, classes): (&[DType], &[LayoutClass]) = match level {
        Level::Quick => (
            &[DType::F32, DType::F16, DType::BF16, DType::F64, DType::I32, DType::U8, DType::Bool],
            &[LayoutClass::Transposed],
        ),
        Level::Full => (&DType::ALL, &LayoutClass::STRIDED),
    };
    for &dtype in dtypes {
        for &class in classes {
            for axis in if level == Level::Quick { 1..2 } else { 0..3usize } {
                list.push(gather(dtype, class, axis, DType::I64));
                list.push(scatter(dtype, class, axis, ScatterMode::Set));
                if dtype != DType::Bool {
                    list.push(scatter(dtype, class, axis, ScatterMode::Add));
                }
            }
            for axis in 0..2 {
                list.push(write_at(dtype, class, axis, 2, false));
                list.push(write_at(dtype, class, axis, 1, true));
            }
            list.push(take(dtype, class));
            list.push(search_sorted(dtype, class, 33, class == LayoutClass::Transposed));
        }
        if level == Level::Full {
            list.push(gather(dtype, LayoutClass::Broadcast, 1, DType::I64));
            list.push(write_at(dtype, LayoutClass::Contiguous, 0, 0, false));
            list.push(write_at(dtype, LayoutClass::Contiguous, 0, 3, true));
            empties(dtype, list);
            for (extent, right) in [(0, false), (1, false), (1, true), (257, false), (257, true)] {
                list.push(search_sorted(dtype, LayoutClass::Contiguous, extent, right));
            }
            list.push(special_search(dtype, false));
            list.push(special_search(dtype, true));
        }
    }
    if level == Level::Full {
        for index in DType::ALL.into_iter().filter(|d| d.is_integer() && *d != DType::I64) {
            list.push(gather(DType::F32, LayoutClass::Contiguous, 1, index));
        }
    }
}

const SHAPE: [usize; 3] = [3, 4, 5];

/// Along `axis` six positions, with repeats, from either end where the dtype has a sign.
fn gather(dtype: DType, class: LayoutClass, axis: usize, index: DType) -> Case {
    let detail = format!("axis{axis}_by_{index}");
    let draft = Draft::new("gather", "gather", dtype).layout(class).detail(detail);
    let mut random = draft.random();
    let x = values::salted(&mut random, SHAPE, dtype, -4.0, 4.0);
    let extent = SHAPE[axis] as i64;
    let low = if index.kind() == wootz_ir::Kind::Signed { -extent } else { 0 };
    let positions = values::whole(&mut random, Shape::from(SHAPE).with(axis, 6), index, low, extent - 1);
    let leaves = vec![Leaf::new(x, class, 0), Leaf::new(positions, class, axis)];
    let case = draft.case(leaves, Tolerance::SIGNED, move |n| build::gather(&n[0], &n[1], axis as isize));
    case.numpy(format!("np.take_along_axis(a, b.astype(np.int64), {axis})"))
}

fn take(dtype: DType, class: LayoutClass) -> Case {
    let draft = Draft::new("gather", "take", dtype).layout(class);
    let mut random = draft.random();
    let x = values::salted(&mut random, [5, 3, 2], dtype, -4.0, 4.0);
    let rows = values::whole(&mut random, [2, 3], DType::I32, -5, 4);
    let leaves = vec![Leaf::new(x, class, 0), Leaf::new(rows, class, 0)];
    draft.case(leaves, Tolerance::SIGNED, |n| build::take(&n[0], &n[1], 0)).numpy("np.take(a, b, 0)")
}

/// Set: each position at most once, for among equals any may win. Add: with repeats.
fn scatter(dtype: DType, class: LayoutClass, axis: usize, mode: ScatterMode) -> Case {
    let name = if mode == ScatterMode::Set { "scatter" } else { "scatter_add" };
    let draft = Draft::new("scatter", name, dtype).layout(class).detail(format!("axis{axis}"));
    let mut random = draft.random();
    let x = values::ordinary(&mut random, SHAPE, dtype, -4.0, 4.0);
    let extent = SHAPE[axis] as i64;
    let count = if mode == ScatterMode::Set { 2 } else { 4 };
    let shape = Shape::from(SHAPE).with(axis, count);
    let index = match mode {
        ScatterMode::Add => values::whole(&mut random, shape.clone(), DType::I64, -extent, extent - 1),
        ScatterMode::Set => {
            let position = |i: usize| match shape.unravel(i)[axis] {
                0 => extent - 1,
                _ => (i as i64) % (extent - 1) - if i.is_multiple_of(2) { extent } else { 0 },
            };
            HostTensor::new(shape.clone(), DType::I64, (0..shape.count()).map(position).map(Number::Int))
        }
    };
    let added = values::ordinary(&mut random, shape, dtype, -4.0, 4.0);
    let leaves = vec![Leaf::new(x, class, 0), Leaf::new(index, class, 0), Leaf::new(added, class, 0)];
    let build =
        move |n: &[wootz_ir::graph::NodeRef]| build::scatter(&n[0], &n[1], &n[2], axis as isize, mode);
    if mode == ScatterMode::Set || !dtype.is_float() {
        let case = draft.case(leaves, Tolerance::SIGNED, build);
        return case.numpy(format!("np_{name}(a, b, c, {axis})"));
    }
    // Additions in any order, each rounded to the dtype where the device has no wider place for it.
    let relative = 2.0 * crate::tolerance::ulp(1.0, dtype);
    let tolerance = Tolerance { ulps: 1.0, relative, ..Tolerance::EXACT };
    draft.case(leaves, tolerance, build).magnitude(build).numpy(format!("np_{name}(a, b, c, {axis})"))
}

fn write_at(dtype: DType, class: LayoutClass, axis: usize, start: i64, donated: bool) -> Case {
    let detail = format!("axis{axis}_from{start}{}", if donated { "_in_place" } else { "" });
    let draft = Draft::new("write_at", "write_at", dtype).layout(class).detail(detail);
    let mut random = draft.random();
    let x = Leaf::new(values::salted(&mut random, [5, 4, 3], dtype, -4.0, 4.0), class, 0);
    let rows = values::salted(&mut random, Shape::from([5, 4, 3]).with(axis, 2), dtype, -4.0, 4.0);
    let start = HostTensor::new([], DType::I32, [Number::Int(start)]);
    let x = if donated { x.donated() } else { x };
    let leaves = vec![x, Leaf::new(rows, class, 0), Leaf::contiguous(start)];
    let case =
        draft.case(leaves, Tolerance::SIGNED, move |n| build::write_at(&n[0], &n[1], &n[2], axis as isize));
    case.numpy(format!("np_write_at(a, b, int(c), {axis})"))
}

/// A vector with repeats, and values in it, between its elements and beyond them.
fn search_sorted(dtype: DType, class: LayoutClass, extent: usize, right: bool) -> Case {
    let detail = format!("{extent}{}", if right { "_right" } else { "" });
    let draft = Draft::new("search_sorted", "search_sorted", dtype).layout(class).detail(detail);
    let mut random = draft.random();
    let sorted = in_order(values::whole(&mut random, [extent], dtype, 1, 20));
    let places = values::whole(&mut random, [6, 7], dtype, 0, 21);
    searching(draft, Leaf::new(sorted, class, 0), Leaf::new(places, class, 0), right)
}

/// Zeros of both signs, infinities and NaN, where the dtype has them.
fn special_search(dtype: DType, right: bool) -> Case {
    let detail = if right { "right" } else { "left" };
    let draft = Draft::new("search_sorted", "search_sorted", dtype).values(Values::Special).detail(detail);
    let mut random = draft.random();
    let sorted = in_order(values::salted(&mut random, [29], dtype, -4.0, 4.0));
    let places = values::salted(&mut random, [40], dtype, -4.0, 4.0);
    searching(draft, Leaf::contiguous(sorted), Leaf::contiguous(places), right)
}

fn in_order(mut x: HostTensor) -> HostTensor {
    x.data.sort_by(wootz_ir::reference::order);
    x
}

fn searching(draft: Draft, sorted: Leaf, places: Leaf, right: bool) -> Case {
    let side = if right { "right" } else { "left" };
    let build = move |n: &[wootz_ir::graph::NodeRef]| build::search_sorted(&n[0], &n[1], right);
    draft
        .case(vec![sorted, places], Tolerance::EXACT, build)
        .numpy(format!("np.searchsorted(a, b, '{side}')"))
}

/// No positions, and nothing to look in where nothing is looked for.
fn empties(dtype: DType, list: &mut Vec<Case>) {
    for (detail, x, index) in [("no_position", [3, 4], [0, 4]), ("no_column", [3, 0], [2, 0])] {
        let draft = Draft::new("gather", "gather", dtype).layout(LayoutClass::Empty).detail(detail);
        let mut random = draft.random();
        let x = values::ordinary(&mut random, x, dtype, -4.0, 4.0);
        let index = values::whole(&mut random, index, DType::I64, 0, 1);
        let leaves = vec![Leaf::contiguous(x), Leaf::contiguous(index)];
        let case = draft.case(leaves, Tolerance::SIGNED, |n| build::gather(&n[0], &n[1], 0));
        list.push(case.numpy("np.take_along_axis(a, b, 0)"));
    }
    let draft = Draft::new("scatter", "scatter", dtype).layout(LayoutClass::Empty);
    let mut random = draft.random();
    let x = values::ordinary(&mut random, [3, 4], dtype, -4.0, 4.0);
    let nothing = |dtype| Leaf::contiguous(HostTensor::new([0, 4], dtype, []));
    let leaves = vec![Leaf::contiguous(x), nothing(DType::I64), nothing(dtype)];
    let case =
        draft.case(leaves, Tolerance::SIGNED, |n| build::scatter(&n[0], &n[1], &n[2], 0, ScatterMode::Set));
    list.push(case.numpy("a"));
}
