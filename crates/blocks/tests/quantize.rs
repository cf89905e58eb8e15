//! Quantisers: as good as the reference ones, safe on any finite input, and clear about bad input.

use proptest::prelude::*;
use wootz_blocks::{BlockError, BlockFormat, dequantize, dot, quantize};

mod data;

fn round_trip(format: BlockFormat, x: &[f32], importance: Option<&[f32]>) -> Vec<f32> {
    let mut bytes = vec![0; format.bytes_of(x.len()).unwrap()];
    quantize(format, x, importance, &mut bytes).unwrap();
    let mut y = vec![0.0; x.len()];
    dequantize(format, &bytes, &mut y).unwrap();
    y
}

/// Relative error of llama.cpp's quantisers on the same values (release 0.3.36 of its Python package).
const LLAMA_CPP: [(BlockFormat, f64); 24] = [
    (BlockFormat::Q4_0, 0.08951),
    (BlockFormat::Q4_1, 0.07893),
    (BlockFormat::Q5_0, 0.04441),
    (BlockFormat::Q5_1, 0.03821),
    (BlockFormat::Q8_0, 0.00558),
    (BlockFormat::Q2_K, 0.29809),
    (BlockFormat::Q3_K, 0.15450),
    (BlockFormat::Q4_K, 0.07226),
    (BlockFormat::Q5_K, 0.03664),
    (BlockFormat::Q6_K, 0.01815),
    (BlockFormat::IQ4_NL, 0.07821),
    (BlockFormat::IQ4_XS, 0.07893),
    (BlockFormat::MXFP4, 0.11799),
    // Those that ask for importance were given that of equals.
    (BlockFormat::IQ1_S, 0.49672),
    (BlockFormat::IQ1_M, 0.45711),
    (BlockFormat::IQ2_XXS, 0.35302),
    (BlockFormat::IQ2_XS, 0.30521),
    (BlockFormat::IQ2_S, 0.27092),
    (BlockFormat::IQ3_XXS, 0.21804),
    (BlockFormat::IQ3_S, 0.16875),
    (BlockFormat::TQ1_0, 0.82445),
    (BlockFormat::TQ2_0, 0.82445),
    (BlockFormat::NVFP4, 0.09453),
    (BlockFormat::Q1_0, 0.60613),
];

#[test]
fn error_is_at_most_that_of_llama_cpp() {
    let x = data::weights();
    for (format, theirs) in LLAMA_CPP {
        let ours = data::relative_error(&x, &round_trip(format, &x, None));
        assert!(ours <= theirs, "{format}: relative error {ours:.5}, llama.cpp has {theirs:.5}");
        assert!(ours > 0.0, "{format}: a lossy format cannot be exact on these values");
    }
}

#[test]
fn importance_moves_error_away_from_what_matters() {
    let x: Vec<f32> = data::weights()[..4096].to_vec();
    let importance: Vec<f32> = (0..x.len()).map(|i| if i % 2 == 0 { 50.0 } else { 0.1 }).collect();
    let even = |y: &[f32]| -> f32 { (0..x.len()).step_by(2).map(|i| (x[i] - y[i]).powi(2)).sum() };
    for format in
        [BlockFormat::Q4_0, BlockFormat::Q4_1, BlockFormat::Q3_K, BlockFormat::Q4_K, BlockFormat::IQ4_XS]
    {
        let (plain, weighted) = (round_trip(format, &x, None), round_trip(format, &x, Some(&importance)));
        assert!(even(&weighted) < even(&plain), "{format}: {} ≥ {}", even(&weighted), even(&plain));
    }
}

#[test]
fn zeros_stay_zero_and_constants_stay_close() {
    for &format in BlockFormat::ALL {
        assert!(round_trip(format, &[0.0; 256], None).iter().all(|v| *v == 0.0), "{format}");
        for c in [1.0f32, -0.37, 1e-3, 250.0] {
            let worst = round_trip(format, &[c; 256], None).iter().map(|v| (v - c).abs()).fold(0.0, f32::max);
            assert!(worst <= 0.13 * c.abs(), "{format}: constant {c} is off by {worst}");
        }
    }
}

