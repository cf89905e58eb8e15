//! Scaled-dot-product attention: grouped heads, masks, causal position, windows, soft caps.

use super::{Draft, FLOATS, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::{Tolerance, epsilon};
use crate::values;
use wootz_ir::build::{self, AttentionOptions};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number};

/// The parameters of an attention case.
#[derive(Clone, Copy)]
struct Problem {
    batch: usize,
    heads: usize,
    groups: usize,
    queries: usize,
    keys: usize,
    depth: usize,
    values: usize,
    mask: Mask,
    sinks: bool,
    position: Option<i64>,
    window: Option<usize>,
    softcap: Option<f64>,
    /// The dtype of k and v, where it is not that of q.
    stored: Option<DType>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mask {
    None,
    Bool,
    Float,
}

const BASE: Problem = Problem {
    batch: 1,
    heads: 2,
    groups: 2,
    queries: 3,
    keys: 5,
    depth: 4,
    values: 4,
    mask: Mask::None,
    sinks: false,
    position: None,
    window: None,
    softcap: None,
    stored: None,
};

/// Queries, keys and columns that are more than a tile of a device.
const LONG: Problem = Problem { heads: 4, depth: 40, values: 72, ..BASE };

const PROBLEMS: [(&str, Problem); 24] = [
    ("plain", BASE),
    ("grouped_causal", Problem { batch: 2, heads: 6, position: Some(2), ..BASE }),
    ("grouped", Problem { batch: 2, heads: 6, ..BASE }),
    ("one_group", Problem { heads: 5, groups: 1, ..BASE }),
    ("values_wider", Problem { values: 7, ..BASE }),
    ("odd_depth", Problem { depth: 33, values: 17, keys: 19, ..BASE }),
    ("decode", Problem { heads: 4, queries: 1, keys: 37, depth: 16, values: 16, position: Some(30), ..BASE }),
    ("decode_long", Problem { queries: 1, keys: 300, depth: 8, values: 8, position: Some(299), ..BASE }),
    ("causal", Problem { queries: 7, keys: 7, position: Some(0), ..BASE }),
    ("causal_prefix", Problem { queries: 4, keys: 12, position: Some(8), ..BASE }),
    ("window", Problem { queries: 9, keys: 9, position: Some(0), window: Some(3), ..BASE }),
    ("window_of_one", Problem { queries: 3, keys: 6, position: Some(3), window: Some(1), ..BASE }),
    ("softcap", Problem { softcap: Some(1.5), ..BASE }),
    ("mask", Problem { mask: Mask::Float, ..BASE }),
    ("bool_mask", Problem { mask: Mask::Bool, heads: 4, ..BASE }),
    (
        "mask_and_causal",
        Problem { mask: Mask::Float, position: Some(1), window: Some(2), softcap: Some(5.0), ..BASE },
    ),
    ("prefill", Problem { queries: 37, keys: 70, position: Some(33), ..LONG }),
    (
        "prefill_window",
        Problem { queries: 70, keys: 70, position: Some(0), window: Some(19), mask: Mask::Float, ..LONG },
    ),
    ("prefill_odd", Problem { queries: 33, keys: 41, depth: 35, values: 67, mask: Mask::Bool, ..LONG }),
    ("sinks", Problem { sinks: true, position: Some(2), ..BASE }),
    ("sinks_and_mask", Problem { sinks: true, mask: Mask::Float, position: Some(1), heads: 4, ..BASE }),
    ("sinks_decode", Problem { sinks: true, queries: 1, keys: 600, position: Some(599), ..BASE }),
    ("sinks_prefill", Problem { sinks: true, queries: 37, keys: 70, position: Some(33), ..LONG }),
    ("half_cache", Problem { keys: 9, position: Some(6), stored: Some(DType::F16), ..BASE }),
];

pub fn cases(level: Level, list: &mut Vec<Case>) {
    for dtype in FLOATS {
        if level == Level::Quick {
            list.push(attention(dtype, PROBLEMS[1], LayoutClass::Transposed));
            list.push(attention(dtype, PROBLEMS[15], LayoutClass::Contiguous));
            list.push(attention(dtype, PROBLEMS[20], LayoutClass::Contiguous));
            continue;
        }
        for problem in PROBLEMS {
            list.push(attention(dtype, problem, LayoutClass::Contiguous));
        }
        for class in
            [LayoutClass::Transposed, LayoutClass::Sliced, LayoutClass::Reversed, LayoutClass::Offset]
        {
            list.push(attention(dtype, PROBLEMS[1], class));
            list.push(attention(dtype, PROBLEMS[13], class));
        }
        list.push(attention(dtype, ("batched", Problem { batch: 3, ..BASE }), LayoutClass::Broadcast));
        let nothing = ("no_query", Problem { queries: 0, ..BASE });
        list.push(attention(dtype, nothing, LayoutClass::Empty));
    }
}

fn attention(dtype: DType, (name, p): (&'static str, Problem), class: LayoutClass) -> Case {
    let draft = Draft::new("attention", "attention", dtype).layout(class).detail(name);
    let mut random = draft.random();
    let stored = p.stored.unwrap_or(dtype);
    let mut leaf = |shape, dtype| Leaf::new(values::ordinary(&mut random, shape, dtype, -2.0, 2.0), class, 0);
    let mut leaves = vec![
        leaf([p.batch, p.heads, p.queries, p.depth], dtype),
        leaf([p.batch, p.groups, p.keys, p.depth], stored),
        leaf([p.batch, p.groups, p.keys, p.values], stored),
    ];
    if p.mask != Mask::None {
        leaves.push(Leaf::contiguous(mask(p, dtype)));
    }
    if p.sinks {
        let scores = (0..p.heads).map(|h| Number::Float(h as f64 * 0.75 - 1.0));
        leaves.push(Leaf::contiguous(HostTensor::new([p.heads], dtype, scores)));
    }
    if let Some(position) = p.position {
        leaves.push(Leaf::contiguous(HostTensor::new([1], DType::I32, [Number::Int(position)])));
    }
    // Weights are off by a fraction of the scores (below 30), results by that of the values (below 2); a device may
    // keep the weights of f16 and bf16 values in their dtype.
    let narrow = matches!(dtype, DType::F16 | DType::BF16) || stored != dtype;
    let weights = match stored {
        DType::F16 if narrow => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        _ => 0.0,
    };
    let bound = 2.0 * (epsilon(dtype) * (64.0 + p.keys as f64 / 8.0) + weights);
    let case = draft.case(leaves, Tolerance::ulps(1.0).or_within(bound), move |n| {
        let options = AttentionOptions {
            scale: None,
            mask: (p.mask != Mask::None).then(|| &n[3]),
            sinks: p.sinks.then(|| &n[3 + usize::from(p.mask != Mask::None)]),
            position: p.position.map(|_| &n[n.len() - 1]),
            window: p.window,
            softcap: p.softcap,
        };
        build::attention(&n[0], &n[1], &n[2], options)
    });
    case.numpy(expression(p))
}

/// Rows that hide some keys, one row that hides all, and added scores.
fn mask(p: Problem, dtype: DType) -> HostTensor {
    let shape = [1, p.heads, p.queries, p.keys];
    let count = shape.iter().product::<usize>();
    let hidden = |i: usize| i / p.keys == 1 || i.is_multiple_of(3);
    if p.mask == Mask::Bool {
        return HostTensor::new(shape, DType::Bool, (0..count).map(|i| Number::Bool(!hidden(i))));
    }
    let score = |i: usize| if hidden(i) { f64::NEG_INFINITY } else { (i % 7) as f64 * 0.25 - 1.0 };
    HostTensor::new(shape, dtype, (0..count).map(|i| Number::Float(score(i))))
}

fn expression(p: Problem) -> String {
    let optional = |value: Option<String>| value.unwrap_or("None".into());
    let mask = if p.mask == Mask::None { "None" } else { "d" };
    let sinks = match (p.sinks, p.mask) {
        (false, _) => "None",
        (true, Mask::None) => "d",
        (true, _) => "e",
    };
    let position = optional(p.position.map(|v| v.to_string()));
    let window = optional(p.window.map(|v| v.to_string()));
    let softcap = optional(p.softcap.map(|v| v.to_string()));
    format!("np_attention(a, b, c, {mask}, {position}, {window}, {softcap}, {sinks})")
}
