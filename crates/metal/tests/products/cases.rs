//! The conformance kit's cases of these families: the quick ones always, all of them when asked for.

use crate::rig::Rig;
use wootz_ir::DType;
use wootz_testkit::{Level, cases};

fn agrees(rig: &Rig, level: Level, family: &str) {
    let mut count = 0;
    for case in cases(level).iter().filter(|c| c.family == family && c.dtype != DType::F64) {
        let nodes: Vec<_> = case.leaves.iter().map(|leaf| rig.bind(leaf)).collect();
        let got = (case.build)(&nodes).and_then(|node| rig.run(&node));
        let got = got.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        case.check(&got).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        count += 1;
    }
    assert!(count > 0, "the kit has no case of {family}");
}

#[test]
fn families_agree_with_the_reference() {
    let rig = Rig::checked();
    for family in ["matmul", "quant_matmul", "attention", "wkv7"] {
        agrees(&rig, Level::Quick, family);
    }
}

#[test]
fn families_agree_on_gpus_without_matrices_and_with_64_lanes() {
    let rig = Rig::mac();
    for family in ["matmul", "quant_matmul", "attention", "wkv7"] {
        agrees(&rig, Level::Quick, family);
    }
}

#[test]
#[ignore = "minutes: many hundred pipelines are compiled; run with --ignored"]
fn every_case_is_clean_under_the_checker() {
    let rig = Rig::checked();
    for family in ["wkv7", "attention", "quant_matmul", "matmul"] {
        agrees(&rig, Level::Full, family);
    }
}
