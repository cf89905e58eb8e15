//! Fault injection for tests: the n-th allocation, file operation, thread start, compilation or submission of the
//! process fails as if the system had refused it.
//!
//! The hooks are active only in builds with debug assertions; otherwise [`fails`] is a constant and costs nothing.

/// Operations that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Allocating a buffer, or scratch memory for a plan or a kernel.
    Memory,
    /// Opening, mapping, reading, writing, syncing or renaming a file.
    File,
    /// Starting a thread.
    Thread,
    /// Compiling a plan, or a pipeline of it.
    Compile,
    /// Submitting a run, or waiting for its completion.
    Submit,
}

impl Point {
    /// All of them.
    pub const ALL: [Point; 5] = [Point::Memory, Point::File, Point::Thread, Point::Compile, Point::Submit];
}

/// Whether the operation that is about to start must fail.
#[inline(always)]
pub fn fails(point: Point) -> bool {
    cfg!(debug_assertions) && armed::fails(point)
}

/// Like [`fails`], as an I/O error.
#[inline(always)]
pub fn file() -> std::io::Result<()> {
    if fails(Point::File) { Err(std::io::Error::other("failure injected by a test")) } else { Ok(()) }
}

pub use armed::{Armed, arm};

/// Makes the n-th operation of a kind fail in an attempt, for n = 1, 2, … until an attempt needs fewer operations.
/// Returns how many attempts failed.
///
/// # Panics
/// If an attempt fails although nothing was refused, or if the attempt after a failure fails: a failure that is not
/// reported must not matter, and the next call must succeed.
pub fn each_failure<E: std::fmt::Display>(point: Point, mut attempt: impl FnMut() -> Result<(), E>) -> usize {
    let mut failed = 0;
    for n in 1..1000 {
        let armed = arm(point, n);
        let outcome = attempt();
        let fired = armed.fired();
        drop(armed);
        if let Err(error) = &outcome {
            assert!(fired, "{error}");
            failed += 1;
        }
        attempt().unwrap_or_else(|error| panic!("after failure {n} of {point:?}: {error}"));
        if !fired {
            return failed;
        }
    }
    panic!("{point:?}: there is no end to the operations of an attempt")
}

mod armed {
    use super::Point;
    use parking_lot::{Mutex, MutexGuard};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Number of operations of each kind until the one that fails; 0 for never.
    static LEFT: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];
    /// Held by the test that has armed a point: the hooks are global to the process.
    static USER: Mutex<()> = Mutex::new(());

    pub(super) fn fails(point: Point) -> bool {
        let left = &LEFT[point as usize];
        if left.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let less = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        less == Ok(1)
    }

    /// A point that is armed until this is dropped.
    pub struct Armed {
        point: Point,
        _user: MutexGuard<'static, ()>,
    }

    impl Armed {
        /// Whether the failure has happened.
        pub fn fired(&self) -> bool {
            LEFT[self.point as usize].load(Ordering::Relaxed) == 0
        }
    }

    impl Drop for Armed {
        fn drop(&mut self) {
            LEFT[self.point as usize].store(0, Ordering::Relaxed);
        }
    }

    /// Makes the `n`-th operation of a kind fail, counted from 1, on whichever thread it happens. Waits for other
    /// tests that have armed a point.
    pub fn arm(point: Point, n: u64) -> Armed {
        let user = USER.lock();
        LEFT[point as usize].store(n, Ordering::Relaxed);
        Armed { point, _user: user }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn the_nth_operation_fails_and_no_other() {
        let armed = arm(Point::File, 3);
        assert_eq!([(); 5].map(|()| fails(Point::File)), [false, false, true, false, false]);
        assert!(armed.fired() && !fails(Point::Memory));
        drop(armed);
        let armed = arm(Point::File, 1);
        assert!(!armed.fired());
        drop(armed);
        assert!(file().is_ok());
    }
}
