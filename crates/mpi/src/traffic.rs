//! Counts of what a rank sends.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Statistics of a group on this rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Operations: collectives, sends and receives.
    pub operations: u64,
    /// Bytes of data that this rank brought into them.
    pub bytes: u64,
    /// Messages that Wootz sent to other ranks. It does small collectives by itself, and announces large ones.
    pub messages: u64,
    /// Bytes of these messages, with their headers.
    pub sent: u64,
    /// Collectives that were left to the MPI library, which sends messages of its own for them.
    pub delegated: u64,
}

/// The counters behind them.
#[derive(Default)]
pub struct Counters {
    operations: AtomicU64,
    bytes: AtomicU64,
    messages: AtomicU64,
    sent: AtomicU64,
    delegated: AtomicU64,
}

impl Counters {
    /// An operation into which this rank brings so many bytes.
    pub fn began(&self, bytes: usize) {
        self.operations.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// A message.
    pub fn sent(&self, bytes: usize) {
        self.messages.fetch_add(1, Relaxed);
        self.sent.fetch_add(bytes as u64, Relaxed);
    }

    /// A collective of the library.
    pub fn delegated(&self) {
        self.delegated.fetch_add(1, Relaxed);
    }

    pub fn read(&self) -> Traffic {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        Traffic {
            operations: load(&self.operations),
            bytes: load(&self.bytes),
            messages: load(&self.messages),
            sent: load(&self.sent),
            delegated: load(&self.delegated),
        }
    }
}
