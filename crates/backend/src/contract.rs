//! What a device implements.

use crate::buffer::Buffer;
use crate::pool::MemoryStats;
use std::any::Any;
use std::sync::Arc;
use wootz_ir::{CustomKernel, DType, Number, Result, SmallGraph};
use wootz_plan::{Capabilities, Plan};

/// What kind of thing a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The host's own cores.
    Cpu,
    /// A GPU that shares memory with the host.
    IntegratedGpu,
    /// A GPU with memory of its own.
    DiscreteGpu,
    /// A device imitated in software.
    Software,
}

impl DeviceKind {
    /// The kind in one word or two.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::IntegratedGpu => "integrated gpu",
            DeviceKind::DiscreteGpu => "discrete gpu",
            DeviceKind::Software => "software",
        }
    }
}

/// What a device says about itself.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The name it is chosen by: `cpu`, `metal`, `webgpu`, …
    pub name: String,
    /// What it is, for people.
    pub description: String,
    /// Its kind.
    pub kind: DeviceKind,
    /// Facts worth showing: instruction set, threads, driver, limits.
    pub facts: Vec<(String, String)>,
    /// Bytes it can hold in all.
    pub memory_limit: usize,
    /// The largest single buffer.
    pub buffer_limit: usize,
}

/// Host memory given to a device for good: a vector, a mapped file, someone else's array.
pub struct HostMemory {
    /// Keeps the bytes alive and says where they are.
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

/// A plan made ready for one device.
pub trait Executable: Any + Send + Sync {
    /// The plan it was made from.
    fn plan(&self) -> &Plan;
}

/// What one run of an executable binds.
pub struct Run<'a> {
    /// Leaf buffers, by position.
    pub leaves: &'a [Buffer],
    /// Values of the scalar parameters, each already of its dtype.
    pub params: &'a [Number],
}

/// The end of a submitted run, and its results. Dropping it waits, so that no buffer of the run is used again too early.
pub struct Fence {
    results: Vec<Buffer>,
    wait: Option<Box<dyn FnOnce() -> Result<()> + Send>>,
}

impl Fence {
    /// A run that has ended.
    pub fn done(results: Vec<Buffer>) -> Fence {
        Fence { results, wait: None }
    }

    /// A run that `wait` waits for.
    pub fn pending(results: Vec<Buffer>, wait: impl FnOnce() -> Result<()> + Send + 'static) -> Fence {
        Fence { results, wait: Some(Box::new(wait)) }
    }

    /// Whether there is nothing to wait for.
    pub fn is_done(&self) -> bool {
        self.wait.is_none()
    }

    /// The plan's result buffers, which hold results once the run has ended.
    pub fn results(&self) -> &[Buffer] {
        &self.results
    }

    /// Waits for the end and returns the plan's result buffers.
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

/// A device. All calls may come from many threads at once.
pub trait Backend: Send + Sync {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;

    /// What it can take in one step, for the planner.
    fn capabilities(&self) -> Capabilities;

    /// Why the device cannot work with a dtype, if so.
    fn refuses(&self, dtype: DType) -> Option<&'static str>;

    /// Whether it finds an implementation for itself in a user's kernel.
    fn runs_custom(&self, kernel: &CustomKernel) -> bool;

    /// Memory with unspecified content.
    fn allocate(&self, bytes: usize) -> Result<Buffer>;

    /// A buffer over host memory, without a copy where the device can.
    fn import(&self, memory: HostMemory) -> Result<Buffer>;

    /// Host bytes into a buffer, from byte `offset` on.
    fn upload(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<()>;

    /// Bytes of a buffer, from byte `offset` on, to the host.
    fn download(&self, buffer: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()>;

    /// Announces plans that [`Backend::compile`] will be called with soon, for devices that compile many kernels at once more
    /// cheaply. Errors are reported by `compile`.
    fn prepare(&self, plans: &[Arc<Plan>]) {
        let _ = plans;
    }

    /// Makes a plan ready to run.
    fn compile(&self, plan: Arc<Plan>) -> Result<Arc<dyn Executable>>;

    /// Starts a run. Runs of one device take effect in the order in which they were submitted, so that leaves may be results
    /// of runs that have not ended. The caller keeps leaves alive until the fence is reached.
    fn submit(&self, executable: &Arc<dyn Executable>, run: Run<'_>) -> Result<Fence>;

    /// Runs a small graph to its end without a plan, where the device has a way that costs less; `None` where it has not, and
    /// where a fault was met, which a plan reports in its words. The value is bit for bit that of the plan.
    fn run_small(&self, graph: &SmallGraph<Buffer>) -> Result<Option<Buffer>> {
        let _ = graph;
        Ok(None)
    }

    /// How memory is used.
    fn memory(&self) -> MemoryStats;

    /// Seconds that the last run took on the device itself, where the device measures that.
    fn last_run_seconds(&self) -> Option<f64> {
        None
    }

    /// Gives cached memory back to the system.
    fn trim(&self);
}
