//! Every format, shape and kernel against the reference dot product of `wootz-blocks`.

use wootz_blocks::{BlockFormat, dequantize, quantize};
use wootz_ir::op::Activations;

use super::*;

fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let u = (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
            u * u * u * 8.0
        })
        .collect()
}

fn formats() -> impl Iterator<Item = BlockFormat> {
    BlockFormat::ALL.iter().copied().filter(|f| Weights::supports(*f))
}

fn all_kernels() -> impl Iterator<Item = (&'static str, Kernel)> {
    kernels(*isa::available().last().unwrap())
}

/// What the codes of a row stand for.
fn decoded(acts: &Acts<'_>, row: usize) -> Vec<f64> {
    let record = acts.record(row);
    let code = |k: usize| match record.fine {
        [] => f64::from(record.codes[k]),
        fine => 256.0 * f64::from(record.codes[k]) + f64::from(fine[k]),
    };
    (0..acts.layout().cols()).map(|k| f64::from(record.scales[k / 32]) * code(k)).collect()
}

/// The product of the dequantised weights and activations, in f64; and how large its terms are.
fn expected(w: &[f32], x: &[f64]) -> (f64, f64) {
    let terms = || w.iter().zip(x).map(|(w, x)| f64::from(*w) * x);
    (terms().sum(), terms().map(f64::abs).sum())
}

fn check(format: BlockFormat, bytes: &[u8], shape: (usize, usize, usize)) {
    for activations in [Activations::Rounded, Activations::Precise] {
        check_activations(format, bytes, shape, activations);
    }
}

fn check_activations(
    format: BlockFormat,
    bytes: &[u8],
    (rows, cols, act_rows): (usize, usize, usize),
    activations: Activations,
) {
    let x = random(act_rows * cols, 7);
    let layout = ActLayout::new(cols, activations).unwrap();
    let records = quantize_rows(layout, &x);
    let acts = Acts::new(layout, &records).unwrap();
    let weights = Weights::new(format, bytes, rows, cols).unwrap();
    let mut w = vec![0.0; rows * cols];
    dequantize(format, bytes, &mut w).unwrap();
    for (name, kernel) in all_kernels() {
        let stride = rows + 3;
        let mut out = vec![-77.0f32; act_rows * stride];
        // Two ranges, as two threads would have them.
        for range in [0..rows / 3, rows / 3..rows] {
            // SAFETY: `out` has `act_rows` rows of `stride` values.
            unsafe { kernel(&weights, &acts, range, Output::new(out.as_mut_ptr(), stride)) };
        }
        for a in 0..act_rows {
            let x = decoded(&acts, a);
            for r in 0..rows {
                let (sum, size) = expected(&w[r * cols..][..cols], &x);
                let got = f64::from(out[a * stride + r]);
                // Codes made unsigned by an offset have terms some times larger than the product's own.
                let close = (got - sum).abs() <= 2e-5 * size + 1e-9;
                assert!(
                    close,
                    "{format} {name} {activations:?}: ({a}, {r}) of {rows} x {cols} is {got}, expected {sum} ± {size}"
                );
            }
            assert!(
                out[a * stride + rows..][..3].iter().all(|v| *v == -77.0),
                "{format} {name}: wrote past a row"
            );
        }
    }
}

#[test]
fn products_match_the_reference() {
    for format in formats() {
        let block = format.block_len();
        let shapes = [(1, 256, 1), (5, 512, 2), (16, 256, 4), (19, 768, 5), (35, 1024, 7), (24, 2048, 3)];
        let odd =
            [(3, 32, 1), (17, 96, 4), (18, 576, 6), (7, 800, 3), (40, 1056, 9), (70, 1056, 13), (21, 896, 2)];
        for shape in shapes.into_iter().chain(odd.into_iter().filter(|s| s.1 % block == 0)) {
            let w = random(shape.0 * shape.1, 3);
            let mut bytes = vec![0; format.bytes_of(w.len()).unwrap()];
            quantize(format, &w, None, &mut bytes).unwrap();
            check(format, &bytes, shape);
        }
    }
}

