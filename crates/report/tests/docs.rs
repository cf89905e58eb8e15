//! `docs/performance.md` and the README's table are made from `docs/performance.json`, a real run; these tests fail when they
//! are out of date. `WOOTZ_BLESS=1 cargo test -p wootz-report --test docs` writes them anew.

use std::path::PathBuf;
use wootz_report::{Run, performance_page, readme_table};

const BEGIN: &str = "<!-- performance: made from docs/performance.json -->\n";
const END: &str = "<!-- /performance -->\n";

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(name)
}

/// The committed run; none before the first one.
fn run() -> Option<Run> {
    let text = std::fs::read_to_string(file("docs/performance.json")).ok()?;
    Some(Run::parse(&text, "docs/performance.json").unwrap())
}

fn is_current(name: &str, expected: &str) {
    if std::env::var_os("WOOTZ_BLESS").is_some() {
        std::fs::write(file(name), expected).unwrap();
    }
    let committed = std::fs::read_to_string(file(name)).unwrap_or_default();
    let advice = "WOOTZ_BLESS=1 cargo test -p wootz-report --test docs";
    assert!(committed == expected, "{name} is out of date: {advice}");
}

#[test]
fn the_page_of_performance_is_current() {
    match run() {
        Some(run) => is_current("docs/performance.md", &performance_page(&run)),
        None => assert!(!file("docs/performance.md").exists(), "a page without the run it is made from"),
    }
}

#[test]
fn the_table_in_the_readme_is_current() {
    let readme = std::fs::read_to_string(file("README.md")).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the README has a place for the table");
    let (_, after) = rest.split_once(END).expect("the place for the table ends");
    let table = run().map(|run| readme_table(&run)).unwrap_or_default();
    is_current("README.md", &format!("{before}{BEGIN}{table}{END}{after}"));
}

#[test]
fn the_committed_run_is_whole() {
    if let Some(run) = run() {
        assert!(run.complete && !run.quick, "docs/performance.json must be of a full run");
        assert!(!run.revision.ends_with('+'), "docs/performance.json must be of a committed revision");
    }
}
