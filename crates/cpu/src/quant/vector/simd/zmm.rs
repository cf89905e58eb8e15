//! AVX-512 registers with VNNI: 16 lanes, for the tile kernel and for two groups at a time.

use std::arch::x86_64::*;

use super::ymm::{ByteDot, Ymm};
use super::{Couple, Lanes, Place};

/// AVX-512 F, BW and VNNI.
#[derive(Clone, Copy)]
pub struct Zmm;

impl Lanes for Zmm {
    type Bytes = __m512i;
    type Ints = __m512i;
    type Floats = __m512;
    const COUNT: usize = 16;
    const FUSED: bool = true;
    const ACTS: usize = 6;
    const PRECISE_ACTS: usize = 4;
    const SHIFTS_SIGNED: bool = true;

    methods! {
        fn load_aligned(at: *const u8) -> __m512i = _mm512_load_si512(at.cast());
        fn splat_four(at: *const i8) -> __m512i = _mm512_set1_epi32(at.cast::<i32>().read_unaligned());
        fn no_ints() -> __m512i = _mm512_setzero_si512();
        fn splat_int(at: *const i32) -> __m512i = _mm512_set1_epi32(*at);
        fn add_pairs(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi16(a, b);
        fn widen(pairs: __m512i) -> __m512i = _mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
        fn add_ints(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        fn times_256(a: __m512i) -> __m512i = _mm512_slli_epi32::<8>(a);
        fn no_floats() -> __m512 = _mm512_setzero_ps();
        fn load(at: *const f32) -> __m512 = _mm512_loadu_ps(at);
        fn store(a: __m512, to: *mut f32) = _mm512_storeu_ps(to, a);
        fn splat(at: *const f32) -> __m512 = _mm512_set1_ps(*at);
        fn add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
        fn mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
        fn mul_add(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
        fn from_ints(a: __m512i) -> __m512 = _mm512_cvtepi32_ps(a);
    }

    #[inline(always)]
    unsafe fn pairs(codes: __m512i, acts: __m512i, signed: bool) -> __m512i {
        // SAFETY: the caller promises AVX-512 BW.
        unsafe {
            let (u, s) = unsigned(codes, acts, signed);
            _mm512_maddubs_epi16(u, s)
        }
    }

    #[inline(always)]
    unsafe fn dot(sum: __m512i, codes: __m512i, acts: __m512i, signed: bool) -> __m512i {
        // SAFETY: the caller promises AVX-512 VNNI.
        unsafe {
            let (u, s) = unsigned(codes, acts, signed);
            _mm512_dpbusd_epi32(sum, u, s)
        }
    }
}

impl<D: ByteDot> Couple<Ymm<D>> for Zmm {
    type Sums = __m512;

    methods! {
        fn none() -> __m512 = _mm512_setzero_ps();
        fn both(sums: __m512) -> __m256 =
            <Ymm<D> as Lanes>::add(_mm512_castps512_ps256(sums), _mm512_extractf32x8_ps::<1>(sums));
    }

    #[inline(always)]
    unsafe fn add<const PRECISE: bool, const SPLIT: bool, const SIGNED: bool>(
        sums: __m512,
        codes: [__m256i; 2],
        at: Place,
    ) -> __m512 {
        // SAFETY: the caller's promises.
        unsafe {
            let codes = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(codes[0]), codes[1]);
            let acts = _mm512_loadu_si512(at.codes.cast());
            let mut products = Self::dot(Self::no_ints(), codes, acts, SIGNED);
            if PRECISE {
                let acts = _mm512_loadu_si512(at.fine.cast());
                products = Self::dot(Self::times_256(products), codes, acts, SIGNED);
            }
            let scale = if SPLIT {
                let four = _mm512_broadcast_f32x4(_mm_loadu_ps(at.scales));
                let lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
                _mm512_permutexvar_ps(lanes, four)
            } else {
                let other = _mm_load_ss(at.scales.add(1));
                _mm512_mask_broadcastss_ps(Self::splat(at.scales), 0xff00, other)
            };
            Self::mul_add(Self::from_ints(products), scale, sums)
        }
    }
}

/// Unsigned and signed bytes with the same products: |w| and (a with the sign of w).
///
/// # Safety
/// The processor has AVX-512 BW.
#[inline(always)]
unsafe fn unsigned(codes: __m512i, acts: __m512i, signed: bool) -> (__m512i, __m512i) {
    if !signed {
        return (codes, acts);
    }
    // SAFETY: the caller promises AVX-512 BW.
    unsafe {
        let negative = _mm512_movepi8_mask(codes);
        let acts = _mm512_mask_sub_epi8(acts, negative, _mm512_setzero_si512(), acts);
        (_mm512_abs_epi8(codes), acts)
    }
}
