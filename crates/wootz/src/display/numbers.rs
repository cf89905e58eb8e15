//! Numbers formatted to a common width.

use super::PrintOptions;
use wootz_ir::{DType, Kind, Number};

/// One word per number, all of the same width.
pub fn words(numbers: &[Number], dtype: DType, rank: usize, options: &PrintOptions) -> Vec<String> {
    let plain: Vec<String> = match dtype.kind() {
        Kind::Float => return floats(numbers, dtype, options),
        Kind::Bool => numbers.iter().map(truth).collect(),
        Kind::Signed | Kind::Unsigned => numbers.iter().map(Number::to_string).collect(),
    };
    let longest = plain.iter().map(String::len).max().unwrap_or(0);
    let width = if dtype.kind() == Kind::Bool && rank > 0 { 5 } else { longest };
    plain.iter().map(|word| format!("{word:>width$}")).collect()
}

fn truth(number: &Number) -> String {
    if number.to_f64() != 0.0 { "True" } else { "False" }.into()
}

/// A single number: the shortest text that identifies it.
pub fn scalar(number: Number, dtype: DType) -> String {
    match dtype.kind() {
        Kind::Bool => truth(&number),
        Kind::Signed | Kind::Unsigned => number.to_string(),
        Kind::Float => {
            let value = number.to_f64();
            if !value.is_finite() {
                return not_finite(value).into();
            }
            let digits = Digits::shortest(value, dtype);
            let largest = if dtype == DType::F64 { 1e16 } else { largest_plain(dtype) };
            if value != 0.0 && !(1e-4..largest).contains(&value.abs()) {
                let (whole, fraction) = digits.scientific();
                let point = if fraction.is_empty() { "" } else { "." };
                return format!("{whole}{point}{fraction}e{}", exponent(digits.exponent, 2));
            }
            let (whole, fraction) = digits.positional();
            format!("{whole}.{}", if fraction.is_empty() { "0" } else { &fraction })
        }
    }
}

fn not_finite(value: f64) -> &'static str {
    match value {
        v if v.is_nan() => "nan",
        v if v > 0.0 => "inf",
        _ => "-inf",
    }
}

/// A sign and at least so many digits.
fn exponent(value: i32, digits: usize) -> String {
    let sign = if value < 0 { '-' } else { '+' };
    format!("{sign}{:0digits$}", value.abs())
}

/// A number in decimal: `0.d₁d₂… · 10^(exponent + 1)`.
struct Digits {
    negative: bool,
    digits: Vec<u8>,
    exponent: i32,
}

impl Digits {
    /// The fewest digits that identify the number within its dtype.
    fn shortest(value: f64, dtype: DType) -> Digits {
        let text = match dtype {
            DType::F64 => format!("{value:e}"),
            DType::F32 => format!("{:e}", value as f32),
            _ => {
                let same = |text: &String| {
                    text.parse::<f64>().is_ok_and(|v| Number::Float(v).cast(dtype).to_f64() == value)
                };
                let tries = (0..17).map(|precision| format!("{value:.precision$e}"));
                tries.into_iter().find(same).unwrap_or_else(|| format!("{value:e}"))
            }
        };
        Digits::parse(&text)
    }

