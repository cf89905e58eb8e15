//! The formats with blocks of 32 values.

use wootz_blocks::formats::{iq4_nl, mxfp4};

use super::format::{Format, Scales};
use super::simd::Simd;

/// The half-precision numbers at the start of 8 blocks of `BYTES` bytes. Collected in integer registers,
/// whose units are idle here, while the vector units are the bottleneck.
///
/// # Safety
/// 8 blocks must be readable at `at`.
#[inline(always)]
unsafe fn eight_halves<S: Simd, const BYTES: usize>(at: *const u8) -> S::Floats {
    // SAFETY: the caller has 8 blocks at `at`.
    unsafe {
        let half = |i: usize| u64::from(at.add(i * BYTES).cast::<u16>().read_unaligned());
        let four = |i: usize| half(i) | half(i + 1) << 16 | half(i + 2) << 32 | half(i + 3) << 48;
        S::from_halves([four(0), four(4)])
    }
}

/// Scale and offset (two halves) at the start of 8 blocks.
///
/// # Safety
/// 8 blocks must be readable at `at`.
#[inline(always)]
unsafe fn eight_pairs<S: Simd, const BYTES: usize>(at: *const u8) -> Scales<S> {
    // SAFETY: the caller has 8 blocks at `at`.
    unsafe {
        let pair = |i: usize| u64::from(at.add(i * BYTES).cast::<u32>().read_unaligned());
        let two = |i: usize| pair(i) | pair(i + 1) << 32;
        let [scale, offset] = S::from_half_pairs([two(0), two(2), two(4), two(6)]);
        Scales::whole(scale, offset)
    }
}

/// The MXFP4 scales of 8 blocks.
///
/// # Safety
/// 8 blocks must be readable at `at`.
#[inline(always)]
unsafe fn eight_exponents<S: Simd>(at: *const u8) -> S::Floats {
    // SAFETY: the caller has 8 blocks of 17 bytes at `at`.
    unsafe {
        let mut scale = [0f32; 8];
        for (i, scale) in scale.iter_mut().enumerate() {
            *scale = mxfp4::half_scale(*at.add(i * 17));
        }
        S::load(scale.as_ptr())
    }
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

            #[inline(always)]
            unsafe fn codes<S: Simd, const G: usize>(chunk: *const u8) -> S::Bytes {
                // SAFETY: the caller has block `G`, and its fields are read within its bytes.
                unsafe {
                    let $block = chunk.add(G * $bytes);
                    $codes
                }
            }

            #[inline(always)]
            unsafe fn scales<S: Simd>($chunk: *const u8) -> Scales<S> {
                // SAFETY: the caller has 8 blocks.
                unsafe { $scales }
            }
        }
    };
}

small_format! {
    /// Scale, 16 bytes of nibbles; code − 8.
    Q4_0: 18 bytes, signed false, offset true, max 15,
    codes |b| S::nibbles(b.add(2)), scales |c| Scales::shifted([eight_halves::<S, 18>(c); 2], -8.0)
}
small_format! {
    /// Scale, offset, 16 bytes of nibbles.
    Q4_1: 20 bytes, signed false, offset true, max 15,
    codes |b| S::nibbles(b.add(4)), scales |c| eight_pairs::<S, 20>(c)
}
small_format! {
    /// Scale, 4 bytes of fifth bits, 16 bytes of nibbles; code − 16.
    Q5_0: 22 bytes, signed false, offset true, max 31,
    codes |b| S::or(S::nibbles(b.add(6)), S::bits_as_16(b.add(2))),
    scales |c| Scales::shifted([eight_halves::<S, 22>(c); 2], -16.0)
}
small_format! {
    /// Scale, offset, 4 bytes of fifth bits, 16 bytes of nibbles.
    Q5_1: 24 bytes, signed false, offset true, max 31,
    codes |b| S::or(S::nibbles(b.add(8)), S::bits_as_16(b.add(4))), scales |c| eight_pairs::<S, 24>(c)
}
small_format! {
    /// Scale, 32 signed codes.
    Q8_0: 34 bytes, signed true, offset false, max 128,
    codes |b| S::load_bytes(b.add(2)), scales |c| Scales::shifted([eight_halves::<S, 34>(c); 2], 0.0)
}
small_format! {
    /// Scale, 16 bytes of nibbles that index a table of signed codes.
    Iq4Nl: 18 bytes, signed true, offset false, max 128,
    codes |b| S::look_up(&iq4_nl::TABLE, S::nibbles(b.add(2))),
    scales |c| Scales::shifted([eight_halves::<S, 18>(c); 2], 0.0)
}
small_format! {
    /// Exponent, 16 bytes of nibbles that index a table; codes are made unsigned by adding 12.
    Mxfp4: 17 bytes, signed false, offset true, max 24,
    codes |b| S::add_bytes(S::look_up(&mxfp4::TABLE, S::nibbles(b.add(1))), S::splat_byte(12)),
    scales |c| Scales::shifted([eight_exponents::<S>(c); 2], -12.0)
}
