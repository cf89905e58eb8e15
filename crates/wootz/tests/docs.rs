//! `docs/ops.md` is made from the op table and the case list; this test fails when it is out of date.
//! `WOOTZ_BLESS=1 cargo test -p wootz --test docs` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use wootz::check::Level;
use wootz::{DType, Device};
use wootz_ir::ElementwiseOp;
use wootz_testkit::cases;
use wootz_testkit::exceptions::EXCEPTIONS;

/// For each family and op: the dtypes it is tried with, and how many cases there are.
type Tried = BTreeMap<(&'static str, &'static str), (BTreeSet<DType>, usize)>;

fn tried() -> Tried {
    let mut tried = Tried::new();
    for case in cases(Level::Full) {
        let entry = tried.entry((case.family, case.op)).or_default();
        entry.0.insert(case.dtype);
        entry.1 += 1;
    }
    tried
}

fn marks(dtypes: &BTreeSet<DType>) -> String {
    DType::ALL.iter().map(|d| if dtypes.contains(d) { " ✓ |" } else { " |" }).collect()
}

fn page() -> String {
    let tried = tried();
    let mut text = String::from("# Ops, dtypes, devices\n\n");
    text.push_str(
        "Generated from the op table and the conformance cases; do not edit. A ✓ means that the op is tested with this dtype on \
         every device, in every layout class (contiguous, transposed, sliced, reversed, broadcast, offset, empty, \
         zero-dimensional), against the reference evaluator. `wootz check` runs the same cases on your machine.\n\n\
         Dtypes that an op does not list are promoted to one that it does, or rejected with an error that lists the accepted ones.\n\n",
    );
    let names: Vec<&str> = DType::ALL.iter().map(|d| d.name()).collect();
    let head = format!("| op | {} | cases | description | NumPy equivalent |\n", names.join(" | "));
    let rule = format!("|---|{}---|---|---|\n", "---|".repeat(names.len()));
    let _ = write!(text, "## Elementwise\n\n{head}{rule}");
    for op in ElementwiseOp::ALL {
        let row = op.row();
        let (dtypes, count) = tried.get(&("map", row.name)).cloned().unwrap_or_default();
        let numpy = row.numpy.replace('|', "\\|");
        let _ = writeln!(text, "| `{}` |{} {count} | {} | `{numpy}` |", row.name, marks(&dtypes), row.doc);
    }
    let _ = write!(
        text,
        "\n## Structured\n\n| family | op | {} | cases |\n|---|---|{}---|\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    let elementwise: BTreeSet<&str> = ElementwiseOp::ALL.iter().map(|op| op.name()).collect();
    for ((family, op), (dtypes, count)) in &tried {
        if *family != "map" || !elementwise.contains(op) {
            let _ = writeln!(text, "| {family} | `{op}` |{} {count} |", marks(dtypes));
        }
    }
    let total: usize = tried.values().map(|(_, count)| count).sum();
    let _ = write!(
        text,
        "\n{total} cases in total.\n\n## Devices\n\n| device | unsupported dtypes | known exceptions |\n|---|---|---|\n"
    );
    for device in Device::all() {
        let refused: Vec<String> = DType::ALL
            .iter()
            .filter_map(|&d| device.backend().refuses(d).map(|reason| format!("{d} ({reason})")))
            .collect();
        let excused: Vec<&str> =
            EXCEPTIONS.iter().filter(|e| e.is_for(device.name())).map(|e| e.reason).collect();
        let or_none = |list: String| if list.is_empty() { "none".to_string() } else { list };
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            device.name(),
            or_none(refused.join(", ")),
            or_none(excused.join("; "))
        );
    }
    text
}

#[test]
fn the_page_of_ops_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ops.md");
    let page = page();
    if std::env::var_os("WOOTZ_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let mut committed = std::fs::read_to_string(path).unwrap_or_default();
    // A machine without a device cannot say what it refuses.
    for (name, _) in Device::missing() {
        let row = format!("| {name} |");
        committed = committed.split_inclusive('\n').filter(|line| !line.starts_with(&row)).collect();
    }
    assert!(committed == page, "docs/ops.md is out of date: WOOTZ_BLESS=1 cargo test -p wootz --test docs");
}
