//! The array: what it is, not what can be done with it.

use crate::device::{PyDevice, device_of};
use crate::dtype::{PyDType, dtype_of, python_name};
use crate::errors::{OrRaise, raise};
use crate::run::evaluate;
use crate::trace;
use parking_lot::RwLock;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wootz::{DType, DeviceKind, Number, PrintOptions, Tensor};

/// An n-dimensional array, lazy: it is computed when a value is asked for, or by :func:`wootz.eval`.
///
/// Values never change. Assignment (``x[i] = v``, ``x += v``) gives this object a new value; other arrays made from it
/// before keep theirs.
#[pyclass(name = "Array", module = "wootz", frozen, weakref)]
pub struct PyArray {
    tensor: RwLock<Tensor>,
    /// Held while an assignment computes the new value from the old one.
    assigning: Mutex<()>,
    /// The trace that made this array; 0 if it was made outside of one.
    born: u64,
    /// How often this array was assigned to, from the first time on that a traced function captured it.
    version: OnceLock<Arc<AtomicU64>>,
}

impl PyArray {
    pub fn new(tensor: Tensor) -> PyArray {
        let (tensor, assigning) = (RwLock::new(tensor), Mutex::new(()));
        PyArray { tensor, assigning, born: trace::current(), version: OnceLock::new() }
    }

    /// The present value.
    pub fn tensor(&self) -> Tensor {
        if self.is_captured() {
            // Before the value is read, so that an assignment in between is noticed.
            trace::watch(self.version.get_or_init(Arc::default));
        }
        self.tensor.read_recursive().clone()
    }

    /// Whether a function is traced on this thread that did not make this array.
    fn is_captured(&self) -> bool {
        let trace = trace::current();
        trace != 0 && trace != self.born
    }

    /// Gives the object a new value made from the old one; assignments from several threads come one after the other.
    pub fn update(&self, py: Python<'_>, change: impl FnOnce(&Tensor) -> PyResult<Tensor>) -> PyResult<()> {
        if self.is_captured() {
            let message = "a compiled function assigned to an array that it did not make: that would happen once, while it \
                           is traced; return the new value instead, and assign it outside";
            return Err(raise("ArgumentError", message));
        }
        let _one = self.assigning.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        // Held until the new value is there: what has a second handle is not written in place.
        let before = self.tensor();
        let tensor = change(&before)?;
        let old = std::mem::replace(&mut *self.tensor.write(), tensor);
        drop(before);
        if let Some(version) = self.version.get() {
            version.fetch_add(1, Ordering::Release);
        }
        // Dropped here, after the lock: a drop may run anything.
        drop(old);
        Ok(())
    }

    /// Changes the value in place, if nobody else can see it: what `change` says.
    pub fn try_in_place(&self, change: impl FnOnce(&mut Tensor) -> PyResult<bool>) -> PyResult<bool> {
        if trace::current() != 0 {
            return Ok(false);
        }
        let done = change(&mut self.tensor.write())?;
        if let (true, Some(version)) = (done, self.version.get()) {
            version.fetch_add(1, Ordering::Release);
        }
        Ok(done)
    }

    /// Whether the host computes the array, or chooses who does.
    pub fn is_on_host(&self) -> bool {
        self.tensor.read_recursive().device().info().kind == DeviceKind::Cpu
    }

    /// Whether the value is there.
    pub fn is_ready(&self) -> bool {
        self.tensor.read_recursive().is_ready()
    }

    /// The value, computed.
    pub fn evaluated(&self, py: Python<'_>) -> PyResult<Tensor> {
        let tensor = self.tensor();
        evaluate(py, &[&tensor])?;
        Ok(tensor)
    }
}

/// How arrays are printed.
static PRINTING: RwLock<PrintOptions> = RwLock::new(PrintOptions::NUMPY);

