//! RWKV-7's recurrence.

use super::Launches;
use super::WG;
use crate::codegen::{Shader, Task};
use wootz_gpu::Access;

pub fn launches(task: &Task<'_>) -> Launches {
    let [steps, heads, depth] = *task.step.input_shapes[0] else {
        unreachable!("inputs have three axes");
    };
    // Rows of a head's state.
    let rows = task.step.input_shapes[3][2];
    if heads * rows == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    for slot in 0..7 {
        code.input(slot);
    }
    // The result is contiguous f32 with nothing behind it: the kernel writes to its memory.
    let store = &task.step.stores[0];
    let first = code.word(store.layout.offset as u32);
    let k = code.open_buffer(store.buffer, Access::Write);
    code.push(&format!("fn put_f32(i: u32, v: f32) {{\n    s{k}({first} + i, bitcast<u32>(v));\n}}\n"));
    code.constant("WG", WG);
    code.constant("DEPTH", depth);
    code.constant("ROWS", rows);
    code.arg("steps", steps);
    code.arg("heads", heads);
    code.launch("wkv7_rows", (heads * rows).div_ceil(WG)).into()
}
