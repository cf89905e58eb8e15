//! The formats with blocks of 256 values.

use wootz_blocks::formats::iq4_nl;

use super::format::{Format, Scales};
use super::simd::Simd;

/// 8 bytes.
///
/// # Safety
/// 8 bytes must be readable at `at`.
#[inline(always)]
unsafe fn eight(at: *const u8) -> u64 {
    // SAFETY: the caller has 8 bytes at `at`.
    u64::from_le(unsafe { at.cast::<u64>().read_unaligned() })
}

/// 16 signed bytes, as floats times `scale`.
///
/// # Safety
/// As all of [`Simd`].
#[inline(always)]
unsafe fn times<S: Simd>(bytes: [u64; 2], scale: S::Floats) -> [S::Floats; 2] {
    // SAFETY: the caller's promise.
    unsafe { [S::mul(S::from_bytes(bytes[0]), scale), S::mul(S::from_bytes(bytes[1]), scale)] }
}

/// Nibble `G % 2` of the bytes of group pair `G / 2`.
///
/// # Safety
/// `G` must be below 8, and 128 bytes readable at `qs`.
#[inline(always)]
unsafe fn paired_nibbles<S: Simd, const G: usize>(qs: *const u8) -> S::Bytes {
    // SAFETY: the caller has 128 bytes at `qs`.
    unsafe {
        let packed = S::load_bytes(qs.add(G / 2 * 32));
        let shifted = if G.is_multiple_of(2) { packed } else { S::down::<4>(packed) };
        S::and(shifted, S::splat_byte(15))
    }
}

/// The 6-bit scales and offsets of Q4_K and Q5_K; see `wootz_blocks::formats::unpack_scales_6bit`.
///
/// # Safety
/// 16 bytes must be readable at `block`.
#[inline(always)]
unsafe fn six_bit_scales<S: Simd>(block: *const u8) -> Scales<S> {
    // SAFETY: the caller has the 16 bytes of header at `block`.
    unsafe {
        let word = |i: usize| block.add(4 + 4 * i).cast::<u32>().read_unaligned();
        let (a, b, c) = (word(0), word(1), word(2));
        let high_scales = (c & 0x0f0f_0f0f) | (a >> 2 & 0x3030_3030);
        let high_offsets = (c >> 4 & 0x0f0f_0f0f) | (b >> 2 & 0x3030_3030);
        let scales = u64::from(a & 0x3f3f_3f3f) | u64::from(high_scales) << 32;
        let offsets = u64::from(b & 0x3f3f_3f3f) | u64::from(high_offsets) << 32;
        let scale = S::mul(S::from_bytes(scales), S::splat_half(block));
        let negative = S::mul(S::splat_half(block.add(2)), S::splat(&-1.0));
        let offset = S::mul(S::from_bytes(offsets), negative);
        Scales::whole(scale, offset)
    }
}

/// Two bits of each byte, starting at bit `2 * (G % 4)`.
///
/// # Safety
/// As all of [`Simd`].
#[inline(always)]
unsafe fn two_bits<S: Simd, const G: usize>(packed: S::Bytes) -> S::Bytes {
    // SAFETY: the caller's promise.
    unsafe {
        let shifted = match G % 4 {
            0 => packed,
            1 => S::down::<2>(packed),
            2 => S::down::<4>(packed),
            _ => S::down::<6>(packed),
        };
        S::and(shifted, S::splat_byte(3))
    }
}

/// Bit `G` of each byte, moved to bit 4, and other bits cleared.
///
/// # Safety
/// As all of [`Simd`].
#[inline(always)]
unsafe fn bit_as_16<S: Simd, const G: usize>(bits: S::Bytes) -> S::Bytes {
    // SAFETY: the caller's promise.
    unsafe {
        let shifted = match G {
            0 => S::up::<4>(bits),
            1 => S::up::<3>(bits),
            2 => S::up::<2>(bits),
            3 => S::up::<1>(bits),
            4 => bits,
            5 => S::down::<1>(bits),
            6 => S::down::<2>(bits),
            _ => S::down::<3>(bits),
        };
        S::and(shifted, S::splat_byte(16))
    }
}

macro_rules! large_format {
    (
        $(#[$doc:meta])* $name:ident: $bytes:literal bytes, split $split:literal, signed $signed:literal,
        offset $offset:literal, max $max:literal, codes |$block:ident| $codes:expr, scales |$chunk:ident| $scales:expr
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

            #[inline(always)]
            unsafe fn codes<S: Simd, const G: usize>($block: *const u8) -> S::Bytes {
                // SAFETY: the caller has the block, and its fields are read within its bytes.
                unsafe { $codes }
            }

            #[inline(always)]
            unsafe fn scales<S: Simd>($chunk: *const u8) -> Scales<S> {
                // SAFETY: the caller has the chunk, and its fields are read within its bytes.
                unsafe { $scales }
            }
        }
    };
}

