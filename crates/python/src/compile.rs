//! Functions of arrays, traced once per signature.

use crate::array::PyArray;
use crate::errors::{OrRaise, from_engine, raise};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::sync::Arc;
use wootz::{Call, Compiled, DeviceKind, Error, Tensor};

type Tensors = SmallVec<[Tensor; 4]>;

/// A Python function compiled for a device. The function takes arrays and returns a tuple of arrays.
#[pyclass(name = "_Compiled", module = "wootz._native", frozen)]
pub struct PyCompiled {
    compiled: Arc<Compiled>,
    /// What the function raised while it was traced, by the thread that traced it.
    raised: Arc<Mutex<Vec<(std::thread::ThreadId, PyErr)>>>,
}

#[pymethods]
impl PyCompiled {
    #[new]
    fn new(function: Py<PyAny>, device: crate::device::PyDevice) -> PyCompiled {
        let raised: Arc<Mutex<Vec<(std::thread::ThreadId, PyErr)>>> = Arc::default();
        let slot = raised.clone();
        let compiled = wootz::compile(&device.0, move |arguments: &[Tensor]| {
            Python::attach(|py| {
                trace(py, &function, arguments).map_err(|error| {
                    slot.lock().push((std::thread::current().id(), error));
                    Error::argument("compile", "the function raised while it was traced")
                })
            })
        });
        PyCompiled { compiled: Arc::new(compiled), raised }
    }

    /// Calls the function; the results are evaluated.
    #[pyo3(signature = (*arrays))]
    fn __call__(&self, py: Python<'_>, arrays: Vec<PyRef<'_, PyArray>>) -> PyResult<Vec<PyArray>> {
        let tensors: Tensors = arrays.iter().map(|a| a.tensor()).collect();
        drop(arrays);
        self.call(py, tensors)
    }

    /// The same for a tuple of anything; `None` if not all of it are arrays on the function's device.
    fn plain(&self, py: Python<'_>, arguments: &Bound<'_, PyTuple>) -> PyResult<Option<Vec<PyArray>>> {
        let mut tensors = Tensors::new();
        for argument in arguments.iter_borrowed() {
            let Ok(array) = argument.cast_exact::<PyArray>() else { return Ok(None) };
            let tensor = array.get().tensor();
            if tensor.device() != self.compiled.device() {
                return Ok(None);
            }
            tensors.push(tensor);
        }
        self.call(py, tensors).map(Some)
    }

    /// The plan for arguments like these.
    #[pyo3(signature = (*arrays))]
    fn explain(&self, py: Python<'_>, arrays: Vec<PyRef<'_, PyArray>>) -> PyResult<String> {
        let tensors: Vec<Tensor> = arrays.iter().map(|a| a.tensor()).collect();
        drop(arrays);
        let explained = py.detach(|| self.compiled.explain(&tensors.iter().collect::<Vec<_>>()));
        let explained = explained.map(|explanation| explanation.to_string());
        explained.map_err(|error| self.raised_here().unwrap_or_else(|| from_engine(error)))
    }
}

impl PyCompiled {
    fn call(&self, py: Python<'_>, tensors: Tensors) -> PyResult<Vec<PyArray>> {
        let references: SmallVec<[&Tensor; 4]> = tensors.iter().collect();
        crate::run::evaluate(py, &references)?;
        let bound = match self.compiled.find(&references).or_raise()? {
            Some(call) => call,
            None => self.bind(py, &references)?,
        };
        let on_host = bound.device().info().kind == DeviceKind::Cpu;
        let results = crate::run::by_work(py, on_host.then_some(bound.work()), move || bound.run())?;
        Ok(results.into_iter().map(PyArray::new).collect())
    }

    /// Traces the function.
    fn bind(&self, py: Python<'_>, tensors: &[&Tensor]) -> PyResult<Call> {
        let caught = py.detach(|| {
            let bind = || self.compiled.bind(tensors);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(bind))
        });
        match caught {
            Ok(Ok(call)) => Ok(call),
            Ok(Err(error)) => Err(self.raised_here().unwrap_or_else(|| from_engine(error))),
            Err(panic) => Err(crate::errors::from_panic(&*panic)),
        }
    }

    /// What the function raised on this thread.
    fn raised_here(&self) -> Option<PyErr> {
        let mut raised = self.raised.lock();
        let here = std::thread::current().id();
        let at = raised.iter().position(|(thread, _)| *thread == here)?;
        Some(raised.swap_remove(at).1)
    }
}

/// Calls the Python function with stand-ins for its arguments.
fn trace(py: Python<'_>, function: &Py<PyAny>, arguments: &[Tensor]) -> PyResult<Vec<Tensor>> {
    let arrays: PyResult<Vec<Py<PyArray>>> =
        arguments.iter().map(|t| Py::new(py, PyArray::new(t.clone()))).collect();
    let results = function.bind(py).call1(PyTuple::new(py, arrays?)?)?;
    let mut tensors = Vec::new();
    for result in results.try_iter()? {
        let result = result?;
        let array = result.cast::<PyArray>().map_err(|_| {
            let class = result.get_type().name().map_or_else(|_| "?".into(), |n| n.to_string());
            raise("ConversionError", format!("a compiled function returns arrays, not {class}"))
        })?;
        tensors.push(array.get().tensor());
    }
    Ok(tensors)
}
