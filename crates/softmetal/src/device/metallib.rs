//! Libraries compiled by Apple.

use super::constants::{ConstantValue, FunctionConstants};
use super::device::Device;
use super::library::{in_parallel, shortened};
use crate::air::container::{self, Entry};
use crate::air::reflect::{Kernel, reflect};
use crate::air::translate::{Options, Translated, translate};
use crate::compile::air::Disassembler;
use crate::compile::cache::key;
use crate::compile::clang::Mode;
use crate::compile::module::Code;
use crate::error::{Error, Result};
use crate::source::binding::Binding;
use crate::source::thunk::LaunchStyle;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Kernels that are disassembled, translated and compiled in one go.
const TOGETHER: usize = 64;

/// A metallib. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Metallib(Arc<MetallibInner>);

#[derive(Debug)]
struct MetallibInner {
    file: String,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    by_name: FxHashMap<String, usize>,
}

impl Metallib {
    pub fn new(bytes: Vec<u8>, file: &str) -> Result<Metallib> {
        let fault = |message| Error::Metallib { file: file.to_string(), function: None, message };
        let entries = container::parse(&bytes).map_err(fault)?;
        let by_name = entries.iter().enumerate().map(|(i, e)| (e.name.clone(), i)).collect();
        Ok(Metallib(Arc::new(MetallibInner { file: file.to_string(), bytes, entries, by_name })))
    }

    pub fn function_names(&self) -> Vec<String> {
        self.0.entries.iter().filter(|e| e.obstacle().is_none()).map(|e| e.name.clone()).collect()
    }

    pub fn other_functions(&self) -> Vec<(String, String)> {
        self.0.entries.iter().filter_map(|e| Some((e.name.clone(), e.obstacle()?))).collect()
    }

    fn fault(&self, function: &str, message: String) -> Error {
        Error::Metallib { file: self.0.file.clone(), function: Some(function.to_string()), message }
    }

    fn entry(&self, name: &str) -> Result<&Entry> {
        let entry =
            self.0.by_name.get(name).map(|&i| &self.0.entries[i]).ok_or_else(|| Error::UnknownFunction {
                name: name.to_string(),
                available: shortened(self.function_names(), name),
            })?;
        entry.obstacle().map_or(Ok(entry), |why| Err(self.fault(name, why)))
    }

    /// A kernel with the given function constants, or with all at zero.
    pub fn function(&self, name: &str, constants: Option<&FunctionConstants>) -> Result<MetallibFunction> {
        let mut function = self.functions(&[name.to_string()]).pop().unwrap_or_else(|| self.absent(name))?;
        if let Some(given) = constants {
            function.specialise(given)?;
        }
        Ok(function)
    }

    fn absent<T>(&self, name: &str) -> Result<T> {
        Err(self.fault(name, "it was not disassembled".into()))
    }

    /// Many kernels, function constants at zero.
    pub fn functions(&self, names: &[String]) -> Vec<Result<MetallibFunction>> {
        let parts: Vec<&[String]> = names.chunks(TOGETHER).collect();
        in_parallel(&parts, |part| self.some_functions(part)).into_iter().flatten().collect()
    }

    fn some_functions(&self, names: &[String]) -> Vec<Result<MetallibFunction>> {
        let entries: Vec<Result<&Entry>> = names.iter().map(|n| self.entry(n)).collect();
        let codes: Vec<&[u8]> = entries.iter().flatten().map(|e| &self.0.bytes[e.bitcode.clone()]).collect();
        let texts = Disassembler::find().and_then(|d| d.run(&codes));
        let mut texts = match texts {
            Ok(texts) => texts.into_iter(),
            Err(e) => return names.iter().map(|_| Err(e.clone())).collect(),
        };
        entries
            .into_iter()
            .map(|entry| {
                let entry = entry?;
                let fault = |message| self.fault(&entry.name, message);
                let text =
                    texts.next().unwrap_or_else(|| Err("it was not disassembled".into())).map_err(fault)?;
                let kernel = reflect(&text).map_err(fault)?;
                let bindings = kernel.parameters.iter().map(|p| p.binding.clone()).collect();
                Ok(MetallibFunction {
                    library: self.clone(),
                    name: entry.name.clone(),
                    text: text.into(),
                    kernel: Arc::new(kernel),
                    bindings,
                    constants: FxHashMap::default(),
                })
            })
            .collect()
    }

    /// Makes native code of kernels, many at a time; one outcome per name. What was made before is not made again.
    pub fn check_all(&self, device: &Device, names: &[String]) -> Vec<Option<Error>> {
        let parts: Vec<&[String]> = names.chunks(TOGETHER).collect();
        in_parallel(&parts, |part| self.check_some(device, part)).into_iter().flatten().collect()
    }

