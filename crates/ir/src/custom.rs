//! User-defined ops: a name, and an implementation for each device that should run it.
//!
//! An implementation reads its operands as row-major arrays, one binding each, and writes the entire result, at the
//! binding after them. A device runs the op if there is an implementation in its language.

use crate::dtype::{DType, Number};
use crate::error::{Error, Result};
use crate::shape::Shape;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A shading language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// MSL: a kernel function with `[[buffer(i)]]` bindings.
    Msl,
    /// WGSL: an entry point with storage bindings `@group(0) @binding(i)`.
    Wgsl,
}

impl Language {
    /// The language's usual name.
    pub fn name(self) -> &'static str {
        match self {
            Language::Msl => "MSL",
            Language::Wgsl => "WGSL",
        }
    }
}

/// Source text for a GPU, and its launch parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuSource {
    /// Shading language.
    pub language: Language,
    /// Source text.
    pub text: String,
    /// Name of the kernel function or entry point.
    pub entry: String,
    /// Total number of threads along each axis.
    pub grid: [usize; 3],
    /// Threads per group along each axis.
    pub group: [usize; 3],
    /// Function constants (MSL) or overrides (WGSL) by name.
    pub constants: Vec<(String, Number)>,
}

/// An operand as seen by a host implementation: row-major.
#[derive(Clone, Copy, Debug)]
pub struct HostArray<'a> {
    /// Elements.
    pub bytes: &'a [u8],
    /// Element type.
    pub dtype: DType,
    /// Shape.
    pub shape: &'a Shape,
}

/// Computes the bytes of a result, initially zero, from operands. An error ends the evaluation.
pub type HostFn = dyn Fn(&[HostArray<'_>], &mut [u8]) -> Result<()> + Send + Sync;

/// A user-defined op. Equal ones have the same name, sources and host function.
#[derive(Clone, Default)]
pub struct CustomKernel {
    name: String,
    sources: Vec<GpuSource>,
    host: Option<Arc<HostFn>>,
    /// A hash of the sources, so that a graph with long ones is found in a cache as quickly as any other.
    digest: u64,
}

impl CustomKernel {
    /// An op without implementations; `name` appears in messages and traces.
    pub fn new(name: impl Into<String>) -> CustomKernel {
        CustomKernel { name: name.into(), ..CustomKernel::default() }
    }

    /// Adds an implementation for a GPU.
    #[must_use]
    pub fn with_source(mut self, source: GpuSource) -> CustomKernel {
        self.sources.retain(|s| s.language != source.language);
        self.sources.push(source);
        let mut hasher = rustc_hash::FxHasher::default();
        for GpuSource { language, text, entry, grid, group, constants } in &self.sources {
            (language, text, entry, grid, group).hash(&mut hasher);
            constants.iter().for_each(|(name, value)| (name, value.bits()).hash(&mut hasher));
        }
        self.digest = hasher.finish();
        self
    }

    /// Adds an implementation for the CPU.
    #[must_use]
    pub fn with_host(self, f: impl Fn(&[HostArray<'_>], &mut [u8]) + Send + Sync + 'static) -> CustomKernel {
        self.with_fallible_host(move |operands, result| {
            f(operands, result);
            Ok(())
        })
    }

    /// Adds an implementation for the CPU that can fail: its error becomes that of the evaluation.
    #[must_use]
    pub fn with_fallible_host(
        mut self,
        f: impl Fn(&[HostArray<'_>], &mut [u8]) -> Result<()> + Send + Sync + 'static,
    ) -> CustomKernel {
        self.host = Some(Arc::new(f));
        self
    }

    /// The op's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The implementation in a language, if any.
    pub fn source(&self, language: Language) -> Option<&GpuSource> {
        self.sources.iter().find(|s| s.language == language)
    }

    /// The implementation for the CPU, if any.
    pub fn host(&self) -> Option<&HostFn> {
        self.host.as_deref()
    }

    /// The error of a device without an implementation.
    pub fn unavailable(&self, device: &str, dtype: DType) -> Error {
        let reason = format!("it is implemented for {} only", self.implementations());
        Error::Unsupported { op: self.name.clone(), dtype, device: device.into(), reason }
    }

    fn implementations(&self) -> String {
        let languages = self.sources.iter().map(|s| s.language.name());
        let all: Vec<&str> = languages.chain(self.host.is_some().then_some("the host")).collect();
        if all.is_empty() { "nothing".into() } else { all.join(", ") }
    }
}

impl PartialEq for CustomKernel {
    fn eq(&self, other: &CustomKernel) -> bool {
        let same_host = match (&self.host, &other.host) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        same_host && self.name == other.name && self.digest == other.digest && self.sources == other.sources
    }
}

// Function constants are compared by value; a NaN among them only makes a cache miss.
impl Eq for CustomKernel {}

impl Hash for CustomKernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, self.digest, self.host.as_ref().map(|f| Arc::as_ptr(f).cast::<()>())).hash(state);
    }
}

impl fmt::Debug for CustomKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomKernel({:?} for {})", self.name, self.implementations())
    }
}
