//! Softmax along rows.

use super::{WG, rows};
use crate::codegen::{Code, Dispatch, Task};

pub fn lower(task: &Task<'_>, log: bool) -> Vec<Dispatch> {
    let (count, width) = rows(task.step);
    if count * width == 0 {
        return vec![];
    }
    let mut code = Code::new(task, None);
    let t = code.input(0);
    code.finish(t);
    code.constant("WG", WG);
    code.constant("LOG", usize::from(log));
    code.arg("width", width);
    vec![code.dispatch("softmax_rows", count)]
}
