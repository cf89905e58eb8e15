//! Work without the GIL: panics become exceptions, and Ctrl-C is handled.

use crate::errors::{OrRaise, from_panic};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use wootz::{DeviceKind, Evaluation, Stop, Tensor};

/// How often a waiting thread checks for signals.
const POLL: Duration = Duration::from_millis(20);

/// How long a signal's exception waits for stopped work to end. Kernels look every few milliseconds; devices that cannot be
/// stopped go on in the background.
const PATIENCE: Duration = Duration::from_millis(500);

/// Below this amount of work (bytes and operations), releasing the GIL costs more than it gains.
const TINY: f64 = 32_768.0;

/// Work that may take long enough for a user to press Ctrl-C.
const LONG: f64 = 2e8;

/// Number of nodes whose planning may take that long.
const MANY_NODES: usize = 5_000;

/// Calls `f` without the GIL.
pub fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> wootz::Result<T> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(f))) {
        Ok(result) => result.or_raise(),
        Err(panic) => Err(from_panic(&*panic)),
    }
}

/// What a thread sends at its end: its value, or its panic.
type Outcome<T> = std::thread::Result<T>;

/// Calls `f` on a separate thread and waits, so that a signal can end the wait with its exception. The work itself
/// completes in the background.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    f: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let receiver = started(f)?;
    wait(py, &receiver)
}

/// The same for an evaluation, which a signal stops: the device gives up, and the arrays stay as they were.
fn stoppable<T: Send + 'static>(py: Python<'_>, f: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let stop = Stop::default();
    let request = stop.clone();
    let receiver = started(move || stop.over(f))?;
    wait(py, &receiver).inspect_err(|_| {
        request.request();
        // Whether it ends in time or goes on, the signal is what counts.
        py.detach(|| receiver.lock().is_ok_and(|receiver| receiver.recv_timeout(PATIENCE).is_ok()));
    })
}

/// Starts a thread that calls `f`.
fn started<T: Send + 'static>(
    f: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Mutex<Receiver<Outcome<T>>>> {
    let (sender, receiver) = channel();
    let work = move || {
        // After a signal, nobody is listening any more.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(f)));
    };
    if let Err(error) = std::thread::Builder::new().name("wootz-eval".into()).spawn(work) {
        return Err(crate::errors::raise("DeviceError", format!("cannot start a thread: {error}")));
    }
    Ok(Mutex::new(receiver))
}

/// Waits for a thread's outcome, or for a signal.
fn wait<T: Send>(py: Python<'_>, receiver: &Mutex<Receiver<Outcome<T>>>) -> PyResult<T> {
    loop {
        let look = || receiver.lock().map(|r| r.recv_timeout(POLL)).map_err(|_| ());
        match py.detach(look) {
            Ok(Ok(Ok(value))) => return Ok(value),
            Ok(Ok(Err(panic))) => return Err(from_panic(&*panic)),
            Ok(Err(RecvTimeoutError::Timeout)) => py.check_signals()?,
            Ok(Err(RecvTimeoutError::Disconnected)) | Err(_) => {
                return Err(crate::errors::raise("InternalError", "an evaluation ended without a result"));
            }
        }
    }
}

/// Evaluates tensors: small work immediately, other work without the GIL, and long work so that it can be
/// interrupted.
pub fn evaluate(py: Python<'_>, tensors: &[&Tensor]) -> PyResult<()> {
    if tensors.iter().all(|t| t.is_ready()) {
        return Ok(());
    }
    let Some(mut evaluation) = Evaluation::of(tensors.iter().copied()).or_raise()? else {
        if tensors.iter().all(|t| t.is_ready()) {
            return Ok(());
        }
        // Wait for what was started before, so that Ctrl-C is handled.
        let started: Vec<Tensor> = tensors.iter().map(|&t| t.clone()).collect();
        return interruptible(py, move || wootz::eval(&started))?.or_raise();
    };
    if evaluation.work().is_none() && tensors[0].device().name() == "cpu" {
        let large = evaluation.unplanned() > MANY_NODES;
        let plan = move || evaluation.prepare().map(|()| evaluation);
        evaluation = if large { interruptible(py, plan)?.or_raise()? } else { detached(py, plan)? };
    }
    let on_host = evaluation.device().is_some_and(|device| device.info().kind == DeviceKind::Cpu);
    let work = evaluation.work().filter(|_| on_host);
    by_work(py, work, move || evaluation.run())
}

/// Runs CPU work of a known amount in the appropriate way, or any other work (`None`: long work, and devices of
/// unknown speed) so that it can be interrupted.
pub fn by_work<T: Send + 'static>(
    py: Python<'_>,
    work: Option<f64>,
    f: impl FnOnce() -> wootz::Result<T> + Send + 'static,
) -> PyResult<T> {
    match work {
        Some(work) if work < TINY => match catch_unwind(AssertUnwindSafe(f)) {
            Ok(result) => result.or_raise(),
            Err(panic) => Err(from_panic(&*panic)),
        },
        Some(work) if work < LONG => detached(py, f),
        _ => stoppable(py, f)?.or_raise(),
    }
}

/// Panics during evaluation. Tests call it, to check that a bug becomes an exception and does not end the process.
#[pyfunction]
pub fn _panic(py: Python<'_>, message: String, interruptibly: bool) -> PyResult<()> {
    if interruptibly {
        return stoppable(py, move || panic!("{message}"));
    }
    detached(py, move || panic!("{message}"))
}
