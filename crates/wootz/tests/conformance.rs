//! Every device against the reference evaluator: the case list, and random graphs, on the CPU fused and unfused.

mod common;

use common::Artificial;
use std::sync::Arc;
use wootz::check::{Level, bind, check_matching, evaluate};
use wootz::webgpu::{Options, WebGpuBackend};
use wootz::{Device, Result};
use wootz_plan::Capabilities;
use wootz_testkit::{compare, random_graph};

/// The devices besides the CPU; those that the machine lacks are named with the reason.
fn other_devices() -> Vec<Device> {
    for (name, reason) in Device::missing() {
        wootz_testkit::skipped(&format!("{name} ({reason})"));
    }
    Device::all().into_iter().filter(|d| *d != Device::cpu()).collect()
}

fn passes(device: &Device, level: Level, least: usize) {
    passes_matching(device, level, |_| true, least);
}

fn passes_matching(device: &Device, level: Level, wanted: impl Fn(&str) -> bool, least: usize) {
    let report = check_matching(device, level, wanted, &mut |_, _| {});
    let (cases, _, failed, _) = report.totals();
    let failures: Vec<&String> = report.rows.values().flat_map(|row| &row.failures).collect();
    assert_eq!(failed, 0, "{device}: {failures:#?}");
    assert!(cases > least, "{device}: {cases}");
}

#[test]
fn every_case_agrees_with_the_reference() {
    passes(&Device::cpu(), Level::Full, 10_000);
}

#[test]
fn every_other_device_agrees_with_the_reference() {
    for device in other_devices() {
        // The full level takes a software device minutes: `wootz check --device NAME`.
        passes(&device, Level::Quick, 500);
    }
}

/// A software adapter has kernels of its own for much; those of GPUs run on it too, where they are asked for.
#[test]
fn kernels_without_optional_features_agree_with_the_reference() {
    let options = Options { plain: true, ..Options::default() };
    let backend = match WebGpuBackend::with_options(options) {
        Ok(backend) => backend,
        Err(reason) => return wootz_testkit::skipped(&reason.to_string()),
    };
    let device = Device::from_backend(Arc::new(backend));
    passes(&device, Level::Quick, 500);
    // One, a few and many rows of every format.
    passes_matching(&device, Level::Full, |name| name.contains("precise"), 45);
}

/// Random graphs, compared output by output; `seeds` bounds how many.
fn agrees_on_random_graphs(device: &Device, seeds: std::ops::Range<u64>) -> Result<()> {
    for seed in seeds {
        let graph = random_graph(seed, [40, 120, 400][seed as usize % 3]);
        let outputs = graph.build(&bind(device, &graph.leaves)?)?;
        let got = evaluate(device, &outputs)?;
        for (i, (want, got)) in graph.expected()?.iter().zip(&got).enumerate() {
            compare(want, got, &graph.tolerance(want.dtype))
                .unwrap_or_else(|e| panic!("{device}, seed {seed}, output {i}: {e}"));
        }
    }
    Ok(())
}

#[test]
fn random_graphs_agree_on_every_other_device() -> Result<()> {
    // Each graph is a plan with shaders of its own, which a software device compiles slowly.
    let count =
        std::env::var("WOOTZ_RANDOM_GRAPHS").ok().and_then(|n| n.parse().ok()).unwrap_or(RANDOM_GRAPHS);
    other_devices().iter().try_for_each(|device| agrees_on_random_graphs(device, 0..count))
}

/// Random graphs that every device besides the CPU is tried with.
const RANDOM_GRAPHS: u64 = 12;

fn device(capabilities: Capabilities) -> Device {
    Artificial { capabilities, ..Artificial::new("cpu") }.device()
}

#[test]
fn random_graphs_agree_fused_unfused_and_with_the_reference() -> Result<()> {
    let fused = Device::cpu();
    let unfused = device(Capabilities { alignment: 64, ..Capabilities::UNFUSED });
    let cramped = device(Capabilities { alignment: 64, max_loads: 3, max_ops: 5, ..Capabilities::ALL });
    [&fused, &unfused, &cramped].into_iter().try_for_each(|device| agrees_on_random_graphs(device, 0..200))
}

#[test]
fn a_cached_plan_gives_the_same_bits_as_a_fresh_one() -> Result<()> {
    let device = Device::cpu();
    for seed in 300..320 {
        let graph = random_graph(seed, 150);
        let mut runs = Vec::new();
        for fresh in [true, false, true] {
            if fresh {
                device.trim();
            }
            runs.push(evaluate(&device, &graph.build(&bind(&device, &graph.leaves)?)?)?);
        }
        let bits = |run: &Vec<wootz_ir::reference::HostTensor>| -> Vec<(u8, u64)> {
            run.iter().flat_map(|t| t.data.iter().map(|n| n.bits())).collect()
        };
        assert_eq!(bits(&runs[0]), bits(&runs[1]), "seed {seed}");
        assert_eq!(bits(&runs[0]), bits(&runs[2]), "seed {seed}");
    }
    Ok(())
}
