//! `softmetal test` and the formats for pipelines.

use std::path::Path;
use std::process::{Command, Output};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float *x, device float *y, uint i [[thread_position_in_grid]]) { y[i] = FACTOR * x[i]; }
kernel void late(device const float *x, device float *y, uint i [[thread_position_in_grid]]) { y[i] = x[i + 1]; }
";

const CASES: &str = r#"
defines = ["FACTOR=2"]
[[case]]
name = "doubles"
file = "k.metal"
kernel = "twice"
grid = "8"
threads = "8"
args = { 0 = "iota:f32:8", 1 = "zeros:f32:8" }
expect = { 1 = "want.npy" }
"#;

fn softmetal(folder: &Path, args: &[&str]) -> (bool, String, String) {
    let out: Output = Command::new(env!("CARGO_BIN_EXE_softmetal"))
        .current_dir(folder)
        .args(args)
        .output()
        .expect("it starts");
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.success(), text(&out.stdout), text(&out.stderr))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.metal"), SOURCE).expect("written");
    std::fs::write(folder.path().join("softmetal.toml"), CASES).expect("written");
    let run = [
        "run",
        "k.metal",
        "twice",
        "-D",
        "FACTOR=2",
        "--grid",
        "8",
        "--threads",
        "8",
        "--arg",
        "0=iota:f32:8",
    ];
    let out = ["--arg", "1=zeros:f32:8", "--out", "1=want.npy"];
    let (ok, _, error) = softmetal(folder.path(), &[&run[..], &out[..]].concat());
    assert!(ok, "{error}");
    folder
}

#[test]
fn cases_pass_and_fail_for_their_reasons() {
    let folder = folder();
    let (ok, text, error) = softmetal(folder.path(), &["test"]);
    assert!(
        ok && text.contains("ok    k.metal: doubles") && text.contains("1 cases, 1 ok, 0 failed"),
        "{text}{error}"
    );
    let with = |change: &str, to: &str| {
        let file = folder.path().join("other.toml");
        std::fs::write(&file, CASES.replace(change, to)).expect("written");
        softmetal(folder.path(), &["test", "other.toml"])
    };
    let (ok, text, _) = with("FACTOR=2", "FACTOR=3");
    assert!(
        !ok && text.contains("7 of 8 values differ by more than 0; the first is at 1: got 3, expected 2"),
        "{text}"
    );
    let (ok, text, _) = with("\"twice\"", "\"late\"");
    assert!(!ok && text.contains("out of bounds"), "{text}");
    let (ok, _, error) = with("grid =", "gird =");
    assert!(!ok && error.contains("other.toml") && error.contains("unknown field `gird`"), "{error}");
    let (ok, _, error) = softmetal(folder.path(), &["test", "absent.toml"]);
    assert!(!ok && error.contains("absent.toml"), "{error}");
}

#[test]
fn pipelines_get_their_formats() {
    let folder = folder();
    std::fs::write(
        folder.path().join("bad.metal"),
        "kernel void k(device float *x) {\n  x[0] = nothing;\n}\n",
    )
    .expect("written");
    let check = |format: &str| {
        let (ok, text, error) = softmetal(folder.path(), &["check", "--format", format, "bad.metal"]);
        assert!(!ok, "{error}");
        text
    };
    assert!(check("github").contains("::error file=bad.metal,line=2,col="), "{}", check("github"));
    let log: serde_json::Value = serde_json::from_str(&check("sarif")).expect("JSON");
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"bad.metal".into(), &2.into())
    );
    assert!(
        check("junit").contains("<testsuite name=\"bad.metal\" tests=\"1\" failures=\"1\">"),
        "{}",
        check("junit")
    );
    let (ok, text, _) = softmetal(folder.path(), &["test", "--format", "junit"]);
    assert!(ok && text.contains("name=\"doubles\"/>"), "{text}");
}
