//! The array class: its state and attributes; operations are in other files.

use crate::content::Content;
use crate::device::{PyDevice, device_of};
use crate::dtype::{PyDType, dtype_of, python_name};
use crate::errors::{OrRaise, raise};
use crate::own::Elements;
use crate::region::Region;
use crate::run::evaluate;
use crate::trace;
use parking_lot::RwLock;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wootz::{DType, DeviceKind, Number, PrintOptions, Shape, Tensor, Tiny};
use wootz_ir::ElementwiseOp;

/// A lazy n-dimensional array: computed when its values are needed, or by :func:`wootz.eval`.
///
/// Values are immutable. Assignment (``x[i] = v``, ``x += v``) gives this object a new value; arrays computed from it
/// earlier keep theirs.
#[pyclass(name = "Array", module = "wootz", frozen, weakref)]
pub struct PyArray {
    content: Content,
    /// Held while an assignment computes the new value from the old one.
    assigning: Mutex<()>,
    /// The trace that created this array; 0 if it was created outside of one.
    born: u64,
    /// The number of assignments since a traced function first captured this array.
    version: OnceLock<Arc<AtomicU64>>,
    /// Whether it was indexed by integers before it had a value.
    indexed: AtomicBool,
}

impl PyArray {
    pub fn new(tensor: Tensor) -> PyArray {
        PyArray::of(tensor)
    }

    /// An array with this value.
    pub fn of(content: impl Into<Content>) -> PyArray {
        let (content, assigning) = (content.into(), Mutex::new(()));
        PyArray {
            content,
            assigning,
            born: trace::current(),
            version: OnceLock::new(),
            indexed: AtomicBool::new(false),
        }
    }

    /// `op` of two arrays that are so small that they need no graph; not while a function is traced.
    pub fn pair(op: ElementwiseOp, a: &PyArray, b: &PyArray) -> Option<PyArray> {
        (trace::current() == 0).then(|| Content::pair(op, &a.content, &b.content)).flatten().map(PyArray::of)
    }

    /// The current value.
    pub fn tensor(&self) -> Tensor {
        if self.is_captured() {
            // Before the value is read, so that an assignment in between is noticed.
            trace::watch(self.version.get_or_init(Arc::default));
        }
        self.content.read(Tensor::clone)
    }

    /// The available element at coordinates in the CPU's memory; not while a function is traced.
    pub fn element(&self, coordinates: &[i64]) -> Option<PyArray> {
        (trace::current() == 0).then(|| self.content.element(coordinates)).flatten().map(PyArray::of)
    }

    /// Computes an array that is indexed by integers for the second time: a loop over its elements would otherwise compute it for
    /// each of them. Returns whether it has been computed.
    pub fn computed_for_indexing(&self, py: Python<'_>) -> PyResult<bool> {
        if trace::current() != 0
            || self.is_ready()
            || !self.is_on_host()
            || !self.indexed.swap(true, Ordering::Relaxed)
        {
            return Ok(false);
        }
        self.evaluated(py).map(|_| true)
    }

    /// A tiny value.
    pub fn tiny(&self) -> Option<Tiny> {
        self.content.tiny()
    }

    /// Whether this thread is tracing a function that did not create this array.
    fn is_captured(&self) -> bool {
        let trace = trace::current();
        trace != 0 && trace != self.born
    }

    /// Gives the object a new value computed from the old one; concurrent assignments are serialised.
    pub fn update(&self, py: Python<'_>, change: impl FnOnce(&Tensor) -> PyResult<Tensor>) -> PyResult<()> {
        if self.is_captured() {
            let message = "a compiled function assigned to an array that it did not make: that would happen once, while it \
                           is traced; return the new value instead, and assign it outside";
            return Err(raise("ArgumentError", message));
        }
        let _one = self.assigning.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        // Held until the new value is in place: a value with a second handle is not written in place.
        let before = self.tensor();
        let tensor = change(&before)?;
        let old = self.content.write(|value| std::mem::replace(value, tensor));
        drop(before);
        if let Some(version) = self.version.get() {
            version.fetch_add(1, Ordering::Release);
        }
        // Dropped here, after the lock: a drop may run arbitrary code.
        drop(old);
        Ok(())
    }

    /// Writes elements at leading coordinates, if nobody else can see them; returns whether it did. Not while a function is traced.
    pub fn write_own(&self, coordinates: &[i64], elements: Elements<'_>) -> bool {
        self.noted(self.content.write_own(coordinates, elements))
    }

    /// The same over a region.
    pub fn write_region(&self, region: &Region, elements: Elements<'_>) -> bool {
        self.noted(self.content.write_region(region, elements))
    }

