//! Reductions over the elements of every dtype: of all ranks' parts at once, and pairwise for MPI.
//!
//! The semantics are NumPy's: integers wrap, max and min propagate NaN, and for booleans sum and max are "or", min is
//! "and". f16 and bf16 are summed in f32; MPI, which combines pairwise, rounds in between.

use crate::calls::UserFunction;
use half::{bf16, f16};
use std::ffi::{c_int, c_void};
use wootz_ir::DType;

/// How the elements of ranks are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Their sum.
    Sum,
    /// The largest; NaN where there is one.
    Max,
    /// The smallest; NaN where there is one.
    Min,
}

impl ReduceOp {
    /// Every reduction.
    pub const ALL: [ReduceOp; 3] = [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
        }
    }
}

/// Elements that can be combined.
trait Number: Copy {
    fn sum(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn sum(self, other: $t) -> $t { self.wrapping_add(other) }
            fn max(self, other: $t) -> $t { Ord::max(self, other) }
            fn min(self, other: $t) -> $t { Ord::min(self, other) }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn sum(self, other: $t) -> $t { self + other }
            fn max(self, other: $t) -> $t { if self > other || self.is_nan() { self } else { other } }
            fn min(self, other: $t) -> $t { if self < other || self.is_nan() { self } else { other } }
        }
    )*};
}

integers!(u8 u16 u32 u64 i8 i16 i32 i64);
floats!(f32 f64);

/// A half, which is widened for arithmetic.
trait Half: Copy + bytemuck::Pod {
    fn wide(self) -> f32;
    fn narrow(wide: f32) -> Self;
}

impl Half for f16 {
    fn wide(self) -> f32 {
        self.to_f32()
    }
    fn narrow(wide: f32) -> f16 {
        f16::from_f32(wide)
    }
}

impl Half for bf16 {
    fn wide(self) -> f32 {
        self.to_f32()
    }
    fn narrow(wide: f32) -> bf16 {
        bf16::from_f32(wide)
    }
}

fn fold<T: Number>(op: ReduceOp, into: &mut [T], from: &[T]) {
    let pairs = into.iter_mut().zip(from);
    match op {
        ReduceOp::Sum => pairs.for_each(|(to, x)| *to = to.sum(*x)),
        ReduceOp::Max => pairs.for_each(|(to, x)| *to = to.max(*x)),
        ReduceOp::Min => pairs.for_each(|(to, x)| *to = to.min(*x)),
    }
}

/// A bool is a byte that is 0 or 1, so that "or" is the larger and "and" the smaller.
fn of_bools(op: ReduceOp) -> ReduceOp {
    match op {
        ReduceOp::Sum | ReduceOp::Max => ReduceOp::Max,
        ReduceOp::Min => ReduceOp::Min,
    }
}

fn all<T: Number + bytemuck::Pod>(op: ReduceOp, parts: &[&[u8]], into: &mut [u8]) {
    let into: &mut [T] = bytemuck::cast_slice_mut(into);
    for (i, part) in parts.iter().enumerate() {
        let part: &[T] = bytemuck::cast_slice(part);
        if i == 0 { into.copy_from_slice(part) } else { fold(op, into, part) }
    }
}

fn all_halves<T: Half>(op: ReduceOp, parts: &[&[u8]], into: &mut [u8]) {
    let into: &mut [T] = bytemuck::cast_slice_mut(into);
    let parts: Vec<&[T]> = parts.iter().map(|part| bytemuck::cast_slice(part)).collect();
    for (i, to) in into.iter_mut().enumerate() {
        let mut sum = parts[0][i].wide();
        for part in &parts[1..] {
            fold(op, std::slice::from_mut(&mut sum), &[part[i].wide()]);
        }
        *to = T::narrow(sum);
    }
}

/// The combination of all ranks' parts, in their order.
pub fn combine(op: ReduceOp, dtype: DType, parts: &[&[u8]], into: &mut [u8]) {
    match dtype {
        DType::Bool => all::<u8>(of_bools(op), parts, into),
        DType::U8 => all::<u8>(op, parts, into),
        DType::U16 => all::<u16>(op, parts, into),
        DType::U32 => all::<u32>(op, parts, into),
        DType::U64 => all::<u64>(op, parts, into),
        DType::I8 => all::<i8>(op, parts, into),
        DType::I16 => all::<i16>(op, parts, into),
        DType::I32 => all::<i32>(op, parts, into),
        DType::I64 => all::<i64>(op, parts, into),
        DType::F16 => all_halves::<f16>(op, parts, into),
        DType::BF16 => all_halves::<bf16>(op, parts, into),
        DType::F32 => all::<f32>(op, parts, into),
        DType::F64 => all::<f64>(op, parts, into),
    }
}

/// A function that MPI calls.
pub type Combine = UserFunction;

