//! `x[key]` and `x[key] = value`.

use crate::array::{PyArray, array};
use crate::convert::{Copying, check_fits, number_of, scalar, tensor_of, typed_number};
use crate::errors::{OrRaise, raise};
use crate::trace::PyParameter;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering};
use wootz::{DType, Index, Number, Selector, Tensor};

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
    check_positions(tensor, &parts, missing)?;
    Ok(parts)
}

/// Positions that are looked at before anything runs, so that an error can say which is wrong.
const FEW: usize = 4096;

/// A few positions that are known already are checked here; others when they are used.
fn check_positions(tensor: &Tensor, parts: &[Selector], rest: usize) -> PyResult<()> {
    let mut axis = 0;
    for part in parts {
        if let Selector::At(positions) = part
            && positions.count() <= FEW
            && positions.is_ready()
        {
            let extent = tensor.shape()[axis] as i128;
            let outside = |n: &Number| match *n {
                Number::Uint(u) => u as i128 >= extent,
                ref n => !(-extent..extent).contains(&(n.to_i64() as i128)),
            };
            if let Some(wrong) = positions.to_numbers().or_raise()?.iter().find(|n| outside(n)) {
                let shape = tensor.shape();
                let message = format!(
                    "index {wrong} is out of range for axis {axis} with extent {extent} (shape {shape})"
                );
                return Err(raise("OutOfRangeError", message));
            }
        }
        axis += if matches!(part, Selector::Rest) { rest } else { part.axes() };
    }
    Ok(())
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
        let Ok(index) = item.extract() else {
            return Err(raise("OutOfRangeError", format!("index {item} is out of range")));
        };
        return Ok(Selector::Basic(Index::At(index)));
    }
    if let Ok(own) = item.cast::<PyArray>() {
        return array_selector(own.get().tensor());
    }
    if let Ok(parameter) = item.cast::<PyParameter>() {
        return match parameter.get().look() {
            Number::Int(index) => Ok(Selector::Basic(Index::At(index))),
            _ => Err(raise("OutOfRangeError", "an index is an integer, not a float")),
        };
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
                format!("an index is an integer, a slice, None, an ellipsis or an array, not a {class}");
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

/// A value that is assigned to elements of a tensor. A number must fit its dtype; arrays are cast to it.
fn assigned(value: &Bound<'_, PyAny>, tensor: &Tensor) -> PyResult<Tensor> {
    if let Ok(parameter) = value.cast::<PyParameter>() {
        return parameter.get().operand("assignment", tensor);
    }
    match typed_number(value)? {
        Some((number, _)) => scalar(number, Some(tensor.dtype()), tensor.device()),
        None => match number_of(value)? {
            Some(number) => scalar(number, Some(tensor.dtype()), tensor.device()),
            None => tensor_of(value, None, tensor.device(), Copying::IfNeeded),
        },
    }
}

#[pymethods]
impl PyArray {
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let tensor = self.tensor();
        if key.is_exact_instance_of::<PyInt>()
            && let Ok(at) = key.extract()
            && tensor.rank() > 0
        {
            return array(tensor.row(at));
        }
        let parts = selectors(&tensor, key)?;
        evaluate_masks(py, &parts)?;
        array(tensor.select(&parts))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(coordinates) = coordinates(key)
            && self.set_at(py, &coordinates, value)?
        {
            return Ok(());
        }
        self.update(py, |tensor| {
            let value = assigned(value, tensor)?;
            let parts = selectors(tensor, key)?;
            evaluate_masks(py, &parts)?;
            tensor.select_assign(&parts, &value).or_raise()
        })
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyItems> {
        let tensor = self.tensor();
        let Some(&length) = tensor.shape().first() else {
            return Err(raise("ConversionError", "an array without axes has no items"));
        };
        // Computed once and not for every item; a traced function has no values.
        if crate::trace::current() == 0 {
            crate::run::evaluate(py, &[&tensor])?;
        }
        Ok(PyItems { tensor, next: AtomicUsize::new(0), length })
    }

    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let tensor = self.tensor();
        let item = tensor_of(item, None, tensor.device(), Copying::IfNeeded)?;
        let any = tensor.equal(&item).and_then(|same| same.any()).or_raise()?;
        Ok(PyArray::new(any).number(py)?.to_f64() != 0.0)
    }
}

/// The slices of an array along its first axis, one after the other.
#[pyclass(name = "_Items", module = "wootz._native", frozen)]
pub struct PyItems {
    tensor: Tensor,
    next: AtomicUsize,
    length: usize,
}

#[pymethods]
impl PyItems {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self) -> PyResult<Option<PyArray>> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        if at >= self.length {
            return Ok(None);
        }
        array(self.tensor.row(at as i64)).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        self.length.saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

/// The integers of a key that has nothing else.
fn coordinates(key: &Bound<'_, PyAny>) -> Option<SmallVec<[i64; 4]>> {
    if key.is_exact_instance_of::<PyInt>() {
        return Some(SmallVec::from_slice(&[key.extract().ok()?]));
    }
    let tuple = key.cast_exact::<PyTuple>().ok()?;
    let mut coordinates = SmallVec::new();
    for item in tuple.iter_borrowed() {
        if !item.is_exact_instance_of::<PyInt>() {
            return None;
        }
        coordinates.push(item.extract().ok()?);
    }
    Some(coordinates)
}

/// Bytes that are written in place; more are left to a plan, which shares them out among threads.
const FEW_BYTES: usize = 1 << 16;

impl PyArray {
    /// Sets one element, or the slice that leading coordinates name, in place where that is possible: the array is evaluated for
    /// it, since a loop of assignments would otherwise copy it as often. Returns whether it was done.
    fn set_at(&self, py: Python<'_>, coordinates: &[i64], value: &Bound<'_, PyAny>) -> PyResult<bool> {
        if crate::trace::current() != 0 || !self.is_on_host() || value.is_instance_of::<PyParameter>() {
            return Ok(false);
        }
        let number = number_of(value)?;
        let row = match (number, value.cast::<PyArray>()) {
            (Some(_), _) => None,
            (None, Ok(row)) => Some(row.get().evaluated(py)?),
            (None, Err(_)) => return Ok(false),
        };
        if !self.is_ready() {
            self.evaluated(py)?;
        }
        self.try_in_place(|tensor| {
            let dtype = tensor.dtype();
            let slice = tensor.shape().get(coordinates.len()..).unwrap_or_default();
            let count: usize = slice.iter().product();
            if count * dtype.size() > FEW_BYTES {
                return Ok(false);
            }
            match (number, &row) {
                (Some(number), _) => {
                    check_fits(number, dtype)?;
                    let element = number.to_bytes(dtype);
                    if count == 1 {
                        return tensor.write_in_place(coordinates, &element).or_raise();
                    }
                    tensor.write_in_place(coordinates, &element.repeat(count)).or_raise()
                }
                (None, Some(row)) if **row.shape() == *slice => {
                    tensor.copy_in_place(coordinates, row).or_raise()
                }
                (None, _) => Ok(false),
            }
        })
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
