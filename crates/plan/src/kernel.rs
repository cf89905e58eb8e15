//! Kernels of steps, and their construction from ops.

use smallvec::SmallVec;
use std::sync::Arc;
use wootz_ir::graph::GraphNode;
use wootz_ir::op::{Activations, ArgOp, AttentionSpec, Bits, ReduceOp, RopeStyle, ScanOp, ScatterMode};
use wootz_ir::{BlockFormat, CustomKernel, Family, Op, Shape, View};

/// The structured part of a step. "Rows" are along the last axis of the first input.
#[derive(Clone, Debug, PartialEq)]
pub enum Kernel {
    /// No kernel: the epilogue does everything.
    Map,
    /// Input 0 is `outer × inner` in linear order; the inner points of each outer one are combined.
    Reduce {
        /// The reduction.
        op: ReduceOp,
        /// Inner extent.
        inner: usize,
    },
    /// The position of the minimum or maximum of each row.
    ArgReduce(ArgOp),
    /// A cumulative reduction along each row.
    Scan(ScanOp),
    /// The first `limit` sorted elements of each row.
    Sort {
        /// Descending order.
        descending: bool,
        /// Number of elements to keep.
        limit: usize,
    },
    /// Their positions.
    ArgSort {
        /// Descending order.
        descending: bool,
        /// Number of elements to keep.
        limit: usize,
    },
    /// Softmax of each row, or its logarithm.
    Softmax {
        /// Log-softmax instead.
        log: bool,
    },
    /// Input 0 normalised per row, times input 1 if there is one.
    RmsNorm {
        /// Added to the mean square.
        eps: Bits,
    },
    /// Input 0 normalised per row, times input 1 plus input 2 if they are there.
    LayerNorm {
        /// Added to the variance.
        eps: Bits,
    },
    /// Input 0 rotated by positions (input 1, one per row) and frequencies (input 2).
    Rope(RopeStyle),
    /// `batch` products of `m×k` (input 0) and `k×n` (input 1).
    Matmul {
        /// Number of products.
        batch: usize,
        /// Rows of the result.
        m: usize,
        /// Columns of the result.
        n: usize,
        /// Inner extent.
        k: usize,
    },
    /// Attention over plain q, k, v `[b, h, t, d]`, then mask and position as the spec says.
    Attention(AttentionSpec),
    /// The places in input 0 (plain, a sorted vector) of the values of input 1.
    SearchSorted {
        /// Behind equal elements, not before them.
        right: bool,
    },
    /// Input 0 (plain) at the positions of input 1 along an axis.
    Gather {
        /// The axis indexed.
        axis: u8,
    },
    /// Input 1 (values) into the store at positions input 0 along an axis; the store holds the rest already.
    Scatter {
        /// The axis indexed.
        axis: u8,
        /// Set or add.
        mode: ScatterMode,
    },
    /// Input 0 (rows) written into the store along an axis, from position input 1 on.
    WriteAt {
        /// The axis.
        axis: u8,
    },
    /// Input 0 (`[…, k]` floats) times the rows of input 1 (plain bytes).
    QuantMatmul {
        /// Format of the rows.
        format: BlockFormat,
        /// Precision of input 0.
        activations: Activations,
    },
    /// Rows of input 0 (`[r, k]` floats) times the matrices of input 1 (plain bytes `[e, n, …]`) that input 2 `[r, j]` names.
    ExpertMatmul {
        /// Format of the rows.
        format: BlockFormat,
        /// Precision of input 0.
        activations: Activations,
    },
    /// Rows of input 0 (plain bytes) by input 1.
    QuantGather {
        /// Format of the rows.
        format: BlockFormat,
    },
    /// RWKV-7's recurrence over seven plain inputs.
    Wkv7,
    /// A user-defined kernel: inputs are plain, row-major and start at their buffer's first element; so does the only
    /// store.
    Custom(Arc<CustomKernel>),
}

