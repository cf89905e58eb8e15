//! Where truth values hold.

#[cfg(target_arch = "x86_64")]
use crate::isa::{Level, level};
use crate::isa_fn;
use crate::team::{SyncPtr, Team, Worker};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Values that a worker takes at a time.
const PIECE: usize = 1 << 16;

/// Values that are told apart together.
const BLOCK: usize = 64;

/// Truth values, divided into pieces whose places are counted.
pub struct Counted<'a> {
    truth: &'a [u8],
    /// How many hold in each piece.
    counts: Vec<AtomicUsize>,
}

impl<'a> Counted<'a> {
    /// Counts the bytes that are not 0.
    pub fn new(truth: &'a [u8]) -> Counted<'a> {
        let counts: Vec<AtomicUsize> = truth.chunks(PIECE).map(|_| AtomicUsize::new(0)).collect();
        let counted = Counted { truth, counts };
        counted.for_pieces(&|piece, truth| counted.counts[piece].store(count(truth), Ordering::Relaxed));
        counted
    }

    /// How many there are.
    pub fn total(&self) -> usize {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Writes where they are, in order.
    ///
    /// # Panics
    /// If there is not just as much room as there are places.
    pub fn write(&self, places: &mut [i64]) {
        assert_eq!(places.len(), self.total(), "the room is not that of the places");
        let mut starts = Vec::with_capacity(self.counts.len());
        let mut end = 0;
        for count in &self.counts {
            starts.push(end);
            end += count.load(Ordering::Relaxed);
        }
        let places = SyncPtr::of(places);
        self.for_pieces(&|piece, truth| {
            let range = starts[piece]..starts[piece] + self.counts[piece].load(Ordering::Relaxed);
            // SAFETY: the pieces' ranges lie side by side in `places`, and each piece is one worker's.
            write(truth, (piece * PIECE) as i64, unsafe { places.slice_mut(range) });
        });
    }

    /// Calls `visit` with the number and the values of every piece, on all workers.
    fn for_pieces(&self, visit: &(dyn Fn(usize, &[u8]) + Sync)) {
        let pieces = self.counts.len();
        let walk = |worker: &Worker<'_>| {
            for piece in worker.pieces(pieces) {
                let start = piece * PIECE;
                visit(piece, &self.truth[start..self.truth.len().min(start + PIECE)]);
            }
        };
        if pieces > 1 { Team::global().run_adaptively(&walk) } else { walk(&Worker::solo()) }
    }
}

isa_fn! {
    /// How many bytes are not 0.
    fn count<I>(truth: &[u8]) -> usize {
        // As many as a byte can count.
        truth.chunks(128).map(|some| some.iter().map(|&b| u8::from(b != 0)).sum::<u8>() as usize).sum()
    }
}

/// Writes the places of bytes that are not 0, of which there is the number that there is room for; the first byte's is `first`.
fn write(truth: &[u8], first: i64, places: &mut [i64]) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: the level says that the processor has the instructions.
        return unsafe { write_compressed(truth, first, places) };
    }
    write_one_by_one(truth, first, places);
}

/// Every place is written, and the next one over it unless its byte counts: no branch has to be guessed.
fn write_one_by_one(truth: &[u8], first: i64, places: &mut [i64]) {
    let mut filled = 0;
    for (block, start) in truth.chunks(BLOCK).zip((first..).step_by(BLOCK)) {
        let mut n = 0;
        if let Some(room) = places.get_mut(filled..filled + BLOCK) {
            for (i, &b) in block.iter().enumerate() {
                room[n] = start + i as i64;
                n += usize::from(b != 0);
            }
        } else {
            // There may be no room for places that do not count.
            for (i, _) in block.iter().enumerate().filter(|(_, b)| **b != 0) {
                places[filled + n] = start + i as i64;
                n += 1;
            }
        }
        filled += n;
    }
}

/// The same with a register of places at a time, of which those that count are moved together.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn write_compressed(truth: &[u8], first: i64, places: &mut [i64]) {
    use std::arch::x86_64::*;
    const WIDTH: usize = 8;
    let (blocks, rest) = truth.as_chunks::<BLOCK>();
    let along = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    let mut filled = 0;
    for (block, start) in blocks.iter().zip((first..).step_by(BLOCK)) {
        // SAFETY: a block fills a register.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let mask = _mm512_test_epi8_mask(bytes, bytes);
        if mask == 0 {
            continue;
        }
        let Some(room) = places.get_mut(filled..filled + BLOCK) else {
            let count = mask.count_ones() as usize;
            write_one_by_one(block, start, &mut places[filled..filled + count]);
            filled += count;
            continue;
        };
        let mut n = 0;
        for part in 0..BLOCK / WIDTH {
            let some = (mask >> (part * WIDTH)) as u8;
            let all = _mm512_add_epi64(along, _mm512_set1_epi64(start + (part * WIDTH) as i64));
            // SAFETY: of the room for a block's places at most those of earlier parts are taken.
            unsafe {
                let to = room.as_mut_ptr().add(n);
                _mm512_storeu_epi64(to, _mm512_maskz_compress_epi64(some, all));
            }
            n += some.count_ones() as usize;
        }
        filled += n;
    }
    write_one_by_one(rest, first + (truth.len() - rest.len()) as i64, &mut places[filled..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_bytes_that_are_not_0() {
        let patterns: [fn(usize) -> bool; 6] =
            [|_| true, |_| false, |i| i % 3 == 1, |i| i % 64 == 63, |i| i % 997 == 5, |i| (i * i) % 7 < 3];
        for n in [0, 1, 7, 63, 64, 65, 200, 1000, PIECE - 1, PIECE, 2 * PIECE + 77] {
            for pattern in patterns {
                let truth: Vec<u8> = (0..n).map(|i| if pattern(i) { 1 + (i % 3) as u8 } else { 0 }).collect();
                let want: Vec<i64> = (0..n).filter(|&i| pattern(i)).map(|i| i as i64).collect();
                let counted = Counted::new(&truth);
                let mut places = vec![-1; counted.total()];
                counted.write(&mut places);
                assert_eq!(places, want, "{n}");
                places.fill(-1);
                if n <= PIECE {
                    write_one_by_one(&truth, 0, &mut places);
                    assert_eq!(places, want, "{n}, one by one");
                }
            }
        }
    }
}
