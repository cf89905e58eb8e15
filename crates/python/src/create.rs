//! Arrays from nothing, from objects and from files.

use crate::array::{PyArray, array};
use crate::convert::{Copying, check_fits, default_dtype, number_of, tensor_of};
use crate::device::device_of;
use crate::dtype::{dtype_of, optional_dtype};
use crate::errors::raise;
use crate::movement::shape_of;
use pyo3::prelude::*;
use std::path::PathBuf;
use wootz::{DType, Number, Tensor};

/// An object as an array: shared with its memory where that is possible, unless ``copy`` says otherwise.
#[pyfunction]
#[pyo3(signature = (obj, /, *, dtype=None, device=None, copy=None))]
pub fn asarray(
    obj: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    copy: Option<bool>,
) -> PyResult<PyArray> {
    let device = match (device, obj.cast::<PyArray>()) {
        (None, Ok(own)) => own.get().tensor().device().clone(),
        (device, _) => device_of(device)?,
    };
    tensor_of(obj, optional_dtype(dtype)?, &device, Copying::from_option(copy)).map(PyArray::new)
}

fn number(object: &Bound<'_, PyAny>) -> PyResult<Number> {
    if let Some(number) = number_of(object)? {
        return Ok(number);
    }
    if let Ok(own) = object.cast::<PyArray>() {
        return own.get().number(object.py());
    }
    match object.extract::<f64>() {
        Ok(value) => Ok(Number::Float(value)),
        Err(_) => Err(raise("ConversionError", format!("{object} is no number"))),
    }
}

/// Every element ``value``.
#[pyfunction]
#[pyo3(signature = (shape, fill_value, *, dtype=None, device=None))]
pub fn full(
    shape: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let value = number(fill_value)?;
    let dtype = optional_dtype(dtype)?.unwrap_or(default_dtype(value));
    check_fits(value, dtype)?;
    array(Tensor::full_on(shape_of(shape)?, value, dtype, &device_of(device)?))
}

/// ``start, start + step, …`` up to but not including ``stop``.
#[pyfunction]
#[pyo3(signature = (start, /, stop=None, step=None, *, dtype=None, device=None))]
pub fn arange(
    start: &Bound<'_, PyAny>,
    stop: Option<&Bound<'_, PyAny>>,
    step: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let (start, stop) = match stop {
        Some(stop) => (number(start)?, number(stop)?),
        None => (Number::Int(0), number(start)?),
    };
    let step = step.map(number).transpose()?.unwrap_or(Number::Int(1));
    let is_float = [start, stop, step].iter().any(|n| matches!(n, Number::Float(_)));
    let default = if is_float { DType::F32 } else { DType::I64 };
    let dtype = optional_dtype(dtype)?.unwrap_or(default);
    let device = device_of(device)?;
    array(Tensor::arange(start, stop, step, dtype).and_then(|t| t.computed_on(&device)))
}

/// ``num`` numbers from ``start`` to ``stop``, evenly spaced; ``stop`` is the last of them if ``endpoint``.
#[pyfunction]
#[pyo3(signature = (start, stop, /, num, *, dtype=None, device=None, endpoint=true))]
pub fn linspace(
    start: f64,
    stop: f64,
    num: isize,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    endpoint: bool,
) -> PyResult<PyArray> {
    let count =
        usize::try_from(num).map_err(|_| raise("ArgumentError", format!("linspace: {num} numbers")))?;
    let dtype = optional_dtype(dtype)?.unwrap_or(DType::F32);
    let device = device_of(device)?;
    array(Tensor::linspace(start, stop, count, endpoint, dtype).and_then(|t| t.computed_on(&device)))
}

/// Ones on diagonal ``k``, zeros elsewhere.
#[pyfunction]
#[pyo3(signature = (n_rows, n_cols=None, /, *, k=0, dtype=None, device=None))]
pub fn eye(
    n_rows: usize,
    n_cols: Option<usize>,
    k: i64,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let dtype = optional_dtype(dtype)?.unwrap_or(DType::F32);
    let device = device_of(device)?;
    array(Tensor::eye(n_rows, n_cols.unwrap_or(n_rows), k, dtype).and_then(|t| t.computed_on(&device)))
}

