//! The ops of the lazy graph, and the table of the kernel families that compute them.

pub use crate::spec::{
    Activations, ArgOp, AttentionSpec, Axes, Bits, ReduceOp, RopeStyle, ScanOp, ScatterMode,
};

use crate::custom::CustomKernel;
use crate::dtype::{Number, ScalarType};
use crate::elementwise::ElementwiseOp;
use crate::error::Result;
use crate::graph::GraphNode;
use crate::layout::{Layout, Span, View};
use crate::reference::{self, HostTensor};
use crate::shape::Shape;
use smallvec::SmallVec;
use std::sync::Arc;
use wootz_blocks::BlockFormat;

/// The op of a node. Operands have already been cast and broadcast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A tensor with a value, in a buffer with this layout; a donated one may be overwritten.
    Leaf {
        /// The layout of its elements.
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
    /// A cast to the node's dtype.
    Cast,
    /// A movement op.
    View(View),
    /// A reduction; the reduced axes are dropped.
    Reduce(ReduceOp, Axes),
    /// The position of the minimum or maximum along an axis, as i64; the axis is dropped.
    ArgReduce(ArgOp, u8),
    /// A cumulative reduction along the last axis.
    Scan(ScanOp),
    /// The first `limit` elements of each row (last axis), sorted stably; NaN sorts last.
    Sort {
        /// Descending order.
        descending: bool,
        /// Number of elements to keep.
        limit: usize,
    },
    /// The positions, as i64, of the elements of [`Op::Sort`].
    ArgSort {
        /// Descending order.
        descending: bool,
        /// Number of elements to keep.
        limit: usize,
    },
    /// `[…, m, k] · […, k, n]`.
    Matmul,
    /// Softmax along the last axis.
    Softmax {
        /// Log-softmax instead.
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
    /// Rotary embedding of `x [… , d]` by `positions […]` (i32) and `frequencies [r/2]` (f32); elements beyond `r`
    /// are unchanged.
    Rope(RopeStyle),
    /// Scaled-dot-product attention of q `[b, h, t, d]`, k `[b, g, s, d]`, v `[b, g, s, e]`; `g` divides `h`.
    Attention(AttentionSpec),
    /// Where each value would be inserted into a sorted vector, as i64; NaN sorts last.
    SearchSorted {
        /// Behind equal elements, not before them.
        right: bool,
    },
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
    /// Operands joined along an axis.
    Concat {
        /// The axis.
        axis: u8,
    },
    /// A copy of the first operand with a slice replaced by the second.
    UpdateSlice(SmallVec<[Span; 4]>),
    /// The first operand with the second written along an axis from row `start` on (third operand, i32, one element);
    /// in place if the first is a donated leaf.
    WriteAt {
        /// The axis.
        axis: u8,
    },
    /// `x […, k] · Wᵀ` with `W [n, k]` given as the bytes of quantised rows.
    QuantMatmul {
        /// Format of the rows.
        format: BlockFormat,
        /// Precision of the activations.
        activations: Activations,
    },
    /// `out[r, j] = W[experts[r, j]] · x[r]` for rows `x [r, k]`, chosen matrices `experts [r, j]` of a stack `W [e,
    /// n, k]`, which is given as the bytes of quantised rows. Negative choices count from the end.
    ExpertMatmul {
        /// Format of the rows.
        format: BlockFormat,
        /// Precision of the activations.
        activations: Activations,
    },
    /// Rows of a quantised matrix by index, as floats.
    QuantGather {
        /// Format of the rows.
        format: BlockFormat,
    },
    /// RWKV-7's recurrence over r, w, k, a, b `[t, h, d]`, v `[t, h, n]` and a state `[h, n, d]`; the result is the
    /// outputs and then the new state, flat.
    Wkv7,
    /// A user-defined kernel over row-major operands.
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
            Op::SearchSorted { .. } => "search_sorted",
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

/// What the planner does with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read where it is needed: a value in memory, a constant, or a position.
    Source,
    /// Moves elements: part of how its readers address theirs.
    View,
    /// Elementwise code, which can be fused into other kernels.
    Code,
    /// Needs a kernel or a copy of its own.
    Kernel,
}

/// How a kernel reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Element by element, so that elementwise code can be fused into it.
    Fused,
    /// At arbitrary positions: the operand is in memory.
    Plain,
}

/// A row of the table of kernel families: properties that hold on every device.
struct Row {
    name: &'static str,
    /// How each operand of the op is read; the last entry applies to all further ones.
    operands: &'static [Reads],
    /// Whether an elementwise epilogue can be fused. Kernels that write into an existing buffer cannot take one.
    epilogue: bool,
    /// Whether the kernel itself can detect a fault in the data.
    faults: bool,
    /// Floating-point operations, given the shapes of the operands and the result; a multiply-add counts as two.
    /// Kernels with only a few per element are memory-bound and count as none.
    flops: fn(&[Shape], &Shape) -> f64,
    /// The definition of the family's ops, from the file of [`reference`] that the row names.
    reference: Reference,
}

/// Evaluates a node from the values of its operands.
type Reference = fn(&GraphNode, &[&HostTensor]) -> Result<HostTensor>;

