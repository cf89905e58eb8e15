//! Pseudo-random numbers that are the same everywhere.

/// A counter-based generator: number `n` of a seed is a hash of both.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    counter: u64,
}

impl Random {
    /// A generator with a seed.
    pub fn new(seed: u64) -> Random {
        Random { seed, counter: 0 }
    }

    /// A generator seeded by a name (FNV-1a).
    pub fn named(name: &str) -> Random {
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3));
        Random::new(hash)
    }

    /// The next 64 bits (the finaliser of SplitMix64 over the counter).
    pub fn bits(&mut self) -> u64 {
        self.counter += 1;
        let mut z = self.seed.wrapping_add(self.counter.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number from 0 to `n` − 1; `n` is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.bits() % (high - low + 1) as u64) as i64
    }

    /// A float in `[low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_every_number() {
        let mut a = Random::named("add/f32");
        let mut b = Random::named("add/f32");
        let mut c = Random::named("add/f64");
        let (x, y, z) = (a.bits(), b.bits(), c.bits());
        assert_eq!(x, y);
        assert_ne!(x, z);
        assert_ne!(x, a.bits());
        assert!(
            (0..1000)
                .all(|_| (-2.0..3.0).contains(&a.uniform(-2.0, 3.0)) && (-2..=3).contains(&a.between(-2, 3)))
        );
    }
}