    fn check_some(&self, device: &Device, names: &[String]) -> Vec<Option<Error>> {
        let compiler = &device.0.compiler;
        let mode = mode(device);
        let digest = |name: &String| {
            let code = self.entry(name).map(|e| &self.0.bytes[e.bitcode.clone()]).unwrap_or_default();
            key([code, name.as_bytes()])
        };
        let verdict = compiler.air_verdict(names.iter().map(digest), mode);
        if verdict.exists() {
            return names.iter().map(|_| None).collect();
        }
        let translated: Vec<Result<Translated>> = self
            .some_functions(names)
            .into_iter()
            .map(|f| f.and_then(|f| f.translate(device, &f.suffix(mode), "")))
            .collect();
        let texts: Vec<&str> = translated.iter().flatten().map(|t| t.text.as_str()).collect();
        let mut failures = compiler.check_air(&texts, mode).into_iter();
        let outcomes: Vec<Option<Error>> = names
            .iter()
            .zip(translated)
            .map(|(name, t)| match t {
                Ok(_) => failures.next().flatten().map(|message| self.fault(name, message)),
                Err(e) => Some(e),
            })
            .collect();
        if outcomes.iter().all(Option::is_none) {
            compiler.keep_air_verdict(&verdict);
        }
        outcomes
    }
}

/// A kernel of a metallib with its constants.
#[derive(Debug, Clone)]
pub struct MetallibFunction {
    library: Metallib,
    name: String,
    text: Arc<str>,
    kernel: Arc<Kernel>,
    bindings: Vec<Binding>,
    /// Values in LLVM's spelling, by symbol.
    constants: FxHashMap<String, String>,
}

impl MetallibFunction {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    pub fn max_threads(&self) -> Option<u32> {
        self.kernel.max_threads
    }

    pub fn flushes_denormals(&self) -> bool {
        self.kernel.flushes_denormals
    }

    pub fn key(&self) -> String {
        let mut values: Vec<_> = self.constants.iter().map(|(k, v)| format!("{k}={v}")).collect();
        values.sort();
        key([self.text.as_bytes(), values.join(",").as_bytes()])
    }

    /// Takes values; every constant needs one, as in Metal, unless no code of the kernel asks for it.
    fn specialise(&mut self, given: &FunctionConstants) -> Result<()> {
        let fail = |message: String| Error::Constant { kernel: self.name.clone(), message };
        for name in given.names() {
            if !self.kernel.constants.iter().any(|c| c.name == *name) {
                return Err(fail(format!("the kernel has no constant named `{name}`")));
            }
        }
        let mut missing = Vec::new();
        for c in &self.kernel.constants {
            let Some(value) = given.value(&c.name, c.index) else {
                missing.push(c.name.as_str());
                continue;
            };
            if !value.has_type(&c.type_name) {
                return Err(fail(format!(
                    "`{}` (index {}) has type `{}`, but the value given is `{}`",
                    c.name,
                    c.index,
                    c.type_name,
                    value.type_name()
                )));
            }
            self.constants.insert(c.symbol.clone(), ConstantValue::llvm(value));
        }
        if !missing.is_empty() {
            return Err(fail(format!("no value given for {}", missing.join(", "))));
        }
        Ok(())
    }

    fn suffix(&self, mode: Mode) -> String {
        format!("_{}", key([self.key().as_bytes(), format!("{mode:?}").as_bytes()]))
    }

    fn translate(&self, device: &Device, suffix: &str, file: &str) -> Result<Translated> {
        let options =
            Options { constants: &self.constants, checked: mode(device).instrumented, file, suffix };
        translate(&self.text, &self.kernel, &options).map_err(|e| self.library.fault(&self.name, e))
    }

    /// Makes native code, or finds it on disk.
    pub fn compile(&self, device: &Device) -> Result<(Code, LaunchStyle)> {
        let mode = mode(device);
        let compiler = &device.0.compiler;
        let suffix = self.suffix(mode);
        // With the checker on, messages point into the disassembly, so it is kept.
        let file = if mode.instrumented {
            compiler.keep_disassembly(&self.name, &self.text)?
        } else {
            String::new()
        };
        let translated = self.translate(device, &suffix, &file)?;
        let path = compiler
            .compile_air(&translated.text, mode)
            .map_err(|message| self.library.fault(&self.name, message))?;
        let alone = mode.instrumented || device.0.options.shuffle.is_some() || translated.meets;
        Ok((Code { path, suffix }, if alone { LaunchStyle::Lane } else { LaunchStyle::Group }))
    }
}

fn mode(device: &Device) -> Mode {
    let options = &device.0.options;
    Mode {
        instrumented: options.check.is_some() || options.profile,
        counting: options.profile,
        fast_math: false,
        // Apple's bitcode says itself what is flushed and fused.
        hardware: false,
        simdgroup_matrix: true,
    }
}
