//! `x[key]` and `x[key] = value`.

use crate::array::{PyArray, array};
use crate::convert::{Copying, number_of, tensor_of};
use crate::errors::{OrRaise, raise};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};
use wootz::{DType, Index, Selector, Tensor};

/// A key's parts.
fn selectors(tensor: &Tensor, key: &Bound<'_, PyAny>) -> PyResult<Vec<Selector>> {
    let items: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let parts: Vec<Selector> = items.iter().map(|item| selector(tensor, item)).collect::<PyResult<_>>()?;
    if parts.iter().filter(|part| matches!(part, Selector::Rest)).count() > 1 {
        return Err(raise("OutOfRangeError", "more than one ellipsis in an index"));
    }
    let named: usize = parts.iter().map(Selector::axes).sum();
    let Some(missing) = tensor.rank().checked_sub(named) else {
        let message = format!("{named} axes are indexed of an array of shape {}", tensor.shape());
        return Err(raise("OutOfRangeError", message));
    };
    check_masks(tensor, &parts, missing)?;
    Ok(parts)
}

/// A mask that does not fit its axes is an index out of range to Python people.
fn check_masks(tensor: &Tensor, parts: &[Selector], rest: usize) -> PyResult<()> {
    let mut axis = 0;
    for part in parts {
        if let Selector::Where(mask) = part {
            let covered = tensor.shape().get(axis..axis + mask.rank());
            if covered.is_some_and(|covered| covered != &**mask.shape()) {
                let message = format!(
                    "a mask of shape {} does not fit axis {axis} and what follows of shape {}",
                    mask.shape(),
                    tensor.shape()
                );
                return Err(raise("OutOfRangeError", message));
            }
        }
        axis += if matches!(part, Selector::Rest) { rest } else { part.axes() };
    }
    Ok(())
}

fn selector(tensor: &Tensor, item: &Bound<'_, PyAny>) -> PyResult<Selector> {
    if item.is_none() {
        return Ok(Selector::Basic(Index::New));
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Selector::Rest);
    }
    if let Ok(slice) = item.cast::<PySlice>() {
        return range(slice).map(Selector::Basic);
    }
    if let Ok(flag) = item.cast::<PyBool>() {
        return Ok(Selector::Where(Tensor::scalar_on(flag.is_true(), DType::Bool, tensor.device())));
    }
    if item.is_instance_of::<PyInt>() {
        return Ok(Selector::Basic(Index::At(item.extract()?)));
    }
    if let Ok(own) = item.cast::<PyArray>() {
        return array_selector(own.get().tensor());
    }
    // Integers of NumPy are indices, its arrays and lists are index arrays.
    if let Ok(index) = item.extract::<i64>()
        && !item.hasattr("__len__")?
    {
        return Ok(Selector::Basic(Index::At(index)));
    }
    match tensor_of(item, None, tensor.device(), Copying::IfNeeded) {
        // An empty list has no kind of its own; here it can only mean no position.
        Ok(index) if index.count() == 0 && index.dtype().is_float() => {
            Ok(Selector::At(index.cast(DType::I64).or_raise()?))
        }
        Ok(index) => array_selector(index),
        Err(_) => {
            let class = item.get_type().name()?.to_string();
            let message =
                format!("an index is an integer, a slice, None, an ellipsis or an array, not {class}");
            Err(raise("OutOfRangeError", message))
        }
    }
}

fn array_selector(index: Tensor) -> PyResult<Selector> {
    match index.dtype() {
        DType::Bool => Ok(Selector::Where(index)),
        dtype if dtype.is_integer() => Ok(Selector::At(index)),
        dtype => {
            let name = crate::dtype::python_name(dtype);
            Err(raise("OutOfRangeError", format!("index arrays hold integers or bools, not {name}")))
        }
    }
}

fn range(slice: &Bound<'_, PySlice>) -> PyResult<Index> {
    let bound = |name: &str| -> PyResult<Option<i64>> {
        let value = slice.getattr(name)?;
        if value.is_none() {
            return Ok(None);
        }
        let value = value.call_method0("__index__")?;
        // Bounds beyond 64 bits are beyond every axis.
        match value.extract::<i64>() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Ok(Some(if value.lt(0)? { i64::MIN / 2 } else { i64::MAX / 2 })),
        }
    };
    let step = bound("step")?.unwrap_or(1);
    if step == 0 {
        return Err(raise("ArgumentError", "a slice with a step of 0"));
    }
    let clamp = |b: Option<i64>| b.map(|b| b.clamp(i64::MIN / 2, i64::MAX / 2));
    Ok(Index::Range { start: clamp(bound("start")?), stop: clamp(bound("stop")?), step })
}

#[pymethods]
impl PyArray {
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let tensor = self.tensor();
        let parts = selectors(&tensor, key)?;
        evaluate_masks(py, &parts)?;
        array(tensor.select(&parts))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.update(py, |tensor| {
            let value = match number_of(value)? {
                Some(number) => Tensor::scalar_on(number, tensor.dtype(), tensor.device()),
                None => tensor_of(value, None, tensor.device(), Copying::IfNeeded)?,
            };
            let parts = selectors(tensor, key)?;
            evaluate_masks(py, &parts)?;
            tensor.select_assign(&parts, &value).or_raise()
        })
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let length = slf.len()?;
        let items: PyResult<Vec<_>> = (0..length).map(|i| slf.get_item(i)).collect();
        Ok(items?.into_pyobject(slf.py())?.try_iter()?.into_any())
    }

    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let tensor = self.tensor();
        let item = tensor_of(item, None, tensor.device(), Copying::IfNeeded)?;
        let any = tensor.equal(&item).and_then(|same| same.any()).or_raise()?;
        Ok(PyArray::new(any).number(py)?.to_f64() != 0.0)
    }
}

/// Masks are computed here, without the interpreter lock, and not while a selection is built.
fn evaluate_masks(py: Python<'_>, parts: &[Selector]) -> PyResult<()> {
    for part in parts {
        if let Selector::Where(mask) = part {
            crate::run::evaluate(py, &[mask])?;
        }
    }
    Ok(())
}
