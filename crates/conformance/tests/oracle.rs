//! The reference evaluator against NumPy: every case that NumPy can express is recomputed by `oracle.py`.

use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use wootz_conformance::{Case, LayoutClass, Level, cases, encode};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Number};

/// The interpreter of the project's virtual environment, or of `WOOTZ_PYTHON`; `None` where it is missing and not required.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = std::env::var_os("WOOTZ_PYTHON").map_or(root.join(".venv/bin/python"), PathBuf::from);
    let works = Command::new(&path).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success());
    assert!(
        works || std::env::var_os("WOOTZ_REQUIRE_PYTHON").is_none(),
        "WOOTZ_REQUIRE_PYTHON is set, but {} cannot import numpy; run scripts/setup",
        path.display()
    );
    if !works {
        wootz_testkit::skipped(&format!("{} cannot import numpy; run scripts/setup", path.display()));
    }
    works.then_some(path)
}

fn tensor(t: &HostTensor) -> Value {
    let bytes: String = encode(t.dtype, &t.data).iter().map(|b| format!("{b:02x}")).collect();
    json!({ "dtype": t.dtype.name(), "shape": t.shape.to_vec(), "bytes": bytes })
}

fn line(case: &Case) -> Option<Value> {
    let numpy = case.numpy.as_ref()?;
    let expected = case.expected().unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let tolerance = case.tolerance;
    let mut value = json!({
        "name": case.name,
        "op": case.op,
        "expression": numpy.expression,
        "operands": numpy.operands.map(DType::name),
        "leaves": case.leaves.iter().map(|leaf| tensor(&leaf.tensor)).collect::<Vec<_>>(),
        "output": tensor(&expected),
        "exact": tolerance.ulps == 0.0 && tolerance.relative == 0.0 && tolerance.absolute == 0.0,
        "ulps": tolerance.ulps,
        "relative": tolerance.relative,
        "absolute": tolerance.absolute > 0.0,
        "signed_zeros": tolerance.signed_zeros,
    });
    if let Some(magnitudes) = case.magnitudes().unwrap() {
        let magnitudes =
            HostTensor::new(expected.shape, DType::F64, magnitudes.into_iter().map(Number::Float));
        value["magnitude"] = tensor(&magnitudes);
    }
    Some(value)
}

/// Physical layouts mean nothing to the reference; a few classes are enough.
fn is_worth_it(case: &Case) -> bool {
    !matches!(case.layout, LayoutClass::Sliced | LayoutClass::Reversed | LayoutClass::Offset)
}

#[test]
fn the_reference_agrees_with_numpy() {
    let Some(python) = python() else { return };
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut count = 0;
    {
        let mut out = std::io::BufWriter::new(file.as_file_mut());
        for value in cases(Level::Full).iter().filter(|c| is_worth_it(c)).filter_map(line) {
            writeln!(out, "{value}").unwrap();
            count += 1;
        }
    }
    assert!(count > 5000, "only {count} cases have a NumPy form");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle.py");
    let output = Command::new(python).arg(script).arg(file.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert_eq!(text.trim().lines().last(), Some(format!("{count} passed, 0 failed").as_str()));
    println!("{}", text.trim());
}

#[test]
fn the_oracle_finds_planted_errors() {
    let Some(python) = python() else { return };
    let list = cases(Level::Quick);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle.py");
    for name in [
        "map/exp/f32/contiguous/special",
        "reduce/sum/i32/contiguous/n65",
        "matmul/matmul/f32/transposed/9x17x5",
    ] {
        let case = list.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no case {name}"));
        let mut value = line(case).unwrap();
        let bytes = value["output"]["bytes"].as_str().unwrap().to_string();
        // The second hexadecimal digit of the first element: its low byte.
        let digit = if &bytes[1..2] == "7" { "f" } else { "7" };
        value["output"]["bytes"] = format!("{}{digit}{}", &bytes[..1], &bytes[2..]).into();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{value}").unwrap();
        let output = Command::new(&python).arg(&script).arg(file.path()).output().unwrap();
        assert!(!output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