/// The function for a reduction that libraries lack, or define otherwise: halves, booleans, NaN.
pub fn own(op: ReduceOp, dtype: DType) -> Option<Combine> {
    Some(match (dtype, op) {
        (DType::Bool, ReduceOp::Sum | ReduceOp::Max) => pairs::<u8, MAX>,
        (DType::Bool, ReduceOp::Min) => pairs::<u8, MIN>,
        (DType::F16, ReduceOp::Sum) => half_pairs::<f16, SUM>,
        (DType::F16, ReduceOp::Max) => half_pairs::<f16, MAX>,
        (DType::F16, ReduceOp::Min) => half_pairs::<f16, MIN>,
        (DType::BF16, ReduceOp::Sum) => half_pairs::<bf16, SUM>,
        (DType::BF16, ReduceOp::Max) => half_pairs::<bf16, MAX>,
        (DType::BF16, ReduceOp::Min) => half_pairs::<bf16, MIN>,
        (DType::F32, ReduceOp::Max) => pairs::<f32, MAX>,
        (DType::F32, ReduceOp::Min) => pairs::<f32, MIN>,
        (DType::F64, ReduceOp::Max) => pairs::<f64, MAX>,
        (DType::F64, ReduceOp::Min) => pairs::<f64, MIN>,
        (DType::F32 | DType::F64, ReduceOp::Sum) => return None,
        (DType::U8 | DType::U16 | DType::U32 | DType::U64, _) => return None,
        (DType::I8 | DType::I16 | DType::I32 | DType::I64, _) => return None,
    })
}

const SUM: u8 = 0;
const MAX: u8 = 1;
const MIN: u8 = 2;

fn op_of(code: u8) -> ReduceOp {
    match code {
        SUM => ReduceOp::Sum,
        MAX => ReduceOp::Max,
        _ => ReduceOp::Min,
    }
}

/// Both vectors of a call by MPI.
///
/// # Safety
/// As MPI calls a user's function: `len` elements of `T` at both, which do not overlap.
unsafe fn vectors<'a, T>(from: *mut c_void, into: *mut c_void, len: *mut c_int) -> (&'a [T], &'a mut [T]) {
    // SAFETY: the caller's promise.
    unsafe {
        let len = usize::try_from(*len).unwrap_or(0);
        (std::slice::from_raw_parts(from.cast(), len), std::slice::from_raw_parts_mut(into.cast(), len))
    }
}

/// A reduction of numbers, as MPI calls it.
///
/// # Safety
/// Both pointers are to `len` elements of `T`, which do not overlap.
unsafe extern "C" fn pairs<T: Number, const OP: u8>(
    from: *mut c_void,
    into: *mut c_void,
    len: *mut c_int,
    _element: *mut c_void,
) {
    // SAFETY: MPI calls it with vectors of the element that the reduction was started with.
    let (from, into) = unsafe { vectors::<T>(from, into, len) };
    fold(op_of(OP), into, from);
}

/// A reduction of half-precision numbers, each step rounded once, as MPI calls it.
///
/// # Safety
/// Both pointers are to `len` elements of `T`, which do not overlap.
unsafe extern "C" fn half_pairs<T: Half, const OP: u8>(
    from: *mut c_void,
    into: *mut c_void,
    len: *mut c_int,
    _element: *mut c_void,
) {
    // SAFETY: MPI calls it with vectors of the element that the reduction was started with.
    let (from, into) = unsafe { vectors::<T>(from, into, len) };
    for (to, x) in into.iter_mut().zip(from) {
        let mut wide = to.wide();
        fold(op_of(OP), std::slice::from_mut(&mut wide), &[x.wide()]);
        *to = T::narrow(wide);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_added_in_single_precision() {
        let part: Vec<f16> = [2048.0, 1.0].map(f16::from_f32).to_vec();
        let one: Vec<f16> = [1.0, f32::NAN].map(f16::from_f32).to_vec();
        let (part, one): (&[u8], &[u8]) = (bytemuck::cast_slice(&part), bytemuck::cast_slice(&one));
        let mut sum = [f16::ZERO; 2];
        combine(ReduceOp::Sum, DType::F16, &[part, one, one], bytemuck::cast_slice_mut(&mut sum));
        assert_eq!(sum[0].to_f32(), 2050.0, "2048 + 1 alone is 2048 in half precision");
        combine(ReduceOp::Max, DType::F16, &[part, one], bytemuck::cast_slice_mut(&mut sum));
        assert!(sum[0].to_f32() == 2048.0 && sum[1].is_nan());
    }

    #[test]
    fn integers_wrap_and_booleans_are_logic() {
        let mut sum = [0u8];
        combine(ReduceOp::Sum, DType::U8, &[&[200], &[100]], &mut sum);
        assert_eq!(sum, [44]);
        let mut all = [9u8; 3];
        combine(ReduceOp::Sum, DType::Bool, &[&[1, 0, 1], &[1, 0, 0]], &mut all);
        assert_eq!(all, [1, 0, 1]);
        combine(ReduceOp::Min, DType::Bool, &[&[1, 0, 1], &[1, 0, 0]], &mut all);
        assert_eq!(all, [1, 0, 0]);
    }
}
