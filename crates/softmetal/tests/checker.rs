//! Planted bugs: each is found, in its class, at its line; the repaired twin is clean and right.

mod common;
use common::*;
use softmetal::check::{Report, ReportKind};
use softmetal::{DispatchType, Error};

fn reports(source: &str, grid: u32, threads: u32, args: &[Arg]) -> Vec<Report> {
    match Run::checked().run(source, "k", grid, threads, args) {
        Ok(_) => Vec::new(),
        Err(Error::Check(r)) => r,
        Err(e) => panic!("{e}"),
    }
}

/// The bug is found as `kind` in `line`; the twin has no finding.
fn planted(kind: ReportKind, line: u32, bad: &str, good: &str, threads: u32, args: &[Arg]) -> Report {
    let found = reports(bad, threads, threads, args);
    let hit = found.iter().find(|r| r.kind == kind && r.line == line);
    let hit = hit.unwrap_or_else(|| panic!("{kind:?} in line {line} not found: {found:#?}")).clone();
    let clean = reports(good, threads, threads, args);
    assert!(clean.is_empty(), "the repaired twin: {clean:#?}");
    hit
}

#[test]
fn device_read_out_of_bounds() {
    let r = planted(
        ReportKind::OutOfBounds,
        2,
        "kernel void k(device const float *x, device float *o, uint i [[thread_position_in_grid]]) {\n  o[i] = x[i + 1];\n}",
        "kernel void k(device const float *x, device float *o, uint i [[thread_position_in_grid]]) {\n  o[i] = i + 1 < 64 ? x[i + 1] : 0;\n}",
        64,
        &[zeros::<f32>(64), zeros::<f32>(64)],
    );
    assert_eq!((r.buffer, r.offset, r.thread, r.kernel.as_str()), (Some(0), Some(256), [63, 0, 0], "k"));
    assert!(r.column > 0 && r.to_string().contains("program.metal:2:"), "{r}");
}

#[test]
fn private_array_out_of_bounds() {
    let r = planted(
        ReportKind::OutOfBounds,
        3,
        "kernel void k(device const uint *x, device uint *o, uint i [[thread_position_in_grid]]) {\n  uint t[4] = {};\n  for (uint j = 0; j < x[i]; j++) t[j] = i;\n  o[i] = t[0] + t[3];\n}",
        "kernel void k(device const uint *x, device uint *o, uint i [[thread_position_in_grid]]) {\n  uint t[4] = {};\n  for (uint j = 0; j < min(x[i], 4u); j++) t[j] = i;\n  o[i] = t[0] + t[3];\n}",
        64,
        &[data(&[9u32; 64]), zeros::<u32>(64)],
    );
    assert!(r.to_string().contains("an array in thread memory"), "{r}");
}

#[test]
fn device_write_out_of_bounds_and_before_the_start() {
    planted(
        ReportKind::OutOfBounds,
        3,
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  o[i] = 1;\n  if (i == 5) o[100000] = 1;\n}",
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  o[i] = 1;\n}",
        64,
        &[zeros::<f32>(64)],
    );
    let r = planted(
        ReportKind::OutOfBounds,
        1,
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[int(i) - 1] = 1; }",
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[int(i)] = 1; }",
        64,
        &[zeros::<f32>(64)],
    );
    assert_eq!(r.offset, Some(-4));
}

#[test]
fn a_wild_pointer_ends_the_dispatch() {
    let found = reports(
        "kernel void k(device float *o, constant ulong &far, uint i [[thread_position_in_grid]]) {\n o[far] = 1; }",
        1,
        1,
        &[zeros::<f32>(4), inline(1u64 << 36)],
    );
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].line), (ReportKind::OutOfBounds, 2));
}

#[test]
fn inline_bytes_have_bounds() {
    planted(
        ReportKind::OutOfBounds,
        2,
        "kernel void k(device float *o, constant float *c, uint i [[thread_position_in_grid]]) {\n  o[i] = c[i];\n}",
        "kernel void k(device float *o, constant float *c, uint i [[thread_position_in_grid]]) {\n  o[i] = c[i % 2];\n}",
        4,
        &[zeros::<f32>(4), inline([1.0f32, 2.0])],
    );
}

