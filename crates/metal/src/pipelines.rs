//! Pipelines by their source: made once per device, several at a time.

use crate::driver::{Constant, ConstantKey, Device, DriverError, Pipeline, Program};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What a pipeline is made from, owned.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The whole source.
    pub source: String,
    /// The kernel's name in it.
    pub kernel: String,
    /// Function constants.
    pub constants: Vec<(ConstantKey, Constant)>,
    /// Whose kernel it is, for errors.
    pub label: String,
}

impl Recipe {
    fn program(&self) -> Program<'_> {
        Program {
            source: &self.source,
            kernel: &self.kernel,
            constants: &self.constants,
            label: &self.label,
            fast_math: false,
        }
    }

    /// What makes two pipelines the same.
    fn key(&self) -> String {
        format!("{}\0{:?}\0{}", self.kernel, self.constants, self.source)
    }
}

type Slot = Arc<OnceLock<Result<Pipeline, DriverError>>>;

/// Pipelines that are remembered; with one more, all are forgotten. Plans hold on to theirs.
const MOST: usize = 4096;

/// The pipelines of a device. One that fails to compile is remembered with its error.
#[derive(Default)]
pub struct Pipelines {
    known: Mutex<FxHashMap<String, Slot>>,
}

impl Pipelines {
    fn slot(&self, recipe: &Recipe) -> Slot {
        let (mut known, key) = (self.known.lock(), recipe.key());
        if known.len() >= MOST && !known.contains_key(&key) {
            known.clear();
        }
        known.entry(key).or_default().clone()
    }

    /// One pipeline, compiled by whoever asks first.
    pub fn get(&self, device: &dyn Device, recipe: &Recipe) -> Result<Pipeline, DriverError> {
        self.slot(recipe).get_or_init(|| device.pipeline(&recipe.program())).clone()
    }

    /// Lets the device compile what is missing as it likes best.
    pub fn prepare(&self, device: &dyn Device, recipes: &[Recipe]) {
        let mut seen = FxHashSet::default();
        let missing = recipes.iter().filter(|r| self.slot(r).get().is_none() && seen.insert(r.key()));
        let programs: Vec<Program<'_>> = missing.map(Recipe::program).collect();
        device.prepare(&programs);
    }

    /// All of them, in parallel.
    pub fn get_all(&self, device: &dyn Device, recipes: &[Recipe]) -> Result<Vec<Pipeline>, DriverError> {
        let missing: Vec<&Recipe> = recipes.iter().filter(|r| self.slot(r).get().is_none()).collect();
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        if missing.len() > 1 {
            self.prepare(device, recipes);
        }
        if missing.len() > 1 && cores > 1 {
            let next = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..cores.min(missing.len()) {
                    scope.spawn(|| {
                        while let Some(recipe) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                            let _ = self.get(device, recipe);
                        }
                    });
                }
            });
        }
        let made = recipes.iter().map(|recipe| self.get(device, recipe)).collect();
        if !missing.is_empty() {
            device.persist();
        }
        made
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.known.lock().len()
    }
}
