//! What the kernels cost, in numbers that no noise touches.

use crate::rig::{Rig, noise};
use wootz_blocks::BlockFormat;
use wootz_ir::build::{self, AttentionOptions};
use wootz_ir::op::Activations;
use wootz_ir::{DType, Layout, Shape};

/// Four rows share what a simdgroup loads of the vector; with that, every byte is read once.
#[test]
fn q4_k_gemv_reads_weights_once_and_synchronises_nothing() {
    let rig = Rig::counting();
    let (n, k, format) = (64, 2048, BlockFormat::Q4_K);
    let (bytes, _) = crate::quant::weights(format, n, k);
    let layout = Layout::contiguous(&Shape::from([n, bytes.len() / n]));
    let w = rig.place(&bytes, layout, DType::U8);
    let x = rig.floats(&noise(1, k), [1, k], DType::F32);
    let profiles = rig.profiles(&build::quant_matmul(&x, &w, format, Activations::Precise).unwrap());
    let [launch] = &profiles[..] else { panic!("{} launches", profiles.len()) };
    let c = &launch.counters;
    let bound = bytes.len() + n / 4 * k * 4;
    assert!(c.device_bytes_read as f64 <= 1.02 * bound as f64, "{} of {bound}", c.device_bytes_read);
    assert_eq!(c.device_bytes_written, n as u64 * 4);
    assert_eq!((c.barriers, c.simd_barriers, launch.threadgroup_memory), (0, 0, 0));
    assert_eq!((c.threadgroup_bytes_read, c.divergent_simd_operations), (0, 0));
}

/// A tile of 64×64 reads 64 rows of A and 64 columns of B, once.
#[test]
fn gemm_512_reads_what_its_tiles_need() {
    let rig = Rig::counting();
    let s = 512;
    let of = |seed| rig.floats(&noise(seed, s * s), [s, s], DType::F32);
    let profiles = rig.profiles(&build::matmul(&of(1), &of(2)).unwrap());
    let [launch] = &profiles[..] else { panic!("{} launches", profiles.len()) };
    let c = &launch.counters;
    let bound = (s * s * s * 4 / 64 * 2) as u64;
    assert!(c.device_bytes_read <= bound, "{} of {bound}", c.device_bytes_read);
    assert_eq!(c.device_bytes_written, (s * s * 4) as u64);
    assert_eq!(c.matrix_products, (s / 8).pow(3) as u64);
    // Two barriers per step of 16, in each of 64 tiles.
    assert!(c.barriers <= 64 * 2 * (s / 16) as u64, "{} barriers", c.barriers);
}

/// The heads of a group are taken together: K and V are read once.
#[test]
fn decode_attention_reads_k_and_v_once() {
    let rig = Rig::counting();
    let (heads, groups, keys, width) = (8, 2, 256, 128);
    let of = |h: usize, s: usize| rig.floats(&noise(1, h * s * width), [1, h, s, width], DType::F16);
    let node =
        build::attention(&of(heads, 1), &of(groups, keys), &of(groups, keys), AttentionOptions::default());
    let profiles = rig.profiles(&node.unwrap());
    let read: u64 = profiles.iter().map(|p| p.counters.device_bytes_read).sum();
    let (q, kv) = (heads * width * 2, 2 * groups * keys * width * 2);
    assert_eq!(read, (q + kv) as u64);
}
