//! Printing in NumPy's format: aligned columns, wrapped lines, long axes abbreviated in the middle.

mod numbers;

use crate::tensor::Tensor;
use std::fmt;
use wootz_ir::Span;

/// Print options for tensors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintOptions {
    /// Maximum number of digits after the point.
    pub precision: usize,
    /// Tensors with more elements than this are summarised.
    pub threshold: usize,
    /// Number of elements shown at each end of a summarised axis.
    pub edge_items: usize,
    /// Line width in characters.
    pub line_width: usize,
    /// Print small numbers as 0 instead of with an exponent.
    pub suppress: bool,
}

impl PrintOptions {
    /// NumPy's defaults.
    pub const NUMPY: PrintOptions =
        PrintOptions { precision: 8, threshold: 1000, edge_items: 3, line_width: 75, suppress: false };
}

impl Default for PrintOptions {
    fn default() -> PrintOptions {
        PrintOptions::NUMPY
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = PrintOptions::default();
        options.precision = f.precision().unwrap_or(options.precision);
        match self.to_text(&options, ", ", 0) {
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
    /// The elements as text. Lines after the first are indented by `indent` columns.
    pub fn to_text(
        &self,
        options: &PrintOptions,
        separator: &str,
        indent: usize,
    ) -> wootz_ir::Result<String> {
        if self.count() == 0 {
            return Ok("[]".into());
        }
        let shortened = self.count() > options.threshold;
        // Only what is shown is fetched: the ends of each long axis.
        let shown = if shortened { self.edges(options.edge_items)? } else { self.clone() };
        let words = numbers::words(&shown.to_numbers()?, self.dtype(), self.rank(), options);
        let printer = Printer {
            words: &words,
            full: self.shape(),
            shown: shown.shape(),
            shortened,
            edge: options.edge_items,
            separator,
        };
        Ok(printer.print(0, 0, indent + 1, options.line_width))
    }

    /// The only element of a scalar as text: the shortest that identifies the number.
    pub fn to_scalar_text(&self) -> wootz_ir::Result<String> {
        Ok(numbers::scalar(self.item()?, self.dtype()))
    }

    /// The first and last few elements of each axis that is too long to show.
    fn edges(&self, edge: usize) -> wootz_ir::Result<Tensor> {
        let mut tensor = self.clone();
        for axis in 0..self.rank() {
            let extent = tensor.shape()[axis];
            if extent > 2 * edge {
                let mut spans: Vec<Span> = tensor.shape().iter().map(|&d| Span::all(d)).collect();
                spans[axis] = Span { start: 0, step: 1, len: edge };
                let head = tensor.slice(&spans)?;
                spans[axis] = Span { start: extent - edge, step: 1, len: edge };
                let tail = tensor.slice(&spans)?;
                tensor = Tensor::concat(&[&head, &tail], axis as isize)?;
            }
        }
        Ok(tensor)
    }
}

struct Printer<'a> {
    words: &'a [String],
    full: &'a [usize],
    shown: &'a [usize],
    shortened: bool,
    edge: usize,
    separator: &'a str,
}

impl Printer<'_> {
    /// The part at `axis` that starts at element `offset` of what is shown, in lines of so many columns; lines after the first
    /// are indented.
    fn print(&self, axis: usize, offset: usize, indent: usize, width: usize) -> String {
        let Some(&extent) = self.shown.get(axis) else { return self.words[offset].clone() };
        let inner: usize = self.shown[axis + 1..].iter().product();
        let gap = self.shortened && self.full[axis] > 2 * self.edge;
        let mut items: Vec<String> =
            (0..extent).map(|i| self.print(axis + 1, offset + i * inner, indent + 1, width - 1)).collect();
        if gap {
            items.insert(self.edge, "...".into());
        }
        let text = if axis + 1 == self.shown.len() {
            self.wrapped(&items, indent, width)
        } else {
            let mut between = self.separator.trim_end().to_string();
            between.extend(std::iter::repeat_n('\n', self.shown.len() - axis - 1));
            between.extend(std::iter::repeat_n(' ', indent));
            items.join(&between)
        };
        format!("[{text}]")
    }

    /// Words in lines. The bracket that opens the first line stands in its indentation.
    fn wrapped(&self, words: &[String], indent: usize, width: usize) -> String {
        let room = width.saturating_sub(self.separator.trim_end().len().max(1));
        let (mut text, mut column) = (String::new(), indent);
        for (i, word) in words.iter().enumerate() {
            if i > 0 {
                text.push_str(self.separator);
                column += self.separator.len();
            }
            // A word that is longer than a line stands alone.
            if column + word.len() > room && column > indent {
                text.truncate(text.trim_end().len());
                text.push('\n');
                text.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            }
            text.push_str(word);
            column += word.len();
        }
        text
    }
}
