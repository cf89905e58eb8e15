//! Buffer allocation, barriers between steps, and the proof that positions fit in 32 bits.

use crate::plan::{Fused, Place, Plan};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Allocates all memory: results, scratch offsets, barriers, index widths.
pub(crate) fn place(plan: &mut Plan, alignment: usize) {
    assign_results(plan);
    assign_scratch(plan, alignment);
    mark_barriers(plan);
    mark_wide(plan);
}

fn assign_results(plan: &mut Plan) {
    for output in &plan.outputs {
        let buffer = &mut plan.buffers[output.buffer as usize];
        if buffer.place == Place::Scratch(usize::MAX) {
            buffer.place = Place::Result(plan.results.len());
            plan.results.push(buffer.bytes);
        }
    }
}

/// The first and the last step that touch a scratch buffer.
fn lifetimes(plan: &Plan) -> Vec<Option<(usize, usize)>> {
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; plan.buffers.len()];
    for (i, step) in plan.steps.iter().enumerate() {
        for id in step.reads().chain(step.writes()) {
            let span = spans[id as usize].get_or_insert((i, i));
            span.1 = i;
        }
    }
    spans
}

/// In order of first use, each buffer takes the tightest gap between live buffers.
fn assign_scratch(plan: &mut Plan, alignment: usize) {
    let spans = lifetimes(plan);
    let mut order: Vec<usize> = (0..plan.buffers.len())
        .filter(|&i| plan.buffers[i].place == Place::Scratch(usize::MAX) && spans[i].is_some())
        .collect();
    order.sort_by_key(|&i| (spans[i].map_or(0, |s| s.0), Reverse(plan.buffers[i].bytes)));
    let mut space = Space::default();
    // What lives, the first to end on top.
    let mut live: BinaryHeap<Reverse<(usize, usize, usize)>> = BinaryHeap::new();
    for i in order {
        let (first, last) = spans[i].expect("unused buffers were filtered out");
        let size = plan.buffers[i].bytes.next_multiple_of(alignment);
        plan.scratch_without_reuse += size;
        while let Some(&Reverse((end, start, len))) = live.peek()
            && end < first
        {
            space.release(start, len);
            live.pop();
        }
        let start = space.take(size);
        live.push(Reverse((last, start, size)));
        plan.scratch = plan.scratch.max(start + size);
        plan.buffers[i].place = Place::Scratch(start);
    }
    for buffer in &mut plan.buffers {
        if buffer.place == Place::Scratch(usize::MAX) {
            buffer.place = Place::Scratch(0);
            buffer.bytes = 0;
        }
    }
}

/// The scratch allocator: the gaps below `end`; everything from there on is free.
#[derive(Default)]
struct Space {
    end: usize,
    /// Length by start.
    gaps: BTreeMap<usize, usize>,
    /// The same as (length, start).
    by_length: BTreeSet<(usize, usize)>,
}

impl Space {
    /// Allocates bytes: in the tightest gap, or at the end.
    fn take(&mut self, size: usize) -> usize {
        if size == 0 {
            return self.end;
        }
        let Some(&(length, start)) = self.by_length.range((size, 0)..).next() else {
            self.end += size;
            return self.end - size;
        };
        self.remove(start, length);
        if length > size {
            self.insert(start + size, length - size);
        }
        start
    }

    /// Frees bytes, merging them with adjacent gaps.
    fn release(&mut self, mut start: usize, mut length: usize) {
        if length == 0 {
            return;
        }
        if let Some((&before, &free)) = self.gaps.range(..start).next_back()
            && before + free == start
        {
            self.remove(before, free);
            (start, length) = (before, free + length);
        }
        if let Some(&free) = self.gaps.get(&(start + length)) {
            self.remove(start + length, free);
            length += free;
        }
        if start + length == self.end { self.end = start } else { self.insert(start, length) }
    }

    fn insert(&mut self, start: usize, length: usize) {
        self.gaps.insert(start, length);
        self.by_length.insert((length, start));
    }

    fn remove(&mut self, start: usize, length: usize) {
        self.gaps.remove(&start);
        self.by_length.remove(&(length, start));
    }
}

/// The ranges of each memory that steps touch, as end by start, merged.
#[derive(Default)]
struct Ranges(FxHashMap<(u8, usize), BTreeMap<usize, usize>>);

/// A range of one memory.
#[derive(Clone, Copy)]
struct Touch {
    memory: (u8, usize),
    start: usize,
    end: usize,
}

impl Ranges {
    fn overlaps(&self, touch: &Touch) -> bool {
        let Some(ranges) = self.0.get(&touch.memory) else { return false };
        // Ranges do not overlap each other: the last one that starts early enough ends last, too.
        let last = ranges.range(..touch.end).next_back();
        touch.start < touch.end && last.is_some_and(|(_, &end)| end > touch.start)
    }

    fn add(&mut self, touch: &Touch) {
        let (mut start, mut end) = (touch.start, touch.end);
        if start == end {
            return;
        }
        let ranges = self.0.entry(touch.memory).or_default();
        while let Some((&from, &to)) = ranges.range(..=end).next_back()
            && to >= start
        {
            ranges.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        ranges.insert(start, end);
    }
}

fn touch(plan: &Plan, id: u32) -> Touch {
    let buffer = &plan.buffers[id as usize];
    let (memory, start) = match buffer.place {
        Place::Leaf(i) => ((0, i), 0),
        Place::Result(i) => ((1, i), 0),
        Place::Scratch(offset) => ((2, 0), offset),
    };
    Touch { memory, start, end: start + buffer.bytes }
}

/// A step waits for those before it when it reads what they write, or writes what they touch.
fn mark_barriers(plan: &mut Plan) {
    let (mut read, mut written) = (Ranges::default(), Ranges::default());
    for i in 0..plan.steps.len() {
        let step = &plan.steps[i];
        let reads: SmallVec<[Touch; 8]> = step.reads().map(|id| touch(plan, id)).collect();
        let writes: SmallVec<[Touch; 2]> = step.writes().map(|id| touch(plan, id)).collect();
        let conflict = reads.iter().any(|r| written.overlaps(r))
            || writes.iter().any(|w| written.overlaps(w) || read.overlaps(w));
        if conflict {
            read.0.clear();
            written.0.clear();
        }
        reads.iter().for_each(|r| read.add(r));
        writes.iter().for_each(|w| written.add(w));
        plan.steps[i].barrier = conflict;
    }
}

fn mark_wide(plan: &mut Plan) {
    let narrow = |fused: &Fused| {
        fused.shape.count() <= i32::MAX as usize
            && fused.loads.iter().all(|l| l.layout.reach().is_none_or(|(_, high)| high <= i32::MAX as usize))
    };
    for step in &mut plan.steps {
        let stores = step.stores.iter();
        let narrow_stores =
            stores.map(|s| &s.layout).all(|l| l.reach().is_none_or(|(_, high)| high <= i32::MAX as usize));
        step.wide = !(narrow_stores && step.inputs.iter().chain([&step.epilogue]).all(narrow));
    }
}