/// Codes and scales of any bits. Small, because `scripts/check-vnni` has it interpreted.
#[test]
fn random_bits_match_the_reference() {
    for format in formats() {
        let (few, many) = ((3, 256, 1), (9, 256, 4));
        for (shape, activations) in
            [(few, Activations::Rounded), (few, Activations::Precise), (many, Activations::Precise)]
        {
            let values = random(format.bytes_of(shape.0 * shape.1).unwrap(), 11);
            let mut bytes: Vec<u8> = values.iter().map(|v| v.to_bits().to_be_bytes()[2]).collect();
            set_scales(format, &mut bytes);
            check_activations(format, &bytes, shape, activations);
        }
    }
}

/// Codes at the ends of their range and activations at ±127, where 16-bit sums could overflow.
#[test]
fn extreme_codes_do_not_overflow() {
    for (format, activations) in
        formats().flat_map(|f| [Activations::Rounded, Activations::Precise].map(|a| (f, a)))
    {
        for pattern in [0xffu8, 0x00, 0x80, 0x7f] {
            let cols = 512;
            let mut bytes = vec![pattern; format.bytes_of(16 * cols).unwrap()];
            set_scales(format, &mut bytes);
            let weights = Weights::new(format, &bytes, 16, cols).unwrap();
            let mut w = vec![0.0; 16 * cols];
            dequantize(format, &bytes, &mut w).unwrap();
            for act_rows in [1, 5] {
                for value in [1.0f32, -1.0] {
                    let layout = ActLayout::new(cols, activations).unwrap();
                    let records = quantize_rows(layout, &vec![value; act_rows * cols]);
                    let acts = Acts::new(layout, &records).unwrap();
                    for (name, kernel) in all_kernels() {
                        let mut out = vec![0f32; act_rows * 16];
                        // SAFETY: `out` has `act_rows` rows of 16 values.
                        unsafe { kernel(&weights, &acts, 0..16, Output::new(out.as_mut_ptr(), 16)) };
                        let (sum, size) = expected(&w[..cols], &decoded(&acts, 0));
                        for got in &out {
                            let close = (f64::from(*got) - sum).abs() <= 2e-5 * size + 1e-6;
                            assert!(close, "{format} {name} {pattern:#x}: {got}, expected {sum}");
                        }
                    }
                }
            }
        }
    }
}

/// Replaces the half-precision scales by 1.0, so that all-ones bytes do not make NaN scales.
fn set_scales(format: BlockFormat, bytes: &mut [u8]) {
    let at: &[usize] = match format {
        BlockFormat::Q4_1 | BlockFormat::Q5_1 | BlockFormat::Q4_K | BlockFormat::Q5_K => &[0, 2],
        BlockFormat::Q2_K => &[80, 82],
        BlockFormat::Q3_K => &[108],
        BlockFormat::Q6_K => &[208],
        BlockFormat::TQ1_0 => &[52],
        BlockFormat::TQ2_0 => &[64],
        BlockFormat::MXFP4 | BlockFormat::NVFP4 | BlockFormat::IQ1_M => &[],
        _ => &[0],
    };
    for block in bytes.chunks_exact_mut(format.block_bytes()) {
        if format == BlockFormat::MXFP4 {
            block[0] = 127;
        }
        if format == BlockFormat::NVFP4 {
            block[..4].fill(0x38);
        }
        if format == BlockFormat::IQ1_M {
            // Its half is spread over the top nibbles of four shorts, the lowest first.
            for (i, high) in block[48..].iter_mut().skip(1).step_by(2).enumerate() {
                *high = *high & 15 | ((half::f16::ONE.to_bits() >> (4 * i)) as u8) << 4;
            }
        }
        for &i in at {
            block[i..i + 2].copy_from_slice(&half::f16::ONE.to_le_bytes());
        }
    }
}

#[test]
fn activations_round_to_the_nearest_code() {
    let layout = ActLayout::new(64, Activations::Rounded).unwrap();
    let mut x = vec![0.0f32; 64];
    x[0] = -127.0;
    x[1] = 63.4;
    x[20] = 2.6;
    x[32] = f32::NAN;
    x[33] = 1.0;
    let records = quantize_rows(layout, &x);
    let acts = Acts::new(layout, &records).unwrap();
    let row = acts.record(0);
    assert_eq!((row.codes[0], row.codes[1], row.codes[20]), (-127, 63, 3));
    assert_eq!(row.scales[0], 1.0);
    assert_eq!((row.half_sums[0], row.half_sums[1], row.sums[0]), (-64.0, 3.0, -61.0));
    assert_eq!((row.codes[32], row.codes[33]), (0, 127));
    assert!(row.codes[64..].iter().all(|c| *c == 0) && row.scales[2..].iter().all(|s| *s == 0.0));
}

