//! Generated WGSL for a few graphs, kept in git so that a change of it is seen. `WOOTZ_BLESS=1` writes it anew. No adapter is needed.

use std::path::Path;
use wootz_ir::Result;
use wootz_ir::graph::Trace;
use wootz_plan::Plan;
use wootz_testkit::{compare_golden, golden_graphs};
use wootz_webgpu::{Facts, launches};

#[test]
fn wgsl_is_as_kept() -> Result<()> {
    for (name, output) in golden_graphs()? {
        let plan = Plan::new(&Trace::of(&[output]).graph, &Facts::PROMISED.capabilities());
        let launches = launches(&plan, &Facts::PROMISED)?.into_iter();
        let code: Vec<_> = launches.map(|launch| (launch.entry.to_string(), launch.source)).collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/out");
        compare_golden(&folder, &format!("{name}.wgsl"), &code);
    }
    Ok(())
}
