//! Bugs that public Metal projects found late, reconstructed from their descriptions. The checker finds each in one run; docs/softmetal-ci.md
//! tells their stories. The code is ours: only the faulty pattern is theirs.

mod common;
use common::*;
use softmetal::Error;
use softmetal::check::{Report, ReportKind};

fn reports(source: &str, threads: u32, args: &[Arg]) -> Vec<Report> {
    match Run::checked().run(source, "k", threads, threads, args) {
        Ok(_) => Vec::new(),
        Err(Error::Check(r)) => r,
        Err(e) => panic!("{e}"),
    }
}

/// The mended form is the faulty one with one line changed.
fn found(kind: ReportKind, line: u32, source: &str, (fault, mend): (&str, &str), threads: u32, args: &[Arg]) {
    assert!(source.contains(fault), "the fault is in the source");
    let all = reports(source, threads, args);
    assert!(all.iter().any(|r| r.kind == kind && r.line == line), "{kind:?} in line {line}: {all:#?}");
    let clean = reports(&source.replace(fault, mend), threads, args);
    assert!(clean.is_empty(), "mended: {clean:#?}");
}

/// mlx-lm#1700: maxima and then sums pass through one threadgroup array, and nothing separates the reads of the first from the
/// writes of the second. Seen as a loss that exploded now and then in training.
#[test]
fn a_reduction_that_uses_its_scratch_twice() {
    let source =
        "kernel void k(device const float *x, device float *o, uint i [[thread_index_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float shared[4];
  float m = simd_max(x[i]);
  if (lane == 0) shared[simd] = m;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  m = max(max(shared[0], shared[1]), max(shared[2], shared[3]));
  /* no barrier */
  float s = simd_sum(exp(x[i] - m));
  if (lane == 0) shared[simd] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  s = shared[0] + shared[1] + shared[2] + shared[3];
  o[i] = exp(x[i] - m) / s;
}";
    let mend = ("/* no barrier */", "threadgroup_barrier(mem_flags::mem_threadgroup);");
    let x: Vec<f32> = (0..128).map(|i| (i % 7) as f32).collect();
    // The read is reported where another simdgroup has written already, or the write where one has read: as they happen to run.
    let all = reports(source, 128, &[data(&x), zeros::<f32>(128)]);
    let races = all.iter().filter(|r| r.kind == ReportKind::ThreadgroupRace).collect::<Vec<_>>();
    let told = |r: &Report| match r.line {
        7 => r.message.starts_with("read") && r.message.contains("conflicts with a write"),
        10 => r.message.starts_with("write") && r.message.contains("conflicts with a read"),
        _ => false,
    };
    assert!(!races.is_empty() && races.iter().all(|r| told(r)), "{all:#?}");
    assert!(reports(&source.replace(mend.0, mend.1), 128, &[data(&x), zeros::<f32>(128)]).is_empty());
}

/// candle#3710: a strided gather counts dimensions with the length of one of them, and reads shapes and strides behind their ends.
/// The test in use had a length equal to the number of dimensions.
#[test]
fn a_stride_loop_that_runs_over_the_wrong_count() {
    let source = "kernel void k(device const float *x, device float *o, constant uint *shape, constant uint *strides, constant uint &rank,
                  constant uint &length, uint i [[thread_position_in_grid]]) {
  uint at = 0, rest = i;
  for (uint d = 0; d < length; d++) {
    uint axis = length - 1 - d;
    at += rest % shape[axis] * strides[axis];
    rest /= shape[axis];
  }
  o[i] = x[at];
}";
    let args =
        [data(&[1f32; 15]), zeros::<f32>(15), data(&[5u32, 3]), data(&[1u32, 5]), inline(2u32), inline(5u32)];
    let all = reports(source, 15, &args);
    let read = all.iter().find(|r| r.kind == ReportKind::OutOfBounds && r.line == 6);
    assert_eq!(read.map(|r| r.buffer), Some(Some(2)), "{all:#?}");
    let mended = source.replace("d < length", "d < rank").replace("length - 1", "rank - 1");
    assert!(reports(&mended, 15, &args).is_empty());
}

/// vllm-mlx#721: a guard for oversized groups returns before barriers that the other threads go on to.
#[test]
fn a_guard_that_returns_before_a_barrier() {
    let source =
        "kernel void k(device const float *x, device float *o, uint i [[thread_index_in_threadgroup]]) {
  threadgroup float part[128];
  if (i >= 128) return;
  part[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  o[i] = part[127 - i];
}";
    let args = [data(&[1f32; 256]), zeros::<f32>(256)];
    let guard = "if (i >= 128) return;\n  part[i] = x[i];";
    let mended =
        source.replace(guard, "if (i < 128) part[i] = x[i];").replace("o[i] =", "if (i < 128) o[i] =");
    let all = reports(source, 256, &args);
    assert!(all.iter().any(|r| r.kind == ReportKind::DivergentBarrier && r.line == 5), "{all:#?}");
    assert!(reports(&mended, 256, &args).is_empty());
}

/// candle#3863: rows are stored in tiles of four, and the last tile is not compared with the number of rows.
#[test]
fn a_store_behind_the_last_row() {
    found(
        ReportKind::OutOfBounds,
        3,
        "kernel void k(device const float *x, device float *o, constant uint &rows, uint i [[thread_position_in_grid]]) {
  for (uint r = 0; r < 4; r++)
    if (true) o[4 * i + r] = 2 * x[0];
}",
        ("if (true)", "if (4 * i + r < rows)"),
        3,
        &[data(&[1f32]), zeros::<f32>(10), inline(10u32)],
    );
}
