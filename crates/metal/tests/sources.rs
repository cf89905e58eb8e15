//! Every source that this backend generates for the whole list of conformance cases and for graphs that take every way through its
//! choices of kernels, on every family of GPUs: none may have a finding.
//!
//! By default a sample is judged, of every kernel with every set of macros one source; `WOOTZ_FULL=1` judges all.

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use wootz_backend::Backend;
use wootz_blocks::BlockFormat;
use wootz_conformance::{Case, Level, cases};
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::op::{Activations, ArgOp, Axes, ReduceOp, ScanOp};
use wootz_ir::{DType, ElementwiseOp, Layout, Shape, build};
use wootz_metal::driver::soft::facts;
use wootz_metal::{Family, MetalBackend, SoftOptions, sources};
use wootz_plan::Plan;

/// Kernels of a plan that a test wants, with their sources.
type Sources = FxHashSet<(String, String)>;

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
    // The same with code behind the kernel.
    let finished: Vec<NodeRef> = out
        .iter()
        .filter_map(|x| build::elementwise(ElementwiseOp::Neg, &[x]).ok())
        .map(|x| build::cast(&x, DType::F16))
        .collect();
    out.extend(finished);
    out
}

/// All sources of graphs on a device with these options.
fn enumerate(options: &SoftOptions, graphs: &[NodeRef], found: &mut Sources) {
    let capabilities = MetalBackend::soft(options.clone()).capabilities();
    let facts = facts(options).expect("the family exists");
    for output in graphs {
        let output = output.clone();
        let plan = Plan::new(&Trace::of(&[output]).graph, &capabilities);
        // What Metal cannot compute, such as f64, is refused, and has no source.
        let Ok(list) = sources(Arc::new(plan), &facts) else { continue };
        found.extend(list);
    }
}

/// What tells variants of a family apart: the kernel and its macros.
fn variant((kernel, source): &(String, String)) -> String {
    let macros: Vec<&str> = source.lines().filter(|l| l.starts_with("#define ")).collect();
    format!("{kernel} {}", macros.join(" "))
}

#[test]
fn no_generated_source_has_a_finding() {
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
    let mut all: Vec<(String, String)> = found.into_iter().collect();
    all.sort();
    let mut variants: FxHashMap<String, &(String, String)> = FxHashMap::default();
    for source in &all {
        variants.entry(variant(source)).or_insert(source);
    }
    // Every file of kernels is part of some source.
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")).expect("the kernels") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
        assert!(all.iter().any(|(_, s)| s.contains(text.trim())), "in no source:\n{text}");
    }
    println!("{} sources, {} variants of kernels", all.len(), variants.len());
    let chosen: Vec<&(String, String)> = if std::env::var_os("WOOTZ_FULL").is_some() {
        all.iter().collect()
    } else {
        let mut list: Vec<_> = variants.into_values().collect();
        list.sort();
        let step = list.len().div_ceil(60).max(1);
        list.into_iter().step_by(step).collect()
    };
    judge(&chosen);
}

fn judge(chosen: &[&(String, String)]) {
    let device = softmetal::Device::system_default().expect("clang is there");
    let next = AtomicUsize::new(0);
    let findings = Mutex::new(Vec::new());
    let work = || {
        while let Some((kernel, source)) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            let options =
                softmetal::CompileOptions { fast_math: false, ..softmetal::CompileOptions::default() };
            let outcome = device.new_library(source, &options).map(|library| {
                library.check_all(&device, &library.function_names()).into_iter().flatten().next()
            });
            if let Some(error) = outcome.unwrap_or_else(Some) {
                findings.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{kernel}: {error}"));
            }
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    let findings = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(findings.is_empty(), "{} of {}:\n{}", findings.len(), chosen.len(), findings.join("\n"));
}