/// How arrays are printed: what is not given stays as it is. Returns what it was before.
#[pyfunction]
#[pyo3(signature = (precision=None, threshold=None, edgeitems=None, linewidth=None, suppress=None))]
pub fn _set_print_options(
    precision: Option<usize>,
    threshold: Option<usize>,
    edgeitems: Option<usize>,
    linewidth: Option<usize>,
    suppress: Option<bool>,
) -> (usize, usize, usize, usize, bool) {
    let mut options = PRINTING.write();
    let old = *options;
    *options = PrintOptions {
        precision: precision.unwrap_or(old.precision),
        threshold: threshold.unwrap_or(old.threshold),
        edge_items: edgeitems.unwrap_or(old.edge_items),
        line_width: linewidth.unwrap_or(old.line_width),
        suppress: suppress.unwrap_or(old.suppress),
    };
    (old.precision, old.threshold, old.edge_items, old.line_width, old.suppress)
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
        if trace::current() != 0 || !slf.is_ready() {
            slf.evaluated(slf.py())?;
        }
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
        const PREFIX: &str = "array(";
        let tensor = self.evaluated(py)?;
        let options = *PRINTING.read();
        let room = PrintOptions { line_width: options.line_width.saturating_sub(1), ..options };
        let text = crate::run::detached(py, || tensor.to_text(&room, ", ", PREFIX.len()))?;
        let mut extras = Vec::new();
        let empty = tensor.count() == 0;
        if (empty && tensor.rank() != 1) || tensor.count() > options.threshold {
            extras.push(format!("shape={}", self.shape(py)?));
        }
        // What the elements look like says it for these.
        let implied = matches!(tensor.dtype(), DType::Bool | DType::I64 | DType::F64);
        if empty || !implied {
            extras.push(format!("dtype={}", python_name(tensor.dtype())));
        }
        if extras.is_empty() {
            return Ok(format!("{PREFIX}{text})"));
        }
        let (start, end) = (format!("{PREFIX}{text},"), format!("{})", extras.join(", ")));
        let last = start.len() - start.rfind('\n').map_or(0, |at| at + 1);
        let fits = last + end.len() < options.line_width;
        let space = if fits { " ".into() } else { format!("\n{}", " ".repeat(PREFIX.len())) };
        Ok(format!("{start}{space}{end}"))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let tensor = self.evaluated(py)?;
        if tensor.rank() == 0 {
            return tensor.to_scalar_text().or_raise();
        }
        let options = *PRINTING.read();
        crate::run::detached(py, || tensor.to_text(&options, " ", 0))
    }

    fn __format__(&self, py: Python<'_>, spec: &str) -> PyResult<Py<PyAny>> {
        if self.tensor.read_recursive().rank() == 0 && !spec.is_empty() {
            let number = python_number(py, self.number(py)?)?;
            return number.bind(py).call_method1("__format__", (spec,)).map(Bound::unbind);
        }
        if !spec.is_empty() {
            let shape = self.shape(py)?;
            let message =
                format!("the format {spec:?} is one for a number, not for an array of shape {shape}");
            return Err(raise("ConversionError", message));
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
        if trace::current() == 0 {
            let tensor = self.tensor.read_recursive();
            if tensor.count() == 1 && tensor.is_ready() {
                return tensor.item().or_raise();
            }
        }
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

/// Computes arrays, also those inside of tuples, lists and dicts: one batch for each device.
#[pyfunction]
#[pyo3(signature = (*values))]
pub fn eval(py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<()> {
    if values.len() == 1
        && let Ok(array) = values.get_borrowed_item(0)?.cast_exact::<PyArray>()
    {
        return array.get().evaluated(py).map(drop);
    }
    by_device(tensors_in(values)?, |tensors| evaluate(py, &tensors.iter().collect::<Vec<_>>()))
}

/// Starts to compute arrays and returns without waiting, where the device can work on its own. Reading a value waits for it and
/// raises what went wrong; more work on the same device need not wait.
#[pyfunction]
#[pyo3(signature = (*values))]
pub fn eval_async(py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<()> {
    by_device(tensors_in(values)?, |tensors| {
        crate::run::interruptible(py, move || wootz::eval_async(&tensors))?.or_raise()
    })
}

/// The arrays inside of nested tuples, lists and dicts.
fn tensors_in(values: &Bound<'_, PyTuple>) -> PyResult<Vec<Tensor>> {
    // Python walks structures, and knows what to do about one that contains itself.
    let found = values
        .py()
        .import("wootz._transforms")?
        .call_method1("_arrays", (values, PyList::empty(values.py())))?;
    found.try_iter()?.map(|array| Ok(array?.cast::<PyArray>()?.get().tensor())).collect()
}

/// Calls `f` for the tensors of each device.
fn by_device(mut tensors: Vec<Tensor>, f: impl Fn(Vec<Tensor>) -> PyResult<()>) -> PyResult<()> {
    while let Some(first) = tensors.first() {
        let device = first.device().clone();
        let (now, later): (Vec<Tensor>, Vec<Tensor>) =
            tensors.into_iter().partition(|t| *t.device() == device);
        f(now)?;
        tensors = later;
    }
    Ok(())
}

/// The plan that would compute arrays, in readable form: device, fused steps, shapes, bytes.
#[pyfunction]
#[pyo3(signature = (*values))]
pub fn explain(py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<String> {
    let tensors = tensors_in(values)?;
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
