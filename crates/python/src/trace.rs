//! What this thread knows while it traces a function: which arrays the function read, and what it drew at random.
//!
//! A traced function must not depend on anything that a later call would not see. Its arrays are arguments, or captured
//! arrays whose assignments are noticed; its numbers are parameters; its random numbers come from a key that is given with
//! each call.

use crate::array::python_number;
use crate::errors::OrRaise;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wootz::{DType, Device, Number, Operand, Seed, Tensor};

thread_local! {
    /// The number of the trace on this thread; 0 where there is none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
    static STATE: RefCell<State> = const { RefCell::new(State::new()) };
}

struct State {
    /// How many seeds were asked for.
    draws: u32,
    /// The slot of the key's lower half; the upper one follows.
    key_slot: usize,
    /// Counters of the captured arrays that were read, and what they said.
    read: Vec<Version>,
}

impl State {
    const fn new() -> State {
        State { draws: 0, key_slot: 0, read: Vec::new() }
    }
}

/// How often an array had been assigned to when it was read.
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

/// The number of the trace on this thread; 0 where there is none.
pub fn current() -> u64 {
    CURRENT.get()
}

/// Whether a function is being traced on this thread.
#[pyfunction]
pub fn _is_tracing() -> bool {
    current() != 0
}

/// Notes that a captured array is read.
pub fn watch(counter: &Arc<AtomicU64>) {
    STATE.with_borrow_mut(|state| {
        if !state.read.iter().any(|known| Arc::ptr_eq(&known.counter, counter)) {
            let seen = counter.load(Ordering::Acquire);
            state.read.push(Version { counter: counter.clone(), seen });
        }
    });
}

/// A seed for a draw that names none: part of the key that each call of the traced function is given.
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

/// What a trace found out.
pub struct Findings {
    /// Whether random numbers were drawn without a seed.
    pub draws: bool,
    /// The captured arrays that were read.
    pub read: Vec<Version>,
}

/// A trace under way on this thread. It ends when this is dropped.
pub struct Scope {
    outer: u64,
    saved: State,
}

impl Scope {
    /// Starts a trace; the key is in this parameter and the next one.
    pub fn enter(key_slot: usize) -> Scope {
        static TRACES: AtomicU64 = AtomicU64::new(1);
        let saved = STATE.replace(State { key_slot, ..State::new() });
        Scope { outer: CURRENT.replace(TRACES.fetch_add(1, Ordering::Relaxed)), saved }
    }

    /// What was found out until now.
    pub fn findings(&self) -> Findings {
        STATE.with_borrow(|state| Findings { draws: state.draws > 0, read: state.read.clone() })
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
        STATE.set(std::mem::replace(&mut self.saved, State::new()));
    }
}

/// A Python number that a compiled function was given. Beside arrays it stands for the number of each call; whoever looks at
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
            crate::errors::raise("ConversionError", format!("a parameter is a number, not {value}"))
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

    /// The value; from now on the trace is one for this value.
    fn _value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        python_number(py, self.look())
    }
}

impl PyParameter {
    /// The value; from now on the trace is one for this value.
    pub fn look(&self) -> Number {
        self.looked_at.store(true, Ordering::Relaxed);
        self.number
    }

    /// The parameter beside a tensor. Whether an integer fits depends on its value, and so may what a power does.
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
