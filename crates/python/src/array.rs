//! The array: what it is, not what can be done with it.

use crate::device::{PyDevice, device_of};
use crate::dtype::{PyDType, dtype_of, python_name};
use crate::errors::{OrRaise, raise};
use crate::run::evaluate;
use parking_lot::RwLock;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::{Mutex, PoisonError};
use wootz::{Number, Tensor};

/// An n-dimensional array, lazy: it is computed when a value is asked for, or by :func:`wootz.eval`.
///
/// Values never change. Assignment (``x[i] = v``, ``x += v``) gives this object a new value; other arrays made from it
/// before keep theirs.
#[pyclass(name = "Array", module = "wootz", frozen, weakref)]
pub struct PyArray {
    tensor: RwLock<Tensor>,
    /// Held while an assignment computes the new value from the old one.
    assigning: Mutex<()>,
}

impl PyArray {
    pub fn new(tensor: Tensor) -> PyArray {
        PyArray { tensor: RwLock::new(tensor), assigning: Mutex::new(()) }
    }

    /// The present value.
    pub fn tensor(&self) -> Tensor {
        self.tensor.read_recursive().clone()
    }

    /// Gives the object a new value made from the old one; assignments from several threads come one after the other.
    pub fn update(&self, py: Python<'_>, change: impl FnOnce(&Tensor) -> PyResult<Tensor>) -> PyResult<()> {
        let _one = self.assigning.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let tensor = change(&self.tensor())?;
        let old = std::mem::replace(&mut *self.tensor.write(), tensor);
        // Dropped here, after the lock: a drop may run anything.
        drop(old);
        Ok(())
    }

    /// The value, computed.
    pub fn evaluated(&self, py: Python<'_>) -> PyResult<Tensor> {
        let tensor = self.tensor();
        evaluate(py, &[&tensor])?;
        Ok(tensor)
    }
}

/// What an array is rebuilt from: bytes, dtype and shape.
type Pickled<'py> = (Bound<'py, PyBytes>, PyDType, Bound<'py, PyTuple>);

/// A result as an array.
pub fn array(result: wootz::Result<Tensor>) -> PyResult<PyArray> {
    result.map(PyArray::new).or_raise()
}

/// A number as Python's own.
pub fn python_number(py: Python<'_>, number: Number) -> PyResult<Py<PyAny>> {
    match number {
        Number::Bool(b) => b.into_py_any(py),
        Number::Int(i) => i.into_py_any(py),
        Number::Uint(u) => u.into_py_any(py),
        Number::Float(f) => f.into_py_any(py),
    }
}

/// Evaluated, with all elements in row-major order from the start of what `to_bytes` gives.
pub fn bytes_of(py: Python<'_>, tensor: &Tensor) -> PyResult<Vec<u8>> {
    evaluate(py, &[tensor])?;
    if tensor.count() * tensor.dtype().size() < 4096 {
        return tensor.to_bytes().or_raise();
    }
    crate::run::detached(py, || tensor.to_bytes())
}

fn numbers_of(py: Python<'_>, tensor: &Tensor) -> PyResult<Vec<Number>> {
    evaluate(py, &[tensor])?;
    crate::run::detached(py, || tensor.to_numbers())
}

