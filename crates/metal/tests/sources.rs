//! Every source that this backend generates for the whole list of conformance cases and for graphs that take every way through its
//! choices of kernels, on every family of GPUs: none may have a finding.
//!
//! By default a sample is judged, of every kernel with every set of macros one source; `WOOTZ_FULL=1` judges all.

use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use wootz_backend::Backend;
use wootz_blocks::BlockFormat;
use wootz_conformance::{Case, Level, cases};
use wootz_ir::build::AttentionOptions;
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::op::{Activations, ArgOp, Axes, ReduceOp, ScanOp};
use wootz_ir::{DType, ElementwiseOp, Layout, Shape, build};
use wootz_metal::driver::soft::facts;
use wootz_metal::{Family, MetalBackend, SoftOptions, sources};
use wootz_plan::Plan;

/// Kernels with their sources, and the least capable family that each was made for: what it lacks, the others may have.
type Sources = FxHashMap<(String, String), Family>;

fn leaves(case: &Case) -> Vec<NodeRef> {
    let leaf = |l: &wootz_conformance::Leaf| {
        let leaf = Leaf { layout: l.layout.clone(), donated: false, payload: Arc::new(()) };
        Node::leaf(leaf, l.tensor.dtype)
    };
    case.leaves.iter().map(leaf).collect()
}

/// Graphs whose kernels are made in ways that no case needs: inner extents that are split, sizes around those of tiles, rows of every
/// width, with and without code behind the kernel.
fn beyond() -> Vec<NodeRef> {
    let leaf = |shape: &[usize], dtype| {
        let layout = Layout::contiguous(&Shape::from(shape));
        Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, dtype)
    };
    let turned = |x: &NodeRef| build::permute(x, &[1, 0]).expect("a matrix");
    let mut out = Vec::new();
    let types = [DType::F32, DType::F16, DType::BF16, DType::I32, DType::U8, DType::I64];
    for dtype in types {
        for (m, n) in [(1, 256), (2, 40), (5, 64), (8, 33), (33, 8), (64, 1), (32, 32), (40, 200), (512, 512)]
        {
            for k in [24, 8192] {
                let (a, b) = (leaf(&[m, k], dtype), leaf(&[k, n], dtype));
                let (at, bt) = (turned(&leaf(&[k, m], dtype)), turned(&leaf(&[n, k], dtype)));
                for (a, b) in [(&a, &b), (&at, &b), (&a, &bt), (&at, &bt)] {
                    out.extend(build::matmul(a, b));
                }
            }
        }
        for width in [3, 64, 1024, 1030, 5000, 200_000] {
            let x = leaf(&[6, width], dtype);
            for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::Prod] {
                out.extend(build::reduce(op, &x, Axes::default().with(1), false));
                out.extend(build::reduce(op, &x, Axes::default().with(0), false));
            }
            for op in [ArgOp::Max, ArgOp::Min] {
                out.extend(build::arg_reduce(op, &x, 1));
            }
            for (descending, limit) in [(false, None), (true, None), (true, Some(40)), (false, Some(1))] {
                out.extend(build::sort(&x, 1, descending, limit));
                out.extend(build::argsort(&x, 1, descending, limit));
            }
            out.extend([build::softmax(&x, 1, false), build::softmax(&x, 1, true)].into_iter().flatten());
            out.extend(build::rms_norm(&x, None, 1e-5));
            out.extend(build::scan(ScanOp::Sum, &x, 1));
        }
    }
    for &format in BlockFormat::ALL {
        let bytes = 256usize.div_ceil(format.block_len()) * format.block_bytes();
        let k = bytes / format.block_bytes() * format.block_len();
        // In order, and not aligned as the format asks.
        for offset in [0, 1] {
            let layout = Layout { offset, ..Layout::contiguous(&Shape::from(&[48, bytes][..])) };
            let weights = Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, DType::U8);
            for rows in [1, 4, 8, 9, 64] {
                for dtype in [DType::F32, DType::F16] {
                    let x = leaf(&[rows, k], dtype);
                    out.extend(build::quant_matmul(&x, &weights, format, Activations::Precise));
                }
            }
        }
    }
    out.extend(attentions(&leaf));
    // The same with code behind the kernel.
    let finished: Vec<NodeRef> = out
        .iter()
        .filter_map(|x| build::elementwise(ElementwiseOp::Neg, &[x]).ok())
        .map(|x| build::cast(&x, DType::F16))
        .collect();
    out.extend(finished);
    out
}

