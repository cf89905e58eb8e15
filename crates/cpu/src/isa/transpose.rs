//! Square blocks transposed in registers, for packing and copying with a change of axis order.

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
            8 => x86::transpose_8x8::<false>(from.cast(), from_stride, last, to.cast(), to_stride),
            #[cfg(target_arch = "x86_64")]
            4 => x86::transpose_4x4::<false>(from.cast(), from_stride, last, to.cast(), to_stride),
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

/// The side of a square that [`transpose_lines`] handles for elements of `size` bytes under `I`: a cache line, or 0 where it
/// handles none.
#[inline(always)]
pub fn line_side<I: Isa>(size: usize) -> usize {
    if transpose_side::<I>(size) > 1 { LINE_BYTES / size } else { 0 }
}

const LINE_BYTES: usize = 64;

/// Transposes a square of [`line_side`] elements, so that every cache line of both sides is touched once and as a whole: rows at
/// `from + r * from_stride`, its columns as rows at `to + c * to_stride`. With `PAST` they are written past the caches.
///
/// # Safety
/// [`line_side`] must not be 0, all elements must be readable and writable, and the processor must have the instruction set
/// `I`. With `PAST`, rows of the result must start at cache lines, and a store fence must follow.
#[inline(always)]
pub unsafe fn transpose_lines<I: Isa, T: Copy, const PAST: bool>(
    from: *const T,
    from_stride: isize,
    to: *mut T,
    to_stride: isize,
) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller promises valid reads and writes; the register forms run only where `I` has them.
    unsafe {
        let side = transpose_side::<I>(size_of::<T>());
        match (I::LEVEL, size_of::<T>()) {
            (Level::Avx512, 4) => {
                return x86::transpose_16x16::<PAST>(from.cast(), from_stride, to.cast(), to_stride);
            }
            (Level::Avx512, 8) => {
                return x86::transpose_8x8_wide::<PAST>(from.cast(), from_stride, to.cast(), to_stride);
            }
            _ => {}
        }
        for c in (0..2 * side as isize).step_by(side) {
            for r in (0..2 * side as isize).step_by(side) {
                let (from, to) = (from.offset(r * from_stride + c), to.offset(c * to_stride + r));
                let last = side as isize - 1;
                if side == 8 {
                    x86::transpose_8x8::<PAST>(from.cast(), from_stride, last, to.cast(), to_stride);
                } else {
                    x86::transpose_4x4::<PAST>(from.cast(), from_stride, last, to.cast(), to_stride);
                }
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, from_stride, to, to_stride);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    macro_rules! puts {
        ($($name:ident($register:ty, $element:ty): $stream:ident, $store:ident;)*) => {$(
            /// Stores a register, past the caches or through them.
            ///
            /// # Safety
            /// The register's instruction set, and a valid pointer, aligned if `PAST`.
            #[inline(always)]
            unsafe fn $name<const PAST: bool>(to: *mut $element, value: $register) {
                // SAFETY: promised by the caller.
                unsafe { if PAST { $stream(to, value) } else { $store(to, value) } }
            }
        )*};
    }
    puts! {
        put_f64x4(__m256d, f64): _mm256_stream_pd, _mm256_storeu_pd;
        put_f32x8(__m256, f32): _mm256_stream_ps, _mm256_storeu_ps;
        put_f32x16(__m512, f32): _mm512_stream_ps, _mm512_storeu_ps;
    }

    /// Exchanges the 128-bit quarters of four registers: quarter q of register r becomes quarter r of register q.
    ///
    /// # Safety
    /// AVX-512.
    #[inline(always)]
    unsafe fn quarters(a: __m512, b: __m512, c: __m512, d: __m512) -> [__m512; 4] {
        // SAFETY: promised by the caller.
        unsafe {
            let (ab_even, ab_odd) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
            let (cd_even, cd_odd) = (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d));
            [
                _mm512_shuffle_f32x4::<0x88>(ab_even, cd_even),
                _mm512_shuffle_f32x4::<0x88>(ab_odd, cd_odd),
                _mm512_shuffle_f32x4::<0xdd>(ab_even, cd_even),
                _mm512_shuffle_f32x4::<0xdd>(ab_odd, cd_odd),
            ]
        }
    }

    /// # Safety
    /// AVX-512, and valid pointers; see `transpose_lines`.
    #[inline(always)]
    pub unsafe fn transpose_16x16<const PAST: bool>(
        from: *const f32,
        from_stride: isize,
        to: *mut f32,
        to_stride: isize,
    ) {
        // SAFETY: promised by the caller.
        unsafe {
            // Four rows at a time, within quarters: register j of a group has, in quarter q, column 4q + j of its rows.
            let mut groups = [[_mm512_setzero_ps(); 4]; 4];
            for (g, group) in groups.iter_mut().enumerate() {
                let first = from.offset(4 * g as isize * from_stride);
                let (r0, r1) = (_mm512_loadu_ps(first), _mm512_loadu_ps(first.offset(from_stride)));
                let third = first.offset(2 * from_stride);
                let (r2, r3) = (_mm512_loadu_ps(third), _mm512_loadu_ps(third.offset(from_stride)));
                let (a, b) = (_mm512_unpacklo_ps(r0, r1), _mm512_unpackhi_ps(r0, r1));
                let (c, d) = (_mm512_unpacklo_ps(r2, r3), _mm512_unpackhi_ps(r2, r3));
                *group = [
                    _mm512_shuffle_ps::<0x44>(a, c),
                    _mm512_shuffle_ps::<0xee>(a, c),
                    _mm512_shuffle_ps::<0x44>(b, d),
                    _mm512_shuffle_ps::<0xee>(b, d),
                ];
            }
            for j in 0..4 {
                let columns = quarters(groups[0][j], groups[1][j], groups[2][j], groups[3][j]);
                for (q, column) in columns.into_iter().enumerate() {
                    let to = to.offset((4 * q + j) as isize * to_stride);
                    put_f32x16::<PAST>(to, column);
                }
            }
        }
    }

    /// # Safety
    /// AVX-512, and valid pointers; see `transpose_lines`.
    #[inline(always)]
    pub unsafe fn transpose_8x8_wide<const PAST: bool>(
        from: *const f64,
        from_stride: isize,
        to: *mut f64,
        to_stride: isize,
    ) {
        // SAFETY: promised by the caller.
        unsafe {
            // Two rows at a time, within quarters: register j of a pair has, in quarter q, column 2q + j of its rows.
            let mut pairs = [[_mm512_setzero_ps(); 2]; 4];
            for (p, pair) in pairs.iter_mut().enumerate() {
                let first = from.offset(2 * p as isize * from_stride);
                let (r0, r1) = (_mm512_loadu_pd(first), _mm512_loadu_pd(first.offset(from_stride)));
                *pair = [
                    _mm512_castpd_ps(_mm512_unpacklo_pd(r0, r1)),
                    _mm512_castpd_ps(_mm512_unpackhi_pd(r0, r1)),
                ];
            }
            for j in 0..2 {
                let columns = quarters(pairs[0][j], pairs[1][j], pairs[2][j], pairs[3][j]);
                for (q, column) in columns.into_iter().enumerate() {
                    let to = to.offset((2 * q + j) as isize * to_stride).cast::<f32>();
                    put_f32x16::<PAST>(to, column);
                }
            }
        }
    }

    /// # Safety
    /// AVX, and valid pointers; see `transpose_block`.
    #[inline(always)]
    pub unsafe fn transpose_8x8<const PAST: bool>(
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
                    put_f32x8::<PAST>(to.offset($half * to_stride), _mm256_shuffle_ps::<0x44>(a, c));
                    put_f32x8::<PAST>(to.offset(($half + 1) * to_stride), _mm256_shuffle_ps::<0xee>(a, c));
                    put_f32x8::<PAST>(to.offset(($half + 2) * to_stride), _mm256_shuffle_ps::<0x44>(b, d));
                    put_f32x8::<PAST>(to.offset(($half + 3) * to_stride), _mm256_shuffle_ps::<0xee>(b, d));
                }};
            }
            half!(0);
            half!(4);
        }
    }

    /// # Safety
    /// AVX, and valid pointers; see `transpose_block`.
    #[inline(always)]
    pub unsafe fn transpose_4x4<const PAST: bool>(
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
                    put_f64x4::<PAST>(to.offset($half * to_stride), _mm256_unpacklo_pd(r0, r1));
                    put_f64x4::<PAST>(to.offset(($half + 1) * to_stride), _mm256_unpackhi_pd(r0, r1));
                }};
            }
            half!(0);
            half!(2);
        }
    }
}
