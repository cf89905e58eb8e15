//! The ops of the lazy graph, and the table of the kernel families that compute them.

pub use crate::spec::{
    Activations, ArgOp, AttentionSpec, Axes, Bits, ReduceOp, RopeStyle, ScanOp, ScatterMode,
};

use crate::custom::CustomKernel;
use crate::elementwise::ElementwiseOp;
use crate::layout::{Layout, Span, View};
use crate::shape::Shape;
use smallvec::SmallVec;
use std::sync::Arc;
use wootz_blocks::BlockFormat;

/// What a node computes. Operands have been cast and broadcast by the time a node exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A tensor with a value, in a buffer with this layout; a donated one may be overwritten.
    Leaf {
        /// Where its elements lie.
        layout: Layout,
        /// Whether its buffer may be updated in place.
        donated: bool,
    },
    /// A scalar whose value is a parameter of the plan.
    Constant,
    /// The row-major index of each element, as i64.
    Iota,
    /// An op of the elementwise table.
    Elementwise(ElementwiseOp),
    /// Conversion to the node's dtype.
    Cast,
    /// A movement op.
    View(View),
    /// A reduction; the reduced axes are dropped.
    Reduce(ReduceOp, Axes),
    /// The position of an extreme along an axis, as i64; the axis is dropped.
    ArgReduce(ArgOp, u8),
    /// A running reduction along the last axis.
    Scan(ScanOp),
    /// The first `limit` elements of each row (last axis) in stable order; NaN counts as largest.
    Sort {
        /// Largest first.
        descending: bool,
        /// How many to keep.
        limit: usize,
    },
    /// The positions, as i64, of what [`Op::Sort`] gives.
    ArgSort {
        /// Largest first.
        descending: bool,
        /// How many to keep.
        limit: usize,
    },
    /// `[…, m, k] · […, k, n]`.
    Matmul,
    /// Softmax along the last axis.
    Softmax {
        /// The logarithm of it instead.
        log: bool,
    },
    /// `x / √(mean(x²) + eps) · weight` along the last axis; the weight is optional.
    RmsNorm {
        /// Added to the mean square.
        eps: Bits,
    },
    /// `(x − mean) / √(var + eps) · weight + bias` along the last axis; weight and bias are optional.
    LayerNorm {
        /// Added to the variance.
        eps: Bits,
    },
    /// Rotary embedding of `x [… , d]` by `positions […]` (i32) and `frequencies [r/2]` (f32); elements beyond `r` pass.
    Rope(RopeStyle),
    /// Scaled-dot-product attention of q `[b, h, t, d]`, k `[b, g, s, d]`, v `[b, g, s, e]`; `g` divides `h`.
    Attention(AttentionSpec),
    /// `out[…, i, …] = x[…, index[…, i, …], …]` along an axis; negative indices count from the end.
    Gather {
        /// The axis indexed.
        axis: u8,
    },
    /// A copy of x with `out[…, index[…, i, …], …]` set from or increased by `values[…, i, …]`.
    Scatter {
        /// The axis indexed.
        axis: u8,
        /// Set or add.
        mode: ScatterMode,
    },
    /// Operands one after the other along an axis.
    Concat {
        /// The axis joined.
        axis: u8,
    },
    /// A copy of the first operand with a slice replaced by the second.
    UpdateSlice(SmallVec<[Span; 4]>),
    /// The first operand with the second written from row `start` (third operand, i32, one element) of an axis on; in
    /// place when the first is a donated leaf.
    WriteAt {
        /// The axis written along.
        axis: u8,
    },
    /// `x […, k] · Wᵀ` with `W [n, k]` given as the bytes of quantised rows.
    QuantMatmul {
        /// How the rows are coded.
        format: BlockFormat,
        /// How `x` is read.
        activations: Activations,
    },
    /// `out[r, j] = W[experts[r, j]] · x[r]` for rows `x [r, k]`, chosen matrices `experts [r, j]` of a stack
    /// `W [e, n, k]`, and the stack given as the bytes of quantised rows. Negative choices count from the end.
    ExpertMatmul {
        /// How the rows are coded.
        format: BlockFormat,
        /// How `x` is read.
        activations: Activations,
    },
    /// Rows of a quantised matrix by index, as floats.
    QuantGather {
        /// How the rows are coded.
        format: BlockFormat,
    },
    /// RWKV-7's recurrence over r, w, k, a, b `[t, h, d]`, v `[t, h, n]` and a state `[h, n, d]`; the result is the outputs
    /// and then the new state, flat.
    Wkv7,
    /// A user's own kernel over row-major operands.
    Custom(Arc<CustomKernel>),
}

