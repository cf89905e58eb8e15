//! Comparison of results with expected values.

use crate::tolerance::{Tolerance, power_of_two, top_exponent, ulp};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number, Shape};

/// The difference between a result and the expected value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Mismatch {
    /// A different shape.
    #[error("shape {got}, expected {expected}")]
    Shape {
        /// Expected shape.
        expected: Shape,
        /// Actual shape.
        got: Shape,
    },
    /// A different dtype.
    #[error("dtype {got}, expected {expected}")]
    DType {
        /// Expected dtype.
        expected: DType,
        /// Actual dtype.
        got: DType,
    },
    /// An element out of tolerance.
    #[error(
        "element {index:?} is {}, expected {}: {} ({wrong} of {total} elements are out of tolerance)",
        Show(*got),
        Show(*expected),
        error_text(*ulps, *relative)
    )]
    Element {
        /// Position of the worst element.
        index: Vec<usize>,
        /// Expected value.
        expected: Number,
        /// Actual value.
        got: Number,
        /// Error in ulp of the expected value (floats).
        ulps: Option<f64>,
        /// Error as a fraction of the expected value.
        relative: Option<f64>,
        /// Number of elements out of tolerance.
        wrong: usize,
        /// Total number of elements.
        total: usize,
    },
    /// The device failed instead of giving a result.
    #[error("no result: {0}")]
    Failed(String),
}

/// Prints floats with enough digits to tell them apart.
struct Show(Number);

impl std::fmt::Display for Show {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Number::Float(v) if v == 0.0 || (1e-4..1e6).contains(&v.abs()) => write!(f, "{v:?}"),
            Number::Float(v) => write!(f, "{v:e}"),
            other => write!(f, "{other}"),
        }
    }
}

fn error_text(ulps: Option<f64>, relative: Option<f64>) -> String {
    match (ulps, relative) {
        (Some(u), Some(r)) => format!("{u:.4} ulp, {r:.3e} relative"),
        (Some(u), None) => format!("{u:.4} ulp"),
        _ => "not equal".into(),
    }
}

/// Compares each element with the expected one.
pub fn compare(expected: &HostTensor, got: &HostTensor, tolerance: &Tolerance) -> Result<(), Mismatch> {
    compare_scaled(expected, got, tolerance, None)
}

/// [`compare`] with the magnitude of each element that [`Tolerance::relative`] is a fraction of.
pub fn compare_scaled(
    expected: &HostTensor,
    got: &HostTensor,
    tolerance: &Tolerance,
    magnitude: Option<&[f64]>,
) -> Result<(), Mismatch> {
    if expected.shape != got.shape || expected.data.len() != got.data.len() {
        return Err(Mismatch::Shape { expected: expected.shape.clone(), got: got.shape.clone() });
    }
    if expected.dtype != got.dtype {
        return Err(Mismatch::DType { expected: expected.dtype, got: got.dtype });
    }
    let dtype = expected.dtype;
    let mut worst: Option<(usize, f64)> = None;
    let mut wrong = 0;
    for (i, (&e, &g)) in expected.data.iter().zip(&got.data).enumerate() {
        let scale = magnitude.map_or(e.to_f64().abs(), |m| m[i].abs());
        if passes(e, g, dtype, tolerance, scale) {
            continue;
        }
        wrong += 1;
        let error = ulps_between(e, g, dtype).unwrap_or(f64::INFINITY);
        if worst.is_none_or(|(_, w)| error > w) {
            worst = Some((i, error));
        }
    }
    let Some((i, error)) = worst else { return Ok(()) };
    let (e, g) = (expected.data[i], got.data[i]);
    let relative = ((g.to_f64() - e.to_f64()) / e.to_f64()).abs();
    Err(Mismatch::Element {
        index: expected.shape.unravel(i).to_vec(),
        expected: e,
        got: g,
        ulps: (dtype.is_float() && error.is_finite()).then_some(error),
        relative: (dtype.is_float() && relative.is_finite()).then_some(relative),
        wrong,
        total: expected.data.len(),
    })
}

fn passes(expected: Number, got: Number, dtype: DType, tolerance: &Tolerance, scale: f64) -> bool {
    let (Number::Float(e), Number::Float(g)) = (expected, got) else { return expected == got };
    if e.is_nan() || g.is_nan() {
        return e.is_nan() && g.is_nan();
    }
    if e == g {
        return !tolerance.signed_zeros || e != 0.0 || e.is_sign_negative() == g.is_sign_negative();
    }
    if ulps_between(expected, got, dtype).is_some_and(|u| u <= tolerance.ulps) {
        return true;
    }
    // Bounds that add up: the error of the computation and the rounding of its result.
    let rounding = tolerance.ulps * ulp(e, dtype);
    let bound = (tolerance.relative * scale).max(tolerance.absolute) + rounding;
    bound.is_finite() && (g - e).abs() <= bound
}

