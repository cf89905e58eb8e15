//! Libraries and functions from MSL source.

use super::constants::FunctionConstants;
use super::device::Device;
use super::family::Family;
use super::library::{CompileOptions, in_parallel, shortened};
use super::pipeline::Pipeline;
use crate::compile::cache::key;
use crate::error::{Error, Result};
use crate::source::binding::{Binding, BindingKind};
use crate::source::items::ItemKind;
use crate::source::members::{Layout, members};
use crate::source::rewrite::{ConstantValues, required_constants};
use crate::source::unit::Unit;
use crate::{judge, lint};
use std::sync::Arc;

/// Analysed MSL source. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SourceLibrary(pub(crate) Arc<LibraryInner>);

#[derive(Debug)]
pub(crate) struct LibraryInner {
    pub unit: Unit,
    pub source: String,
    pub options: CompileOptions,
    pub family: Family,
    identity: String,
}

impl SourceLibrary {
    pub(crate) fn new(device: &Device, source: &str, options: &CompileOptions) -> Result<SourceLibrary> {
        let text = device.0.compiler.preprocess(source, &options.preprocess())?;
        let mut unit = Unit::new(&text)?;
        let main = (options.file_name.as_str(), source);
        lint::check(&unit, options.language_version, main)?;
        judge::judge(&device.0.compiler, &mut unit, options.language_version, main)?;
        let identity = key([text.as_bytes(), &[u8::from(options.fast_math)]]);
        let library = SourceLibrary(Arc::new(LibraryInner {
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

    /// A kernel by name, specialised.
    pub fn function_with_constants(
        &self,
        name: &str,
        constants: &FunctionConstants,
    ) -> Result<SourceFunction> {
        let unit = &self.0.unit;
        let Some(entry) = unit.entries.iter().position(|e| e.host_name == name) else {
            return Err(Error::UnknownFunction {
                name: name.to_string(),
                available: shortened(self.function_names(), name),
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
        if !missing.is_empty() && !constants.rest_is_zero() {
            return Err(Error::Constant {
                kernel: name.to_string(),
                message: format!("no value given for {}", missing.join(", ")),
            });
        }
        let bindings = unit.bindings(&unit.entries[entry])?;
        Ok(SourceFunction { library: self.clone(), entry, values, bindings })
    }

    /// A kernel with every function constant at zero, to see whether it compiles.
    pub fn function_unspecialised(&self, name: &str) -> Result<SourceFunction> {
        let unit = &self.0.unit;
        let Some(entry) = unit.entries.iter().position(|e| e.host_name == name) else {
            return Err(Error::UnknownFunction {
                name: name.to_string(),
                available: shortened(self.function_names(), name),
            });
        };
        let bindings = unit.bindings(&unit.entries[entry])?;
        Ok(SourceFunction { library: self.clone(), entry, values: ConstantValues::default(), bindings })
    }

    /// Makes machine code for each kernel; one outcome per name. Function constants are zero.
    pub fn compile_each(&self, device: &Device, names: &[String]) -> Vec<Option<Error>> {
        let entries: Vec<usize> =
            names.iter().filter_map(|n| self.0.unit.entries.iter().position(|e| e.host_name == *n)).collect();
        in_parallel(&entries, |&i| {
            self.function_unspecialised(&self.0.unit.entries[i].host_name)
                .and_then(|f| Pipeline::from_source(device, &f))
                .err()
        })
    }
}

/// A kernel with its constants, ready to be compiled.
#[derive(Debug, Clone)]
pub struct SourceFunction {
    pub(crate) library: SourceLibrary,
    pub(crate) entry: usize,
    pub(crate) values: ConstantValues,
    pub(crate) bindings: Vec<Binding>,
}

impl SourceFunction {
    /// The host name.
    pub fn name(&self) -> &str {
        &self.library.0.unit.entries[self.entry].host_name
    }

    /// The parameters. Sizes of their types come with the pipeline.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// The layout of the struct that the buffer at an index holds.
    pub fn argument_layout(&self, index: u32) -> Option<Layout> {
        let buffer =
            |b: &Binding| matches!(b.kind, BindingKind::Buffer | BindingKind::Constant) && b.index == index;
        let parameter = self.bindings.iter().position(buffer)?;
        let unit = &self.library.0.unit;
        members(unit, &unit.entries[self.entry], parameter)
    }

    pub(crate) fn key(&self) -> String {
        let mut values: Vec<_> = self.values.iter().map(|(k, v)| format!("{k}={v}")).collect();
        values.sort();
        format!("{}/{}/{}", self.library.0.identity, self.name(), values.join(","))
    }
}
