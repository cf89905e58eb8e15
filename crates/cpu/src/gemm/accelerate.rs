//! Products with Apple's Accelerate, which uses matrix units that have no public instructions.
//!
//! With the feature `accelerate` on an Apple target, products whose operands and result are BLAS-compatible matrices
//! go there; all others use the blocked product. The computation of arguments is plain code, tested everywhere.
#![cfg_attr(
    not(all(feature = "accelerate", target_vendor = "apple")),
    allow(dead_code, reason = "only called with the feature on an Apple target")
)]

use super::plan::Shape;
use super::sink::StridedSink;
use super::source::Strided;
use std::ffi::c_int;

/// The transposition flag of an operand of a row-major product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Matrix {
    transposed: bool,
    /// Elements from one row in memory to the next.
    leading: c_int,
}

const ROW_MAJOR: c_int = 101;

impl Matrix {
    /// A matrix of `rows × columns` with these strides, if BLAS can read it: one stride is 1, the other long enough.
    fn of(rows: usize, columns: usize, row_stride: isize, column_stride: isize) -> Option<Matrix> {
        let leading = |stride: isize, length: usize| -> Option<c_int> {
            let long_enough = stride >= length.max(1) as isize;
            if long_enough { c_int::try_from(stride).ok() } else { None }
        };
        // The stride of an axis of one element does not matter.
        if column_stride == 1 || columns == 1 {
            let stride = if rows == 1 { columns as isize } else { row_stride };
            if let Some(leading) = leading(stride, columns) {
                return Some(Matrix { transposed: false, leading });
            }
        }
        if row_stride == 1 || rows == 1 {
            let stride = if columns == 1 { rows as isize } else { column_stride };
            return leading(stride, rows).map(|leading| Matrix { transposed: true, leading });
        }
        None
    }

    fn code(self) -> c_int {
        if self.transposed { 112 } else { 111 }
    }
}

/// A product that BLAS can do.
pub struct BlasProduct<'a, T> {
    shape: Shape,
    a: (Strided<'a, T>, Matrix),
    b: (Strided<'a, T>, Matrix),
    c: (StridedSink<'a, T>, c_int),
}

impl<'a, T> BlasProduct<'a, T> {
    /// The product in BLAS terms, or `None` if an operand, the result or a size does not fit its interface.
    pub fn of(
        shape: Shape,
        a: Strided<'a, T>,
        b: Strided<'a, T>,
        c: StridedSink<'a, T>,
    ) -> Option<BlasProduct<'a, T>> {
        let Shape { m, n, k } = shape;
        if [m, n, k].iter().any(|&d| d == 0 || c_int::try_from(d).is_err()) {
            return None;
        }
        let left = Matrix::of(m, k, a.lane, a.depth)?;
        let right = Matrix::of(k, n, b.depth, b.lane)?;
        let result = Matrix::of(m, n, c.row, c.column).filter(|c| !c.transposed)?;
        Some(BlasProduct { shape, a: (a, left), b: (b, right), c: (c, result.leading) })
    }
}

#[cfg(all(feature = "accelerate", target_vendor = "apple"))]
mod blas {
    use super::{BlasProduct, ROW_MAJOR};
    use std::ffi::c_int;

    macro_rules! product {
        ($t:ty, $function:ident) => {
            #[link(name = "Accelerate", kind = "framework")]
            unsafe extern "C" {
                fn $function(
                    order: c_int,
                    trans_a: c_int,
                    trans_b: c_int,
                    m: c_int,
                    n: c_int,
                    k: c_int,
                    alpha: $t,
                    a: *const $t,
                    lda: c_int,
                    b: *const $t,
                    ldb: c_int,
                    beta: $t,
                    c: *mut $t,
                    ldc: c_int,
                );
            }

            impl BlasProduct<'_, $t> {
                /// Computes the product, with threads of Accelerate's own choosing.
                pub fn run(self) {
                    let [m, n, k] = [self.shape.m, self.shape.n, self.shape.k].map(|d| d as c_int);
                    let ((a, left), (b, right), (c, leading)) = (self.a, self.b, self.c);
                    // SAFETY: operands are readable and the result is writable at every element that the sizes and
                    // leading dimensions reach, by the promises of `Strided` and `StridedSink`.
                    unsafe {
                        $function(
                            ROW_MAJOR,
                            left.code(),
                            right.code(),
                            m,
                            n,
                            k,
                            1.0,
                            a.start,
                            left.leading,
                            b.start,
                            right.leading,
                            0.0,
                            c.start,
                            leading,
                        );
                    }
                }
            }
        };
    }
    product!(f32, cblas_sgemm);
    product!(f64, cblas_dgemm);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_that_blas_can_read() {
        let plain = |leading| Some(Matrix { transposed: false, leading });
        let transposed = |leading| Some(Matrix { transposed: true, leading });
        assert_eq!(Matrix::of(3, 4, 4, 1), plain(4));
        assert_eq!(Matrix::of(3, 4, 9, 1), plain(9));
        assert_eq!(Matrix::of(3, 4, 1, 3), transposed(3));
        assert_eq!(Matrix::of(1, 4, -7, 1), plain(4));
        assert_eq!(Matrix::of(3, 1, 1, -7), plain(1));
        assert_eq!(Matrix::of(1, 4, 1, 9), transposed(9));
        assert_eq!(Matrix::of(3, 1, 5, 0), plain(5));
    }

    #[test]
    fn matrices_that_it_cannot() {
        // Broadcast, reversed, strided in both axes, and a leading dimension beyond its integers.
        assert_eq!(Matrix::of(3, 4, 0, 1), None);
        assert_eq!(Matrix::of(3, 4, -4, 1), None);
        assert_eq!(Matrix::of(3, 4, 8, 2), None);
        assert_eq!(Matrix::of(3, 4, 1 << 40, 1), None);
    }
}
