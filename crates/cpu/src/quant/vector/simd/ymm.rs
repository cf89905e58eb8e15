//! AVX2 registers: a vector is one of them.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::{Lanes, Simd};

/// AVX2, FMA and F16C, with `D`'s way to sum products.
#[derive(Clone, Copy)]
pub struct Ymm<D>(PhantomData<D>);

/// How sums of four products of an unsigned and a signed byte are made.
pub trait ByteDot: Copy {
    /// Whether that is one instruction.
    const FUSED: bool;
    /// Adds them.
    ///
    /// # Safety
    /// The processor must have AVX2 and what the implementation names. Unsigned bytes are at most 128.
    unsafe fn dot(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i;
}

/// AVX2 alone: pairs, then pairs of pairs.
#[derive(Clone, Copy)]
pub struct Pairs;

impl ByteDot for Pairs {
    const FUSED: bool = false;
    #[inline(always)]
    unsafe fn dot(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
        // SAFETY: the caller promises AVX2. Two products are at most 2 * 128 * 127, which fits 16 bits.
        unsafe {
            let pairs = _mm256_maddubs_epi16(unsigned, signed);
            _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }
}

/// AVX-VNNI.
#[derive(Clone, Copy)]
pub struct AvxVnni;

impl ByteDot for AvxVnni {
    const FUSED: bool = true;
    #[inline(always)]
    unsafe fn dot(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
        // SAFETY: the caller promises AVX-VNNI.
        unsafe { _mm256_dpbusd_avx_epi32(sum, unsigned, signed) }
    }
}

/// AVX-512 VNNI and VL.
#[derive(Clone, Copy)]
pub struct Avx512Vnni;

impl ByteDot for Avx512Vnni {
    const FUSED: bool = true;
    #[inline(always)]
    unsafe fn dot(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
        // SAFETY: the caller promises AVX-512 VNNI and VL.
        unsafe { _mm256_dpbusd_epi32(sum, unsigned, signed) }
    }
}

/// Unsigned and signed bytes with the same products: |w| and (a with the sign of w).
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn unsigned(codes: __m256i, acts: __m256i, signed: bool) -> (__m256i, __m256i) {
    if !signed {
        return (codes, acts);
    }
    // SAFETY: the caller promises AVX2.
    unsafe { (_mm256_abs_epi8(codes), _mm256_sign_epi8(acts, codes)) }
}

impl<D: ByteDot> Lanes for Ymm<D> {
    type Bytes = __m256i;
    type Ints = __m256i;
    type Floats = __m256;
    const COUNT: usize = 8;
    const FUSED: bool = D::FUSED;
    const ACTS: usize = 3;

    methods! {
        fn load_aligned(at: *const u8) -> __m256i = _mm256_load_si256(at.cast());
        fn splat_four(at: *const i8) -> __m256i = _mm256_set1_epi32(at.cast::<i32>().read_unaligned());
        fn no_ints() -> __m256i = _mm256_setzero_si256();
        fn splat_int(at: *const i32) -> __m256i = _mm256_set1_epi32(*at);
        fn add_pairs(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi16(a, b);
        fn add_ints(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        fn widen(pairs: __m256i) -> __m256i = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        fn no_floats() -> __m256 = _mm256_setzero_ps();
        fn load(at: *const f32) -> __m256 = _mm256_loadu_ps(at);
        fn store(a: __m256, to: *mut f32) = _mm256_storeu_ps(to, a);
        fn splat(at: *const f32) -> __m256 = _mm256_broadcast_ss(&*at);
        fn add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
        fn mul(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
        fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
        fn from_ints(a: __m256i) -> __m256 = _mm256_cvtepi32_ps(a);
        fn times_256(a: __m256i) -> __m256i = _mm256_slli_epi32::<8>(a);
    }

    #[inline(always)]
    unsafe fn pairs(codes: __m256i, acts: __m256i, signed: bool) -> __m256i {
        // SAFETY: the caller promises AVX2.
        unsafe {
            let (u, s) = unsigned(codes, acts, signed);
            _mm256_maddubs_epi16(u, s)
        }
    }

    #[inline(always)]
    unsafe fn dot(sum: __m256i, codes: __m256i, acts: __m256i, signed: bool) -> __m256i {
        // SAFETY: the caller promises the features of `D`.
        unsafe {
            let (u, s) = unsigned(codes, acts, signed);
            D::dot(sum, u, s)
        }
    }
}

impl<D: ByteDot> Simd for Ymm<D> {
    methods! {
        fn load_bytes(at: *const u8) -> __m256i = _mm256_loadu_si256(at.cast());
        fn splat_byte(byte: u8) -> __m256i = _mm256_set1_epi8(byte as i8);
        fn and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        fn or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        fn add_bytes(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi8(a, b);
        fn up<const N>(a: __m256i) -> __m256i = _mm256_slli_epi16::<N>(a);
        fn down<const N>(a: __m256i) -> __m256i = _mm256_srli_epi16::<N>(a);
        fn from_bytes(bytes: u64) -> __m256 =
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(bytes as i64)));
        fn splat_half(at: *const u8) -> __m256 =
            _mm256_cvtph_ps(_mm_set1_epi16(at.cast::<i16>().read_unaligned()));
        fn from_halves(halves: [u64; 2]) -> __m256 =
            _mm256_cvtph_ps(_mm_set_epi64x(halves[1] as i64, halves[0] as i64));
        fn as_words(bytes: __m256i) -> __m256 = _mm256_castsi256_ps(bytes);
        fn twice(a: __m256) -> [__m256; 2] = [
            _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)),
            _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7)),
        ];

    }

