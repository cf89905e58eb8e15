//! Quantised products on CPU adapters, where every memory access is serialised by lane and costs as much as dozens of
//! operations: each lane processes its own rows of W and reads a block in as few quads as possible, and the lanes of
//! a subgroup share what they have read of x. On llvmpipe this made products of many rows 32 times as fast as the
//! kernels for GPUs, and of one row 5 times.

use super::quant_matmul::weight_access;
use crate::codegen::{Launch, Shader};
use std::fmt::Write;
use wootz_gpu::problem::MatmulProblem as Problem;
use wootz_ir::BlockFormat;

/// Quads of x in a chunk of 32 values.
const QUADS: usize = 8;

/// Where the rows of W are: their buffer, and what their addresses are multiples of.
#[derive(Clone, Copy)]
pub struct WeightRows {
    pub buffer: usize,
    pub alignment: usize,
}

/// `fn load_block(at: u32)`, which reads the block at an address, and `weight_word` and `weight_byte` of its bytes.
///
/// All that is known only at run time is in `load_block`: addresses within the block are constants once calls are inlined, and
/// its words stay in registers.
pub fn block_in_registers(code: &mut Shader<'_>, rows: WeightRows, format: BlockFormat) {
    let words = format.block_bytes().div_ceil(4);
    let slack = 16 - rows.alignment.min(16);
    let quads = (format.block_bytes() + slack).div_ceil(16);
    code.as_quads(rows.buffer);
    let mut out = format!(
        "var<private> block: array<u32, {}>;\nfn load_block(at: u32) {{\n    let first = at >> 4u;\n",
        words + 1
    );
    for i in 0..quads {
        let _ = writeln!(out, "    let v{i} = q{}(first + {i}u);", rows.buffer);
    }
    let mut held: Vec<String> =
        (0..quads * 4).map(|i| format!("v{}.{}", i / 4, ["x", "y", "z", "w"][i % 4])).collect();
    for (bit, by) in [(4, 1), (8, 2)] {
        if rows.alignment.is_multiple_of(2 * bit) {
            continue;
        }
        for i in 0..held.len() - by {
            let _ = writeln!(
                out,
                "    let by{by}_{i} = select({}, {}, (at & {bit}u) != 0u);",
                held[i],
                held[i + by]
            );
        }
        held = (0..held.len() - by).map(|i| format!("by{by}_{i}")).collect();
    }
    let unaligned = !rows.alignment.is_multiple_of(4);
    if unaligned {
        out.push_str("    let up = 8u * (at & 3u);\n");
    }
    for i in 0..words {
        let word = match held.get(i + 1).filter(|_| unaligned) {
            Some(next) => {
                format!("select(({} >> up) | ({next} << (32u - up)), {}, up == 0u)", held[i], held[i])
            }
            None if unaligned => format!("{} >> up", held[i]),
            None => held[i].clone(),
        };
        let _ = writeln!(out, "    block[{i}] = {word};");
    }
    code.push(&(out + "}\n"));
    weight_access(code, false, |index| format!("block[{index}]"));
}

/// Rows of W that a lane has, for which x is read once. What is unrolled grows with them.
fn columns(format: BlockFormat) -> usize {
    if format.block_len() > 32 { 2 } else { 4 }
}

/// The launch for few rows of x, given `load_block`, the format's functions, `in0_4` and `finish`.
pub fn launch_few(problem: Problem, mut code: Shader<'_>, lanes: usize, format: BlockFormat) -> Launch {
    code.arg("n", problem.n);
    code.arg("k", problem.k);
    let text = few(problem.m, lanes, format);
    code.push(&text);
    code.launch("quant_broadcast", problem.n.div_ceil(lanes * columns(format)))
}

/// The kernel's text, all of a block unrolled.
fn few(rows: usize, lanes: usize, format: BlockFormat) -> String {
    let columns = columns(format);
    let mut out = format!(
        "@compute @workgroup_size({lanes})\nfn quant_broadcast(@builtin(workgroup_id) group: vec3<u32>, \
         @builtin(local_invocation_index) lane: u32) {{\n    let depth = arg_k();\n    \
         let index = group_index(group);\n    if index >= p[0].y {{\n        return;\n    }}\n    \
         let left = index * {}u + lane;\n",
        lanes * columns
    );
    for j in 0..columns {
        let _ = writeln!(out, "    let start{j} = row_start(min(left + {}u, arg_n() - 1u));", j * lanes);
        for r in 0..rows {
            let _ = writeln!(out, "    var sum{j}_{r} = vec4<f32>();");
        }
    }
    out.push_str("    for (var b = 0u; b < depth / BLOCK_LEN; b++) {\n");
    let chunks = format.block_len() / 32;
    for (r, c) in (0..rows).flat_map(|r| (0..chunks).map(move |c| (r, c))) {
        for i in 0..QUADS.div_ceil(lanes) {
            let quad = format!("4u * ((lane + {}u) % {QUADS}u)", i * lanes);
            let chunk = format!("{r}u * depth + b * BLOCK_LEN + {}u", 32 * c);
            let _ = writeln!(out, "        let x{c}_{r}_{i} = in0_4({chunk} + {quad});");
        }
    }
    for j in 0..columns {
        let _ = writeln!(out, "        load_block(start{j} + b * BLOCK_BYTES);");
        (0..chunks).for_each(|c| chunk(&mut out, (rows, lanes), j, c));
    }
    out.push_str("    }\n");
    for j in 0..columns {
        let column = format!("left + {}u", j * lanes);
        let _ = writeln!(out, "    if {column} < arg_n() {{");
        for r in 0..rows {
            let s = format!("sum{j}_{r}");
            let total = format!("({s}.x + {s}.y) + ({s}.z + {s}.w)");
            let _ = writeln!(out, "        finish({r}u * arg_n() + {column}, {total});");
        }
        out.push_str("    }\n");
    }
    out.push_str("}\n");
    out
}

/// Chunk `c` of the block that was loaded from row `j`, with every row of x.
fn chunk(out: &mut String, (rows, lanes): (usize, usize), j: usize, c: usize) {
    let _ = writeln!(out, "        let s{j}_{c} = block_scales(0u, {c}u);");
    for q in 0..QUADS {
        let (scale, offset) = if q < QUADS / 2 { ("x", "y") } else { ("z", "w") };
        let w = format!("w{j}_{c}_{q}");
        let _ = writeln!(
            out,
            "        let {w} = s{j}_{c}.{scale} * block_codes(0u, {c}u, {q}u) + s{j}_{c}.{offset};"
        );
        for r in 0..rows {
            let x = format!("subgroupBroadcast(x{c}_{r}_{}, {}u)", q / lanes, q % lanes);
            let _ = writeln!(out, "        sum{j}_{r} = fma({w}, {x}, sum{j}_{r});");
        }
    }
}
