//! Cumulative sums and products.
//!
//! Along a row each result depends on the previous one, in order (as in NumPy, so with NumPy's rounding); across rows
//! ([`scan_next_row`]) the elements are independent and vectorise.

use crate::isa::{Isa, Kernel, dispatch};
use crate::reduce::{Number, Reducer};
use std::marker::PhantomData;

/// `y[i] = x[0] ∘ … ∘ x[i]`.
///
/// # Panics
/// If the lengths differ.
pub fn scan<R: Reducer<T>, T: Number>(x: &[T], y: &mut [T]) {
    assert_eq!(x.len(), y.len());
    let mut running = None;
    for (y, &x) in y.iter_mut().zip(x) {
        let next = running.map_or(x, |r| R::combine(r, x));
        *y = next;
        running = Some(next);
    }
}

/// One step of a scan across rows: `y[j] = before[j] ∘ x[j]`, where `before` is the last row of results.
///
/// # Panics
/// If the lengths differ.
pub fn scan_next_row<R: Reducer<T>, T: Number>(before: &[T], x: &[T], y: &mut [T]) {
    assert!(before.len() == y.len() && x.len() == y.len());
    dispatch(NextRow::<R, T> { before, x, y, op: PhantomData });
}

struct NextRow<'a, R, T> {
    before: &'a [T],
    x: &'a [T],
    y: &'a mut [T],
    op: PhantomData<R>,
}

impl<R: Reducer<T>, T: Number> Kernel for NextRow<'_, R, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for ((y, &b), &x) in self.y.iter_mut().zip(self.before).zip(self.x) {
            *y = R::combine(b, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduce::{Prod, Sum};

    #[test]
    fn along_and_across() {
        let x: Vec<i32> = (1..100).map(|i| i * 0x0123_4567 % 1000).collect();
        let (mut sums, mut products) = (vec![0; 99], vec![0; 99]);
        scan::<Sum, i32>(&x, &mut sums);
        scan::<Prod, i32>(&x, &mut products);
        for i in 0..99 {
            assert_eq!(sums[i], x[..=i].iter().sum::<i32>());
            assert_eq!(products[i], x[..=i].iter().fold(1i32, |a, &b| a.wrapping_mul(b)));
        }
        let mut next = vec![0; 99];
        scan_next_row::<Sum, i32>(&sums, &x, &mut next);
        assert!((0..99).all(|i| next[i] == sums[i].wrapping_add(x[i])));
        scan::<Sum, f32>(&[], &mut []);
        let mut with_nan = [0.0; 4];
        scan::<Sum, f64>(&[1.0, -0.0, f64::NAN, 2.0], &mut with_nan);
        assert!(with_nan[1] == 1.0 && with_nan[2].is_nan() && with_nan[3].is_nan());
    }
}
