//! Places for buffers, barriers between steps, and the proof that positions fit 32 bits.

use crate::plan::{Fused, Place, Plan};

/// Decides everything about memory: results, scratch offsets, barriers, index widths.
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

/// First step that touches a scratch buffer, and the last.
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

/// A placed scratch buffer while it lives.
struct Block {
    start: usize,
    end: usize,
    last: usize,
}

/// In order of first use, each buffer takes the tightest gap between those that live then.
fn assign_scratch(plan: &mut Plan, alignment: usize) {
    let spans = lifetimes(plan);
    let mut order: Vec<usize> = (0..plan.buffers.len())
        .filter(|&i| plan.buffers[i].place == Place::Scratch(usize::MAX) && spans[i].is_some())
        .collect();
    order.sort_by_key(|&i| (spans[i].map_or(0, |s| s.0), std::cmp::Reverse(plan.buffers[i].bytes)));
    let mut live: Vec<Block> = Vec::new();
    for i in order {
        let (first, last) = spans[i].expect("unused buffers were filtered out");
        let size = plan.buffers[i].bytes.next_multiple_of(alignment);
        plan.scratch_without_reuse += size;
        live.retain(|block| block.last >= first);
        let start = tightest_gap(&live, size);
        let at = live.partition_point(|block| block.start < start);
        live.insert(at, Block { start, end: start + size, last });
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

fn tightest_gap(live: &[Block], size: usize) -> usize {
    let mut best: Option<(usize, usize)> = None;
    let mut cursor = 0;
    for block in live {
        let gap = block.start.saturating_sub(cursor);
        if gap >= size && best.is_none_or(|(smallest, _)| gap < smallest) {
            best = Some((gap, cursor));
        }
        cursor = cursor.max(block.end);
    }
    best.map_or(cursor, |(_, start)| start)
}

/// A range of one memory, touched since the last barrier.
struct Touch {
    memory: (u8, usize),
    start: usize,
    end: usize,
    write: bool,
}

fn touch(plan: &Plan, id: u32, write: bool) -> Touch {
    let buffer = &plan.buffers[id as usize];
    let (memory, start) = match buffer.place {
        Place::Leaf(i) => ((0, i), 0),
        Place::Result(i) => ((1, i), 0),
        Place::Scratch(offset) => ((2, 0), offset),
    };
    Touch { memory, start, end: start + buffer.bytes, write }
}

fn mark_barriers(plan: &mut Plan) {
    let mut since: Vec<Touch> = Vec::new();
    for i in 0..plan.steps.len() {
        let step = &plan.steps[i];
        let reads = step.reads().map(|id| touch(plan, id, false));
        let touches: Vec<Touch> = reads.chain(step.writes().map(|id| touch(plan, id, true))).collect();
        let conflict = touches.iter().any(|a| {
            since
                .iter()
                .any(|b| (a.write || b.write) && a.memory == b.memory && a.start < b.end && b.start < a.end)
        });
        if conflict {
            since.clear();
        }
        since.extend(touches);
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
