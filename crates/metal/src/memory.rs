//! Buffers of the Metal device: pooled blocks, and host memory used in place.

use crate::driver::{Device, Memory, Storage};
use std::sync::Arc;
use wootz_backend::{Buffer, DeviceMemory, MemoryStats, Pool, PoolLimits};
use wootz_ir::{Error, Result};

/// A buffer of the Metal device.
pub(crate) struct MetalMemory {
    bytes: usize,
    /// Where the buffer starts in its memory: wrapped host memory begins at a page.
    offset: usize,
    held: Held,
}

enum Held {
    /// From the pool, and back to it on drop.
    Pooled { memory: Memory, size: usize, pool: Arc<Pool<Memory>> },
    /// Someone else's bytes; counted by the pool.
    Wrapped { memory: Memory, pool: Arc<Pool<Memory>> },
}

impl MetalMemory {
    /// The device's memory, and where in it the buffer starts.
    pub fn place(&self) -> (&Memory, usize) {
        match &self.held {
            Held::Pooled { memory, .. } | Held::Wrapped { memory, .. } => (memory, self.offset),
        }
    }

    /// The first byte, where the host can see it.
    pub fn start(&self) -> Option<*mut u8> {
        let (memory, offset) = self.place();
        memory.contents().map(|start| start.wrapping_add(offset))
    }

    /// Whether the memory is ours to write.
    pub fn is_writable(&self) -> bool {
        matches!(self.held, Held::Pooled { .. })
    }
}

impl Drop for MetalMemory {
    fn drop(&mut self) {
        match &self.held {
            Held::Pooled { memory, size, pool } => pool.give(memory.clone(), *size),
            Held::Wrapped { pool, .. } => pool.release(self.bytes),
        }
    }
}

impl DeviceMemory for MetalMemory {
    fn len(&self) -> usize {
        self.bytes
    }

    fn host_bytes(&self) -> Option<&[u8]> {
        // SAFETY: memory that the host sees is valid for its whole length while `self` holds it. Runs end before their results
        // are handed out, and a donated buffer has no other reader by contract, so nobody writes while this borrow lives.
        self.start().map(|start| unsafe { std::slice::from_raw_parts(start, self.bytes) })
    }

    fn is_imported(&self) -> bool {
        !self.is_writable()
    }
}

/// The Metal memory behind a buffer.
pub(crate) fn memory(buffer: &Buffer) -> Option<&MetalMemory> {
    buffer.memory::<MetalMemory>()
}

/// The pools of a device: memory that the host sees, and memory that it never sees.
pub(crate) struct Pools {
    driver: Arc<dyn Device>,
    /// The name of the device in errors.
    name: String,
    shared: Arc<Pool<Memory>>,
    private: Arc<Pool<Memory>>,
    limit: usize,
}

impl Pools {
    /// Both together hold at most `limit` bytes; each keeps up to that many blocks for reuse.
    pub fn new(driver: &Arc<dyn Device>, name: &str, limit: usize, blocks: usize) -> Pools {
        let pool = || Arc::new(Pool::new(PoolLimits { live: limit, cached: limit / 4, blocks }));
        Pools { driver: driver.clone(), name: name.into(), shared: pool(), private: pool(), limit }
    }

    /// Allocates memory with unspecified content; `op` is its purpose.
    pub fn take(&self, bytes: usize, storage: Storage, op: &str) -> Result<MetalMemory> {
        let pool = match storage {
            Storage::Shared => &self.shared,
            Storage::Private => &self.private,
        };
        let live = self.stats().live;
        let fits = live.saturating_add(bytes) <= self.limit;
        let made = if fits { pool.take(bytes, |size| self.driver.buffer(size, storage).ok()) } else { None };
        let (memory, size) = made.ok_or_else(|| Error::OutOfMemory {
            device: self.name.clone(),
            op: op.into(),
            requested: bytes as u128,
            live,
            limit: self.limit,
        })?;
        Ok(MetalMemory { bytes, offset: 0, held: Held::Pooled { memory, size, pool: pool.clone() } })
    }

    /// Someone else's bytes, which start somewhere in `memory`.
    pub fn adopt(&self, memory: Memory, offset: usize, bytes: usize) -> MetalMemory {
        self.shared.adopt(bytes);
        MetalMemory { bytes, offset, held: Held::Wrapped { memory, pool: self.shared.clone() } }
    }

    /// Whether memory came from here.
    pub fn own(&self, memory: &MetalMemory) -> bool {
        let (Held::Pooled { pool, .. } | Held::Wrapped { pool, .. }) = &memory.held;
        Arc::ptr_eq(pool, &self.shared) || Arc::ptr_eq(pool, &self.private)
    }

    /// The figures of both pools.
    pub fn stats(&self) -> MemoryStats {
        let (a, b) = (self.shared.stats(), self.private.stats());
        MemoryStats {
            live: a.live + b.live,
            cached: a.cached + b.cached,
            peak: a.peak + b.peak,
            buffers: a.buffers + b.buffers,
            cached_blocks: a.cached_blocks + b.cached_blocks,
            hits: a.hits + b.hits,
            misses: a.misses + b.misses,
        }
    }

    /// Gives cached memory back to the system.
    pub fn trim(&self) {
        self.shared.trim();
        self.private.trim();
    }
}
