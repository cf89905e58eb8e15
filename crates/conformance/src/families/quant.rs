//! Products with, and rows of, block-quantised matrices, in every format.

use super::{Draft, Level};
use crate::case::Case;
use crate::leaf::{LayoutClass, Leaf};
use crate::random::Random;
use crate::tolerance::{Tolerance, epsilon};
use crate::values;
use wootz_blocks::{BlockFormat, dequantize, quantize};
use wootz_ir::graph::{Leaf as GraphLeaf, Node};
use wootz_ir::op::Activations;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, ElementwiseOp, Layout, Number, build};

pub fn cases(level: Level, list: &mut Vec<Case>) {
    for &format in BlockFormat::ALL {
        list.push(exact_product(format, 1, 1));
        list.push(rows(format, LayoutClass::Contiguous));
        if level == Level::Quick {
            continue;
        }
        for (m, n) in [(1, 1), (1, 33), (2, 7), (5, 16), (9, 3), (33, 4)] {
            list.push(product(format, m, n, DType::F32, LayoutClass::Contiguous));
        }
        for (m, n) in [(1, 9), (3, 4), (9, 17)] {
            list.push(precise_product(format, m, n));
        }
        list.push(exact_product(format, 3, 17));
        list.push(exact_product(format, 8, 4));
        for class in
            [LayoutClass::Transposed, LayoutClass::Sliced, LayoutClass::Reversed, LayoutClass::Offset]
        {
            list.push(product(format, 3, 4, DType::F32, class));
        }
        for dtype in [DType::F16, DType::BF16, DType::F64] {
            list.push(product(format, 2, 5, dtype, LayoutClass::Contiguous));
        }
        list.push(product(format, 0, 5, DType::F32, LayoutClass::Empty));
        list.push(product_of_nothing(format));
        list.push(rows(format, LayoutClass::Transposed));
    }
}

/// Columns: some blocks, which are not whole runs of 256 values if blocks are smaller.
pub(super) fn columns(format: BlockFormat) -> usize {
    match format.block_len() {
        256.. => 512,
        128.. => 384,
        64.. => 320,
        _ => 160,
    }
}

/// Quantised random rows: their bytes, and the values that these stand for.
pub(super) fn weights(random: &mut Random, format: BlockFormat, rows: usize) -> (HostTensor, Vec<f32>) {
    let columns = columns(format);
    let width = format.bytes_of(columns).expect("whole blocks");
    let plain: Vec<f32> = (0..rows * columns).map(|_| random.uniform(-1.0, 1.0) as f32).collect();
    let mut bytes = vec![0; rows * width];
    let mut values = vec![0.0; rows * columns];
    quantize(format, &plain, None, &mut bytes).expect("finite values and whole blocks");
    dequantize(format, &bytes, &mut values).expect("the bytes just made");
    (HostTensor::new([rows, width], DType::U8, bytes.into_iter().map(Number::from)), values)
}

/// Ordinary activations. A device may code them in 8 bits per block: each is off by up to 1/254 of the largest, either
/// way, so that the error of the sum is that of a random walk. The bound is six of its standard deviations.
fn product(format: BlockFormat, m: usize, n: usize, dtype: DType, class: LayoutClass) -> Case {
    let draft = Draft::new("quant_matmul", format.name(), dtype).layout(class).detail(format!("{m}x{n}"));
    let mut random = draft.random();
    let x = values::ordinary(&mut random, [m, columns(format)], dtype, -2.0, 2.0);
    let relative =
        if format.is_float() { 32.0 * epsilon(DType::F32) } else { 0.032 / (columns(format) as f64).sqrt() };
    finish(draft, (format, Activations::Rounded), Leaf::new(x, class, 0), n, relative)
}

/// The same, where a device has to keep 16 bits.
fn precise_product(format: BlockFormat, m: usize, n: usize) -> Case {
    let draft = Draft::new("quant_matmul", format.name(), DType::F32).detail(format!("precise_{m}x{n}"));
    let mut random = draft.random();
    let x = values::ordinary(&mut random, [m, columns(format)], DType::F32, -2.0, 2.0);
    let coding = if format.is_float() { 0.0 } else { 0.032 / 256.0 / (columns(format) as f64).sqrt() };
    let relative = coding + 32.0 * epsilon(DType::F32);
    finish(draft, (format, Activations::Precise), Leaf::contiguous(x), n, relative)
}

/// Whole activations up to 127, with 127 in every run of 32: coding them in 8 bits loses nothing, and what is left is
/// the error of summing.
fn exact_product(format: BlockFormat, m: usize, n: usize) -> Case {
    let draft = Draft::new("quant_matmul", format.name(), DType::F32).detail(format!("exact_{m}x{n}"));
    let mut random = draft.random();
    let mut x = values::whole(&mut random, [m, columns(format)], DType::F32, -126, 126);
    x.data.iter_mut().step_by(32).for_each(|v| *v = Number::Float(127.0));
    finish(draft, (format, Activations::Rounded), Leaf::contiguous(x), n, 64.0 * epsilon(DType::F32))
}

/// Rows of no values: every product is 0.
fn product_of_nothing(format: BlockFormat) -> Case {
    let draft = Draft::new("quant_matmul", format.name(), DType::F32).detail("2x0x3".to_string());
    let empty = |rows, dtype| Leaf::contiguous(HostTensor::new([rows, 0], dtype, []));
    let leaves = vec![empty(2, DType::F32), empty(3, DType::U8)];
    draft.case(leaves, Tolerance::EXACT, move |n| {
        build::quant_matmul(&n[0], &n[1], format, Activations::Rounded)
    })
}

fn finish(
    draft: Draft,
    (format, activations): (BlockFormat, Activations),
    x: Leaf,
    n: usize,
    relative: f64,
) -> Case {
    let mut random = Random::named(&format!("{}/weights", draft.name()));
    let (bytes, values) = weights(&mut random, format, n);
    let columns = columns(format);
    let tolerance = Tolerance { ulps: 1.0, relative, ..Tolerance::EXACT };
    let transposed = (0..columns * n).map(|i| Number::Float(values[i % n * columns + i / n].abs() as f64));
    let transposed = HostTensor::new([columns, n], DType::F64, transposed);
    let case = draft.case(vec![x, Leaf::contiguous(bytes)], tolerance, move |n| {
        build::quant_matmul(&n[0], &n[1], format, activations)
    });
    case.magnitude(move |n| {
        let layout = Layout::contiguous(&transposed.shape);
        let payload = std::sync::Arc::new(transposed.clone());
        let weights = Node::leaf(GraphLeaf { layout, donated: false, payload }, DType::F64);
        let x = build::elementwise(ElementwiseOp::Abs, &[&n[0]])?;
        build::matmul(&x, &weights)
    })
}

fn rows(format: BlockFormat, class: LayoutClass) -> Case {
    let draft = Draft::new("quant_gather", format.name(), DType::F32).layout(class);
    let mut random = draft.random();
    let (bytes, _) = weights(&mut random, format, 2);
    let index = values::whole(&mut random, [2, 3], DType::I32, -2, 1);
    let leaves = vec![Leaf::contiguous(bytes), Leaf::new(index, class, 0)];
    // Scale times code, plus an offset in some formats, which a device may fuse.
    let tolerance = Tolerance::ulps(1.0).or_within(2.0 * epsilon(DType::F32));
    draft.case(leaves, tolerance, move |n| build::quant_gather(&n[0], &n[1], format))
}