#[pymethods]
impl PyArray {
    /// The extent of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.read_recursive().shape().iter())
    }

    /// The element type.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.tensor.read_recursive().dtype())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.read_recursive().rank()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.tensor.read_recursive().count()
    }

    /// The bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        let tensor = self.tensor.read_recursive();
        tensor.count() * tensor.dtype().size()
    }

    /// The bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.tensor.read_recursive().dtype().size()
    }

    /// The device that the array is computed on.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.tensor.read_recursive().device().clone())
    }

    /// Whether the value has been computed.
    #[getter]
    fn is_evaluated(&self) -> bool {
        self.tensor.read_recursive().is_evaluated()
    }

    /// The transpose of a matrix.
    #[getter(T)]
    fn transposed(&self) -> PyResult<PyArray> {
        let tensor = self.tensor();
        if tensor.rank() != 2 {
            let message =
                format!("T is for matrices, not for shape {}; use mT or permute_dims", tensor.shape());
            return Err(raise("ShapeError", message));
        }
        array(tensor.t())
    }

    /// The transpose of the last two axes.
    #[getter(mT)]
    fn matrices_transposed(&self) -> PyResult<PyArray> {
        let tensor = self.tensor();
        if tensor.rank() < 2 {
            return Err(raise("ShapeError", format!("mT needs two axes, not shape {}", tensor.shape())));
        }
        array(tensor.t())
    }

    /// Computes the array now, and returns it.
    fn eval(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.evaluated(slf.py())?;
        Ok(slf)
    }

    /// The plan that evaluation would run, in readable form.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let tensor = self.tensor();
        crate::run::detached(py, || tensor.explain())
    }

    /// The only element, as a Python number.
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        python_number(py, self.number(py)?)
    }

    /// The elements as nested lists of Python numbers.
    fn tolist(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor();
        let numbers = numbers_of(py, &tensor)?;
        nested(py, &numbers, tensor.shape())
    }

    /// The bytes of the elements in row-major order.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = bytes_of(py, &self.tensor())?;
        PyBytes::new_with(py, bytes.len(), |to| {
            to.copy_from_slice(&bytes);
            Ok(())
        })
    }

    /// The array with another dtype: integers wrap, floats to integers truncate and saturate.
    #[pyo3(signature = (dtype, *, copy=true))]
    fn astype(&self, dtype: &Bound<'_, PyAny>, copy: bool) -> PyResult<PyArray> {
        let _ = copy; // Values never change, so a copy cannot be told from the array itself.
        array(self.tensor().cast(dtype_of(dtype)?))
    }

    /// The array on another device. A lazy array is then computed there; a value is copied there.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(
        &self,
        py: Python<'_>,
        device: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        if stream.is_some() {
            return Err(raise("ArgumentError", "to_device: streams are not known here"));
        }
        let (tensor, device) = (self.tensor(), device_of(Some(device))?);
        crate::run::detached(py, || tensor.computed_on(&device)).map(PyArray::new)
    }

    fn __len__(&self) -> PyResult<usize> {
        let tensor = self.tensor.read_recursive();
        let first = tensor.shape().first().copied();
        first.ok_or_else(|| raise("ConversionError", "len() of an array without axes"))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let (count, shape) = (self.size(), self.tensor().shape().clone());
        if count != 1 {
            let message =
                format!("the truth of an array of shape {shape} is not one value; use any() or all()");
            return Err(raise("ArgumentError", message));
        }
        Ok(self.number(py)?.to_f64() != 0.0)
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.number(py)?.to_f64())
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let number = python_number(py, self.number(py)?)?;
        py.get_type::<pyo3::types::PyInt>().call1((number,)).map(Bound::unbind)
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyComplex>> {
        Ok(pyo3::types::PyComplex::from_doubles(py, self.number(py)?.to_f64(), 0.0))
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor();
        if tensor.rank() != 0 || !tensor.dtype().is_integer() {
            let name = python_name(tensor.dtype());
            let message =
                format!("only an integer array without axes is an index, not {name}{}", tensor.shape());
            return Err(raise("ConversionError", message));
        }
        python_number(py, self.number(py)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let tensor = self.tensor();
        let text = self.__str__(py)?.replace('\n', "\n      ");
        Ok(format!("array({text}, dtype={})", python_name(tensor.dtype())))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let tensor = self.evaluated(py)?;
        if tensor.count() == 0 {
            return Ok(format!("[], shape={}", tensor.shape()));
        }
        crate::run::detached(py, || Ok(tensor.to_string()))
    }

    fn __format__(&self, py: Python<'_>, spec: &str) -> PyResult<Py<PyAny>> {
        if self.tensor.read_recursive().rank() == 0 && !spec.is_empty() {
            let number = python_number(py, self.number(py)?)?;
            return number.bind(py).call_method1("__format__", (spec,)).map(Bound::unbind);
        }
        self.__str__(py)?.into_py_any(py)
    }

    fn __copy__(&self) -> PyArray {
        PyArray::new(self.tensor())
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyArray {
        let _ = memo;
        PyArray::new(self.tensor())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Py<PyAny>, Pickled<'py>)> {
        let rebuild = py.import("wootz._native")?.getattr("_from_bytes")?.unbind();
        Ok((rebuild, (self.tobytes(py)?, self.dtype(), self.shape(py)?)))
    }

    /// Where NumPy and this class meet, this class decides.
    #[classattr]
    fn __array_priority__() -> f64 {
        1000.0
    }

    /// Makes NumPy leave mixed operators to us.
    #[classattr]
    fn __array_ufunc__(py: Python<'_>) -> Py<PyAny> {
        py.None()
    }

    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__(&self, py: Python<'_>, api_version: Option<&str>) -> PyResult<Py<PyAny>> {
        const KNOWN: [&str; 4] = ["2021.12", "2022.12", "2023.12", "2024.12"];
        match api_version {
            Some(version) if !KNOWN.contains(&version) => Err(raise(
                "ArgumentError",
                format!("array API version {version:?} is not known; known are {}", KNOWN.join(", ")),
            )),
            _ => Ok(py.import("wootz")?.into_any().unbind()),
        }
    }
}

impl PyArray {
    /// The only element.
    pub fn number(&self, py: Python<'_>) -> PyResult<Number> {
        let tensor = self.evaluated(py)?;
        if tensor.count() != 1 {
            let message = format!("an array of shape {} is not one number", tensor.shape());
            return Err(raise("ConversionError", message));
        }
        tensor.item().or_raise()
    }
}

/// Numbers in row-major order as nested lists.
fn nested(py: Python<'_>, numbers: &[Number], shape: &[usize]) -> PyResult<Py<PyAny>> {
    let Some((&first, rest)) = shape.split_first() else { return python_number(py, numbers[0]) };
    let each: usize = rest.iter().product();
    let items: PyResult<Vec<Py<PyAny>>> =
        (0..first).map(|i| nested(py, &numbers[i * each..(i + 1) * each], rest)).collect();
    items?.into_py_any(py)
}

/// An array from the bytes of its elements; what pickles call.
#[pyfunction]
pub fn _from_bytes(data: &[u8], dtype: PyDType, shape: Vec<usize>) -> PyResult<PyArray> {
    array(Tensor::from_bytes_on(data, dtype.0, shape, &wootz::Device::current().or_raise()?))
}

/// Computes arrays together, in one batch per device.
#[pyfunction]
#[pyo3(name = "_eval", signature = (*arrays))]
pub fn eval(py: Python<'_>, arrays: Vec<PyRef<'_, PyArray>>) -> PyResult<()> {
    by_device(arrays, |tensors| evaluate(py, &tensors.iter().collect::<Vec<_>>()))
}

/// Starts to compute arrays in one batch per device.
#[pyfunction]
#[pyo3(name = "_eval_async", signature = (*arrays))]
pub fn eval_async(py: Python<'_>, arrays: Vec<PyRef<'_, PyArray>>) -> PyResult<()> {
    by_device(arrays, |tensors| {
        crate::run::interruptible(py, move || wootz::eval_async(&tensors))?.or_raise()
    })
}

/// Calls `f` for the arrays of each device.
fn by_device(arrays: Vec<PyRef<'_, PyArray>>, f: impl Fn(Vec<Tensor>) -> PyResult<()>) -> PyResult<()> {
    let mut tensors: Vec<Tensor> = arrays.iter().map(|a| a.tensor()).collect();
    drop(arrays);
    while let Some(first) = tensors.first() {
        let device = first.device().clone();
        let (now, later): (Vec<Tensor>, Vec<Tensor>) =
            tensors.into_iter().partition(|t| *t.device() == device);
        f(now)?;
        tensors = later;
    }
    Ok(())
}

/// The plan that would compute these arrays together.
#[pyfunction]
#[pyo3(name = "_explain", signature = (*arrays))]
pub fn explain(py: Python<'_>, arrays: Vec<PyRef<'_, PyArray>>) -> PyResult<String> {
    let tensors: Vec<Tensor> = arrays.iter().map(|a| a.tensor()).collect();
    drop(arrays);
    crate::run::detached(py, || Ok(wootz::explain(&tensors)?.to_string()))
}

#[pymethods]
impl PyArray {
    /// Gives this object another value.
    #[pyo3(name = "_set")]
    fn set(&self, py: Python<'_>, value: PyRef<'_, PyArray>) -> PyResult<()> {
        let tensor = value.tensor();
        drop(value);
        self.update(py, |_| Ok(tensor))
    }
}
