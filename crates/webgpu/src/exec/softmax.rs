//! Softmax along rows.

use super::{WG, kept, rows};
use crate::codegen::{Code, Dispatch, Task};

pub fn lower(task: &Task<'_>, log: bool) -> Vec<Dispatch> {
    let (count, width) = rows(task.step);
    if count * width == 0 {
        return vec![];
    }
    let mut code = Code::new(task, None);
    let t = code.input(0);
    code.constant("LOG", usize::from(log));
    code.arg("width", width);
    let Some((wg, keep)) = kept(width) else {
        code.finish(t);
        code.constant("WG", WG);
        code.by_subgroups(WG, None);
        return vec![code.dispatch("softmax_rows", count)];
    };
    code.input_4(0);
    code.finish_4(t);
    code.constant("WG", wg);
    code.constant("KEEP", keep);
    code.by_subgroups(wg, None);
    vec![code.dispatch("softmax_kept", count)]
}
