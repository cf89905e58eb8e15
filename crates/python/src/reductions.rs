//! Reductions, scans, sorts and row-wise functions.

use crate::array::{PyArray, array};
use crate::dtype::optional_dtype;
use crate::errors::OrRaise;
use crate::movement::axes;
use pyo3::prelude::*;
use wootz::{Axis, Tensor};

fn every(tensor: &Tensor) -> Vec<Axis> {
    (0..tensor.rank() as isize).collect()
}

/// A tensor and the axes to reduce.
fn over(own: &PyArray, axis: Option<&Bound<'_, PyAny>>) -> PyResult<(Tensor, Vec<Axis>)> {
    let tensor = own.tensor();
    let axes = axes(axis)?.unwrap_or_else(|| every(&tensor));
    Ok((tensor, axes))
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        #[pymethods]
        impl PyArray {
            $(#[$doc])*
            #[pyo3(signature = (axis=None, keepdims=false))]
            fn $name(&self, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<PyArray> {
                let (tensor, axes) = over(self, axis)?;
                array(tensor.$method(axes, keepdims))
            }
        }
    )*};
}
reductions! {
    /// The smallest element along axes; NaN if there is one.
    min min_axes;
    /// The largest element along axes; NaN if there is one.
    max max_axes;
    /// Whether any element along axes is true or non-zero.
    any any_axes;
    /// Whether all elements along axes are true or non-zero.
    all all_axes;
    /// ``ln Σ eˣ`` along axes, without overflow.
    logsumexp logsumexp;
    /// The number of true or non-zero elements along axes.
    count_nonzero count_nonzero;
}

