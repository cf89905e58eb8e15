//! Counters of traffic between the host and a device: for assertions where time cannot be asserted.

use std::sync::atomic::{AtomicU64, Ordering};

/// Traffic between the host and a device so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficStats {
    /// Number of submissions.
    pub submits: u64,
    /// Number of times that the host waited for a run.
    pub waits: u64,
    /// Bytes copied to the host.
    pub bytes_read: u64,
    /// Bytes copied from the host.
    pub bytes_written: u64,
}

impl std::ops::Sub for TrafficStats {
    type Output = TrafficStats;

    /// The traffic since `earlier`.
    fn sub(self, earlier: TrafficStats) -> TrafficStats {
        TrafficStats {
            submits: self.submits - earlier.submits,
            waits: self.waits - earlier.waits,
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_written: self.bytes_written - earlier.bytes_written,
        }
    }
}

/// The counters of a device.
#[derive(Default)]
pub(crate) struct Traffic {
    submits: AtomicU64,
    waits: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
}

impl Traffic {
    pub fn add_submit(&self) {
        self.submits.fetch_add(1, Ordering::Relaxed);
    }

    pub fn add_wait(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    pub fn add_read(&self, bytes: usize) {
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn add_written(&self, bytes: usize) {
        self.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn stats(&self) -> TrafficStats {
        TrafficStats {
            submits: self.submits.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
        }
    }
}
