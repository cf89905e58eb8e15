//! Integer division of blocks. Processors have vector division for floats, but not for integers.

use super::loops::Checked;
use crate::isa::{Isa, Kernel, dispatch};

/// `d[i] = ⌊a[i] / b[i]⌋`; a divisor of zero is a fault.
pub fn floor_div_i32(a: &[i32], b: &[i32], d: &mut [i32]) {
    match divisor(b) {
        Some(by) => dispatch(ByOne { a, by, d, finish: |_, _, quotient| quotient }),
        None => a.iter().zip(b).zip(d).for_each(|((&x, &y), d)| *d = x.floor_div(y)),
    }
}

/// `d[i] = a[i] − b[i]·⌊a[i] / b[i]⌋`; a divisor of zero is a fault.
pub fn floor_rem_i32(a: &[i32], b: &[i32], d: &mut [i32]) {
    match divisor(b) {
        Some(by) => {
            let finish = |x: i32, y: i32, quotient: i32| x.wrapping_sub(quotient.wrapping_mul(y));
            dispatch(ByOne { a, by, d, finish })
        }
        None => a.iter().zip(b).zip(d).for_each(|((&x, &y), d)| *d = x.floor_rem(y)),
    }
}

/// The one divisor of a block, if all are the same and nothing special.
fn divisor(b: &[i32]) -> Option<i32> {
    let first = *b.first()?;
    (first > 0 && dispatch(AllEqual { values: b, to: first })).then_some(first)
}

/// Whether all values are equal to one.
struct AllEqual<'a> {
    values: &'a [i32],
    to: i32,
}

impl Kernel for AllEqual<'_> {
    type Out = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        self.values.iter().fold(true, |all, &value| all & (value == self.to))
    }
}

struct ByOne<'a, F> {
    a: &'a [i32],
    by: i32,
    d: &'a mut [i32],
    finish: F,
}

impl<F: Fn(i32, i32, i32) -> i32> Kernel for ByOne<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        // A quotient is an integer, or at least 1/by below the next one. Half of that is added, so that neither is nearer than
        // ½/by to an integer above it; the product is off by less than 2⁻²⁰/by, because a quotient is at most 2³¹/by. So the
        // floor of the double is the floor of the quotient, without a division for each.
        let inverse = 1.0 / f64::from(self.by);
        for (d, &x) in self.d.iter_mut().zip(self.a) {
            let floor = I::mul_add(f64::from(x), inverse, 0.5 * inverse).floor();
            // SAFETY: the divisor is at least 1, so the quotient is no larger than x.
            let quotient = unsafe { floor.to_int_unchecked::<i32>() };
            *d = (self.finish)(x, self.by, quotient);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_integers() {
        let edges =
            [i32::MIN, i32::MIN + 1, -1000, -8, -7, -6, -1, 0, 1, 6, 7, 8, 1000, i32::MAX - 1, i32::MAX];
        for by in [1, 2, 3, 7, 49, 1000, 65535, 65537, 1 << 30, i32::MAX - 1, i32::MAX, -7, -1] {
            let b = [by; 15];
            let (mut quotients, mut rests) = ([0; 15], [0; 15]);
            floor_div_i32(&edges, &b, &mut quotients);
            floor_rem_i32(&edges, &b, &mut rests);
            for ((&x, &quotient), &rest) in edges.iter().zip(&quotients).zip(&rests) {
                let wide = i64::from(x).div_euclid(i64::from(by));
                let floor = if by < 0 && i64::from(x) % i64::from(by) != 0 { wide - 1 } else { wide };
                assert_eq!(quotient, floor as i32, "{x} / {by}");
                assert_eq!(rest, x.wrapping_sub(quotient.wrapping_mul(by)), "{x} % {by}");
            }
        }
    }
}
