//! Collectives as graph nodes.

use super::Group;
use super::kernels::Collective;
use crate::device::Device;
use crate::tensor::Tensor;
use wootz_ir::{DType, Error, Result, Shape};
use wootz_mpi::ReduceOp;

impl Group {
    /// The elementwise sum over all ranks, on every rank.
    pub fn all_sum(&self, x: &Tensor) -> Result<Tensor> {
        self.all_reduce(ReduceOp::Sum, x)
    }

    /// The elementwise maximum over all ranks, on every rank; NaN if any rank has NaN.
    pub fn all_max(&self, x: &Tensor) -> Result<Tensor> {
        self.all_reduce(ReduceOp::Max, x)
    }

    /// The elementwise minimum over all ranks, on every rank; NaN if any rank has NaN.
    pub fn all_min(&self, x: &Tensor) -> Result<Tensor> {
        self.all_reduce(ReduceOp::Min, x)
    }

    /// The elementwise reduction over all ranks, on every rank. Integers wrap; sum and max of booleans are "or", min
    /// is "and".
    pub fn all_reduce(&self, op: ReduceOp, x: &Tensor) -> Result<Tensor> {
        self.node(Collective::AllReduce(op), &[x], x.shape().clone(), x.dtype())
    }

    /// The tensors of all ranks concatenated along their first axis, in rank order, on every rank; scalars become a
    /// vector.
    pub fn all_gather(&self, x: &Tensor) -> Result<Tensor> {
        if x.shape().rank() == 0 {
            return self.all_gather(&x.reshape([1])?);
        }
        let mut extents = x.shape().to_vec();
        extents[0] = extents[0]
            .checked_mul(self.size())
            .ok_or_else(|| Error::argument("all_gather", format!("{} has too many elements", x.shape())))?;
        self.node(Collective::AllGather, &[x], extents.into(), x.dtype())
    }

    /// The elementwise sum over all ranks, scattered: each rank gets its part of the first axis.
    pub fn sum_scatter(&self, x: &Tensor) -> Result<Tensor> {
        self.reduce_scatter(ReduceOp::Sum, x)
    }

    /// The elementwise reduction over all ranks, scattered: each rank gets its part of the first axis.
    pub fn reduce_scatter(&self, op: ReduceOp, x: &Tensor) -> Result<Tensor> {
        let shape = x.shape();
        if shape.rank() == 0 || !shape[0].is_multiple_of(self.size()) {
            let expected = format!("a first axis that is a multiple of the {} ranks", self.size());
            return Err(Error::shape("reduce_scatter", &[shape], expected));
        }
        let mut extents = shape.to_vec();
        extents[0] /= self.size();
        self.node(Collective::ReduceScatter(op), &[x], extents.into(), x.dtype())
    }

    /// Rank `root`'s tensor on every rank. All ranks pass a tensor of the same shape and dtype; only the root's is
    /// read.
    pub fn broadcast(&self, x: &Tensor, root: usize) -> Result<Tensor> {
        self.check("broadcast", root)?;
        let (shape, dtype) = (x.shape().clone(), x.dtype());
        if self.rank() == root {
            return self.node(Collective::BroadcastFrom(root), &[x], shape, dtype);
        }
        self.broadcast_after(&self.mark(x.device())?, shape, dtype, root)
    }

    /// Rank `root`'s tensor on a rank that is not the root, once `before` has been computed.
    pub fn broadcast_after(
        &self,
        before: &Tensor,
        shape: impl Into<Shape>,
        dtype: DType,
        root: usize,
    ) -> Result<Tensor> {
        self.check("broadcast", root)?;
        let shape = shape.into();
        self.node(Collective::BroadcastTo(root, shape.clone(), dtype), &[before], shape, dtype)
    }

    /// Sends a tensor to a rank that receives one of its shape and dtype. Returns the same tensor: it is sent when
    /// the result is evaluated.
    pub fn send(&self, x: &Tensor, to: usize) -> Result<Tensor> {
        self.check_other("send", to)?;
        self.node(Collective::Send(to), &[x, &self.mark(x.device())?], x.shape().clone(), x.dtype())
    }

    /// Sends a tensor; the result is one byte, for ops that must come after it.
    pub fn send_mark(&self, x: &Tensor, to: usize) -> Result<Tensor> {
        self.check_other("send", to)?;
        self.node(Collective::Send(to), &[x], Shape::from([1]), DType::U8)
    }

    /// Receives a tensor from another rank.
    pub fn recv(
        &self,
        shape: impl Into<Shape>,
        dtype: DType,
        from: usize,
        device: &Device,
    ) -> Result<Tensor> {
        self.recv_after(&self.mark(device)?, shape, dtype, from)
    }

    /// Receives a tensor with the shape and dtype of this one.
    pub fn recv_like(&self, x: &Tensor, from: usize) -> Result<Tensor> {
        self.recv(x.shape().clone(), x.dtype(), from, x.device())
    }

    /// Receives a tensor once `before` has been computed.
    pub fn recv_after(
        &self,
        before: &Tensor,
        shape: impl Into<Shape>,
        dtype: DType,
        from: usize,
    ) -> Result<Tensor> {
        self.check_other("recv", from)?;
        let shape = shape.into();
        self.node(Collective::Receive(from, shape.clone(), dtype), &[before], shape, dtype)
    }

    fn check(&self, op: &'static str, rank: usize) -> Result<()> {
        if rank < self.size() {
            return Ok(());
        }
        Err(Error::argument(op, format!("there is no rank {rank} in a group of {}", self.size())))
    }

    fn check_other(&self, op: &'static str, rank: usize) -> Result<()> {
        self.check(op, rank)?;
        if rank == self.rank() {
            return Err(Error::argument(op, format!("rank {rank} is this rank")));
        }
        Ok(())
    }

    /// A unique operand: two messages to the same rank stay two, although the planner merges equal nodes.
    fn mark(&self, device: &Device) -> Result<Tensor> {
        Tensor::full_on(Shape::scalar(), 0, DType::U8, device)
    }

    fn node(
        &self,
        collective: Collective,
        operands: &[&Tensor],
        shape: Shape,
        dtype: DType,
    ) -> Result<Tensor> {
        let Some(ranks) = self.ranks().filter(|_| !self.is_alone()) else { return Ok(operands[0].clone()) };
        let kernel = self.0.kernels.get(ranks, collective);
        let device = operands[0].device();
        let direct = device.candidates().is_some() || device.backend().runs_custom(&kernel);
        if direct {
            return Tensor::custom(&kernel, operands, shape, dtype);
        }
        let host = Device::cpu();
        let staged: Vec<Tensor> = operands.iter().map(|x| x.to_device(&host)).collect::<Result<_>>()?;
        Tensor::custom(&kernel, &staged.iter().collect::<Vec<_>>(), shape, dtype)?.to_device(device)
    }
}