#[test]
fn threadgroup_out_of_bounds() {
    planted(
        ReportKind::OutOfBounds,
        3,
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  threadgroup float t[32];\n  t[i * 2] = 1;\n  o[i] = 1;\n}",
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  threadgroup float t[64];\n  t[i * 2] = 1;\n  o[i] = 1;\n}",
        32,
        &[zeros::<f32>(32)],
    );
}

const RACE: &str =
    "kernel void k(device const float *x, device float *o, uint i [[thread_position_in_grid]]) {
  threadgroup float t[64];
  t[i] = x[i];
  BARRIER
  o[i] = t[63 - i];
}";

#[test]
fn threadgroup_race_between_threads() {
    let bad = RACE.replace("BARRIER", "");
    let good = RACE.replace("BARRIER", "threadgroup_barrier(mem_flags::mem_threadgroup);");
    let args = [zeros::<f32>(64), zeros::<f32>(64)];
    // Depending on the order, a missing barrier is seen as a read of memory not yet written, or as a race.
    let found = reports(&bad, 64, 64, &args);
    assert!(found.iter().any(|r| r.kind == ReportKind::ThreadgroupRace && r.line == 5), "{found:#?}");
    assert!(reports(&good, 64, 64, &args).is_empty());
}

#[test]
fn threadgroup_write_after_read() {
    let src = "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {
  threadgroup float t[64];
  t[i] = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float v = t[(i + 1) % 64];
  BARRIER
  t[i] = v;
  o[i] = t[i];
}";
    planted(
        ReportKind::ThreadgroupRace,
        7,
        &src.replace("BARRIER", ""),
        &src.replace("BARRIER", "threadgroup_barrier(mem_flags::mem_threadgroup);"),
        64,
        &[zeros::<f32>(64)],
    );
}

#[test]
fn a_simdgroup_barrier_orders_one_simdgroup_only() {
    let src = "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {
  threadgroup float t[64];
  t[i] = i;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  o[i] = t[i ^ STEP];
}";
    planted(
        ReportKind::ThreadgroupRace,
        5,
        &src.replace("STEP", "32"),
        &src.replace("STEP", "1"),
        64,
        &[zeros::<f32>(64)],
    );
}

#[test]
fn uninitialised_threadgroup_memory() {
    planted(
        ReportKind::UninitialisedRead,
        5,
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  threadgroup float t[64];\n  if (i < 32) t[i] = 1;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n  o[i] = t[i];\n}",
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  threadgroup float t[64];\n  t[i] = 1;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n  o[i] = t[i];\n}",
        64,
        &[zeros::<f32>(64)],
    );
}

#[test]
fn device_races_within_and_between_groups() {
    let src = "kernel void k(device ATOMIC *o, uint i [[thread_position_in_grid]]) {
  UPDATE
}";
    let bad = src.replace("ATOMIC", "uint").replace("UPDATE", "o[0] += 1;");
    let good = src
        .replace("ATOMIC", "atomic_uint")
        .replace("UPDATE", "atomic_fetch_add_explicit(o, 1u, memory_order_relaxed);");
    planted(ReportKind::DeviceRace, 2, &bad, &good, 64, &[zeros::<u32>(1)]);
    let across =
        "kernel void k(device const float *x, device float *o, uint g [[threadgroup_position_in_grid]]) {
  o[INDEX] = x[g];
}";
    let args = [data(&[1.0f32, 2.0, 3.0, 4.0]), zeros::<f32>(4)];
    let found = reports(&across.replace("INDEX", "g / 2"), 4, 1, &args);
    assert!(found.iter().any(|r| r.kind == ReportKind::DeviceRace && r.line == 2), "{found:#?}");
    assert!(reports(&across.replace("INDEX", "g"), 4, 1, &args).is_empty());
}

