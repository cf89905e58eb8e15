//! Ranks on this machine, with every MPI library that is installed: what they compute, and how they end when something is wrong.
//!
//! Each test starts a launcher, which runs this program again on every rank, with the case to run in the environment.
#![cfg(unix)]

mod launch;

use launch::{CASE, installed, text};
use std::process::Command;
use std::time::{Duration, Instant};
use wootz_ir::{DType, Shape};
use wootz_mpi::{ReduceOp, World};

#[test]
fn collectives_on_one_to_four_ranks() {
    for library in installed() {
        for ranks in [1, 2, 3, 4] {
            let output = library.run("collectives", ranks, &[], "120");
            let text = text(&output);
            assert!(output.status.success(), "{} with {ranks} ranks: {text}", library.name);
            assert_eq!(text.matches("all as expected").count(), ranks, "{}: {text}", library.name);
            assert!(text.contains(library.abi.name()), "{}: {text}", library.name);
        }
    }
}

#[test]
fn ranks_that_disagree_all_fail() {
    for library in installed() {
        let output = library.run("disagree", 3, &[], "120");
        let text = text(&output);
        assert_eq!(text.matches("refused as expected").count(), 3, "{}: {text}", library.name);
        assert!(text.contains("rank 2 does all_sum of f32[3]"), "{}: {text}", library.name);
    }
}

#[test]
fn a_rank_that_dies_is_named() {
    for library in installed() {
        let begin = Instant::now();
        let output = library.run("dies", 3, library.survive.as_slice(), "120");
        let text = text(&output);
        // A launcher that ends the others before they can speak has to say so itself.
        assert!(library.survive.is_some() || !output.status.success(), "{}: {text}", library.name);
        let named =
            text.lines().filter(|line| line.contains("rank 1 (process") && line.contains("has ended"));
        assert!(library.survive.is_none() || named.count() == 2, "{}: {text}", library.name);
        assert!(begin.elapsed() < Duration::from_secs(100), "{}: {:?}", library.name, begin.elapsed());
    }
}

#[test]
fn a_rank_that_stalls_is_named_within_the_time_limit() {
    for library in installed() {
        let begin = Instant::now();
        let output = library.run("stalls", 3, &[], "3");
        let text = text(&output);
        assert!(
            text.contains("rank 1 (process") && text.contains("does not answer"),
            "{}: {text}",
            library.name
        );
        // The limit, the call, and a busy machine; the stalled rank itself sleeps for ten minutes, unless it is ended too.
        assert!(begin.elapsed() < Duration::from_secs(120), "{}: {:?}", library.name, begin.elapsed());
    }
}

#[test]
fn a_rank_that_never_starts_is_named() {
    for library in installed() {
        let mut command = library.command(2);
        command.env(CASE, "collectives").env("WOOTZ_MPI_TIMEOUT", "4");
        command.arg(std::env::current_exe().expect("this program has a path"));
        command.args(["--exact", "rank", "--ignored", "--nocapture", "--test-threads=1"]);
        command.args([":", "-n", "1", "sleep", "60"]);
        let begin = Instant::now();
        let output = command.output().expect("the launcher runs");
        let text = text(&output);
        assert!(text.contains("rank 2 has not started"), "{}: {text}", library.name);
        assert_eq!(text.matches("has not started").count(), 1, "printed once; {}: {text}", library.name);
        assert!(begin.elapsed() < Duration::from_secs(55), "{}: {:?}", library.name, begin.elapsed());
    }
}

#[test]
fn a_file_that_is_no_mpi_library_is_refused() {
    for (file, expected) in
        [("/nonexistent/libmpi.so", "no MPI library was found"), ("libm.so.6", "is no MPI library")]
    {
        let program = std::env::current_exe().expect("this program has a path");
        let arguments = ["--exact", "rank", "--ignored", "--nocapture"];
        let output = Command::new(program)
            .args(arguments)
            .env(CASE, "collectives")
            .env("WOOTZ_MPI_LIBRARY", file)
            .output()
            .expect("this program runs");
        assert!(!output.status.success() && text(&output).contains(expected), "{file}: {}", text(&output));
    }
}

