//! Parameters of ops other than their operands.

use crate::dtype::{Number, ScalarType};
use crate::scalar::BinaryFn;

/// A float that is part of an op's structure, compared by its bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bits(u64);

impl Bits {
    /// The value.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl From<f64> for Bits {
    fn from(v: f64) -> Bits {
        Bits(v.to_bits())
    }
}

impl std::fmt::Debug for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// A set of axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Axes(u32);

impl Axes {
    /// The set with one more axis.
    #[must_use]
    pub fn with(self, axis: usize) -> Axes {
        Axes(self.0 | 1 << axis)
    }

    /// Whether the set contains the axis.
    pub fn contains(self, axis: usize) -> bool {
        self.0 >> axis & 1 == 1
    }

    /// The axes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..32).filter(move |&axis| self.contains(axis))
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<usize> for Axes {
    fn from_iter<I: IntoIterator<Item = usize>>(iter: I) -> Axes {
        iter.into_iter().fold(Axes::default(), Axes::with)
    }
}

/// How a reduction combines elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Sum; integers accumulate in 64 bits.
    Sum,
    /// Product; integers accumulate in 64 bits.
    Prod,
    /// Minimum; NaN if any element is.
    Min,
    /// Maximum; NaN if any element is.
    Max,
    /// Whether any is true.
    Any,
    /// Whether all are true.
    All,
}

impl ReduceOp {
    /// All reductions.
    pub const ALL: [ReduceOp; 6] =
        [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max, ReduceOp::Any, ReduceOp::All];

    /// The op's name.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::Any => "any",
            ReduceOp::All => "all",
        }
    }

    /// The combination of two elements.
    pub fn function(self) -> BinaryFn {
        match self {
            ReduceOp::Sum => BinaryFn::Add,
            ReduceOp::Prod => BinaryFn::Mul,
            ReduceOp::Min => BinaryFn::Min,
            ReduceOp::Max => BinaryFn::Max,
            ReduceOp::Any => BinaryFn::Or,
            ReduceOp::All => BinaryFn::And,
        }
    }

    /// The identity element for a type.
    pub fn identity(self, t: ScalarType) -> Number {
        let range = t.dtype().integer_range();
        match (self, range) {
            (ReduceOp::Sum | ReduceOp::Any, _) => Number::Int(0).cast(t.dtype()),
            (ReduceOp::Prod | ReduceOp::All, _) => Number::Int(1).cast(t.dtype()),
            (ReduceOp::Min | ReduceOp::Max, _) if t == ScalarType::Bool => {
                Number::Bool(self == ReduceOp::Min)
            }
            (ReduceOp::Min, Some((_, high))) => integer(high),
            (ReduceOp::Max, Some((low, _))) => integer(low),
            (ReduceOp::Min, None) => Number::Float(f64::INFINITY),
            (ReduceOp::Max, None) => Number::Float(f64::NEG_INFINITY),
        }
    }
}

/// A bound of an integer type.
fn integer(value: i128) -> Number {
    i64::try_from(value).map_or(Number::Uint(value as u64), Number::Int)
}

/// The extreme of an arg-reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgOp {
    /// The position of the first minimum (or the first NaN).
    Min,
    /// The position of the first maximum (or the first NaN).
    Max,
}

/// How a scan combines elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanOp {
    /// Cumulative sum.
    Sum,
    /// Cumulative product.
    Prod,
}

impl ScanOp {
    /// The reduction that each element of the result is, over the elements up to it.
    pub fn reduction(self) -> ReduceOp {
        match self {
            ScanOp::Sum => ReduceOp::Sum,
            ScanOp::Prod => ReduceOp::Prod,
        }
    }
}

/// How scattered values are combined with existing elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScatterMode {
    /// The value replaces the element; among equal indices the last one wins on the CPU, any of them on a GPU.
    Set,
    /// The value is added to the element.
    Add,
}

/// How a rotary embedding pairs elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RopeStyle {
    /// Element `i` with element `i + d/2` (NeoX, HF Llama).
    Half,
    /// Element `2i` with element `2i + 1` (GPT-J, the original paper).
    Interleaved,
}

/// Options of scaled-dot-product attention beyond `softmax(q·kᵀ·scale)·v`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionSpec {
    /// Factor on the scores.
    pub scale: Bits,
    /// A fourth operand is added to the scores.
    pub mask: bool,
    /// The next operand has attention sinks: a score per head that takes part in the softmax but contributes nothing.
    pub sinks: bool,
    /// A last operand (i32, one element) is the position of the first query; query `t` sees key `s` when
    /// `s ≤ position + t`.
    pub causal: bool,
    /// With `causal`: only the last `n` visible keys.
    pub window: Option<usize>,
    /// Scores become `cap·tanh(score/cap)` before masking.
    pub softcap: Option<Bits>,
}

/// Precision of float activations that are multiplied by quantised weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activations {
    /// A device may round them to 8 bits with a scale per 32 values. CPUs do, which doubles their speed.
    #[default]
    Rounded,
    /// They keep at least 16 bits: devices give the same results up to the order of summation.
    Precise,
}
