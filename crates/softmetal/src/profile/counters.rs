//! Exact counts for a dispatch.

use rustc_hash::FxHashMap;
use serde::Serialize;

/// Exact counts of one dispatch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Threadgroups that ran.
    pub threadgroups: u64,
    /// Threads that ran.
    pub threads: u64,
    /// Bytes loaded from buffers in the device address space.
    pub device_bytes_read: u64,
    /// Bytes loaded from arguments in the constant address space, which GPUs keep close by; not in the roofline.
    pub constant_bytes_read: u64,
    /// Bytes stored to buffers.
    pub device_bytes_written: u64,
    /// Bytes loaded from threadgroup memory.
    pub threadgroup_bytes_read: u64,
    /// Bytes stored to threadgroup memory.
    pub threadgroup_bytes_written: u64,
    /// Memory lines of 128 bytes that simdgroups touched, per instruction: what coalescing leaves to do.
    pub transactions: u64,
    /// Instructions on buffers, per simdgroup.
    pub memory_instructions: u64,
    /// Additions, multiplications and so on in float; a fused multiply-add counts two.
    pub flops_f32: u64,
    /// The same in half and bfloat.
    pub flops_f16: u64,
    /// Simd and quad operations, one per simdgroup.
    pub simd_operations: u64,
    /// Those that not all lanes of the simdgroup joined.
    pub divergent_simd_operations: u64,
    /// Simdgroup barriers.
    pub simd_barriers: u64,
    /// 8×8 matrix products (1024 operations each, counted apart from the flops above).
    pub matrix_products: u64,
    /// 8×8 matrix loads and stores.
    pub matrix_memory: u64,
    /// Threadgroup barriers, one per group.
    pub barriers: u64,
    /// Atomic operations.
    pub atomics: u64,
}

impl Counters {
    /// Adds another worker's counts.
    pub fn add(&mut self, o: &Counters) {
        self.threadgroups += o.threadgroups;
        self.threads += o.threads;
        self.device_bytes_read += o.device_bytes_read;
        self.constant_bytes_read += o.constant_bytes_read;
        self.device_bytes_written += o.device_bytes_written;
        self.threadgroup_bytes_read += o.threadgroup_bytes_read;
        self.threadgroup_bytes_written += o.threadgroup_bytes_written;
        self.transactions += o.transactions;
        self.memory_instructions += o.memory_instructions;
        self.flops_f32 += o.flops_f32;
        self.flops_f16 += o.flops_f16;
        self.simd_operations += o.simd_operations;
        self.divergent_simd_operations += o.divergent_simd_operations;
        self.simd_barriers += o.simd_barriers;
        self.matrix_products += o.matrix_products;
        self.matrix_memory += o.matrix_memory;
        self.barriers += o.barriers;
        self.atomics += o.atomics;
    }
}

/// The counters of one dispatch and its shape.
#[derive(Debug, Clone, Serialize)]
pub struct DispatchProfile {
    /// Kernel.
    pub kernel: String,
    /// Threads of the grid.
    pub grid: [u32; 3],
    /// Threads per group as dispatched.
    pub threads_per_threadgroup: [u32; 3],
    /// Groups of the grid.
    pub threadgroups: [u32; 3],
    /// Bytes of threadgroup memory per group.
    pub threadgroup_memory: u64,
    /// How long the software device took, instrumented; no GPU's time.
    pub seconds_in_software: f64,
    /// The counts.
    pub counters: Counters,
}

/// Bytes of a memory line.
pub const LINE: usize = 128;

/// Gathers the lines that the lanes of a simdgroup touch with one instruction. Lanes run one after another, so the
/// n-th execution of an instruction by one lane is matched with the n-th by the others.
#[derive(Debug, Default)]
pub struct Transactions {
    executions: FxHashMap<(u32, u32, usize), u32>,
    lines: FxHashMap<(u32, usize, u32), Vec<usize>>,
}

impl Transactions {
    /// An access of `(simdgroup, lane)` by the instruction at `pc`.
    pub fn note(&mut self, (simd, lane): (u32, u32), pc: usize, address: usize, size: usize) {
        let n = self.executions.entry((simd, lane, pc)).or_default();
        *n += 1;
        let lines = self.lines.entry((simd, pc, *n)).or_default();
        for line in address / LINE..=(address + size.max(1) - 1) / LINE {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }

    /// Adds the sums of a finished group and starts anew.
    pub fn drain_into(&mut self, c: &mut Counters) {
        c.memory_instructions += self.lines.len() as u64;
        c.transactions += self.lines.values().map(|l| l.len() as u64).sum::<u64>();
        self.lines.clear();
        self.executions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coalesced_lanes_share_a_line_and_strided_ones_do_not() {
        let mut t = Transactions::default();
        for lane in 0..32 {
            t.note((0, lane), 1, 4096 + lane as usize * 4, 4);
            t.note((0, lane), 2, 4096 + lane as usize * 256, 4);
        }
        let mut c = Counters::default();
        t.drain_into(&mut c);
        assert_eq!((c.memory_instructions, c.transactions), (2, 1 + 32));
    }
}