    /// Counts an assignment, if there was one.
    fn noted(&self, done: bool) -> bool {
        if let (true, Some(version)) = (done, self.version.get()) {
            version.fetch_add(1, Ordering::Release);
        }
        done
    }

    /// Passes the shape and the dtype to `look`.
    pub fn describe<T>(&self, look: impl FnOnce(&Shape, DType) -> T) -> T {
        self.content.describe(look)
    }

    /// Whether the array is computed on the host, or dispatched from it.
    pub fn is_on_host(&self) -> bool {
        self.content.read(|tensor| tensor.device().info().kind == DeviceKind::Cpu)
    }

    /// Whether the value has been computed.
    pub fn is_ready(&self) -> bool {
        self.content.is_available().unwrap_or_else(|| self.content.read(Tensor::is_ready))
    }

    /// The value, computed if necessary.
    pub fn evaluated(&self, py: Python<'_>) -> PyResult<Tensor> {
        let tensor = self.tensor();
        evaluate(py, &[&tensor])?;
        Ok(tensor)
    }
}

/// The print options.
static PRINTING: RwLock<PrintOptions> = RwLock::new(PrintOptions::NUMPY);

/// Sets print options; those not given are unchanged. Returns the previous ones.
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

/// The state of a pickled array: bytes, dtype and shape.
type Pickled<'py> = (Bound<'py, PyBytes>, PyDType, Bound<'py, PyTuple>);

/// Wraps a result as an array.
pub fn array(result: wootz::Result<Tensor>) -> PyResult<PyArray> {
    result.map(PyArray::new).or_raise()
}

/// A number as a Python object.
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
        self.describe(|shape, _| PyTuple::new(py, shape.iter()))
    }

    /// The element type.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.describe(|_, dtype| dtype))
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.describe(|shape, _| shape.rank())
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.describe(|shape, _| shape.count())
    }

    /// The size of all elements in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.describe(|shape, dtype| shape.count() * dtype.size())
    }

    /// The size of one element in bytes.
    #[getter]
    fn itemsize(&self) -> usize {
        self.describe(|_, dtype| dtype.size())
    }

    /// The device that computes the array.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.content.read(|tensor| tensor.device().clone()))
    }

    /// Whether the value has been computed.
    #[getter]
    fn is_evaluated(&self) -> bool {
        self.content.is_available().unwrap_or_else(|| self.content.read(Tensor::is_evaluated))
    }

    /// The transpose of a matrix.
    #[getter(T)]
    fn transposed(&self) -> PyResult<PyArray> {
        let tensor = self.tensor();
        if tensor.rank() != 2 {
            let message = format!("T needs a matrix, not shape {}; use mT or permute_dims", tensor.shape());
            return Err(raise("ShapeError", message));
        }
        array(tensor.t())
    }

    /// The transpose of the last two axes.
    #[getter(mT)]
    fn matrices_transposed(&self) -> PyResult<PyArray> {
        let tensor = self.tensor();
        if tensor.rank() < 2 {
            return Err(raise(
                "ShapeError",
                format!("mT needs at least two axes, not shape {}", tensor.shape()),
            ));
        }
        array(tensor.t())
    }

    /// Evaluates the array now, and returns it.
    fn eval(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        if trace::current() != 0 || !(slf.content.eval() || slf.is_ready()) {
            slf.evaluated(slf.py())?;
        }
        Ok(slf)
    }

    /// A readable form of the plan that evaluation would run.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let tensor = self.tensor();
        crate::run::detached(py, || tensor.explain())
    }

    /// The only element as a Python number, or the one at a position of the flattened array, or at coordinates.
    #[pyo3(signature = (*at))]
    fn item(slf: &Bound<'_, Self>, at: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let (py, own) = (slf.py(), slf.get());
        match at.len() {
            0 => python_number(py, own.number(py)?),
            1 if own.ndim() != 1 && !at.get_item(0)?.is_instance_of::<PyTuple>() => slf
                .call_method0("flatten")?
                .get_item(at.get_item(0)?)?
                .call_method0("item")
                .map(Bound::unbind),
            1 => slf.get_item(at.get_item(0)?)?.call_method0("item").map(Bound::unbind),
            _ => slf.get_item(at)?.call_method0("item").map(Bound::unbind),
        }
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

    /// Casts the array: integers wrap, floats to integers truncate and saturate.
    #[pyo3(signature = (dtype, *, copy=true))]
    fn astype(&self, dtype: &Bound<'_, PyAny>, copy: bool) -> PyResult<PyArray> {
        let _ = copy; // Values are immutable, so a copy is indistinguishable from the array itself.
        array(self.tensor().cast(dtype_of(dtype)?))
    }

    /// The array on another device. A lazy array will be computed there; a value is copied.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(
        &self,
        py: Python<'_>,
        device: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        if stream.is_some() {
            return Err(raise("ArgumentError", "to_device: streams are not supported"));
        }
        let (tensor, device) = (self.tensor(), device_of(Some(device))?);
        crate::run::detached(py, || tensor.computed_on(&device)).map(PyArray::new)
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.describe(|shape, _| shape.first().copied());
        first.ok_or_else(|| raise("ConversionError", "len() of a zero-dimensional array"))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.size() != 1 {
            let shape = self.tensor().shape().clone();
            let message =
                format!("the truth value of an array of shape {shape} is ambiguous; use any() or all()");
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
            let message = format!(
                "only a zero-dimensional integer array can be used as an index, not {name}{}",
                tensor.shape()
            );
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
        if self.ndim() == 0 && !spec.is_empty() {
            let number = python_number(py, self.number(py)?)?;
            return number.bind(py).call_method1("__format__", (spec,)).map(Bound::unbind);
        }
        if !spec.is_empty() {
            let shape = self.shape(py)?;
            let message = format!("the format {spec:?} is for a number, not for an array of shape {shape}");
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

    /// Where NumPy and this class meet, this class has priority.
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
                format!("unknown array API version {version:?}; supported: {}", KNOWN.join(", ")),
            )),
            _ => Ok(py.import("wootz")?.into_any().unbind()),
        }
    }
}

