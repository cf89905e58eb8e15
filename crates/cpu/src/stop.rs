//! Ending kernels early: every thread of a run looks at its flag between pieces of work.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The payload of the unwind out of a kernel that was asked to stop. The device makes an error of it.
pub(crate) struct Stopped;

thread_local! {
    /// The flag of the run that this thread takes part in; null if nobody can stop it.
    static FLAG: Cell<*const AtomicBool> = const { Cell::new(std::ptr::null()) };
}

/// Calls `f`, in which [`check`] looks at this flag.
pub(crate) fn heeding<T>(flag: Option<&AtomicBool>, f: impl FnOnce() -> T) -> T {
    /// Puts the outer flag back, also when `f` is left early.
    struct Outer(*const AtomicBool);
    impl Drop for Outer {
        fn drop(&mut self) {
            FLAG.set(self.0);
        }
    }
    let _outer = Outer(FLAG.replace(flag.map_or(std::ptr::null(), std::ptr::from_ref)));
    f()
}

/// Leaves the kernel if its run was asked to stop. Costs a load or two: call it every millisecond or more often, where an unwind
/// leaves nothing behind.
#[inline]
pub(crate) fn check() {
    let flag = FLAG.get();
    // SAFETY: `heeding` borrows the flag for as long as it is set.
    if !flag.is_null() && unsafe { &*flag }.load(Ordering::Relaxed) {
        leave();
    }
}

#[cold]
#[inline(never)]
fn leave() -> ! {
    // Not a mistake that a panic hook would have to tell of.
    std::panic::resume_unwind(Box::new(Stopped))
}
