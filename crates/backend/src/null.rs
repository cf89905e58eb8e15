//! A backend that runs nothing: for planner tests, and for trying how the engine treats a failing device.

use crate::buffer::{Buffer, DeviceMemory};
use crate::contract::{Backend, DeviceInfo, DeviceKind, Executable, Fence, HostMemory, Run};
use crate::pool::MemoryStats;
use std::sync::Arc;
use wootz_ir::{CustomKernel, DType, Error, Result};
use wootz_plan::{Capabilities, Plan};

/// Accepts every plan; runs end in an error that says so.
pub struct NullBackend {
    info: DeviceInfo,
    capabilities: Capabilities,
}

impl NullBackend {
    /// A null device with a planner's view of some other one.
    pub fn new(capabilities: Capabilities) -> NullBackend {
        let info = DeviceInfo {
            name: "null".into(),
            description: "a device that runs nothing".into(),
            kind: DeviceKind::Software,
            facts: vec![],
            memory_limit: usize::MAX,
            buffer_limit: usize::MAX,
        };
        NullBackend { info, capabilities }
    }
}

struct Nothing(usize);

impl DeviceMemory for Nothing {
    fn len(&self) -> usize {
        self.0
    }
    fn host_bytes(&self) -> Option<&[u8]> {
        None
    }
}

struct NullExecutable(Arc<Plan>);

impl Executable for NullExecutable {
    fn plan(&self) -> &Plan {
        &self.0
    }
}

impl Backend for NullBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn refuses(&self, _: DType) -> Option<&'static str> {
        None
    }

    fn runs_custom(&self, _: &CustomKernel) -> bool {
        false
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer> {
        Ok(Buffer::new(Nothing(bytes)))
    }

    fn import(&self, memory: HostMemory) -> Result<Buffer> {
        Ok(Buffer::new(Nothing(memory.bytes().len())))
    }

    fn upload(&self, _: &Buffer, _: usize, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn download(&self, _: &Buffer, _: usize, _: &mut [u8]) -> Result<()> {
        Err(self.nothing())
    }

    fn compile(&self, plan: Arc<Plan>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(NullExecutable(plan)))
    }

    fn submit(&self, _: &Arc<dyn Executable>, _: Run<'_>) -> Result<Fence> {
        Err(self.nothing())
    }

    fn memory(&self) -> MemoryStats {
        MemoryStats::default()
    }

    fn trim(&self) {}
}

impl NullBackend {
    fn nothing(&self) -> Error {
        Error::Device { device: self.info.name.clone(), detail: "this device runs nothing".into() }
    }
}
