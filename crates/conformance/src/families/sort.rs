//! Sorting and argsort: stable, ascending and descending, complete and top-k.

use super::{Draft, Level, QUICK};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::Tolerance;
use crate::values::{self, Values};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    let dtypes: &[DType] = if level == Level::Quick { &QUICK } else { &DType::ALL };
    for &dtype in dtypes {
        for positions in [false, true] {
            for descending in [false, true] {
                let order = Order { positions, descending, limit: None };
                match level {
                    Level::Quick => list.push(ties(dtype, order, LayoutClass::Transposed, 1)),
                    Level::Full => full(dtype, order, list),
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Order {
    positions: bool,
    descending: bool,
    limit: Option<usize>,
}

impl Order {
    fn draft(self, dtype: DType) -> Draft {
        let name = if self.positions { "argsort" } else { "sort" };
        Draft::new(name, name, dtype)
    }

    fn detail(self, rest: impl std::fmt::Display) -> String {
        let limit = self.limit.map_or(String::new(), |k| format!("_top{k}"));
        format!("{}{limit}_{rest}", if self.descending { "falling" } else { "rising" })
    }
}

fn full(dtype: DType, order: Order, list: &mut Vec<Case>) {
    for class in LayoutClass::STRIDED {
        for axis in 0..2 {
            list.push(ties(dtype, order, class, axis));
        }
    }
    for n in [1, 2, 3, 8, 17, 33, 64, 100, 257] {
        for limit in [None, Some(n.min(3))] {
            let order = Order { limit, ..order };
            let draft = order.draft(dtype).detail(order.detail(format!("n{n}")));
            let tensor = values::ordinary(&mut draft.random(), [2, n], dtype, -4.0, 4.0);
            list.push(finish(draft, order, Leaf::contiguous(tensor), 1));
        }
    }
    let draft = order.draft(dtype).values(Values::Special).detail(order.detail("mixed"));
    let tensor = values::salted(&mut draft.random(), [6, 21], dtype, -4.0, 4.0);
    list.push(finish(draft, order, Leaf::contiguous(tensor), 1));
    for (rest, shape) in [("rows", [0, 3]), ("columns", [3, 0])] {
        let draft = order.draft(dtype).layout(LayoutClass::Empty).detail(order.detail(rest));
        list.push(finish(draft, order, Leaf::contiguous(HostTensor::new(shape, dtype, [])), 1));
    }
}

/// Few different values, so that stability shows.
fn ties(dtype: DType, order: Order, class: LayoutClass, axis: usize) -> Case {
    let draft = order.draft(dtype).layout(class).detail(order.detail(format!("axis{axis}")));
    let tensor = values::whole(&mut draft.random(), [5, 13], dtype, 0, 4);
    finish(draft, order, Leaf::new(tensor, class, 0), axis)
}

fn finish(draft: Draft, order: Order, leaf: Leaf, axis: usize) -> Case {
    let Order { positions, descending, limit } = order;
    let name = if positions { "np_argsort" } else { "np_sort" };
    let python = |b: bool| if b { "True" } else { "False" };
    let count = limit.map_or("None".into(), |k| k.to_string());
    let expression = format!("{name}(a, {axis}, {}, {count})", python(descending));
    let case = draft.case(vec![leaf], Tolerance::EXACT, move |n| {
        let sort = if positions { build::argsort } else { build::sort };
        sort(&n[0], axis as isize, descending, limit)
    });
    case.numpy(expression)
}
