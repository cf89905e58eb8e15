//! Integer sorting with AVX-512: a quicksort whose partitions alternate between two arrays, and a sorting network for
//! up to four registers.
//!
//! A register of elements is compared with the pivot at once; smaller ones are compressed to the front of the other
//! array, the rest to its end. The network is Batcher's bitonic sort: in its stage (k, j) element i is compared with
//! element i ^ j, and pairs are ascending if bit k of i is clear.

use crate::stop;
use std::arch::x86_64::*;

/// Registers that the network sorts at most.
const REGISTERS: usize = 8;

/// Registers that are loaded at once: a load waits for the stores before it, whose places are known late.
const AT_ONCE: usize = 8;

/// Items from which a partition is long enough to look before it whether the run was asked to stop.
const MANY: usize = 1 << 16;

/// For the lanes of each register in stage (k, j): which of them keep the larger of a pair.
const fn keeps_larger<const WIDTH: usize, const R: usize>(k: usize, j: usize) -> [u16; R] {
    let mut masks = [0; R];
    let mut i = 0;
    while i < R * WIDTH {
        let rises = i & k == 0;
        let is_upper = i & j != 0;
        if rises == is_upper {
            masks[i / WIDTH] |= 1 << (i % WIDTH);
        }
        i += 1;
    }
    masks
}

