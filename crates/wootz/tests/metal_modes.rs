//! The Metal device under the checker, in shuffled order, and as other GPUs: samples of the quick case list, drawn by name.
//!
//! The whole list in each mode is `wootz check --device metal` with `--sanitize`, `--shuffle N`, `--gpu-family mac2 --lanes 64`.

use std::sync::Arc;
use wootz::Device;
use wootz::check::{Level, check_matching};
use wootz::metal::{Family, MetalBackend, SoftOptions};

/// One case in this many: kernels are compiled anew for each mode.
const SAMPLE: usize = 12;

fn passes(mode: &str, options: SoftOptions) {
    let device = Device::from_backend(Arc::new(MetalBackend::soft(options)));
    let salt = mode.len();
    let drawn = |name: &str| {
        let sum = name.bytes().fold(salt, |h, b| h.wrapping_mul(31).wrapping_add(b as usize));
        !name.contains("f64") && sum.is_multiple_of(SAMPLE)
    };
    let report = check_matching(&device, Level::Quick, drawn, &mut |_, _| {});
    let (cases, passed, failed, _) = report.totals();
    let failures: Vec<&String> = report.rows.values().flat_map(|row| &row.failures).collect();
    assert_eq!(failed, 0, "{mode}: {failures:#?}");
    assert!(cases > 20 && passed == cases, "{mode}: {cases} cases, {passed} passed");
}

#[test]
fn nothing_to_report_under_the_checker() {
    passes("checked", SoftOptions { sanitize: true, ..SoftOptions::default() });
}

#[test]
fn the_order_of_threads_and_launches_does_not_matter() {
    for seed in [1, 2, 3] {
        passes(&format!("shuffled by {seed}"), SoftOptions { shuffle: Some(seed), ..SoftOptions::default() });
    }
}

#[test]
fn without_simdgroup_matrices_and_with_64_lanes() {
    let options = SoftOptions { family: Some(Family::Mac2), simd_width: Some(64), ..SoftOptions::default() };
    passes("mac2", SoftOptions { sanitize: true, ..options });
}
