//! Stable sorting of rows in NumPy's order: NaN last (first when descending).
//!
//! A value becomes an unsigned key of the same order. If positions are requested, key and position together form one
//! integer, so that any integer sort is a stable sort of values; otherwise only keys are sorted and converted back to
//! values. Short rows are sorted by comparisons, long ones with vector instructions if available (`vector`) and
//! otherwise by an LSD radix sort, and very long ones by all workers together ([`Together`]).

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vector;

#[cfg(target_arch = "x86_64")]
use crate::isa;
use crate::isa::{Isa, Kernel, dispatch};
use crate::stop;
use crate::team::{SyncPtr, Worker, split_range};
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
    /// The values.
    type Item: Item;
    /// The result.
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

/// The positions of sorted values, stably; positions must fit in the lower half of a K.
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

/// Writes the items of values, the first of which has this place in its row.
pub fn fill<T: SortKey, S: Scheme<T>>(items: &mut [S::Item], values: &[T], first: usize, descending: bool) {
    dispatch(Fill::<T, S> { items, values, first, descending });
}

struct Fill<'a, T: SortKey, S: Scheme<T>> {
    items: &'a mut [S::Item],
    values: &'a [T],
    first: usize,
    descending: bool,
}

impl<T: SortKey, S: Scheme<T>> Kernel for Fill<'_, T, S> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for (i, (item, &value)) in self.items.iter_mut().zip(self.values).enumerate() {
            *item = S::item(value, self.first + i, self.descending);
        }
    }
}

/// Writes what items stand for.
pub fn finish<T: SortKey, S: Scheme<T>>(out: &mut [S::Out], items: &[S::Item], descending: bool) {
    dispatch(Finish::<T, S> { out, items, descending });
}

struct Finish<'a, T: SortKey, S: Scheme<T>> {
    out: &'a mut [S::Out],
    items: &'a [S::Item],
    descending: bool,
}

impl<T: SortKey, S: Scheme<T>> Kernel for Finish<'_, T, S> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for (to, &item) in self.out.iter_mut().zip(self.items) {
            *to = S::finish(item, self.descending);
        }
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
        self.items.resize(row.len(), K::default());
        fill::<T, S>(&mut self.items, row, 0, descending);
        let limit = first.len();
        if limit == 0 {
            return;
        }
        if limit < self.items.len() / 4 {
            self.items.select_nth_unstable(limit - 1);
            self.items.truncate(limit);
        }
        let n = self.items.len();
        if n >= FEW && K::has_vectors() {
            if self.spare.len() < n {
                self.spare.resize(n, K::default());
            }
            K::sort_by_vectors(&mut self.items, &mut self.spare);
        } else if n < LONG {
            self.items.sort_unstable()
        } else {
            self.sort_by_digits(S::BITS)
        }
        finish::<T, S>(first, &self.items, descending);
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
            stop::check();
            if starts.contains(&self.items.len()) {
                continue;
            }
            let mut sum = 0;
            for start in starts.iter_mut() {
                sum += std::mem::replace(start, sum);
            }
            let (items, spare) = (self.items.as_slice(), self.spare.as_mut_slice());
            for &item in items {
                let start = &mut starts[item.digit(bit)];
                spare[*start] = item;
                *start += 1;
            }
            std::mem::swap(&mut self.items, &mut self.spare);
        }
    }
}

/// One row that all workers of a region sort together. With vectors, each divides its share by ranges of values, which a sample of
/// the row makes, and sorts the items of one range. Digit by digit, each counts the digits of its share, learns from everybody's
/// counts where its items go, and puts them there.
pub struct Together<'a, K> {
    worker: &'a Worker<'a>,
    /// The items, and as much room again.
    items: [SyncPtr<K>; 2],
    counts: SyncPtr<[u32; DIGITS]>,
    len: usize,
}

