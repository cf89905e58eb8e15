//! Where a model runs without being told: on the best device that can, with the reason, and on the next one when that fails.

#[allow(dead_code, reason = "shared with tests of the engine")]
#[path = "../../wootz/tests/common/mod.rs"]
mod common;
#[allow(dead_code, reason = "shared with tests that use more of it")]
mod tiny;

use common::{Artificial, DEAR, FREE};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use tiny::{VOCAB, model};
use wootz::metal::{MetalBackend, SoftOptions};
use wootz::{Device, DeviceKind, TrafficStats};
use wootz_blocks::BlockFormat;
use wootz_cpu::CpuBackend;
use wootz_llm::sampling::Sampling;
use wootz_llm::{Generated, Model, ModelOptions, Request, Session, SessionOptions};
use wootz_plan::Kernel;

const PRECISE: ModelOptions = ModelOptions { precise: true };

fn gpu() -> Artificial {
    let mut gpu = Artificial::new("gpu");
    (gpu.info.kind, gpu.pending) = (DeviceKind::DiscreteGpu, true);
    gpu
}

/// A choice between the CPU and a device that costs nothing.
fn auto(artificial: Artificial) -> (Device, Arc<Artificial>) {
    let backend = Arc::new(artificial);
    let cpu = Device::with_costs(Arc::new(CpuBackend::new()), DEAR);
    (Device::auto_over(vec![cpu, Device::with_costs(backend.clone(), FREE)]), backend)
}

fn load(arch: &str, device: &Device) -> Arc<Model> {
    Arc::new(Model::from_gguf(model(arch, BlockFormat::Q8_0, |_| true), device, PRECISE).unwrap())
}

fn request(sampling: Sampling, limit: usize) -> Request {
    let prompt = (0..11).map(|i| (i * i * 7 + 3) % VOCAB as u32).collect();
    Request { prompt, limit, sampling, seed: 7, stops: vec![] }
}

fn answer(session: &mut Session, sampling: Sampling) -> Generated {
    session.generate(&request(sampling, 20), |_| ControlFlow::Continue(())).unwrap()
}

fn expected(arch: &str, sampling: Sampling) -> Vec<u32> {
    let model = load(arch, &Device::cpu());
    answer(&mut Session::new(&model, SessionOptions::default()).unwrap(), sampling).tokens
}

#[test]
fn a_model_goes_to_the_best_device_and_answers_as_on_the_cpu() {
    for arch in ["llama", "gemma3", "rwkv7"] {
        let (auto, backend) = auto(gpu());
        let model = load(arch, &auto);
        assert_eq!(model.device().name(), "gpu", "{arch}");
        let reason = model.placement().unwrap().reason(model.device());
        assert!(reason.contains("tokens/s") && reason.contains("cpu"), "{reason}");
        let mut session = Session::new(&model, SessionOptions::default()).unwrap();
        backend.runs.store(0, Ordering::Relaxed);
        let tokens = answer(&mut session, Sampling::GREEDY).tokens;
        assert!(backend.runs.load(Ordering::Relaxed) >= 20, "{arch}: the passes ran there");
        assert_eq!(tokens, expected(arch, Sampling::GREEDY), "{arch}");
        assert!(session.notices().is_empty());
    }
}

#[test]
fn sampling_chooses_the_same_tokens_from_candidates_as_from_all_logits() {
    for repeat_penalty in [1.0, 1.2] {
        let sampling = Sampling { temperature: 0.9, top_k: 20, repeat_penalty, ..Sampling::default() };
        let (auto, _) = auto(gpu());
        let mut session = Session::new(&load("llama", &auto), SessionOptions::default()).unwrap();
        assert_eq!(answer(&mut session, sampling).tokens, expected("llama", sampling));
    }
}

#[test]
fn a_family_that_fails_its_checks_keeps_a_model_away_with_the_reason() {
    let mut broken = gpu();
    broken.spoils = |plan| plan.steps.iter().any(|s| matches!(s.kernel, Kernel::Attention(_)));
    let (auto, _) = auto(broken);
    let model = load("llama", &auto);
    assert_eq!(model.device().name(), "cpu");
    let reason = model.placement().unwrap().reason(model.device());
    assert!(reason.contains("gpu: attention failed validation"), "{reason}");
}

#[test]
fn a_device_without_the_memory_is_passed_over_with_the_reason() {
    let mut small = gpu();
    (small.info.memory_limit, small.info.buffer_limit) = (1 << 16, 1 << 16);
    let (auto, _) = auto(small);
    let model = load("llama", &auto);
    assert_eq!(model.device().name(), "cpu");
    let reason = model.placement().unwrap().reason(model.device());
    assert!(reason.contains("gpu: ") && reason.contains("MiB are needed"), "{reason}");
}

#[test]
fn a_model_larger_than_memory_runs_from_the_mapped_file() {
    let file = model("llama", BlockFormat::F32, |_| true);
    let weights: u64 = file.tensors().iter().map(|tensor| tensor.bytes).sum();
    let prompt = [3, 1, 4, 1, 5];
    // A limit below the weights, which holds the cache and the activations of a short context.
    let limit = weights as usize - 1;
    let options = SessionOptions { context: 16, ..SessionOptions::default() };
    let cpu = Device::with_costs(Arc::new(CpuBackend::with_limit(limit)), DEAR);
    let mut gpu = gpu();
    (gpu.info.memory_limit, gpu.info.buffer_limit) = (limit, limit);
    let auto = Device::auto_over(vec![cpu, Device::with_costs(Arc::new(gpu), FREE)]);
    let placed = Arc::new(Model::place(file, &auto, PRECISE, options, &mut |_| {}).unwrap());
    assert_eq!(placed.device().name(), "cpu");
    let reason = placed.placement().unwrap().reason(placed.device());
    assert!(reason.contains("gpu: ") && reason.contains("MiB are needed"), "{reason}");
    let logits = Session::new(&placed, options).unwrap().advance(&prompt).unwrap();
    let plain = model("llama", BlockFormat::F32, |_| true);
    let plain = Arc::new(Model::from_gguf(plain, &Device::cpu(), PRECISE).unwrap());
    assert_eq!(logits, Session::new(&plain, options).unwrap().advance(&prompt).unwrap());
}