impl Op {
    /// The op's name in messages and explanations.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Leaf { .. } => "leaf",
            Op::Constant => "constant",
            Op::Iota => "iota",
            Op::Elementwise(op) => op.name(),
            Op::Cast => "cast",
            Op::View(view) => view.name(),
            Op::Reduce(op, _) => op.name(),
            Op::ArgReduce(ArgOp::Min, _) => "argmin",
            Op::ArgReduce(ArgOp::Max, _) => "argmax",
            Op::Scan(ScanOp::Sum) => "cumsum",
            Op::Scan(ScanOp::Prod) => "cumprod",
            Op::Sort { .. } => "sort",
            Op::ArgSort { .. } => "argsort",
            Op::Matmul => "matmul",
            Op::Softmax { log: false } => "softmax",
            Op::Softmax { log: true } => "log_softmax",
            Op::RmsNorm { .. } => "rms_norm",
            Op::LayerNorm { .. } => "layer_norm",
            Op::Rope(_) => "rope",
            Op::Attention(_) => "attention",
            Op::Gather { .. } => "gather",
            Op::Scatter { mode: ScatterMode::Set, .. } => "scatter",
            Op::Scatter { mode: ScatterMode::Add, .. } => "scatter_add",
            Op::Concat { .. } => "concat",
            Op::UpdateSlice(_) => "update_slice",
            Op::WriteAt { .. } => "write_at",
            Op::QuantMatmul { .. } => "quant_matmul",
            Op::ExpertMatmul { .. } => "expert_matmul",
            Op::QuantGather { .. } => "quant_gather",
            Op::Wkv7 => "wkv7",
            Op::Custom(_) => "custom",
        }
    }
}

/// How a kernel reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Element by element, so that elementwise code can be fused in front of it.
    Fused,
    /// At places of its own choosing: the operand is in memory.
    Plain,
}

/// A row of the table of kernel families: what is true of one on every device.
struct Row {
    name: &'static str,
    /// How each operand of the op is read; the last entry stands for all that follow.
    operands: &'static [Reads],
    /// Whether elementwise code can be fused behind it. What writes into a buffer that others have written has no room for code.
    epilogue: bool,
    /// Whether its own work can find a fault in the data.
    faults: bool,
    /// Floating-point operations, given the operands' shapes and the result's; a multiply-add counts as two. Kernels that do a few
    /// per element are bound by memory and count as none.
    flops: fn(&[Shape], &Shape) -> f64,
}

/// Turns the table into [`Family`] and its rows.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident $name:literal [$($reads:ident),*] $epilogue:ident $faults:ident $flops:expr;)*) => {
        /// A kernel family: what one set of kernels per device computes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Family {
            $($(#[$doc])* $family,)*
        }

        impl Family {
            /// Every family.
            pub const ALL: &'static [Family] = &[$(Family::$family),*];

            fn row(self) -> &'static Row {
                match self {
                    $(Family::$family => const {
                        &Row {
                            name: $name,
                            operands: &[$(Reads::$reads),*],
                            epilogue: families!(@$epilogue),
                            faults: families!(@$faults),
                            flops: $flops,
                        }
                    },)*
                }
            }
        }
    };
    (@epilogue) => { true };
    (@last) => { false };
    (@faults) => { true };
    (@safe) => { false };
}

/// No flops to speak of.
const FEW: fn(&[Shape], &Shape) -> f64 = |_, _| 0.0;
/// A multiply-add per element of the result and of the rows of the first operand.
const PRODUCT: fn(&[Shape], &Shape) -> f64 =
    |x, out| 2.0 * out.count() as f64 * x[0].last().copied().unwrap_or(0) as f64;

