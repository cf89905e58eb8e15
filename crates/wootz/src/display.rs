//! Printing, as NumPy prints: aligned columns, long axes shortened in the middle.

use crate::tensor::Tensor;
use std::fmt::{self, Write};
use wootz_ir::{Kind, Number, Span};

/// Elements shown at each end of a long axis, and how many elements are shown in full.
const EDGE: usize = 3;
const THRESHOLD: usize = 1000;

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.render(f.precision()) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "<{}{} that cannot be computed: {error}>", self.dtype(), self.shape()),
        }
    }
}

impl fmt::Debug for Tensor {
    /// Shape, dtype and device; never evaluates.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_evaluated() { "" } else { ", lazy" };
        write!(f, "Tensor({}{} on {}{state})", self.dtype(), self.shape(), self.device)
    }
}

impl Tensor {
    fn render(&self, precision: Option<usize>) -> wootz_ir::Result<String> {
        let shortened = self.count() > THRESHOLD;
        // Only what is shown is fetched: the ends of each long axis.
        let shown = if shortened { self.edges()? } else { self.clone() };
        let numbers = shown.to_numbers()?;
        let texts = format_numbers(&numbers, self.dtype().kind(), precision.unwrap_or(4));
        let width = texts.iter().map(String::len).max().unwrap_or(0);
        let mut text = String::new();
        let printer = Printer { texts: &texts, width, full: self.shape(), shown: shown.shape(), shortened };
        printer.print(&mut text, 0, 0);
        Ok(text)
    }

    /// The first and last few elements of each axis that is too long to show.
    fn edges(&self) -> wootz_ir::Result<Tensor> {
        let mut tensor = self.clone();
        for axis in 0..self.rank() {
            let extent = tensor.shape()[axis];
            if extent > 2 * EDGE {
                let mut spans: Vec<Span> = tensor.shape().iter().map(|&d| Span::all(d)).collect();
                spans[axis] = Span { start: 0, step: 1, len: EDGE };
                let head = tensor.slice(&spans)?;
                spans[axis] = Span { start: extent - EDGE, step: 1, len: EDGE };
                let tail = tensor.slice(&spans)?;
                tensor = Tensor::concat(&[&head, &tail], axis as isize)?;
            }
        }
        Ok(tensor)
    }
}

struct Printer<'a> {
    texts: &'a [String],
    width: usize,
    full: &'a [usize],
    shown: &'a [usize],
    shortened: bool,
}

impl Printer<'_> {
    /// Prints the part at `axis` that starts at element `offset` of what is shown.
    fn print(&self, out: &mut String, axis: usize, offset: usize) {
        let Some(&extent) = self.shown.get(axis) else {
            let text = self.texts.get(offset).map_or("", String::as_str);
            let _ = write!(out, "{text:>width$}", width = self.width);
            return;
        };
        let inner: usize = self.shown[axis + 1..].iter().product();
        let last = axis + 1 == self.shown.len();
        out.push('[');
        for i in 0..extent {
            if i > 0 {
                self.separate(out, axis, last);
            }
            if self.shortened && i == EDGE && self.full[axis] > 2 * EDGE {
                out.push_str("...");
                self.separate(out, axis, last);
            }
            self.print(out, axis + 1, offset + i * inner);
        }
        out.push(']');
    }

    fn separate(&self, out: &mut String, axis: usize, last: bool) {
        if last {
            out.push_str(", ");
        } else {
            out.push(',');
            out.extend(std::iter::repeat_n('\n', self.shown.len() - axis - 1));
            out.extend(std::iter::repeat_n(' ', axis + 1));
        }
    }
}

/// One text per number; floats of one tensor share their number of decimals, or all use exponents.
fn format_numbers(numbers: &[Number], kind: Kind, precision: usize) -> Vec<String> {
    if kind != Kind::Float {
        return numbers.iter().map(Number::to_string).collect();
    }
    let values: Vec<f64> = numbers.iter().map(|n| n.to_f64()).collect();
    let finite = values.iter().filter(|v| v.is_finite() && **v != 0.0).map(|v| v.abs());
    let (smallest, largest) = finite.fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    let exponents = largest >= 1e8 || (largest > 0.0 && (smallest < 1e-4 || largest / smallest > 1e6));
    let decimals = (0..=precision)
        .find(|&d| values.iter().all(|v| !v.is_finite() || (format!("{v:.d$}").parse() == Ok(*v))))
        .unwrap_or(precision);
    values
        .iter()
        .map(|v| match v {
            v if v.is_nan() => "nan".into(),
            v if v.is_infinite() => if *v > 0.0 { "inf" } else { "-inf" }.into(),
            v if exponents => format!("{v:.precision$e}"),
            v if decimals == 0 => format!("{v:.0}."),
            v => format!("{v:.decimals$}"),
        })
        .collect()
}
