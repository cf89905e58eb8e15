//! Elementwise steps.

use super::Launches;
use super::spread;
use crate::codegen::wgsl::per_word;
use crate::codegen::{Launch, Shader, Task, Wgsl};
use wootz_gpu::{Access, in_quads};

pub fn launches(task: &Task<'_>) -> Launches {
    let count = task.step.shape.count();
    if count == 0 {
        return Launches::default();
    }
    if owns_words(task) {
        return packed(task, count).into();
    }
    let mut code = Shader::new(task, None);
    if count.is_multiple_of(4) && in_quads::<Wgsl>(task.step) {
        code.finish_4(None);
        let groups = spread(&mut code, count / 4);
        return code.launch("map_quads", groups).into();
    }
    code.finish(None);
    let groups = spread(&mut code, count);
    code.launch("map_points", groups).into()
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

fn packed(task: &Task<'_>, count: usize) -> Launch {
    let store = &task.step.stores[0];
    let per_word = per_word(store.dtype);
    let mut code = Shader::new(task, Some(Access::Write));
    code.packed();
    code.constant("PER_WORD", per_word);
    code.arg("elements", count);
    let first = code.word((store.layout.offset / per_word) as u32);
    let k = code.open_buffer(store.buffer, Access::Write);
    code.push(&format!("fn put_word(w: u32, bits: u32) {{\n    s{k}({first} + w, bits);\n}}\n"));
    let groups = spread(&mut code, count.div_ceil(per_word));
    code.launch("map_packed", groups)
}
