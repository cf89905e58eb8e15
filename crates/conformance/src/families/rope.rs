//! Rotary embedding, both pairings.

use super::{Draft, FLOATS, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::{Tolerance, epsilon};
use crate::values;
use wootz_ir::op::RopeStyle;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number, Shape, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    for dtype in FLOATS {
        for style in [RopeStyle::Half, RopeStyle::Interleaved] {
            let mut push = |class, width, turned, last| {
                list.push(rope(dtype, style, class, Size { width, turned, last }))
            };
            push(LayoutClass::Transposed, 8, 8, 40);
            if level == Level::Full {
                for class in LayoutClass::STRIDED {
                    push(class, 6, 6, 11);
                    // Elements beyond the frequencies pass unturned.
                    push(class, 10, 6, 11);
                }
                push(LayoutClass::Broadcast, 6, 6, 11);
                for width in [2, 16, 64] {
                    push(LayoutClass::Contiguous, width, width, 4000);
                }
                push(LayoutClass::Empty, 4, 4, 1);
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Size {
    /// Elements per row.
    width: usize,
    /// How many of them turn.
    turned: usize,
    /// The highest position.
    last: i64,
}

fn rope(dtype: DType, style: RopeStyle, class: LayoutClass, size: Size) -> Case {
    let Size { width, turned, last } = size;
    let name = if style == RopeStyle::Half { "half" } else { "interleaved" };
    let detail = format!("{name}_{turned}_of_{width}_to_{last}");
    let draft = Draft::new("rope", "rope", dtype).layout(class).detail(detail);
    let mut random = draft.random();
    // [heads, rows, width], positions per row, shared by the heads.
    let shape: Shape = if class == LayoutClass::Empty { [0, 3, width].into() } else { [2, 3, width].into() };
    let x = values::ordinary(&mut random, shape, dtype, -2.0, 2.0);
    let positions = HostTensor::new([3], DType::I32, [0, last / 2 + 1, last].map(Number::Int));
    let frequency = |i: usize| Number::Float(10000f64.powf(-2.0 * i as f64 / turned as f64));
    let frequencies = HostTensor::new([turned / 2], DType::F32, (0..turned / 2).map(frequency));
    let leaves = vec![Leaf::new(x, class, 0), Leaf::contiguous(positions), Leaf::contiguous(frequencies)];
    // The angle is a product of f32: it is off by a fraction of itself, whatever the dtype of x.
    let tolerance = Tolerance::ulps(1.0).or_within(4.0 * (epsilon(DType::F32) * (last as f64 + 2.0)));
    let case = draft.case(leaves, tolerance, move |n| build::rope(&n[0], &n[1], &n[2], style));
    case.numpy(format!("np_rope(a, b, c, '{name}')"))
}
