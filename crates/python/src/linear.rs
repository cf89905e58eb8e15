//! Products, and attention.

use crate::array::{PyArray, array};
use crate::convert::{Copying, Int, tensor_of};
use crate::errors::{OrRaise, raise};
use pyo3::prelude::*;
use std::sync::Arc;
use wootz::{AttentionOptions, CustomKernel, Device, GpuSource, Language, Number, Tensor};

#[pymethods]
impl PyArray {
    /// The matrix product, as in NumPy.
    #[pyo3(signature = (other, /))]
    fn matmul(&self, other: PyRef<'_, PyArray>) -> PyResult<PyArray> {
        array(self.tensor().matmul(&other.tensor()))
    }

    /// The product summed over the last ``n`` axes of this one and the first ``n`` of the other.
    #[pyo3(name = "_tensordot", signature = (other, n))]
    fn tensordot(&self, other: PyRef<'_, PyArray>, n: Int<usize>) -> PyResult<PyArray> {
        array(self.tensor().tensordot(&other.tensor(), n.0))
    }

    /// The sum of a diagonal of the last two axes.
    #[pyo3(signature = (offset=0))]
    fn trace(&self, offset: isize) -> PyResult<PyArray> {
        array(self.tensor().trace(offset))
    }
}

/// Scaled-dot-product attention of q ``[b, h, t, d]``, k ``[b, g, s, d]`` and v ``[b, g, s, e]``.
///
/// ``mask`` broadcasts to ``[b, h, t, s]``: a bool mask keeps positions where it is true, a float mask is added.
/// ``position`` makes it causal: query ``t`` sees keys up to ``position + t``. ``sinks`` has a score per head that
/// takes part in the softmax but contributes nothing.
#[pyfunction]
#[pyo3(signature = (q, k, v, *, scale=None, mask=None, sinks=None, position=None, window=None, softcap=None))]
pub fn attention(
    q: PyRef<'_, PyArray>,
    k: PyRef<'_, PyArray>,
    v: PyRef<'_, PyArray>,
    scale: Option<f64>,
    mask: Option<PyRef<'_, PyArray>>,
    sinks: Option<PyRef<'_, PyArray>>,
    position: Option<i64>,
    window: Option<usize>,
    softcap: Option<f64>,
) -> PyResult<PyArray> {
    let q = q.tensor();
    let mask = mask.map(|m| m.tensor());
    let sinks = sinks.map(|s| s.tensor());
    let position = position.map(|p| Tensor::scalar_on(p, wootz::DType::I64, q.device()));
    let options = AttentionOptions {
        scale,
        mask: mask.as_ref(),
        sinks: sinks.as_ref(),
        position: position.as_ref(),
        window,
        softcap,
    };
    array(q.attention(&k.tensor(), &v.tensor(), options))
}

/// Einstein summation, as in NumPy's ``einsum``.
#[pyfunction]
#[pyo3(signature = (subscripts, /, *operands))]
pub fn einsum(subscripts: &str, operands: Vec<Bound<'_, PyAny>>) -> PyResult<PyArray> {
    let own = operands.iter().find_map(|o| o.cast::<PyArray>().ok());
    let device = match own {
        Some(own) => own.get().tensor().device().clone(),
        None => Device::current().or_raise()?,
    };
    let tensors: PyResult<Vec<Tensor>> =
        operands.iter().map(|o| tensor_of(o, None, &device, Copying::IfNeeded)).collect();
    let tensors = tensors?;
    array(Tensor::einsum(subscripts, &tensors.iter().collect::<Vec<_>>()))
}

/// A user's kernel as a graph node: it reads arrays in row-major order and writes one result.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Source {
    language: String,
    text: String,
    entry: String,
    grid: (usize, usize, usize),
    group: (usize, usize, usize),
    constants: Vec<(String, f64)>,
}

/// The result of a user's kernel over arrays.
#[pyfunction]
pub fn _custom(
    source: Source,
    inputs: Vec<PyRef<'_, PyArray>>,
    shape: Vec<usize>,
    dtype: crate::dtype::PyDType,
) -> PyResult<PyArray> {
    let language = match source.language.as_str() {
        "msl" => Language::Msl,
        "wgsl" => Language::Wgsl,
        other => {
            return Err(raise(
                "ArgumentError",
                format!("a kernel must be written in msl or wgsl, not {other:?}"),
            ));
        }
    };
    let triple = |(x, y, z): (usize, usize, usize)| [x, y, z];
    let kernel = CustomKernel::new(source.entry.clone()).with_source(GpuSource {
        language,
        text: source.text,
        entry: source.entry,
        grid: triple(source.grid),
        group: triple(source.group),
        constants: source.constants.into_iter().map(|(name, value)| (name, Number::Float(value))).collect(),
    });
    let tensors: Vec<Tensor> = inputs.iter().map(|x| x.tensor()).collect();
    array(Tensor::custom(&Arc::new(kernel), &tensors.iter().collect::<Vec<_>>(), shape, dtype.0))
}