/// Sums and products have their own result dtype: the requested one, or one that is wide enough.
fn widened(tensor: Tensor, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Tensor> {
    match optional_dtype(dtype)? {
        Some(dtype) => tensor.cast(dtype).or_raise(),
        None => Ok(tensor),
    }
}

/// Requested small integers are narrowed from the 64 bits they were summed in.
fn narrowed(result: wootz::Result<Tensor>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
    let result = result.or_raise()?;
    match optional_dtype(dtype)? {
        Some(dtype) => array(result.cast(dtype)),
        None => Ok(PyArray::new(result)),
    }
}

#[pymethods]
impl PyArray {
    /// The sum along axes; small integers and bool are summed in 64 bits unless a dtype is given.
    #[pyo3(signature = (axis=None, dtype=None, keepdims=false))]
    fn sum(
        &self,
        axis: Option<&Bound<'_, PyAny>>,
        dtype: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let (tensor, axes) = over(self, axis)?;
        narrowed(widened(tensor, dtype)?.sum_axes(axes, keepdims), dtype)
    }

    /// The product along axes; small integers and bool are multiplied in 64 bits unless a dtype is given.
    #[pyo3(signature = (axis=None, dtype=None, keepdims=false))]
    fn prod(
        &self,
        axis: Option<&Bound<'_, PyAny>>,
        dtype: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let (tensor, axes) = over(self, axis)?;
        narrowed(widened(tensor, dtype)?.prod_axes(axes, keepdims), dtype)
    }

    /// The mean along axes; NaN if there are no elements.
    #[pyo3(signature = (axis=None, keepdims=false, *, dtype=None))]
    fn mean(
        &self,
        axis: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let (tensor, axes) = over(self, axis)?;
        array(widened(tensor, dtype)?.mean_axes(axes, keepdims))
    }

    /// The variance along axes, with ``correction`` subtracted from the count.
    #[pyo3(signature = (axis=None, correction=0.0, keepdims=false, *, ddof=None, dtype=None))]
    fn var(
        &self,
        axis: Option<&Bound<'_, PyAny>>,
        correction: f64,
        keepdims: bool,
        ddof: Option<f64>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let (tensor, axes) = over(self, axis)?;
        array(widened(tensor, dtype)?.var_axes(axes, ddof.unwrap_or(correction), keepdims))
    }

    /// The standard deviation along axes, with ``correction`` subtracted from the count.
    #[pyo3(signature = (axis=None, correction=0.0, keepdims=false, *, ddof=None, dtype=None))]
    fn std(
        &self,
        axis: Option<&Bound<'_, PyAny>>,
        correction: f64,
        keepdims: bool,
        ddof: Option<f64>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let (tensor, axes) = over(self, axis)?;
        array(widened(tensor, dtype)?.std_axes(axes, ddof.unwrap_or(correction), keepdims))
    }

    /// The position of the first minimum, along an axis or in the flattened array.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn argmin(&self, axis: Option<isize>, keepdims: bool) -> PyResult<PyArray> {
        arg(self.tensor(), axis, keepdims, Tensor::argmin)
    }

    /// The position of the first maximum, along an axis or in the flattened array.
    #[pyo3(signature = (axis=None, keepdims=false))]
    fn argmax(&self, axis: Option<isize>, keepdims: bool) -> PyResult<PyArray> {
        arg(self.tensor(), axis, keepdims, Tensor::argmax)
    }

    /// The cumulative sum along an axis, or of the flattened array.
    #[pyo3(signature = (axis=None, dtype=None))]
    fn cumsum(&self, axis: Option<isize>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        let (tensor, axis) = flat_without(self.tensor(), axis)?;
        narrowed(widened(tensor, dtype)?.cumsum(axis), dtype)
    }

    /// The cumulative product along an axis, or of the flattened array.
    #[pyo3(signature = (axis=None, dtype=None))]
    fn cumprod(&self, axis: Option<isize>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        let (tensor, axis) = flat_without(self.tensor(), axis)?;
        narrowed(widened(tensor, dtype)?.cumprod(axis), dtype)
    }

    /// The elements sorted along an axis, stably; NaN sorts last.
    #[pyo3(signature = (axis=-1, descending=false))]
    fn sort(&self, axis: isize, descending: bool) -> PyResult<PyArray> {
        array(self.tensor().sort(axis, descending))
    }

    /// The indices that ``sort`` would use.
    #[pyo3(signature = (axis=-1, descending=false))]
    fn argsort(&self, axis: isize, descending: bool) -> PyResult<PyArray> {
        array(self.tensor().argsort(axis, descending))
    }

    /// Where each of ``values`` would be inserted into this sorted vector: before its equals, or (``right``) behind them.
    #[pyo3(signature = (values, right=false))]
    fn _search_sorted(&self, values: PyRef<'_, PyArray>, right: bool) -> PyResult<PyArray> {
        array(self.tensor().search_sorted(&values.tensor(), right))
    }

    /// The ``k`` largest elements along an axis, largest first, and their positions.
    #[pyo3(signature = (k, axis=-1))]
    fn top_k(&self, k: usize, axis: isize) -> PyResult<(PyArray, PyArray)> {
        let (values, positions) = self.tensor().top_k(k, axis).or_raise()?;
        Ok((PyArray::new(values), PyArray::new(positions)))
    }

    /// ``eˣ / Σ eˣ`` along an axis.
    #[pyo3(signature = (axis=-1))]
    fn softmax(&self, axis: isize) -> PyResult<PyArray> {
        array(self.tensor().softmax(axis))
    }

    /// The logarithm of the softmax along an axis.
    #[pyo3(signature = (axis=-1))]
    fn log_softmax(&self, axis: isize) -> PyResult<PyArray> {
        array(self.tensor().log_softmax(axis))
    }

    /// ``x / √(mean(x²) + eps) · weight`` along the last axis.
    #[pyo3(signature = (weight=None, eps=1e-5))]
    fn rms_norm(&self, weight: Option<PyRef<'_, PyArray>>, eps: f64) -> PyResult<PyArray> {
        let weight = weight.map(|w| w.tensor());
        array(self.tensor().rms_norm(weight.as_ref(), eps))
    }

    /// ``(x − mean) / √(var + eps) · weight + bias`` along the last axis.
    #[pyo3(signature = (weight=None, bias=None, eps=1e-5))]
    fn layer_norm(
        &self,
        weight: Option<PyRef<'_, PyArray>>,
        bias: Option<PyRef<'_, PyArray>>,
        eps: f64,
    ) -> PyResult<PyArray> {
        let (weight, bias) = (weight.map(|w| w.tensor()), bias.map(|b| b.tensor()));
        array(self.tensor().layer_norm(weight.as_ref(), bias.as_ref(), eps))
    }
}

/// A tensor and an axis of it; the flattened tensor if no axis is given.
fn flat_without(tensor: Tensor, axis: Option<isize>) -> PyResult<(Tensor, isize)> {
    match axis {
        Some(axis) => Ok((tensor, axis)),
        None => Ok((tensor.flatten().or_raise()?, 0)),
    }
}

fn arg(
    tensor: Tensor,
    axis: Option<isize>,
    keepdims: bool,
    find: impl Fn(&Tensor, Axis) -> wootz::Result<Tensor>,
) -> PyResult<PyArray> {
    let rank = tensor.rank();
    let (tensor, at) = match axis {
        Some(axis) => {
            let at = tensor.shape().axis("argmin/argmax", axis).or_raise()?;
            (tensor, at as isize)
        }
        None => (tensor.flatten().or_raise()?, 0),
    };
    let found = find(&tensor, at).or_raise()?;
    if !keepdims {
        return Ok(PyArray::new(found));
    }
    match axis {
        Some(_) => array(found.unsqueeze(at)),
        None => array(found.reshape(vec![1; rank])),
    }
}
