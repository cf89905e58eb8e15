//! The operations that kernels need from an instruction set.
//!
//! [`Lanes`] is the arithmetic of products, over vectors of any width; [`Simd`] adds unpacking of codes and scales,
//! 32 codes at a time. Both are implemented by [`ymm`] (AVX2, with or without VNNI) and [`neon`] (with or without the
//! dot product extension); [`zmm`] (AVX-512 VNNI) has wider lanes for what [`ymm`] unpacks: those of the tile kernel,
//! and both groups of a [`Couple`].

/// Methods of [`Lanes`] and [`Simd`] whose body is one expression of intrinsics.
macro_rules! methods {
    ($(fn $name:ident$(<const $n:ident>)?($($arg:ident: $ty:ty),*) $(-> $ret:ty)? = $body:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name$(<const $n: i32>)?($($arg: $ty),*) $(-> $ret)? {
            // SAFETY: the caller promises the processor's features and valid pointers.
            unsafe { $body }
        }
    )*};
}

#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
#[cfg(target_arch = "x86_64")]
pub(super) mod ymm;
#[cfg(target_arch = "x86_64")]
pub(super) mod zmm;

/// Arithmetic on vectors of 32-bit lanes, each of which can be seen as 4 bytes.
///
/// # Safety
/// Every method may only be called where the processor has the set, and inlines into a function that is compiled for it.
/// Pointers must be valid for as many values as the method says, and need no alignment unless it says so.
pub(super) trait Lanes: Copy {
    /// 4 bytes per lane.
    type Bytes: Copy;
    /// An integer of 32 bits per lane; or two of 16 bits, where a method says "pairs".
    type Ints: Copy;
    /// A float per lane.
    type Floats: Copy;

    /// Lanes of a vector: 8 or 16.
    const COUNT: usize;
    /// Whether four products are summed by one instruction. Where not, [`tile`](super::tile) adds up pairs first.
    const FUSED: bool;
    /// How many activation rows fill the registers beside two vectors of weights.
    const ACTS: usize;
    /// The same where codes and fine codes are summed side by side, so that weights are loaded once for both; 0 where registers
    /// are too few for that.
    const PRECISE_ACTS: usize = 0;
    /// Whether signed codes are better made unsigned by adding 128 when they are unpacked, and the sum of the activations
    /// subtracted 128 times, than product by product.
    const SHIFTS_SIGNED: bool = false;

    /// As many bytes at an address that is a multiple of their number.
    unsafe fn load_aligned(at: *const u8) -> Self::Bytes;
    /// 4 bytes, in every lane.
    unsafe fn splat_four(at: *const i8) -> Self::Bytes;

