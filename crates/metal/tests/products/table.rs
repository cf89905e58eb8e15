//! docs/metal-kernels.json tells what our kernels cost: is it still so?

use crate::problems::PROBLEMS;
use crate::rig::Rig;
use wootz_report::Counted;

#[test]
fn the_table_of_costs_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metal-kernels.json");
    let rows: Vec<Counted> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let rig = Rig::counting();
    for problem in &PROBLEMS {
        let now = problem.ours(&rig);
        let same =
            |r: &&Counted| r.project == now.project && r.problem == now.problem && r.dtype == now.dtype;
        let told = rows.iter().find(same);
        assert_eq!(
            told,
            Some(&now),
            "run `cargo run -p wootz-metal --example kernel_table` (its head says how to keep the other projects' rows)"
        );
    }
}
