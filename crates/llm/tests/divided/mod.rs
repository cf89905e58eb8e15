//! What each rank of a divided model is asked: the answers of the whole one, messages and bytes as documented, and memory for its
//! part of the weights.

use crate::tiny::{self, Size};
use std::ops::ControlFlow;
use std::sync::Arc;
use wootz::Device;
use wootz::distributed::{Group, Traffic};
use wootz_blocks::BlockFormat;
use wootz_gguf::Gguf;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::ranks::Parallel;
use wootz_llm::sampling::Sampling;
use wootz_llm::{Model, ModelOptions, Request, Session, SessionOptions};

pub const OPTIONS: ModelOptions = ModelOptions { precise: true };
const EXACT: SessionOptions = SessionOptions { context: 0, cache: CacheFormat::F32, batch_invariant: false };

/// Logits, greedy tokens and traffic of a divided model.
pub fn compare(group: &Group, name: &str, open: &dyn Fn() -> Gguf, parallel: Parallel) {
    let what = format!("{name}, {parallel} over {}", group.size());
    let whole = Arc::new(Model::from_gguf(open(), &Device::cpu(), OPTIONS).expect(&what));
    let quantised = open().tensors().iter().any(|t| t.format().is_ok_and(|f| f.block_len() > 1));
    let divided = Model::over_ranks(open(), OPTIONS, group, Some(parallel));
    let divided = Arc::new(divided.unwrap_or_else(|error| panic!("{what}: {error}")));
    let vocab = whole.config().vocab as u32;
    let tokens: Vec<u32> = (0..24).map(|i| (i * i * 7 + i * 13 + 3) % vocab).collect();
    let (expected, found) = (logits(&whole, &tokens), logits(&divided, &tokens));
    let size = expected.iter().fold(0f32, |m, x| m.max(x.abs()));
    let error = expected.iter().zip(&found).fold(0f32, |m, (a, b)| m.max((a - b).abs())) / size;
    match parallel {
        _ if group.is_alone() => assert_eq!(found, expected, "{what}: not the same bits"),
        Parallel::Pipeline => assert_eq!(found, expected, "{what}: not the same bits"),
        // Activations beside quantised weights have 16 bits, of which sums in another order may turn the last.
        Parallel::Tensor | Parallel::Expert if !quantised => assert!(error < 1e-5, "{what}: {error}"),
        Parallel::Tensor | Parallel::Expert => assert!(error < 1e-3, "{what}: {error}"),
    }
    assert_eq!(generated(&divided, &tokens, 8), generated(&whole, &tokens, 8), "{what}");
    counted(group, &divided, &what);
}

fn logits(model: &Arc<Model>, tokens: &[u32]) -> Vec<f32> {
    let mut session = Session::new(model, EXACT).expect("a session");
    let mut all = Vec::new();
    let mut keep = |rows: &[f32]| {
        all.extend_from_slice(rows);
        Ok(())
    };
    session.score(tokens, &mut keep).expect("logits");
    all
}

fn generated(model: &Arc<Model>, prompt: &[u32], limit: usize) -> Vec<u32> {
    let mut session = Session::new(model, EXACT).expect("a session");
    let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
    let request = Request { prompt: prompt.to_vec(), limit, sampling, seed: 1, stops: vec![] };
    session.generate(&request, |_| ControlFlow::Continue(())).expect("an answer").tokens
}

/// Operations, messages and bytes of one token, with all its logits and greedily, are those of the formula in
/// docs/distributed.md.
fn counted(group: &Group, model: &Arc<Model>, what: &str) {
    let mut session = Session::new(model, EXACT).expect("a session");
    session.advance(&[1]).expect("a first token");
    let found = traffic_of(group, || drop(session.advance(&[2]).expect("a token")));
    assert_eq!(found, expected(group, model, false), "{what}: traffic of a token");
    // An answer that is one token longer; models that end their answers early have none.
    let answer = |limit| {
        let mut length = 0;
        let traffic = traffic_of(group, || length = generated(model, &[1, 2, 3], limit).len());
        (length, traffic)
    };
    let ((short, before), (long, after)) = (answer(4), answer(5));
    if (short, long) == (4, 5) {
        assert_eq!(less(after, before), expected(group, model, true), "{what}: traffic of a greedy token");
    }
}

fn less(after: Traffic, before: Traffic) -> Traffic {
    Traffic {
        operations: after.operations - before.operations,
        bytes: after.bytes - before.bytes,
        messages: after.messages - before.messages,
        sent: after.sent - before.sent,
        delegated: after.delegated - before.delegated,
    }
}

fn traffic_of(group: &Group, work: impl FnOnce()) -> Traffic {
    let before = group.traffic();
    work();
    less(group.traffic(), before)
}

