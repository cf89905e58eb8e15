//! Libraries and functions, from MSL source or from a metallib.

use super::constants::FunctionConstants;
use super::device::Device;
use super::metallib::{Metallib, MetallibFunction};
use super::source_library::{SourceFunction, SourceLibrary};
use crate::compile::clang::Preprocess;
use crate::error::{Error, Result};
use crate::source::binding::Binding;
use crate::source::members::Layout;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a library is read.
#[derive(Debug, Clone)]
pub struct CompileOptions {
    /// Macros: name and value.
    pub defines: Vec<(String, String)>,
    /// Folders for `#include`.
    pub include_dirs: Vec<PathBuf>,
    /// `__METAL_VERSION__`: 240, 300, 310, 320, 400.
    pub language_version: u32,
    /// Lets the compiler fuse multiplications and additions of different expressions too; within one expression it always may,
    /// as Apple's compiler does.
    pub fast_math: bool,
    /// Name of the source in messages.
    pub file_name: String,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            defines: Vec::new(),
            include_dirs: Vec::new(),
            language_version: 310,
            fast_math: true,
            file_name: "program.metal".into(),
        }
    }
}

impl CompileOptions {
    pub(crate) fn preprocess(&self) -> Preprocess {
        Preprocess {
            file_name: self.file_name.clone(),
            defines: self.defines.clone(),
            include_dirs: self.include_dirs.clone(),
            version: self.language_version,
        }
    }
}

/// Kernels in source or compiled form. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Library(pub(crate) Origin);

#[derive(Debug, Clone)]
pub(crate) enum Origin {
    Source(SourceLibrary),
    Metallib(Metallib),
}

impl Library {
    pub(crate) fn from_source(device: &Device, source: &str, options: &CompileOptions) -> Result<Library> {
        SourceLibrary::new(device, source, options).map(|l| Library(Origin::Source(l)))
    }

    /// Reads a library that Apple's compiler made.
    pub fn from_metallib(path: impl AsRef<Path>) -> Result<Library> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, &e))?;
        Library::from_metallib_bytes(bytes, &path.display().to_string())
    }

    /// Like [`Library::from_metallib`], from memory. `file` names the bytes in messages.
    pub fn from_metallib_bytes(bytes: Vec<u8>, file: &str) -> Result<Library> {
        Metallib::new(bytes, file).map(|l| Library(Origin::Metallib(l)))
    }

    /// Names of all kernels, in the order of the source or of the file.
    pub fn function_names(&self) -> Vec<String> {
        match &self.0 {
            Origin::Source(l) => l.function_names(),
            Origin::Metallib(l) => l.function_names(),
        }
    }

    /// Functions of a metallib that SoftMetal lists and does not run, with the reason. From source: none.
    pub fn other_functions(&self) -> Vec<(String, String)> {
        match &self.0 {
            Origin::Source(_) => Vec::new(),
            Origin::Metallib(l) => l.other_functions(),
        }
    }

    /// A kernel by name, without function constants.
    pub fn function(&self, name: &str) -> Result<Function> {
        self.function_with_constants(name, &FunctionConstants::new())
    }

    /// A kernel by name, specialised.
    pub fn function_with_constants(&self, name: &str, constants: &FunctionConstants) -> Result<Function> {
        Ok(Function(match &self.0 {
            Origin::Source(l) => Kind::Source(l.function_with_constants(name, constants)?),
            Origin::Metallib(l) => Kind::Metallib(l.function(name, Some(constants))?),
        }))
    }

    /// A kernel with every function constant at zero, to see whether it compiles.
    pub fn function_unspecialised(&self, name: &str) -> Result<Function> {
        Ok(Function(match &self.0 {
            Origin::Source(l) => Kind::Source(l.function_unspecialised(name)?),
            Origin::Metallib(l) => Kind::Metallib(l.function(name, None)?),
        }))
    }

    /// The kernels of these names with every function constant at zero; far quicker than one by one for a metallib.
    pub fn functions_unspecialised(&self, names: &[String]) -> Vec<Result<Function>> {
        match &self.0 {
            Origin::Source(_) => names.iter().map(|n| self.function_unspecialised(n)).collect(),
            Origin::Metallib(l) => {
                l.functions(names).into_iter().map(|f| f.map(|f| Function(Kind::Metallib(f)))).collect()
            }
        }
    }

    /// Checks that kernels compile, all at once; one outcome per name. Function constants are zero. Kernels of a metallib become native
    /// code.
    pub fn check_all(&self, device: &Device, names: &[String]) -> Vec<Option<Error>> {
        match &self.0 {
            Origin::Source(l) => l.check_all(device, names),
            Origin::Metallib(l) => l.check_all(device, names),
        }
    }

    /// Makes machine code for each kernel; one outcome per name. Function constants are zero.
    pub fn compile_each(&self, device: &Device, names: &[String]) -> Vec<Option<Error>> {
        match &self.0 {
            Origin::Source(l) => l.compile_each(device, names),
            Origin::Metallib(l) => l.check_all(device, names),
        }
    }
}

/// A kernel with its constants, ready to be compiled.
#[derive(Debug, Clone)]
pub struct Function(pub(crate) Kind);

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Source(SourceFunction),
    Metallib(MetallibFunction),
}

impl Function {
    /// The host name.
    pub fn name(&self) -> &str {
        match &self.0 {
            Kind::Source(f) => f.name(),
            Kind::Metallib(f) => f.name(),
        }
    }

    /// The parameters. Sizes of their types come with the pipeline.
    pub fn bindings(&self) -> &[Binding] {
        match &self.0 {
            Kind::Source(f) => f.bindings(),
            Kind::Metallib(f) => f.bindings(),
        }
    }

    /// The layout of the struct that the buffer at an index holds; `None` where there is no such buffer, where it holds something else, or
    /// where only a compiler could tell, and for metallibs.
    pub fn argument_layout(&self, index: u32) -> Option<Layout> {
        match &self.0 {
            Kind::Source(f) => f.argument_layout(index),
            Kind::Metallib(_) => None,
        }
    }

    pub(crate) fn key(&self) -> String {
        match &self.0 {
            Kind::Source(f) => f.key(),
            Kind::Metallib(f) => f.key(),
        }
    }
}

/// Works on every item, on all cores; results in the order of the items.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = parking_lot::Mutex::new(Vec::with_capacity(items.len()));
    let share = || {
        while let Some((k, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|k| items.get(k).map(|i| (k, i)))
        {
            let result = work(item);
            done.lock().push((k, result));
        }
    };
    std::thread::scope(|s| {
        // Threads that the system refuses only make it slower.
        for _ in 1..std::thread::available_parallelism().map_or(1, |n| n.get()).min(items.len()) {
            let _ = std::thread::Builder::new().spawn_scoped(s, share);
        }
        share();
    });
    let mut done = done.into_inner();
    done.sort_by_key(|d| d.0);
    done.into_iter().map(|d| d.1).collect()
}

/// At most twelve names, those similar to `name` first.
pub(crate) fn shortened(mut names: Vec<String>, name: &str) -> String {
    let prefix = name.split('_').next().unwrap_or("").to_string();
    names.sort_by_key(|n| !n.contains(&prefix));
    let more = names.len().saturating_sub(12);
    names.truncate(12);
    let list = names.join(", ");
    if more > 0 { format!("{list}, and {more} more") } else { list }
}
