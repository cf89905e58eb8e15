//! `wootz bench` as a user calls it: what it writes, and what it says when something is wrong.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use wootz_report::{Outcome, Run};

fn wootz(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wootz"));
    command.arg("bench").args(arguments).env("WOOTZ_DEVICE", "cpu");
    // Calibrations of a test are nobody's business, and peers are those of the test.
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).env("WOOTZ_PEERS", "/nonexistent");
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(path: &Path) -> Run {
    let text = std::fs::read_to_string(path).unwrap();
    Run::parse(&text, "result").unwrap()
}

/// Short enough for a test.
const SHORT: [&str; 6] = ["--quick", "--seconds", "0", "--suite", "overhead", "--filter"];

#[test]
fn results_go_to_json_page_and_picture() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (json, html, svg) = (path("run.json"), path("run.html"), path("run.svg"));
    let output = wootz(&SHORT)
        .args(["on 16", "--json", &json, "--html", &html, "--svg", &svg, "--peers"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let run = read(Path::new(&json));
    assert!(run.complete && run.quick && run.cases.len() == 5, "{run:?}");
    assert!(run.cases.iter().all(|c| c.best("cpu").is_some_and(|s| s > 0.0)), "{run:?}");
    // burn-wgpu is asked only beside a GPU of ours.
    assert_eq!(run.skipped.len(), 5, "every peer of a CPU is absent, and said to be: {:?}", run.skipped);
    assert!(told(&output).contains("numpy: not installed; run bench/peers/setup numpy"), "{}", told(&output));
    assert!(std::fs::read_to_string(&html).unwrap().contains("ten ops on 16, compiled"));
    assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));

    // The same page again from the saved run, and a comparison of a run with itself.
    let again = path("again.html");
    let output = wootz(&["--from", &json, "--html", &again, "--compare", &json])
        .env_remove("WOOTZ_DEVICE")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("5 of 5 within the noise"));
    assert_eq!(std::fs::read(&html).unwrap(), std::fs::read(&again).unwrap());
}

#[test]
fn what_is_wrong_is_said_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.json");
    std::fs::write(&old, r#"{"schema": 1, "cases": []}"#).unwrap();
    let old = old.display().to_string();
    // Inside of a folder of our own, so that nobody else's file can be there.
    let absent = |name: &str| folder.path().join("absent").join(name).display().to_string();
    for (arguments, expected) in [
        (vec!["--json", &absent("run.json")], "run.json: No such file"),
        (vec!["--html", &absent("run.html")], "run.html: No such file"),
        (vec!["--compare", &old], "has schema 1, and this version of wootz reads schema 2"),
        (vec!["--compare", &absent("old.json")], "old.json"),
        (vec!["--counters", &old], "expected an array of kernel counters"),
        (vec!["--filter", "no such case"], "no case matches \"no such case\"; available: "),
        (vec!["--peers", "abacus"], "unknown peer \"abacus\"; known peers: numpy"),
        (vec!["--device", "abacus"], "abacus"),
        (vec!["--seconds", "1e9"], "out of range (0 to 3600)"),
        (vec!["--peer", &absent("peer")], "peer peer: "),
    ] {
        let output =
            wootz(&["--suite", "overhead"]).args(&arguments).env_remove("WOOTZ_DEVICE").output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(told(&output).contains(expected), "{arguments:?}: {}", told(&output));
    }
}

#[cfg(unix)]
fn peer_script(folder: &Path, body: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("other");
    std::fs::write(&path, format!("#!/bin/sh\n{body}")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// A peer that answers as the protocol says, with times that it makes up.
#[cfg(unix)]
const HONEST: &str = r#"while read -r line; do
    case "$line" in
        *hello*) echo '{"version": "7.0"}' ;;
        *prepare*) case "$line" in *ten_ops*) echo '{"ready": true}' ;; *) echo '{"ready": false}' ;; esac ;;
        *) echo '{"seconds": 0.5}' ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn a_peer_takes_turns_and_its_times_become_ratios() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json").display().to_string();
    let peer = peer_script(folder.path(), HONEST);
    let output = wootz(&SHORT).args(["on 16", "--json", &json, "--peer", &peer]).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let run = read(Path::new(&json));
    let case = |name: &str| run.cases.iter().find(|c| c.name == name).unwrap();
    assert_eq!(case("ten ops on 16").best("other"), Some(0.5));
    assert!(case("ten ops on 16").ratio("cpu", "other").unwrap() > 1.0);
    assert!(!case("one op on 16").results.contains_key("other"), "it does not have that one");
    assert_eq!(run.peers().next().unwrap().description, "7.0");
}

