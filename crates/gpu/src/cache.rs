//! Pipelines by what they are made from.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// Pipelines that are remembered; with one more, all are forgotten. Plans hold on to theirs.
const MOST: usize = 4096;

/// What has been compiled on a device, by key.
pub struct Cache<T> {
    known: Mutex<FxHashMap<String, Arc<OnceLock<T>>>>,
}

impl<T> Default for Cache<T> {
    fn default() -> Cache<T> {
        Cache { known: Mutex::default() }
    }
}

impl<T> Cache<T> {
    /// The place of what has this key, filled or not.
    pub fn slot(&self, key: &str) -> Arc<OnceLock<T>> {
        let mut known = self.known.lock();
        if let Some(slot) = known.get(key) {
            return slot.clone();
        }
        if known.len() >= MOST {
            known.clear();
        }
        known.entry(key.to_string()).or_default().clone()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.known.lock().values().filter(|slot| slot.get().is_some()).count()
    }
}
