//! WebGPU as a device.

use crate::device::{Gpu, Options, failure};
use crate::executable::GpuExecutable;
use crate::memory::{GpuMemory, memory};
use parking_lot::RwLock;
use std::any::Any;
use std::sync::Arc;
use wootz_backend::{Backend, Buffer, DeviceInfo, Executable, Fence, HostMemory, MemoryStats, Run};
use wootz_ir::custom::Language;
use wootz_ir::{CustomKernel, DType, Result};
use wootz_plan::{Capabilities, Plan};

/// Why f64 is refused.
pub(crate) const NO_F64: &str = "WGSL has no 64-bit floats; cast to f32, or use the cpu";

/// A GPU by wgpu.
pub struct WebGpuBackend {
    info: DeviceInfo,
    options: Options,
    gpu: RwLock<Arc<Gpu>>,
}

impl WebGpuBackend {
    /// The adapter that the environment names (`WOOTZ_WEBGPU_ADAPTER`: an index or a part of a name), else the most
    /// capable one. An error where there is none.
    pub fn new() -> Result<WebGpuBackend> {
        WebGpuBackend::with_options(Options::current())
    }

    /// The adapter and the bounds that `options` name.
    pub fn with_options(options: Options) -> Result<WebGpuBackend> {
        let gpu = Gpu::open(&options)?;
        Ok(WebGpuBackend { info: gpu.info.clone(), options, gpu: RwLock::new(Arc::new(gpu)) })
    }

    /// The device; a new one where the last was lost.
    pub(crate) fn gpu(&self) -> Result<Arc<Gpu>> {
        let current = self.gpu.read().clone();
        if current.lost().is_none() {
            return Ok(current);
        }
        let mut slot = self.gpu.write();
        if slot.lost().is_some() {
            *slot = Arc::new(Gpu::open(&self.options)?);
        }
        Ok(slot.clone())
    }

    /// How many pipelines have been compiled.
    pub fn pipelines(&self) -> usize {
        self.gpu.read().pipelines.count()
    }

    /// How many bind groups are kept.
    pub fn bind_groups(&self) -> usize {
        self.gpu.read().groups.count()
    }

    /// Destroys the device, like a driver reset. Later work runs on a new one.
    pub fn lose(&self) {
        let gpu = self.gpu.read().clone();
        gpu.device.destroy();
        let _ = gpu.device.poll(wgpu::PollType::wait_indefinitely());
    }

    fn own<'b>(&self, buffer: &'b Buffer, offset: usize, bytes: usize) -> Result<&'b GpuMemory> {
        if offset.checked_add(bytes).is_none_or(|end| end > buffer.len()) {
            let size = buffer.len();
            return Err(failure(format!("{bytes} bytes at offset {offset} exceed a buffer of {size}")));
        }
        memory(buffer)
    }
}

impl Backend for WebGpuBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> Capabilities {
        let gpu = self.gpu.read();
        Capabilities { alignment: gpu.alignment.max(256), ..gpu.facts.capabilities() }
    }

    fn refuses(&self, dtype: DType) -> Option<&'static str> {
        (dtype == DType::F64).then_some(NO_F64)
    }

    fn runs_custom(&self, kernel: &CustomKernel) -> bool {
        kernel.source(Language::Wgsl).is_some()
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer> {
        Ok(Buffer::new(GpuMemory::new(&self.gpu()?, bytes, "")?))
    }

    fn import(&self, memory: HostMemory) -> Result<Buffer> {
        let copy = GpuMemory::new(&self.gpu()?, memory.bytes().len(), "imported memory")?;
        copy.upload(0, memory.bytes())?;
        Ok(Buffer::new(copy))
    }

    fn upload(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        self.own(buffer, offset, bytes.len())?.upload(offset, bytes)
    }

    fn download(&self, buffer: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.own(buffer, offset, bytes.len())?.download(offset, bytes)
    }

    fn compile(&self, plan: Arc<Plan>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(GpuExecutable::new(&self.gpu()?, plan)?))
    }

    fn submit(&self, executable: &Arc<dyn Executable>, run: Run<'_>) -> Result<Fence> {
        let executable = (&**executable as &dyn Any)
            .downcast_ref::<GpuExecutable>()
            .ok_or_else(|| failure("cannot submit an executable of another device"))?;
        executable.submit(&self.gpu()?, run)
    }

    fn memory(&self) -> MemoryStats {
        self.gpu.read().pool.stats()
    }

    fn trim(&self) {
        let gpu = self.gpu.read();
        gpu.pool.trim();
        gpu.staging.trim();
    }
}