/// What each rank does.
#[test]
#[ignore = "run on every rank by the tests above"]
fn rank() {
    let case = std::env::var(CASE).expect("the launcher's test names a case");
    let world = World::init().unwrap_or_else(|error| panic!("{error}"));
    match case.as_str() {
        "collectives" => collectives(&world),
        "disagree" => disagree(&world),
        "dies" => lose(&world, || std::process::abort()),
        "stalls" => lose(&world, || std::thread::sleep(Duration::from_secs(600))),
        other => panic!("no case {other}"),
    }
}

fn collectives(world: &World) {
    let (group, rank, size) = (world.group(), world.rank(), world.size());
    // Below and above what goes along with the header.
    for count in [0usize, 1, 5, 4096, 4100, 50_000] {
        let shape = Shape::from([count]);
        let own: Vec<f32> = (0..count).map(|i| (i % 7) as f32 + rank as f32).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&own);
        let mut sum = vec![0f32; count];
        let into = bytemuck::cast_slice_mut(&mut sum);
        group.all_reduce(ReduceOp::Sum, DType::F32, &shape, bytes, into).expect("a sum");
        let ranks = (0..size).sum::<usize>() as f32;
        assert!((0..count).all(|i| sum[i] == size as f32 * (i % 7) as f32 + ranks));
        let mut all = vec![0f32; count * size];
        group.all_gather(DType::F32, &shape, bytes, bytemuck::cast_slice_mut(&mut all)).expect("a gather");
        assert!((0..count * size).all(|i| all[i] == (i % count % 7) as f32 + (i / count) as f32));
        let mut part = vec![0f32; count];
        let all: &[u8] = bytemuck::cast_slice(&all);
        let whole = Shape::from([count * size]);
        let into = bytemuck::cast_slice_mut(&mut part);
        group.reduce_scatter(ReduceOp::Max, DType::F32, &whole, all, into).expect("a scatter");
        assert_eq!(part, own, "every rank had the same");
        let mut data = own.clone();
        let into = bytemuck::cast_slice_mut(&mut data);
        group.broadcast(size - 1, DType::F32, &shape, into).expect("a broadcast");
        assert!((0..count).all(|i| data[i] == (i % 7) as f32 + (size - 1) as f32));
    }
    group.barrier().expect("all come");
    let half = group.split((rank % 2) as i32, -(rank as i32)).expect("two groups");
    assert_eq!(half.members().len(), (0..size).filter(|r| r % 2 == rank % 2).count());
    assert!(half.members().is_sorted_by(|a, b| a > b), "the keys turn their order round");
    half.barrier().expect("all come");
    println!("all as expected on {}", world.library().abi.name());
}

fn disagree(world: &World) {
    let group = world.group();
    let count = if world.rank() == 2 { 3 } else { 4 };
    let (from, mut into) = (vec![1f32; count], vec![0f32; count]);
    let (bytes, into) = (bytemuck::cast_slice(&from), bytemuck::cast_slice_mut(&mut into));
    let result = group.all_reduce(ReduceOp::Sum, DType::F32, &Shape::from([count]), bytes, into);
    let error = result.expect_err("shapes differ");
    assert_eq!(group.barrier().expect_err("it stays failed").to_string(), error.to_string());
    println!("refused as expected: {error}");
    linger();
}

/// Rank 1 is lost in the middle; what the others say.
fn lose(world: &World, end: impl FnOnce()) {
    let group = world.group();
    group.barrier().expect("all are there");
    if world.rank() == 1 {
        end();
        return;
    }
    println!("{}", group.barrier().expect_err("one is lost"));
    linger();
    // MPI cannot be ended without it.
    std::process::exit(1);
}

/// Launchers end all ranks when the first one has failed: all of them have to have spoken by then, and telling the others may
/// take five seconds.
fn linger() {
    std::thread::sleep(Duration::from_secs(8));
}