#[test]
fn a_read_of_what_another_group_writes() {
    let src = "kernel void k(device float *o, uint g [[threadgroup_position_in_grid]]) {
  float v = o[SOURCE];
  o[g] = v + 1;
}";
    let found = reports(&src.replace("SOURCE", "(g + 1) % 4"), 4, 1, &[zeros::<f32>(4)]);
    assert!(found.iter().any(|r| r.kind == ReportKind::DeviceRace), "{found:#?}");
    assert!(reports(&src.replace("SOURCE", "g"), 4, 1, &[zeros::<f32>(4)]).is_empty());
}

#[test]
fn barriers_not_reached_by_all() {
    let r = planted(
        ReportKind::DivergentBarrier,
        3,
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  if (i >= 40) return;\n  threadgroup_barrier(mem_flags::mem_device);\n  o[i] = 1;\n}",
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  threadgroup_barrier(mem_flags::mem_device);\n  if (i >= 40) return;\n  o[i] = 1;\n}",
        64,
        &[zeros::<f32>(64)],
    );
    assert!(r.message.contains("40 of 64"), "{r}");
    planted(
        ReportKind::DivergentBarrier,
        2,
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  if (i < 32) threadgroup_barrier(mem_flags::mem_device);\n  else threadgroup_barrier(mem_flags::mem_device);\n  o[i] = 1;\n}",
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  threadgroup_barrier(mem_flags::mem_device);\n  o[i] = 1;\n}",
        64,
        &[zeros::<f32>(64)],
    );
}

#[test]
fn simd_operations_under_divergence() {
    planted(
        ReportKind::DivergentSimd,
        3,
        "kernel void k(device uint *o, uint i [[thread_position_in_grid]]) {\n  uint v = 0;\n  if (i < 16) v = simd_shuffle(i, 20);\n  o[i] = v;\n}",
        "kernel void k(device uint *o, uint i [[thread_position_in_grid]]) {\n  uint v = simd_shuffle(i, 20);\n  o[i] = i < 16 ? v : 0;\n}",
        32,
        &[zeros::<u32>(32)],
    );
    planted(
        ReportKind::DivergentSimd,
        3,
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  simdgroup_float8x8 m = simdgroup_float8x8(1);\n  if (i < 8) simdgroup_store(m, o, 8);\n}",
        "kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n  simdgroup_float8x8 m = simdgroup_float8x8(1);\n  simdgroup_store(m, o, 8);\n}",
        32,
        &[zeros::<f32>(64)],
    );
    // A sum over the active lanes is well defined.
    let sum = "kernel void k(device uint *o, uint i [[thread_position_in_grid]]) { o[i] = 0; if (i < 16) o[i] = simd_sum(i); }";
    assert!(reports(sum, 32, 32, &[zeros::<u32>(32)]).is_empty());
}

#[test]
fn misaligned_vectors() {
    planted(
        ReportKind::Misaligned,
        2,
        "kernel void k(device uint4 *o, device const uint *x, uint i [[thread_position_in_grid]]) {\n  o[i] = as_type<uint4>(*(device const ulong2 *)(x + 1));\n}",
        "kernel void k(device uint4 *o, device const uint *x, uint i [[thread_position_in_grid]]) {\n  o[i] = as_type<uint4>(*(device const ulong2 *)(x + 4));\n}",
        1,
        &[zeros::<[u32; 4]>(1), zeros::<u32>(16)],
    );
}

#[test]
fn an_output_that_nobody_touches() {
    let found = reports(
        "kernel void k(device float *o, device float *never, uint i [[thread_position_in_grid]]) { o[i] = 1; }",
        4,
        4,
        &[zeros::<f32>(4), zeros::<f32>(4)],
    );
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].buffer), (ReportKind::OutputNotWritten, Some(1)));
}

