//! Square blocks transposed in registers, for packing and copying across the grain of memory.

use super::{Isa, Level};

/// The side of a block that [`transpose_block`] handles for elements of `size` bytes under `I`; 1 where a plain
/// loop is as good.
#[inline(always)]
pub fn transpose_side<I: Isa>(size: usize) -> usize {
    match (I::LEVEL, size) {
        (Level::Avx2 | Level::Avx512, 4) => 8,
        (Level::Avx2 | Level::Avx512, 8) => 4,
        _ => 1,
    }
}

/// Reads a square block whose rows start at `from + r * from_stride` and writes its columns, in order, as rows at
/// `to + c * to_stride` (strides in elements; elements of 4 or 8 bytes). Of the source only the first `rows` rows
/// exist; the last of them stands in for the others.
///
/// # Safety
/// Reads must be valid for `transpose_side` elements in each of `rows` rows (at least 1), writes for as many in each
/// of `transpose_side` rows; the processor must have the instruction set `I`.
#[inline(always)]
pub unsafe fn transpose_block<I: Isa, T: Copy>(
    from: *const T,
    from_stride: isize,
    rows: usize,
    to: *mut T,
    to_stride: isize,
) {
    let last = rows as isize - 1;
    // SAFETY: the caller promises valid reads and writes; the register forms run only where `I` has them.
    unsafe {
        match transpose_side::<I>(size_of::<T>()) {
            #[cfg(target_arch = "x86_64")]
            8 => x86::transpose_8x8(from.cast(), from_stride, last, to.cast(), to_stride),
            #[cfg(target_arch = "x86_64")]
            4 => x86::transpose_4x4(from.cast(), from_stride, last, to.cast(), to_stride),
            side => {
                for r in 0..side as isize {
                    for c in 0..side as isize {
                        *to.offset(c * to_stride + r) = *from.offset(r.min(last) * from_stride + c);
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// # Safety
    /// AVX, and valid pointers; see `transpose_block`.
    #[inline(always)]
    pub unsafe fn transpose_8x8(
        from: *const f32,
        from_stride: isize,
        last: isize,
        to: *mut f32,
        to_stride: isize,
    ) {
        // SAFETY: promised by the caller.
        unsafe {
            // The halves of rows r and r + 4 share a register, so that no lane has to cross later.
            macro_rules! row {
                ($r:literal, $half:literal) => {{
                    let low = _mm_loadu_ps(from.offset(last.min($r) * from_stride + $half));
                    let high = _mm_loadu_ps(from.offset(last.min($r + 4) * from_stride + $half));
                    _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
                }};
            }
            macro_rules! half {
                ($half:literal) => {{
                    let (r0, r1, r2, r3) = (row!(0, $half), row!(1, $half), row!(2, $half), row!(3, $half));
                    let (a, b) = (_mm256_unpacklo_ps(r0, r1), _mm256_unpackhi_ps(r0, r1));
                    let (c, d) = (_mm256_unpacklo_ps(r2, r3), _mm256_unpackhi_ps(r2, r3));
                    _mm256_storeu_ps(to.offset($half * to_stride), _mm256_shuffle_ps::<0x44>(a, c));
                    _mm256_storeu_ps(to.offset(($half + 1) * to_stride), _mm256_shuffle_ps::<0xee>(a, c));
                    _mm256_storeu_ps(to.offset(($half + 2) * to_stride), _mm256_shuffle_ps::<0x44>(b, d));
                    _mm256_storeu_ps(to.offset(($half + 3) * to_stride), _mm256_shuffle_ps::<0xee>(b, d));
                }};
            }
            half!(0);
            half!(4);
        }
    }

    /// # Safety
    /// AVX, and valid pointers; see `transpose_block`.
    #[inline(always)]
    pub unsafe fn transpose_4x4(
        from: *const f64,
        from_stride: isize,
        last: isize,
        to: *mut f64,
        to_stride: isize,
    ) {
        // SAFETY: promised by the caller.
        unsafe {
            macro_rules! row {
                ($r:literal, $half:literal) => {{
                    let low = _mm_loadu_pd(from.offset(last.min($r) * from_stride + $half));
                    let high = _mm_loadu_pd(from.offset(last.min($r + 2) * from_stride + $half));
                    _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high)
                }};
            }
            macro_rules! half {
                ($half:literal) => {{
                    let (r0, r1) = (row!(0, $half), row!(1, $half));
                    _mm256_storeu_pd(to.offset($half * to_stride), _mm256_unpacklo_pd(r0, r1));
                    _mm256_storeu_pd(to.offset(($half + 1) * to_stride), _mm256_unpackhi_pd(r0, r1));
                }};
            }
            half!(0);
            half!(2);
        }
    }
}