#[test]
fn the_reference_dot_is_the_dot_of_the_dequantised_values() {
    let x = &data::weights()[..512];
    for &format in BlockFormat::ALL {
        let mut bytes = vec![0; format.bytes_of(512).unwrap()];
        quantize(format, x, None, &mut bytes).unwrap();
        let mut y = vec![0.0; 512];
        dequantize(format, &bytes, &mut y).unwrap();
        let expected: f64 = y.iter().zip(x).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let got = dot(format, &bytes, x).unwrap();
        assert!((got - expected).abs() <= 1e-9 * expected.abs(), "{format}: {got} {expected}");
    }
}

#[test]
fn bad_lengths_and_values_are_errors_with_facts() {
    let error = quantize(BlockFormat::Q4_K, &[0.0; 300], None, &mut [0; 144]).unwrap_err();
    assert_eq!(error.to_string(), "Q4_K: 300 values are not a multiple of its block of 256 values");
    let error = dequantize(BlockFormat::Q8_0, &[0; 33], &mut [0.0; 32]).unwrap_err();
    assert_eq!(error.to_string(), "Q8_0: 32 values take 34 bytes, but the buffer has 33");
    let mut x = [0.0; 32];
    x[7] = f32::NAN;
    let error = quantize(BlockFormat::Q8_0, &x, None, &mut [0; 34]).unwrap_err();
    assert!(matches!(error, BlockError::NotFinite { what: "value", index: 7, .. }));
    let error = quantize(BlockFormat::Q8_0, &[0.0; 32], Some(&[1.0; 31]), &mut [0; 34]).unwrap_err();
    assert_eq!(error, BlockError::ImportanceLength { len: 32, actual: 31 });
    let error = quantize(BlockFormat::Q8_0, &[0.0; 32], Some(&[-1.0; 32]), &mut [0; 34]).unwrap_err();
    assert!(matches!(error, BlockError::NotFinite { what: "importance", .. }));
    assert!(dot(BlockFormat::Q8_0, &[0; 34], &[0.0; 64]).is_err());
}

#[test]
fn the_table_agrees_with_itself() {
    for &format in BlockFormat::ALL {
        assert_eq!(BlockFormat::from_gguf_id(format.gguf_id()), Some(format));
        assert_eq!(BlockFormat::from_name(&format.name().to_lowercase()), Some(format));
    }
    assert_eq!(BlockFormat::from_gguf_id(4), None);
    assert_eq!(BlockFormat::Q4_K.bits_per_value(), 4.5);
    assert_eq!(BlockFormat::Q6_K.bytes_of(256), Some(210));
    assert_eq!(BlockFormat::Q6_K.bytes_of(255), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    /// Any finite values, however large or small, give finite values back and never a panic.
    #[test]
    fn finite_in_finite_out(seed in prop::collection::vec(any::<f32>(), 32), exponent in -45i32..38) {
        let scale = 10f32.powi(exponent);
        let x: Vec<f32> = (0..256)
            .map(|i| seed[i % 32])
            .map(|v| if v.is_finite() { (v.to_bits() as i32 as f32) / i32::MAX as f32 * scale } else { 0.0 })
            .collect();
        for &format in BlockFormat::ALL.iter().filter(|f| !f.is_float()) {
            let y = round_trip(format, &x, None);
            prop_assert!(y.iter().all(|v| v.is_finite()), "{format} at scale {scale:e}");
        }
    }

    /// Any bytes can be dequantised.
    #[test]
    fn any_bytes_dequantise(bytes in prop::collection::vec(any::<u8>(), 292)) {
        for &format in BlockFormat::ALL {
            let blocks = bytes.len() / format.block_bytes();
            let mut y = vec![0.0; blocks * format.block_len()];
            dequantize(format, &bytes[..blocks * format.block_bytes()], &mut y).unwrap();
        }
    }
}