macro_rules! vector_sort {
    (
        $name:ident, $t:ty, $lane:ty, $width:literal, $mask:ty,
        $splat:ident, $load:ident, $load_some:ident, $store:ident, $store_some:ident,
        $less:ident, $compress:ident, $min:ident, $max:ident, $permute:ident, $blend:ident, $expand:ident
    ) => {
        pub mod $name {
            use super::*;

            const WIDTH: usize = $width;

            /// Sorts items, with as much room again.
            ///
            /// # Panics
            /// If there is less room.
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
            pub fn sort(items: &mut [$t], spare: &mut [$t]) {
                assert!(items.len() <= spare.len(), "no room to sort in");
                let n = items.len();
                // Twice as deep as halving goes: then the pivots are bad, and another sort takes over.
                let depth = 2 * (usize::BITS - n.leading_zeros());
                // SAFETY: both have room for `n` items, and do not overlap.
                unsafe { quick(items.as_mut_ptr(), spare.as_mut_ptr(), n, true, depth) }
            }

            /// Puts what is below a value to the front of `to` and the rest to its end; how many are in front.
            ///
            /// # Panics
            /// If there is less room than there are items.
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
            pub fn divide(from: &[$t], to: &mut [$t], value: $t) -> usize {
                assert!(from.len() <= to.len(), "no room to divide into");
                // SAFETY: both have room for the items, and do not overlap.
                unsafe { partition::<false>(from.as_ptr(), to.as_mut_ptr(), from.len(), value) }
            }

            /// Sorts the `n` items at `from`, with room at `to`; the result is at `from` if they come `back`, else at `to`.
            ///
            /// # Safety
            /// There are `n` items at `from`, and room for as many at `to`, which do not overlap.
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn quick(from: *mut $t, to: *mut $t, n: usize, back: bool, depth: u32) {
                // SAFETY: the caller's promise; both parts of a partition lie inside.
                unsafe {
                    if n <= REGISTERS * WIDTH {
                        let to = if back { from } else { to };
                        return match n.div_ceil(WIDTH) {
                            0 | 1 => network::<1>(from, to, n),
                            2 => network::<2>(from, to, n),
                            3 | 4 => network::<4>(from, to, n),
                            _ => network::<REGISTERS>(from, to, n),
                        };
                    }
                    if depth == 0 {
                        std::slice::from_raw_parts_mut(from, n).sort_unstable();
                        if !back {
                            std::ptr::copy_nonoverlapping(from, to, n);
                        }
                        return;
                    }
                    if n >= MANY {
                        stop::check();
                    }
                    let pivot = pivot(from, n);
                    let mut left = partition::<false>(from, to, n, pivot);
                    if left > 0 {
                        quick(to, from, left, !back, depth - 1);
                    } else {
                        // Nothing is below the pivot, so what equals it is in order.
                        left = partition::<true>(from, to, n, pivot);
                        if back {
                            std::ptr::copy_nonoverlapping(to, from, left);
                        }
                    }
                    quick(to.add(left), from.add(left), n - left, !back, depth - 1);
                }
            }

            /// The middle one of some items.
            ///
            /// # Safety
            /// There are `n` items, more than the network sorts.
            #[inline]
            unsafe fn pivot(from: *const $t, n: usize) -> $t {
                let middle = |a: $t, b: $t, c: $t| a.min(b).max(a.max(b).min(c));
                // SAFETY: places are below `n`.
                let at = |i: usize| unsafe { *from.add(i * (n / 16)) };
                if n < 1024 {
                    return middle(at(3), at(8), at(13));
                }
                if n >= MANY {
                    // SAFETY: places are below `n`.
                    let mut sample: [$t; 63] = std::array::from_fn(|i| unsafe { *from.add(i * (n / 63)) });
                    sample.sort_unstable();
                    return sample[31];
                }
                middle(
                    middle(at(0), at(2), at(4)),
                    middle(at(6), at(8), at(10)),
                    middle(at(11), at(13), at(15)),
                )
            }

            /// Puts what is below the pivot (or equal to it) to the front of `to` and the rest to its end; how many are in front.
            ///
            /// # Safety
            /// As for [`quick`].
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn partition<const OR_EQUAL: bool>(
                from: *const $t,
                to: *mut $t,
                n: usize,
                pivot: $t,
            ) -> usize {
                let pivots = $splat(pivot as $lane);
                let (mut left, mut right) = (0, n);
                let below = |items: __m512i| -> $mask {
                    if OR_EQUAL { !$less(pivots, items) } else { $less(items, pivots) }
                };
                let whole = n - n % WIDTH;
                let mut i = 0;
                // SAFETY: between `left` and `right` there is room for all items that are not placed yet. With two registers of
                // them, whole registers can be stored at both ends: what is written too much is within that room, and is
                // written over. With fewer, only what counts is stored at the end.
                unsafe {
                    let mut place = |items: __m512i| {
                        let mask = below(items);
                        let count = mask.count_ones() as usize;
                        let rest = $compress(!mask, items);
                        $store(to.add(left).cast(), $compress(mask, items));
                        $store(to.add(right - WIDTH).cast(), $expand(<$mask>::MAX << (count % WIDTH), rest));
                        left += count;
                        right -= WIDTH - count;
                    };
                    while i + (AT_ONCE + 1) * WIDTH <= n {
                        let mut items = [$splat(0); AT_ONCE];
                        for (r, items) in items.iter_mut().enumerate() {
                            *items = $load(from.add(i + r * WIDTH).cast());
                        }
                        for items in items {
                            place(items);
                        }
                        i += AT_ONCE * WIDTH;
                    }
                    while i + 2 * WIDTH <= n {
                        place($load(from.add(i).cast()));
                        i += WIDTH;
                    }
                    while i < whole {
                        let items = $load(from.add(i).cast());
                        let mask = below(items);
                        let count = mask.count_ones() as usize;
                        $store(to.add(left).cast(), $compress(mask, items));
                        left += count;
                        right -= WIDTH - count;
                        let rest = ((1u32 << (WIDTH - count)) - 1) as $mask;
                        $store_some(to.add(right).cast(), rest, $compress(!mask, items));
                        i += WIDTH;
                    }
                    let there = ((1u32 << (n - whole)) - 1) as $mask;
                    let items = $load_some($splat(0), there, from.add(whole).cast());
                    let mask = below(items) & there;
                    let count = mask.count_ones() as usize;
                    $store_some(to.add(left).cast(), ((1u32 << count) - 1) as $mask, $compress(mask, items));
                    left += count;
                    let rest = ((1u32 << (n - whole - count)) - 1) as $mask;
                    $store_some(to.add(left).cast(), rest, $compress(!mask & there, items));
                }
                left
            }

            /// One stage of the network.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
            fn stage<const R: usize, const K: usize, const J: usize>(v: &mut [__m512i; R]) {
                // A smaller network has fewer stages.
                if K > R * WIDTH {
                    return;
                }
                if J >= WIDTH {
                    for a in 0..R {
                        let b = a ^ (J / WIDTH);
                        if b < a {
                            continue;
                        }
                        let (low, high) = ($min(v[a], v[b]), $max(v[a], v[b]));
                        (v[a], v[b]) = if (a * WIDTH) & K == 0 { (low, high) } else { (high, low) };
                    }
                    return;
                }
                const fn partners<const J: usize>() -> [$t; WIDTH] {
                    let mut places = [0; WIDTH];
                    let mut i = 0;
                    while i < WIDTH {
                        places[i] = (i ^ J) as $t;
                        i += 1;
                    }
                    places
                }
                let masks = const { keeps_larger::<WIDTH, R>(K, J) };
                // SAFETY: the array fills a register.
                let partners = unsafe { $load(const { &partners::<J>() }.as_ptr().cast()) };
                for r in 0..R {
                    let other = $permute(partners, v[r]);
                    v[r] = $blend(masks[r] as $mask, $min(v[r], other), $max(v[r], other));
                }
            }

            /// Sorts as many items as fit `R` registers, from one place to another.
            ///
            /// # Safety
            /// There are `n` items at `from`, at most what the registers hold, and room for them at `to`.
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn network<const R: usize>(from: *const $t, to: *mut $t, n: usize) {
                let last = $splat(<$t>::MAX as $lane);
                let there = |r: usize| ((1u64 << n.saturating_sub(r * WIDTH).min(WIDTH)) - 1) as $mask;
                let mut v = [last; R];
                for r in 0..R {
                    // SAFETY: the mask leaves out what is not there.
                    v[r] = unsafe { $load_some(last, there(r), from.wrapping_add(r * WIDTH).cast()) };
                }
                let v = &mut v;
                stage::<R, 2, 1>(v);
                stage::<R, 4, 2>(v);
                stage::<R, 4, 1>(v);
                stage::<R, 8, 4>(v);
                stage::<R, 8, 2>(v);
                stage::<R, 8, 1>(v);
                stage::<R, 16, 8>(v);
                stage::<R, 16, 4>(v);
                stage::<R, 16, 2>(v);
                stage::<R, 16, 1>(v);
                stage::<R, 32, 16>(v);
                stage::<R, 32, 8>(v);
                stage::<R, 32, 4>(v);
                stage::<R, 32, 2>(v);
                stage::<R, 32, 1>(v);
                stage::<R, 64, 32>(v);
                stage::<R, 64, 16>(v);
                stage::<R, 64, 8>(v);
                stage::<R, 64, 4>(v);
                stage::<R, 64, 2>(v);
                stage::<R, 64, 1>(v);
                stage::<R, 128, 64>(v);
                stage::<R, 128, 32>(v);
                stage::<R, 128, 16>(v);
                stage::<R, 128, 8>(v);
                stage::<R, 128, 4>(v);
                stage::<R, 128, 2>(v);
                stage::<R, 128, 1>(v);
                for r in 0..R {
                    // SAFETY: the mask leaves out what has no room.
                    unsafe { $store_some(to.wrapping_add(r * WIDTH).cast(), there(r), v[r]) };
                }
            }
        }
    };
}

