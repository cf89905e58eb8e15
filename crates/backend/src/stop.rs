//! Asking an evaluation to stop before its end.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop what a thread evaluates; clones share it.
///
/// Devices look at it between pieces of work of some milliseconds, as far as they can, and end the run with
/// [`Error::Stopped`](wootz_ir::Error::Stopped). Its results are never seen; leaves that it was updating in place are left in
/// an unspecified state.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

thread_local! {
    static CURRENT: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

impl Stop {
    /// Asks to stop. This cannot be taken back.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked to stop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for kernels.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Calls `f`; what it submits on this thread can be stopped by this request.
    pub fn over<T>(&self, f: impl FnOnce() -> T) -> T {
        /// Puts the outer request back, also after a panic.
        struct Outer(Option<Stop>);
        impl Drop for Outer {
            fn drop(&mut self) {
                CURRENT.replace(self.0.take());
            }
        }
        let _outer = Outer(CURRENT.replace(Some(self.clone())));
        f()
    }

    /// The request that applies to this thread.
    pub fn current() -> Option<Stop> {
        CURRENT.with_borrow(Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_applies_within_its_call() {
        let (outer, inner) = (Stop::default(), Stop::default());
        let requested = || Stop::current().map(|stop| stop.is_requested());
        assert_eq!(requested(), None);
        outer.over(|| {
            inner.request();
            assert_eq!(inner.over(requested), Some(true));
            assert_eq!(requested(), Some(false));
            let _ = std::panic::catch_unwind(|| inner.over(|| std::panic::resume_unwind(Box::new(0))));
            assert_eq!(requested(), Some(false));
        });
        assert_eq!(requested(), None);
    }
}