impl<'a, K: Item> Together<'a, K> {
    /// Bytes of memory for a row of `len` items and that many workers.
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
        self.share_of(self.worker.index())
    }

    fn share_of(&self, worker: usize) -> Range<usize> {
        split_range(self.len, 64 / size_of::<K>(), worker, self.worker.count())
    }

    /// Sorts by the key in `bits`. `fill` writes this worker's share of the items; the answer is a part of them in order, and
    /// which part: every worker has another.
    pub fn sort(&mut self, bits: Range<u32>, fill: impl FnOnce(&mut [K])) -> (Range<usize>, &[K]) {
        let share = self.share();
        // SAFETY: workers have disjoint shares of the items, and `new` promises the memory.
        fill(unsafe { self.items[0].slice_mut(share.clone()) });
        if K::has_vectors() && self.worker.count() <= MOST_RANGES {
            // SAFETY: every worker comes here.
            return unsafe { self.sort_range() };
        }
        // SAFETY: `new` promises the memory; every worker comes here, writes its own share, and barriers separate writing
        // from reading what others wrote.
        unsafe {
            for bit in bits.step_by(DIGIT as usize) {
                stop::check();
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
            (share.clone(), self.items[0].slice_mut(share))
        }
    }

    /// Sorts the items of this worker's range of values.
    ///
    /// # Safety
    /// Every worker's share of the items is written, and every worker calls it.
    unsafe fn sort_range(&mut self) -> (Range<usize>, &[K]) {
        let (worker, workers) = (self.worker.index(), self.worker.count());
        let [items, spare] = self.items;
        // SAFETY: between the barriers all items are read and nothing is written; or each worker uses its own share of both and
        // writes its own counts; or it reads the spare room and writes its own range of items; or it uses its own range of both.
        unsafe {
            if workers == 1 {
                let all = items.slice_mut(0..self.len);
                K::sort_by_vectors(all, spare.slice_mut(0..self.len));
                return (0..self.len, all);
            }
            self.worker.barrier();
            let borders = borders(std::slice::from_raw_parts(items.get(), self.len), workers);
            self.worker.barrier();
            let share = self.share();
            let own = &mut self.counts.slice_mut(worker..worker + 1)[0][..workers];
            divide(items.slice_mut(share.clone()), spare.slice_mut(share), &borders, own);
            self.worker.barrier();
            // Everybody's items of this worker's range come together.
            let counts = |w: usize| &(&(*self.counts.get().add(w)))[..workers];
            let before = |w: usize, range: usize| counts(w)[..range].iter().sum::<u32>() as usize;
            let start: usize = (0..workers).map(|w| before(w, worker)).sum();
            let mut end = start;
            for w in 0..workers {
                let n = counts(w)[worker] as usize;
                let from = self.share_of(w).start + before(w, worker);
                items.slice_mut(end..end + n).copy_from_slice(spare.slice_mut(from..from + n));
                end += n;
            }
            self.worker.barrier();
            let sorted = items.slice_mut(start..end);
            K::sort_by_vectors(sorted, spare.slice_mut(start..end));
            (start..end, sorted)
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

/// Values that divide items into a range for each worker, by a sample: a range begins with its border.
fn borders<K: Item>(all: &[K], workers: usize) -> Vec<K> {
    const SAMPLES: usize = 64;
    if all.is_empty() {
        return vec![K::default(); workers - 1];
    }
    let count = SAMPLES * workers;
    let mut sample: Vec<K> = (0..count).map(|i| all[i * all.len() / count]).collect();
    sample.sort_unstable();
    (1..workers).map(|worker| sample[worker * SAMPLES]).collect()
}

/// Puts items into the order of the ranges that borders make, in other memory, and says how many there are in each range.
fn divide<K: Item>(items: &mut [K], to: &mut [K], borders: &[K], counts: &mut [u32]) {
    let mut start = 0;
    for (i, (&border, count)) in borders.iter().zip(&mut *counts).enumerate() {
        if i > 0 {
            items[start..].copy_from_slice(&to[start..]);
        }
        let below = K::divide_by_vectors(&items[start..], &mut to[start..], border);
        *count = below as u32;
        start += below;
    }
    counts[borders.len()] = (items.len() - start) as u32;
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
    /// Whether [`Item::sort_by_vectors`] can be called.
    fn has_vectors() -> bool {
        false
    }
    /// Puts what is below a value to the front of `to` and the rest to its end, with vector instructions; how many are in front.
    fn divide_by_vectors(from: &[Self], to: &mut [Self], value: Self) -> usize {
        let _ = (from, to, value);
        unreachable!("there are no vector instructions for these items");
    }
    /// Sorts items with vector instructions, with as much room again.
    fn sort_by_vectors(items: &mut [Self], spare: &mut [Self]) {
        let _ = (items, spare);
        unreachable!("there are no vector instructions for these items");
    }
}

/// Bits of a digit. More would make fewer passes, but each writes to as many pages at a time as there are digits: beyond some
/// hundred, every write misses the translation buffer.
const DIGIT: u32 = 8;
const DIGITS: usize = 1 << DIGIT;
/// Rows from this length on are sorted by digits.
const LONG: usize = 2048;
/// Rows from this length on are worth vector instructions.
const FEW: usize = 24;
/// Workers that divide a row by values; each of them reads all of it.
const MOST_RANGES: usize = 16;

macro_rules! items {
    ($($t:ty $(: $vectors:ident)?)*) => {$(
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
            $(
                #[cfg(target_arch = "x86_64")]
                fn has_vectors() -> bool {
                    isa::level() == isa::Level::Avx512
                }
                #[cfg(target_arch = "x86_64")]
                fn divide_by_vectors(from: &[$t], to: &mut [$t], value: $t) -> usize {
                    assert!(Self::has_vectors(), "the processor has no such vectors, or was not to use them");
                    // SAFETY: the level says that the processor has them.
                    unsafe { vector::$vectors::divide(from, to, value) }
                }
                #[cfg(target_arch = "x86_64")]
                fn sort_by_vectors(items: &mut [$t], spare: &mut [$t]) {
                    assert!(Self::has_vectors(), "the processor has no such vectors, or was not to use them");
                    // SAFETY: the level says that the processor has them.
                    unsafe { vector::$vectors::sort(items, spare) }
                }
            )?
        }
    )*};
}
items! { u32: wide32 u64: wide64 u128 }
