//! The same targets, guided by coverage: `WOOTZ_FUZZ=TARGET coverage [libFuzzer's options] CORPUS…`. `scripts/fuzz` builds it with the
//! instrumentation that libFuzzer needs.
#![no_main]

use std::sync::LazyLock;
use wootz_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("WOOTZ_FUZZ").expect("WOOTZ_FUZZ names the target");
    Target::named(&name).expect("a target that `fuzz list` names")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    std::hint::black_box((TARGET.accepts)(bytes));
});
