//! `x[key]` and `x[key] = value`.

use crate::array::{PyArray, array};
use crate::convert::{Copying, number_of, scalar, tensor_of, typed_number};
use crate::errors::{OrRaise, raise};
use crate::own::Elements;
use crate::region::Region;
use crate::trace::PyParameter;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyInt, PyList, PySlice, PyTuple};
use smallvec::SmallVec;
use wootz::{DType, Device, Index, Number, Selector, Tensor, Tiny};

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
        let message = format!("too many indices: {named} for an array of shape {}", tensor.shape());
        return Err(raise("OutOfRangeError", message));
    };
    check_masks(tensor, &parts, missing)?;
    check_positions(tensor, &parts, missing)?;
    Ok(parts)
}

/// Indices that are checked before anything runs, so that an error can name the wrong one.
const FEW: usize = 4096;

/// Small index arrays with known values are checked here; others when they are used.
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

/// A mask that does not fit its axes is an index out of range in Python.
fn check_masks(tensor: &Tensor, parts: &[Selector], rest: usize) -> PyResult<()> {
    let mut axis = 0;
    for part in parts {
        if let Selector::Where(mask) = part {
            let covered = tensor.shape().get(axis..axis + mask.rank());
            if covered.is_some_and(|covered| covered != &**mask.shape()) {
                let message = format!(
                    "a mask of shape {} does not match the axes from {axis} on of shape {}",
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
            _ => Err(raise("OutOfRangeError", "an index must be an integer, not a float")),
        };
    }
    // NumPy integers are indices; its arrays and lists are index arrays.
    if let Ok(index) = item.extract::<i64>()
        && !item.hasattr("__len__")?
    {
        return Ok(Selector::Basic(Index::At(index)));
    }
    match tensor_of(item, None, tensor.device(), Copying::IfNeeded) {
        // An empty list has no dtype; here it can only mean no positions.
        Ok(index) if index.count() == 0 && index.dtype().is_float() => {
            Ok(Selector::At(index.cast(DType::I64).or_raise()?))
        }
        Ok(index) => array_selector(index),
        Err(_) => {
            let class = item.get_type().name()?.to_string();
            let message =
                format!("an index must be an integer, a slice, None, an ellipsis or an array, not a {class}");
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
            Err(raise("OutOfRangeError", format!("index arrays must hold integers or bools, not {name}")))
        }
    }
}

fn range(slice: &Bound<'_, PySlice>) -> PyResult<Index> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: the object is a slice, and the places are this function's.
    let status = unsafe { pyo3::ffi::PySlice_Unpack(slice.as_ptr(), &mut start, &mut stop, &mut step) };
    if status == 0 {
        // Bounds that are left out, or beyond 64 bits, exceed any axis on their side.
        let bound = |b: isize| Some((b as i64).clamp(i64::MIN / 2, i64::MAX / 2));
        return Ok(Index::Range { start: bound(start), stop: bound(stop), step: step as i64 });
    }
    // Part by part, to say what is wrong.
    drop(PyErr::take(slice.py()));
    let bound = |name: &str| -> PyResult<Option<i64>> {
        let value = slice.getattr(name)?;
        if value.is_none() {
            return Ok(None);
        }
        let value = value.call_method0("__index__")?;
        // Bounds beyond 64 bits exceed any axis.
        match value.extract::<i64>() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Ok(Some(if value.lt(0)? { i64::MIN / 2 } else { i64::MAX / 2 })),
        }
    };
    let step = bound("step")?.unwrap_or(1);
    if step == 0 {
        return Err(raise("ArgumentError", "the step of a slice must not be 0"));
    }
    let clamp = |b: Option<i64>| b.map(|b| b.clamp(i64::MIN / 2, i64::MAX / 2));
    Ok(Index::Range { start: clamp(bound("start")?), stop: clamp(bound("stop")?), step })
}

/// The part of a tensor that a key denotes.
fn selected(py: Python<'_>, tensor: &Tensor, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    let parts = selectors(tensor, key)?;
    evaluate_masks(py, &parts)?;
    array(tensor.select(&parts))
}

/// A value that is assigned to elements of a tensor. A number must fit its dtype; arrays are cast.
fn assigned(value: &Bound<'_, PyAny>, tensor: &Tensor) -> PyResult<Tensor> {
    if let Ok(parameter) = value.cast::<PyParameter>() {
        return parameter.get().operand("assignment", tensor);
    }
    match typed_number(value)? {
        Some((number, _)) => scalar(number, Some(tensor.dtype()), tensor.device()),
        None => match number_of(value)? {
            Some(number) => scalar(number, Some(tensor.dtype()), tensor.device()),
            None => {
                // Numbers in a list have no dtype of their own, and must fit like one alone.
                let listed = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
                tensor_of(value, listed.then(|| tensor.dtype()), tensor.device(), Copying::IfNeeded)
            }
        },
    }
}

#[pymethods]
impl PyArray {
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        if let Some(at) = position(key) {
            if let Some(element) = self.element(&[at]) {
                return Ok(element);
            }
            let computed = self.computed_for_indexing(py)?;
            let element = if computed { self.element(&[at]) } else { None };
            return element.map_or_else(|| self.row(py, key, at), Ok);
        }
        if let Some(coordinates) = coordinates(key)
            && let Some(element) = match self.element(&coordinates) {
                None if self.computed_for_indexing(py)? => self.element(&coordinates),
                found => found,
            }
        {
            return Ok(element);
        }
        let tensor = self.tensor();
        if let Ok(slice) = key.cast_exact::<PySlice>()
            && tensor.rank() > 0
        {
            return array(tensor.index(&[range(slice)?]));
        }
        selected(py, &tensor, key)
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let done = match position(key) {
            Some(at) => self.set_at(py, &[at], value)?,
            None => match coordinates(key) {
                Some(coordinates) => self.set_at(py, &coordinates, value)?,
                None => false,
            },
        };
        if done || self.set_region(py, key, value)? {
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
            return Err(raise("ConversionError", "a zero-dimensional array has no items"));
        };
        // Computed once instead of per item; a traced function has no values.
        if crate::trace::current() == 0 {
            crate::run::evaluate(py, &[&tensor])?;
        }
        Ok(PyItems::new(tensor, length))
    }

    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let tensor = self.tensor();
        let item = tensor_of(item, None, tensor.device(), Copying::IfNeeded)?;
        let any = tensor.equal(&item).and_then(|same| same.any()).or_raise()?;
        Ok(PyArray::new(any).number(py)?.to_f64() != 0.0)
    }
}

