//! Batch compilation of pipelines that will be requested later.

use super::constants::FunctionConstants;
use super::device::Device;
use super::library::CompileOptions;
use super::pipeline::{generate, generate_in};
use super::source_library::{SourceFunction, SourceLibrary};
use crate::compile::clang::{Mode, Preprocess};
use crate::compile::together::{Unit, namespace};
use crate::{judge, source};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The description of a pipeline.
#[derive(Debug, Clone)]
pub struct Recipe<'a> {
    /// The MSL source.
    pub source: &'a str,
    /// How it is read.
    pub options: CompileOptions,
    /// The kernel's name in it.
    pub function: &'a str,
    /// Function constants.
    pub constants: FunctionConstants,
}

/// Kernels that share a run of clang; more would leave cores idle, and cost little less each.
const TOGETHER: usize = 32;
/// Fewer would save nothing.
const LEAST_TOGETHER: usize = 4;

impl Device {
    /// Fills the cache with the code of pipelines that will be asked for; [`Device::new_pipeline`] then finds it there. Far cheaper
    /// than asking for one after another. What cannot be compiled is left, and tells why when it is asked for.
    pub fn prepare(&self, recipes: &[Recipe<'_>]) {
        if self.0.options.profile || recipes.len() < 2 {
            // Counts may depend on what else is in a library.
            return;
        }
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let size = recipes.len().div_ceil(cores).clamp(LEAST_TOGETHER, TOGETHER);
        let parts: Vec<&[Recipe<'_>]> = recipes.chunks(size).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let work = || {
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    self.prepare_part(part);
                }
            };
            // Threads that the system refuses only make it slower.
            for _ in 1..cores.min(parts.len()) {
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    fn prepare_part(&self, recipes: &[Recipe<'_>]) {
        let preprocess: Vec<Preprocess> = recipes.iter().map(|r| r.options.preprocess()).collect();
        let sources: Vec<_> = recipes.iter().map(|r| r.source).zip(&preprocess).collect();
        self.0.compiler.preprocess_together(&sources);
        let texts = sources.iter().filter_map(|(source, p)| self.0.compiler.preprocess(source, p).ok());
        let units: Vec<source::unit::Unit> =
            texts.filter_map(|text| source::unit::Unit::new(&text).ok()).collect();
        let versions: FxHashSet<u32> = recipes.iter().map(|r| r.options.language_version).collect();
        if let [version] = versions.into_iter().collect::<Vec<_>>()[..] {
            judge::judge_together(&self.0.compiler, &units, version);
        }
        let mut groups: FxHashMap<Mode, Vec<Unit>> = FxHashMap::default();
        let mut seen = FxHashSet::default();
        for recipe in recipes {
            let function = SourceLibrary::new(self, recipe.source, &recipe.options)
                .and_then(|library| library.function_with_constants(recipe.function, &recipe.constants));
            if let Some((mode, unit)) = function.ok().and_then(|f| self.unit(&f))
                && seen.insert(unit.space.clone())
            {
                groups.entry(mode).or_default().push(unit);
            }
        }
        for (mode, units) in groups.into_iter().filter(|(_, units)| units.len() > 1) {
            self.compile_units(units, mode);
        }
    }

    /// A function's text, if it is not in the cache and may share a library.
    fn unit(&self, function: &SourceFunction) -> Option<(Mode, Unit)> {
        let (alone, _, mode) = generate(self, function);
        // Threadgroup variables get their places per library.
        if alone.contains("::softmetal::group_local<") || self.0.compiler.has(&alone, mode) {
            return None;
        }
        let space = namespace(&alone);
        let (text, ..) = generate_in(self, function, &space);
        Some((mode, Unit { alone, space, text }))
    }

    /// Splits in half if not all of them compile together, so that one bad kernel does not make all others expensive.
    fn compile_units(&self, mut units: Vec<Unit>, mode: Mode) {
        if units.len() > 1 && !self.0.compiler.compile_together(&units, mode) {
            let rest = units.split_off(units.len() / 2);
            self.compile_units(units, mode);
            self.compile_units(rest, mode);
        }
    }
}