    #[inline(always)]
    unsafe fn nibbles(at: *const u8) -> __m256i {
        // SAFETY: the caller has 16 bytes at `at`.
        unsafe {
            // The load units fill both halves, and one shift serves them: the vector units are the bottleneck.
            let both = _mm256_broadcastsi128_si256(_mm_loadu_si128(at.cast()));
            let shifted = _mm256_srlv_epi32(both, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
            _mm256_and_si256(shifted, _mm256_set1_epi8(15))
        }
    }

    #[inline(always)]
    unsafe fn bits_as_16(at: *const u8) -> __m256i {
        // SAFETY: the caller has 4 bytes at `at`.
        unsafe {
            let bits = _mm256_set1_epi32(at.cast::<i32>().read_unaligned());
            let spread =
                _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
            let select = _mm256_set1_epi64x(0x8040_2010_0804_0201u64 as i64);
            let chosen = _mm256_and_si256(_mm256_shuffle_epi8(bits, spread), select);
            _mm256_and_si256(_mm256_cmpeq_epi8(chosen, select), _mm256_set1_epi8(16))
        }
    }

    #[inline(always)]
    unsafe fn look_up(table: &[i8; 16], index: __m256i) -> __m256i {
        // SAFETY: the table is 16 bytes.
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            _mm256_shuffle_epi8(table, index)
        }
    }

    #[inline(always)]
    unsafe fn splat_two(at: *const f32) -> __m256 {
        // SAFETY: the caller has two floats at `at`, aligned to 8 bytes.
        unsafe {
            let both = _mm256_castpd_ps(_mm256_broadcast_sd(&*at.cast::<f64>()));
            _mm256_permutevar_ps(both, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1))
        }
    }

    #[inline(always)]
    unsafe fn first(a: __m256, n: usize) -> __m256 {
        // SAFETY: register arithmetic.
        unsafe {
            let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let kept = _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), lanes);
            _mm256_and_ps(a, _mm256_castsi256_ps(kept))
        }
    }

    #[inline(always)]
    unsafe fn sum(a: __m256) -> f32 {
        // SAFETY: register arithmetic.
        unsafe {
            let s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let s = _mm_add_ps(s, _mm_movehl_ps(s, s));
            _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)))
        }
    }

    #[inline(always)]
    unsafe fn from_half_pairs(pairs: [u64; 4]) -> [__m256; 2] {
        // SAFETY: register arithmetic.
        unsafe {
            let [a, b, c, d] = [pairs[0] as i64, pairs[1] as i64, pairs[2] as i64, pairs[3] as i64];
            let order = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
            let low = _mm_shuffle_epi8(_mm_set_epi64x(b, a), order);
            let high = _mm_shuffle_epi8(_mm_set_epi64x(d, c), order);
            [_mm256_cvtph_ps(_mm_unpacklo_epi64(low, high)), _mm256_cvtph_ps(_mm_unpackhi_epi64(low, high))]
        }
    }

    #[inline(always)]
    unsafe fn store_transposed(r: &[__m256; 8], to: *mut f32, stride: usize) {
        // SAFETY: the caller has room for 8 vectors, `stride` words apart and aligned to 32 bytes.
        unsafe {
            let mut quads = [[_mm256_setzero_ps(); 4]; 2];
            for h in 0..2 {
                let (a, b) =
                    (_mm256_unpacklo_ps(r[4 * h], r[4 * h + 1]), _mm256_unpackhi_ps(r[4 * h], r[4 * h + 1]));
                let (c, d) = (
                    _mm256_unpacklo_ps(r[4 * h + 2], r[4 * h + 3]),
                    _mm256_unpackhi_ps(r[4 * h + 2], r[4 * h + 3]),
                );
                quads[h] = [
                    _mm256_shuffle_ps::<0x44>(a, c),
                    _mm256_shuffle_ps::<0xee>(a, c),
                    _mm256_shuffle_ps::<0x44>(b, d),
                    _mm256_shuffle_ps::<0xee>(b, d),
                ];
            }
            for i in 0..4 {
                _mm256_store_ps(to.add(stride * i), _mm256_permute2f128_ps::<0x20>(quads[0][i], quads[1][i]));
                _mm256_store_ps(
                    to.add(stride * (i + 4)),
                    _mm256_permute2f128_ps::<0x31>(quads[0][i], quads[1][i]),
                );
            }
        }
    }
}
