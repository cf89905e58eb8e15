//! Models over ranks against the same model on one: pipelines give the same bits, tensor parallelism the same to rounding, and both the
//! same greedy tokens. Messages and bytes are those of docs/distributed.md.
#![cfg(unix)]

#[path = "../../mpi/tests/launch/mod.rs"]
#[allow(dead_code, reason = "the tests of wootz-mpi use more of it")]
mod launch;
#[allow(dead_code, reason = "other tests use more of it")]
mod tiny;

use launch::{CASE, installed, text};
use std::ops::ControlFlow;
use std::sync::Arc;
use tiny::{HEADS, VOCAB, WIDTH, layers, model};
use wootz::Device;
use wootz::distributed::{self, Group};
use wootz_blocks::BlockFormat;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::ranks::Parallel;
use wootz_llm::sampling::Sampling;
use wootz_llm::{Model, ModelOptions, Request, Session, SessionOptions};

const EXACT: SessionOptions = SessionOptions { context: 0, cache: CacheFormat::F32, batch_invariant: false };
const OPTIONS: ModelOptions = ModelOptions { precise: true };

#[test]
fn divided_models_answer_as_whole_ones() {
    let whole = std::env::var("WOOTZ_FULL").is_ok_and(|set| set == "1");
    for library in installed() {
        // Collectives are tested with every library; models with one of each kind of launcher.
        if !whole && !["mpich from pip", "Open MPI"].contains(&library.name) {
            continue;
        }
        for ranks in if whole { vec![2, 3, 4] } else { vec![3] } {
            let output = library.run("answers", ranks, &[], "300");
            let text = text(&output);
            assert!(output.status.success(), "{}: {text}", library.name);
            assert_eq!(text.matches("all as expected").count(), ranks, "{}: {text}", library.name);
        }
    }
}

#[test]
fn ranks_with_different_files_all_fail() {
    let Some(library) = installed().into_iter().next() else { return };
    let output = library.run("files", 2, &[], "300");
    let text = text(&output);
    assert_eq!(text.matches("ranks disagree on the model: rank 0").count(), 2, "{}: {text}", library.name);
}

#[test]
fn a_model_too_small_for_the_ranks_says_so() {
    let (gguf, config) = opened("llama", BlockFormat::Q8_0);
    let refused = |parallel, size| {
        let share = wootz_llm::ranks::Share::planned(&gguf, &config, (0, size), parallel);
        share.expect_err("too many ranks").to_string()
    };
    assert_eq!(refused(Parallel::Pipeline, 3), "model: 3 ranks are more than the 2 layers");
    assert_eq!(refused(Parallel::Tensor, 3), "model: 3 ranks are more than the 2 key-value heads");
    let (gguf, config) = opened("rwkv7", BlockFormat::Q8_0);
    let share = wootz_llm::ranks::Share::planned(&gguf, &config, (0, 2), Parallel::Tensor);
    assert!(share.is_err_and(|error| error.to_string().contains("rwkv7 cannot be divided")));
}

/// Each rank reads its part of the weights and little more.
#[test]
fn parts_are_parts() {
    for parallel in Parallel::ALL {
        let (gguf, config) = opened("gemma3", BlockFormat::Q8_0);
        let all: u64 = gguf.tensors().iter().map(|tensor| tensor.bytes).sum();
        let part = |rank| {
            wootz_llm::ranks::Share::planned(&gguf, &config, (rank, 2), parallel)
                .expect("two parts")
                .bytes(&gguf)
        };
        let (first, second) = (part(0), part(1));
        assert!(first + second >= all, "{parallel}: nothing is left out");
        assert!(first.max(second) < all * 6 / 10, "{parallel}: {first} and {second} of {all}");
    }
}

fn opened(arch: &str, format: BlockFormat) -> (wootz_gguf::Gguf, wootz_llm::config::Config) {
    let gguf = model(arch, format, |_| true);
    let config = wootz_llm::config::Config::from_gguf(&gguf).expect("a model");
    (gguf, config)
}

/// What each rank does.
#[test]
#[ignore = "run on every rank by the tests above"]
fn rank() {
    let group = distributed::init().unwrap_or_else(|error| panic!("{error}"));
    match std::env::var(CASE).as_deref() {
        Ok("answers") => answers(&group),
        Ok("files") => files(&group),
        other => panic!("no case {other:?}"),
    }
}

