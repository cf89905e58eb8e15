//! Every rule of `rules/`: each probe is refused, at the marked line where one is marked, and each twin is accepted.

use softmetal::{CompileOptions, Device, DeviceOptions, Error, Family};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A program that keeps or breaks a rule.
struct Probe {
    rule: String,
    /// Words of which a message about the rule has some.
    words: Vec<String>,
    breaks: bool,
    version: u32,
    family: Family,
    source: String,
    line: Option<u32>,
}

/// `//# title`, `//# text`, `//! words | words`, then programs behind `//- bad` or `//- good`, a version and a GPU family; `// <-` marks
/// the line that is wrong, which a program of one line need not.
fn probes(text: &str) -> Vec<Probe> {
    let (mut out, mut rule, mut titled) = (Vec::<Probe>::new(), String::new(), false);
    let mut words = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("//# ") {
            if !titled {
                rule = rest.to_string();
                words.clear();
            }
            titled = true;
        } else if let Some(rest) = line.strip_prefix("//! ") {
            words = rest.split(" | ").map(str::to_string).collect();
        } else if let Some(rest) = line.strip_prefix("//- ") {
            titled = false;
            let mut said = rest.split(' ');
            let breaks = said.next() == Some("bad");
            let version = said.next().map_or(320, |v| v.parse().expect("a version"));
            let family = said.next().map_or(Family::Apple9, |f| f.parse().expect("a family"));
            let (rule, words) = (rule.clone(), words.clone());
            out.push(Probe { rule, words, breaks, version, family, source: String::new(), line: None });
        } else if let Some(p) = out.last_mut().filter(|_| !line.is_empty()) {
            p.source.push_str(line);
            p.source.push('\n');
            if line.ends_with("// <-") {
                p.line = Some(p.source.lines().count() as u32);
            }
        }
    }
    for p in out.iter_mut().filter(|p| p.breaks && p.line.is_none()) {
        assert!(p.source.lines().count() == 1, "no line is marked: {}\n{}", p.rule, p.source);
        p.line = Some(1);
    }
    out
}

/// The files of rules with what they contain, in order.
fn files() -> Vec<(String, Vec<Probe>)> {
    let names = std::fs::read_dir(rules()).expect("the folder of rules").map(|f| f.expect("a file").path());
    let mut paths: Vec<_> = names.filter(|p| p.extension().is_some_and(|e| e == "metal")).collect();
    paths.sort();
    let name = |p: &Path| p.file_stem().expect("a name").to_string_lossy().into_owned();
    paths.iter().map(|p| (name(p), probes(&std::fs::read_to_string(p).expect("text")))).collect()
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
            let right = |m: &str| p.words.is_empty() || p.words.iter().any(|w| m.contains(w.as_str()));
            let hit = diagnostics.iter().any(|d| Some(d.line) == p.line && right(&d.message));
            let wanted = format!("not refused in line {:?} with {:?}: {diagnostics:?}", p.line, p.words);
            (!hit).then(|| name(&wanted))
        }
        (Err(e), true) => Some(name(&format!("no diagnostic: {e}"))),
    }
}

#[test]
fn every_rule_refuses_its_probes_and_accepts_their_twins() {
    // A file of other programs in the same form, while they are being written.
    let list: Vec<Probe> = match std::env::var_os("WOOTZ_RULES") {
        Some(path) => probes(&std::fs::read_to_string(path).expect("a file of rules")),
        None => files().into_iter().flat_map(|(_, probes)| probes).collect(),
    };
    assert!(!list.is_empty());
    let devices: Vec<(Family, Device)> =
        [Family::Mac2, Family::Apple7, Family::Apple8, Family::Apple9].map(|f| (f, device(f))).into();
    let next = AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while let Some(p) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (_, device) = devices.iter().find(|(f, _)| *f == p.family).expect("a known family");
                    wrong.lock().unwrap().extend(judge(device, p));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}:\n\n{}", wrong.len(), list.len(), wrong.join("\n\n"));
}

fn device(family: Family) -> Device {
    Device::new(DeviceOptions { family, ..DeviceOptions::default() }).expect("clang is there")
}

/// `checklist.txt` names what SoftMetal and Apple once disagreed on, with code that shows each.
#[test]
fn the_checklist_has_a_program_for_every_line() {
    let all: Vec<Probe> = files().into_iter().flat_map(|(_, probes)| probes).collect();
    let list = std::fs::read_to_string(rules().join("checklist.txt")).expect("the checklist");
    let (mut refused, mut accepted, mut absent) = (0, 0, Vec::new());
    for line in list.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let [verdict, _, code] = line.splitn(3, " | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let breaks = verdict == "refused";
        *(if breaks { &mut refused } else { &mut accepted }) += 1;
        if !all.iter().any(|p| p.breaks == breaks && p.source.contains(code)) {
            absent.push(line);
        }
    }
    assert!(absent.is_empty(), "no program shows:\n{}", absent.join("\n"));
    assert_eq!((refused, accepted), (98, 43));
}

/// The page of rules, made from the same files.
fn page() -> String {
    let mut out = String::from(
        "# What Apple's Metal compiler refuses\n\nSoftMetal rejects it too, at the same line. This page is generated from `crates/softmetal/rules`, where each rule has programs that violate \
         it, in several spellings, and counterparts that follow it; regenerate it with `WOOTZ_BLESS=1 cargo test -p softmetal --test rules`.\n",
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
            } else if line.starts_with("//! ") {
                // Words for tests alone.
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
