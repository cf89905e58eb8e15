//! Softmax, log-softmax and log-sum-exp: the maximum, then exponentials of the differences to it.

use super::{LANES, RowIo, join};
use crate::isa::{Isa, Kernel, dispatch};
use crate::math::Elementary;

/// The largest element that is a number; −inf if there is none. NaN comes into the sum of exponentials, and so into all
/// results, whatever is subtracted from it.
#[inline(always)]
fn largest<T: Elementary>(io: &RowIo<T>) -> T {
    let least = T::of(f64::NEG_INFINITY);
    let mut lanes = [least; LANES];
    for start in (0..io.len).step_by(LANES) {
        let x = io.piece(start, least);
        for l in 0..LANES {
            lanes[l] = if x[l] > lanes[l] { x[l] } else { lanes[l] };
        }
    }
    lanes.into_iter().fold(least, |a, b| if b > a { b } else { a })
}

/// `Σ exp(x - shift)`.
#[inline(always)]
fn sum_exp<I: Isa, T: Elementary>(io: &RowIo<T>, shift: T) -> f64 {
    let mut sums = [T::ZERO; LANES];
    for start in (0..io.len).step_by(LANES) {
        let x = io.piece(start, T::of(f64::NEG_INFINITY));
        for l in 0..LANES {
            sums[l] += (x[l] - shift).v_exp::<I>();
        }
    }
    join(&sums)
}

struct Softmax<'a, T>(RowIo<'a, T>);

impl<T: Elementary> Kernel for Softmax<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut io = self.0;
        let shift = largest(&io);
        let mut sums = [T::ZERO; LANES];
        for start in (0..io.len).step_by(LANES) {
            io.fetch_next(start);
            let x = io.piece(start, T::of(f64::NEG_INFINITY));
            let mut out = [T::ZERO; LANES];
            for l in 0..LANES {
                out[l] = (x[l] - shift).v_exp::<I>();
                sums[l] += out[l];
            }
            io.write(start, &out);
        }
        let scale = T::of(1.0 / join(&sums));
        io.reread();
        for start in (0..io.len).step_by(LANES) {
            let mut out = io.piece(start, T::ZERO);
            for v in &mut out {
                *v = *v * scale;
            }
            io.write(start, &out);
        }
    }
}

struct LogSoftmax<'a, T>(RowIo<'a, T>);

impl<T: Elementary> Kernel for LogSoftmax<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut io = self.0;
        let shift = largest(&io);
        let log = T::of(sum_exp::<I, T>(&io, shift).v_ln::<I>());
        for start in (0..io.len).step_by(LANES) {
            let mut out = io.piece(start, T::ZERO);
            for v in &mut out {
                *v = (*v - shift) - log;
            }
            io.write(start, &out);
        }
    }
}

struct LogSumExp<'a, T>(&'a [T]);

impl<T: Elementary> Kernel for LogSumExp<'_, T> {
    type Out = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        let mut nothing = [];
        let io = RowIo { from: self.0.as_ptr(), len: self.0.len(), ..RowIo::in_place(&mut nothing) };
        let largest = largest(&io);
        // An infinite maximum cannot be subtracted; without it the exponentials are right as they are.
        let shift = if largest.to_f64().is_finite() { largest } else { T::ZERO };
        T::of(shift.to_f64() + sum_exp::<I, T>(&io, shift).v_ln::<I>())
    }
}

/// `y = exp(x) / Σ exp(x)`.
pub fn softmax<T: Elementary>(row: RowIo<T>) {
    dispatch(Softmax(row));
}

/// `y = x - ln Σ exp(x)`.
pub fn log_softmax<T: Elementary>(row: RowIo<T>) {
    dispatch(LogSoftmax(row));
}

/// `ln Σ exp(x)`.
pub fn logsumexp<T: Elementary>(row: &[T]) -> T {
    dispatch(LogSumExp(row))
}