/// The slices of an array along its first axis.
#[pyclass(name = "_Items", module = "wootz._native", frozen)]
pub struct PyItems {
    tensor: Tensor,
    length: usize,
    state: Mutex<Progress>,
}

/// How far an iteration has come.
struct Progress {
    next: usize,
    /// Elements that have been read ahead, from the next one on; none where somebody else may be writing the memory.
    ahead: Option<Ahead>,
}

/// Elements of a vector that are looked up together.
struct Ahead {
    bytes: [u8; 1024],
    /// Bytes that have been given out, and bytes that there are.
    place: usize,
    len: usize,
}

impl PyItems {
    fn new(tensor: Tensor, length: usize) -> PyItems {
        let is_vector = crate::trace::current() == 0 && tensor.rank() == 1 && tensor.is_ready();
        let own = is_vector && tensor.stored().is_ok_and(|stored| stored.buffer.is_writable());
        let ahead = own.then_some(Ahead { bytes: [0; 1024], place: 0, len: 0 });
        PyItems { tensor, length, state: Mutex::new(Progress { next: 0, ahead }) }
    }

    /// The element at a position, from those read ahead.
    fn element(&self, at: usize, ahead: &mut Ahead) -> Option<Tiny> {
        let size = self.tensor.dtype().size();
        if ahead.place == ahead.len {
            ahead.len = ((self.length - at) * size).min(ahead.bytes.len());
            ahead.place = 0;
            if !self.tensor.copy_part(at, &mut ahead.bytes[..ahead.len]) {
                ahead.len = 0;
                return None;
            }
        }
        let element = &ahead.bytes[ahead.place..ahead.place + size];
        ahead.place += size;
        Tiny::scalar(element, self.tensor.dtype())
    }
}

#[pymethods]
impl PyItems {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self) -> PyResult<Option<PyArray>> {
        let mut state = self.state.lock();
        let Progress { next, ahead } = &mut *state;
        let at = *next;
        if at >= self.length {
            return Ok(None);
        }
        *next += 1;
        let element = match ahead {
            Some(ahead) => self.element(at, ahead),
            None if crate::trace::current() == 0 => Tiny::element(&self.tensor, at as i64),
            None => None,
        };
        drop(state);
        match element {
            Some(element) => Ok(Some(PyArray::of(element))),
            None => array(self.tensor.row(at as i64)).map(Some),
        }
    }

    fn __length_hint__(&self) -> usize {
        self.length.saturating_sub(self.state.lock().next)
    }
}

