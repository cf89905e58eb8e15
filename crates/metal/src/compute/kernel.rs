//! Kernels, and suitable threadgroup sizes.

use super::Device;
use crate::driver::Pipeline;

/// A compiled kernel. Clones share it.
#[derive(Clone)]
pub struct Kernel {
    pub(super) device: Device,
    pub(super) name: String,
    pub(super) pipeline: Pipeline,
}

/// Threads beyond which a larger group rarely helps.
const COMFORTABLE: u32 = 256;

impl Kernel {
    pub(super) fn new(device: &Device, name: &str, pipeline: Pipeline) -> Kernel {
        Kernel { device: device.clone(), name: name.into(), pipeline }
    }

    /// Name in the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The most threads that a group may have.
    pub fn max_threads(&self) -> u32 {
        self.pipeline.max_threads()
    }

    /// Lanes of a simdgroup.
    pub fn simd_width(&self) -> u32 {
        self.pipeline.simd_width()
    }

    /// Bytes of threadgroup variables.
    pub fn threadgroup_memory(&self) -> u32 {
        self.pipeline.static_memory()
    }

    /// A threadgroup size for `points` consecutive threads: whole simdgroups, no more than needed.
    pub fn group_1d(&self, points: usize) -> [u32; 3] {
        let lanes = self.simd_width().max(1);
        let most = (self.max_threads().min(COMFORTABLE) / lanes * lanes).max(1);
        let needed = points.div_ceil(lanes as usize).saturating_mul(lanes as usize).max(1);
        [needed.min(most as usize) as u32, 1, 1]
    }

    /// The same as a power of two, for tree reductions.
    pub fn group_power_of_two(&self, points: usize) -> [u32; 3] {
        let [threads, ..] = self.group_1d(points);
        [1 << threads.ilog2(), 1, 1]
    }

    /// Threads per group for a plane: a simdgroup wide, so that rows are read side by side, and a few rows high.
    pub fn group_2d(&self, width: usize, height: usize) -> [u32; 3] {
        let lanes = self.simd_width().max(1).min(self.max_threads());
        let x = (width.next_power_of_two() as u64).min(u64::from(lanes)) as u32;
        let most = (self.max_threads().min(COMFORTABLE) / x).max(1);
        let y = (height.max(1).next_power_of_two() as u64).min(u64::from(1u32 << most.ilog2())) as u32;
        [x.max(1), y, 1]
    }
}
