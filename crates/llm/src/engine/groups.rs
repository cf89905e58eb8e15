//! Which sequences decode together.
//!
//! A pass has a plan for each list of its caches' sizes, and plans take time to make and memory to keep. With sixteen
//! sequences and a handful of sizes there would be thousands of lists. So large groups contain only sequences with
//! caches of one size; the remaining ones form small groups, of which there are few different kinds.

use std::ops::Range;

/// Maximum size of groups with different cache sizes.
const MIXED: usize = 4;

/// Splits sequences, whose caches have these sizes in ascending order, into passes of at most `most`.
pub fn groups(sizes: &[usize], most: usize) -> Vec<Vec<usize>> {
    let (mut all, mut left) = (Vec::new(), Vec::new());
    if sizes.len() <= MIXED.min(most) {
        left.extend(0..sizes.len());
    } else {
        for class in classes(sizes) {
            let (whole, rest) = class.clone().partition::<Vec<usize>, _>(|_| class.len() > MIXED);
            all.extend(whole.chunks(most).map(<[usize]>::to_vec));
            left.extend(rest);
        }
    }
    all.extend(left.chunks(MIXED.min(most)).map(<[usize]>::to_vec));
    all
}

/// Runs of equal sizes.
fn classes(sizes: &[usize]) -> Vec<Range<usize>> {
    let mut start = 0;
    let run = |run: &[usize]| {
        start += run.len();
        start - run.len()..start
    };
    sizes.chunk_by(|a, b| a == b).map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn everyone_is_in_one_group() {
        for count in 0..=16usize {
            for seed in 0..200usize {
                let mut sizes: Vec<usize> =
                    (0..count).map(|i| 256 << ((seed * 31 + i * i * 7) % 4)).collect();
                sizes.sort_unstable();
                for most in [1, 8, 16] {
                    let groups = groups(&sizes, most);
                    let mut seen: Vec<usize> = groups.iter().flatten().copied().collect();
                    seen.sort_unstable();
                    assert_eq!(seen, (0..count).collect::<Vec<_>>());
                    assert!(groups.iter().all(|group| !group.is_empty() && group.len() <= most));
                }
            }
        }
    }

    #[test]
    fn there_are_few_different_lists_of_sizes() {
        let mut lists = HashSet::new();
        for seed in 0..100_000u64 {
            let mut random = crate::sampling::Random::new(seed);
            let count = random.bits() % 17;
            let mut sizes: Vec<usize> = (0..count).map(|_| 256 << (random.bits() % 4)).collect();
            sizes.sort_unstable();
            lists.extend(groups(&sizes, 16).iter().map(|g| g.iter().map(|&i| sizes[i]).collect::<Vec<_>>()));
        }
        assert!(lists.len() <= 4 * 16 + 70, "{}", lists.len());
    }

    #[test]
    fn equal_caches_go_together() {
        assert_eq!(groups(&[256; 16], 16).len(), 1);
        assert_eq!(groups(&[256; 16], 8).len(), 2);
        assert_eq!(groups(&[256, 512, 1024, 1024], 16).len(), 1);
    }
}