vector_sort!(
    wide32,
    u32,
    i32,
    16,
    __mmask16,
    _mm512_set1_epi32,
    _mm512_loadu_epi32,
    _mm512_mask_loadu_epi32,
    _mm512_storeu_epi32,
    _mm512_mask_storeu_epi32,
    _mm512_cmplt_epu32_mask,
    _mm512_maskz_compress_epi32,
    _mm512_min_epu32,
    _mm512_max_epu32,
    _mm512_permutexvar_epi32,
    _mm512_mask_blend_epi32,
    _mm512_maskz_expand_epi32
);
vector_sort!(
    wide64,
    u64,
    i64,
    8,
    __mmask8,
    _mm512_set1_epi64,
    _mm512_loadu_epi64,
    _mm512_mask_loadu_epi64,
    _mm512_storeu_epi64,
    _mm512_mask_storeu_epi64,
    _mm512_cmplt_epu64_mask,
    _mm512_maskz_compress_epi64,
    _mm512_min_epu64,
    _mm512_max_epu64,
    _mm512_permutexvar_epi64,
    _mm512_mask_blend_epi64,
    _mm512_maskz_expand_epi64
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Level, available};

    /// Orders that are hard on a quicksort, and lengths around what the network sorts.
    #[test]
    fn every_order_is_sorted() {
        if !available().contains(&Level::Avx512) {
            return;
        }
        let mixed = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        let orders: [fn(u64) -> u64; 7] = [
            |i| i,
            |i| u64::MAX - i,
            |_| 5,
            |i| i % 3,
            |i| i ^ 1,
            |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            |i| {
                if i % 5 == 0 { u64::MAX } else { i * i % 101 }
            },
        ];
        for n in (0..200).chain([1000, 1023, 1024, 5000, 70_000]) {
            for order in orders {
                let items: Vec<u64> = (0..n).map(|i| order(mixed(i) % (2 * n + 1))).collect();
                let mut want = items.clone();
                want.sort_unstable();
                let mut sorted = items.clone();
                // SAFETY: the processor has the instructions.
                unsafe { wide64::sort(&mut sorted, &mut vec![0; n as usize]) };
                assert_eq!(sorted, want, "{n}");
                let mut sorted: Vec<u32> = items.iter().map(|&v| v as u32).collect();
                let mut want = sorted.clone();
                want.sort_unstable();
                // SAFETY: the processor has the instructions.
                unsafe { wide32::sort(&mut sorted, &mut vec![0; n as usize]) };
                assert_eq!(sorted, want, "{n}");
            }
        }
    }
}