fn expected(group: &Group, model: &Arc<Model>, greedy: bool) -> Traffic {
    let (config, rank, size) = (model.config(), group.rank() as u64, group.size() as u64);
    let (hidden, logits) = (4 * config.width as u64, 4 * config.vocab as u64);
    let mut traffic = Traffic::default();
    if size == 1 {
        return traffic;
    }
    let rounds = u64::from(size.next_power_of_two().trailing_zeros());
    let mut collective = |payload: u64, brought: u64| {
        traffic.operations += 1;
        traffic.bytes += brought;
        traffic.messages += rounds;
        traffic.sent += (size - 1) * (64 + payload.next_multiple_of(8));
    };
    match model.share().expect("a divided model").parallel() {
        Parallel::Pipeline => {
            let scores: &[u64] = if greedy { &[4, 4] } else { &[logits] };
            for &score in scores {
                collective(score, if rank == size - 1 { score } else { 0 });
            }
            traffic.operations += u64::from(rank > 0);
            if rank < size - 1 {
                // RWKV's layers read the values of the first one, too.
                let handed_on = if config.family.name() == "rwkv7" { 2 * hidden } else { hidden };
                traffic.operations += 1;
                traffic.bytes += handed_on;
                traffic.messages += 2;
                traffic.sent += 64 + handed_on;
            }
        }
        Parallel::Tensor | Parallel::Expert => {
            // An expert that every token takes is a sum of its own.
            let shared = config.experts.is_some_and(|experts| experts.shared_ffn.is_some());
            (0..config.layers * (2 + usize::from(shared))).for_each(|_| collective(hidden, hidden));
            let part = logits.div_ceil(4 * size) * 4;
            collective(part, part);
        }
    }
    traffic
}

/// The memory of a model that is large enough for its pages to tell: the pages of the file that this rank has touched, and all
/// memory of its own that loading the model took.
pub fn residency(group: &Group) {
    let path = std::env::temp_dir().join(format!("wootz-residency-{}.gguf", parent()));
    let size = Size { layers: 4, width: 512, heads: 16, kv_heads: 16, ffn: 2304, vocab: 2400 };
    for parallel in [Parallel::Pipeline, Parallel::Tensor] {
        if group.rank() == 0 {
            let file = tiny::file("llama", &size, BlockFormat::F32, |_| true);
            std::fs::write(&path, file).expect("room for a model");
            uncache(&path);
        }
        group.barrier().expect("the file is there");
        let before = anonymous();
        let gguf = Gguf::open(&path).expect("a model");
        let weights: u64 = gguf.tensors().iter().map(|tensor| tensor.bytes).sum();
        let model = Arc::new(Model::over_ranks(gguf, OPTIONS, group, Some(parallel)).expect("its part"));
        let own = anonymous().saturating_sub(before);
        let mut session = Session::new(&model, SessionOptions { context: 32, ..EXACT }).expect("a session");
        session.advance(&[1, 2, 3]).expect("a prompt");
        session.advance(&[4]).expect("a token");
        let (mapped, working) = (mapped(&path), anonymous().saturating_sub(before + own));
        let share = (mapped + own) as f64 / weights as f64;
        let (rank, n) = (group.rank(), group.size());
        let what = format!(
            "{parallel}, rank {rank} of {n}: {mapped} bytes of the file and {own} of its own, {:.1} % of {weights}",
            100.0 * share
        );
        println!("{what}");
        assert!(share <= 1.0 / n as f64 + 0.05, "{what}");
        // The cache and activations; no weights are copied only when they are needed.
        assert!(working < weights / (3 * n as u64), "{what}, then {working} more");
        drop((session, model));
        group.barrier().expect("all have measured");
    }
    if group.rank() == 0 {
        std::fs::remove_file(&path).expect("it is ours");
    }
    println!("all as expected");
}

/// Writes a file to disk and drops it from the page cache. A file that was just written is cached in pieces of megabytes, of which
/// a process that touches one page maps all; those that are read on demand are small.
fn uncache(path: &std::path::Path) {
    std::fs::File::open(path).and_then(|file| file.sync_all()).expect("it is written");
    let from = format!("if={}", path.display());
    let ended =
        std::process::Command::new("dd").args([&from, "iflag=nocache", "count=0", "status=none"]).status();
    assert!(ended.is_ok_and(|status| status.success()), "dd drops a file from the cache");
}

fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// Bytes of a file's mapping that are in memory.
fn mapped(path: &std::path::Path) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux has it");
    let name = path.to_str().expect("a plain path");
    let mut is_file = false;
    let mut sum = 0;
    for line in maps.lines() {
        if line.split_whitespace().next().is_some_and(|word| !word.ends_with(':')) {
            is_file = line.ends_with(name);
        }
        if let Some(rest) = line.strip_prefix("Rss:").filter(|_| is_file) {
            sum += kilobytes(rest);
        }
    }
    assert!(sum > 0, "{name} is not mapped");
    sum
}

/// Bytes of memory that is no file's.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    kilobytes(line.expect("Linux says so"))
}

fn kilobytes(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).expect("a number") << 10
}
