//! Movement ops. All except joining and repeating are views: they move no elements.

use crate::operators::Operand;
use crate::tensor::{Axis, Tensor};
use wootz_ir::{Error, Number, Result, Shape, Span, build};

impl Tensor {
    /// The same elements in another shape.
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        self.wrap(build::reshape(&self.node, &shape.into()))
    }

    /// The flattened tensor.
    pub fn flatten(&self) -> Result<Tensor> {
        self.reshape([self.count()])
    }

    /// Permutes the axes.
    pub fn permute(&self, axes: impl AsRef<[Axis]>) -> Result<Tensor> {
        let axes: Result<Vec<usize>> =
            axes.as_ref().iter().map(|&a| self.shape().axis("permute", a)).collect();
        self.wrap(build::permute(&self.node, &axes?))
    }

    /// Swaps two axes.
    pub fn transpose(&self, a: Axis, b: Axis) -> Result<Tensor> {
        let (a, b) = (self.shape().axis("transpose", a)?, self.shape().axis("transpose", b)?);
        let mut axes: Vec<usize> = (0..self.rank()).collect();
        axes.swap(a, b);
        self.wrap(build::permute(&self.node, &axes))
    }

    /// Swaps the last two axes.
    pub fn t(&self) -> Result<Tensor> {
        self.transpose(-2, -1)
    }

    /// Moves an axis to another position.
    pub fn move_axis(&self, from: Axis, to: Axis) -> Result<Tensor> {
        let (from, to) = (self.shape().axis("move_axis", from)?, self.shape().axis("move_axis", to)?);
        let mut axes: Vec<usize> = (0..self.rank()).filter(|&a| a != from).collect();
        axes.insert(to, from);
        self.wrap(build::permute(&self.node, &axes))
    }

    /// The tensor broadcast to a shape.
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        self.wrap(build::expand("broadcast_to", &self.node, &shape.into()))
    }

    /// Inserts a new axis of extent 1.
    pub fn unsqueeze(&self, axis: Axis) -> Result<Tensor> {
        let at = if axis < 0 { axis + self.rank() as isize + 1 } else { axis };
        if at < 0 || at as usize > self.rank() {
            return Err(Error::Axis { op: "unsqueeze", axis, shape: self.shape().clone() });
        }
        let mut shape = self.shape().clone();
        shape.extents_mut().insert(at as usize, 1);
        self.reshape(shape)
    }

    /// Removes an axis of extent 1.
    pub fn squeeze(&self, axis: Axis) -> Result<Tensor> {
        let axis = self.shape().axis("squeeze", axis)?;
        if self.shape()[axis] != 1 {
            return Err(Error::shape("squeeze", &[self.shape()], format!("extent 1 on axis {axis}")));
        }
        self.reshape(self.shape().without(axis))
    }

    /// A slice along each axis.
    pub fn slice(&self, spans: &[Span]) -> Result<Tensor> {
        self.wrap(build::slice(&self.node, spans))
    }

    /// `len` elements along an axis from `start` on.
    pub fn narrow(&self, axis: Axis, start: usize, len: usize) -> Result<Tensor> {
        let axis = self.shape().axis("narrow", axis)?;
        let mut spans: Vec<Span> = self.shape().iter().map(|&d| Span::all(d)).collect();
        spans[axis] = Span { start, step: 1, len };
        self.slice(&spans)
    }

    /// Reverses axes.
    pub fn flip(&self, axes: impl AsRef<[Axis]>) -> Result<Tensor> {
        let mut spans: Vec<Span> = self.shape().iter().map(|&d| Span::all(d)).collect();
        for &axis in axes.as_ref() {
            let axis = self.shape().axis("flip", axis)?;
            let len = self.shape()[axis];
            spans[axis] = Span { start: len.saturating_sub(1), step: -1, len };
        }
        self.slice(&spans)
    }

    /// Joins tensors along an axis.
    pub fn concat(tensors: &[&Tensor], axis: Axis) -> Result<Tensor> {
        let Some(first) = tensors.first() else {
            return Err(Error::argument("concat", "expected at least one tensor"));
        };
        for other in tensors {
            other.to_tensor("concat", first)?;
        }
        let nodes: Vec<_> = tensors.iter().map(|t| t.node.clone()).collect();
        first.wrap(build::concat(&nodes, axis))
    }

    /// Joins tensors of the same shape along a new axis.
    pub fn stack(tensors: &[&Tensor], axis: Axis) -> Result<Tensor> {
        let apart: Vec<Tensor> = tensors.iter().map(|t| t.unsqueeze(axis)).collect::<Result<_>>()?;
        let at = if axis < 0 { axis + apart.first().map_or(0, |t| t.rank() as isize) } else { axis };
        Tensor::concat(&apart.iter().collect::<Vec<_>>(), at)
    }

    /// Splits an axis into parts of these lengths.
    pub fn split(&self, lengths: &[usize], axis: Axis) -> Result<Vec<Tensor>> {
        let axis = self.shape().axis("split", axis)?;
        let total: usize = lengths.iter().sum();
        if total != self.shape()[axis] {
            let detail = format!(
                "lengths {lengths:?} add up to {total}, but axis {axis} of {} has {}",
                self.shape(),
                self.shape()[axis]
            );
            return Err(Error::argument("split", detail));
        }
        let mut start = 0;
        let part = |&len: &usize| {
            start += len;
            self.narrow(axis as isize, start - len, len)
        };
        lengths.iter().map(part).collect()
    }

    /// Splits an axis into equal parts.
    pub fn chunk(&self, parts: usize, axis: Axis) -> Result<Vec<Tensor>> {
        let at = self.shape().axis("chunk", axis)?;
        let extent = self.shape()[at];
        if parts == 0 || !extent.is_multiple_of(parts) {
            return Err(Error::shape("chunk", &[self.shape()], format!("axis {at} divisible by {parts}")));
        }
        self.split(&vec![extent / parts; parts], axis)
    }

    /// Pads with `value`: `(before, after)` per axis.
    pub fn pad(&self, widths: &[(usize, usize)], value: impl Into<Number>) -> Result<Tensor> {
        if widths.len() != self.rank() {
            let detail = format!("got {} pairs of widths for shape {}", widths.len(), self.shape());
            return Err(Error::argument("pad", detail));
        }
        let shape: Shape = self
            .shape()
            .iter()
            .zip(widths)
            .map(|(&d, &(a, b))| d.saturating_add(a).saturating_add(b))
            .collect();
        let spans: Vec<Span> =
            self.shape().iter().zip(widths).map(|(&len, &(start, _))| Span { start, step: 1, len }).collect();
        let around = Tensor::full_on(shape, value, self.dtype(), &self.device)?;
        self.wrap(build::update_slice(&around.node, &spans, &self.node))
    }

    /// Rolls elements along an axis by `shift`; those shifted out re-enter at the other end.
    pub fn roll(&self, shift: isize, axis: Axis) -> Result<Tensor> {
        let at = self.shape().axis("roll", axis)?;
        let extent = self.shape()[at];
        let shift = if extent == 0 { 0 } else { shift.rem_euclid(extent as isize) as usize };
        if shift == 0 {
            return Ok(self.clone());
        }
        let tail = self.narrow(axis, extent - shift, shift)?;
        let head = self.narrow(axis, 0, extent - shift)?;
        Tensor::concat(&[&tail, &head], axis)
    }

    /// Repeats each element along an axis `times` times.
    pub fn repeat(&self, times: usize, axis: Axis) -> Result<Tensor> {
        let at = self.shape().axis("repeat", axis)?;
        let apart = self.unsqueeze(at as isize + 1)?;
        let mut wide = apart.shape().clone();
        wide.extents_mut()[at + 1] = times;
        wide.check("repeat")?;
        let shape = self.shape().with(at, self.shape()[at].saturating_mul(times));
        apart.broadcast_to(wide)?.reshape(shape)
    }

    /// Repeats the tensor `times` times along an axis.
    pub fn tile(&self, times: usize, axis: Axis) -> Result<Tensor> {
        let at = self.shape().axis("tile", axis)?;
        let apart = self.unsqueeze(at as isize)?;
        let mut wide = apart.shape().clone();
        wide.extents_mut()[at] = times;
        wide.check("tile")?;
        let shape = self.shape().with(at, self.shape()[at].saturating_mul(times));
        apart.broadcast_to(wide)?.reshape(shape)
    }

    /// The diagonal `k` of the last two axes.
    pub fn diagonal(&self, k: isize) -> Result<Tensor> {
        let rank = self.rank();
        if rank < 2 {
            return Err(Error::shape("diagonal", &[self.shape()], "at least two axes"));
        }
        let (rows, columns) = (self.shape()[rank - 2], self.shape()[rank - 1]);
        let (top, left) = if k < 0 { (k.unsigned_abs(), 0) } else { (0, k as usize) };
        let len = rows.saturating_sub(top).min(columns.saturating_sub(left));
        // Element i of the diagonal is element i·(columns + 1) of the flat matrix.
        let flat_shape: Shape = self.shape()[..rank - 2].iter().copied().chain([rows * columns]).collect();
        let flat = self.reshape(flat_shape)?;
        let mut spans: Vec<Span> = flat.shape().iter().map(|&d| Span::all(d)).collect();
        spans[rank - 2] = Span { start: top * columns + left, step: columns as isize + 1, len };
        flat.slice(&spans)
    }
}
