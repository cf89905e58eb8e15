//! Compiled functions of arrays, traced once per signature.

use crate::array::{PyArray, python_number};
use crate::convert::number_of;
use crate::errors::{OrRaise, from_engine, raise};
use crate::trace::{Findings, Scope, Version};
use parking_lot::{Mutex, RwLock};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use wootz::{Call, Compiled, Device, DeviceKind, Error, Number, Tensor};

type Tensors = SmallVec<[Tensor; 4]>;

/// A Python function compiled for a device. It takes a tuple of parameters and arrays, and returns a tuple of arrays.
#[pyclass(name = "_Compiled", module = "wootz._native", frozen)]
pub struct PyCompiled {
    function: Arc<Py<PyAny>>,
    /// The number of numeric parameters of each call.
    parameters: usize,
    compiled: RwLock<Arc<Compiled>>,
    notes: Arc<Notes>,
}

/// State shared between traces of a function.
#[derive(Default)]
struct Notes {
    /// The exception raised while tracing, by the tracing thread.
    raised: Mutex<Vec<(ThreadId, PyErr)>>,
    /// The numbers of the call that a thread is tracing the function for.
    numbers: Mutex<Vec<(ThreadId, Numbers)>>,
    /// Whether the function draws random numbers without a seed.
    draws: AtomicBool,
    /// The captured arrays as they were when they were read.
    read: Mutex<Vec<Version>>,
}

type Numbers = SmallVec<[Number; 4]>;

#[pymethods]
impl PyCompiled {
    #[new]
    fn new(function: Py<PyAny>, device: crate::device::PyDevice, parameters: usize) -> PyCompiled {
        let (function, notes) = (Arc::new(function), Arc::default());
        let compiled = RwLock::new(compiled(&device.0, &function, parameters, &notes));
        PyCompiled { function, parameters, compiled, notes }
    }

    /// Calls the function; the results are evaluated.
    #[pyo3(signature = (numbers, *arrays))]
    fn __call__(
        &self,
        py: Python<'_>,
        numbers: Vec<Bound<'_, PyAny>>,
        arrays: Vec<PyRef<'_, PyArray>>,
    ) -> PyResult<Vec<PyArray>> {
        let tensors: Tensors = arrays.iter().map(|a| a.tensor()).collect();
        drop(arrays);
        let mut values = Numbers::new();
        for number in &numbers {
            let value = number_of(number)?;
            values.push(value.ok_or_else(|| raise("ConversionError", format!("{number} is not a number")))?);
        }
        self.call(py, tensors, values)
    }

    /// Like `call`, for a tuple of anything; `None` unless all of it is arrays on the function's device.
    fn plain(&self, py: Python<'_>, arguments: &Bound<'_, PyTuple>) -> PyResult<Option<Vec<PyArray>>> {
        let mut tensors = Tensors::new();
        for argument in arguments.iter_borrowed() {
            let Ok(array) = argument.cast_exact::<PyArray>() else { return Ok(None) };
            let tensor = array.get().tensor();
            if tensor.device() != self.compiled.read().device() {
                return Ok(None);
            }
            tensors.push(tensor);
        }
        self.call(py, tensors, Numbers::new()).map(Some)
    }

    /// The plan for these arguments.
    #[pyo3(signature = (numbers, *arrays))]
    fn explain(
        &self,
        py: Python<'_>,
        numbers: Vec<Bound<'_, PyAny>>,
        arrays: Vec<PyRef<'_, PyArray>>,
    ) -> PyResult<String> {
        let tensors: Vec<Tensor> = arrays.iter().map(|a| a.tensor()).collect();
        drop(arrays);
        let values: PyResult<Vec<Option<Number>>> = numbers.iter().map(number_of).collect();
        let _here = self.notes.note_numbers(values?.into_iter().flatten().collect());
        let compiled = self.compiled.read().clone();
        let explained = py.detach(|| compiled.explain(&tensors.iter().collect::<Vec<_>>()));
        let explained = explained.map(|explanation| explanation.to_string());
        explained.map_err(|error| self.notes.raised_here().unwrap_or_else(|| from_engine(error)))
    }
}

impl PyCompiled {
    fn call(&self, py: Python<'_>, tensors: Tensors, mut numbers: Numbers) -> PyResult<Vec<PyArray>> {
        let references: SmallVec<[&Tensor; 4]> = tensors.iter().collect();
        crate::run::evaluate(py, &references)?;
        let compiled = self.current();
        let draws = self.notes.draws.load(Ordering::Acquire);
        push_key(&mut numbers, if draws { crate::random::next_seed()? } else { 0 });
        let bound = match compiled.find_with(&references, &numbers).or_raise()? {
            Some(call) => call,
            None => {
                numbers.truncate(self.parameters);
                push_key(&mut numbers, crate::random::next_seed()?);
                self.bind(py, &compiled, &references, numbers)?
            }
        };
        let on_host = bound.device().info().kind == DeviceKind::Cpu;
        let results = crate::run::by_work(py, on_host.then_some(bound.work()), move || bound.run())?;
        Ok(results.into_iter().map(PyArray::new).collect())
    }

