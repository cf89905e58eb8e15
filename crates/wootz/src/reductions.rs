//! Reductions, scans, sorts and row-wise functions.

use crate::tensor::{Axis, Tensor};
use wootz_ir::op::{ArgOp, Axes, ReduceOp, ScanOp};
use wootz_ir::{DType, Error, Number, Result, build};

macro_rules! reductions {
    ($($(#[$doc:meta])* $all:ident $axes:ident $op:ident;)*) => {
        /// Reductions. The plain form reduces all axes; `_axes` reduces a set of axes, optionally keeping them with
        /// extent 1.
        impl Tensor {$(
            $(#[$doc])*
            pub fn $all(&self) -> Result<Tensor> {
                self.reduce(ReduceOp::$op, (0..self.rank()).collect(), false)
            }

            $(#[$doc])*
            pub fn $axes(&self, axes: impl AsRef<[Axis]>, keepdims: bool) -> Result<Tensor> {
                let axes = self.axes(ReduceOp::$op.name(), axes.as_ref())?;
                self.reduce(ReduceOp::$op, axes, keepdims)
            }
        )*}
    };
}
reductions! {
    /// The sum; small integers and bool are summed in 64 bits.
    sum sum_axes Sum;
    /// The product; small integers and bool are multiplied in 64 bits.
    prod prod_axes Prod;
    /// The smallest element; NaN if there is one.
    min min_axes Min;
    /// The largest element; NaN if there is one.
    max max_axes Max;
    /// Whether any element is true or non-zero.
    any any_axes Any;
    /// Whether all elements are true or non-zero.
    all all_axes All;
}

impl Tensor {
    fn reduce(&self, op: ReduceOp, axes: Axes, keepdims: bool) -> Result<Tensor> {
        self.wrap(build::reduce(op, &self.node, axes, keepdims))
    }

    fn axes(&self, op: &'static str, axes: &[Axis]) -> Result<Axes> {
        let mut set = Axes::default();
        for &axis in axes {
            let resolved = self.shape().axis(op, axis)?;
            if set.contains(resolved) {
                return Err(Error::argument(op, format!("axis {axis} is given twice in {axes:?}")));
            }
            set = set.with(resolved);
        }
        Ok(set)
    }

    fn every_axis(&self) -> Vec<Axis> {
        (0..self.rank() as isize).collect()
    }

    /// The number of elements along a set of axes.
    fn extent(&self, op: &'static str, axes: &[Axis]) -> Result<usize> {
        Ok(self.axes(op, axes)?.iter().map(|a| self.shape()[a]).product())
    }

    /// The mean of all elements.
    pub fn mean(&self) -> Result<Tensor> {
        self.mean_axes(self.every_axis(), false)
    }

    /// The mean along axes; NaN if there are no elements.
    pub fn mean_axes(&self, axes: impl AsRef<[Axis]>, keepdims: bool) -> Result<Tensor> {
        let axes = axes.as_ref();
        let count = self.extent("mean", axes)?;
        let x = self.cast(self.dtype().to_float())?;
        x.sum_axes(axes, keepdims)?.div(count as f64)
    }

    /// The variance of all elements, with `correction` subtracted from the count.
    pub fn var(&self, correction: f64) -> Result<Tensor> {
        self.var_axes(self.every_axis(), correction, false)
    }

    /// The variance along axes, in two passes: first the mean, then the mean squared deviation.
    pub fn var_axes(&self, axes: impl AsRef<[Axis]>, correction: f64, keepdims: bool) -> Result<Tensor> {
        let axes = axes.as_ref();
        let count = self.extent("var", axes)? as f64;
        let x = self.cast(self.dtype().to_float())?;
        let centred = x.sub(x.mean_axes(axes, true)?)?;
        centred.square()?.sum_axes(axes, keepdims)?.div((count - correction).max(0.0))
    }

    /// The standard deviation of all elements.
    pub fn std(&self, correction: f64) -> Result<Tensor> {
        self.var(correction)?.sqrt()
    }

    /// The standard deviation along axes.
    pub fn std_axes(&self, axes: impl AsRef<[Axis]>, correction: f64, keepdims: bool) -> Result<Tensor> {
        self.var_axes(axes, correction, keepdims)?.sqrt()
    }

    /// `ln Σ eˣ` along axes, without overflow; −∞ if all elements are −∞ or there are none.
    pub fn logsumexp(&self, axes: impl AsRef<[Axis]>, keepdims: bool) -> Result<Tensor> {
        let axes = axes.as_ref();
        let x = self.cast(self.dtype().to_float())?;
        let max = x.max_axes(axes, true)?;
        // An infinite maximum would turn into NaN when subtracted.
        let anchor = max.isfinite()?.where_(&max, max.zeros_like()?)?;
        let sum = x.sub(&anchor)?.exp()?.sum_axes(axes, true)?;
        let result = sum.log()?.add(&anchor)?;
        if keepdims {
            return Ok(result);
        }
        let dropped = self.axes("logsumexp", axes)?;
        let shape: wootz_ir::Shape =
            (0..self.rank()).filter(|&a| !dropped.contains(a)).map(|a| self.shape()[a]).collect();
        result.reshape(shape)
    }

    /// The number of true or non-zero elements along axes.
    pub fn count_nonzero(&self, axes: impl AsRef<[Axis]>, keepdims: bool) -> Result<Tensor> {
        self.cast(DType::Bool)?.sum_axes(axes, keepdims)
    }

    /// The position of the first minimum along an axis.
    pub fn argmin(&self, axis: Axis) -> Result<Tensor> {
        self.wrap(build::arg_reduce(ArgOp::Min, &self.node, axis))
    }

    /// The position of the first maximum along an axis.
    pub fn argmax(&self, axis: Axis) -> Result<Tensor> {
        self.wrap(build::arg_reduce(ArgOp::Max, &self.node, axis))
    }

    /// The cumulative sum along an axis.
    pub fn cumsum(&self, axis: Axis) -> Result<Tensor> {
        self.wrap(build::scan(ScanOp::Sum, &self.node, axis))
    }

    /// The cumulative product along an axis.
    pub fn cumprod(&self, axis: Axis) -> Result<Tensor> {
        self.wrap(build::scan(ScanOp::Prod, &self.node, axis))
    }

    /// The elements sorted along an axis, stably; NaN sorts last.
    pub fn sort(&self, axis: Axis, descending: bool) -> Result<Tensor> {
        self.wrap(build::sort(&self.node, axis, descending, None))
    }

    /// The indices that [`Tensor::sort`] would use.
    pub fn argsort(&self, axis: Axis, descending: bool) -> Result<Tensor> {
        self.wrap(build::argsort(&self.node, axis, descending, None))
    }

    /// Where each of `values` would be inserted into this vector, which must be sorted in ascending order, to keep it sorted:
    /// before equal elements, or (`right`) behind them. NaN sorts last.
    ///
    /// ```
    /// # fn main() -> wootz::Result<()> {
    /// let edges = wootz::Tensor::from_slice(&[0.0f32, 10.0, 20.0])?;
    /// let values = wootz::Tensor::from_slice(&[-1.0f32, 10.0, 15.0])?;
    /// assert_eq!(edges.search_sorted(&values, false)?.to_vec::<i64>()?, [0, 1, 2]);
    /// assert_eq!(edges.search_sorted(&values, true)?.to_vec::<i64>()?, [0, 2, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn search_sorted(&self, values: &Tensor, right: bool) -> Result<Tensor> {
        self.wrap(build::search_sorted(&self.node, &values.node, right))
    }

    /// The `k` largest elements along an axis, largest first, and their positions.
    pub fn top_k(&self, k: usize, axis: Axis) -> Result<(Tensor, Tensor)> {
        let values = self.wrap(build::sort(&self.node, axis, true, Some(k)))?;
        let positions = self.wrap(build::argsort(&self.node, axis, true, Some(k)))?;
        Ok((values, positions))
    }

    /// `eˣ / Σ eˣ` along an axis.
    pub fn softmax(&self, axis: Axis) -> Result<Tensor> {
        self.wrap(build::softmax(&self.node, axis, false))
    }

    /// The logarithm of the softmax along an axis.
    pub fn log_softmax(&self, axis: Axis) -> Result<Tensor> {
        self.wrap(build::softmax(&self.node, axis, true))
    }

    /// `x / √(mean(x²) + eps) · weight` along the last axis.
    pub fn rms_norm(&self, weight: Option<&Tensor>, eps: f64) -> Result<Tensor> {
        self.wrap(build::rms_norm(&self.node, weight.map(|w| &w.node), eps))
    }

    /// `(x − mean) / √(var + eps) · weight + bias` along the last axis.
    pub fn layer_norm(&self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
        self.wrap(build::layer_norm(&self.node, weight.map(|w| &w.node), bias.map(|b| &b.node), eps))
    }

    /// The only element as a float.
    pub fn to_f64(&self) -> Result<f64> {
        self.item().map(Number::to_f64)
    }
}
