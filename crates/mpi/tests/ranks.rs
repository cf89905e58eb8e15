//! Ranks on this machine, with every MPI library that is installed: what they compute, and how they end when something is wrong.
//!
//! Each test starts a launcher, which runs this program again on every rank, with the case to run in the environment.
#![cfg(unix)]

mod collectives;
mod launch;

use launch::{CASE, installed, text};
use std::process::Command;
use std::time::{Duration, Instant};
use wootz_ir::{DType, Shape};
use wootz_mpi::{Abi, Group, ReduceOp, World};

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
        let output = library.run("dies", 3, library.survive, "120");
        let text = text(&output);
        let named =
            text.lines().filter(|line| line.contains("rank 1 (process") && line.contains("has ended"));
        assert_eq!(named.count(), 2, "{}: {text}", library.name);
        // The others linger for some seconds; far from the limit all the same.
        assert!(begin.elapsed() < Duration::from_secs(60), "{}: {:?}", library.name, begin.elapsed());
    }
}

#[test]
fn a_rank_that_stalls_is_named_within_the_time_limit() {
    let cases = [
        ("sleeps", "rank 1 (process", "is busy elsewhere: barrier waited 3 s for it"),
        ("stops", "rank 1 (process", "does not answer: barrier waited 3 s for it"),
        // Whoever waits for somebody to think does so as long as the process is there.
        ("leader stops", "rank 0 (process", "does not answer: broadcast of u8[512] from rank 0"),
        ("stops at the end", "rank 0 (process", "does not answer: the end of the program waited 3 s"),
    ];
    for (at, library) in installed().iter().enumerate() {
        // Each library takes its turn with the cases, unless all are asked for.
        let own = cases.iter().enumerate().filter(|(i, _)| is_full() || i % 3 == at % 3);
        for (case, who, what) in own.map(|(_, case)| case) {
            let begin = Instant::now();
            let text = text(&library.run(case, 3, &[], "3"));
            let named = text.lines().any(|line| line.contains(who) && line.contains(what));
            assert!(named, "{}, {case}: {text}", library.name);
            // The limit, the call, and a busy machine; the stalled rank itself would stay for ten minutes.
            assert!(begin.elapsed() < Duration::from_secs(60), "{}: {:?}", library.name, begin.elapsed());
        }
    }
}

#[test]
fn a_rank_that_thinks_is_waited_for() {
    for library in installed().iter().take(if is_full() { usize::MAX } else { 1 }) {
        let output = library.run("thinks", 3, &[], "2");
        let text = text(&output);
        assert!(output.status.success(), "{}: {text}", library.name);
        assert_eq!(text.matches("heard: a thought").count(), 3, "{}: {text}", library.name);
    }
}

#[test]
fn ranks_that_the_library_does_not_see_are_missed() {
    let Some(library) = installed().into_iter().next() else { return };
    let slurm =
        [("SLURM_JOB_ID", "1"), ("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "4")];
    let output = library.alone("collectives").envs(slurm).output().expect("this program runs");
    let text = text(&output);
    assert!(!output.status.success() && text.contains("srun started 4 ranks, but"), "{text}");
    assert!(text.contains("sees 1: use srun --mpi=pmix or --mpi=pmi2"), "{text}");
}

#[test]
fn a_rank_that_never_starts_is_named() {
    for library in installed() {
        let mut command = library.command(2);
        command.env("WOOTZ_MPI_TIMEOUT", "4");
        library.program(&mut command, "collectives");
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
        [("/nonexistent/libmpi.so", "no MPI library was found"), ("libm.so.6", "is not an MPI library")]
    {
        let mut command = launch::this_program("collectives");
        let output = command.env("WOOTZ_MPI_LIBRARY", file).output().expect("this program runs");
        assert!(!output.status.success() && text(&output).contains(expected), "{file}: {}", text(&output));
    }
}

/// MPICH's launcher, left alone, says itself what happened.
#[test]
fn a_launcher_that_ends_all_ranks_says_why() {
    for library in installed().iter().filter(|library| library.abi != Abi::OpenMpi) {
        let output = library.run("dies", 3, &[], "120");
        let text = text(&output);
        assert!(!output.status.success(), "{}: {text}", library.name);
        let said = text.contains("YOUR APPLICATION TERMINATED") || text.contains("has ended during");
        assert!(said, "{}: {text}", library.name);
    }
}

fn is_full() -> bool {
    std::env::var("WOOTZ_FULL").is_ok_and(|set| set == "1")
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
        "sleeps" => lose(&world, || std::thread::sleep(Duration::from_secs(600))),
        "stops" => lose(&world, stop),
        "leader stops" => shares(&world, stop),
        "thinks" => shares(&world, || std::thread::sleep(Duration::from_secs(9))),
        // The others are at their end, and wait to be the last ones.
        "stops at the end" if world.rank() == 0 => stop(),
        "stops at the end" => {}
        other => panic!("no case {other}"),
    }
}

fn collectives(world: &World) {
    let (group, rank, size) = (world.group(), world.rank(), world.size());
    collectives::check(group);
    counted(group);
    group.barrier().expect("all come");
    let half = group.split((rank % 2) as i32, -(rank as i32)).expect("two groups");
    assert_eq!(half.members().len(), (0..size).filter(|r| r % 2 == rank % 2).count());
    assert!(half.members().is_sorted_by(|a, b| a > b), "the keys turn their order round");
    half.barrier().expect("all come");
    println!("all as expected on {}", world.library().abi.name());
}

/// Messages and bytes are those of docs/distributed.md.
fn counted(group: &Group) {
    let size = group.size() as u64;
    let rounds = u64::from(size.next_power_of_two().trailing_zeros());
    // The second one is too large to go along with its description.
    for (count, payload, delegated) in [(1001u64, 4008, 0), (5000, 0, 1)] {
        let (from, mut into) = (vec![1f32; count as usize], vec![0f32; count as usize]);
        let (from, into) = (bytemuck::cast_slice(&from), bytemuck::cast_slice_mut(&mut into));
        let before = group.traffic();
        let shape = Shape::from([count as usize]);
        group.all_reduce(ReduceOp::Sum, DType::F32, &shape, from, into).expect("a sum");
        let after = group.traffic();
        assert_eq!(after.operations - before.operations, 1);
        assert_eq!(after.bytes - before.bytes, 4 * count);
        assert_eq!(after.messages - before.messages, rounds);
        assert_eq!(after.sent - before.sent, (size - 1) * (64 + payload));
        assert_eq!(after.delegated - before.delegated, delegated);
    }
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

/// Rank 0 has something to say, after a while.
fn shares(world: &World, think: impl FnOnce()) {
    if world.rank() == 0 {
        think();
    }
    match world.group().share(b"a thought") {
        Ok(words) => println!("heard: {}", String::from_utf8_lossy(&words)),
        Err(error) => {
            println!("{error}");
            linger();
            std::process::exit(1);
        }
    }
}

/// Stops this process, as a machine does that has frozen.
fn stop() {
    let id = std::process::id().to_string();
    Command::new("kill").args(["-STOP", &id]).status().expect("kill runs");
    // Threads go on for a moment.
    std::thread::sleep(Duration::from_secs(1));
}

/// Launchers end all ranks when the first one has failed: all of them have to have spoken by then, and telling the others may
/// take five seconds.
fn linger() {
    std::thread::sleep(Duration::from_secs(8));
}
