//! The CPU against the reference evaluator: the case list, and random graphs fused and unfused.

mod common;

use common::Artificial;
use wootz::check::{Level, bind, check, evaluate};
use wootz::{Device, Result};
use wootz_plan::Capabilities;
use wootz_testkit::{compare, random_graph};

#[test]
fn every_case_agrees_with_the_reference() {
    let report = check(&Device::cpu(), Level::Full, |_, _| {});
    let (cases, _, failed, _) = report.totals();
    let failures: Vec<&String> = report.rows.values().flat_map(|row| &row.failures).collect();
    assert_eq!(failed, 0, "{failures:#?}");
    assert!(cases > 10_000, "{cases}");
}

fn device(capabilities: Capabilities) -> Device {
    Artificial { capabilities, ..Artificial::new("cpu") }.device()
}

#[test]
fn random_graphs_agree_fused_unfused_and_with_the_reference() -> Result<()> {
    let fused = Device::cpu();
    let unfused = device(Capabilities { alignment: 64, ..Capabilities::UNFUSED });
    let cramped = device(Capabilities { alignment: 64, max_loads: 3, max_ops: 5, ..Capabilities::ALL });
    for seed in 0..200 {
        let size = [40, 120, 400][seed as usize % 3];
        let graph = random_graph(seed, size);
        let expected = graph.expected()?;
        for device in [&fused, &unfused, &cramped] {
            let outputs = graph.build(&bind(device, &graph.leaves)?)?;
            let got = evaluate(device, &outputs)?;
            for (i, (want, got)) in expected.iter().zip(&got).enumerate() {
                compare(want, got, &graph.tolerance(want.dtype))
                    .unwrap_or_else(|e| panic!("seed {seed}, output {i}: {e}"));
            }
        }
    }
    Ok(())
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
