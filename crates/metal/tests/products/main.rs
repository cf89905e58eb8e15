//! Products, attention and WKV-7 on SoftMetal: against the reference evaluator, under the checker, on both kinds of GPU, and what they
//! cost, from the profiler's counters.

mod attention;
mod cases;
mod cost;
mod large;
mod matmul;
#[path = "../../examples/kernel_table/problems.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod problems;
mod quant;
mod rig;
mod rounding;
mod table;
mod wkv7;
