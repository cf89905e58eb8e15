//! The formats with blocks of 256 values.

use std::arch::x86_64::*;

use super::nibbles::{look_up, nibbles};
use super::{Format, Scales};

/// A half-precision number in all lanes.
///
/// # Safety
/// 2 bytes must be readable at `at`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn half(at: *const u8) -> __m256 {
    // SAFETY: the caller has 2 bytes at `at`.
    unsafe { _mm256_cvtph_ps(_mm_set1_epi16(at.cast::<i16>().read_unaligned())) }
}

/// 32 bytes.
///
/// # Safety
/// 32 bytes must be readable at `at`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn load(at: *const u8) -> __m256i {
    // SAFETY: the caller has 32 bytes at `at`.
    unsafe { _mm256_loadu_si256(at.cast()) }
}

/// 8 unsigned bytes, as floats.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn bytes_to_floats(bytes: u64) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes as i64)))
}

/// 16 signed bytes, as floats times `scale`, with offsets that are `by` times as large.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn signed_scales(bytes: __m128i, scale: __m256, by: f32) -> Scales {
    let low = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), scale);
    let high = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128::<8>(bytes)));
    let high = _mm256_mul_ps(high, scale);
    let by = _mm256_set1_ps(by);
    Scales { scale: [low, high], offset: [_mm256_mul_ps(low, by), _mm256_mul_ps(high, by)] }
}

/// Nibble `G % 2` of the bytes of group pair `G / 2`.
///
/// # Safety
/// `G` must be below 8, and 128 bytes readable at `qs`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn paired_nibbles<const G: usize>(qs: *const u8) -> __m256i {
    // SAFETY: the caller has 128 bytes at `qs`.
    unsafe {
        let packed = load(qs.add(G / 2 * 32));
        let shifted = if G.is_multiple_of(2) { packed } else { _mm256_srli_epi16::<4>(packed) };
        _mm256_and_si256(shifted, _mm256_set1_epi8(15))
    }
}

/// The 6-bit scales and offsets of Q4_K and Q5_K; see `wootz_blocks::formats::unpack_scales_6bit`.
///
/// # Safety
/// 16 bytes must be readable at `block`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn six_bit_scales(block: *const u8) -> Scales {
    // SAFETY: the caller has the 16 bytes of header at `block`.
    unsafe {
        let word = |i: usize| block.add(4 + 4 * i).cast::<u32>().read_unaligned();
        let (a, b, c) = (word(0), word(1), word(2));
        let high_scales = (c & 0x0f0f_0f0f) | (a >> 2 & 0x3030_3030);
        let high_offsets = (c >> 4 & 0x0f0f_0f0f) | (b >> 2 & 0x3030_3030);
        let scales = u64::from(a & 0x3f3f_3f3f) | u64::from(high_scales) << 32;
        let offsets = u64::from(b & 0x3f3f_3f3f) | u64::from(high_offsets) << 32;
        let scale = _mm256_mul_ps(bytes_to_floats(scales), half(block));
        let negative = _mm256_xor_ps(half(block.add(2)), _mm256_set1_ps(-0.0));
        let offset = _mm256_mul_ps(bytes_to_floats(offsets), negative);
        Scales { scale: [scale; 2], offset: [offset; 2] }
    }
}

/// Two bits of each byte, starting at bit `2 * (G % 4)`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn two_bits<const G: usize>(packed: __m256i) -> __m256i {
    let shifted = match G % 4 {
        0 => packed,
        1 => _mm256_srli_epi16::<2>(packed),
        2 => _mm256_srli_epi16::<4>(packed),
        _ => _mm256_srli_epi16::<6>(packed),
    };
    _mm256_and_si256(shifted, _mm256_set1_epi8(3))
}

/// Bit `G` of each byte, moved to bit 4; other bits of the result are not cleared.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn bit_to_4<const G: usize>(bits: __m256i) -> __m256i {
    match G {
        0 => _mm256_slli_epi16::<4>(bits),
        1 => _mm256_slli_epi16::<3>(bits),
        2 => _mm256_slli_epi16::<2>(bits),
        3 => _mm256_slli_epi16::<1>(bits),
        4 => bits,
        5 => _mm256_srli_epi16::<1>(bits),
        6 => _mm256_srli_epi16::<2>(bits),
        _ => _mm256_srli_epi16::<3>(bits),
    }
}

macro_rules! large_format {
    (
        $(#[$doc:meta])* $name:ident: $bytes:literal bytes, split $split:literal, signed $signed:literal,
        offset $offset:literal, max $max:literal,
        codes<$g:ident> |$block:ident| $codes:expr, scales |$chunk:ident| $scales:expr
    ) => {
        $(#[$doc])*
        pub(super) struct $name;

        impl Format for $name {
            const BYTES: usize = $bytes;
            const LARGE: bool = true;
            const SPLIT: bool = $split;
            const SIGNED: bool = $signed;
            const OFFSET: bool = $offset;
            const MAX_CODE: usize = $max;

            #[inline]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn codes<const $g: usize>($block: *const u8) -> __m256i {
                // SAFETY: the caller has the block, and its fields are read within its bytes.
                unsafe { $codes }
            }

            #[inline]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn scales($chunk: *const u8) -> Scales {
                // SAFETY: as above.
                unsafe { $scales }
            }
        }
    };
}

