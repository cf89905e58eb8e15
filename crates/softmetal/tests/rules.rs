//! Every rule of `rules/`: each probe is refused, at the marked line where one is marked, and each twin is accepted.

use softmetal::{CompileOptions, Device, DeviceOptions, Error, Family};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A program that keeps or breaks a rule.
struct Probe {
    rule: String,
    breaks: bool,
    version: u32,
    source: String,
    line: Option<u32>,
}

/// `//# title`, `//# text`, then programs behind `//- bad` or `//- good` and a version; `// <-` marks the line that is wrong.
fn probes(text: &str) -> Vec<Probe> {
    let (mut out, mut rule, mut titled) = (Vec::<Probe>::new(), String::new(), false);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("//# ") {
            if !titled {
                rule = rest.to_string();
            }
            titled = true;
        } else if let Some(rest) = line.strip_prefix("//- ") {
            titled = false;
            let (kind, version) = rest.split_once(' ').unwrap_or((rest, "320"));
            let version = version.parse().expect("a version");
            out.push(Probe {
                rule: rule.clone(),
                breaks: kind == "bad",
                version,
                source: String::new(),
                line: None,
            });
        } else if let Some(p) = out.last_mut().filter(|_| !line.is_empty()) {
            p.source.push_str(line);
            p.source.push('\n');
            if line.ends_with("// <-") {
                p.line = Some(p.source.lines().count() as u32);
            }
        }
    }
    out
}

fn verdict(device: &Device, p: &Probe) -> Result<(), Error> {
    let options = CompileOptions { language_version: p.version, ..CompileOptions::default() };
    let source =
        format!("#include <metal_stdlib>\nusing namespace metal;\n#line 1 \"program.metal\"\n{}", p.source);
    let library = device.new_library(&source, &options)?;
    let outcomes = library.check_all(device, &library.function_names());
    outcomes.into_iter().flatten().next().map_or(Ok(()), Err)
}

fn judge(device: &Device, p: &Probe) -> Option<String> {
    let name = |what: &str| format!("{}: {what}\n{}", p.rule, p.source);
    match (verdict(device, p), p.breaks) {
        (Ok(()), false) => None,
        (Ok(()), true) => Some(name("accepted, and Apple refuses it")),
        (Err(e), false) => Some(name(&format!("refused, and Apple accepts it: {e}"))),
        (Err(Error::Compile { diagnostics }), true) => {
            let line = p.line.or((p.source.lines().count() == 1).then_some(1))?;
            let hit = diagnostics.iter().any(|d| d.line == line);
            (!hit).then(|| name(&format!("refused elsewhere than in line {line}: {diagnostics:?}")))
        }
        (Err(e), true) => Some(name(&format!("no diagnostic: {e}"))),
    }
}

#[test]
fn every_rule_refuses_its_probes_and_accepts_their_twins() {
    let mut list = Vec::new();
    let mut total = 0;
    for file in std::fs::read_dir(rules()).expect("the folder of rules") {
        let path = file.expect("a file").path();
        let all = probes(&std::fs::read_to_string(&path).expect("text"));
        total += all.len();
        // Further spellings are a sample, unless all are asked for.
        let sampled =
            path.to_string_lossy().contains("_spellings") && std::env::var_os("WOOTZ_FULL").is_none();
        list.extend(all.into_iter().step_by(if sampled { 5 } else { 1 }));
    }
    assert!(total > 450, "{total} probes");
    let device = Device::new(DeviceOptions { family: Family::Apple9, ..DeviceOptions::default() }).unwrap();
    let next = AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while let Some(p) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(judge(&device, p));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}:\n\n{}", wrong.len(), list.len(), wrong.join("\n\n"));
}

/// The page of rules, made from the same files.
fn page() -> String {
    let mut out = String::from(
        "# What Apple's Metal compiler refuses\n\nSoftMetal refuses it too, at the line. This page is made from `crates/softmetal/rules`, where each rule has programs that break \
         it, in several spellings, and twins that keep it; `WOOTZ_BLESS=1 cargo test -p softmetal --test rules` writes it anew.\n",
    );
    for file in ["signatures", "spaces", "language", "library"] {
        let text = std::fs::read_to_string(rules().join(format!("{file}.metal"))).expect("a file of rules");
        let (mut shown, mut showing) = (0, false);
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("//# ") {
                close(&mut out, &mut showing);
                let title = shown == 0;
                out.push_str(&if title { format!("\n## {rest}\n\n") } else { format!("{rest}\n") });
                shown = 1;
            } else if let Some(rest) = line.strip_prefix("//- ") {
                close(&mut out, &mut showing);
                let kind = if rest.starts_with("bad") { "refused" } else { "accepted" };
                // The first of each kind.
                let bit = if kind == "refused" { 2 } else { 4 };
                showing = shown & bit == 0;
                shown |= bit;
                if showing {
                    out.push_str(&format!("\n{}:\n```cpp\n", kind));
                }
            } else if showing && !line.is_empty() {
                out.push_str(&format!("{}\n", line.trim_end_matches(" // <-")));
            } else if line.is_empty() {
                close(&mut out, &mut showing);
                shown = 0;
            }
        }
        close(&mut out, &mut showing);
    }
    out
}

fn close(out: &mut String, showing: &mut bool) {
    if std::mem::take(showing) {
        out.push_str("```\n");
    }
}

fn rules() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rules")
}

#[test]
fn the_page_of_rules_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/softmetal-rules.md");
    let text = page();
    if std::env::var_os("WOOTZ_BLESS").is_some() {
        std::fs::write(&path, &text).expect("the folder is there");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "docs/softmetal-rules.md is not what the rules say; WOOTZ_BLESS=1 writes it anew");
}
