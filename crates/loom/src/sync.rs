//! The types of `crates/cpu/src/sync.rs` and `crates/backend/src/sync.rs`, implemented with loom.

pub use loom::sync::atomic::{AtomicU64, Ordering};
pub use loom::sync::{Arc, Condvar, Mutex};
pub use loom::thread::{Builder, JoinHandle};

use loom::sync::atomic::{self, fence};

/// A fence on the side of a sequentially consistent access on which it makes the access one: loom takes such accesses for
/// acquiring and releasing ones, and only fences for more.
fn in_one_order(order: Ordering) {
    if order == Ordering::SeqCst {
        fence(Ordering::SeqCst);
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty $(, $add:ident)*) => {
        /// As the standard library's.
        #[derive(Default, Debug)]
        pub struct $name(atomic::$name);

        impl $name {
            /// A variable of its own.
            pub fn new(value: $value) -> $name {
                $name(atomic::$name::new(value))
            }

            /// Its value.
            pub fn load(&self, order: Ordering) -> $value {
                in_one_order(order);
                self.0.load(order)
            }

            /// Another value.
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
                in_one_order(order);
            }

            /// Another value, for the old one.
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                in_one_order(order);
                let old = self.0.swap(value, order);
                in_one_order(order);
                old
            }

            $(
                /// A changed value, for the old one.
                pub fn $add(&self, value: $value, order: Ordering) -> $value {
                    in_one_order(order);
                    let old = self.0.$add(value, order);
                    in_one_order(order);
                    old
                }
            )*
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicUsize, usize, fetch_add, fetch_sub);

/// Looks once: time does not pass in a model, and sleeping is what can go wrong.
pub fn spin_until(ready: &impl Fn() -> bool) -> bool {
    ready()
}

/// A mutex without poisoning, as the pool has it.
pub struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    /// A free one.
    pub fn new(value: T) -> Lock<T> {
        Lock(Mutex::new(value))
    }

    /// Waits for it.
    pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
