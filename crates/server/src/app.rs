//! State shared by all handlers.

use crate::ServerOptions;
use crate::metrics::Metrics;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

pub struct App {
    pub options: ServerOptions,
    pub metrics: Metrics,
    pub started: u64,
    requests: AtomicU64,
    random: u64,
}

impl App {
    pub fn new(options: ServerOptions) -> App {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        App {
            metrics: Metrics::new(),
            options,
            started: now.as_secs(),
            requests: AtomicU64::new(0),
            random: now.as_nanos() as u64,
        }
    }

    /// A number that no other request has.
    pub fn unique(&self) -> u64 {
        let mut random =
            wootz_llm::sampling::Random::new(self.random.wrapping_add(self.requests.fetch_add(1, Relaxed)));
        random.bits()
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
