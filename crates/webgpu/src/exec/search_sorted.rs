//! Binary search: an invocation per value, by keys that have the order of the values.

use super::arg_reduce::keys;
use super::{Launches, spread};
use crate::codegen::{Shader, Task};
use wootz_ir::ScalarType;

pub fn launches(task: &Task<'_>, right: bool) -> Launches {
    let count = task.step.shape.count();
    if count == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    code.plain_input(0);
    let t = code.input(1);
    keys(&mut code, t, false, false);
    code.arg("extent", task.step.input_shapes[0][0]);
    code.constant("RIGHT", usize::from(right));
    code.finish(Some(ScalarType::I64));
    let groups = spread(&mut code, count);
    code.launch("search_sorted", groups).into()
}
