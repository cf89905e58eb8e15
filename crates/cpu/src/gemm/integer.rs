//! Integer products: exact modulo 2^bits, without packing. Kept simple, because no measured workload depends on it.

use super::plan::Shape;
use super::sink::{Sink, StridedSink};
use super::source::Strided;
use crate::team::Worker;

/// Integers whose sums and products wrap around.
pub trait Wrapping: Copy + Send + Sync + Default {
    /// `a * b + c` modulo 2^bits.
    fn wrapping_mul_add(a: Self, b: Self, c: Self) -> Self;
}
macro_rules! wrapping {
    ($($t:ty)*) => {$(
        impl Wrapping for $t {
            #[inline(always)]
            fn wrapping_mul_add(a: Self, b: Self, c: Self) -> Self {
                a.wrapping_mul(b).wrapping_add(c)
            }
        }
    )*};
}
wrapping!(i32 u32 i64 u64);

/// Columns whose sums are held at a time.
const COLUMNS: usize = 64;

/// This worker's rows (or columns, of a single row) of an integer product; as with [`super::Gemm::run`], a barrier
/// must follow before the result is read.
pub fn gemm_integer<T: Wrapping>(
    worker: &Worker,
    shape: Shape,
    a: Strided<T>,
    b: Strided<T>,
    c: StridedSink<T>,
) {
    let Shape { m, n, k } = shape;
    let fits = a.holds(m, k) && b.holds(n, k) && c.has_room(m, n);
    assert!(fits || m * n == 0, "the operands or the result are smaller than the product");
    let by_rows = m >= worker.count();
    let rows = if by_rows { worker.split(m, 1) } else { 0..m };
    let columns = if by_rows { 0..n } else { worker.split(n, COLUMNS) };
    for row in rows {
        for start in columns.clone().step_by(COLUMNS) {
            crate::stop::check();
            let width = COLUMNS.min(columns.end - start);
            let mut sums = [T::default(); COLUMNS];
            for d in 0..k {
                // SAFETY: the left operand was checked to hold every element of the product's.
                let x = unsafe { *a.start.offset(row as isize * a.lane + d as isize * a.depth) };
                let from = b.start.wrapping_offset(start as isize * b.lane + d as isize * b.depth);
                for (j, sum) in sums[..width].iter_mut().enumerate() {
                    // SAFETY: the column is inside the right operand, which was checked to hold the product's.
                    *sum = T::wrapping_mul_add(x, unsafe { *from.offset(j as isize * b.lane) }, *sum);
                }
            }
            c.store(row, start, &sums[..width]);
        }
    }
}
