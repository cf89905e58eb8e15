//! Failures on demand, for tests of what happens then: the n-th allocation, file operation, thread start, compilation or
//! submission of the process fails as if the system had refused it.
//!
//! The hooks work in builds with debug assertions only; otherwise [`fails`] is a constant, and costs nothing.

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Memory for a buffer, for scratch, or for the working memory of a kernel.
    Memory,
    /// Opening, reading, writing, syncing or renaming a file.
    File,
    /// Starting a thread.
    Thread,
    /// Compiling a plan, or a pipeline of it.
    Compile,
    /// Submitting a run, or waiting for its end.
    Submit,
}

impl Point {
    /// All of them.
    pub const ALL: [Point; 5] = [Point::Memory, Point::File, Point::Thread, Point::Compile, Point::Submit];
}

/// Whether the operation that is about to begin has to fail.
#[inline(always)]
pub fn fails(point: Point) -> bool {
    cfg!(debug_assertions) && armed::fails(point)
}

/// As [`fails`], as an error of a file operation.
#[inline(always)]
pub fn file() -> std::io::Result<()> {
    if fails(Point::File) { Err(std::io::Error::other("made to fail by a test")) } else { Ok(()) }
}

pub use armed::{Armed, arm};

mod armed {
    use super::Point;
    use parking_lot::{Mutex, MutexGuard};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Operations of each kind until the one that fails; 0 when none does.
    static LEFT: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];
    /// Held by the test that has armed a point: the hooks are the process's.
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

    /// Makes the `n`-th operation of a kind fail, counted from 1, on whichever thread it happens. Waits for other tests that
    /// have armed a point.
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