impl PyArray {
    /// The only element.
    pub fn number(&self, py: Python<'_>) -> PyResult<Number> {
        if trace::current() == 0 {
            if let Some(number) = self.content.number() {
                return Ok(number);
            }
            let at_hand = |tensor: &Tensor| (tensor.count() == 1 && tensor.is_ready()).then(|| tensor.item());
            if let Some(number) = self.content.read(at_hand) {
                return number.or_raise();
            }
        }
        let tensor = self.evaluated(py)?;
        if tensor.count() != 1 {
            let message = format!("an array of shape {} is not a single number", tensor.shape());
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

/// An array from the bytes of its elements, for unpickling.
#[pyfunction]
pub fn _from_bytes(data: &[u8], dtype: PyDType, shape: Vec<usize>) -> PyResult<PyArray> {
    array(Tensor::from_bytes_on(data, dtype.0, shape, &wootz::Device::current().or_raise()?))
}

/// Evaluates arrays, including those inside tuples, lists and dicts, as one batch per device.
#[pyfunction]
#[pyo3(signature = (first=None, /, *more), text_signature = "(*values)")]
pub fn eval(py: Python<'_>, first: Option<&Bound<'_, PyAny>>, more: &Bound<'_, PyTuple>) -> PyResult<()> {
    // A parameter of its own, so that the usual call needs no tuple.
    if more.is_empty()
        && let Some(Ok(array)) = first.map(|first| first.cast_exact::<PyArray>())
    {
        let array = array.get();
        if trace::current() == 0 && array.content.eval() {
            return Ok(());
        }
        return array.evaluated(py).map(drop);
    }
    let values = first.into_iter().cloned().chain(more.iter()).collect::<Vec<_>>();
    by_device(tensors_in(&PyTuple::new(py, values)?)?, |tensors| {
        evaluate(py, &tensors.iter().collect::<Vec<_>>())
    })
}

/// Starts to evaluate arrays and returns without waiting, if the device is asynchronous. Reading a value waits for it and
/// raises any error; more work on the same device need not wait.
#[pyfunction]
#[pyo3(signature = (*values))]
pub fn eval_async(py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<()> {
    by_device(tensors_in(values)?, |tensors| {
        crate::run::interruptible(py, move || wootz::eval_async(&tensors))?.or_raise()
    })
}

/// The arrays in nested tuples, lists and dicts.
fn tensors_in(values: &Bound<'_, PyTuple>) -> PyResult<Vec<Tensor>> {
    // Python traverses the structures, and handles those that contain themselves.
    let found = values
        .py()
        .import("wootz._transforms")?
        .call_method1("_arrays", (values, PyList::empty(values.py())))?;
    found.try_iter()?.map(|array| Ok(array?.cast::<PyArray>()?.get().tensor())).collect()
}

/// Calls `f` with the tensors of each device.
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

/// A readable form of the plan that would compute the arrays: device, fused steps, shapes, bytes.
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
