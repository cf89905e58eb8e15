//! An artificial device: the CPU under another name, with planner settings, dtypes, faults and delays of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wootz::{Backend, CostModel, Device};
use wootz_backend::{Buffer, DeviceInfo, DeviceKind, Executable, Fence, HostMemory, MemoryStats, Run};
use wootz_cpu::CpuBackend;
use wootz_ir::{CustomKernel, DType, Error, Result};
use wootz_plan::{Capabilities, Plan};

/// A device that is free of charge, so that `auto` prefers it whenever it may.
#[allow(dead_code, reason = "not every test file needs it")]
pub const FREE: CostModel = CostModel { submit: 0.0, step: 0.0, byte: 0.0, flop: 0.0, transfer: 0.0 };
/// A device that `auto` takes when nothing else may run the graph.
#[allow(dead_code, reason = "not every test file needs it")]
pub const DEAR: CostModel = CostModel { submit: 1e-3, step: 1e-5, byte: 1e-9, flop: 1e-9, transfer: 1e-9 };

pub struct Artificial {
    pub cpu: CpuBackend,
    pub info: DeviceInfo,
    pub capabilities: Capabilities,
    pub refuses: fn(DType) -> Option<&'static str>,
    /// Plans whose results come out wrong.
    pub spoils: fn(&Plan) -> bool,
    pub runs: AtomicUsize,
    /// Whether runs end only when somebody waits for them.
    pub pending: bool,
    /// The runs, counted from 0, that end in a lost device.
    pub fails: fn(usize) -> bool,
    /// A made-up time, in nanoseconds, that runs and transfers take.
    pub clock: Option<Clock>,
}

/// A clock that devices put forward by what their work would take.
#[derive(Clone)]
pub struct Clock {
    /// The time now.
    pub now: Arc<AtomicUsize>,
    /// Nanoseconds that a plan takes.
    pub run: fn(&Plan) -> f64,
    /// Nanoseconds that so many bytes to or from the device take.
    pub transfer: fn(usize) -> f64,
}

impl Clock {
    fn pass(&self, nanoseconds: f64) {
        self.now.fetch_add(nanoseconds as usize, Ordering::Relaxed);
    }
}

impl Artificial {
    pub fn new(name: &str) -> Artificial {
        let cpu = CpuBackend::new();
        let info = DeviceInfo { name: name.into(), kind: DeviceKind::Software, ..cpu.info().clone() };
        let capabilities = Capabilities { alignment: 64, ..Capabilities::ALL };
        Artificial {
            cpu,
            info,
            capabilities,
            refuses: |_| None,
            spoils: |_| false,
            runs: AtomicUsize::new(0),
            pending: false,
            fails: |_| false,
            clock: None,
        }
    }

    /// The device over it.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn device(self) -> Device {
        Device::from_backend(Arc::new(self))
    }
}

impl Backend for Artificial {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
    fn refuses(&self, dtype: DType) -> Option<&'static str> {
        (self.refuses)(dtype)
    }
    fn runs_custom(&self, kernel: &CustomKernel) -> bool {
        self.cpu.runs_custom(kernel)
    }
    fn allocate(&self, bytes: usize) -> Result<Buffer> {
        self.cpu.allocate(bytes)
    }
    fn import(&self, memory: HostMemory) -> Result<Buffer> {
        self.cpu.import(memory)
    }
    fn upload(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        if let Some(clock) = &self.clock {
            clock.pass((clock.transfer)(bytes.len()));
        }
        self.cpu.upload(buffer, offset, bytes)
    }
    fn download(&self, buffer: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        if let Some(clock) = &self.clock {
            clock.pass((clock.transfer)(bytes.len()));
        }
        self.cpu.download(buffer, offset, bytes)
    }
    fn compile(&self, plan: Arc<Plan>) -> Result<Arc<dyn Executable>> {
        self.cpu.compile(plan)
    }
    fn submit(&self, executable: &Arc<dyn Executable>, run: Run<'_>) -> Result<Fence> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        if let Some(clock) = &self.clock {
            clock.pass((clock.run)(executable.plan()));
        }
        let results = self.cpu.submit(executable, run)?.wait()?;
        if (self.spoils)(executable.plan()) {
            for buffer in results.iter().filter(|b| !b.is_empty()) {
                let mut byte = [0];
                self.cpu.download(buffer, 0, &mut byte)?;
                self.cpu.upload(buffer, 0, &[byte[0] ^ 0x40])?;
            }
        }
        let lost = (self.fails)(number).then(|| Error::device(self.info.name.clone(), "the device was lost"));
        if self.pending {
            return Ok(Fence::pending(results, move || lost.map_or(Ok(()), Err)));
        }
        lost.map_or_else(|| Ok(Fence::done(results)), Err)
    }
    fn memory(&self) -> MemoryStats {
        self.cpu.memory()
    }
    fn trim(&self) {
        self.cpu.trim();
    }
}
