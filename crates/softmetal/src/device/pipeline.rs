//! Compiled kernels with their reflection.

use super::device::Device;
use super::library::{Function, Kind};
use super::metallib::MetallibFunction;
use super::source_library::{LibraryInner, SourceFunction};
use crate::compile::clang::Mode;
use crate::compile::module::Module;
use crate::error::Result;
use crate::source::binding::Binding;
use crate::source::rewrite::{ConstantValues, may_wait, rewrite};
use crate::source::thunk::{LIBRARY, LaunchStyle, instantiations, thunk};
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
    /// Alignment.
    pub type_align: u32,
    /// Whether the argument exists with these function constants.
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
pub(crate) fn generate(device: &Device, function: &SourceFunction) -> (String, LaunchStyle, Mode) {
    let (text, launch, mode) = generate_in(device, function, "");
    (text + LIBRARY, launch, mode)
}

/// The C++ text of a function in a namespace, or in none, without what a library has once.
pub(crate) fn generate_in(
    device: &Device,
    function: &SourceFunction,
    space: &str,
) -> (String, LaunchStyle, Mode) {
    let library = &function.library.0;
    let options = &device.0.options;
    let entry = &library.unit.entries[function.entry];
    let instrumented = options.check.is_some() || options.profile;
    let body = rewrite(&library.unit, Some(entry), &function.values, !instrumented);
    let mode = Mode {
        instrumented,
        counting: options.profile,
        fast_math: library.options.fast_math,
        hardware: options.hardware,
        // Code that knows nothing of them is the same on every family.
        simdgroup_matrix: options.family.has_simdgroup_matrix() || !body.contains("simdgroup_"),
    };
    let alone = instrumented || options.shuffle.is_some() || may_wait(&library.unit, entry);
    let launch = if alone { LaunchStyle::Lane } else { LaunchStyle::Group };
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
        hardware: options.hardware,
        simdgroup_matrix: options.family.has_simdgroup_matrix(),
    };
    let body = rewrite(&library.unit, None, &ConstantValues::default(), false);
    let names: Vec<_> = entries.iter().map(|&i| &library.unit.entries[i]).collect();
    (format!("{body}\n{}", instantiations(&library.unit, &names)), mode)
}

impl Pipeline {
    pub(crate) fn new(device: &Device, function: &Function) -> Result<Pipeline> {
        match &function.0 {
            Kind::Source(f) => Pipeline::from_source(device, f),
            Kind::Metallib(f) => Pipeline::from_metallib(device, f),
        }
    }

    pub(crate) fn from_source(device: &Device, function: &SourceFunction) -> Result<Pipeline> {
        let (text, launch, mode) = generate(device, function);
        let library = &function.library.0;
        let code = device.0.compiler.compile(&text, mode, (&library.options.file_name, &library.source))?;
        let mut module = Module::load(&code, launch, function.bindings.len())?;
        module.flushes_denormals = device.0.options.hardware;
        let written = library.unit.max_threads(&library.unit.entries[function.entry]);
        Ok(Pipeline::assemble(device, (function.name(), &function.bindings), module, written))
    }

    fn from_metallib(device: &Device, function: &MetallibFunction) -> Result<Pipeline> {
        let (code, launch) = function.compile(device)?;
        let mut module = Module::load(&code, launch, function.bindings().len())?;
        module.flushes_denormals = function.flushes_denormals();
        let named = (function.name(), function.bindings());
        Ok(Pipeline::assemble(device, named, module, function.max_threads()))
    }

    fn assemble(
        device: &Device,
        (name, bindings): (&str, &[Binding]),
        module: Module,
        written: Option<u32>,
    ) -> Pipeline {
        let arguments = bindings
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
        let max_threads =
            written.unwrap_or(limits.max_threads_per_threadgroup).min(limits.max_threads_per_threadgroup);
        Pipeline(Arc::new(PipelineInner {
            name: name.to_string(),
            module,
            arguments,
            max_threads,
            simd_width: limits.simd_width,
        }))
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

    /// The address of a `[[visible]]` function of the kernel's library, for a table: a buffer of such addresses is what a
    /// `visible_function_table` takes. It holds for this pipeline alone.
    pub fn visible_function(&self, name: &str) -> Option<u64> {
        self.0.module.visible.iter().find(|v| v.0 == name).map(|v| v.1)
    }

    /// The parameters with sizes.
    pub fn arguments(&self) -> &[Argument] {
        &self.0.arguments
    }
}
