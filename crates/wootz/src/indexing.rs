//! Reading and writing by index.

use crate::tensor::{Axis, Tensor, room_for};
use wootz_ir::op::ScatterMode;
use wootz_ir::{DType, Error, Result, Span, build};

/// What is taken of one axis, as in `x[2, 1:9:3, …]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// One element; the axis is dropped. Negative counts from the end.
    At(i64),
    /// `start..stop` by `step`, as in Python: bounds may be absent, negative, or beyond the end.
    Range {
        /// First index.
        start: Option<i64>,
        /// End, not included.
        stop: Option<i64>,
        /// Distance, not 0.
        step: i64,
    },
    /// All of the axis.
    All,
    /// A new axis of extent 1.
    New,
}

impl From<i64> for Index {
    fn from(index: i64) -> Index {
        Index::At(index)
    }
}

impl From<std::ops::Range<i64>> for Index {
    fn from(range: std::ops::Range<i64>) -> Index {
        Index::Range { start: Some(range.start), stop: Some(range.end), step: 1 }
    }
}

impl From<std::ops::RangeFull> for Index {
    fn from(_: std::ops::RangeFull) -> Index {
        Index::All
    }
}

/// Python's meaning of `start:stop:step` on an axis.
fn span(start: Option<i64>, stop: Option<i64>, step: i64, extent: usize) -> Span {
    let n = extent as i64;
    let (lowest, highest) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let place = |bound: Option<i64>, default: i64| match bound {
        None => default,
        Some(b) if b < 0 => (b + n).clamp(lowest, highest),
        Some(b) => b.clamp(lowest, highest),
    };
    let (first, end) = if step > 0 {
        (place(start, lowest), place(stop, highest))
    } else {
        (place(start, highest), place(stop, lowest))
    };
    let distance = if step > 0 { end - first } else { first - end };
    let len = if distance > 0 { (distance as u64).div_ceil(step.unsigned_abs()) as usize } else { 0 };
    Span { start: first.max(0) as usize, step: step as isize, len }
}

impl Tensor {
    /// The spans that an index list means, which axes it drops, and where it adds new ones.
    fn resolve(&self, op: &'static str, indices: &[Index]) -> Result<(Vec<Span>, Vec<Kept>)> {
        let mut spans = Vec::with_capacity(self.rank());
        let mut kept = Vec::new();
        for index in indices {
            if *index == Index::New {
                kept.push(Kept::New);
                continue;
            }
            let axis = spans.len();
            let Some(&extent) = self.shape().get(axis) else {
                let detail = format!("more indices than the {} axes of {}", self.rank(), self.shape());
                return Err(Error::argument(op, detail));
            };
            match *index {
                Index::At(i) => {
                    let at = if i < 0 { i + extent as i64 } else { i };
                    if !(0..extent as i64).contains(&at) {
                        return Err(Error::Index { op, index: i, axis, shape: self.shape().clone() });
                    }
                    spans.push(Span { start: at as usize, step: 1, len: 1 });
                }
                Index::Range { step: 0, .. } => {
                    return Err(Error::argument(op, format!("axis {axis}: a step of 0")));
                }
                Index::Range { start, stop, step } => {
                    spans.push(span(start, stop, step, extent));
                    kept.push(Kept::Axis(axis));
                }
                Index::All => {
                    spans.push(Span::all(extent));
                    kept.push(Kept::Axis(axis));
                }
                Index::New => unreachable!("handled above"),
            }
        }
        for axis in spans.len()..self.rank() {
            spans.push(Span::all(self.shape()[axis]));
            kept.push(Kept::Axis(axis));
        }
        Ok((spans, kept))
    }

    /// Basic indexing: a view, as in `x[1, ::2, None]`. Axes not named are taken whole.
    pub fn index(&self, indices: &[Index]) -> Result<Tensor> {
        let (spans, kept) = self.resolve("index", indices)?;
        let shape: wootz_ir::Shape = kept
            .iter()
            .map(|k| match k {
                Kept::Axis(axis) => spans[*axis].len,
                Kept::New => 1,
            })
            .collect();
        self.slice(&spans)?.reshape(shape)
    }

    /// A copy with the elements that `indices` name replaced by `values`, which broadcast to them.
    pub fn index_assign(&self, indices: &[Index], values: &Tensor) -> Result<Tensor> {
        let (spans, kept) = self.resolve("index_assign", indices)?;
        let wanted: wootz_ir::Shape = kept
            .iter()
            .map(|k| match k {
                Kept::Axis(axis) => spans[*axis].len,
                Kept::New => 1,
            })
            .collect();
        let values = values.wrap(build::expand("index_assign", &values.node, &wanted))?;
        let whole: wootz_ir::Shape = spans.iter().map(|s| s.len).collect();
        let values = values.reshape(whole)?;
        self.wrap(build::update_slice(&self.node, &spans, &values.node))
    }

