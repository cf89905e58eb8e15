//! Metal as a device.

#[cfg(feature = "softmetal")]
use crate::driver::soft::SoftOptions;
use crate::driver::{Batch, Device, DriverError, Finished, Running, Storage};
use crate::executable::{MetalExecutable, recipes_of};
use crate::memory::{MetalMemory, Pools, memory};
use crate::pipelines::Pipelines;
use parking_lot::Mutex;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use wootz_backend::{
    Backend, Buffer, DeviceInfo, DeviceKind, Executable, Fence, HostMemory, MemoryStats, Run,
};
use wootz_ir::custom::Language;
use wootz_ir::{CustomKernel, DType, Error, Family, Result};
use wootz_plan::{Capabilities, Plan};

/// A Metal device: an Apple GPU, or SoftMetal. It is opened at first use, so that creating one is free.
pub struct MetalBackend {
    info: DeviceInfo,
    open: Opener,
    /// Empty until opening has succeeded: a failure may pass (a compiler gets installed), so the next use tries again.
    opened: OnceLock<Arc<OpenDevice>>,
    opening: Mutex<()>,
}

/// Opens the driver's device.
type Opener = Box<dyn Fn() -> std::result::Result<Arc<dyn Device>, DriverError> + Send + Sync>;

/// An opened device with its pool and its pipelines.
pub(crate) struct OpenDevice {
    pub name: String,
    pub driver: Arc<dyn Device>,
    pub pipelines: Pipelines,
    pools: Pools,
    last: Mutex<Finished>,
    submitted: AtomicU64,
}

/// Blocks that a pool keeps for reuse.
const CACHED_BLOCKS: usize = 512;
/// Shorter host memory is copied.
const WRAP_LEAST: usize = 16 << 10;
/// Host memory is used in place when its elements are aligned for vector accesses.
const WRAP_ALIGNMENT: usize = 64;

impl MetalBackend {
    /// The software device. Nothing is opened, and no compiler searched for, before its first use.
    #[cfg(feature = "softmetal")]
    pub fn soft(options: SoftOptions) -> MetalBackend {
        let family = options.family.unwrap_or_default();
        let info = DeviceInfo {
            name: "metal".into(),
            description: format!("SoftMetal, a software Metal device ({family})"),
            kind: DeviceKind::Software,
            facts: facts("soft", family.to_string(), options.simd_width.unwrap_or(32)),
            memory_limit: SOFT_MEMORY,
            buffer_limit: SOFT_MEMORY,
        };
        let open: Opener = Box::new(move || crate::driver::open_soft(&options));
        MetalBackend { info, open, opened: OnceLock::new(), opening: Mutex::default() }
    }

    /// The system's GPU on Apple's systems. Where there is none, or none that can be used, the device is there and says why it
    /// cannot be used: nothing else takes its place.
    #[cfg(any(target_vendor = "apple", feature = "apple-on-linux"))]
    pub fn apple() -> MetalBackend {
        let device: Arc<dyn Device> = match crate::driver::apple::AppleDevice::new() {
            Ok(device) => Arc::new(device),
            Err(reason) => return MetalBackend::unavailable(reason),
        };
        let facts = device.facts().clone();
        let kind = if facts.unified { DeviceKind::IntegratedGpu } else { DeviceKind::DiscreteGpu };
        let info = DeviceInfo {
            name: "metal".into(),
            description: facts.name.clone(),
            kind,
            facts: self::facts("apple", facts.family.clone(), facts.simd_width),
            memory_limit: facts.working_set,
            buffer_limit: facts.max_buffer,
        };
        let open: Opener = Box::new(move || Ok(device.clone()));
        MetalBackend { info, open, opened: OnceLock::new(), opening: Mutex::default() }
    }

    /// A device that cannot be opened. It counts as a software device, so that it is used only when asked for by name.
    #[cfg(any(target_vendor = "apple", feature = "apple-on-linux"))]
    fn unavailable(reason: DriverError) -> MetalBackend {
        let info = DeviceInfo {
            name: "metal".into(),
            description: format!("unavailable: {reason}"),
            kind: DeviceKind::Software,
            facts: facts("apple", "none".into(), 0),
            memory_limit: 0,
            buffer_limit: 0,
        };
        let open: Opener = Box::new(move || Err(reason.clone()));
        MetalBackend { info, open, opened: OnceLock::new(), opening: Mutex::default() }
    }

    /// The devices of this machine: on Apple's systems the GPU as `metal` and the software device as `softmetal`, elsewhere the software
    /// device as `metal`.
    pub fn all() -> Vec<MetalBackend> {
        #[allow(unused_mut, reason = "a build may have neither")]
        let mut list = Vec::new();
        #[cfg(any(target_vendor = "apple", feature = "apple-on-linux"))]
        list.push(MetalBackend::apple());
        #[cfg(feature = "softmetal")]
        {
            let mut soft = MetalBackend::soft(SoftOptions::default());
            if !list.is_empty() {
                soft.info.name = "softmetal".into();
            }
            list.push(soft);
        }
        list
    }

