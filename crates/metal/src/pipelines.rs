//! Pipelines by source: compiled once per device, several at a time.

use crate::driver::{Constant, ConstantKey, Device, DriverError, Pipeline, Program};
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use wootz_backend::inject::{Point, fails};
use wootz_gpu::Cache;

/// An owned description of a pipeline.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The complete source.
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

    /// The key of a pipeline.
    fn key(&self) -> String {
        format!("{}\0{:?}\0{}", self.kernel, self.constants, self.source)
    }
}

/// The pipelines of a device. One that fails to compile is cached with its error.
#[derive(Default)]
pub struct Pipelines {
    known: Cache<Pipeline>,
}

impl Pipelines {
    /// One pipeline, compiled by the first caller that needs it.
    pub fn get(&self, device: &dyn Device, recipe: &Recipe) -> Result<Pipeline, DriverError> {
        self.known.get_or_make(&recipe.key(), || {
            if fails(Point::Compile) {
                return Err(DriverError::Unavailable("compilation failure injected by a test".into()));
            }
            device.pipeline(&recipe.program())
        })
    }

    fn missing<'r>(&self, recipes: &'r [Recipe]) -> Vec<&'r Recipe> {
        let mut seen = FxHashSet::default();
        let is_missing = |recipe: &&Recipe| {
            let key = recipe.key();
            !self.known.contains(&key) && seen.insert(key)
        };
        recipes.iter().filter(is_missing).collect()
    }

    /// Lets the device compile what is missing as it likes best.
    pub fn prepare(&self, device: &dyn Device, recipes: &[Recipe]) {
        let programs: Vec<Program<'_>> = self.missing(recipes).into_iter().map(Recipe::program).collect();
        device.prepare(&programs);
    }

    /// All of them, in parallel.
    pub fn get_all(&self, device: &dyn Device, recipes: &[Recipe]) -> Result<Vec<Pipeline>, DriverError> {
        let missing = self.missing(recipes);
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        if missing.len() > 1 {
            self.prepare(device, recipes);
        }
        if missing.len() > 1 && cores > 1 {
            let next = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                let compile = || {
                    while let Some(recipe) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // A failure is returned to the caller that asks for this pipeline below.
                        let _ = self.get(device, recipe);
                    }
                };
                for _ in 1..cores.min(missing.len()) {
                    // Threads that the system refuses only make it slower.
                    if !fails(Point::Thread) {
                        let _ = std::thread::Builder::new().spawn_scoped(scope, compile);
                    }
                }
                compile();
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
        self.known.count()
    }
}