#[test]
fn fine_codes_keep_what_codes_round_away() {
    let x = random(10 * 96, 5);
    for (activations, bits) in [(Activations::Rounded, 8), (Activations::Precise, 16)] {
        let layout = ActLayout::new(96, activations).unwrap();
        let records = quantize_rows(layout, &x);
        let acts = Acts::new(layout, &records).unwrap();
        let mut worst = 0f64;
        for (row, x) in x.chunks_exact(96).enumerate() {
            for (group, decoded) in x.chunks_exact(32).zip(decoded(&acts, row).chunks_exact(32)) {
                let largest = group.iter().fold(0f64, |m, v| m.max(f64::from(v.abs())));
                let errors = group.iter().zip(decoded).map(|(x, d)| (f64::from(*x) - d).abs() / largest);
                worst = errors.fold(worst, f64::max);
            }
        }
        // Half a code is lost, of codes up to 127; or up to one fine code of 127 · 256, as 128 is none.
        let (least, most) = if bits == 8 { (0.5, 1.1) } else { (0.5, 2.1) };
        let step = f64::from(1 << bits);
        assert!((least / step..most / step).contains(&worst), "{activations:?}: {worst}");
    }
}

#[test]
fn activations_of_any_size_are_safe() {
    let layout = ActLayout::new(32, Activations::Precise).unwrap();
    for v in [0.0, 1e-45, 1e-38, 1e-30, 3e36, f32::INFINITY, f32::NAN] {
        let records = quantize_rows(layout, &[v; 32]);
        let acts = Acts::new(layout, &records).unwrap();
        let row = acts.record(0);
        assert!(row.scales[0].is_finite() && row.sums[0].is_finite(), "{v}");
        if v.is_normal() {
            let back = row.scales[0] * (256.0 * f32::from(row.codes[5]) + f32::from(row.fine[5]));
            assert!((back - v).abs() <= v * 0.01, "{v} came back as {back}");
        }
    }
}

#[test]
fn wrong_shapes_are_errors() {
    let bytes = [0u8; 34 * 2];
    assert_eq!(
        Weights::new(BlockFormat::F16, &bytes, 1, 34).unwrap_err(),
        QuantError::Format(BlockFormat::F16)
    );
    assert!(matches!(Weights::new(BlockFormat::Q8_0, &bytes, 3, 32), Err(QuantError::Shape { .. })));
    assert!(Weights::new(BlockFormat::Q8_0, &bytes, usize::MAX, 32).is_err());
    let weights = Weights::new(BlockFormat::Q8_0, &bytes, 2, 32).unwrap();
    let layout = ActLayout::new(64, Activations::Rounded).unwrap();
    let records = quantize_rows(layout, &[0.0; 64]);
    let acts = Acts::new(layout, &records).unwrap();
    assert!(matches!(matmul(&weights, &acts, &mut [0.0; 2]), Err(QuantError::Mismatch { .. })));
    assert_eq!(ActLayout::new(33, Activations::Rounded), None);
    assert!(Acts::new(layout, &records[1..]).is_none());
}

#[test]
fn rows_have_the_same_bits_in_any_company_where_they_must() {
    for format in formats() {
        let (rows, cols) = (35, 1024);
        let w = random(rows * cols, 3);
        let mut bytes = vec![0; format.bytes_of(w.len()).unwrap()];
        quantize(format, &w, None, &mut bytes).unwrap();
        let weights = Weights::new(format, &bytes, rows, cols).unwrap();
        let layout = ActLayout::new(cols, Activations::Precise).unwrap();
        let records = quantize_rows(layout, &random(9 * cols, 7));
        for (name, kernel) in all_kernels() {
            let product = |count: usize| {
                let acts =
                    Acts::new(layout, &records[..count * layout.words()]).unwrap().batch_invariant(true);
                let mut out = vec![0f32; count * rows];
                // SAFETY: `out` has `count` rows of `rows` values.
                unsafe { kernel(&weights, &acts, 0..rows, Output::new(out.as_mut_ptr(), rows)) };
                out
            };
            let all = product(9);
            for count in 1..9 {
                assert!(product(count) == all[..count * rows], "{format} {name}: {count} rows");
            }
        }
    }
}
