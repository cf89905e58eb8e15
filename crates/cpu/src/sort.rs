//! Stable sorting of rows, with NaN last (first when descending), as NumPy orders.
//!
//! A value becomes an unsigned key of the same order. Where the places are asked for, key and place together are one
//! integer, so that any sort of integers is a stable sort of values; otherwise keys alone are sorted and made into values
//! again. Short rows are sorted by comparing, long ones digit by digit from the lowest.

#[cfg(test)]
mod tests;

use std::ops::Range;

/// A type with an order-preserving key.
pub trait SortKey: Copy {
    /// How many of the key's low bits count.
    const BITS: u32;
    /// The key: zeros of either sign have the same, and so have all NaNs.
    fn key(self) -> u64;
    /// A key from which the value can be made again: a negative zero comes before a positive one.
    fn exact_key(self) -> u64;
    /// The value of an exact key.
    fn from_key(key: u64) -> Self;
}

macro_rules! integer_keys {
    ($($t:ty as $unsigned:ty, $flip:expr;)*) => {$(
        impl SortKey for $t {
            const BITS: u32 = <$unsigned>::BITS;
            #[inline(always)]
            fn key(self) -> u64 {
                (self as $unsigned ^ $flip) as u64
            }
            #[inline(always)]
            fn exact_key(self) -> u64 {
                self.key()
            }
            #[inline(always)]
            fn from_key(key: u64) -> Self {
                (key as $unsigned ^ $flip) as $t
            }
        }
    )*};
}
integer_keys! {
    u8 as u8, 0; u16 as u16, 0; u32 as u32, 0; u64 as u64, 0;
    i8 as u8, 1 << 7; i16 as u16, 1 << 15; i32 as u32, 1 << 31; i64 as u64, 1 << 63;
}

macro_rules! float_keys {
    ($($t:ty as $unsigned:ty;)*) => {$(
        impl SortKey for $t {
            const BITS: u32 = <$unsigned>::BITS;
            #[inline(always)]
            fn key(self) -> u64 {
                // Adding zero makes -0 into 0.
                (self + 0.0).exact_key()
            }
            #[inline(always)]
            fn exact_key(self) -> u64 {
                // Negative numbers rise as their bits fall.
                let bits = self.to_bits();
                let sign = 1 << (<$unsigned>::BITS - 1);
                let key = if bits & sign != 0 { !bits } else { bits | sign };
                if self.is_nan() { <$unsigned>::MAX as u64 } else { key as u64 }
            }
            #[inline(always)]
            fn from_key(key: u64) -> Self {
                let key = key as $unsigned;
                let sign = 1 << (<$unsigned>::BITS - 1);
                Self::from_bits(if key & sign != 0 { key ^ sign } else { !key })
            }
        }
    )*};
}
float_keys! { f32 as u32; f64 as u64; }

/// Sorts rows, with memory that is used again from row to row.
#[derive(Default)]
pub struct Sorter {
    narrow: Items<u32>,
    middle: Items<u64>,
    wide: Items<u128>,
}

/// What turns the order of keys around, if that is asked for.
const fn mask<T: SortKey>(descending: bool) -> u64 {
    if descending { u64::MAX >> (64 - T::BITS) } else { 0 }
}

impl Sorter {
    /// Writes the places of the first values in order, as many as `places` holds (at most the row's), equal values in their
    /// own order.
    pub fn places<T: SortKey>(&mut self, row: &[T], descending: bool, places: &mut [i64]) {
        let key = |value: T| value.key() ^ mask::<T>(descending);
        if T::BITS <= 32 && u32::try_from(row.len()).is_ok() {
            let items = row.iter().enumerate().map(|(i, &v)| key(v) << 32 | i as u64);
            self.middle.sort(items, 32..32 + T::BITS, places, |item| item as u32 as i64);
        } else {
            let items = row.iter().enumerate().map(|(i, &v)| (key(v) as u128) << 64 | i as u128);
            self.wide.sort(items, 64..64 + T::BITS, places, |item| item as u64 as i64);
        }
    }

    /// Writes the first values in order, as many as `sorted` holds (at most the row's).
    pub fn values<T: SortKey>(&mut self, row: &[T], descending: bool, sorted: &mut [T]) {
        let mask = mask::<T>(descending);
        if T::BITS <= 32 {
            let keys = row.iter().map(|v| (v.exact_key() ^ mask) as u32);
            self.narrow.sort(keys, 0..T::BITS, sorted, |key| T::from_key(key as u64 ^ mask));
        } else {
            let keys = row.iter().map(|v| v.exact_key() ^ mask);
            self.middle.sort(keys, 0..T::BITS, sorted, |key| T::from_key(key ^ mask));
        }
    }
}

/// An integer that has a key in some of its upper bits.
trait Item: Ord + Copy + Default {
    /// The digit from this bit on.
    fn digit(self, bit: u32) -> usize;
}

/// Bits of a digit: its counts fit the first cache, and three digits make 32 bits.
const DIGIT: u32 = 11;
/// Rows from this length on are sorted by digits.
const LONG: usize = 2048;

macro_rules! items {
    ($($t:ty)*) => {$(
        impl Item for $t {
            #[inline(always)]
            fn digit(self, bit: u32) -> usize {
                (self >> bit) as usize % (1 << DIGIT)
            }
        }
    )*};
}
items! { u32 u64 u128 }

/// Items, and as much room again.
#[derive(Default)]
struct Items<K> {
    items: Vec<K>,
    spare: Vec<K>,
}

impl<K: Item> Items<K> {
    /// Sorts by the key in `bits`, what is below being in order already, and writes what `finish` makes of the first items.
    fn sort<T>(
        &mut self,
        items: impl Iterator<Item = K>,
        bits: Range<u32>,
        first: &mut [T],
        finish: impl Fn(K) -> T,
    ) {
        self.items.clear();
        self.items.extend(items);
        let limit = first.len();
        if limit == 0 {
            return;
        }
        if limit < self.items.len() / 4 {
            self.items.select_nth_unstable(limit - 1);
            self.items.truncate(limit);
        }
        if self.items.len() < LONG {
            self.items.sort_unstable()
        } else {
            self.sort_by_digits(bits)
        }
        for (to, &item) in first.iter_mut().zip(&self.items) {
            *to = finish(item);
        }
    }

    /// Digit by digit, each time keeping the order of equal ones; digits that all items share are passed over.
    fn sort_by_digits(&mut self, bits: Range<u32>) {
        let mut counts = vec![[0usize; 1 << DIGIT]; bits.len().div_ceil(DIGIT as usize)];
        for &item in &self.items {
            for (bit, counts) in bits.clone().step_by(DIGIT as usize).zip(&mut counts) {
                counts[item.digit(bit)] += 1;
            }
        }
        self.spare.clear();
        self.spare.resize(self.items.len(), K::default());
        for (bit, starts) in bits.step_by(DIGIT as usize).zip(&mut counts) {
            if starts.contains(&self.items.len()) {
                continue;
            }
            let mut sum = 0;
            for start in starts.iter_mut() {
                sum += std::mem::replace(start, sum);
            }
            for &item in &self.items {
                let start = &mut starts[item.digit(bit)];
                self.spare[*start] = item;
                *start += 1;
            }
            std::mem::swap(&mut self.items, &mut self.spare);
        }
    }
}
