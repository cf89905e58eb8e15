//! Read, write and copy bandwidth of the thread pool by working-set size: the limits for memory-bound and cache-bound
//! kernels.

use crate::copy::stream_bytes;
use crate::isa_fn;
use crate::scratch::Scratch;
use crate::team::{SyncPtr, Team};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Bytes per second over a working set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// Bytes of the working set, of all workers together.
    pub bytes: usize,
    /// Reading all of it.
    pub read: f64,
    /// Writing all of it.
    pub write: f64,
    /// Copying one half of it to the other; read and written bytes both count.
    pub copy: f64,
}

/// Working sets: from sizes that fit in L1 to sizes that fit in no cache.
const SIZES: [usize; 7] = [32 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];
/// Bytes that pass in one try: enough for the clock, few enough that some try meets no interruption.
const TRY: usize = 8 << 20;
/// How long to go on trying, for each size and kind.
const PATIENCE: Duration = Duration::from_millis(25);

isa_fn! {
    /// A sum that needs every word.
    fn sum<I>(words: &[u64]) -> u64 {
        let mut sums = [0u64; 64];
        let chunks = words.chunks_exact(64);
        let rest = chunks.remainder().iter().fold(0u64, |a, &b| a.wrapping_add(b));
        for chunk in chunks {
            for i in 0..64 {
                sums[i] = sums[i].wrapping_add(chunk[i]);
            }
        }
        sums.iter().fold(rest, |a, &b| a.wrapping_add(b))
    }
}

isa_fn! {
    /// Writes through the caches.
    fn fill<I>(words: &mut [u64], value: u64) {
        words.fill(value);
    }
}

isa_fn! {
    /// Copies through the caches.
    fn copy<I>(from: &[u64], to: &mut [u64]) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = from;
        }
    }
}

/// Writes past the caches: the same line again and again, from the first-level cache.
fn stream(words: &mut [u64]) {
    let line = [1u64; 512];
    for words in words.chunks_mut(line.len()) {
        stream_bytes(bytemuck::cast_slice(&line[..words.len()]), bytemuck::cast_slice_mut(words));
    }
}

/// What a worker does with its part of the working set.
type Pass = fn(&mut [u64]);

/// Bytes per second at which all workers make passes over `bytes` bytes, the best of many tries.
fn rate(memory: &mut Scratch, bytes: usize, pass: Pass) -> f64 {
    let team = Team::global();
    let words = SyncPtr::new(memory.reserve(bytes).cast::<u64>());
    let passes = (TRY / bytes).max(1);
    let mut best = 0.0f64;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let start = Instant::now();
        team.run(&|worker| {
            // SAFETY: the memory has this many words, shares are disjoint, and every bit pattern is a number.
            let own = unsafe { words.slice_mut(worker.split(bytes / 8, 64)) };
            for _ in 0..passes {
                pass(black_box(own));
            }
        });
        best = best.max((bytes * passes) as f64 / start.elapsed().as_secs_f64());
    }
    best
}

/// Copies the first half to the second.
fn halves(copy: impl Fn(&[u64], &mut [u64]), words: &mut [u64]) {
    let (from, to) = words.split_at_mut(words.len() / 2);
    copy(from, &mut to[..from.len()]);
}

/// Measures every size, smallest first. Takes under a second.
pub fn measure_bandwidth() -> Vec<Bandwidth> {
    let mut memory = Scratch::new();
    let mut best = |bytes: usize, passes: [Pass; 2]| {
        passes.into_iter().map(|pass| rate(&mut memory, bytes, pass)).fold(0.0, f64::max)
    };
    let read: Pass = |words| {
        black_box(sum(words));
    };
    let of_size = |bytes: usize| Bandwidth {
        bytes,
        read: best(bytes, [read; 2]),
        write: best(bytes, [|words| fill(words, 1), stream]),
        copy: best(
            bytes,
            [
                |words| halves(copy, words),
                |words| {
                    halves(
                        |from, to| stream_bytes(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to)),
                        words,
                    )
                },
            ],
        ),
    };
    SIZES.into_iter().map(of_size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_do_what_they_say() {
        let mut words: Vec<u64> = (0..1000).collect();
        assert_eq!(sum(&words), 499_500);
        halves(copy, &mut words);
        assert_eq!(words[..500], words[500..]);
        fill(&mut words, 7);
        assert!(words.iter().all(|&w| w == 7));
        stream(&mut words);
        assert!(words.iter().all(|&w| w == 1));
    }
}