    /// The software device, allowed this many bytes.
    #[cfg(feature = "softmetal")]
    pub fn soft_with_limit(options: SoftOptions, limit: usize) -> MetalBackend {
        let mut backend = MetalBackend::soft(options);
        (backend.info.memory_limit, backend.info.buffer_limit) = (limit, limit);
        backend
    }

    /// The opened device.
    pub(crate) fn device(&self) -> Result<&Arc<OpenDevice>> {
        if let Some(device) = self.opened.get() {
            return Ok(device);
        }
        // One thread opens; the others wait for it and look again.
        let _opening = self.opening.lock();
        if let Some(device) = self.opened.get() {
            return Ok(device);
        }
        let failed = |e: DriverError| Error::driver(self.info.name.clone(), e);
        let driver = (self.open)().map_err(failed)?;
        let pools = Pools::new(&driver, &self.info.name, self.info.memory_limit, CACHED_BLOCKS);
        Ok(self.opened.get_or_init(|| {
            Arc::new(OpenDevice {
                name: self.info.name.clone(),
                driver,
                pipelines: Pipelines::default(),
                pools,
                last: Mutex::default(),
                submitted: AtomicU64::new(0),
            })
        }))
    }

    /// Statistics of the last run that was waited for: its time, and counters if the device counts.
    pub fn last_run(&self) -> Finished {
        self.device().map(|device| device.last.lock().clone()).unwrap_or_default()
    }

    /// How many command buffers plans have been run in so far.
    pub fn command_buffers(&self) -> u64 {
        self.device().map_or(0, |device| device.submitted.load(Ordering::Relaxed))
    }

    /// How many pipelines were made.
    pub fn pipeline_count(&self) -> usize {
        self.device().map_or(0, |device| device.pipelines.count())
    }
}

/// Properties of a device for display.
fn facts(driver: &str, family: String, lanes: u32) -> Vec<(String, String)> {
    let facts = [("driver", driver.to_string()), ("family", family), ("lanes", lanes.to_string())];
    facts.map(|(name, value)| (name.to_string(), value)).to_vec()
}

/// Why there is no Metal device.
pub const NO_DEVICE: &str =
    "this machine has no Apple GPU, and SoftMetal is not part of this build (feature `softmetal`)";

/// The memory limit of the software device: that of one of its buffers.
#[cfg(feature = "softmetal")]
const SOFT_MEMORY: usize = 64 << 30;

impl OpenDevice {
    /// An error of this device.
    pub fn error(&self, detail: impl Into<String>) -> Error {
        Error::device(self.name.clone(), detail)
    }

    /// An error of its driver.
    pub fn failed(&self, error: DriverError) -> Error {
        Error::driver(self.name.clone(), error)
    }

    /// Submits a command buffer to the device.
    pub fn submit(&self, batch: Batch<'_>) -> Result<Box<dyn Running>> {
        self.submitted.fetch_add(1, Ordering::Relaxed);
        self.driver.submit(batch).map_err(|e| self.failed(e))
    }

    pub fn note(&self, finished: Finished) {
        *self.last.lock() = finished;
    }

    /// Memory that the host sees, with unspecified content.
    pub fn reserve(&self, bytes: usize, op: &str) -> Result<MetalMemory> {
        self.pools.take(bytes, Storage::Shared, op)
    }

    /// Private device memory, with unspecified content.
    pub fn reserve_private(&self, bytes: usize, op: &str) -> Result<MetalMemory> {
        self.pools.take(bytes, Storage::Private, op)
    }

    /// A buffer with a copy of these bytes.
    pub fn with_bytes(&self, bytes: &[u8]) -> Result<Buffer> {
        let memory = self.reserve(bytes.len(), "")?;
        self.write(&memory, 0, bytes)?;
        Ok(Buffer::new(memory))
    }

    fn write(&self, memory: &MetalMemory, offset: usize, bytes: &[u8]) -> Result<()> {
        let start =
            memory.start().ok_or_else(|| self.error("a private buffer is not accessible from the host"))?;
        // SAFETY: callers checked the range; they write only buffers that no run is using.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(offset), bytes.len()) };
        Ok(())
    }

