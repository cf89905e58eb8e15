//! Every target for a second or two, as part of the test suite; `WOOTZ_FULL=1` gives each a minute, `scripts/fuzz` as long as one
//! likes.

use wootz_fuzz::targets::TARGETS;

#[test]
fn every_target_survives() {
    let full = std::env::var_os("WOOTZ_FULL").is_some_and(|v| v == "1");
    for target in TARGETS {
        target.run(if full { 60 } else { 2 }, 0);
    }
}
