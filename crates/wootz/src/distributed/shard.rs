//! Sharded arrays: each rank has a part along one axis.

use super::Group;
use crate::tensor::Tensor;
use std::ops::Range;
use wootz_ir::{Error, Result, Shape};
use wootz_mpi::ReduceOp;

/// A tensor that is sharded over the ranks of a group along one axis. Parts differ by at most one row.
///
/// Elementwise work is done on the local part with [`Sharded::map`]; operations that need other ranks' parts are
/// methods here. For anything else, [`Sharded::gather`] reassembles the tensor first.
#[derive(Clone)]
pub struct Sharded {
    group: Group,
    local: Tensor,
    axis: usize,
    /// Extent of the axis over all ranks.
    extent: usize,
}

/// Rank `rank`'s part of `extent` elements over `size` ranks: parts differ by at most one element.
pub fn part(extent: usize, rank: usize, size: usize) -> Range<usize> {
    let (each, more) = (extent / size, extent % size);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

impl Group {
    /// This rank's part, along an axis, of a tensor that every rank has.
    pub fn shard(&self, x: &Tensor, axis: isize) -> Result<Sharded> {
        let axis = x.shape().axis("shard", axis)?;
        let extent = x.shape()[axis];
        let own = part(extent, self.rank(), self.size());
        let local = x.narrow(axis as isize, own.start, own.len())?;
        Ok(Sharded { group: self.clone(), local, axis, extent })
    }

    /// A tensor with `extent` along an axis, from this rank's part.
    pub fn sharded(&self, local: &Tensor, axis: isize, extent: usize) -> Result<Sharded> {
        let axis = local.shape().axis("sharded", axis)?;
        let own = part(extent, self.rank(), self.size());
        if local.shape()[axis] != own.len() {
            let expected = format!("{} of {extent} along axis {axis} on rank {}", own.len(), self.rank());
            return Err(Error::shape("sharded", &[local.shape()], expected));
        }
        Ok(Sharded { group: self.clone(), local: local.clone(), axis, extent })
    }
}

impl Sharded {
    /// This rank's part.
    pub fn local(&self) -> &Tensor {
        &self.local
    }

    /// The sharded axis.
    pub fn axis(&self) -> usize {
        self.axis
    }

    /// The shape of the complete tensor.
    pub fn shape(&self) -> Shape {
        let mut extents = self.local.shape().to_vec();
        extents[self.axis] = self.extent;
        extents.into()
    }

    /// The complete tensor, on every rank.
    pub fn gather(&self) -> Result<Tensor> {
        let axis = self.axis as isize;
        let size = self.group.size();
        // Messages of one size: short parts get a row more, which is dropped again.
        let longest = self.extent.div_ceil(size);
        let first = self.local.transpose(0, axis)?;
        let mut padded = first.clone();
        if first.shape()[0] < longest {
            let mut extents = first.shape().to_vec();
            extents[0] = longest - first.shape()[0];
            let rest = Tensor::full_on(Shape::from(extents), 0, first.dtype(), first.device())?;
            padded = Tensor::concat(&[&first, &rest], 0)?;
        }
        let all = self.group.all_gather(&padded)?;
        let whole = if self.extent.is_multiple_of(size) {
            all
        } else {
            let rows = |rank| all.narrow(0, rank * longest, part(self.extent, rank, size).len());
            let parts: Vec<Tensor> = (0..size).map(rows).collect::<Result<_>>()?;
            Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0)?
        };
        whole.transpose(0, axis)
    }

    /// Elementwise work: applies `f` to this rank's part; it must keep the extent of the sharded axis.
    pub fn map(&self, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Sharded> {
        let local = f(&self.local)?;
        let kept =
            local.shape().rank() > self.axis && local.shape()[self.axis] == self.local.shape()[self.axis];
        if !kept {
            let expected =
                format!("axis {} unchanged; call gather() first for ops that change it", self.axis);
            return Err(Error::shape("map", &[self.local.shape(), local.shape()], expected));
        }
        Ok(Sharded { local, ..self.clone() })
    }

    /// Elementwise work on two tensors sharded along the same axis.
    pub fn zip(
        &self,
        other: &Sharded,
        f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Sharded> {
        if self.group != other.group || self.axis != other.axis || self.extent != other.extent {
            let expected = format!(
                "tensors sharded along the same axis, but they are sharded along axes {} and {}; call gather() on one of them",
                self.axis, other.axis
            );
            return Err(Error::shape("zip", &[&self.shape(), &other.shape()], expected));
        }
        self.map(|local| f(local, &other.local))
    }

    /// The sum over axes, which may include the sharded one: complete, on every rank.
    pub fn sum(&self, axes: &[isize], keep: bool) -> Result<Tensor> {
        self.reduced("sum", ReduceOp::Sum, axes, |local| local.sum_axes(axes, keep))
    }

    /// The maximum over axes that include the sharded one, on every rank.
    pub fn max(&self, axes: &[isize], keep: bool) -> Result<Tensor> {
        self.reduced("max", ReduceOp::Max, axes, |local| local.max_axes(axes, keep))
    }

    /// The minimum over axes that include the sharded one, on every rank.
    pub fn min(&self, axes: &[isize], keep: bool) -> Result<Tensor> {
        self.reduced("min", ReduceOp::Min, axes, |local| local.min_axes(axes, keep))
    }

    fn reduced(
        &self,
        op: &'static str,
        combine: ReduceOp,
        axes: &[isize],
        reduce: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let shape = self.local.shape();
        let axes: Vec<usize> = axes.iter().map(|&axis| shape.axis(op, axis)).collect::<Result<_>>()?;
        if !axes.contains(&self.axis) {
            let detail = format!(
                "the sharded axis {} is not being reduced; use map() for the other axes, or call gather() first",
                self.axis
            );
            return Err(Error::argument(op, detail));
        }
        // Some ranks have nothing, of which there is no largest element; all of it is little.
        if self.extent < self.group.size() {
            return reduce(&self.gather()?);
        }
        self.group.all_reduce(combine, &reduce(&self.local)?)
    }

    /// `self · other` for a tensor that every rank has: the rows of the left operand are sharded, and so are those of
    /// the result. If its columns are sharded, `other` must be sharded along its rows: see
    /// [`Sharded::matmul_sharded`]; for matrices cut along both axes, see [`Grid`](super::Grid).
    pub fn matmul(&self, other: &Tensor) -> Result<Sharded> {
        let rank = self.local.shape().rank();
        if rank < 2 || self.axis != rank - 2 {
            let expected = "a left operand sharded along its rows".to_string();
            return Err(Error::shape("matmul", &[&self.shape(), other.shape()], expected));
        }
        let local = self.local.matmul(other)?;
        Ok(Sharded { local, ..self.clone() })
    }

    /// `self · other` of two sharded matrices, columns by rows: each rank multiplies its part, and the parts are
    /// summed; complete, on every rank.
    pub fn matmul_sharded(&self, other: &Sharded) -> Result<Tensor> {
        let (left, right) = (self.local.shape().rank(), other.local.shape().rank());
        let fits = left >= 2 && right >= 2 && self.axis == left - 1 && other.axis == right - 2;
        if !fits || self.group != other.group || self.extent != other.extent {
            let expected =
                "a left operand sharded along its columns and a right operand along its rows".to_string();
            return Err(Error::shape("matmul", &[&self.shape(), &other.shape()], expected));
        }
        self.group.all_sum(&self.local.matmul(&other.local)?)
    }
}

impl Tensor {
    /// `self · other` for a right operand sharded along its columns, like the result.
    pub fn matmul_columns(&self, other: &Sharded) -> Result<Sharded> {
        let rank = other.local.shape().rank();
        if rank < 2 || other.axis != rank - 1 {
            let expected = "a right operand sharded along its columns".to_string();
            return Err(Error::shape("matmul", &[self.shape(), &other.shape()], expected));
        }
        let local = self.matmul(&other.local)?;
        let axis = local.shape().rank() - 1;
        Ok(Sharded { local, axis, ..other.clone() })
    }
}
