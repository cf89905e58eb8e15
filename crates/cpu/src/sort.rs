//! Stable sorting of rows, with NaN last (first when descending), as NumPy orders.
//!
//! A value becomes an unsigned key of the same order. Where the places are asked for, key and place together are one
//! integer, so that any sort of integers is a stable sort of values; otherwise keys alone are sorted and made into values
//! again. Short rows are sorted by comparing, long ones digit by digit from the lowest, and a very long one by all workers
//! together ([`Together`]).

#[cfg(test)]
mod tests;

use crate::team::{SyncPtr, Worker};
use std::marker::PhantomData;
use std::ops::Range;

/// A type with an order-preserving key.
pub trait SortKey: Copy {
    /// An integer that holds a key.
    type Key: Item;
    /// An integer that holds a key, and below it the place in a row that is not too long.
    type Placed: Item;
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
    ($($t:ty as $unsigned:ty => $key:ty, $placed:ty: $flip:expr;)*) => {$(
        impl SortKey for $t {
            type Key = $key;
            type Placed = $placed;
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
    u8 as u8 => u32, u64: 0;
    u16 as u16 => u32, u64: 0;
    u32 as u32 => u32, u64: 0;
    u64 as u64 => u64, u128: 0;
    i8 as u8 => u32, u64: 1 << 7;
    i16 as u16 => u32, u64: 1 << 15;
    i32 as u32 => u32, u64: 1 << 31;
    i64 as u64 => u64, u128: 1 << 63;
}

macro_rules! float_keys {
    ($($t:ty as $unsigned:ty => $key:ty, $placed:ty;)*) => {$(
        impl SortKey for $t {
            type Key = $key;
            type Placed = $placed;
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
float_keys! {
    f32 as u32 => u32, u64;
    f64 as u64 => u64, u128;
}

/// What turns the order of keys around, if that is asked for.
const fn mask<T: SortKey>(descending: bool) -> u64 {
    if descending { u64::MAX >> (64 - T::BITS) } else { 0 }
}

/// How values become items to sort, and items what is asked for.
pub trait Scheme<T: SortKey> {
    /// What is sorted.
    type Item: Item;
    /// What is asked for.
    type Out;
    /// The bits of an item that hold its key; what is below them rises along the row.
    const BITS: Range<u32>;
    /// The item of a value and its place.
    fn item(value: T, place: usize, descending: bool) -> Self::Item;
    /// What an item stands for.
    fn finish(item: Self::Item, descending: bool) -> Self::Out;
}

/// Values in order.
pub struct Values;

impl<T: SortKey> Scheme<T> for Values {
    type Item = T::Key;
    type Out = T;
    const BITS: Range<u32> = 0..T::BITS;
    #[inline(always)]
    fn item(value: T, _: usize, descending: bool) -> T::Key {
        T::Key::of_key(value.exact_key() ^ mask::<T>(descending))
    }
    #[inline(always)]
    fn finish(item: T::Key, descending: bool) -> T {
        T::from_key(item.to_key() ^ mask::<T>(descending))
    }
}

/// The places of values in order, equal values in their own order; places must fit the lower half of a K.
pub struct Places<K>(PhantomData<K>);

impl<T: SortKey, K: Item> Scheme<T> for Places<K> {
    type Item = K;
    type Out = i64;
    const BITS: Range<u32> = K::HALF..K::HALF + T::BITS;
    #[inline(always)]
    fn item(value: T, place: usize, descending: bool) -> K {
        K::with_place(value.key() ^ mask::<T>(descending), place)
    }
    #[inline(always)]
    fn finish(item: K, _: bool) -> i64 {
        item.place() as i64
    }
}

/// The longest row whose places fit any [`SortKey::Placed`].
pub const LONGEST: usize = u32::MAX as usize;

/// Sorts rows, with memory that is used again from row to row.
#[derive(Default)]
pub struct Sorter<K> {
    items: Vec<K>,
    spare: Vec<K>,
}

impl<K: Item> Sorter<K> {
    /// Writes what is first in order, as many as `first` holds (at most the row's).
    pub fn sort<T: SortKey, S: Scheme<T, Item = K>>(
        &mut self,
        row: &[T],
        descending: bool,
        first: &mut [S::Out],
    ) {
        self.items.clear();
        self.items.extend(row.iter().enumerate().map(|(i, &v)| S::item(v, i, descending)));
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
            self.sort_by_digits(S::BITS)
        }
        for (to, &item) in first.iter_mut().zip(&self.items) {
            *to = S::finish(item, descending);
        }
    }

    /// Digit by digit, each time keeping the order of equal ones; digits that all items share are passed over.
    fn sort_by_digits(&mut self, bits: Range<u32>) {
        let mut counts = vec![[0usize; DIGITS]; bits.len().div_ceil(DIGIT as usize)];
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

/// One row that all workers of a region sort together, digit by digit: each counts the digits of its share, learns from
/// everybody's counts where its items go, and puts them there.
pub struct Together<'a, K> {
    worker: &'a Worker<'a>,
    /// The items, and as much room again.
    items: [SyncPtr<K>; 2],
    counts: SyncPtr<[u32; DIGITS]>,
    len: usize,
}

impl<'a, K: Item> Together<'a, K> {
    /// Bytes of memory for a row of `len` items and so many workers.
    pub const fn bytes(len: usize, workers: usize) -> usize {
        2 * (len * size_of::<K>()).next_multiple_of(64) + workers * size_of::<[u32; DIGITS]>()
    }

    /// # Safety
    /// `memory` must have [`Together::bytes`] bytes, aligned to 64, for `len` items and this many workers, and be used by
    /// nobody else; all workers of the region must make the same calls. `len` is at most [`LONGEST`].
    pub unsafe fn new(worker: &'a Worker<'a>, memory: SyncPtr<u8>, len: usize) -> Self {
        let bytes = (len * size_of::<K>()).next_multiple_of(64);
        let part = |i: usize| memory.get().wrapping_add(i * bytes);
        let items = [SyncPtr::new(part(0).cast()), SyncPtr::new(part(1).cast())];
        Together { worker, items, counts: SyncPtr::new(part(2).cast()), len }
    }

    /// This worker's share of the row.
    pub fn share(&self) -> Range<usize> {
        self.worker.split(self.len, 64 / size_of::<K>())
    }

    /// Sorts by the key in `bits`. `fill` writes this worker's share of the items; the answer is its share of them in order.
    pub fn sort(&mut self, bits: Range<u32>, fill: impl FnOnce(&mut [K])) -> &[K] {
        let share = self.share();
        // SAFETY: workers have disjoint shares of the items and counts of their own; barriers separate writing from reading
        // what others wrote; and `new` promises the memory.
        unsafe {
            fill(self.items[0].slice_mut(share.clone()));
            for bit in bits.step_by(DIGIT as usize) {
                let own = &mut self.counts.slice_mut(self.worker.index()..self.worker.index() + 1)[0];
                own.fill(0);
                let items = self.items[0].slice_mut(share.clone());
                items.iter().for_each(|item| own[item.digit(bit)] += 1);
                self.worker.barrier();
                let starts = self.starts();
                if let Some(mut starts) = starts {
                    let to = self.items[1].get();
                    for item in items {
                        let start = &mut starts[item.digit(bit)];
                        *to.add(*start as usize) = *item;
                        *start += 1;
                    }
                    self.items.swap(0, 1);
                }
                self.worker.barrier();
            }
            self.items[0].slice_mut(share)
        }
    }

    /// Where this worker's items of each digit go; `None` if all items of all workers have the same digit.
    ///
    /// # Safety
    /// Everybody's counts must be there.
    unsafe fn starts(&self) -> Option<Box<[u32; DIGITS]>> {
        let mut starts = Box::new([0; DIGITS]);
        let mut sum = 0;
        for (digit, start) in starts.iter_mut().enumerate() {
            let before = sum;
            for worker in 0..self.worker.count() {
                if worker == self.worker.index() {
                    *start = sum;
                }
                // SAFETY: the caller's promise; nobody writes counts until the next barrier.
                sum += unsafe { (&(*self.counts.get().add(worker)))[digit] };
            }
            if (sum - before) as usize == self.len {
                return None;
            }
        }
        Some(starts)
    }
}

/// An integer that has a key in its upper half and a place in its lower one, or a key alone.
pub trait Item: Ord + Copy + Default {
    /// Bits of the lower half.
    const HALF: u32;
    /// A key alone.
    fn of_key(key: u64) -> Self;
    /// A key above a place.
    fn with_place(key: u64, place: usize) -> Self;
    /// A key that is alone.
    fn to_key(self) -> u64;
    /// The place below a key.
    fn place(self) -> u64;
    /// The digit from this bit on.
    fn digit(self, bit: u32) -> usize;
}

/// Bits of a digit: its counts fit the first cache, and three digits make 32 bits.
const DIGIT: u32 = 11;
const DIGITS: usize = 1 << DIGIT;
/// Rows from this length on are sorted by digits.
const LONG: usize = 2048;

macro_rules! items {
    ($($t:ty)*) => {$(
        impl Item for $t {
            const HALF: u32 = <$t>::BITS / 2;
            #[inline(always)]
            fn of_key(key: u64) -> $t {
                key as $t
            }
            #[inline(always)]
            fn with_place(key: u64, place: usize) -> $t {
                (key as $t) << Self::HALF | place as $t
            }
            #[inline(always)]
            fn to_key(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn place(self) -> u64 {
                (self & ((1 << Self::HALF) - 1)) as u64
            }
            #[inline(always)]
            fn digit(self, bit: u32) -> usize {
                (self >> bit) as usize % DIGITS
            }
        }
    )*};
}
items! { u32 u64 u128 }