/// Two dispatches in a concurrent encoder, with a barrier for everything, for one of three buffers, or none. The second reads
/// what the first writes, which is buffer 1.
fn two_dispatches(barrier: Option<Option<usize>>) -> softmetal::Result<()> {
    let run = Run::checked();
    let device = softmetal::Device::new(run.device)?;
    let src = "#include <metal_stdlib>\nkernel void k(device const float *x, device float *o, uint i [[thread_position_in_grid]]) {\n  o[i] = x[i] + 1;\n}";
    let p = device.new_pipeline(&device.new_library(src, &run.compile)?.function("k")?)?;
    let buffers: Vec<_> = (0..3)
        .map(|_| device.new_buffer(256, softmetal::StorageMode::Shared))
        .collect::<softmetal::Result<_>>()?;
    let command = device.new_queue().command_buffer();
    let mut e = command.compute_encoder(DispatchType::Concurrent);
    e.set_pipeline(&p);
    e.set_buffer(0, &buffers[0], 0)?;
    e.set_buffer(1, &buffers[1], 0)?;
    e.dispatch_threads(64, 32)?;
    match barrier {
        Some(None) => e.memory_barrier(),
        Some(Some(i)) => e.memory_barrier_for(&[&buffers[i]]),
        None => {}
    }
    e.set_buffer(0, &buffers[1], 0)?;
    e.set_buffer(1, &buffers[2], 0)?;
    e.dispatch_threads(64, 32)?;
    e.end_encoding();
    command.run()?;
    assert_eq!(buffers[2].read::<f32>()?, vec![2.0; 64]);
    Ok(())
}

#[test]
fn a_concurrent_encoder_needs_a_barrier() {
    // A barrier for another buffer is none.
    for barrier in [None, Some(Some(0)), Some(Some(2))] {
        match two_dispatches(barrier) {
            Err(Error::Check(r)) => {
                assert!(r.iter().any(|r| r.kind == ReportKind::DispatchHazard && r.line == 3), "{r:#?}")
            }
            other => panic!("{barrier:?}: {other:?}"),
        }
    }
    two_dispatches(Some(None)).unwrap();
    two_dispatches(Some(Some(1))).unwrap();
}

#[test]
fn use_after_free_in_an_unretained_command_buffer() {
    let run = Run::checked();
    let device = softmetal::Device::new(run.device).unwrap();
    let src = "kernel void k(device float *o) { o[0] = 1; }";
    let p =
        device.new_pipeline(&device.new_library(src, &run.compile).unwrap().function("k").unwrap()).unwrap();
    let queue = device.new_queue();
    for keep in [true, false] {
        let b = device.new_buffer(16, softmetal::StorageMode::Shared).unwrap();
        let command = queue.command_buffer_unretained();
        let mut e = command.compute_encoder(DispatchType::Serial);
        e.set_pipeline(&p);
        e.set_buffer(0, &b, 0).unwrap();
        e.dispatch_threads(1, 1).unwrap();
        e.end_encoding();
        let kept = keep.then(|| b.clone());
        drop(b);
        let outcome = command.run();
        drop(kept);
        assert_eq!(outcome.is_ok(), keep);
        if let Err(e) = outcome {
            assert!(e.to_string().contains("use after free"), "{e}");
        }
    }
}

