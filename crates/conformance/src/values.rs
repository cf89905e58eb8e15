//! Test values: ordinary ones, and edge cases.

use crate::random::Random;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Kind, Number, Shape};

/// The kind of input values of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Values {
    /// Finite and of moderate size; integers of any size.
    Ordinary,
    /// Zeros of both signs, infinities, NaN, ties, the largest and smallest normal numbers.
    Special,
    /// Subnormal floats, which some devices flush to zero.
    Subnormal,
}

impl Values {
    /// The kind in one word.
    pub fn name(self) -> &'static str {
        match self {
            Values::Ordinary => "ordinary",
            Values::Special => "special",
            Values::Subnormal => "subnormal",
        }
    }
}

/// The special numbers of a dtype.
pub fn specials(dtype: DType) -> Vec<Number> {
    match dtype.kind() {
        Kind::Bool => vec![Number::Bool(false), Number::Bool(true)],
        Kind::Signed | Kind::Unsigned => special_integers(dtype),
        Kind::Float => special_floats(dtype),
    }
}

fn special_integers(dtype: DType) -> Vec<Number> {
    let (low, high) = dtype.integer_range().expect("an integer dtype has a range");
    let candidates = [
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        63,
        64,
        100,
        127,
        128,
        255,
        high - 1,
        high,
        high / 2 + 1,
        -1,
        -2,
        -7,
        -128,
        low,
        low + 1,
    ];
    let mut list: Vec<i128> = Vec::new();
    for v in candidates.into_iter().filter(|v| (low..=high).contains(v)) {
        if !list.contains(&v) {
            list.push(v);
        }
    }
    let number = |v: i128| if v > i64::MAX as i128 { Number::Uint(v as u64) } else { Number::Int(v as i64) };
    list.into_iter().map(|v| number(v).cast(dtype)).collect()
}

/// The largest finite and the smallest normal number of a float dtype.
pub fn float_range(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F16 => (65504.0, 2f64.powi(-14)),
        DType::BF16 => (2f64.powi(127) * (2.0 - 2f64.powi(-7)), 2f64.powi(-126)),
        DType::F32 => (f32::MAX as f64, f32::MIN_POSITIVE as f64),
        _ => (f64::MAX, f64::MIN_POSITIVE),
    }
}

fn special_floats(dtype: DType) -> Vec<Number> {
    let (max, tiny) = float_range(dtype);
    let positive = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        0.1,
        1e-3,
        88.0,
        100.0,
        1000.0,
        16777215.0,
        max,
        tiny,
        f64::INFINITY,
    ];
    let mut list: Vec<Number> = Vec::new();
    for v in positive.into_iter().flat_map(|v| [v, -v]).chain([f64::NAN, std::f64::consts::PI, 0.999, -0.999])
    {
        let n = Number::Float(v).cast(dtype);
        if !list.iter().any(|m| m.bits() == n.bits()) {
            list.push(n);
        }
    }
    list
}

/// Subnormal numbers and their neighbours.
pub fn subnormals(dtype: DType) -> Vec<Number> {
    let (_, tiny) = float_range(dtype);
    let least = crate::tolerance::ulp(0.0, dtype);
    [least, 2.0 * least, 3.0 * least, tiny / 2.0, tiny - least, tiny, 1.5 * tiny, 0.0, 1.0, 2.0]
        .into_iter()
        .flat_map(|v| [v, -v])
        .map(|v| Number::Float(v).cast(dtype))
        .collect()
}

/// A tensor of ordinary numbers; floats between `low` and `high`.
pub fn ordinary(
    random: &mut Random,
    shape: impl Into<Shape>,
    dtype: DType,
    low: f64,
    high: f64,
) -> HostTensor {
    let shape = shape.into();
    let data: Vec<Number> = (0..shape.count()).map(|_| one(random, dtype, low, high)).collect();
    HostTensor::new(shape, dtype, data)
}

fn one(random: &mut Random, dtype: DType, low: f64, high: f64) -> Number {
    match dtype.kind() {
        Kind::Bool => Number::Bool(random.once_in(2)),
        Kind::Float => match random.below(8) {
            // Halves and whole numbers: ties, exact products, integer exponents.
            0 => Number::Float(((random.uniform(low, high) * 2.0).round() / 2.0).clamp(low, high)),
            1 => Number::Float(random.uniform(low, high).round().clamp(low, high)),
            _ => Number::Float(random.uniform(low, high)),
        },
        Kind::Signed => match random.below(3) {
            0 => Number::Int(random.bits() as i64),
            _ => Number::Int(random.between(-100, 100)),
        },
        Kind::Unsigned => match random.below(3) {
            0 => Number::Uint(random.bits()),
            _ => Number::Int(random.between(0, 200)),
        },
    }
}

/// A tensor of integers (of any dtype) from `low` to `high`.
pub fn whole(random: &mut Random, shape: impl Into<Shape>, dtype: DType, low: i64, high: i64) -> HostTensor {
    let shape = shape.into();
    let data: Vec<Number> = (0..shape.count()).map(|_| Number::Int(random.between(low, high))).collect();
    HostTensor::new(shape, dtype, data)
}

/// A tensor that repeats a list, each element at least once where there is room.
pub fn cycle(shape: impl Into<Shape>, dtype: DType, list: &[Number]) -> HostTensor {
    let shape = shape.into();
    let count = shape.count();
    HostTensor::new(shape, dtype, list.iter().copied().cycle().take(count))
}

/// A tensor of ordinary numbers with a special one here and there.
pub fn salted(random: &mut Random, shape: impl Into<Shape>, dtype: DType, low: f64, high: f64) -> HostTensor {
    let mut tensor = ordinary(random, shape, dtype, low, high);
    let list = specials(dtype);
    for value in &mut tensor.data {
        if random.once_in(5) {
            *value = random.pick(&list);
        }
    }
    tensor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specials_hold_what_the_name_says() {
        for dtype in DType::ALL.into_iter().filter(|d| d.is_float()) {
            let values: Vec<f64> = specials(dtype).iter().map(|n| n.to_f64()).collect();
            let (max, tiny) = float_range(dtype);
            for want in [f64::INFINITY, f64::NEG_INFINITY, max, -max, tiny] {
                assert!(values.contains(&want), "{dtype} {want}");
            }
            assert!(
                values.iter().any(|v| v.is_nan()) && values.iter().any(|v| *v == 0.0 && v.is_sign_negative())
            );
            assert!(
                subnormals(dtype).iter().any(|n| n.to_f64() != 0.0 && n.to_f64().abs() < tiny),
                "{dtype}"
            );
        }
        assert!(
            specials(DType::I8).contains(&Number::Int(-128))
                && specials(DType::U64).contains(&Number::Uint(u64::MAX))
        );
    }
}
