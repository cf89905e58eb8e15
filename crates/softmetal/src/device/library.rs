//! Libraries and functions.

use super::constants::FunctionConstants;
use super::device::Device;
use super::family::Family;
use super::pipeline::Pipeline;
use crate::compile::cache::key;
use crate::compile::clang::Preprocess;
use crate::error::{Error, Result};
use crate::source::binding::Binding;
use crate::source::items::ItemKind;
use crate::source::rewrite::{ConstantValues, required_constants};
use crate::source::unit::Unit;
use crate::{judge, lint};
use std::path::PathBuf;
use std::sync::Arc;
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
    /// Lets the compiler contract multiplications and additions.
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

/// Analysed MSL source. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Library(pub(crate) Arc<LibraryInner>);

#[derive(Debug)]
pub(crate) struct LibraryInner {
    pub unit: Unit,
    pub source: String,
    pub options: CompileOptions,
    pub family: Family,
    identity: String,
}

impl Library {
    pub(crate) fn new(device: &Device, source: &str, options: &CompileOptions) -> Result<Library> {
        let text = device.0.compiler.preprocess(source, &options.preprocess())?;
        let mut unit = Unit::new(&text)?;
        let main = (options.file_name.as_str(), source);
        lint::check(&unit, options.language_version, main)?;
        judge::judge(&device.0.compiler, &mut unit, main)?;
        let identity = key([text.as_bytes(), &[u8::from(options.fast_math)]]);
        let library = Library(Arc::new(LibraryInner {
            unit,
            source: source.to_string(),
            options: options.clone(),
            identity,
            family: device.0.options.family,
        }));
        library.check_what_no_kernel_reaches(device)?;
        Ok(library)
    }

    /// No pipeline would compile a file without kernels, or its graphics functions.
    fn check_what_no_kernel_reaches(&self, device: &Device) -> Result<()> {
        let unit = &self.0.unit;
        if !unit.entries.is_empty() && !unit.items.iter().any(|it| it.kind == ItemKind::Graphics) {
            return Ok(());
        }
        self.failures(device, &[])?.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Names of all kernels, in source order.
    pub fn function_names(&self) -> Vec<String> {
        self.0.unit.entries.iter().map(|e| e.host_name.clone()).collect()
    }

    /// A kernel by name, without function constants.
    pub fn function(&self, name: &str) -> Result<Function> {
        self.function_with_constants(name, &FunctionConstants::new())
    }

    /// A kernel by name, specialised.
    pub fn function_with_constants(&self, name: &str, constants: &FunctionConstants) -> Result<Function> {
        let unit = &self.0.unit;
        let Some(entry) = unit.entries.iter().position(|e| e.host_name == name) else {
            return Err(Error::UnknownFunction {
                name: name.to_string(),
                available: self.shortened_names(name),
            });
        };
        lint::check_entry(
            unit,
            &unit.entries[entry],
            self.0.family,
            (&self.0.options.file_name, &self.0.source),
        )?;
        let values = constants.resolve(unit, name)?;
        let missing: Vec<_> = required_constants(unit, &unit.entries[entry])
            .into_iter()
            .filter(|c| !values.contains_key(c))
            .collect();
        if !missing.is_empty() {
            return Err(Error::Constant {
                kernel: name.to_string(),
                message: format!("no value given for {}", missing.join(", ")),
            });
        }
        let bindings = unit.bindings(&unit.entries[entry])?;
        Ok(Function { library: self.clone(), entry, values, bindings })
    }

    /// A kernel with every function constant at zero, to see whether it compiles.
    pub fn function_unspecialised(&self, name: &str) -> Result<Function> {
        let unit = &self.0.unit;
        let Some(entry) = unit.entries.iter().position(|e| e.host_name == name) else {
            return Err(Error::UnknownFunction {
                name: name.to_string(),
                available: self.shortened_names(name),
            });
        };
        let bindings = unit.bindings(&unit.entries[entry])?;
        Ok(Function { library: self.clone(), entry, values: ConstantValues::default(), bindings })
    }

    /// Makes machine code for each kernel; one outcome per name. Function constants are zero.
    pub fn compile_each(&self, device: &Device, names: &[String]) -> Vec<Option<Error>> {
        let entries: Vec<usize> =
            names.iter().filter_map(|n| self.0.unit.entries.iter().position(|e| e.host_name == *n)).collect();
        self.in_parallel(&entries, |i| {
            self.function_unspecialised(&self.0.unit.entries[i].host_name)
                .and_then(|f| Pipeline::new(device, &f))
                .err()
        })
    }

    fn in_parallel(
        &self,
        entries: &[usize],
        work: impl Fn(usize) -> Option<Error> + Sync,
    ) -> Vec<Option<Error>> {
        let next = AtomicUsize::new(0);
        let out = parking_lot::Mutex::new(vec![None; entries.len()]);
        std::thread::scope(|s| {
            for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
                s.spawn(|| {
                    while let Some((k, &i)) = Some(next.fetch_add(1, Ordering::Relaxed))
                        .and_then(|k| entries.get(k).map(|i| (k, i)))
                    {
                        let e = work(i);
                        out.lock()[k] = e;
                    }
                });
            }
        });
        out.into_inner()
    }

    /// At most twelve names, those that resemble `name` first.
    fn shortened_names(&self, name: &str) -> String {
        let mut names = self.function_names();
        let prefix = name.split('_').next().unwrap_or("").to_string();
        names.sort_by_key(|n| !n.contains(&prefix));
        let more = names.len().saturating_sub(12);
        names.truncate(12);
        let list = names.join(", ");
        if more > 0 { format!("{list}, and {more} more") } else { list }
    }
}

/// A kernel with its constants, ready to be compiled.
#[derive(Debug, Clone)]
pub struct Function {
    pub(crate) library: Library,
    pub(crate) entry: usize,
    pub(crate) values: ConstantValues,
    pub(crate) bindings: Vec<Binding>,
}

impl Function {
    /// The host name.
    pub fn name(&self) -> &str {
        &self.library.0.unit.entries[self.entry].host_name
    }

    /// The parameters. Sizes of their types come with the pipeline.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    pub(crate) fn key(&self) -> String {
        let mut values: Vec<_> = self.values.iter().map(|(k, v)| format!("{k}={v}")).collect();
        values.sort();
        format!("{}/{}/{}", self.library.0.identity, self.name(), values.join(","))
    }
}
