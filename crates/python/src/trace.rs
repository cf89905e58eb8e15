//! Per-thread tracing state: the arrays that the traced function read, and its random draws.
//!
//! A traced function must not depend on anything that a later call would not see. Its arrays are arguments, or
//! captured arrays whose assignments are tracked; its numbers are parameters; its random numbers come from a key that
//! is passed with each call.

use crate::array::python_number;
use crate::errors::OrRaise;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wootz::{DType, Device, Number, Operand, Seed, Tensor};

thread_local! {
    /// The id of the trace on this thread; 0 if there is none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
    static STATE: RefCell<State> = const { RefCell::new(State::new()) };
}

/// The number of traces in progress on all threads.
static IN_PROGRESS: AtomicU64 = AtomicU64::new(0);

struct State {
    /// The number of seeds drawn.
    draws: u32,
    /// The slot of the key's lower half; the upper half follows.
    key_slot: usize,
    /// Assignment counters of the captured arrays that were read, and their values.
    read: Vec<Version>,
}

impl State {
    const fn new() -> State {
        State { draws: 0, key_slot: 0, read: Vec::new() }
    }
}

/// The number of assignments when the array was read.
#[derive(Clone)]
pub struct Version {
    counter: Arc<AtomicU64>,
    seen: u64,
}

impl Version {
    /// Whether the array has been assigned to since.
    pub fn is_stale(&self) -> bool {
        self.counter.load(Ordering::Acquire) != self.seen
    }
}

/// The id of the trace on this thread; 0 if there is none.
pub fn current() -> u64 {
    // This thread's own traces are among those in progress; without any, there is no need to look at memory of the thread.
    if IN_PROGRESS.load(Ordering::Relaxed) == 0 { 0 } else { CURRENT.get() }
}

/// Whether a function is being traced on this thread.
#[pyfunction]
pub fn _is_tracing() -> bool {
    current() != 0
}

/// Records that a captured array is read.
pub fn watch(counter: &Arc<AtomicU64>) {
    STATE.with_borrow_mut(|state| {
        if !state.read.iter().any(|known| Arc::ptr_eq(&known.counter, counter)) {
            let seen = counter.load(Ordering::Acquire);
            state.read.push(Version { counter: counter.clone(), seen });
        }
    });
}

/// A seed for a draw without one: derived from the key that is passed to each call of the traced function.
pub fn seed(device: &Device) -> PyResult<Seed> {
    let (slot, draw) = STATE.with_borrow_mut(|state| {
        state.draws += 1;
        (state.key_slot, state.draws - 1)
    });
    let half = |slot: usize| Tensor::parameter(slot, DType::U32, device);
    let (low, high) = (half(slot), half(slot + 1));
    // Draws of one call differ by their number; an odd factor spreads it over all bits.
    let high = high.add(u64::from(draw.wrapping_mul(0x9E37_79B1))).or_raise()?;
    Ok(Seed::Key { low, high })
}

/// The result of a trace.
pub struct Findings {
    /// Whether random numbers were drawn without a seed.
    pub draws: bool,
    /// The captured arrays that were read.
    pub read: Vec<Version>,
}

/// A trace in progress on this thread. It ends when this is dropped.
pub struct Scope {
    outer: u64,
    saved: State,
}

impl Scope {
    /// Starts a trace; the key is in this parameter and the next one.
    pub fn enter(key_slot: usize) -> Scope {
        static TRACES: AtomicU64 = AtomicU64::new(1);
        IN_PROGRESS.fetch_add(1, Ordering::Relaxed);
        let saved = STATE.replace(State { key_slot, ..State::new() });
        Scope { outer: CURRENT.replace(TRACES.fetch_add(1, Ordering::Relaxed)), saved }
    }

    /// The results so far.
    pub fn findings(&self) -> Findings {
        STATE.with_borrow(|state| Findings { draws: state.draws > 0, read: state.read.clone() })
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
        IN_PROGRESS.fetch_sub(1, Ordering::Relaxed);
        STATE.set(std::mem::replace(&mut self.saved, State::new()));
    }
}

/// A Python number passed to a compiled function. Combined with arrays it stands for the number of each call; using
/// its value ties the trace to that value.
#[pyclass(name = "_Parameter", module = "wootz._native", frozen, subclass)]
pub struct PyParameter {
    slot: usize,
    number: Number,
    looked_at: AtomicBool,
}

#[pymethods]
impl PyParameter {
    #[new]
    fn new(slot: usize, value: &Bound<'_, PyAny>) -> PyResult<PyParameter> {
        let number = crate::convert::number_of(value)?.ok_or_else(|| {
            crate::errors::raise("ConversionError", format!("a parameter must be a number, not {value}"))
        })?;
        Ok(PyParameter { slot, number, looked_at: AtomicBool::new(false) })
    }

    #[getter(_slot)]
    fn slot(&self) -> usize {
        self.slot
    }

    #[getter(_looked_at)]
    fn looked_at(&self) -> bool {
        self.looked_at.load(Ordering::Relaxed)
    }

    /// The value; from now on the trace is specific to it.
    fn _value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        python_number(py, self.look())
    }
}

impl PyParameter {
    /// The value; from now on the trace is specific to it.
    pub fn look(&self) -> Number {
        self.looked_at.store(true, Ordering::Relaxed);
        self.number
    }

    /// The parameter combined with a tensor. Whether an integer fits depends on its value, and so may the result of a
    /// power.
    pub fn operand(&self, op: &'static str, like: &Tensor) -> PyResult<Tensor> {
        let constant = self.number.to_tensor(op, like).or_raise()?;
        let dtype = constant.dtype();
        let fits = dtype.is_float() || (dtype == DType::I64 && matches!(self.number, Number::Int(_)));
        if fits && op != "pow" {
            return Ok(Tensor::parameter(self.slot, dtype, like.device()));
        }
        self.look();
        Ok(constant)
    }
}