    /// The function's plans; new ones if a captured array has been assigned to.
    fn current(&self) -> Arc<Compiled> {
        let mut read = self.notes.read.lock();
        if read.iter().any(Version::is_stale) {
            read.clear();
            let mut known = self.compiled.write();
            *known = compiled(known.device(), &self.function, self.parameters, &self.notes);
        }
        self.compiled.read().clone()
    }

    /// Traces the function.
    fn bind(
        &self,
        py: Python<'_>,
        compiled: &Compiled,
        tensors: &[&Tensor],
        numbers: Numbers,
    ) -> PyResult<Call> {
        let _here = self.notes.note_numbers(numbers.clone());
        let caught = py.detach(|| {
            let bind = || compiled.bind_with(tensors, &numbers);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(bind))
        });
        match caught {
            Ok(Ok(call)) => Ok(call),
            Ok(Err(error)) => Err(self.notes.raised_here().unwrap_or_else(|| from_engine(error))),
            Err(panic) => Err(crate::errors::from_panic(&*panic)),
        }
    }
}

/// A key as two 32-bit parameters.
fn push_key(numbers: &mut Numbers, key: u64) {
    numbers.extend([Number::Uint(key & 0xFFFF_FFFF), Number::Uint(key >> 32)]);
}

impl Notes {
    /// The exception that the function raised on this thread.
    fn raised_here(&self) -> Option<PyErr> {
        let mut raised = self.raised.lock();
        let here = std::thread::current().id();
        let at = raised.iter().position(|(thread, _)| *thread == here)?;
        Some(raised.swap_remove(at).1)
    }

    /// Sets the numbers that a trace on this thread is for, until the guard is dropped.
    fn note_numbers(self: &Arc<Notes>, numbers: Numbers) -> NumbersNoted {
        self.numbers.lock().push((std::thread::current().id(), numbers));
        NumbersNoted(self.clone())
    }

    fn numbers_here(&self) -> Numbers {
        let here = std::thread::current().id();
        let numbers = self.numbers.lock();
        let own = numbers.iter().rev().find(|(thread, _)| *thread == here);
        own.map(|(_, numbers)| numbers.clone()).unwrap_or_default()
    }
}

struct NumbersNoted(Arc<Notes>);

impl Drop for NumbersNoted {
    fn drop(&mut self) {
        let mut numbers = self.0.numbers.lock();
        let here = std::thread::current().id();
        if let Some(at) = numbers.iter().rposition(|(thread, _)| *thread == here) {
            numbers.swap_remove(at);
        }
    }
}

/// A function without plans.
fn compiled(
    device: &Device,
    function: &Arc<Py<PyAny>>,
    parameters: usize,
    notes: &Arc<Notes>,
) -> Arc<Compiled> {
    let (function, notes) = (function.clone(), notes.clone());
    Arc::new(wootz::compile(device, move |arguments: &[Tensor]| {
        Python::attach(|py| {
            let scope = Scope::enter(parameters);
            let mut numbers = notes.numbers_here();
            numbers.truncate(parameters);
            let traced = trace(py, &function, &numbers, arguments);
            let Findings { draws, read } = scope.findings();
            drop(scope);
            if draws {
                notes.draws.store(true, Ordering::Release);
            }
            notes.read.lock().extend(read);
            traced.map_err(|error| {
                notes.raised.lock().push((std::thread::current().id(), error));
                Error::argument("compile", "the function raised an exception while it was traced")
            })
        })
    }))
}

/// Calls the Python function with placeholders for its arguments.
fn trace(
    py: Python<'_>,
    function: &Py<PyAny>,
    numbers: &[Number],
    arguments: &[Tensor],
) -> PyResult<Vec<Tensor>> {
    let numbers: PyResult<Vec<_>> = numbers.iter().map(|&n| python_number(py, n)).collect();
    let arrays: PyResult<Vec<Py<PyArray>>> =
        arguments.iter().map(|t| Py::new(py, PyArray::new(t.clone()))).collect();
    let results = function.bind(py).call1((PyTuple::new(py, numbers?)?, PyTuple::new(py, arrays?)?))?;
    let mut tensors = Vec::new();
    for result in results.try_iter()? {
        let result = result?;
        let array = result.cast::<PyArray>().map_err(|_| {
            let class = result.get_type().name().map_or_else(|_| "?".into(), |n| n.to_string());
            raise("ConversionError", format!("a compiled function must return arrays, not {class}"))
        })?;
        tensors.push(array.get().tensor());
    }
    Ok(tensors)
}
