//! Stable sorting of rows, with NaN last (first when descending), as NumPy orders.
//!
//! A value becomes an unsigned key of the same order; key and place together are one integer, so that any sort of
//! integers is a stable sort of values. Short rows are sorted by comparing, long ones digit by digit from the lowest. Zeros
//! of either sign are equal, and so are all NaNs.

#[cfg(test)]
mod tests;

/// A type with an order-preserving key.
pub trait SortKey: Copy {
    /// How many of the key's low bits count.
    const BITS: u32;
    /// The key.
    fn key(self) -> u64;
}

macro_rules! integer_keys {
    ($($t:ty as $unsigned:ty, $flip:expr;)*) => {$(
        impl SortKey for $t {
            const BITS: u32 = <$unsigned>::BITS;
            #[inline(always)]
            fn key(self) -> u64 {
                (self as $unsigned ^ $flip) as u64
            }
        }
    )*};
}
integer_keys! {
    bool as u8, 0; u8 as u8, 0; u16 as u16, 0; u32 as u32, 0; u64 as u64, 0;
    i8 as u8, 1 << 7; i16 as u16, 1 << 15; i32 as u32, 1 << 31; i64 as u64, 1 << 63;
}

macro_rules! float_keys {
    ($($t:ty as $unsigned:ty;)*) => {$(
        impl SortKey for $t {
            const BITS: u32 = <$unsigned>::BITS;
            #[inline(always)]
            fn key(self) -> u64 {
                // Adding zero makes -0 into 0. Negative numbers rise as their bits fall.
                let bits = (self + 0.0).to_bits();
                let sign = 1 << (<$unsigned>::BITS - 1);
                let key = if bits & sign != 0 { !bits } else { bits | sign };
                if self.is_nan() { <$unsigned>::MAX as u64 } else { key as u64 }
            }
        }
    )*};
}
float_keys! { f32 as u32; f64 as u64; }

/// Sorts rows, with memory that is used again from row to row.
#[derive(Default)]
pub struct Sorter {
    narrow: Items<u64>,
    wide: Items<u128>,
}

impl Sorter {
    /// Writes the places of the first values in order, as many as `places` holds (at most the row's), equal values in their
    /// own order.
    pub fn places<T: SortKey>(&mut self, row: &[T], descending: bool, places: &mut [i64]) {
        let mask = if T::BITS < 64 { (1 << T::BITS) - 1 } else { u64::MAX };
        let key = |value: T| if descending { !value.key() & mask } else { value.key() };
        if T::BITS <= 32 && u32::try_from(row.len()).is_ok() {
            let items = row.iter().enumerate().map(|(i, &v)| key(v) << 32 | i as u64);
            self.narrow.sort(items, places, |item| item as u32 as i64);
        } else {
            let items = row.iter().enumerate().map(|(i, &v)| (key(v) as u128) << 64 | i as u128);
            self.wide.sort(items, places, |item| item as u64 as i64);
        }
    }
}

/// A key in the upper half of an integer, a place in the lower.
trait Item: Ord + Copy + Default {
    /// Bits of the key.
    const BITS: u32;
    /// The key's digit with that number, the lowest being 0.
    fn digit(self, number: u32) -> usize;
}

/// Bits of a digit: its counts fit the first cache, and three digits make 32 bits.
const DIGIT: u32 = 11;
/// Rows from this length on are sorted by digits.
const LONG: usize = 2048;

macro_rules! items {
    ($($t:ty, $bits:literal;)*) => {$(
        impl Item for $t {
            const BITS: u32 = $bits;
            #[inline(always)]
            fn digit(self, number: u32) -> usize {
                (self >> ($bits + number * DIGIT)) as usize % (1 << DIGIT)
            }
        }
    )*};
}
items! { u64, 32; u128, 64; }

/// Items, and as much room again.
#[derive(Default)]
struct Items<K> {
    items: Vec<K>,
    spare: Vec<K>,
}

impl<K: Item> Items<K> {
    fn sort(&mut self, items: impl Iterator<Item = K>, places: &mut [i64], place: impl Fn(K) -> i64) {
        self.items.clear();
        self.items.extend(items);
        let limit = places.len();
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
            self.sort_by_digits()
        }
        for (to, &item) in places.iter_mut().zip(&self.items) {
            *to = place(item);
        }
    }

    /// Digit by digit, each time keeping the order of equal ones; digits that all items share are passed over.
    fn sort_by_digits(&mut self) {
        let digits = K::BITS.div_ceil(DIGIT);
        let mut counts = vec![[0usize; 1 << DIGIT]; digits as usize];
        for &item in &self.items {
            for digit in 0..digits {
                counts[digit as usize][item.digit(digit)] += 1;
            }
        }
        self.spare.clear();
        self.spare.resize(self.items.len(), K::default());
        for (digit, starts) in (0..digits).zip(&mut counts) {
            if starts.contains(&self.items.len()) {
                continue;
            }
            let mut sum = 0;
            for start in starts.iter_mut() {
                sum += std::mem::replace(start, sum);
            }
            for &item in &self.items {
                let start = &mut starts[item.digit(digit)];
                self.spare[*start] = item;
                *start += 1;
            }
            std::mem::swap(&mut self.items, &mut self.spare);
        }
    }
}
