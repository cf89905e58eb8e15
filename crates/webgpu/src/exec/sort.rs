//! Sorts: rows that fit workgroup memory in one launch, longer ones by merging runs.

use super::arg_reduce::keys;
use super::{WG, rows};
use crate::codegen::{Access, Bound, Code, Dispatch, Task};
use wootz_ir::ScalarType;
use wootz_plan::Step;

/// The longest run that is sorted in workgroup memory.
const LONGEST: usize = 1024;

fn block(width: usize) -> usize {
    [64, 256].into_iter().find(|&b| width <= b).unwrap_or(LONGEST)
}

/// Two lists of positions, which merging goes back and forth between.
pub fn temp_bytes(step: &Step) -> usize {
    let (count, width) = rows(step);
    if width <= LONGEST { 0 } else { 2 * list_bytes(count, width) }
}

fn list_bytes(count: usize, width: usize) -> usize {
    (count * width * 4).next_multiple_of(256)
}

pub fn lower(task: &Task<'_>, descending: bool, limit: usize, positions: bool) -> Vec<Dispatch> {
    let (count, width) = rows(task.step);
    if count * width * limit == 0 {
        return vec![];
    }
    let start = || {
        let mut code = Code::new(task, None);
        let t = code.input(0);
        keys(&mut code, t, descending, false);
        code.constant("WG", WG);
        code.constant("BLOCK", block(width));
        code.arg("width", width);
        code.arg("limit", limit);
        (code, t)
    };
    let finish = |code: &mut Code<'_>, t: ScalarType| {
        let (t, value) = match positions {
            true => (ScalarType::I64, "vec2<u32>(place, 0u)"),
            false => (t, "in0(row * arg_width() + place)"),
        };
        code.finish(t);
        let name = crate::codegen::types::name(t);
        code.push(&format!("fn sorted(row: u32, place: u32) -> {name} {{\n    return {value};\n}}\n"));
    };
    if width <= LONGEST {
        let (mut code, t) = start();
        finish(&mut code, t);
        return vec![code.dispatch("sort_short", count)];
    }
    let list = list_bytes(count, width);
    let lists = |code: &mut Code<'_>, from: usize, to: Option<usize>| {
        let k = code.open(Bound::Temp(from * list), list, Access::Write);
        code.push(&format!("fn get_place(i: u32) -> u32 {{\n    return g{k}(i);\n}}\n"));
        if let Some(to) = to {
            let k = code.open(Bound::Temp(to * list), list, Access::Write);
            code.push(&format!("fn put_place(i: u32, v: u32) {{\n    s{k}(i, v);\n}}\n"));
        }
    };
    let mut dispatches = Vec::new();
    let (mut code, _) = start();
    lists(&mut code, 1, Some(0));
    dispatches.push(code.dispatch("sort_blocks", count * width.div_ceil(LONGEST)));
    let (mut at, mut run) = (0, LONGEST);
    while run < width {
        let (mut code, _) = start();
        code.arg("points", count * width);
        code.arg("run", run);
        lists(&mut code, at, Some(1 - at));
        dispatches.push(code.dispatch("sort_merge", (count * width).div_ceil(WG)));
        (at, run) = (1 - at, 2 * run);
    }
    let (mut code, t) = start();
    code.arg("points", count * limit);
    lists(&mut code, at, None);
    finish(&mut code, t);
    dispatches.push(code.dispatch("sort_emit", (count * limit).div_ceil(WG)));
    dispatches
}