/// Uniform floats in ``[0, 1)``; the same seed gives the same numbers on every device.
#[pyfunction]
#[pyo3(signature = (shape, seed, *, dtype=None, device=None))]
pub fn _uniform(
    shape: &Bound<'_, PyAny>,
    seed: u64,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let dtype = optional_dtype(dtype)?.unwrap_or(DType::F32);
    let device = device_of(device)?;
    array(Tensor::uniform(shape_of(shape)?, seed, dtype).and_then(|t| t.computed_on(&device)))
}

/// Normal floats of mean 0 and variance 1.
#[pyfunction]
#[pyo3(signature = (shape, seed, *, dtype=None, device=None))]
pub fn _normal(
    shape: &Bound<'_, PyAny>,
    seed: u64,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let dtype = optional_dtype(dtype)?.unwrap_or(DType::F32);
    let device = device_of(device)?;
    array(Tensor::normal(shape_of(shape)?, seed, dtype).and_then(|t| t.computed_on(&device)))
}

/// Integers from ``low`` up to but not including ``high``.
#[pyfunction]
#[pyo3(signature = (shape, low, high, seed, *, dtype=None, device=None))]
pub fn _integers(
    shape: &Bound<'_, PyAny>,
    low: i64,
    high: i64,
    seed: u64,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let dtype = dtype.map_or(Ok(DType::I64), dtype_of)?;
    let device = device_of(device)?;
    array(Tensor::integers(shape_of(shape)?, low, high, seed, dtype).and_then(|t| t.computed_on(&device)))
}

/// An array from a ``.npy`` file.
#[pyfunction]
#[pyo3(signature = (path, *, device=None))]
pub fn load_npy(py: Python<'_>, path: PathBuf, device: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
    let device = device_of(device)?;
    crate::run::detached(py, || wootz::load_npy_on(&path, &device)).map(PyArray::new)
}

/// Arrays by name from a ``.npz`` file.
#[pyfunction]
#[pyo3(signature = (path, *, device=None))]
pub fn _load_npz(
    py: Python<'_>,
    path: PathBuf,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, PyArray)>> {
    let device = device_of(device)?;
    let found = crate::run::detached(py, || wootz::load_npz_on(&path, wootz::NpzLimits::default(), &device))?;
    Ok(found.into_iter().map(|(name, tensor)| (name, PyArray::new(tensor))).collect())
}

/// Arrays by name from a safetensors file, which is mapped, not read.
#[pyfunction]
#[pyo3(signature = (path, *, device=None))]
pub fn _load_safetensors(
    py: Python<'_>,
    path: PathBuf,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, PyArray)>> {
    let device = device_of(device)?;
    let found = crate::run::detached(py, || wootz::load_safetensors_on(&path, &device))?;
    Ok(found.into_iter().map(|(name, tensor)| (name, PyArray::new(tensor))).collect())
}

/// Writes an array to a ``.npy`` file, whole or not at all.
#[pyfunction]
pub fn save_npy(py: Python<'_>, path: PathBuf, array: PyRef<'_, PyArray>) -> PyResult<()> {
    let tensor = array.evaluated(py)?;
    drop(array);
    crate::run::detached(py, || wootz::save_npy(&path, &tensor))
}

fn named(py: Python<'_>, arrays: Vec<(String, PyRef<'_, PyArray>)>) -> PyResult<Vec<(String, Tensor)>> {
    arrays.into_iter().map(|(name, array)| Ok((name, array.evaluated(py)?))).collect()
}

/// Writes arrays by name to a ``.npz`` file.
#[pyfunction]
pub fn _save_npz(py: Python<'_>, path: PathBuf, arrays: Vec<(String, PyRef<'_, PyArray>)>) -> PyResult<()> {
    let tensors = named(py, arrays)?;
    crate::run::detached(py, || {
        let pairs: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
        wootz::save_npz(&path, &pairs)
    })
}

/// Writes arrays by name to a safetensors file.
#[pyfunction]
pub fn _save_safetensors(
    py: Python<'_>,
    path: PathBuf,
    arrays: Vec<(String, PyRef<'_, PyArray>)>,
) -> PyResult<()> {
    let tensors = named(py, arrays)?;
    crate::run::detached(py, || {
        let pairs: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
        wootz::save_safetensors(&path, &pairs)
    })
}
