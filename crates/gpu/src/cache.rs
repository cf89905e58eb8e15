//! A cache of pipelines, keyed by their source.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// Maximum number of cached pipelines; beyond it the cache is cleared. Plans keep their own.
const MOST: usize = 4096;

/// What has been compiled on a device, by key.
pub struct Cache<T> {
    known: Mutex<FxHashMap<String, Arc<Slot<T>>>>,
}

/// The location of a pipeline, once it has been compiled.
struct Slot<T> {
    value: OnceLock<T>,
    /// Held by the thread that compiles it.
    making: Mutex<()>,
}

impl<T> Default for Cache<T> {
    fn default() -> Cache<T> {
        Cache { known: Mutex::default() }
    }
}

impl<T: Clone> Cache<T> {
    /// The pipeline with this key, compiled by the first caller while others wait. A failure is not cached: it may be
    /// temporary (a full disk, a killed compiler), so the next caller tries again.
    pub fn get_or_make<E>(&self, key: &str, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let slot = self.slot(key);
        if let Some(value) = slot.value.get() {
            return Ok(value.clone());
        }
        let _making = slot.making.lock();
        if let Some(value) = slot.value.get() {
            return Ok(value.clone());
        }
        let made = make()?;
        Ok(slot.value.get_or_init(|| made).clone())
    }

    /// Whether it has been compiled.
    pub fn contains(&self, key: &str) -> bool {
        self.known.lock().get(key).is_some_and(|slot| slot.value.get().is_some())
    }

    fn slot(&self, key: &str) -> Arc<Slot<T>> {
        let mut known = self.known.lock();
        if let Some(slot) = known.get(key) {
            return slot.clone();
        }
        if known.len() >= MOST {
            known.clear();
        }
        let empty = || Arc::new(Slot { value: OnceLock::new(), making: Mutex::new(()) });
        known.entry(key.to_string()).or_insert_with(empty).clone()
    }

    /// The number of entries.
    pub fn count(&self) -> usize {
        self.known.lock().values().filter(|slot| slot.value.get().is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_failure_is_forgotten_and_success_is_shared() {
        let cache = Cache::default();
        assert_eq!(cache.get_or_make("k", || Err::<i32, _>("disk full")), Err("disk full"));
        assert!(!cache.contains("k") && cache.count() == 0);
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let value = cache.get_or_make("k", || {
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, &str>(7)
                    });
                    assert_eq!(value, Ok(7));
                });
            }
        });
        assert_eq!((made.into_inner(), cache.count(), cache.contains("k")), (1, 1, true));
    }
}
