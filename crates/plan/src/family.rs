//! Kernel families: what is true of each, whatever device runs it.

use crate::plan::{Kernel, Step};

impl Step {
    /// Floating-point operations of the step's kernel, a multiply-add counted as two. Kernels that do a few per element are bound
    /// by memory and count as none.
    pub fn flops(&self) -> f64 {
        let count = |shape: &wootz_ir::Shape| shape.count() as f64;
        match &self.kernel {
            Kernel::Matmul { batch, m, n, k } => 2.0 * (batch * m * n) as f64 * *k as f64,
            Kernel::QuantMatmul { .. } => {
                2.0 * count(&self.input_shapes[0]) * self.input_shapes[1].first().copied().unwrap_or(0) as f64
            }
            Kernel::Attention(_) => 4.0 * count(&self.shape) * self.input_shapes[1][2] as f64,
            // Two products of the state with a vector, and its update, for each element of the state and step.
            Kernel::Wkv7 => 7.0 * count(&self.input_shapes[6]) * self.input_shapes[0][0] as f64,
            Kernel::Map
            | Kernel::Reduce { .. }
            | Kernel::ArgReduce(_)
            | Kernel::Scan(_)
            | Kernel::Sort { .. }
            | Kernel::ArgSort { .. }
            | Kernel::Softmax { .. }
            | Kernel::RmsNorm { .. }
            | Kernel::LayerNorm { .. }
            | Kernel::Rope(_)
            | Kernel::Gather { .. }
            | Kernel::Scatter { .. }
            | Kernel::WriteAt { .. }
            | Kernel::QuantGather { .. }
            | Kernel::Custom(_) => 0.0,
        }
    }
}