families! {
    /// Elementwise code alone.
    Map "map" [Fused] epilogue safe FEW;
    /// Reductions over axes.
    Reduce "reduce" [Fused] epilogue safe FEW;
    /// Positions of extremes.
    ArgReduce "arg_reduce" [Fused] epilogue safe FEW;
    /// Running reductions.
    Scan "scan" [Fused] epilogue safe FEW;
    /// Sorted rows.
    Sort "sort" [Fused] epilogue safe FEW;
    /// The positions that sort rows.
    ArgSort "argsort" [Fused] epilogue safe FEW;
    /// Softmax of rows.
    Softmax "softmax" [Fused] epilogue safe FEW;
    /// Rows over their root mean square.
    RmsNorm "rms_norm" [Fused] epilogue safe FEW;
    /// Rows with mean 0 and variance 1.
    LayerNorm "layer_norm" [Fused] epilogue safe FEW;
    /// Rotary embedding.
    Rope "rope" [Fused] epilogue safe FEW;
    /// Products of matrices.
    Matmul "matmul" [Fused] epilogue safe PRODUCT;
    /// Scaled-dot-product attention.
    Attention "attention" [Plain] epilogue safe |x, out| 4.0 * out.count() as f64 * x[1][2] as f64;
    /// Elements by index.
    Gather "gather" [Plain, Fused] epilogue faults FEW;
    /// Elements to an index.
    Scatter "scatter" [Fused] last faults FEW;
    /// Rows to a position.
    WriteAt "write_at" [Plain, Fused, Plain] last faults FEW;
    /// Products with quantised matrices.
    QuantMatmul "quant_matmul" [Fused, Plain] epilogue safe PRODUCT;
    /// Products of each row with the quantised matrices chosen for it.
    ExpertMatmul "expert_matmul" [Fused, Plain, Fused] epilogue faults PRODUCT;
    /// Rows of quantised matrices.
    QuantGather "quant_gather" [Plain, Fused] epilogue faults FEW;
    /// RWKV-7's recurrence: two products of the state with a vector, and its update, in each step.
    Wkv7 "wkv7" [Plain] last safe |x, _| 7.0 * x[6].count() as f64 * x[0][0] as f64;
    /// A user's kernel.
    Custom "custom" [Plain] last safe FEW;
}

impl Family {
    /// The family's name: that of its files and of its row in the validation table.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// How operand `slot` of the op is read.
    pub fn reads(self, slot: usize) -> Reads {
        let operands = self.row().operands;
        operands[slot.min(operands.len() - 1)]
    }

    /// Whether elementwise code can be fused behind it.
    pub fn takes_epilogue(self) -> bool {
        self.row().epilogue
    }

    /// Whether its own work can end in a fault.
    pub fn can_fault(self) -> bool {
        self.row().faults
    }

    /// Floating-point operations, given the operands' shapes and the result's.
    pub fn flops(self, operands: &[Shape], result: &Shape) -> f64 {
        (self.row().flops)(operands, result)
    }
}

impl Op {
    /// The family whose kernels compute it; what moves or fills elements is elementwise code.
    pub fn family(&self) -> Family {
        match self {
            Op::Leaf { .. } | Op::Constant | Op::Iota | Op::Elementwise(_) | Op::Cast | Op::View(_) => {
                Family::Map
            }
            Op::Concat { .. } | Op::UpdateSlice(_) => Family::Map,
            Op::Reduce(..) => Family::Reduce,
            Op::ArgReduce(..) => Family::ArgReduce,
            Op::Scan(_) => Family::Scan,
            Op::Sort { .. } => Family::Sort,
            Op::ArgSort { .. } => Family::ArgSort,
            Op::Matmul => Family::Matmul,
            Op::Softmax { .. } => Family::Softmax,
            Op::RmsNorm { .. } => Family::RmsNorm,
            Op::LayerNorm { .. } => Family::LayerNorm,
            Op::Rope(_) => Family::Rope,
            Op::Attention(_) => Family::Attention,
            Op::Gather { .. } => Family::Gather,
            Op::Scatter { .. } => Family::Scatter,
            Op::WriteAt { .. } => Family::WriteAt,
            Op::QuantMatmul { .. } => Family::QuantMatmul,
            Op::ExpertMatmul { .. } => Family::ExpertMatmul,
            Op::QuantGather { .. } => Family::QuantGather,
            Op::Wkv7 => Family::Wkv7,
            Op::Custom(_) => Family::Custom,
        }
    }
}