/// Generates [`Family`] from the table.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident $name:literal [$($reads:ident),*] $epilogue:ident $faults:ident $area:ident $flops:expr;)*) => {
        /// A kernel family: ops that share a set of kernels per device.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Family {
            $($(#[$doc])* $family,)*
        }

        impl Family {
            /// All families.
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
                            reference: reference::$area::evaluate,
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

/// Negligible flops.
const FEW: fn(&[Shape], &Shape) -> f64 = |_, _| 0.0;
/// A multiply-add per element of the result and of the rows of the first operand.
const PRODUCT: fn(&[Shape], &Shape) -> f64 =
    |x, out| 2.0 * out.count() as f64 * x[0].last().copied().unwrap_or(0) as f64;

families! {
    /// Elementwise steps.
    Map "map" [Fused] epilogue safe map FEW;
    /// Reductions over axes.
    Reduce "reduce" [Fused] epilogue safe row FEW;
    /// Arg-reductions.
    ArgReduce "arg_reduce" [Fused] epilogue safe row FEW;
    /// Cumulative reductions.
    Scan "scan" [Fused] epilogue safe row FEW;
    /// Sorting of rows.
    Sort "sort" [Fused] epilogue safe row FEW;
    /// Argsort of rows.
    ArgSort "argsort" [Fused] epilogue safe row FEW;
    /// Softmax of rows.
    Softmax "softmax" [Fused] epilogue safe row FEW;
    /// RMS norm of rows.
    RmsNorm "rms_norm" [Fused] epilogue safe row FEW;
    /// Layer norm of rows.
    LayerNorm "layer_norm" [Fused] epilogue safe row FEW;
    /// Rotary embedding.
    Rope "rope" [Fused] epilogue safe row FEW;
    /// Matrix products.
    Matmul "matmul" [Fused] epilogue safe linear PRODUCT;
    /// Scaled-dot-product attention.
    Attention "attention" [Plain] epilogue safe linear |x, out| 4.0 * out.count() as f64 * x[1][2] as f64;
    /// Binary search.
    SearchSorted "search_sorted" [Plain, Fused] epilogue safe index FEW;
    /// Gather.
    Gather "gather" [Plain, Fused] epilogue faults index FEW;
    /// Scatter.
    Scatter "scatter" [Fused] last faults index FEW;
    /// Rows written at a position.
    WriteAt "write_at" [Plain, Fused, Plain] last faults index FEW;
    /// Products with quantised matrices.
    QuantMatmul "quant_matmul" [Fused, Plain] epilogue safe linear PRODUCT;
    /// Products of each row with the quantised matrices chosen for it.
    ExpertMatmul "expert_matmul" [Fused, Plain, Fused] epilogue faults linear PRODUCT;
    /// Gather of quantised rows.
    QuantGather "quant_gather" [Plain, Fused] epilogue faults linear FEW;
    /// RWKV-7's recurrence: two products of the state with a vector, and its update, in each step.
    Wkv7 "wkv7" [Plain] last safe linear |x, _| 7.0 * x[6].count() as f64 * x[0][0] as f64;
    /// A user-defined kernel.
    Custom "custom" [Plain] last safe custom FEW;
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

    /// Whether an elementwise epilogue can be fused.
    pub fn takes_epilogue(self) -> bool {
        self.row().epilogue
    }

    /// Whether the kernel itself can end in a fault.
    pub fn can_fault(self) -> bool {
        self.row().faults
    }

    /// The definition of the family's ops: evaluates a node from the values of its operands.
    pub fn reference(self) -> Reference {
        self.row().reference
    }

    /// Floating-point operations, given the shapes of the operands and the result.
    pub fn flops(self, operands: &[Shape], result: &Shape) -> f64 {
        (self.row().flops)(operands, result)
    }
}

impl Op {
    /// What the planner does with a node of this op.
    pub fn role(&self) -> Role {
        match self {
            Op::Leaf { .. } | Op::Constant | Op::Iota => Role::Source,
            Op::View(_) => Role::View,
            Op::Elementwise(_) | Op::Cast => Role::Code,
            Op::Concat { .. } | Op::UpdateSlice(_) => Role::Kernel,
            other => {
                debug_assert!(other.family() != Family::Map, "{} has no kernel", other.name());
                Role::Kernel
            }
        }
    }

    /// The value of a result that has elements although its first operand has none; `None` if that cannot be, or if
    /// the family's kernels handle it.
    pub fn of_nothing(&self, compute: ScalarType) -> Option<Number> {
        match self.family() {
            Family::Reduce => {
                let Op::Reduce(op, _) = self else { unreachable!("the family has one op") };
                Some(op.identity(compute))
            }
            // Sums of no products, and the only place in an empty vector.
            Family::Matmul | Family::QuantMatmul | Family::SearchSorted => Some(Number::Int(0)),
            // A row without elements has no result, and an index into nothing is a fault.
            Family::Map
            | Family::ArgReduce
            | Family::Scan
            | Family::Sort
            | Family::ArgSort
            | Family::Softmax
            | Family::RmsNorm
            | Family::LayerNorm
            | Family::Rope
            | Family::Gather
            | Family::ExpertMatmul
            | Family::QuantGather => None,
            // These copy what they do not compute, or define the case themselves.
            Family::Attention | Family::Scatter | Family::WriteAt | Family::Wkv7 | Family::Custom => None,
        }
    }

    /// The family whose kernels compute the op; moving and filling elements is elementwise code.
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
            Op::SearchSorted { .. } => Family::SearchSorted,
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