#[test]
fn findings_are_limited_and_sorted() {
    let body: String = (0..8).map(|k| format!("  o[1000 + i * {}] = 1;\n", k + 1)).collect();
    let src = format!("kernel void k(device float *o, uint i [[thread_position_in_grid]]) {{\n{body}}}");
    let mut run = Run::checked();
    run.device.check = Some(softmetal::check::CheckOptions { max_reports: 3 });
    match run.run(&src, "k", 1, 1, &[zeros::<f32>(4)]) {
        Err(Error::Check(r)) => {
            assert_eq!(r.len(), 3);
            assert!(r.windows(2).all(|w| w[0].line <= w[1].line));
        }
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn shuffling_makes_order_dependence_visible() {
    let src = "kernel void k(device uint *o, uint i [[thread_position_in_grid]]) { o[0] = i; }";
    let last = |seed: Option<u64>| {
        let mut r = Run::default();
        r.device.shuffle = seed;
        r.device.workers = Some(1);
        r.run(src, "k", 256, 64, &[zeros::<u32>(1)]).unwrap().get::<u32>(0)[0]
    };
    let seen: std::collections::BTreeSet<u32> = (1..6).map(|s| last(Some(s))).collect();
    assert!(seen.len() > 1, "{seen:?}");
    assert_eq!(last(Some(3)), last(Some(3)));
}

#[test]
fn equal_values_from_all_threads_are_no_race() {
    let src = "kernel void k(device uint *o, uint i [[thread_position_in_grid]]) {
  threadgroup uint t;
  t = VALUE;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  o[0] = t;
}";
    let found = reports(&src.replace("VALUE", "i"), 64, 64, &[zeros::<u32>(1)]);
    assert!(found.iter().any(|r| r.kind == ReportKind::ThreadgroupRace && r.line == 3), "{found:#?}");
    assert!(reports(&src.replace("VALUE", "7"), 64, 64, &[zeros::<u32>(1)]).is_empty());
}

#[test]
fn two_checked_devices_share_a_loaded_kernel() {
    let src = "#include <metal_stdlib>\nkernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = 3; }";
    let devices: Vec<_> = (0..3).map(|_| softmetal::Device::new(Run::checked().device).unwrap()).collect();
    let pipelines: Vec<_> = devices
        .iter()
        .map(|d| {
            let library = d.new_library(src, &softmetal::CompileOptions::default()).unwrap();
            d.new_pipeline(&library.function("k").unwrap()).unwrap()
        })
        .collect();
    for (d, p) in devices.iter().zip(&pipelines) {
        let o = d.new_buffer(256, softmetal::StorageMode::Shared).unwrap();
        let command = d.new_queue().command_buffer();
        let mut e = command.compute_encoder(DispatchType::Serial);
        e.set_pipeline(p);
        e.set_buffer(0, &o, 0).unwrap();
        e.dispatch_threads(64, 32).unwrap();
        e.end_encoding();
        command.run().unwrap();
        assert_eq!(o.read::<f32>().unwrap(), vec![3.0; 64]);
    }
}

#[test]
fn a_write_through_a_constant_buffer() {
    let r = planted(
        ReportKind::ReadOnlyWrite,
        3,
        "kernel void k(device const float *x, device float *o, uint i [[thread_position_in_grid]]) {\n  device float *w = (device float *)x;\n  w[i] = 1;\n  o[i] = 2;\n}",
        "kernel void k(device const float *x, device float *o, uint i [[thread_position_in_grid]]) {\n  device float *w = o;\n  w[i] = 1;\n  o[i] = 2;\n}",
        8,
        &[zeros::<f32>(8), zeros::<f32>(8)],
    );
    assert_eq!((r.buffer, r.kernel.as_str()), (Some(0), "k"));
}

#[test]
fn one_buffer_may_be_bound_for_reading_and_for_writing() {
    let run = Run::checked();
    let device = softmetal::Device::new(run.device).unwrap();
    let src = "#include <metal_stdlib>\nkernel void k(device const float *x, device float *o, uint i [[thread_position_in_grid]]) {\n  o[i] = x[i] + 1;\n}";
    let library = device.new_library(src, &run.compile).unwrap();
    let p = device.new_pipeline(&library.function("k").unwrap()).unwrap();
    let both = device.new_buffer(512, softmetal::StorageMode::Shared).unwrap();
    let command = device.new_queue().command_buffer();
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(&p);
    e.set_buffer(0, &both, 0).unwrap();
    e.set_buffer(1, &both, 256).unwrap();
    e.dispatch_threads(64, 32).unwrap();
    e.end_encoding();
    command.run().unwrap();
    assert_eq!(both.read::<f32>().unwrap()[64..], vec![1.0; 64]);
}
