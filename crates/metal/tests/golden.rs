//! Generated MSL for a few graphs, kept in git so that a change of it is seen. `WOOTZ_BLESS=1` writes it anew.

use std::path::Path;
use std::sync::Arc;
use wootz_backend::Backend;
use wootz_ir::Result;
use wootz_ir::graph::Trace;
use wootz_metal::driver::soft::facts;
use wootz_metal::{MetalBackend, SoftOptions, generated_code};
use wootz_plan::Plan;
use wootz_testkit::{compare_golden, golden_graphs};

#[test]
fn msl_is_as_kept() -> Result<()> {
    let capabilities = MetalBackend::soft(SoftOptions::default()).capabilities();
    let facts = facts(&SoftOptions::default()).expect("the default device exists");
    for (name, output) in golden_graphs()? {
        let plan = Plan::new(&Trace::of(&[output]).graph, &capabilities);
        let code = generated_code(Arc::new(plan), &facts)?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/out");
        compare_golden(&folder, &format!("{name}.metal"), &code);
    }
    Ok(())
}
