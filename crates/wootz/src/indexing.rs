//! Basic indexing, gather and scatter.

use crate::device::Device;
use crate::tensor::{Axis, Tensor, room_for};
use crate::value::{Value, value_of};
use smallvec::SmallVec;
use std::sync::Arc;
use wootz_ir::graph::{Leaf, Node};
use wootz_ir::op::ScatterMode;
use wootz_ir::{DType, Error, Layout, Result, Shape, Span, View, build};

/// A basic index of one axis, as in `x[2, 1:9:3, …]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// A single element; the axis is dropped. Negative positions count from the end.
    At(i64),
    /// `start..stop` by `step`, as in Python: bounds may be omitted, negative, or past the end.
    Range {
        /// First index.
        start: Option<i64>,
        /// End, exclusive.
        stop: Option<i64>,
        /// Step, not 0.
        step: i64,
    },
    /// The entire axis.
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
    /// The slices that an index list denotes, the axes it drops, and the positions of new ones.
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
                let detail = format!("too many indices for the {} axes of {}", self.rank(), self.shape());
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
                    return Err(Error::argument(op, format!("axis {axis}: the step must not be 0")));
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

    /// Basic indexing: a view, as in `x[1, ::2, None]`. Axes without an index are taken completely.
    pub fn index(&self, indices: &[Index]) -> Result<Tensor> {
        let (spans, kept) = self.resolve("index", indices)?;
        if let Some(view) = self.view_of_value(&spans, &kept) {
            return Ok(view);
        }
        let shape: Shape = kept
            .iter()
            .map(|k| match k {
                Kept::Axis(axis) => spans[*axis].len,
                Kept::New => 1,
            })
            .collect();
        self.slice(&spans)?.reshape(shape)
    }

    /// `self[index]`: a slice along the first axis. If the tensor has a value, so does the slice, without looking at
    /// other axes.
    pub fn row(&self, index: i64) -> Result<Tensor> {
        let Some((&extent, inner)) = self.shape().split_first() else {
            return self.index(&[Index::At(index)]);
        };
        let at = if index < 0 { index + extent as i64 } else { index };
        if !(0..extent as i64).contains(&at) {
            return Err(Error::Index { op: "index", index, axis: 0, shape: self.shape().clone() });
        }
        let view = |leaf: &Leaf| {
            let own = &leaf.layout;
            let offset = own.offset as isize + at as isize * own.strides[0];
            let strides = SmallVec::from_slice(&own.strides[1..]);
            let layout = Layout { shape: inner.into(), strides, offset: offset as usize };
            (!leaf.donated).then(|| Leaf { layout, donated: false, payload: leaf.payload.clone() })
        };
        match self.node.with_value(view).flatten() {
            Some(leaf) => Ok(Tensor::new(Node::leaf(leaf, self.dtype()), &self.device)),
            None => self.index(&[Index::At(index)]),
        }
    }

    /// A part of an available value, as a value: its location is known, and nothing has to be computed.
    fn view_of_value(&self, spans: &[Span], kept: &[Kept]) -> Option<Tensor> {
        let leaf = self.node.with_value(|leaf| (!leaf.donated).then(|| leaf.clone())).flatten()?;
        let sliced = leaf.layout.view(&View::Slice(spans.into()))?;
        let axes = kept.iter().map(|k| match k {
            Kept::Axis(axis) => (sliced.shape[*axis], sliced.strides[*axis]),
            Kept::New => (1, 0),
        });
        let (shape, strides): (SmallVec<[usize; 4]>, SmallVec<[isize; 4]>) = axes.unzip();
        let layout = Layout { shape: shape[..].into(), strides, offset: sliced.offset };
        let leaf = Leaf { layout, donated: false, payload: leaf.payload };
        Some(Tensor::new(Node::leaf(leaf, self.dtype()), &self.device))
    }

    /// A copy with the elements at `indices` replaced by `values`, which broadcast to them.
    pub fn index_assign(&self, indices: &[Index], values: &Tensor) -> Result<Tensor> {
        let (spans, kept) = self.resolve("index_assign", indices)?;
        let wanted: Shape = kept
            .iter()
            .map(|k| match k {
                Kept::Axis(axis) => spans[*axis].len,
                Kept::New => 1,
            })
            .collect();
        let values = values.wrap(build::expand("index_assign", &values.node, &wanted))?;
        let whole: Shape = spans.iter().map(|s| s.len).collect();
        let values = values.reshape(whole)?;
        self.wrap(build::update_slice(&self.node, &spans, &values.node))
    }

    /// The bytes of the elements in row-major order, for writing in place: if the value is available, in that order in host
    /// memory, and nothing else refers to it.
    pub fn own_bytes(&mut self) -> Option<&mut [u8]> {
        let size = self.dtype().size();
        let bytes = self.count() * size;
        let leaf = Arc::get_mut(&mut self.node).and_then(Node::value_mut)?;
        if leaf.donated || !leaf.layout.is_contiguous() {
            return None;
        }
        let offset = leaf.layout.offset * size;
        let value = Arc::get_mut(&mut leaf.payload)?.downcast_mut::<Value>()?;
        value.own_bytes()?.get_mut(offset..offset + bytes)
    }

    /// Copies the bytes of elements in row-major order, from the element at this position on. Returns whether it was done: if the
    /// value is available, in that order in host memory, and has as many elements.
    pub fn copy_part(&self, at: usize, bytes: &mut [u8]) -> bool {
        let (device, size) = (&self.device, self.dtype().size());
        if !device.is_host() || (at * size).saturating_add(bytes.len()) > self.count() * size {
            return false;
        }
        let copy = |leaf: &Leaf| {
            let buffer = value_of(leaf).ok()?.settled_on(device)?;
            let offset = leaf.layout.is_contiguous().then_some((leaf.layout.offset + at) * size)?;
            device.backend().download(buffer, offset, bytes).ok()
        };
        self.node.with_value(copy).flatten().is_some()
    }

    /// Selects rows, columns, … by index: an axis is replaced by the axes of `index`. Negative indices count from the
    /// end.
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

    /// A copy with `values` added at `index` along an axis; repeated indices accumulate.
    pub fn scatter_add(&self, index: &Tensor, values: &Tensor, axis: Axis) -> Result<Tensor> {
        self.wrap(build::scatter(&self.node, &index.node, &values.node, axis, ScatterMode::Add))
    }

    /// The tensor with `rows` written along an axis from `start` on (one integer, known at run time). In place if
    /// this tensor was [donated](Tensor::donate).
    pub fn write_at(&self, rows: &Tensor, start: &Tensor, axis: Axis) -> Result<Tensor> {
        self.wrap(build::write_at(&self.node, &rows.node, &start.node, axis))
    }

    /// Integers as i64 indices: an unsigned number beyond their range is out of range, and does not count from the
    /// end.
    pub fn as_index(&self) -> Result<Tensor> {
        self.wrap(build::indices("index", &self.node))
    }

    /// The coordinates of true or non-zero elements, one row each, in row-major order. Evaluates this tensor, because the
    /// shape of the result depends on its value.
    pub fn nonzero(&self) -> Result<Tensor> {
        let rank = self.rank();
        let places = self.places()?;
        let count = places.count();
        if rank == 1 {
            return places.reshape([count, 1]);
        }
        let places = places.to_vec::<i64>()?;
        let mut coords: Vec<i64> = room_for("nonzero", count.saturating_mul(rank))?;
        coords.resize(count * rank, 0);
        // Places rise, so the row of one is that of the last or a later one: no division but where it changes.
        let width = self.shape().last().copied().unwrap_or(1).max(1) as i64;
        let mut start = -width;
        let mut outer: Vec<i64> = vec![0; rank.saturating_sub(1)];
        for (coord, &place) in coords.chunks_exact_mut(rank.max(1)).zip(&places) {
            if place >= start + width {
                let mut left = place / width;
                start = left * width;
                for (c, &extent) in outer.iter_mut().zip(self.shape().iter()).rev() {
                    (*c, left) = (left % extent as i64, left / extent as i64);
                }
            }
            coord[..rank - 1].copy_from_slice(&outer);
            coord[rank - 1] = place - start;
        }
        Tensor::from_slice_on(&coords, &self.device)?.reshape([count, rank])
    }

    /// Where elements are true or not 0, counted in row-major order. Evaluates this tensor.
    fn places(&self) -> Result<Tensor> {
        let truth = self.cast(DType::Bool)?.contiguous()?;
        let (value, layout) = truth.value()?;
        let places = |value: &Value| {
            let found = value.device.backend().places(value.buffer()?, layout.offset, truth.count())?;
            let shape = |bytes: usize| Layout::contiguous(&Shape::from([bytes / size_of::<i64>()]));
            Ok(found.map(|buffer| {
                let layout = shape(buffer.len());
                Tensor::from_value(
                    Value::new(value.device.clone(), buffer),
                    layout,
                    DType::I64,
                    &value.device,
                )
            }))
        };
        if let Some(found) = places(&value)? {
            return found.to_device(&self.device);
        }
        let found =
            places(&value.to_device(&Device::cpu())?)?.expect("the host finds them in its own memory");
        found.to_device(&self.device)
    }

    /// The elements where a bool mask of the same shape (or of the leading axes) is true. Evaluates the mask, because the
    /// shape of the result depends on it.
    pub fn mask_select(&self, mask: &Tensor) -> Result<Tensor> {
        let leading = mask.rank() <= self.rank() && self.shape()[..mask.rank()] == **mask.shape();
        if !leading || mask.dtype() != DType::Bool {
            let expected = format!("a bool mask over the leading axes, not {}{}", mask.dtype(), mask.shape());
            return Err(Error::shape("mask_select", &[self.shape(), mask.shape()], expected));
        }
        let chosen = mask.places()?;
        let rest = &self.shape()[mask.rank()..];
        let flat: Shape = [mask.count()].iter().chain(rest).copied().collect();
        self.reshape(flat)?.take(&chosen.to_device(&self.device)?, 0)
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