large_format! {
    /// 16 bytes of scales and offsets, 64 bytes of codes, scale of scales, scale of offsets.
    Q2K: 84 bytes, split true, signed false, offset true, max 3,
    codes |b| two_bits::<S, G>(S::load_bytes(b.add(16 + G / 4 * 32))),
    scales |b| {
        const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
        let packed = [eight(b), eight(b.add(8))];
        let scale = times::<S>([packed[0] & LOW, packed[1] & LOW], S::splat_half(b.add(80)));
        let negative = S::mul(S::splat_half(b.add(82)), S::splat(&-1.0));
        Scales { scale, offset: times::<S>([packed[0] >> 4 & LOW, packed[1] >> 4 & LOW], negative) }
    }
}
large_format! {
    /// 32 bytes of third bits, 64 bytes of low bits, 12 bytes of scales, scale of scales; code − 4.
    Q3K: 110 bytes, split true, signed false, offset true, max 7,
    codes |b| {
        let high = bit_as_16::<S, G>(S::load_bytes(b));
        S::or(two_bits::<S, G>(S::load_bytes(b.add(32 + G / 4 * 32))), S::down::<2>(high))
    },
    scales |b| {
        const SIGNS: u64 = 0x8080_8080_8080_8080;
        let word = |i: usize| u64::from(b.add(96 + 4 * i).cast::<u32>().read_unaligned());
        let (low, high) = (word(0) | word(1) << 32, word(2) | word(2) >> 2 << 32);
        let join = |low: u64, high: u64| (low & 0x0f0f_0f0f_0f0f_0f0f) | (high & 0x0303_0303_0303_0303) << 4;
        // Less 32, byte by byte: the borrowed sign keeps each from its neighbour.
        let less = |bytes: u64| ((bytes | SIGNS) - 0x2020_2020_2020_2020) ^ SIGNS;
        let scales = [less(join(low, high)), less(join(low >> 4, high >> 4))];
        Scales::shifted(times::<S>(scales, S::splat_half(b.add(108))), -4.0)
    }
}
large_format! {
    /// Scale of scales, scale of offsets, 12 bytes of both, 128 bytes of nibbles.
    Q4K: 144 bytes, split false, signed false, offset true, max 15,
    codes |b| paired_nibbles::<S, G>(b.add(16)), scales |b| six_bit_scales(b)
}
large_format! {
    /// As Q4_K, with 32 bytes of fifth bits before the nibbles.
    Q5K: 176 bytes, split false, signed false, offset true, max 31,
    codes |b| S::or(paired_nibbles::<S, G>(b.add(48)), bit_as_16::<S, G>(S::load_bytes(b.add(16)))),
    scales |b| six_bit_scales(b)
}
large_format! {
    /// 128 bytes of low nibbles, 64 bytes of high bits, 16 scales, scale of scales; code − 32.
    Q6K: 210 bytes, split true, signed false, offset true, max 63,
    codes |b| {
        let low = S::load_bytes(b.add(G / 4 * 64 + G % 2 * 32));
        let low = if G % 4 < 2 { low } else { S::down::<4>(low) };
        let high = S::load_bytes(b.add(128 + G / 4 * 32));
        let high = match G % 4 {
            0 => S::up::<4>(high),
            1 => S::up::<2>(high),
            2 => high,
            _ => S::down::<2>(high),
        };
        S::or(S::and(low, S::splat_byte(15)), S::and(high, S::splat_byte(48)))
    },
    scales |b| Scales::shifted(times::<S>([eight(b.add(192)), eight(b.add(200))], S::splat_half(b.add(208))), -32.0)
}
large_format! {
    /// Scale of scales, high bits of scales, low nibbles of scales, 128 bytes of nibbles that index a table.
    Iq4Xs: 136 bytes, split false, signed true, offset false, max 128,
    codes |b| S::look_up(&iq4_nl::TABLE, S::nibbles(b.add(8 + 16 * G))),
    scales |b| {
        let high = b.add(2).cast::<u16>().read_unaligned();
        let mut scale = [0f32; 8];
        for (g, scale) in scale.iter_mut().enumerate() {
            let low = *b.add(4 + g / 2) >> (4 * (g % 2)) & 15;
            *scale = f32::from(i16::from(low) + ((high >> (2 * g) & 3) << 4) as i16 - 32);
        }
        let scale = S::mul(S::load(scale.as_ptr()), S::splat_half(b));
        Scales::whole(scale, S::no_floats())
    }
}
