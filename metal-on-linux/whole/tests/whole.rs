//! What a user does, through the driver for Apple's Metal: every op family against the reference, as `wootz check --device metal`.

use metalhost::{live, take_reports};
use wootz::Device;
use wootz::check::{Level, check_matching};

#[test]
fn every_family_agrees_with_the_reference() {
    let device = Device::from_name("metal").expect("the device");
    let driver =
        device.info().facts.iter().find(|(name, _)| name == "driver").map(|(_, value)| value.clone());
    assert_eq!(driver.as_deref(), Some("apple"));
    let full = std::env::var_os("WOOTZ_FULL").is_some_and(|v| v == "1");
    let level = if full { Level::Full } else { Level::Quick };
    let report = check_matching(&device, level, |_| true, &mut |_, _| {});
    let (cases, passed, failed, exceptions) = report.totals();
    println!("{cases} cases: {passed} passed, {failed} failed, {exceptions} known exceptions");
    assert!(cases > 100, "{cases} cases");
    let failures: Vec<_> = report.rows.values().flat_map(|row| &row.failures).collect();
    assert_eq!(failed, 0, "{failures:?}");
    let reports: Vec<String> = take_reports().iter().map(|r| r.to_string()).collect();
    assert!(reports.is_empty(), "{reports:?}");
    // Nothing of a batch is left: what lives is the device and what it keeps. The queue's thread lets go of the last batch just after
    // whoever waits for it is woken.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let left = live().into_iter().filter(|(name, _)| {
        ["CommandBuffer", "Encoder", "NSError", "Descriptor", "MTLCompileOptions"]
            .iter()
            .any(|part| name.contains(part))
    });
    assert_eq!(left.collect::<Vec<_>>(), []);
}
