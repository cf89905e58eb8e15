//! The trait that a device implements.

use crate::buffer::Buffer;
use crate::pool::MemoryStats;
use std::any::Any;
use std::sync::Arc;
use wootz_ir::{CustomKernel, DType, Number, Result, SmallGraph};
use wootz_plan::{Capabilities, Plan};

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The host's CPU.
    Cpu,
    /// A GPU that shares memory with the host.
    IntegratedGpu,
    /// A GPU with its own memory.
    DiscreteGpu,
    /// A software device.
    Software,
}

impl DeviceKind {
    /// A short name for the kind.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::IntegratedGpu => "integrated gpu",
            DeviceKind::DiscreteGpu => "discrete gpu",
            DeviceKind::Software => "software",
        }
    }
}

/// A device's description of itself.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The name that selects it: `cpu`, `metal`, `webgpu`, …
    pub name: String,
    /// Human-readable description.
    pub description: String,
    /// Kind.
    pub kind: DeviceKind,
    /// Properties such as instruction set, threads, driver and limits.
    pub facts: Vec<(String, String)>,
    /// Total memory in bytes.
    pub memory_limit: usize,
    /// Maximum size of a single buffer.
    pub buffer_limit: usize,
}

/// Host memory given to a device permanently: a vector, a mapped file, a foreign array.
pub struct HostMemory {
    /// Keeps the bytes alive and locates them.
    pub owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
}

impl HostMemory {
    /// Memory that `owner` keeps alive and never changes.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> HostMemory {
        HostMemory { owner: Arc::new(owner) }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        (*self.owner).as_ref()
    }
}

/// A plan compiled for a device.
pub trait Executable: Any + Send + Sync {
    /// The plan.
    fn plan(&self) -> &Plan;
}

/// The bindings of one run of an executable.
pub struct Run<'a> {
    /// Leaf buffers, by position.
    pub leaves: &'a [Buffer],
    /// Values of the scalar parameters, each already in its dtype.
    pub params: &'a [Number],
}

/// The completion of a submitted run, and its results. Dropping it waits, so that no buffer of the run is reused too
/// early.
pub struct Fence {
    results: Vec<Buffer>,
    wait: Option<Box<dyn FnOnce() -> Result<()> + Send>>,
}

impl Fence {
    /// A completed run.
    pub fn done(results: Vec<Buffer>) -> Fence {
        Fence { results, wait: None }
    }

    /// A run that `wait` waits for.
    pub fn pending(results: Vec<Buffer>, wait: impl FnOnce() -> Result<()> + Send + 'static) -> Fence {
        Fence { results, wait: Some(Box::new(wait)) }
    }

    /// Whether the run has completed.
    pub fn is_done(&self) -> bool {
        self.wait.is_none()
    }

    /// The plan's result buffers, which are valid once the run has completed.
    pub fn results(&self) -> &[Buffer] {
        &self.results
    }

    /// Waits for completion and returns the plan's result buffers.
    pub fn wait(mut self) -> Result<Vec<Buffer>> {
        if let Some(wait) = self.wait.take() {
            wait()?;
        }
        Ok(std::mem::take(&mut self.results))
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        if let Some(wait) = self.wait.take() {
            // There is no caller left to report a failure to.
            let _ = wait();
        }
    }
}

/// A device. All methods may be called from several threads at once.
pub trait Backend: Send + Sync {
    /// A description of the device.
    fn info(&self) -> &DeviceInfo;

    /// What it supports in one step, for the planner.
    fn capabilities(&self) -> Capabilities;

    /// Why the device does not support a dtype, if it does not.
    fn refuses(&self, dtype: DType) -> Option<&'static str>;

    /// Whether a user-defined kernel has an implementation for it.
    fn runs_custom(&self, kernel: &CustomKernel) -> bool;

    /// Allocates memory with unspecified content.
    fn allocate(&self, bytes: usize) -> Result<Buffer>;

    /// A buffer over host memory, without a copy if possible.
    fn import(&self, memory: HostMemory) -> Result<Buffer>;

    /// Copies host bytes to a buffer, from byte `offset` on.
    fn upload(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<()>;

    /// Copies bytes of a buffer, from byte `offset` on, to the host.
    fn download(&self, buffer: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()>;

    /// Copies `len` bytes between two buffers that both belong to the device, from byte `start` of `from` to byte `offset` of
    /// `to`, which may be written. Returns whether it did: devices whose memory is not the host's leave it to their caller.
    fn copy(&self, from: &Buffer, start: usize, to: &Buffer, offset: usize, len: usize) -> Result<bool> {
        let _ = (from, start, to, offset, len);
        Ok(false)
    }

    /// Announces plans that will soon be passed to [`Backend::compile`], for devices that compile many kernels more
    /// cheaply at once. Errors are reported by `compile`.
    fn prepare(&self, plans: &[Arc<Plan>]) {
        let _ = plans;
    }

    /// Compiles a plan.
    fn compile(&self, plan: Arc<Plan>) -> Result<Arc<dyn Executable>>;

    /// Starts a run. Runs of one device take effect in the order of submission, so leaves may be results of runs that
    /// have not completed. The caller keeps leaves alive until the fence is reached.
    fn submit(&self, executable: &Arc<dyn Executable>, run: Run<'_>) -> Result<Fence>;

    /// Runs a small graph to completion without a plan, if the device has a cheaper way; `None` if it does not, or if
    /// there was a fault, which a plan then reports. The value is bit-identical to the plan's.
    fn run_small(&self, graph: &SmallGraph<Buffer>) -> Result<Option<Buffer>> {
        let _ = graph;
        Ok(None)
    }

    /// Where bytes are not 0, of `count` from byte `start` on: their positions among these as i64, in a buffer of just as many;
    /// `None` where the host's own memory has to be used for it.
    fn places(&self, truth: &Buffer, start: usize, count: usize) -> Result<Option<Buffer>> {
        let _ = (truth, start, count);
        Ok(None)
    }

    /// How memory is used.
    fn memory(&self) -> MemoryStats;

    /// Duration of the last run in seconds, as measured by the device, if it can.
    fn last_run_seconds(&self) -> Option<f64> {
        None
    }

    /// Returns cached memory to the system.
    fn trim(&self);
}
