//! Offsets beyond 2³¹ bytes, in memory that exists only where it is touched.

use crate::rig::{Rig, close, noise};
use std::sync::Arc;
use wootz_backend::{Backend, HostMemory};
use wootz_blocks::BlockFormat;
use wootz_ir::graph::{Leaf, Node, NodeRef};
use wootz_ir::op::Activations;
use wootz_ir::{DType, Layout, Shape, build};
use wootz_metal::SoftOptions;

/// Two rows 3 GiB apart.
const APART: usize = 3 << 30;

/// A sparse mapping with these rows in it.
fn sparse(rig: &Rig, rows: [&[u8]; 2], shape: [usize; 2], dtype: DType) -> NodeRef {
    let options = memmap2::MmapOptions::new().no_reserve_swap().len(APART + (1 << 20)).clone();
    let mut map = options.map_anon().expect("an anonymous mapping");
    map[..rows[0].len()].copy_from_slice(rows[0]);
    map[APART..][..rows[1].len()].copy_from_slice(rows[1]);
    let buffer = rig.backend.import(HostMemory::new(map)).unwrap();
    let strides = [(APART / dtype.size()) as isize, 1].into_iter().collect();
    let layout = Layout { shape: Shape::from(shape), strides, offset: 0 };
    Node::leaf(Leaf { layout, donated: false, payload: Arc::new(buffer) }, dtype)
}

#[test]
fn rows_of_floats() {
    let rig = Rig::new(SoftOptions::default());
    let (k, n) = (33, 40);
    let (a, b) = (noise(1, 2 * k), noise(2, k * n));
    let rows = [bytemuck::cast_slice(&a[..k]), bytemuck::cast_slice(&a[k..])];
    let left = sparse(&rig, rows, [2, k], DType::F32);
    // As the vectors of a product, and as the columns of one with tiles.
    let wide = build::matmul(&left, &rig.floats(&b, [k, n], DType::F32)).unwrap();
    let wanted = |i: usize, j: usize| -> f64 {
        (0..k).map(|p| f64::from(a[i * k + p]) * f64::from(b[p * n + j])).sum()
    };
    let all: Vec<f64> = (0..2 * n).map(|i| wanted(i / n, i % n)).collect();
    close("vectors far apart", &rig.run(&wide).unwrap(), &all, 2e-5);
}

#[test]
fn rows_of_blocks() {
    let rig = Rig::new(SoftOptions::default());
    let (k, m, format) = (256, 12, BlockFormat::Q4_K);
    let (bytes, values) = crate::quant::weights(format, 2, k);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let w = sparse(&rig, [first, second], [2, bytes.len() / 2], DType::U8);
    for m in [1, m] {
        let x = noise(3, m * k);
        let node = build::quant_matmul(&rig.floats(&x, [m, k], DType::F32), &w, format, Activations::Precise)
            .unwrap();
        let wanted: Vec<f64> = (0..m * 2)
            .map(|i| (0..k).map(|p| f64::from(x[i / 2 * k + p]) * f64::from(values[i % 2 * k + p])).sum())
            .collect();
        close("rows far apart", &rig.run(&node).unwrap(), &wanted, 2e-5);
    }
}