large_format! {
    /// 16 bytes of scales and offsets, 64 bytes of codes, scale of scales, scale of offsets.
    Q2K: 84 bytes, split true, signed false, offset true, max 3,
    codes<G> |b| two_bits::<G>(load(b.add(16 + G / 4 * 32))),
    scales |b| {
        let packed = _mm_loadu_si128(b.cast());
        let mask = _mm_set1_epi8(15);
        let scales = signed_scales(_mm_and_si128(packed, mask), half(b.add(80)), 0.0);
        let offsets = _mm_and_si128(_mm_srli_epi16::<4>(packed), mask);
        let offsets = signed_scales(offsets, half(b.add(82)), -1.0);
        Scales { scale: scales.scale, offset: offsets.offset }
    }
}
large_format! {
    /// 32 bytes of third bits, 64 bytes of low bits, 12 bytes of scales, scale of scales; code − 4.
    Q3K: 110 bytes, split true, signed false, offset true, max 7,
    codes<G> |b| {
        let high = _mm256_and_si256(bit_to_4::<G>(load(b)), _mm256_set1_epi8(16));
        _mm256_or_si256(two_bits::<G>(load(b.add(32 + G / 4 * 32))), _mm256_srli_epi16::<2>(high))
    },
    scales |b| {
        let word = |i: usize| b.add(96 + 4 * i).cast::<u32>().read_unaligned();
        let (low, mid, high) = (word(0), word(1), word(2));
        let join = |low: u32, high: u32| (low & 0x0f0f_0f0f) | (high & 0x0303_0303) << 4;
        let words = [join(low, high), join(mid, high >> 2), join(low >> 4, high >> 4), join(mid >> 4, high >> 6)];
        let scales = _mm_sub_epi8(_mm_loadu_si128(words.as_ptr().cast()), _mm_set1_epi8(32));
        signed_scales(scales, half(b.add(108)), -4.0)
    }
}
large_format! {
    /// Scale of scales, scale of offsets, 12 bytes of both, 128 bytes of nibbles.
    Q4K: 144 bytes, split false, signed false, offset true, max 15,
    codes<G> |b| paired_nibbles::<G>(b.add(16)), scales |b| six_bit_scales(b)
}
large_format! {
    /// As Q4_K, with 32 bytes of fifth bits before the nibbles.
    Q5K: 176 bytes, split false, signed false, offset true, max 31,
    codes<G> |b| {
        let high = _mm256_and_si256(bit_to_4::<G>(load(b.add(16))), _mm256_set1_epi8(16));
        _mm256_or_si256(paired_nibbles::<G>(b.add(48)), high)
    },
    scales |b| six_bit_scales(b)
}
large_format! {
    /// 128 bytes of low nibbles, 64 bytes of high bits, 16 scales, scale of scales; code − 32.
    Q6K: 210 bytes, split true, signed false, offset true, max 63,
    codes<G> |b| {
        let low = load(b.add(G / 4 * 64 + G % 2 * 32));
        let low = if G % 4 < 2 { low } else { _mm256_srli_epi16::<4>(low) };
        let high = load(b.add(128 + G / 4 * 32));
        let high = match G % 4 {
            0 => _mm256_slli_epi16::<4>(high),
            1 => _mm256_slli_epi16::<2>(high),
            2 => high,
            _ => _mm256_srli_epi16::<2>(high),
        };
        _mm256_or_si256(
            _mm256_and_si256(low, _mm256_set1_epi8(15)),
            _mm256_and_si256(high, _mm256_set1_epi8(48)),
        )
    },
    scales |b| signed_scales(_mm_loadu_si128(b.add(192).cast()), half(b.add(208)), -32.0)
}
large_format! {
    /// Scale of scales, high bits of scales, low nibbles of scales, 128 bytes of nibbles that index a table.
    Iq4Xs: 136 bytes, split false, signed true, offset false, max 128,
    codes<G> |b| look_up(&wootz_blocks::formats::iq4_nl::TABLE, nibbles(b.add(8 + 16 * G))),
    scales |b| {
        let high = b.add(2).cast::<u16>().read_unaligned();
        let scale: [f32; 8] = std::array::from_fn(|g| {
            let low = *b.add(4 + g / 2) >> (4 * (g % 2)) & 15;
            f32::from(i16::from(low) + ((high >> (2 * g) & 3) << 4) as i16 - 32)
        });
        let scale = _mm256_mul_ps(_mm256_loadu_ps(scale.as_ptr()), half(b));
        Scales { scale: [scale; 2], offset: [_mm256_setzero_ps(); 2] }
    }
}