    /// Rows, columns, … by number: an axis replaced by the axes of `index`. Negative indices count from the end.
    pub fn take(&self, index: &Tensor, axis: Axis) -> Result<Tensor> {
        self.wrap(build::take(&self.node, &index.node, axis))
    }

    /// `out[…, i, …] = self[…, index[…, i, …], …]`, the other axes broadcasting.
    pub fn take_along_axis(&self, index: &Tensor, axis: Axis) -> Result<Tensor> {
        self.wrap(build::gather(&self.node, &index.node, axis))
    }

    /// A copy with `values` set at `index` along an axis.
    pub fn scatter(&self, index: &Tensor, values: &Tensor, axis: Axis) -> Result<Tensor> {
        self.wrap(build::scatter(&self.node, &index.node, &values.node, axis, ScatterMode::Set))
    }

    /// A copy with `values` added at `index` along an axis; equal indices add up.
    pub fn scatter_add(&self, index: &Tensor, values: &Tensor, axis: Axis) -> Result<Tensor> {
        self.wrap(build::scatter(&self.node, &index.node, &values.node, axis, ScatterMode::Add))
    }

    /// The tensor with `rows` written from `start` (one integer, known when it runs) of an axis on. In place when this
    /// tensor was [donated](Tensor::donate).
    pub fn write_at(&self, rows: &Tensor, start: &Tensor, axis: Axis) -> Result<Tensor> {
        self.wrap(build::write_at(&self.node, &rows.node, &start.node, axis))
    }

    /// Integers as indices, which are i64: an unsigned number beyond those is out of range, and not one from the end.
    pub fn as_index(&self) -> Result<Tensor> {
        self.wrap(build::indices("index", &self.node))
    }

    /// The coordinates of true or non-zero elements, one row each, in row-major order. Evaluates this tensor, because the
    /// shape of the result depends on its value.
    pub fn nonzero(&self) -> Result<Tensor> {
        let truth = self.cast(DType::Bool)?.to_bytes()?;
        let rank = self.rank();
        let count = truth.iter().filter(|b| **b != 0).count();
        let mut coords: Vec<i64> = room_for("nonzero", count.saturating_mul(rank))?;
        let mut at = vec![0i64; rank];
        for &is_true in &truth {
            if is_true != 0 {
                coords.extend_from_slice(&at);
            }
            // One further along the last axis that has not come to its end; those behind it start over.
            for (coordinate, &extent) in at.iter_mut().zip(self.shape().iter()).rev() {
                *coordinate += 1;
                if (*coordinate as usize) < extent {
                    break;
                }
                *coordinate = 0;
            }
        }
        Tensor::from_slice_on(&coords, &self.device)?.reshape([count, rank])
    }

    /// The elements where a bool mask of the same shape (or of the leading axes) is true. Evaluates the mask, because the
    /// shape of the result depends on it.
    pub fn mask_select(&self, mask: &Tensor) -> Result<Tensor> {
        let leading = mask.rank() <= self.rank() && self.shape()[..mask.rank()] == **mask.shape();
        if !leading || mask.dtype() != DType::Bool {
            let expected = format!("a bool mask over the leading axes, not {}{}", mask.dtype(), mask.shape());
            return Err(Error::shape("mask_select", &[self.shape(), mask.shape()], expected));
        }
        let truth = mask.to_bytes()?;
        let mut chosen: Vec<i64> = room_for("mask_select", truth.iter().filter(|b| **b != 0).count())?;
        chosen.extend((0..truth.len() as i64).filter(|&i| truth[i as usize] != 0));
        let rest = &self.shape()[mask.rank()..];
        let flat: wootz_ir::Shape = [mask.count()].iter().chain(rest).copied().collect();
        self.reshape(flat)?.take(&Tensor::from_slice_on(&chosen, &self.device)?, 0)
    }
}

/// An axis of the result of basic indexing.
enum Kept {
    Axis(usize),
    New,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_mean_what_python_means() {
        // (start, stop, step, extent) → indices, as list(range(extent))[start:stop:step] gives.
        for (start, stop, step, extent, want) in [
            (None, None, 1, 4, vec![0, 1, 2, 3]),
            (None, None, -1, 4, vec![3, 2, 1, 0]),
            (Some(-3), None, 2, 5, vec![2, 4]),
            (Some(10), Some(-10), -3, 5, vec![4, 1]),
            (Some(3), Some(1), 1, 5, vec![]),
            (Some(-100), Some(100), 1, 2, vec![0, 1]),
            (None, None, -2, 0, vec![]),
        ] {
            let s = span(start, stop, step, extent);
            let got: Vec<i64> = (0..s.len).map(|i| s.start as i64 + i as i64 * s.step as i64).collect();
            assert_eq!(got, want, "[{start:?}:{stop:?}:{step}] of {extent}");
        }
    }
}
