//! The device: options, buffers, libraries, pipelines, queues.

use super::buffer::{Buffer, StorageMode};
use super::event::Event;
use super::family::{Family, Limits};
use super::library::{CompileOptions, Function, Library};
use super::pipeline::Pipeline;
use super::queue::Queue;
use crate::check::{CheckOptions, Shadow};
use crate::compile::clang::Compiler;
use crate::error::{Error, Result};
use crate::exec::pool::Pool;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a device behaves.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// The GPU family to imitate.
    pub family: Family,
    /// Lanes per simdgroup, where the family leaves a choice.
    pub simd_width: Option<u32>,
    /// Threads that run kernels; `None` means one per core.
    pub workers: Option<usize>,
    /// Checks every access; `None` runs at full speed.
    pub check: Option<CheckOptions>,
    /// Counts bytes, operations and transactions per dispatch.
    pub profile: bool,
    /// Shuffles the order of threads, simdgroups and threadgroups with this seed.
    pub shuffle: Option<u64>,
    /// Behaves like a GPU where a CPU is kinder, which is the default: single-precision denormals of kernels from source are flushed to
    /// zero (a metallib says so itself), functions of fast maths are as far off as Apple's specification allows, threadgroup memory
    /// holds garbage when a group begins, and so do variables without a value.
    pub hardware: bool,
    /// Time limit per dispatch.
    pub time_limit: Duration,
    /// Folder for compiled kernels; `None` means `SOFTMETAL_CACHE` or the user's cache folder.
    pub cache_dir: Option<PathBuf>,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        DeviceOptions {
            family: Family::default(),
            simd_width: None,
            workers: None,
            check: None,
            profile: false,
            shuffle: None,
            hardware: true,
            time_limit: Duration::from_secs(120),
            cache_dir: None,
        }
    }
}

/// A software Metal device. Cloning is cheap and gives the same device; it may be used from many threads.
#[derive(Debug, Clone)]
pub struct Device(pub(crate) Arc<DeviceInner>);

#[derive(Debug)]
pub(crate) struct DeviceInner {
    pub options: DeviceOptions,
    pub limits: Limits,
    pub compiler: Compiler,
    pub pool: Pool,
    pub shadow: Option<Arc<Shadow>>,
    pipelines: Mutex<FxHashMap<String, Pipeline>>,
}

impl Device {
    /// A device with default options.
    pub fn system_default() -> Result<Device> {
        Device::new(DeviceOptions::default())
    }

    /// A device with options. Fails when clang is missing or the options contradict each other.
    pub fn new(options: DeviceOptions) -> Result<Device> {
        let limits = Limits::of(options.family, options.simd_width)?;
        let compiler = Compiler::new(options.cache_dir.as_deref())?;
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let workers = options.workers.unwrap_or(cores).clamp(1, 64);
        let shadow = (options.check.is_some() || options.profile).then(|| Arc::new(Shadow::new()));
        Ok(Device(Arc::new(DeviceInner {
            options,
            limits,
            compiler,
            pool: Pool::new(workers - 1),
            shadow,
            pipelines: Mutex::default(),
        })))
    }

    /// A name for logs.
    pub fn name(&self) -> String {
        format!("SoftMetal ({})", self.0.options.family)
    }

    /// The limits.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// The options the device was made with.
    pub fn options(&self) -> &DeviceOptions {
        &self.0.options
    }

    /// Reads and analyses MSL source. Kernels are compiled when a pipeline asks for them.
    pub fn new_library(&self, source: &str, options: &CompileOptions) -> Result<Library> {
        Library::from_source(self, source, options)
    }

    /// Compiles a function, or finds it in memory or on disk.
    pub fn new_pipeline(&self, function: &Function) -> Result<Pipeline> {
        let key = function.key();
        if let Some(p) = self.0.pipelines.lock().get(&key) {
            return Ok(p.clone());
        }
        let p = Pipeline::new(self, function)?;
        self.0.pipelines.lock().insert(key, p.clone());
        Ok(p)
    }

    /// A zero-filled buffer.
    pub fn new_buffer(&self, length: usize, mode: StorageMode) -> Result<Buffer> {
        self.check_length(length)?;
        Buffer::allocate(length, mode, self.0.shadow.clone())
    }

    /// A shared buffer with a copy of `bytes`.
    pub fn new_buffer_with_bytes(&self, bytes: &[u8]) -> Result<Buffer> {
        let b = self.new_buffer(bytes.len(), StorageMode::Shared)?;
        b.write_bytes(0, bytes)?;
        Ok(b)
    }

    /// A buffer over memory of the caller, without a copy. `owner` is dropped with the buffer.
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of `length` bytes until `owner` is dropped, and nobody else
    /// accesses it while a command buffer that uses it runs (except as Metal allows).
    pub unsafe fn new_buffer_no_copy(
        &self,
        pointer: *mut u8,
        length: usize,
        owner: Box<dyn std::any::Any + Send + Sync>,
    ) -> Result<Buffer> {
        self.check_length(length)?;
        if pointer.is_null() {
            return Err(Error::Invalid("a no-copy buffer needs memory, but the pointer is null".into()));
        }
        Ok(Buffer::wrap(pointer, length, owner, self.0.shadow.clone()))
    }

    fn check_length(&self, length: usize) -> Result<()> {
        if length == 0 || length as u64 > self.0.limits.max_buffer_length {
            return Err(Error::Invalid(format!(
                "a buffer of {length} bytes: the length must be between 1 and {}",
                self.0.limits.max_buffer_length
            )));
        }
        Ok(())
    }

    /// A queue; its command buffers run in order, on a thread of their own.
    pub fn new_queue(&self) -> Queue {
        Queue::new(self)
    }

    /// An event with value zero, for hosts and queues.
    pub fn new_event(&self) -> Event {
        Event::new()
    }
}