/// A number of Python's own classes that fits 64 bits.
fn plain_number(value: &Bound<'_, PyAny>) -> Option<Number> {
    if let Ok(value) = value.cast_exact::<PyFloat>() {
        return Some(Number::Float(value.value()));
    }
    if value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyBool>() {
        return number_of(value).ok().flatten();
    }
    None
}

/// A key that is one integer.
fn position(key: &Bound<'_, PyAny>) -> Option<i64> {
    if key.is_exact_instance_of::<PyInt>() { key.extract().ok() } else { None }
}

/// The integers of a key that is a tuple of integers.
fn coordinates(key: &Bound<'_, PyAny>) -> Option<SmallVec<[i64; 4]>> {
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

impl PyArray {
    /// The slice at a position of the first axis.
    fn row(&self, py: Python<'_>, key: &Bound<'_, PyAny>, at: i64) -> PyResult<PyArray> {
        let tensor = self.tensor();
        if tensor.rank() > 0 { array(tensor.row(at)) } else { selected(py, &tensor, key) }
    }
}

impl PyArray {
    /// Sets a single element, or the slice at leading coordinates, in place if possible: the array is evaluated for
    /// that, since a loop of assignments would otherwise copy it each time. Returns whether it was done; what is wrong is left
    /// to the general case.
    fn set_at(&self, py: Python<'_>, coordinates: &[i64], value: &Bound<'_, PyAny>) -> PyResult<bool> {
        if crate::trace::current() != 0 {
            return Ok(false);
        }
        // It has a value most of the time, which the attempt itself finds out.
        if self.set_now(coordinates, value) {
            return Ok(true);
        }
        let row = value.cast::<PyArray>().ok();
        if row.is_none() && plain_number(value).is_none() {
            return Ok(false);
        }
        let ready = self.is_ready() && row.is_none_or(|row| row.get().is_ready());
        if ready || !self.is_on_host() {
            return Ok(false);
        }
        self.evaluated(py)?;
        if let Some(row) = row {
            row.get().evaluated(py)?;
        }
        Ok(self.set_now(coordinates, value))
    }

    /// Sets a part of the array that integers and slices name, in place if possible; returns whether it was done. A part that is
    /// not small stays lazy if anything of it is, so that it is computed together with what comes next.
    fn set_region(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        if crate::trace::current() != 0 || !self.is_on_host() {
            return Ok(false);
        }
        let found = self.describe(|shape, dtype| Some((Region::of(shape, key)?, shape.count(), dtype)));
        let Some((region, count, dtype)) = found else { return Ok(false) };
        let row = value.cast::<PyArray>().ok().map(Bound::get);
        let is_small = region.count() <= count / 4;
        if !(is_small || self.is_ready() && row.is_none_or(PyArray::is_ready)) {
            return Ok(false);
        }
        self.evaluated(py)?;
        if let Some(number) = plain_number(value) {
            return Ok(self.write_region(&region, Elements::Number(number)));
        }
        let mut row = match row {
            Some(row) => row.tensor(),
            None if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() => {
                tensor_of(value, Some(dtype), &Device::cpu(), Copying::IfNeeded)?
            }
            None if typed_number(value)?.is_some() || value.is_instance_of::<PyParameter>() => {
                return Ok(false);
            }
            None => tensor_of(value, None, &Device::cpu(), Copying::IfNeeded)?,
        };
        if row.dtype() != dtype {
            row = row.cast(dtype).or_raise()?;
        }
        // In order, which a view of other memory need not be.
        if !row.is_ready() {
            crate::run::evaluate(py, &[&row])?;
        }
        Ok(self.write_region(&region, Elements::Of(&row)))
    }

    /// The same with what is available now.
    fn set_now(&self, coordinates: &[i64], value: &Bound<'_, PyAny>) -> bool {
        if let Some(number) = plain_number(value) {
            return self.write_own(coordinates, Elements::Number(number));
        }
        let Ok(row) = value.cast::<PyArray>() else { return false };
        if let Some(tiny) = row.get().tiny()
            && self.write_own(coordinates, Elements::Tiny(&tiny))
        {
            return true;
        }
        let row = row.get().tensor();
        self.write_own(coordinates, Elements::Of(&row))
    }
}

/// Masks are evaluated here, without the GIL, and not while a selection is being built.
fn evaluate_masks(py: Python<'_>, parts: &[Selector]) -> PyResult<()> {
    for part in parts {
        if let Selector::Where(mask) = part {
            crate::run::evaluate(py, &[mask])?;
        }
    }
    Ok(())
}
