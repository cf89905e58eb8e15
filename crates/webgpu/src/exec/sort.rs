//! Sorting: rows that fit in workgroup memory in one launch, longer ones by merging runs.

use super::Launches;
use super::WG;
use super::arg_reduce::keys;
use crate::codegen::{Shader, Task, Wgsl};
use wootz_gpu::problem::RowsProblem;
use wootz_gpu::{Access, Bound, Language};
use wootz_ir::ScalarType;

/// The longest run that is sorted in workgroup memory.
const LONGEST: usize = 1024;

fn block(width: usize) -> usize {
    [64, 256].into_iter().find(|&b| width <= b).unwrap_or(LONGEST)
}

pub fn launches(task: &Task<'_>, descending: bool, limit: usize, positions: bool) -> Launches {
    let RowsProblem { rows, width } = RowsProblem::of(&task.step.input_shapes[0]);
    if rows * width * limit == 0 {
        return Launches::default();
    }
    let start = || {
        let mut code = Shader::new(task, None);
        let t = code.input(0);
        keys(&mut code, t, descending, false);
        code.constant("WG", WG);
        code.constant("BLOCK", block(width));
        code.arg("width", width);
        code.arg("limit", limit);
        (code, t)
    };
    let finish = |code: &mut Shader<'_>, t: ScalarType| {
        let (t, value) = match positions {
            true => (ScalarType::I64, "vec2<u32>(place, 0u)"),
            false => (t, "in0(row * arg_width() + place)"),
        };
        code.finish(Some(t));
        let name = Wgsl::name(t);
        code.push(&format!("fn sorted(row: u32, place: u32) -> {name} {{\n    return {value};\n}}\n"));
    };
    if width <= LONGEST {
        let (mut code, t) = start();
        finish(&mut code, t);
        return code.launch("sort_short", rows).into();
    }
    // Two lists of positions, which merging goes back and forth between.
    let list = (rows * width * 4).next_multiple_of(256);
    let lists = |code: &mut Shader<'_>, from: usize, to: Option<usize>| {
        let k = code.open(Bound::Scratch(from * list), list, Access::Write);
        code.push(&format!("fn get_place(i: u32) -> u32 {{\n    return g{k}(i);\n}}\n"));
        if let Some(to) = to {
            let k = code.open(Bound::Scratch(to * list), list, Access::Write);
            code.push(&format!("fn put_place(i: u32, v: u32) {{\n    s{k}(i, v);\n}}\n"));
        }
    };
    let mut launches = Launches { list: Vec::new(), scratch: 2 * list };
    let (mut code, _) = start();
    lists(&mut code, 1, Some(0));
    launches.list.push(code.launch("sort_blocks", rows * width.div_ceil(LONGEST)));
    let (mut at, mut run) = (0, LONGEST);
    while run < width {
        let (mut code, _) = start();
        code.arg("points", rows * width);
        code.arg("run", run);
        lists(&mut code, at, Some(1 - at));
        launches.list.push(code.launch("sort_merge", (rows * width).div_ceil(WG)));
        (at, run) = (1 - at, 2 * run);
    }
    let (mut code, t) = start();
    code.arg("points", rows * limit);
    lists(&mut code, at, None);
    finish(&mut code, t);
    launches.list.push(code.launch("sort_emit", (rows * limit).div_ceil(WG)));
    launches
}
