//! The formats with blocks of 32 values.

use std::arch::x86_64::*;

use super::{Format, Scales};

/// 16 bytes of nibbles to 32 bytes: low nibbles first.
///
/// # Safety
/// 16 bytes must be readable at `at`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn nibbles(at: *const u8) -> __m256i {
    // SAFETY: the caller has 16 bytes at `at`; the rest is register arithmetic.
    unsafe {
        // The load units fill both halves, and one shift serves them: the vector units are the bottleneck.
        let both = _mm256_broadcastsi128_si256(_mm_loadu_si128(at.cast()));
        let shifted = _mm256_srlv_epi32(both, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
        _mm256_and_si256(shifted, _mm256_set1_epi8(15))
    }
}

/// 32 bits to 32 bytes of 0 or 16.
///
/// # Safety
/// 4 bytes must be readable at `at`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn fifth_bits(at: *const u8) -> __m256i {
    // SAFETY: the caller has 4 bytes at `at`; the rest is register arithmetic.
    unsafe {
        let bits = _mm256_set1_epi32(at.cast::<i32>().read_unaligned());
        let spread =
            _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
        let select = _mm256_set1_epi64x(0x8040_2010_0804_0201u64 as i64);
        let chosen = _mm256_and_si256(_mm256_shuffle_epi8(bits, spread), select);
        _mm256_and_si256(_mm256_cmpeq_epi8(chosen, select), _mm256_set1_epi8(16))
    }
}

/// The half-precision numbers at the start of 8 blocks of `BYTES` bytes. Collected in integer registers,
/// whose units are idle here, while the vector units are the bottleneck.
///
/// # Safety
/// 8 blocks must be readable at `at`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn eight_halves<const BYTES: usize>(at: *const u8) -> __m256 {
    // SAFETY: the caller has 8 blocks at `at`.
    unsafe {
        let half = |i: usize| u64::from(at.add(i * BYTES).cast::<u16>().read_unaligned());
        let low = half(0) | half(1) << 16 | half(2) << 32 | half(3) << 48;
        let high = half(4) | half(5) << 16 | half(6) << 32 | half(7) << 48;
        _mm256_cvtph_ps(_mm_set_epi64x(high as i64, low as i64))
    }
}

/// Scale and offset (two halves) at the start of 8 blocks.
///
/// # Safety
/// 8 blocks must be readable at `at`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn eight_pairs<const BYTES: usize>(at: *const u8) -> Scales {
    // SAFETY: the caller has 8 blocks at `at`.
    unsafe {
        let pair = |i: usize| u64::from(at.add(i * BYTES).cast::<u32>().read_unaligned());
        let two = |i: usize| (pair(i) | pair(i + 1) << 32) as i64;
        let order = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
        let low = _mm_shuffle_epi8(_mm_set_epi64x(two(2), two(0)), order);
        let high = _mm_shuffle_epi8(_mm_set_epi64x(two(6), two(4)), order);
        let scale = _mm256_cvtph_ps(_mm_unpacklo_epi64(low, high));
        let offset = _mm256_cvtph_ps(_mm_unpackhi_epi64(low, high));
        Scales { scale: [scale; 2], offset: [offset; 2] }
    }
}

/// Scales whose offset is a multiple of them: what makes codes unsigned.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn shifted(scale: __m256, by: f32) -> Scales {
    let offset = _mm256_mul_ps(scale, _mm256_set1_ps(by));
    Scales { scale: [scale; 2], offset: [offset; 2] }
}

macro_rules! small_format {
    (
        $(#[$doc:meta])* $name:ident: $bytes:literal bytes, signed $signed:literal, offset $offset:literal,
        max $max:literal, codes |$block:ident| $codes:expr, scales |$chunk:ident| $scales:expr
    ) => {
        $(#[$doc])*
        pub(super) struct $name;

        impl Format for $name {
            const BYTES: usize = $bytes;
            const LARGE: bool = false;
            const SPLIT: bool = false;
            const SIGNED: bool = $signed;
            const OFFSET: bool = $offset;
            const MAX_CODE: usize = $max;

            #[inline]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn codes<const G: usize>(chunk: *const u8) -> __m256i {
                // SAFETY: the caller has block `G`, and its fields are read within its bytes.
                unsafe {
                    let $block = chunk.add(G * $bytes);
                    $codes
                }
            }

            #[inline]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn scales($chunk: *const u8) -> Scales {
                // SAFETY: the caller has 8 blocks.
                unsafe { $scales }
            }
        }
    };
}

small_format! {
    /// Scale, 16 bytes of nibbles; code − 8.
    Q4_0: 18 bytes, signed false, offset true, max 15,
    codes |b| nibbles(b.add(2)), scales |c| shifted(eight_halves::<18>(c), -8.0)
}
small_format! {
    /// Scale, offset, 16 bytes of nibbles.
    Q4_1: 20 bytes, signed false, offset true, max 15,
    codes |b| nibbles(b.add(4)), scales |c| eight_pairs::<20>(c)
}
small_format! {
    /// Scale, 4 bytes of fifth bits, 16 bytes of nibbles; code − 16.
    Q5_0: 22 bytes, signed false, offset true, max 31,
    codes |b| _mm256_or_si256(nibbles(b.add(6)), fifth_bits(b.add(2))),
    scales |c| shifted(eight_halves::<22>(c), -16.0)
}
small_format! {
    /// Scale, offset, 4 bytes of fifth bits, 16 bytes of nibbles.
    Q5_1: 24 bytes, signed false, offset true, max 31,
    codes |b| _mm256_or_si256(nibbles(b.add(8)), fifth_bits(b.add(4))), scales |c| eight_pairs::<24>(c)
}
small_format! {
    /// Scale, 32 signed codes.
    Q8_0: 34 bytes, signed true, offset false, max 128,
    codes |b| _mm256_loadu_si256(b.add(2).cast()), scales |c| shifted(eight_halves::<34>(c), 0.0)
}
small_format! {
    /// Scale, 16 bytes of nibbles that index a table of signed codes.
    Iq4Nl: 18 bytes, signed true, offset false, max 128,
    codes |b| look_up(&wootz_blocks::formats::iq4_nl::TABLE, nibbles(b.add(2))),
    scales |c| shifted(eight_halves::<18>(c), 0.0)
}
small_format! {
    /// Exponent, 16 bytes of nibbles that index a table; codes are made unsigned by adding 12.
    Mxfp4: 17 bytes, signed false, offset true, max 24,
    codes |b| _mm256_add_epi8(
        look_up(&wootz_blocks::formats::mxfp4::TABLE, nibbles(b.add(1))),
        _mm256_set1_epi8(12)
    ),
    scales |c| shifted(eight_exponents(c), -12.0)
}

/// Each byte of `index` (0–15) replaced by its entry of the table.
///
/// # Safety
/// The processor must have AVX2, FMA and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn look_up(table: &[i8; 16], index: __m256i) -> __m256i {
    // SAFETY: the table is 16 bytes; the rest is register arithmetic.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
        _mm256_shuffle_epi8(table, index)
    }
}

/// The MXFP4 scales of 8 blocks.
///
/// # Safety
/// 8 blocks must be readable at `at`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn eight_exponents(at: *const u8) -> __m256 {
    // SAFETY: the caller has 8 blocks of 17 bytes at `at`.
    unsafe {
        let scale: [f32; 8] =
            std::array::from_fn(|i| wootz_blocks::formats::mxfp4::half_scale(*at.add(i * 17)));
        _mm256_loadu_ps(scale.as_ptr())
    }
}
