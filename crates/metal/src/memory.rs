//! Buffers of the Metal device: pooled blocks, and host memory used in place.

use crate::driver::Memory;
use std::sync::Arc;
use wootz_backend::{Buffer, DeviceMemory, MemoryStats, Pool};

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
    pub fn pooled(memory: Memory, bytes: usize, size: usize, pool: &Arc<Pool<Memory>>) -> MetalMemory {
        MetalMemory { bytes, offset: 0, held: Held::Pooled { memory, size, pool: pool.clone() } }
    }

    pub fn wrapped(memory: Memory, offset: usize, bytes: usize, pool: &Arc<Pool<Memory>>) -> MetalMemory {
        pool.adopt(bytes);
        MetalMemory { bytes, offset, held: Held::Wrapped { memory, pool: pool.clone() } }
    }

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

    /// The pool of the device that the memory belongs to.
    pub fn pool(&self) -> &Arc<Pool<Memory>> {
        match &self.held {
            Held::Pooled { pool, .. } | Held::Wrapped { pool, .. } => pool,
        }
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

/// The figures of several pools together.
pub(crate) fn total(parts: &[MemoryStats]) -> MemoryStats {
    parts.iter().fold(MemoryStats::default(), |a, b| MemoryStats {
        live: a.live + b.live,
        cached: a.cached + b.cached,
        peak: a.peak + b.peak,
        buffers: a.buffers + b.buffers,
        cached_blocks: a.cached_blocks + b.cached_blocks,
        hits: a.hits + b.hits,
        misses: a.misses + b.misses,
    })
}
