//! The CPU as a device.

use crate::exec::{CpuExecutable, small};
use crate::isa;
use crate::memory::{Block, CpuMemory, memory};
use crate::places::Counted;
use crate::quant;
use crate::team::Team;
use std::any::Any;
use std::sync::Arc;
use wootz_backend::{
    Backend, Buffer, DeviceInfo, DeviceKind, Executable, Fence, HostMemory, MemoryStats, Pool, PoolLimits,
    Run,
};
use wootz_ir::{CustomKernel, DType, Error, Result, SmallGraph};
use wootz_plan::{Capabilities, Plan};

/// The host's CPU, with all of its memory.
pub struct CpuBackend {
    info: DeviceInfo,
    pool: Arc<Pool<Block>>,
}

impl CpuBackend {
    /// The CPU with a pool bounded by the memory of the machine.
    pub fn new() -> CpuBackend {
        CpuBackend::with_limit(system_memory())
    }

    /// The CPU, allowed this many bytes.
    pub fn with_limit(limit: usize) -> CpuBackend {
        let facts = vec![
            ("threads".into(), Team::global().size().to_string()),
            ("instructions".into(), isa::level().name().into()),
            ("quantised products".into(), quant::kernel_name().into()),
        ];
        let info = DeviceInfo {
            name: "cpu".into(),
            description: processor_name(),
            kind: DeviceKind::Cpu,
            facts,
            memory_limit: limit,
            buffer_limit: limit,
        };
        let limits = PoolLimits { live: limit, cached: limit / 4, blocks: 512 };
        CpuBackend { info, pool: Arc::new(Pool::new(limits)) }
    }

    pub(crate) fn reserve(&self, bytes: usize, op: &str) -> Result<CpuMemory> {
        CpuMemory::for_run(&self.pool, bytes).ok_or_else(|| self.out_of_memory(bytes, op))
    }

    /// Memory for a result that may be so small that it needs no block.
    pub(crate) fn reserve_small(&self, bytes: usize, op: &str) -> Result<CpuMemory> {
        match CpuMemory::inline(bytes) {
            Some(memory) => Ok(memory),
            None => self.reserve(bytes, op),
        }
    }

    pub(crate) fn out_of_memory(&self, bytes: usize, op: &str) -> Error {
        Error::OutOfMemory {
            device: self.info.name.clone(),
            op: op.into(),
            requested: bytes as u128,
            live: self.pool.stats().live,
            limit: self.info.memory_limit,
        }
    }

    fn own<'b>(&self, buffer: &'b Buffer) -> Result<&'b CpuMemory> {
        memory(buffer)
            .ok_or_else(|| Error::device(self.info.name.clone(), "cannot bind a buffer of another device"))
    }

    fn check_range(&self, buffer: &Buffer, offset: usize, bytes: usize) -> Result<()> {
        if offset.checked_add(bytes).is_some_and(|end| end <= buffer.len()) {
            return Ok(());
        }
        let detail = format!("{bytes} bytes at offset {offset} exceed a buffer of {}", buffer.len());
        Err(Error::device(self.info.name.clone(), detail))
    }
}

impl Default for CpuBackend {
    fn default() -> CpuBackend {
        CpuBackend::new()
    }
}

impl Backend for CpuBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { alignment: 64, ..Capabilities::ALL }
    }

    fn refuses(&self, _: DType) -> Option<&'static str> {
        None
    }

    fn runs_custom(&self, kernel: &CustomKernel) -> bool {
        kernel.host().is_some()
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer> {
        let memory = CpuMemory::inline(bytes).or_else(|| CpuMemory::for_caller(&self.pool, bytes));
        memory.map(Buffer::new).ok_or_else(|| self.out_of_memory(bytes, ""))
    }

    fn import(&self, memory: HostMemory) -> Result<Buffer> {
        Ok(Buffer::new(CpuMemory::imported(memory)))
    }

    fn upload(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        self.check_range(buffer, offset, bytes.len())?;
        let memory = self.own(buffer)?;
        if !buffer.is_writable() {
            let detail =
                "the buffer is imported memory or is being read in place by the host, and cannot be written";
            return Err(Error::device(self.info.name.clone(), detail));
        }
        memory.fill(Some(bytes));
        // SAFETY: the range was checked, and no slice of the buffer was given out.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.start().add(offset), bytes.len()) };
        Ok(())
    }

    fn download(&self, buffer: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.check_range(buffer, offset, bytes.len())?;
        let memory = self.own(buffer)?;
        memory.fill(None);
        // SAFETY: the range was checked, and every byte of it has a value.
        unsafe { std::ptr::copy_nonoverlapping(memory.start().add(offset), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn copy(&self, from: &Buffer, start: usize, to: &Buffer, offset: usize, len: usize) -> Result<bool> {
        self.check_range(from, start, len)?;
        self.check_range(to, offset, len)?;
        let (source, target) = (self.own(from)?, self.own(to)?);
        if !to.is_writable() {
            return Ok(false);
        }
        source.fill(None);
        target.fill(None);
        // SAFETY: the ranges were checked, every byte of them has a value, and no slice of `to` was given out. They may overlap:
        // both may be the same buffer.
        unsafe { std::ptr::copy(source.start().add(start), target.start().add(offset), len) };
        Ok(true)
    }

    fn compile(&self, plan: Arc<Plan>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(CpuExecutable::new(plan)?))
    }

    fn submit(&self, executable: &Arc<dyn Executable>, run: Run<'_>) -> Result<Fence> {
        let executable = (&**executable as &dyn Any).downcast_ref::<CpuExecutable>().ok_or_else(|| {
            let detail = "cannot submit an executable of another device";
            Error::device(self.info.name.clone(), detail)
        })?;
        executable.run(self, run).map(Fence::done)
    }

    fn run_small(&self, graph: &SmallGraph<Buffer>) -> Result<Option<Buffer>> {
        small::run(self, graph)
    }

    fn places(&self, truth: &Buffer, start: usize, count: usize) -> Result<Option<Buffer>> {
        self.check_range(truth, start, count)?;
        let memory = self.own(truth)?;
        memory.fill(None);
        // SAFETY: the range was checked and every byte of it has a value; nobody writes a buffer that the caller has a handle to.
        let truth = unsafe { std::slice::from_raw_parts(memory.start().add(start), count) };
        let counted = Counted::new(truth);
        let places = self.reserve(counted.total() * size_of::<i64>(), "nonzero")?;
        // SAFETY: the memory is new, has room for so many numbers and is aligned to a cache line.
        counted.write(unsafe { std::slice::from_raw_parts_mut(places.start().cast(), counted.total()) });
        Ok(Some(Buffer::new(places)))
    }

    fn memory(&self) -> MemoryStats {
        self.pool.stats()
    }

    fn trim(&self) {
        self.pool.trim();
    }
}

/// Bytes of memory in the machine.
fn system_memory() -> usize {
    #[cfg(unix)]
    {
        // SAFETY: sysconf reads a number.
        let (pages, size) =
            unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        if pages > 0 && size > 0 {
            return (pages as usize).saturating_mul(size as usize);
        }
    }
    16 << 30
}

fn processor_name() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
}
