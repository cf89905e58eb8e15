//! Problem descriptors: the properties of a step that determine its kernel variant.

use wootz_ir::Shape;
use wootz_ir::op::AttentionSpec;
use wootz_plan::Step;

/// Rows along the last axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsProblem {
    /// Number of rows.
    pub rows: usize,
    /// Length of a row.
    pub width: usize,
}

impl RowsProblem {
    /// The rows of a shape; none if they have no elements.
    pub fn of(shape: &Shape) -> RowsProblem {
        let width = shape.last().copied().unwrap_or(1);
        RowsProblem { rows: shape.count().checked_div(width).unwrap_or(0), width }
    }

    /// Total number of elements.
    pub fn count(self) -> usize {
        self.rows * self.width
    }
}

/// How a long row is split between workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Number of parts per row.
    pub parts: usize,
    /// Elements per part, except that the last may have fewer.
    pub length: usize,
}

impl Split {
    /// About `wanted` parts per row, none shorter than `least`, all multiples of `unit`.
    pub fn new(width: usize, wanted: usize, least: usize, unit: usize) -> Split {
        let parts = wanted.min(width / least).max(1);
        let length = width.div_ceil(parts).next_multiple_of(unit).max(unit);
        Split { parts: width.div_ceil(length).max(1), length }
    }
}

/// `batch` products of `m×k` by `k×n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatmulProblem {
    /// Number of products.
    pub batch: usize,
    /// Rows of the left operand.
    pub m: usize,
    /// Columns of the right operand.
    pub n: usize,
    /// Inner extent.
    pub k: usize,
}

impl MatmulProblem {
    /// For a step that multiplies all rows of its first input by a quantised matrix.
    pub fn quantised(step: &Step) -> MatmulProblem {
        let x = RowsProblem::of(&step.input_shapes[0]);
        MatmulProblem { batch: 1, m: x.rows, n: step.input_shapes[1][0], k: x.width }
    }

    /// Number of elements of the result.
    pub fn count(self) -> usize {
        self.batch * self.m * self.n
    }
}

/// Attention over q `[b, h, t, d]`, k `[b, g, s, d]`, v `[b, g, s, e]`.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is the axis of that letter")]
pub struct AttentionProblem {
    pub b: usize,
    pub h: usize,
    pub g: usize,
    pub t: usize,
    pub s: usize,
    pub d: usize,
    pub e: usize,
    /// Options of the attention.
    pub spec: AttentionSpec,
}

impl AttentionProblem {
    /// The attention problem of a step.
    pub fn of(step: &Step, spec: AttentionSpec) -> AttentionProblem {
        let (q, k, v) = (&step.input_shapes[0], &step.input_shapes[1], &step.input_shapes[2]);
        AttentionProblem { b: q[0], h: q[1], g: k[1], t: q[2], s: k[2], d: q[3], e: v[3], spec }
    }

    /// Heads that share the keys of a group.
    pub fn sharing(self) -> usize {
        self.h / self.g.max(1)
    }

    /// Rows of the result.
    pub fn rows(self) -> usize {
        self.b * self.h * self.t
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_row_exactly() {
        for width in [0, 1, 63, 64, 4096, 5001, 8191, 1 << 20, 100_000_007] {
            for (wanted, least, unit) in [(1, 64, 4), (64, 4096, 1024), (341, 64, 4), (1 << 14, 4096, 4)] {
                let split = Split::new(width, wanted, least, unit);
                assert!(split.parts * split.length >= width, "{width} {split:?}");
                assert!(width == 0 || (split.parts - 1) * split.length < width, "{width} {split:?}");
            }
        }
        assert_eq!(Split::new(8191, 64, 4096, 1024).parts, 1);
        assert_eq!(Split::new(1 << 24, 64, 4096, 1024).parts, 64);
        assert_eq!(Split::new(1 << 20, 1, 4096, 1024).parts, 1);
    }
}
