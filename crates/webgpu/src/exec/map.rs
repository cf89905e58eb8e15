//! Elementwise steps.

use super::spread;
use crate::codegen::types::per_word;
use crate::codegen::{Access, Code, Dispatch, Task};
use wootz_ir::ScalarType;

pub fn lower(task: &Task<'_>) -> Vec<Dispatch> {
    let count = task.step.shape.count();
    if count == 0 {
        return vec![];
    }
    if owns_words(task) {
        return vec![packed(task, count)];
    }
    let mut code = Code::new(task, None);
    if code.finishes_in_quads() {
        code.finish_4(ScalarType::U32);
        let groups = spread(&mut code, count / 4);
        return vec![code.dispatch("map_quads", groups)];
    }
    code.finish(ScalarType::U32);
    let groups = spread(&mut code, count);
    vec![code.dispatch("map_points", groups)]
}

/// Whether the store is a run of whole words, up to the end of its buffer at most.
fn owns_words(task: &Task<'_>) -> bool {
    let [store] = task.step.stores.as_slice() else { return false };
    let per_word = per_word(store.dtype);
    let elements = task.plan.buffers[store.buffer as usize].bytes / store.dtype.size();
    let count = task.step.shape.count();
    per_word > 1
        && store.layout.is_contiguous()
        && store.layout.offset.is_multiple_of(per_word)
        && (count.is_multiple_of(per_word) || store.layout.offset + count == elements)
}

fn packed(task: &Task<'_>, count: usize) -> Dispatch {
    let store = &task.step.stores[0];
    let per_word = per_word(store.dtype);
    let mut code = Code::new(task, Some(Access::Write));
    code.packed();
    code.constant("PER_WORD", per_word);
    code.arg("elements", count);
    let first = code.word((store.layout.offset / per_word) as u32);
    let k = code.open_store(store, Access::Write);
    code.push(&format!("fn put_word(w: u32, bits: u32) {{\n    s{k}({first} + w, bits);\n}}\n"));
    let groups = spread(&mut code, count.div_ceil(per_word));
    code.dispatch("map_packed", groups)
}
