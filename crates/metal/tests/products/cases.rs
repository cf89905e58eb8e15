//! The conformance kit's cases of these families: all quick ones, and every so many of all. The whole list under the checker
//! is `wootz check --device metal --sanitize`.

use crate::rig::Rig;
use wootz_ir::DType;
use wootz_testkit::{Level, cases};

/// One case in this many of the full list, a prime: cases come in groups of dtypes and layouts.
const SAMPLE: usize = 13;

/// One case in `every`, from the first on.
fn agrees(rig: &Rig, level: Level, every: usize, family: &str) {
    let mut count = 0;
    let own = |c: &&wootz_testkit::Case| c.family == family && c.dtype != DType::F64;
    for case in cases(level).iter().filter(own).step_by(every) {
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
    for family in ["matmul", "quant_matmul", "expert_matmul", "attention", "wkv7"] {
        agrees(&rig, Level::Quick, 1, family);
    }
}

#[test]
fn families_agree_on_gpus_without_matrices_and_with_64_lanes() {
    let rig = Rig::mac();
    for family in ["matmul", "quant_matmul", "expert_matmul", "attention", "wkv7"] {
        agrees(&rig, Level::Quick, 1, family);
    }
}

#[test]
fn a_sample_of_the_full_list_is_clean_under_the_checker() {
    let rig = Rig::checked();
    for family in ["wkv7", "attention", "expert_matmul", "quant_matmul", "matmul"] {
        agrees(&rig, Level::Full, SAMPLE, family);
    }
}
