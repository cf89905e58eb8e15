//! Stable sorting of rows, with NaN last (first when descending), as NumPy orders.
//!
//! A value becomes an unsigned key of the same order; key and place together are one integer, so that an unstable sort
//! of integers is a stable sort of values. Zeros of either sign are equal, and so are all NaNs.

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

/// Places of the first `limit` values in order (all of them if there are fewer), equal values in their own order.
pub fn argsort<T: SortKey>(row: &[T], descending: bool, limit: usize) -> Vec<usize> {
    let mask = if T::BITS < 64 { (1 << T::BITS) - 1 } else { u64::MAX };
    let key = |value: T| if descending { !value.key() & mask } else { value.key() };
    if T::BITS <= 32 && u32::try_from(row.len()).is_ok() {
        let packed = row.iter().enumerate().map(|(i, &v)| key(v) << 32 | i as u64).collect();
        return first(packed, limit).map(|p: u64| p as u32 as usize).collect();
    }
    let packed = row.iter().enumerate().map(|(i, &v)| (key(v) as u128) << 64 | i as u128).collect();
    first(packed, limit).map(|p: u128| p as u64 as usize).collect()
}

/// The first `limit` values in order.
pub fn sorted<T: SortKey>(row: &[T], descending: bool, limit: usize) -> Vec<T> {
    argsort(row, descending, limit).into_iter().map(|i| row[i]).collect()
}

/// The smallest `limit` items in order.
fn first<K: Ord + Copy>(mut packed: Vec<K>, limit: usize) -> impl Iterator<Item = K> {
    if limit == 0 {
        packed.clear();
    } else if limit < packed.len() {
        packed.select_nth_unstable(limit - 1);
        packed.truncate(limit);
    }
    packed.sort_unstable();
    packed.into_iter()
}
