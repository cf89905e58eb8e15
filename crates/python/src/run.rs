//! Work outside of the interpreter lock: panics become exceptions, and Ctrl-C is heard.

use crate::errors::{OrRaise, from_panic};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use wootz::{DeviceKind, Evaluation, Tensor};

/// How often a waiting thread looks for signals.
const POLL: Duration = Duration::from_millis(20);

/// Work below which releasing the interpreter lock costs more than it gives, in bytes touched and operations done.
const TINY: f64 = 32_768.0;

/// Work that may take long enough for a person to press Ctrl-C.
const LONG: f64 = 2e8;

/// Nodes whose planning may take long enough for that.
const MANY_NODES: usize = 5_000;

/// Calls `f` without the interpreter lock.
pub fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> wootz::Result<T> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(f))) {
        Ok(result) => result.or_raise(),
        Err(panic) => Err(from_panic(&*panic)),
    }
}

/// Calls `f` on a thread of its own and waits, so that a signal ends the waiting with its exception. The work itself then
/// runs to its end unseen.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    f: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let work = move || {
        // Nobody listens any more after a signal.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(f)));
    };
    if let Err(error) = std::thread::Builder::new().name("wootz-eval".into()).spawn(work) {
        return Err(crate::errors::raise("DeviceError", format!("no thread to work on: {error}")));
    }
    let receiver = std::sync::Mutex::new(receiver);
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

/// Computes tensors. Tiny work is done at once; other work without the interpreter lock; long work so that it can be
/// interrupted.
pub fn evaluate(py: Python<'_>, tensors: &[&Tensor]) -> PyResult<()> {
    if tensors.iter().all(|t| t.is_ready()) {
        return Ok(());
    }
    let Some(mut evaluation) = Evaluation::of(tensors.iter().copied()).or_raise()? else {
        if tensors.iter().all(|t| t.is_ready()) {
            return Ok(());
        }
        // What was started before is waited for, so that Ctrl-C is heard.
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

/// Does work of a known amount on the CPU as befits it, or any other (`None`: long work, and devices whose speed and whose
/// compiler's speed are unknown here) so that it can be interrupted.
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
        _ => interruptible(py, f)?.or_raise(),
    }
}

/// Panics where evaluations run. Tests call it, to see that a bug of ours is an exception and not the end of the process.
#[pyfunction]
pub fn _panic(py: Python<'_>, message: String, interruptibly: bool) -> PyResult<()> {
    if interruptibly {
        return interruptible(py, move || panic!("{message}"));
    }
    detached(py, move || panic!("{message}"))
}