/// Attention with every combination of its options, for one query and for many, over few keys and over many.
fn attentions(leaf: &impl Fn(&[usize], DType) -> NodeRef) -> Vec<NodeRef> {
    let mut out = Vec::new();
    for (dtype, t, s) in
        [DType::F32, DType::F16].into_iter().flat_map(|d| [(d, 1, 40), (d, 1, 8192), (d, 64, 64)])
    {
        let (q, k) = (leaf(&[1, 4, t, 64], dtype), leaf(&[1, 2, s, 64], dtype));
        let (mask, sinks) = (leaf(&[1, 1, t, s], dtype), leaf(&[4], DType::F32));
        let first = leaf(&[1], DType::I32);
        for bits in 0..32 {
            let on = |bit: u32| bits >> bit & 1 == 1;
            let options = AttentionOptions {
                mask: on(0).then_some(&mask),
                sinks: on(1).then_some(&sinks),
                position: on(2).then_some(&first),
                window: on(3).then_some(16),
                softcap: on(4).then_some(30.0),
                ..AttentionOptions::default()
            };
            // A window without an order of keys is refused.
            out.extend(build::attention(&q, &k, &k, options));
        }
    }
    out
}

/// All sources of graphs on a device with these options.
fn enumerate(options: &SoftOptions, graphs: &[NodeRef], found: &mut Sources) {
    let family = options.family.unwrap_or_default();
    let capabilities = MetalBackend::soft(options.clone()).capabilities();
    let facts = facts(options).expect("the family exists");
    for output in graphs {
        let output = output.clone();
        let plan = Plan::new(&Trace::of(&[output]).graph, &capabilities);
        // What Metal cannot compute, such as f64, is refused, and has no source.
        let Ok(list) = sources(Arc::new(plan), &facts) else { continue };
        for source in list {
            found.entry(source).and_modify(|f| *f = family.min(*f)).or_insert(family);
        }
    }
}

/// What tells variants of a family apart: the kernel and its macros.
fn variant((kernel, source): &(String, String)) -> String {
    let macros: Vec<&str> = source.lines().filter(|l| l.starts_with("#define ")).collect();
    format!("{kernel} {}", macros.join(" "))
}

/// All sources for all families that differ in what they have.
fn all_sources() -> Sources {
    let mut list: Vec<NodeRef> =
        cases(Level::Full).iter().filter_map(|c| (c.build)(&leaves(c)).ok()).collect();
    list.extend(beyond());
    let mut found = Sources::default();
    for (family, simd_width) in
        [(Family::Apple7, None), (Family::Apple9, None), (Family::Mac2, None), (Family::Mac2, Some(64))]
    {
        let options = SoftOptions { family: Some(family), simd_width, ..SoftOptions::default() };
        enumerate(&options, &list, &mut found);
    }
    found
}

/// Files of kernels: name and text.
fn kernel_files() -> Vec<(String, String)> {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")).expect("the kernels");
    let path = |file: std::io::Result<std::fs::DirEntry>| file.expect("a file").path();
    let read = |p: &Path| std::fs::read_to_string(p).expect("text");
    folder.map(path).map(|p| (p.display().to_string(), read(&p))).collect()
}

#[test]
fn no_generated_source_has_a_finding() {
    let mut all: Vec<Made> = all_sources().into_iter().collect();
    all.sort();
    let mut variants: FxHashMap<String, &Made> = FxHashMap::default();
    for made in &all {
        variants.entry(variant(&made.0)).or_insert(made);
    }
    for (file, text) in kernel_files() {
        let with: Vec<&str> =
            all.iter().map(|m| m.0.1.as_str()).filter(|s| s.contains(text.trim())).collect();
        assert!(!with.is_empty(), "{file} is in no source");
        every_branch_is_taken(&file, &text, &with);
    }
    every_attention_is_made(&all);
    println!("{} sources, {} variants of kernels", all.len(), variants.len());
    let chosen: Vec<&Made> = if std::env::var_os("WOOTZ_FULL").is_some() {
        all.iter().collect()
    } else {
        let mut list: Vec<_> = variants.into_values().collect();
        list.sort();
        let step = list.len().div_ceil(60).max(1);
        list.into_iter().step_by(step).collect()
    };
    let findings = judge(&chosen);
    let told: Vec<String> = findings.iter().map(|(kernel, e)| format!("{kernel}: {e}")).collect();
    assert!(told.is_empty(), "{} of {}:\n{}", told.len(), chosen.len(), told.join("\n"));
}

/// A source with the family that it is judged on.
type Made = ((String, String), Family);

/// Each condition of a file on a macro holds in some of the sources and fails in others, so that both sides of it are judged.
fn every_branch_is_taken(file: &str, text: &str, sources: &[&str]) {
    let conditions = text.lines().filter(|l| l.starts_with("#if") || l.starts_with("#elif"));
    for (line, name) in conditions.flat_map(|line| macros(line).map(move |name| (line, name))) {
        if text.contains(&format!("#define {name}")) {
            continue;
        }
        let with = sources.iter().filter(|s| s.lines().any(|l| switches_on(l, name))).count();
        assert!(with > 0 && with < sources.len(), "{file}: `{line}`: {name} in {with} of {}", sources.len());
    }
}