fn answers(group: &Group) {
    let formats = [BlockFormat::F32, BlockFormat::Q8_0];
    for arch in ["llama", "qwen2", "qwen3", "gemma3"] {
        for (format, parallel) in formats.into_iter().flat_map(|f| Parallel::ALL.map(|p| (f, p))) {
            // Of three ranks, two have a model of two layers and two key-value heads; Gemma's six layers suffice for all.
            let pipelined = parallel == Parallel::Pipeline && layers(arch) >= group.size();
            let colour = if pipelined { 0 } else { group.rank() / 2 };
            let mates = group.split(colour, 0).expect("a part of the ranks");
            if mates.size() > 1 {
                compare(&mates, arch, format, parallel);
            }
        }
    }
    group.barrier().expect("all come to the end");
    println!("all as expected");
}

fn compare(group: &Group, arch: &str, format: BlockFormat, parallel: Parallel) {
    let what = format!("{arch} in {format}, {parallel} over {}", group.size());
    let whole =
        Arc::new(Model::from_gguf(model(arch, format, |_| true), &Device::cpu(), OPTIONS).expect(&what));
    let divided = Model::over_ranks(model(arch, format, |_| true), OPTIONS, group, Some(parallel));
    let divided = Arc::new(divided.unwrap_or_else(|error| panic!("{what}: {error}")));
    let tokens: Vec<u32> = (0..24).map(|i| (i * i * 7 + i * 13 + 3) % VOCAB as u32).collect();
    let (expected, found) = (logits(&whole, &tokens), logits(&divided, &tokens));
    let size = expected.iter().fold(0f32, |m, x| m.max(x.abs()));
    let error = expected.iter().zip(&found).fold(0f32, |m, (a, b)| m.max((a - b).abs())) / size;
    match parallel {
        Parallel::Pipeline => assert_eq!(found, expected, "{what}: not the same bits"),
        // Activations beside quantised weights have 16 bits, of which sums in another order may turn the last.
        Parallel::Tensor if format == BlockFormat::F32 => assert!(error < 1e-5, "{what}: {error}"),
        Parallel::Tensor => assert!(error < 1e-3, "{what}: {error}"),
    }
    assert_eq!(generated(&divided, &tokens), generated(&whole, &tokens), "{what}");
    counted(group, &divided, arch, &what);
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

fn generated(model: &Arc<Model>, prompt: &[u32]) -> Vec<u32> {
    let mut session = Session::new(model, EXACT).expect("a session");
    let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
    let request = Request { prompt: prompt.to_vec(), limit: 8, sampling, seed: 1, stops: vec![] };
    session.generate(&request, |_| ControlFlow::Continue(())).expect("an answer").tokens
}

/// Operations and bytes of one token are those of the formula in docs/distributed.md.
fn counted(group: &Group, model: &Arc<Model>, arch: &str, what: &str) {
    let mut session = Session::new(model, EXACT).expect("a session");
    session.advance(&[1]).expect("a first token");
    let before = group.traffic();
    session.advance(&[2]).expect("a token");
    let after = group.traffic();
    let found = (after.operations - before.operations, after.bytes - before.bytes);
    let (rank, size, layers) = (group.rank() as u64, group.size() as u64, layers(arch) as u64);
    let (hidden, logits) = (4 * WIDTH as u64, 4 * VOCAB as u64);
    let expected = match model.share().expect("a divided model").parallel() {
        Parallel::Pipeline => {
            let (first, last) = (rank == 0, rank == size - 1);
            let operations = u64::from(!first) + u64::from(!last) + 1;
            (operations, if last { logits } else { hidden })
        }
        Parallel::Tensor => (2 * layers + 1, 2 * layers * hidden + logits.div_ceil(4 * size) * 4),
    };
    assert!(HEADS >= group.size());
    assert_eq!(found, expected, "{what}: operations and bytes of a token");
}

fn files(group: &Group) {
    let format = if group.rank() == 0 { BlockFormat::Q8_0 } else { BlockFormat::F32 };
    let gguf = model("llama", format, |_| true);
    match Model::over_ranks(gguf, OPTIONS, group, Some(Parallel::Pipeline)) {
        Ok(_) => panic!("files differ"),
        Err(error) => println!("{error}"),
    }
    // Launchers end all ranks when the first one has failed: both have to have spoken by then.
    std::thread::sleep(std::time::Duration::from_secs(2));
}
