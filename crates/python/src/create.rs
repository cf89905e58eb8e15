//! Array creation.

use crate::array::{PyArray, array};
use crate::convert::{Copying, Int, check_fits, default_dtype, number_of, tensor_of, typed_number};
use crate::device::device_of;
use crate::dtype::optional_dtype;
use crate::errors::raise;
use crate::movement::shape_of;
use pyo3::prelude::*;
use wootz::{DType, Number, Tensor};

/// Converts an object to an array, sharing its memory if possible unless ``copy`` says otherwise.
#[pyfunction]
#[pyo3(signature = (obj, /, dtype=None, *, device=None, copy=None))]
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

/// A number and its dtype, if it has one of its own.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<(Number, DType)> {
    if let Ok(own) = object.cast::<PyArray>() {
        return Ok((own.get().number(object.py())?, own.get().tensor().dtype()));
    }
    if let Some(typed) = typed_number(object)? {
        return Ok(typed);
    }
    let found = match number_of(object)? {
        Some(number) => Some(number),
        None => object.extract::<f64>().ok().map(Number::Float),
    };
    let message = || format!("expected a number, not a {}", class_name(object));
    found.map(|n| (n, default_dtype(n))).ok_or_else(|| raise("ConversionError", message()))
}

/// The Python class name of an object.
pub fn class_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string())
}

/// An array filled with ``value``.
#[pyfunction]
#[pyo3(signature = (shape, fill_value, dtype=None, *, device=None))]
pub fn full(
    shape: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let (value, own) = number(fill_value)?;
    let dtype = optional_dtype(dtype)?.unwrap_or(own);
    check_fits(value, dtype)?;
    array(Tensor::full_on(shape_of(shape)?, value, dtype, &device_of(device)?))
}

/// ``start, start + step, …`` up to but not including ``stop``.
#[pyfunction]
#[pyo3(signature = (start, /, stop=None, step=None, dtype=None, *, device=None))]
pub fn arange(
    start: &Bound<'_, PyAny>,
    stop: Option<&Bound<'_, PyAny>>,
    step: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let zero = (Number::Int(0), DType::I64);
    let (start, stop) = match stop {
        Some(stop) => (number(start)?, number(stop)?),
        None => (zero, number(start)?),
    };
    let step = step.map(number).transpose()?.unwrap_or((Number::Int(1), DType::I64));
    let dtype = match optional_dtype(dtype)? {
        Some(dtype) => dtype,
        // The widest float, or 64 bits.
        None => {
            let floats = [start.1, stop.1, step.1].into_iter().filter(|d| d.is_float());
            floats.reduce(|a, b| a.promote(b).unwrap_or(DType::F64)).unwrap_or(DType::I64)
        }
    };
    let (start, stop, step) = (start.0, stop.0, step.0);
    let device = device_of(device)?;
    array(Tensor::arange_on(start, stop, step, dtype, &device))
}

/// ``num`` evenly spaced numbers from ``start`` to ``stop``, including ``stop`` if ``endpoint``; integers are rounded down.
#[pyfunction]
#[pyo3(signature = (start, stop, num=50, endpoint=true, *, dtype=None, device=None))]
pub fn linspace(
    start: f64,
    stop: f64,
    num: isize,
    endpoint: bool,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let count =
        usize::try_from(num).map_err(|_| raise("ArgumentError", format!("linspace: {num} numbers")))?;
    let dtype = optional_dtype(dtype)?.unwrap_or(DType::F32);
    let device = device_of(device)?;
    if !dtype.is_integer() {
        return array(Tensor::linspace_on(start, stop, count, endpoint, dtype, &device));
    }
    // Integers are rounded down, as NumPy does.
    let values = Tensor::linspace_on(start, stop, count, endpoint, DType::F64, &device);
    array(values.and_then(|values| values.floor()).and_then(|values| values.cast(dtype)))
}

/// Ones on diagonal ``k``, zeros elsewhere.
#[pyfunction]
#[pyo3(signature = (n_rows, n_cols=None, /, k=Int(0), dtype=None, *, device=None), text_signature = "(n_rows, n_cols=None, /, k=0, dtype=None, *, device=None)")]
pub fn eye(
    n_rows: Int<i64>,
    n_cols: Option<Int<i64>>,
    k: Int<i64>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let extent = |n: i64| {
        usize::try_from(n)
            .map_err(|_| raise("ShapeError", format!("eye: invalid number of rows or columns: {n}")))
    };
    let (rows, columns) = (extent(n_rows.0)?, extent(n_cols.map_or(n_rows.0, |n| n.0))?);
    let dtype = optional_dtype(dtype)?.unwrap_or(DType::F32);
    array(Tensor::eye_on(rows, columns, k.0, dtype, &device_of(device)?))
}
