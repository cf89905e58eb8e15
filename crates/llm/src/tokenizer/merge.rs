//! Merging of adjacent pairs, best pair first: shared by BPE and SentencePiece.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A run of the text that is one symbol, linked to its neighbours.
#[derive(Clone, Copy, Debug)]
struct Symbol<S> {
    value: S,
    previous: usize,
    next: usize,
    /// Counts merges into this symbol; a candidate made before the last one is stale.
    version: u32,
    alive: bool,
}

const NONE: usize = usize::MAX;

/// A pair that could merge.
struct Candidate<S> {
    priority: Priority,
    left: usize,
    right: usize,
    versions: (u32, u32),
    merged: S,
}

/// Which of two pairs merges first: the greater one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Priority {
    /// Lower ranks first.
    Rank(u32),
    /// Higher scores first.
    Score(f32),
}

impl Priority {
    fn cmp(&self, other: &Priority) -> Ordering {
        match (self, other) {
            (Priority::Rank(a), Priority::Rank(b)) => b.cmp(a),
            (Priority::Score(a), Priority::Score(b)) => a.total_cmp(b),
            // One merge uses one kind only.
            (Priority::Rank(_), Priority::Score(_)) => Ordering::Less,
            (Priority::Score(_), Priority::Rank(_)) => Ordering::Greater,
        }
    }
}

impl<S> Ord for Candidate<S> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of equal pairs the leftmost.
        self.priority.cmp(&other.priority).then(other.left.cmp(&self.left))
    }
}
impl<S> PartialOrd for Candidate<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<S> PartialEq for Candidate<S> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl<S> Eq for Candidate<S> {}

/// Merges neighbouring symbols until no pair merges; `pair` says whether, when and into what two symbols merge.
pub(super) fn merge<S: Copy>(
    symbols: impl Iterator<Item = S>,
    pair: impl Fn(S, S) -> Option<(Priority, S)>,
) -> Vec<S> {
    let mut list: Vec<Symbol<S>> = symbols
        .enumerate()
        .map(|(i, value)| Symbol {
            value,
            previous: i.checked_sub(1).unwrap_or(NONE),
            next: i + 1,
            version: 0,
            alive: true,
        })
        .collect();
    if let Some(last) = list.last_mut() {
        last.next = NONE;
    }
    let mut heap = BinaryHeap::new();
    let consider = |list: &[Symbol<S>], heap: &mut BinaryHeap<Candidate<S>>, left: usize, right: usize| {
        if left == NONE || right == NONE {
            return;
        }
        let (l, r) = (&list[left], &list[right]);
        if let Some((priority, merged)) = pair(l.value, r.value) {
            heap.push(Candidate { priority, left, right, versions: (l.version, r.version), merged });
        }
    };
    for left in 0..list.len().saturating_sub(1) {
        consider(&list, &mut heap, left, left + 1);
    }
    while let Some(c) = heap.pop() {
        let (l, r) = (list[c.left], list[c.right]);
        if !l.alive || !r.alive || (l.version, r.version) != c.versions {
            continue;
        }
        list[c.right].alive = false;
        list[c.left] = Symbol { value: c.merged, next: r.next, version: l.version + 1, ..l };
        if r.next != NONE {
            list[r.next].previous = c.left;
        }
        consider(&list, &mut heap, l.previous, c.left);
        consider(&list, &mut heap, c.left, r.next);
    }
    list.into_iter().filter(|s| s.alive).map(|s| s.value).collect()
}