    pub fn own<'b>(&self, buffer: &'b Buffer) -> Result<&'b MetalMemory> {
        memory(buffer)
            .filter(|m| self.pools.own(m))
            .ok_or_else(|| self.error("cannot bind a buffer of another device"))
    }

    fn check_range(&self, buffer: &Buffer, offset: usize, bytes: usize) -> Result<()> {
        if offset.checked_add(bytes).is_some_and(|end| end <= buffer.len()) {
            return Ok(());
        }
        Err(self.error(format!("{bytes} bytes at offset {offset} exceed a buffer of {}", buffer.len())))
    }

    /// Host memory in place: whole pages around it are wrapped, and kernels start inside of the first.
    fn wrap(&self, host: HostMemory) -> std::result::Result<MetalMemory, HostMemory> {
        let bytes = host.bytes();
        let address = bytes.as_ptr() as usize;
        if bytes.len() < WRAP_LEAST
            || !address.is_multiple_of(WRAP_ALIGNMENT)
            || bytes.len() > self.driver.facts().max_buffer
        {
            return Err(host);
        }
        let page = self.driver.facts().page;
        let offset = address % page;
        let length = bytes.len();
        let start = bytes.as_ptr().wrapping_sub(offset);
        let whole = (offset + length).next_multiple_of(page);
        let owner = host.owner.clone();
        // SAFETY: `owner` keeps the bytes alive and never changes them; the rest of the pages that they lie in is mapped with
        // them, and kernels touch only the bytes themselves, which the planner never writes.
        match unsafe { self.driver.wrap(start, whole, Box::new(Keeper(owner))) } {
            Ok(memory) => Ok(self.pools.adopt(memory, offset, length)),
            Err(_) => Err(host),
        }
    }
}

/// Keeps host memory alive.
struct Keeper(#[allow(dead_code, reason = "held for its drop")] Arc<dyn AsRef<[u8]> + Send + Sync>);

/// Why f64 is refused.
pub(crate) const NO_F64: &str = "Metal has no 64-bit floats; cast to f32, or use the cpu";

/// Products take their operands from memory; norms fuse into x alone, rope not into its frequencies.
fn fuses_input(family: Family, slot: usize) -> bool {
    let products = matches!(family, Family::Matmul | Family::QuantMatmul)
        || (family == Family::ExpertMatmul && slot == 0);
    let norms = matches!(family, Family::RmsNorm | Family::LayerNorm);
    !products && (!norms || slot == 0) && (family != Family::Rope || slot < 2)
}

impl Backend for MetalBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> Capabilities {
        // At most three pieces of fused code and two plain inputs in a step, so that no step binds more than 31 buffers.
        Capabilities { fuses_input, fuses_output: |_| true, max_loads: 8, max_ops: 64, alignment: 256 }
    }

    fn refuses(&self, dtype: DType) -> Option<&'static str> {
        (dtype == DType::F64).then_some(NO_F64)
    }

    fn runs_custom(&self, kernel: &CustomKernel) -> bool {
        kernel.source(Language::Msl).is_some()
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer> {
        Ok(Buffer::new(self.device()?.reserve(bytes, "")?))
    }

    fn import(&self, memory: HostMemory) -> Result<Buffer> {
        let device = self.device()?;
        match device.wrap(memory) {
            Ok(wrapped) => Ok(Buffer::new(wrapped)),
            Err(memory) => device.with_bytes(memory.bytes()),
        }
    }

    fn upload(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        let device = self.device()?;
        device.check_range(buffer, offset, bytes.len())?;
        let memory = device.own(buffer)?;
        if !buffer.is_writable() {
            return Err(device.error("imported memory cannot be written"));
        }
        device.write(memory, offset, bytes)
    }

    fn download(&self, buffer: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let device = self.device()?;
        device.check_range(buffer, offset, bytes.len())?;
        let start = device.own(buffer)?.start();
        let start = start.ok_or_else(|| device.error("a private buffer is not accessible from the host"))?;
        // SAFETY: the range was checked; results are handed out after their run has ended.
        unsafe { std::ptr::copy_nonoverlapping(start.add(offset), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn prepare(&self, plans: &[Arc<Plan>]) {
        // A device that cannot be opened says so when a plan is compiled.
        let Ok(device) = self.device() else { return };
        let recipes: Vec<_> = plans.iter().flat_map(|plan| recipes_of(plan, device.driver.facts())).collect();
        device.pipelines.prepare(&*device.driver, &recipes);
    }

    fn compile(&self, plan: Arc<Plan>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(MetalExecutable::new(self.device()?, plan)?))
    }

    fn submit(&self, executable: &Arc<dyn Executable>, run: Run<'_>) -> Result<Fence> {
        let device = self.device()?;
        let executable = (&**executable as &dyn Any).downcast_ref::<MetalExecutable>();
        let executable =
            executable.ok_or_else(|| device.error("cannot submit an executable of another device"))?;
        executable.submit(device, run)
    }

    fn memory(&self) -> MemoryStats {
        // A device that has not been used yet is not opened just to answer this.
        match self.opened.get() {
            Some(device) => device.pools.stats(),
            None => MemoryStats::default(),
        }
    }

    fn last_run_seconds(&self) -> Option<f64> {
        let finished = self.device().ok()?.last.lock();
        (finished.command_buffers > 0).then_some(finished.seconds)
    }

    fn trim(&self) {
        if let Some(device) = self.opened.get() {
            device.pools.trim();
        }
    }
}

const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<MetalBackend>();
};