/// The distance of two floats in ulp of the expected one; infinities are one ulp past the largest number.
fn ulps_between(expected: Number, got: Number, dtype: DType) -> Option<f64> {
    let (Number::Float(e), Number::Float(g)) = (expected, got) else { return None };
    if e.is_nan() || g.is_nan() || (e.is_infinite() && g.is_infinite()) {
        return None;
    }
    if !e.is_infinite() && !g.is_infinite() {
        return Some((g - e).abs() / ulp(e, dtype));
    }
    // Halved, so that the place of f64's infinity is a number too.
    let halved = |v: f64| {
        if v.is_infinite() { power_of_two(top_exponent(dtype)).copysign(v) } else { v / 2.0 }
    };
    Some((halved(g) - halved(e)).abs() / ulp(e, dtype) * 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(dtype: DType, values: &[f64]) -> HostTensor {
        HostTensor::new([values.len()], dtype, values.iter().map(|&v| Number::Float(v)))
    }

    fn verdict(dtype: DType, expected: f64, got: f64, tolerance: Tolerance) -> bool {
        compare(&floats(dtype, &[1.0, expected]), &floats(dtype, &[1.0, got]), &tolerance).is_ok()
    }

    #[test]
    fn a_planted_error_is_found_and_named() {
        let expected = HostTensor::new([2, 3], DType::I32, (0..6).map(Number::Int));
        let mut got = expected.clone();
        assert!(compare(&expected, &got, &Tolerance::EXACT).is_ok());
        got.data[4] = Number::Int(5);
        let text = compare(&expected, &got, &Tolerance::EXACT).unwrap_err().to_string();
        assert!(
            text.contains("[1, 1]") && text.contains("is 5, expected 4") && text.contains("1 of 6"),
            "{text}"
        );
    }

    #[test]
    fn off_by_one_element_is_found() {
        let expected = floats(DType::F32, &[1.0, 2.0, 3.0, 4.0]);
        let shifted = floats(DType::F32, &[2.0, 3.0, 4.0, 5.0]);
        assert!(compare(&expected, &shifted, &Tolerance::ulps(16.0)).is_err());
        let short = floats(DType::F32, &[1.0, 2.0, 3.0]);
        assert!(matches!(compare(&expected, &short, &Tolerance::EXACT), Err(Mismatch::Shape { .. })));
        let other = floats(DType::F64, &[1.0, 2.0, 3.0, 4.0]);
        assert!(matches!(compare(&expected, &other, &Tolerance::EXACT), Err(Mismatch::DType { .. })));
    }

    #[test]
    fn nan_and_infinity_pass_for_themselves_only() {
        let loose = Tolerance { ulps: 1e6, relative: 1.0, absolute: 1e9, signed_zeros: false };
        assert!(verdict(DType::F32, f64::NAN, f64::NAN, Tolerance::EXACT));
        assert!(!verdict(DType::F32, f64::NAN, 1.0, loose));
        assert!(!verdict(DType::F32, 1.0, f64::NAN, loose));
        assert!(verdict(DType::F32, f64::INFINITY, f64::INFINITY, Tolerance::EXACT));
        assert!(!verdict(DType::F32, f64::INFINITY, f64::NEG_INFINITY, loose));
        assert!(!verdict(DType::F32, 1.0, f64::INFINITY, loose));
    }

    #[test]
    fn the_edge_of_the_range_is_one_unit_from_infinity() {
        for (dtype, max) in [(DType::F16, 65504.0), (DType::F32, f32::MAX as f64), (DType::F64, f64::MAX)] {
            assert!(verdict(dtype, max, f64::INFINITY, Tolerance::ulps(1.0)), "{dtype}");
            assert!(verdict(dtype, f64::INFINITY, max, Tolerance::ulps(1.0)), "{dtype}");
            assert!(!verdict(dtype, max, f64::INFINITY, Tolerance::ulps(0.5)), "{dtype}");
            assert!(!verdict(dtype, -max, f64::INFINITY, Tolerance::ulps(9.0)), "{dtype}");
        }
    }

    #[test]
    fn zeros_differ_in_sign_only_where_asked() {
        assert!(verdict(DType::F32, 0.0, -0.0, Tolerance::EXACT));
        assert!(!verdict(DType::F32, 0.0, -0.0, Tolerance::SIGNED));
        assert!(verdict(DType::F32, -0.0, -0.0, Tolerance::SIGNED));
    }

    #[test]
    fn units_are_those_of_the_result() {
        let next = 1.0 + f32::EPSILON as f64;
        assert!(!verdict(DType::F32, 1.0, next, Tolerance::EXACT));
        assert!(!verdict(DType::F32, 1.0, next, Tolerance::ulps(0.9)));
        assert!(verdict(DType::F32, 1.0, next, Tolerance::ulps(1.0)));
        assert!(verdict(DType::BF16, 1.0, 1.0078125, Tolerance::ulps(1.0)));
        assert!(!verdict(DType::F16, 1.0, 1.0078125, Tolerance::ulps(1.0)));
    }

    #[test]
    fn a_magnitude_widens_the_bound_of_its_element_alone() {
        let expected = floats(DType::F32, &[0.0, 0.0]);
        let got = floats(DType::F32, &[1e-6, 1e-6]);
        let tolerance = Tolerance { relative: 1e-6, ..Tolerance::EXACT };
        assert!(compare_scaled(&expected, &got, &tolerance, Some(&[2.0, 2.0])).is_ok());
        assert!(compare_scaled(&expected, &got, &tolerance, Some(&[2.0, 0.1])).is_err());
        assert!(compare(&expected, &got, &tolerance).is_err());
    }

    #[test]
    fn the_worst_element_is_shown() {
        let expected = floats(DType::F32, &[1.0, 1.0, 1.0]);
        let got = floats(DType::F32, &[1.5, 9.0, 1.0]);
        match compare(&expected, &got, &Tolerance::EXACT) {
            Err(Mismatch::Element { index, wrong, .. }) => assert_eq!((index, wrong), (vec![1], 2)),
            other => panic!("{other:?}"),
        }
    }
}
