//! RWKV-7's recurrence.

use super::{Draft, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::{Tolerance, epsilon};
use crate::values;
use wootz_ir::graph::NodeRef;
use wootz_ir::{DType, Result, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    list.push(wkv7(3, 2, 8, DType::F32, LayoutClass::Contiguous));
    list.push(recurrence([3, 2, 8, 12], DType::F32, LayoutClass::Contiguous));
    if level == Level::Quick {
        return;
    }
    for (steps, heads, depth) in [(1, 1, 1), (1, 2, 64), (2, 3, 5), (7, 1, 16), (12, 2, 4), (0, 2, 4)] {
        let class = if steps == 0 { LayoutClass::Empty } else { LayoutClass::Contiguous };
        list.push(wkv7(steps, heads, depth, DType::F32, class));
    }
    for class in [
        LayoutClass::Transposed,
        LayoutClass::Sliced,
        LayoutClass::Reversed,
        LayoutClass::Offset,
        LayoutClass::Broadcast,
    ] {
        list.push(wkv7(3, 2, 4, DType::F32, class));
        list.push(recurrence([3, 2, 4, 7], DType::F32, class));
    }
    for shape in [[1, 1, 1, 3], [5, 2, 16, 64], [2, 1, 128, 64], [9, 3, 5, 2], [3, 2, 4, 0]] {
        let class = if shape[3] == 0 { LayoutClass::Empty } else { LayoutClass::Contiguous };
        list.push(recurrence(shape, DType::F32, class));
    }
    for dtype in [DType::F16, DType::BF16, DType::F64] {
        list.push(wkv7(2, 2, 8, dtype, LayoutClass::Contiguous));
    }
}

fn build(n: &[NodeRef]) -> Result<NodeRef> {
    build::wkv7([&n[0], &n[1], &n[2], &n[3], &n[4], &n[5]], &n[6])
}

/// With a square state.
fn wkv7(steps: usize, heads: usize, depth: usize, dtype: DType, class: LayoutClass) -> Case {
    recurrence([steps, heads, depth, depth], dtype, class)
}

fn recurrence([steps, heads, depth, rows]: [usize; 4], dtype: DType, class: LayoutClass) -> Case {
    let detail = match depth == rows {
        true => format!("{steps}x{heads}x{depth}"),
        false => format!("{steps}x{heads}x{rows}x{depth}"),
    };
    let draft = Draft::new("wkv7", "wkv7", dtype).layout(class).detail(detail);
    let mut random = draft.random();
    // Decay below 1 and small in-context rates, as trained models have them: the state stays bounded.
    let ranges = [(-1.0, 1.0), (0.6, 1.0), (-1.0, 1.0), (-1.0, 1.0), (-0.5, 0.5), (-0.5, 0.5)];
    let mut leaves: Vec<Leaf> = ranges
        .iter()
        .enumerate()
        .map(|(slot, &(low, high))| {
            let width = if slot == 3 { rows } else { depth };
            values::ordinary(&mut random, [steps, heads, width], dtype, low, high)
        })
        .map(|tensor| Leaf::new(tensor, class, 1))
        .collect();
    let state = values::ordinary(&mut random, [heads, rows, depth], dtype, -1.0, 1.0);
    leaves.push(Leaf::new(state, class, 0));
    // Every step adds to the error of the state before; the result is f32 for every dtype.
    let relative = epsilon(DType::F32) * (4.0 + steps as f64) * (1.0 + depth as f64 / 8.0);
    let case = draft.case(leaves, Tolerance { ulps: 1.0, relative, ..Tolerance::EXACT }, build);
    case.magnitude(build).numpy_in(DType::F32, "np_wkv7(a, b, c, d, e, f, g)")
}
