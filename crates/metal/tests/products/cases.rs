//! The conformance kit's quick cases of these families. The full list is what `wootz check` runs.

use crate::rig::Rig;
use wootz_ir::DType;
use wootz_testkit::{Level, cases};

fn agrees(rig: &Rig, family: &str) {
    let mut count = 0;
    for case in cases(Level::Quick).iter().filter(|c| c.family == family && c.dtype != DType::F64) {
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
        agrees(&rig, family);
    }
}

#[test]
fn families_agree_on_gpus_without_matrices_and_with_64_lanes() {
    let rig = Rig::mac();
    for family in ["matmul", "quant_matmul", "attention", "wkv7"] {
        agrees(&rig, family);
    }
}
