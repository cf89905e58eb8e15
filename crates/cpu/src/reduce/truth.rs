//! Reductions of booleans.

use crate::isa_fn;

/// Elements looked at between two chances to stop early.
const BLOCK: usize = 4096;

isa_fn! {
    /// Whether any element is true. False for none.
    pub fn any_true<I>(x: &[bool]) -> bool {
        x.chunks(BLOCK).any(|block| block.iter().fold(0u8, |a, &v| a | v as u8) != 0)
    }

    /// Whether all elements are true. True for none.
    pub fn all_true<I>(x: &[bool]) -> bool {
        x.chunks(BLOCK).all(|block| block.iter().fold(1u8, |a, &v| a & v as u8) != 0)
    }

    /// How many elements are true.
    pub fn count_true<I>(x: &[bool]) -> u64 {
        // Blocks whose count fits a small type keep the lanes narrow.
        x.chunks(128).map(|block| block.iter().map(|&v| v as u8).sum::<u8>() as u64).sum()
    }
}