#[cfg(unix)]
#[test]
fn a_peer_that_speaks_nonsense_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let peer = peer_script(folder.path(), "while read -r line; do echo hi; done");
    let output = wootz(&SHORT).args(["on 16", "--peer", &peer]).output().unwrap();
    assert!(!output.status.success());
    assert!(told(&output).contains("peer other: invalid reply \"hi\\n\""), "{}", told(&output));
}

#[cfg(unix)]
#[test]
fn a_peer_that_dies_fails_its_case_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json").display().to_string();
    let peer = peer_script(folder.path(), &HONEST.replace("*) echo '{\"seconds\": 0.5}' ;;", "*) exit 3 ;;"));
    let output = wootz(&SHORT).args(["on 16", "--json", &json, "--peer", &peer]).output().unwrap();
    assert!(!output.status.success(), "a failed case is a failure");
    let run = read(Path::new(&json));
    assert!(run.complete && run.cases.len() == 5);
    let failed: Vec<_> = run
        .cases
        .iter()
        .flat_map(|c| c.results.values())
        .filter(|o| matches!(o, Outcome::Failed(_)))
        .collect();
    assert_eq!(failed, [&Outcome::Failed("it exited during the run".into())]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("it exited during the run"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json").display().to_string();
    // Each peer's turn lasts a while, so that the interrupt comes in the middle.
    let slow = HONEST.replace("*) echo '{\"seconds\": 0.5}' ;;", "*) sleep 1; echo '{\"seconds\": 1}' ;;");
    let peer = peer_script(folder.path(), &slow);
    let child = wootz(&["--suite", "overhead", "--seconds", "60", "--json", &json, "--peer", &peer])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(4));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", told(&output));
    assert!(told(&output).contains("results are partial"), "{}", told(&output));
    assert!(!read(Path::new(&json)).complete);
}

/// The environment asks for what cannot be: one line that says so, and no result by something else.
#[test]
fn instruction_sets_and_threads_that_cannot_be_are_errors() {
    for (variable, value, word) in [
        ("WOOTZ_ISA", "avx9000", "baseline"),
        ("WOOTZ_THREADS", "0", "from 1 to 1024"),
        ("WOOTZ_THREADS", "many", "from 1 to 1024"),
    ] {
        let output = wootz(&SHORT).arg("one op on 16").env(variable, value).output().unwrap();
        let text = told(&output);
        assert!(!output.status.success() && text.contains(variable) && text.contains(word), "{text}");
        assert!(!text.contains("panicked") && text.trim().lines().count() == 1, "{text}");
    }
    for (variable, value) in [("WOOTZ_ISA", "baseline"), ("WOOTZ_THREADS", "1000")] {
        let output = wootz(&SHORT).arg("one op on 16").env(variable, value).output().unwrap();
        assert!(output.status.success(), "{variable}={value}: {}", told(&output));
    }
}

#[test]
#[cfg(unix)]
fn the_everyday_suite_writes_its_figures_and_refuses_what_it_cannot_do() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    // In place of an interpreter that has the modules: the options that it is given, as the figures.
    let python = folder.path().join("python");
    std::fs::write(&python, "#!/bin/sh\nshift 2\necho \"[\\\"$*\\\"]\"\n").unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = wootz(&["--suite", "everyday"]);
        command.args(arguments).env("WOOTZ_PYTHON", &python).output().unwrap()
    };
    let json = folder.path().join("figures.json");
    let output = run(&["--filter", "add", "--quick", "--json", json.to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert_eq!(std::fs::read_to_string(&json).unwrap(), "[\"--seconds 0.05 --json --filter add\"]\n");
    assert_eq!(run(&["--json"]).stdout, b"[\"--seconds 0.4 --json\"]\n");
    for option in [["--html", "page.html"], ["--compare", "old.json"], ["--peers", "numpy"]] {
        let output = run(&option);
        assert!(!output.status.success() && told(&output).contains(option[0]), "{output:?}");
    }
}
