//! Compiled kernels with their reflection.

use super::device::Device;
use super::library::{Function, LibraryInner};
use crate::compile::clang::Mode;
use crate::compile::module::Module;
use crate::error::Result;
use crate::source::binding::Binding;
use crate::source::rewrite::{ConstantValues, may_wait, rewrite};
use crate::source::thunk::{LIBRARY, Launch, instantiations, thunk};
use serde::Serialize;
use std::sync::Arc;

/// A parameter with what the compiler knows of it.
#[derive(Debug, Clone, Serialize)]
pub struct Argument {
    /// Index, kind, access and name.
    #[serde(flatten)]
    pub binding: Binding,
    /// Bytes of one element behind the pointer or reference.
    pub type_size: u32,
    /// Its alignment.
    pub type_align: u32,
    /// Whether the argument exists under the function constants.
    pub active: bool,
}

/// A compiled kernel. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pipeline(pub(crate) Arc<PipelineInner>);

#[derive(Debug)]
pub(crate) struct PipelineInner {
    pub name: String,
    pub module: Module,
    pub arguments: Vec<Argument>,
    pub max_threads: u32,
    pub simd_width: u32,
}

/// The C++ text of a function, alone in its library.
pub(crate) fn generate(device: &Device, function: &Function) -> (String, Launch, Mode) {
    let (text, launch, mode) = generate_in(device, function, "");
    (text + LIBRARY, launch, mode)
}

/// The C++ text of a function in a namespace, or in none, without what a library has once.
pub(crate) fn generate_in(device: &Device, function: &Function, space: &str) -> (String, Launch, Mode) {
    let library = &function.library.0;
    let options = &device.0.options;
    let entry = &library.unit.entries[function.entry];
    let instrumented = options.check.is_some() || options.profile;
    let body = rewrite(&library.unit, Some(entry), &function.values, !instrumented);
    let mode = Mode {
        instrumented,
        counting: options.profile,
        fast_math: library.options.fast_math,
        // Code that knows nothing of them is the same on every family.
        simdgroup_matrix: options.family.has_simdgroup_matrix() || !body.contains("simdgroup_"),
    };
    let alone = instrumented || options.shuffle.is_some() || may_wait(&library.unit, entry);
    let launch = if alone { Launch::Lane } else { Launch::Group };
    let (open, close) =
        if space.is_empty() { (String::new(), "") } else { (format!("namespace {space} {{\n"), "\n}") };
    let text = format!(
        "#pragma clang attribute push(__attribute__((internal_linkage)), apply_to = function)\n{open}{body}{close}\n#pragma clang attribute pop\n{}",
        thunk(&library.unit, entry, &function.bindings, launch, space)
    );
    (text, launch, mode)
}

/// C++ text that instantiates the given entry points without launch code.
pub(crate) fn generate_check(device: &Device, library: &LibraryInner, entries: &[usize]) -> (String, Mode) {
    let options = &device.0.options;
    let mode = Mode {
        instrumented: false,
        counting: false,
        fast_math: library.options.fast_math,
        simdgroup_matrix: options.family.has_simdgroup_matrix(),
    };
    let body = rewrite(&library.unit, None, &ConstantValues::default(), false);
    let names: Vec<_> = entries.iter().map(|&i| &library.unit.entries[i]).collect();
    (format!("{body}\n{}", instantiations(&library.unit, &names)), mode)
}

impl Pipeline {
    pub(crate) fn new(device: &Device, function: &Function) -> Result<Pipeline> {
        let (text, launch, mode) = generate(device, function);
        let library = &function.library.0;
        let code = device.0.compiler.compile(&text, mode, (&library.options.file_name, &library.source))?;
        let module = Module::load(&code, launch, function.bindings.len())?;
        let arguments = function
            .bindings
            .iter()
            .zip(&module.arguments)
            .map(|(b, a)| Argument {
                binding: b.clone(),
                type_size: a.size,
                type_align: a.align,
                active: a.active != 0,
            })
            .collect();
        let limits = device.limits();
        let written = library.unit.max_threads(&library.unit.entries[function.entry]);
        let max_threads =
            written.unwrap_or(limits.max_threads_per_threadgroup).min(limits.max_threads_per_threadgroup);
        Ok(Pipeline(Arc::new(PipelineInner {
            name: function.name().to_string(),
            module,
            arguments,
            max_threads,
            simd_width: limits.simd_width,
        })))
    }

    /// The kernel's host name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Lanes per simdgroup.
    pub fn thread_execution_width(&self) -> u32 {
        self.0.simd_width
    }

    /// The most threads a threadgroup may have.
    pub fn max_total_threads_per_threadgroup(&self) -> u32 {
        self.0.max_threads
    }

    /// Bytes of threadgroup variables.
    pub fn static_threadgroup_memory_length(&self) -> u32 {
        self.0.module.static_memory
    }

    /// The parameters with sizes.
    pub fn arguments(&self) -> &[Argument] {
        &self.0.arguments
    }
}