#[test]
fn a_model_that_fits_nowhere_is_one_line_about_every_device() {
    let small = |name: &str| {
        let mut device = Artificial::new(name);
        (device.info.memory_limit, device.info.buffer_limit) = (1 << 16, 1 << 16);
        Device::with_costs(Arc::new(device), FREE)
    };
    let auto = Device::auto_over(vec![small("one"), small("two")]);
    let file = model("llama", BlockFormat::Q8_0, |_| true);
    let text = Model::from_gguf(file, &auto, PRECISE).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("one: ") && text.contains("two: ") && text.contains("MiB are needed"), "{text}");
    assert!(text.contains("smaller model") && !text.contains('\n'), "{text}");
}

#[test]
fn an_answer_survives_a_device_that_is_lost_in_the_middle() {
    for arch in ["llama", "rwkv7"] {
        let (auto, backend) = auto({
            let mut lost = gpu();
            // The checks at first use and the prompt run; then the driver breaks for good.
            lost.fails = |number| number >= 1_000_000;
            lost
        });
        let model = load(arch, &auto);
        let mut session = Session::new(&model, SessionOptions::default()).unwrap();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let notes = heard.clone();
        session.on_notice(move |notice| notes.lock().unwrap().push(notice.to_string()));
        backend.runs.store(999_993, Ordering::Relaxed);
        let tokens = answer(&mut session, Sampling::GREEDY).tokens;
        assert_eq!(tokens, expected(arch, Sampling::GREEDY), "{arch}");
        assert_eq!(session.model().device().name(), "cpu");
        let heard = heard.lock().unwrap();
        assert_eq!(heard.len(), 1);
        assert!(heard[0].contains("gpu failed") && heard[0].contains("the device was lost"), "{heard:?}");
        assert!(heard[0].contains("continuing on cpu"), "{heard:?}");
    }
}

#[test]
fn a_device_that_was_asked_for_is_not_replaced() {
    let mut lost = gpu();
    lost.fails = |number| number >= 4;
    let device = lost.device();
    let model = load("llama", &device);
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    let result = session.generate(&request(Sampling::GREEDY, 20), |_| ControlFlow::Continue(()));
    assert!(result.map(|_| ()).unwrap_err().to_string().contains("the device was lost"));
}

#[test]
fn a_token_costs_one_submit_one_wait_and_eight_bytes() {
    let device = Device::from_backend(Arc::new(MetalBackend::soft(SoftOptions::default())));
    let model = load("llama", &device);
    let count = |limit: usize| -> TrafficStats {
        let mut session = Session::new(&model, SessionOptions::default()).unwrap();
        let before = device.traffic_stats();
        let request = request(Sampling::GREEDY, limit);
        let generated = session.generate(&request, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(generated.tokens.len(), limit);
        device.traffic_stats() - before
    };
    let (short, long) = (count(4), count(12));
    let more = long - short;
    assert_eq!(more.submits, 8, "one submit a token: {more:?}");
    assert_eq!(more.waits, 8, "one wait a token: {more:?}");
    assert_eq!(more.bytes_read, 8 * 8, "a token and its logit: {more:?}");
}

/// How many candidates a pass returns for sampling.
const CANDIDATES: u64 = 128;

#[test]
fn sampling_from_the_most_likely_tokens_copies_those_only() {
    let device = Device::from_backend(Arc::new(MetalBackend::soft(SoftOptions::default())));
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tiny-llama.model");
    let model = Arc::new(Model::open(golden, &device, PRECISE).unwrap());
    let count = |sampling: Sampling, limit: usize| -> TrafficStats {
        let mut session = Session::new(&model, SessionOptions::default()).unwrap();
        let before = device.traffic_stats();
        let generated = session.generate(&request(sampling, limit), |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(generated.tokens.len(), limit);
        device.traffic_stats() - before
    };
    let vocab = model.config().vocab as u64;
    assert!(vocab > CANDIDATES, "otherwise the candidates are all logits");
    let sampling = Sampling { temperature: 1.0, top_k: 40, ..Sampling::default() };
    let more = count(sampling, 12) - count(sampling, 4);
    assert_eq!((more.submits, more.waits), (8, 8), "one submit and one wait a token: {more:?}");
    assert_eq!(
        more.bytes_read,
        8 * (8 * CANDIDATES + 4),
        "candidates, their logits and the largest: {more:?}"
    );
    // Without a limit, sampling needs every logit.
    let sampling = Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, ..Sampling::default() };
    let more = count(sampling, 12) - count(sampling, 4);
    assert_eq!(more.bytes_read, 8 * 4 * vocab, "a logit for each token: {more:?}");
}

#[test]
fn the_next_pass_is_submitted_before_the_token_is_read() {
    let (auto, backend) = auto(gpu());
    let model = load("llama", &auto);
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    backend.runs.store(0, Ordering::Relaxed);
    let mut seen = Vec::new();
    let counter = backend.clone();
    session
        .generate(&request(Sampling::GREEDY, 5), |_| {
            seen.push(counter.runs.load(Ordering::Relaxed));
            ControlFlow::Continue(())
        })
        .unwrap();
    let prompt = seen[0] - 1;
    assert!(seen.iter().take(4).enumerate().all(|(i, runs)| *runs == prompt + i + 1), "{seen:?}");
}