    /// All zero.
    unsafe fn no_ints() -> Self::Ints;
    /// One integer, in every lane.
    unsafe fn splat_int(at: *const i32) -> Self::Ints;
    /// Sums of 2 neighbouring products, as pairs. Codes are below 128, or signed.
    unsafe fn pairs(codes: Self::Bytes, acts: Self::Bytes, signed: bool) -> Self::Ints;
    /// Pair by pair.
    unsafe fn add_pairs(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    /// Adds neighbouring pairs.
    unsafe fn widen(pairs: Self::Ints) -> Self::Ints;
    /// Integer by integer.
    unsafe fn add_ints(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    /// Integers shifted up by 8.
    unsafe fn times_256(a: Self::Ints) -> Self::Ints;
    /// Adds sums of 4 neighbouring products. Codes are below 128, or signed.
    unsafe fn dot(sum: Self::Ints, codes: Self::Bytes, acts: Self::Bytes, signed: bool) -> Self::Ints;

    /// All zero.
    unsafe fn no_floats() -> Self::Floats;
    /// A float per lane.
    unsafe fn load(at: *const f32) -> Self::Floats;
    /// To memory.
    unsafe fn store(a: Self::Floats, to: *mut f32);
    /// One float, in every lane.
    unsafe fn splat(at: *const f32) -> Self::Floats;
    /// `a + b`.
    unsafe fn add(a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `a * b`.
    unsafe fn mul(a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `a * b + c`, rounded once.
    unsafe fn mul_add(a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
    /// From integers.
    unsafe fn from_ints(a: Self::Ints) -> Self::Floats;
}

/// Where two neighbouring groups of 32 codes meet their activations.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// 64 codes, and as many fine codes if there are any.
    pub codes: *const i8,
    pub fine: *const i8,
    /// A scale for each group, or for each half of them, aligned to 8 bytes.
    pub scales: *const f32,
}

/// Running sums of products of two groups at a time, which are those of every other group each.
///
/// # Safety
/// As [`Lanes`]; the addresses of a [`Place`] must be readable.
pub(super) trait Couple<S: Simd> {
    /// Sums of both.
    type Sums: Copy;
    /// All zero.
    unsafe fn none() -> Self::Sums;
    /// Adds the scaled products of two groups: `PRECISE` with fine codes, `SPLIT` with a scale for each half of a group.
    unsafe fn add<const PRECISE: bool, const SPLIT: bool, const SIGNED: bool>(
        sums: Self::Sums,
        codes: [S::Bytes; 2],
        at: Place,
    ) -> Self::Sums;
    /// The sums of one added to those of the other.
    unsafe fn both(sums: Self::Sums) -> S::Floats;
}

/// One group after the other, by an instruction set without wider vectors. Their additions overlap.
#[derive(Clone, Copy)]
pub(super) struct Apart;

impl<S: Simd> Couple<S> for Apart {
    type Sums = [S::Floats; 2];

    methods! {
        fn none() -> [S::Floats; 2] = [S::no_floats(); 2];
        fn both(sums: [S::Floats; 2]) -> S::Floats = S::add(sums[0], sums[1]);
    }

    #[inline(always)]
    unsafe fn add<const PRECISE: bool, const SPLIT: bool, const SIGNED: bool>(
        mut sums: [S::Floats; 2],
        codes: [S::Bytes; 2],
        at: Place,
    ) -> [S::Floats; 2] {
        // SAFETY: the caller's promises.
        unsafe {
            for i in 0..2 {
                let acts = S::load_bytes(at.codes.add(32 * i).cast());
                let mut products = S::dot(S::no_ints(), codes[i], acts, SIGNED);
                if PRECISE {
                    let acts = S::load_bytes(at.fine.add(32 * i).cast());
                    products = S::dot(S::times_256(products), codes[i], acts, SIGNED);
                }
                let scale =
                    if SPLIT { S::splat_two(at.scales.add(2 * i)) } else { S::splat(at.scales.add(i)) };
                sums[i] = S::mul_add(S::from_ints(products), scale, sums[i]);
            }
            sums
        }
    }
}

/// Chains of multiply-adds of bytes as the tile kernel has them, for a number of rounds: the rate that products are judged by.
/// Returns the operations that were done.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
pub(super) unsafe fn chains<L: Lanes>(rounds: usize) -> usize {
    const CHAINS: usize = 12;
    #[repr(align(64))]
    struct Aligned([u8; 64]);
    let ones = std::hint::black_box(Aligned([1; 64]));
    // SAFETY: the caller promises the set; there are 64 aligned bytes.
    unsafe {
        let codes = L::load_aligned(ones.0.as_ptr());
        let acts = L::splat_four(ones.0.as_ptr().cast());
        let mut sums = [L::no_ints(); CHAINS];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = if L::FUSED {
                    L::dot(*sum, codes, acts, false)
                } else {
                    L::add_pairs(*sum, L::pairs(codes, acts, false))
                };
            }
        }
        std::hint::black_box(sums);
    }
    rounds * CHAINS * L::COUNT * 4 * 2
}

/// An instruction set whose vectors have 8 lanes, with what unpacks a group of 32 codes.
///
/// # Safety
/// As [`Lanes`].
pub(super) trait Simd: Lanes {
    /// 32 bytes.
    unsafe fn load_bytes(at: *const u8) -> Self::Bytes;
    /// One byte, 32 times.
    unsafe fn splat_byte(byte: u8) -> Self::Bytes;
    /// The nibbles of 16 bytes, low ones first.
    unsafe fn nibbles(at: *const u8) -> Self::Bytes;
    /// The bits of 4 bytes as 32 bytes of 0 or 16.
    unsafe fn bits_as_16(at: *const u8) -> Self::Bytes;
    /// Each byte of `index` (0–15) replaced by its entry of the table.
    unsafe fn look_up(table: &[i8; 16], index: Self::Bytes) -> Self::Bytes;
    /// Bitwise and.
    unsafe fn and(a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// Bitwise or.
    unsafe fn or(a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// Byte by byte.
    unsafe fn add_bytes(a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// Bytes shifted up by `N` (1–7). Bits of a neighbour may come in from below: mask them.
    unsafe fn up<const N: i32>(a: Self::Bytes) -> Self::Bytes;
    /// Bytes shifted down by `N` (1–7). Bits of a neighbour may come in from above: mask them.
    unsafe fn down<const N: i32>(a: Self::Bytes) -> Self::Bytes;

    /// The first of two floats 4 times, then the other. `at` is aligned to 8 bytes.
    unsafe fn splat_two(at: *const f32) -> Self::Floats;
    /// Each of 8 floats twice.
    unsafe fn twice(a: Self::Floats) -> [Self::Floats; 2];
    /// The first `n` floats, and zeros.
    unsafe fn first(a: Self::Floats, n: usize) -> Self::Floats;
    /// The sum of all 8.
    unsafe fn sum(a: Self::Floats) -> f32;
    /// From 8 signed bytes, the first in the lowest bits.
    unsafe fn from_bytes(bytes: u64) -> Self::Floats;
    /// A half-precision number, 8 times.
    unsafe fn splat_half(at: *const u8) -> Self::Floats;
    /// From 8 half-precision numbers, the first in the lowest bits.
    unsafe fn from_halves(halves: [u64; 2]) -> Self::Floats;
    /// From 8 pairs of half-precision numbers: the first of each, and the second of each.
    unsafe fn from_half_pairs(pairs: [u64; 4]) -> [Self::Floats; 2];
    /// 32-bit words of 8 vectors, transposed: word `i` of all at `to + i * stride`, for every `i`. `to` is aligned to 32
    /// bytes, and `stride` a multiple of 8 words.
    unsafe fn store_transposed(words: &[Self::Floats; 8], to: *mut f32, stride: usize);
    /// The same bits.
    unsafe fn as_words(bytes: Self::Bytes) -> Self::Floats;
}