impl Kernel {
    /// The kernel's family.
    pub fn family(&self) -> Family {
        match self {
            Kernel::Map => Family::Map,
            Kernel::Reduce { .. } => Family::Reduce,
            Kernel::ArgReduce(_) => Family::ArgReduce,
            Kernel::Scan(_) => Family::Scan,
            Kernel::Sort { .. } => Family::Sort,
            Kernel::ArgSort { .. } => Family::ArgSort,
            Kernel::Softmax { .. } => Family::Softmax,
            Kernel::RmsNorm { .. } => Family::RmsNorm,
            Kernel::LayerNorm { .. } => Family::LayerNorm,
            Kernel::Rope(_) => Family::Rope,
            Kernel::Matmul { .. } => Family::Matmul,
            Kernel::Attention(_) => Family::Attention,
            Kernel::SearchSorted { .. } => Family::SearchSorted,
            Kernel::Gather { .. } => Family::Gather,
            Kernel::Scatter { .. } => Family::Scatter,
            Kernel::WriteAt { .. } => Family::WriteAt,
            Kernel::QuantMatmul { .. } => Family::QuantMatmul,
            Kernel::ExpertMatmul { .. } => Family::ExpertMatmul,
            Kernel::QuantGather { .. } => Family::QuantGather,
            Kernel::Wkv7 => Family::Wkv7,
            Kernel::Custom(_) => Family::Custom,
        }
    }

    /// The family's name: that of its files and of its row in the validation table.
    pub fn name(&self) -> &'static str {
        self.family().name()
    }

    /// The kernel of a structured node, and the views through which it reads each operand.
    pub(crate) fn of<'g>(node: &GraphNode, operand: impl Fn(usize) -> &'g Shape) -> (Kernel, Vec<Vec<View>>) {
        let mut views: Vec<Vec<View>> = vec![vec![]; node.operands.len()];
        let kernel = match &node.op {
            Op::Reduce(op, axes) => {
                let shape = operand(0);
                let kept = (0..shape.rank()).filter(|&a| !axes.contains(a));
                let permutation: SmallVec<[u8; 8]> = kept.chain(axes.iter()).map(|a| a as u8).collect();
                views[0].push(View::Permute(permutation));
                Kernel::Reduce { op: *op, inner: axes.iter().map(|a| shape[a]).product() }
            }
            Op::ArgReduce(op, axis) => {
                let rank = operand(0).rank() as u8;
                let permutation = (0..rank).filter(|a| a != axis).chain([*axis]).collect();
                views[0].push(View::Permute(permutation));
                Kernel::ArgReduce(*op)
            }
            Op::Scan(op) => Kernel::Scan(*op),
            Op::Sort { descending, limit } => Kernel::Sort { descending: *descending, limit: *limit },
            Op::ArgSort { descending, limit } => Kernel::ArgSort { descending: *descending, limit: *limit },
            Op::Softmax { log } => Kernel::Softmax { log: *log },
            Op::RmsNorm { eps } => Kernel::RmsNorm { eps: *eps },
            Op::LayerNorm { eps } => Kernel::LayerNorm { eps: *eps },
            Op::Rope(style) => Kernel::Rope(*style),
            Op::Matmul => {
                let rank = node.shape.rank();
                Kernel::Matmul {
                    batch: node.shape[..rank - 2].iter().product(),
                    m: node.shape[rank - 2],
                    n: node.shape[rank - 1],
                    k: operand(0)[rank - 1],
                }
            }
            Op::Attention(spec) => Kernel::Attention(*spec),
            Op::SearchSorted { right } => Kernel::SearchSorted { right: *right },
            Op::Gather { axis } => Kernel::Gather { axis: *axis },
            Op::QuantMatmul { format, activations } => {
                Kernel::QuantMatmul { format: *format, activations: *activations }
            }
            Op::ExpertMatmul { format, activations } => {
                Kernel::ExpertMatmul { format: *format, activations: *activations }
            }
            Op::QuantGather { format } => Kernel::QuantGather { format: *format },
            Op::Wkv7 => Kernel::Wkv7,
            Op::Custom(kernel) => Kernel::Custom(kernel.clone()),
            Op::Leaf { .. }
            | Op::Constant
            | Op::Iota
            | Op::Elementwise(_)
            | Op::Cast
            | Op::View(_)
            | Op::Concat { .. }
            | Op::UpdateSlice(_)
            | Op::WriteAt { .. }
            | Op::Scatter { .. } => unreachable!("{} is not a kernel of its own", node.op.name()),
        };
        (kernel, views)
    }
}