    /// A number as Rust prints it with an exponent.
    fn parse(text: &str) -> Digits {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        while digits.len() > 1 && digits.last() == Some(&b'0') {
            digits.pop();
        }
        Digits { negative: text.starts_with('-'), digits, exponent: exponent.parse().unwrap_or(0) }
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    fn text(&self, from: usize, to: usize) -> String {
        self.digits.iter().skip(from).take(to.saturating_sub(from)).map(|&d| d as char).collect()
    }

    /// The digits before and after the point.
    fn positional(&self) -> (String, String) {
        let zero = self.digits.iter().all(|&d| d == b'0');
        if zero {
            return (format!("{}0", self.sign()), String::new());
        }
        let before = self.exponent + 1;
        if before <= 0 {
            let zeros = "0".repeat((-before) as usize);
            return (format!("{}0", self.sign()), zeros + &self.text(0, self.digits.len()));
        }
        let before = before as usize;
        let missing = "0".repeat(before.saturating_sub(self.digits.len()));
        (format!("{}{}{missing}", self.sign(), self.text(0, before)), self.text(before, self.digits.len()))
    }

    /// The first digit and the others.
    fn scientific(&self) -> (String, String) {
        (format!("{}{}", self.sign(), self.text(0, 1)), self.text(1, self.digits.len()))
    }
}

/// Before and after the point, with at most so many digits after it.
fn positional(value: f64, dtype: DType, precision: usize) -> (String, String) {
    let (whole, fraction) = Digits::shortest(value, dtype).positional();
    if fraction.len() <= precision {
        return (whole, fraction);
    }
    let rounded = format!("{value:.precision$}");
    let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
    (whole.into(), fraction.trim_end_matches('0').into())
}

/// Before the point, after it, and the exponent.
fn scientific(value: f64, dtype: DType, precision: usize) -> (String, String, i32) {
    let mut digits = Digits::shortest(value, dtype);
    if digits.digits.len() > precision + 1 {
        digits = Digits::parse(&format!("{value:.precision$e}"));
    }
    let (whole, fraction) = digits.scientific();
    (whole, fraction, digits.exponent)
}

/// Numbers from here on are printed with exponents, because not all of their digits are significant in their dtype.
fn largest_plain(dtype: DType) -> f64 {
    match dtype {
        DType::BF16 => 1e2,
        DType::F16 => 1e3,
        DType::F32 => 1e6,
        _ => 1e8,
    }
}

fn floats(numbers: &[Number], dtype: DType, options: &PrintOptions) -> Vec<String> {
    let values: Vec<f64> = numbers.iter().map(|n| n.to_f64()).collect();
    let sizes = values.iter().filter(|v| v.is_finite() && **v != 0.0).map(|v| v.abs());
    let (smallest, largest) = sizes.fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    // The quotient as the dtype has it: it may be infinite there.
    let quotient = Number::Float(largest / smallest).cast(dtype).to_f64();
    let exponents = largest > 0.0
        && (largest >= largest_plain(dtype) || (!options.suppress && (smallest < 1e-4 || quotient > 1000.0)));
    let parts: Vec<Option<Parts>> = values
        .iter()
        .map(|&v| {
            v.is_finite().then(|| match exponents {
                true => {
                    let (whole, fraction, power) = scientific(v, dtype, options.precision);
                    Parts { whole, fraction, power }
                }
                false => {
                    let (whole, fraction) = positional(v, dtype, options.precision);
                    Parts { whole, fraction, power: 0 }
                }
            })
        })
        .collect();
    let longest = |length: &dyn Fn(&Parts) -> usize| parts.iter().flatten().map(length).max().unwrap_or(0);
    let (mut left, after) = (longest(&|p| p.whole.len()), longest(&|p| p.fraction.len()));
    let power = longest(&|p| exponent(p.power, 2).len() - 1);
    let right = if exponents { after + power + 2 } else { after };
    for value in values.iter().filter(|v| !v.is_finite()) {
        left = left.max(not_finite(*value).len().saturating_sub(right + 1));
    }
    // NumPy leaves room for a NaN wherever there is something that is not finite.
    if parts.iter().any(Option::is_none) {
        left = left.max(3usize.saturating_sub(right + 1));
    }
    let word = |(value, parts): (&f64, &Option<Parts>)| match parts {
        None => format!("{:>width$}", not_finite(*value), width = left + right + 1),
        // All of them with as many digits as the longest needs: digits of the number itself, not of the shortest text.
        Some(_) if exponents => {
            let text = format!("{value:.after$e}");
            let (mantissa, tens) = text.split_once('e').unwrap_or((&text, "0"));
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            format!("{whole:>left$}.{fraction}e{}", exponent(tens.parse().unwrap_or(0), power))
        }
        Some(p) => format!("{:>left$}.{:<after$}", p.whole, p.fraction),
    };
    values.iter().zip(&parts).map(word).collect()
}

/// A finite number in the parts that are aligned.
struct Parts {
    whole: String,
    fraction: String,
    power: i32,
}
