//! Matrix products on CPU adapters: a subgroup keeps a tile of the result in registers, and its lanes share elements
//! of `a` by broadcasts. Workgroup memory is ordinary memory there, and every access to it is serialised by lane:
//! what matters is how many multiply-adds an access serves.
//!
//! A lane has QUADS quads of columns and all ROWS rows of the tile. For four steps of k it reads a quad of `a` for
//! every `lanes`-th row, and four rows of its own quads of `b`; or, if columns of `b` are rows of blocks, four
//! neighbours of each.

use crate::codegen::{Facts, Launch, Shader};
use std::fmt::Write;
use wootz_gpu::problem::MatmulProblem as Problem;

/// Quads of columns that a lane has.
const QUADS: usize = 2;

/// The lanes of a subgroup, on adapters where products are to be made by broadcasts.
pub fn lanes(facts: &Facts) -> Option<usize> {
    let (least, most) = facts.subgroups?;
    (facts.cpu && least == most && (4..=16).contains(&most)).then_some(most)
}

/// Whether a product of floats is large enough for it.
pub fn pays(problem: Problem) -> bool {
    problem.m >= 16 && problem.m * problem.n >= 1 << 12 && problem.k >= 16
}

/// How `b` is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// By `b_at_4`.
    Floats,
    /// By `row_start` and the functions of a block format.
    Blocks,
}

/// The launch, given `a_at_4`, functions that read `b`, and `put_columns`.
pub fn launch(problem: Problem, mut code: Shader<'_>, lanes: usize, right: Right) -> Launch {
    let rows = if problem.m <= 16 { 16 } else { 32 };
    let columns = 4 * QUADS * lanes;
    code.arg("m", problem.m);
    code.arg("n", problem.n);
    code.arg("k", problem.k);
    let text = kernel(problem, rows, lanes, right);
    code.push(&text);
    let tiles = problem.batch * problem.m.div_ceil(rows) * problem.n.div_ceil(columns);
    code.launch("matmul_broadcast", tiles)
}

/// The kernel's text: everything is unrolled, for only then are sums in registers.
fn kernel(problem: Problem, rows: usize, lanes: usize, right: Right) -> String {
    let columns = 4 * QUADS * lanes;
    let mut out = format!(
        "@compute @workgroup_size({lanes})\nfn matmul_broadcast(@builtin(workgroup_id) group: vec3<u32>, \
         @builtin(local_invocation_index) lane: u32) {{\n    let n = arg_n();\n    let m = arg_m();\n    \
         let depth = arg_k();\n    let across = (n + {columns}u - 1u) / {columns}u;\n    \
         let down = (m + {rows}u - 1u) / {rows}u;\n    let index = group_index(group);\n    \
         if index >= p[0].y {{\n        return;\n    }}\n    let left = index % across * {columns}u + 4u * lane;\n    \
         let top = index / across % down * {rows}u;\n    let batch = index / across / down;\n"
    );
    for r in 0..rows {
        for c in 0..QUADS {
            let _ = writeln!(out, "    var c{r}_{c} = vec4<f32>();");
        }
    }
    // Places beyond the edges repeat the last ones; their sums are not stored.
    for c in 0..QUADS {
        let column = 4 * lanes * c;
        match right {
            Right::Floats => {
                let last = if problem.n.is_multiple_of(4) { "n - 4u" } else { "n - 1u" };
                let _ = writeln!(out, "    let column{c} = min(left + {column}u, {last});");
            }
            Right::Blocks => (0..4).for_each(|i| {
                let row = format!("min(left + {}u, n - 1u)", column + i);
                let _ = writeln!(out, "    let start{c}_{i} = row_start({row});");
            }),
        }
    }
    for r in 0..rows.div_ceil(lanes) {
        let _ = writeln!(out, "    let row{r} = min(top + {}u + lane % {rows}u, m - 1u);", r * lanes);
    }
    match right {
        Right::Floats => out.push_str("    for (var k = 0u; k < depth; k += 4u) {\n"),
        Right::Blocks => begin_chunk(&mut out),
    }
    for r in 0..rows.div_ceil(lanes) {
        let _ = writeln!(out, "        let a{r} = a_at_4(batch, row{r}, k);");
    }
    for (j, part) in ["x", "y", "z", "w"].iter().enumerate() {
        match right {
            Right::Floats => four_steps(&mut out, problem, j),
            Right::Blocks => across_blocks(&mut out, j, part),
        }
        for r in 0..rows {
            let (held, by) = (r / lanes, r % lanes);
            let _ =
                writeln!(out, "        let s{j}_{r} = vec4<f32>(subgroupBroadcast(a{held}.{part}, {by}u));");
            for c in 0..QUADS {
                let _ = writeln!(out, "        c{r}_{c} = fma(s{j}_{r}, b{j}_{c}, c{r}_{c});");
            }
        }
    }
    out.push_str(if right == Right::Blocks { "    }\n    }\n" } else { "    }\n" });
    for r in 0..rows {
        let _ = writeln!(out, "    if top + {r}u < m {{");
        for c in 0..QUADS {
            let column = format!("left + {}u", 4 * lanes * c);
            let _ = writeln!(out, "        put_columns((batch * m + top + {r}u) * n, {column}, c{r}_{c});");
        }
        out.push_str("    }\n");
    }
    out.push_str("}\n");
    out
}

/// A row of `b` at step `j` of four; nothing beyond its last.
fn four_steps(out: &mut String, problem: Problem, j: usize) {
    for c in 0..QUADS {
        if problem.k.is_multiple_of(4) {
            let _ = writeln!(out, "        let b{j}_{c} = b_at_4(batch, k + {j}u, column{c});");
        } else {
            let _ = writeln!(
                out,
                "        let b{j}_{c} = select(vec4<f32>(), b_at_4(batch, min(k + {j}u, depth - 1u), column{c}), \
                 k + {j}u < depth);"
            );
        }
    }
}

/// Goes over the chunks of all blocks, and the quads of a chunk.
fn begin_chunk(out: &mut String) {
    out.push_str(
        "    for (var chunk = 0u; chunk < depth / 32u; chunk++) {\n    let part = chunk % (BLOCK_LEN / 32u);\n    \
         let block = chunk / (BLOCK_LEN / 32u) * BLOCK_BYTES;\n",
    );
    for c in 0..QUADS {
        for i in 0..4 {
            let _ = writeln!(out, "    let at{c}_{i} = start{c}_{i} + block;");
            let _ = writeln!(out, "    let s{c}_{i} = block_scales(at{c}_{i}, part);");
        }
    }
    out.push_str("    for (var quad = 0u; quad < 8u; quad++) {\n        let k = 32u * chunk + 4u * quad;\n");
    for c in 0..QUADS {
        for i in 0..4 {
            let _ = writeln!(
                out,
                "        let half{c}_{i} = select(s{c}_{i}.xy, s{c}_{i}.zw, quad >= 4u);\n        \
                 let w{c}_{i} = half{c}_{i}.x * block_codes(at{c}_{i}, part, quad) + half{c}_{i}.y;"
            );
        }
    }
}

/// Step `j` of the four neighbours in each of a lane's blocks.
fn across_blocks(out: &mut String, j: usize, part: &str) {
    for c in 0..QUADS {
        let four = (0..4).map(|i| format!("w{c}_{i}.{part}")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "        let b{j}_{c} = vec4<f32>({four});");
    }
}