/// The options of attention, as macros; a window needs an order of keys.
const OPTIONS: [&str; 5] = ["MASK", "SINKS", "CAUSAL", "WINDOW", "SOFTCAP"];

/// Each of the 24 combinations of options is made for each kernel of attention.
fn every_attention_is_made(all: &[Made]) {
    for kernel in ["attention_decode", "attention_prefill", "attention_tiled"] {
        let of = all.iter().filter(|((name, _), _)| name == kernel);
        let options = of.map(|((_, source), _)| OPTIONS.map(|o| source.lines().any(|l| switches_on(l, o))));
        let made: FxHashSet<[bool; 5]> = options.collect();
        assert_eq!(made.len(), 24, "{kernel}");
    }
}

/// Names of macros in a line: they are in capitals.
fn macros(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|w| w.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Whether a line defines a macro as something other than zero.
fn switches_on(line: &str, name: &str) -> bool {
    let mut words = line.split([' ', '(']);
    words.next() == Some("#define") && words.next() == Some(name) && words.next() != Some("0")
}

/// Kernels that a device of their family refuses, and why.
fn judge(chosen: &[&Made]) -> Vec<(String, softmetal::Error)> {
    let device = |family| {
        let options = softmetal::DeviceOptions { family, ..softmetal::DeviceOptions::default() };
        (family, softmetal::Device::new(options).expect("clang is there"))
    };
    let devices = [Family::Mac2, Family::Apple7, Family::Apple9].map(device);
    let next = AtomicUsize::new(0);
    let findings = Mutex::new(Vec::new());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(((kernel, source), family)) = chosen.get(at) else { break };
            // All of them take long: how far it is, and what was found so far.
            if at % 500 == 499 {
                eprintln!("{} of {} sources", at + 1, chosen.len());
            }
            let (_, device) = devices.iter().find(|(f, _)| f == family).expect("one of the families");
            let options =
                softmetal::CompileOptions { fast_math: false, ..softmetal::CompileOptions::default() };
            let outcome = device.new_library(source, &options).map(|library| {
                library.check_all(device, &library.function_names()).into_iter().flatten().next()
            });
            if let Some(error) = outcome.unwrap_or_else(Some) {
                eprintln!("{kernel}: {error}");
                findings.lock().unwrap_or_else(PoisonError::into_inner).push((kernel.clone(), error));
            }
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    findings.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Kernels that once took their group's position beside the group's size, and how: Apple's compiler refuses such a mixture.
const OLD: [(&str, &str); 7] = [
    ("norm_held", "uint row"),
    ("norm_walked", "uint row"),
    ("reduce_groups", "uint2 group"),
    ("scan_group", "uint2 group"),
    ("scan_totals", "uint2 group"),
    ("softmax_held", "uint row"),
    ("softmax_walked", "uint row"),
];

/// A source as it was when the kernel declared the group's position itself, and the line where it does.
fn as_it_was(source: &str, kernel: &str, parameter: &str) -> (String, u32) {
    let now = format!("kernel void {kernel}(STEP_BINDINGS, STANDING_PARAMETERS) {{");
    let then = format!(
        "kernel void {kernel}(STEP_BINDINGS, {parameter} [[threadgroup_position_in_grid]], STANDING_PARAMETERS) {{"
    );
    let standing = "uint3 group [[threadgroup_position_in_grid]], ";
    assert!(source.contains(&now) && source.contains(standing), "{kernel} is written another way");
    let mut old = source.replacen(standing, "", 1).replace(&now, &then);
    if parameter == "uint row" {
        old = old.replace("group.x", "row");
    }
    let line = old.lines().position(|l| l.contains(&then)).expect("the kernel") as u32 + 1;
    (old, line)
}

#[test]
fn kernels_that_mixed_their_positions_are_refused_at_their_line() {
    let all = all_sources();
    for (kernel, parameter) in OLD {
        let made = all.iter().filter(|((name, _), _)| name == kernel).min().expect("a source");
        let (old, line) = as_it_was(&made.0.1, kernel, parameter);
        let old = ((kernel.to_string(), old), *made.1);
        let findings = judge(&[&old]);
        let Some((_, softmetal::Error::Compile { diagnostics })) = findings.first() else {
            panic!("{kernel}: {findings:?}");
        };
        let told =
            |d: &softmetal::Diagnostic| d.line == line && d.message.contains("both vectors of one width");
        assert!(diagnostics.iter().all(told), "{kernel}, line {line}: {diagnostics:#?}");
    }
}
