//! Events: a counter that queues and hosts signal and wait for.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A counter that only grows. Cloning gives the same event.
#[derive(Debug, Clone)]
pub struct Event(Arc<(Mutex<u64>, Condvar)>);

impl Event {
    pub(crate) fn new() -> Event {
        Event(Arc::new((Mutex::new(0), Condvar::new())))
    }

    /// The value now.
    pub fn signaled_value(&self) -> u64 {
        *self.0.0.lock()
    }

    /// Raises the value from the host.
    pub fn signal(&self, value: u64) {
        let mut v = self.0.0.lock();
        *v = (*v).max(value);
        self.0.1.notify_all();
    }

    /// Waits until the value is reached; false when the time ran out first.
    pub fn wait(&self, value: u64, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let mut v = self.0.0.lock();
        while *v < value {
            if self.0.1.wait_until(&mut v, until).timed_out() {
                return *v >= value;
            }
        }
        true
    }
}
