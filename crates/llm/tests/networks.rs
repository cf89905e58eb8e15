//! Every family against plain loops over its formulas, and sessions against themselves.

#[path = "tiny/reference.rs"]
mod reference;
mod tiny;

use reference::{attention_logits, recurrent_logits};
use std::ops::ControlFlow;
use std::sync::Arc;
use tiny::{VOCAB, model};
use wootz::Device;
use wootz_blocks::BlockFormat;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::sampling::Sampling;
use wootz_llm::{Finish, Model, ModelOptions, Request, Session, SessionOptions};

const FAMILIES: [&str; 5] = ["llama", "qwen2", "qwen3", "gemma3", "rwkv7"];
const EXACT: SessionOptions = SessionOptions { context: 0, cache: CacheFormat::F32, batch_invariant: false };

fn tokens(count: usize) -> Vec<u32> {
    (0..count).map(|i| (i * i * 7 + i * 13 + 3) as u32 % VOCAB as u32).collect()
}

const PRECISE: ModelOptions = ModelOptions { precise: true };
const FAST: ModelOptions = ModelOptions { precise: false };

fn load(arch: &str, format: BlockFormat) -> Arc<Model> {
    load_as(arch, format, FAST)
}

fn load_as(arch: &str, format: BlockFormat, options: ModelOptions) -> Arc<Model> {
    Arc::new(Model::from_gguf(model(arch, format, |_| true), &Device::cpu(), options).unwrap())
}

/// Logits after every token, read together.
fn together(model: &Arc<Model>, tokens: &[u32], options: SessionOptions) -> Vec<Vec<f32>> {
    let mut session = Session::new(model, options).unwrap();
    let mut all = Vec::new();
    let mut keep = |rows: &[f32]| {
        all.extend(rows.chunks_exact(VOCAB).map(<[f32]>::to_vec));
        Ok(())
    };
    session.score(tokens, &mut keep).unwrap();
    all
}

/// The largest difference, as a part of the largest logit.
fn difference(ours: &[Vec<f32>], reference: &[Vec<f64>]) -> f64 {
    assert_eq!(ours.len(), reference.len());
    let pairs = || ours.iter().flatten().zip(reference.iter().flatten());
    let size = reference.iter().flatten().fold(0f64, |m, x| m.max(x.abs()));
    pairs().map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max) / size
}

fn reference(arch: &str, model: &Model, tokens: &[u32]) -> Vec<Vec<f64>> {
    match arch {
        "rwkv7" => recurrent_logits(model.gguf(), tokens),
        _ => attention_logits(model.gguf(), arch, tokens),
    }
}

#[test]
fn families_follow_their_formulas() {
    for arch in FAMILIES {
        // Long enough to leave every sliding window.
        let tokens = tokens(24);
        let model = load(arch, BlockFormat::F32);
        let expected = reference(arch, &model, &tokens);
        let error = difference(&together(&model, &tokens, EXACT), &expected);
        assert!(error < 1e-4, "{arch}: {error}");
        let error = difference(&together(&model, &tokens, SessionOptions::default()), &expected);
        assert!(error < 1e-2, "{arch} with a cache of f16: {error}");
        let q8 = SessionOptions { cache: CacheFormat::Q8_0, ..EXACT };
        let error = difference(&together(&model, &tokens, q8), &expected);
        assert!(error < 3e-2, "{arch} with a cache of q8_0: {error}");
        assert!(arch == "rwkv7" || error > 1e-5, "{arch}: the cache was not rounded");
    }
}

#[test]
fn quantised_weights_are_used_as_they_are() {
    for (arch, format) in [
        ("llama", BlockFormat::Q4_1),
        ("llama", BlockFormat::F16),
        ("qwen2", BlockFormat::Q5_0),
        ("qwen3", BlockFormat::Q8_0),
        ("gemma3", BlockFormat::IQ4_NL),
        ("rwkv7", BlockFormat::Q8_0),
    ] {
        let tokens = tokens(12);
        // The reference reads the same blocks; what differs is the activations of 8 or 16 bits.
        let rounded = if format.is_float() { 1e-4 } else { 0.06 };
        for (options, allowed) in [(FAST, rounded), (PRECISE, 3e-4)] {
            let model = load_as(arch, format, options);
            let error = difference(&together(&model, &tokens, EXACT), &reference(arch, &model, &tokens));
            assert!(error < allowed, "{arch} in {format}, {options:?}: {error}");
        }
    }
}

#[test]
fn one_by_one_equals_together() {
    for arch in FAMILIES {
        // More than two chunks, and more than the first capacity of the cache.
        let tokens = tokens(300);
        let model = load(arch, BlockFormat::F32);
        let expected = together(&model, &tokens, EXACT);
        let mut session = Session::new(&model, EXACT).unwrap();
        let mut worst = 0f32;
        for (token, row) in tokens.iter().zip(&expected) {
            let logits = session.advance(&[*token]).unwrap();
            worst = logits.iter().zip(row).map(|(a, b)| (a - b).abs()).fold(worst, f32::max);
        }
        assert!(worst < 1e-3, "{arch}: {worst}");
    }
}

#[test]
fn windows_keep_only_what_they_need() {
    let model = load("gemma3", BlockFormat::F32);
    let tokens = tokens(900);
    let expected = reference("gemma3", &model, &tokens[..400]);
    let mut session = Session::new(&model, EXACT).unwrap();
    let mut rows = Vec::new();
    // Parts of many lengths, so that the window moves at every offset.
    let mut at = 0;
    for part in [100, 1, 60, 33, 7, 128, 71] {
        let keep = |logits: &[f32]| {
            rows.extend(logits.chunks_exact(VOCAB).map(<[f32]>::to_vec));
            Ok(())
        };
        session.score(&tokens[at..at + part], keep).unwrap();
        at += part;
    }
    assert_eq!(at, 400);
    let error = difference(&rows, &expected);
    assert!(error < 1e-4, "{error}");
    session.advance(&tokens[400..]).unwrap();
    // One layer of six keeps everything (1024 positions); the others a window, a chunk and the step in which it forgets.
    let row = 2 * tiny::KV_HEADS * tiny::HEAD_LEN * 4;
    assert_eq!(session.state_bytes(), (1024 + 5 * (tiny::WINDOW + 128 + 128)) * row);
    // A little can be taken back; what the window has left behind is read again.
    let (_, reused) = session.read(&tokens[..899]).unwrap();
    assert_eq!(reused, 898);
    let (logits, reused) = session.read(&tokens[..300]).unwrap();
    assert_eq!(reused, 0);
    let fresh = Session::new(&model, EXACT).unwrap().advance(&tokens[..300]).unwrap();
    let worst = logits.iter().zip(&fresh).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn sequences_go_together() {
    for arch in FAMILIES {
        let model = load(arch, BlockFormat::F32);
        let prompts = [tokens(5), tokens(40)[7..].to_vec(), tokens(290)[20..].to_vec()];
        let start = |prompt: &Vec<u32>| {
            let mut session = Session::new(&model, EXACT).unwrap();
            session.advance(prompt).unwrap();
            session
        };
        let (mut alone, mut grouped): (Vec<_>, Vec<_>) =
            (prompts.iter().map(start).collect(), prompts.iter().map(start).collect());
        for step in 0..3u32 {
            let next = [step + 3, 2 * step + 1, 40 - step];
            let mut all: Vec<&mut Session> = grouped.iter_mut().collect();
            let rows = Session::advance_together(&mut all, &next).unwrap();
            for ((session, token), row) in alone.iter_mut().zip(next).zip(rows) {
                let expected = session.advance(&[token]).unwrap();
                let worst = row.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
                assert!(worst < 1e-4, "{arch}: {worst}");
            }
        }
        let mut all: Vec<&mut Session> = grouped.iter_mut().collect();
        let error = Session::advance_together(&mut all, &[1]).unwrap_err().to_string();
        assert!(error.contains("got 1 tokens for 3"), "{error}");
    }
}

#[test]
fn answers_of_one_batch_are_those_of_each_alone() {
    let model = load("llama", BlockFormat::F32);
    let request = |i: usize| Request {
        prompt: tokens(10 + 9 * i)[i..].to_vec(),
        limit: 6 + 5 * i,
        sampling: Sampling { temperature: 1.2, ..Sampling::default() },
        seed: i as u64,
        stops: vec![],
    };
    let requests: Vec<Request> = (0..3).map(request).collect();
    let session = || Session::new(&model, EXACT).unwrap();
    let mut shown = vec![String::new(); 3];
    let mut sessions: Vec<Session> = (0..3).map(|_| session()).collect();
    let together = Session::generate_together(&mut sessions, &requests, |i, text| {
        shown[i].push_str(text);
        ControlFlow::Continue(())
    });
    for ((answer, request), shown) in together.unwrap().iter().zip(&requests).zip(&shown) {
        let alone = session().generate(request, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((&answer.tokens, answer.finish), (&alone.tokens, alone.finish));
        assert_eq!(&answer.text, shown);
    }
}

/// A prompt that leaves the window and a token after it, on the CPU and on every other device. Imitated devices are slow,
/// so there is one quantised model per family, each of another format, and one of floats.
#[test]
fn every_device_gives_the_cpus_logits() {
    let prompt = tokens(11);
    let run = |arch, format, device: &Device| {
        let model = Model::from_gguf(model(arch, format, |_| true), device, PRECISE)?;
        let mut session = Session::new(&Arc::new(model), EXACT)?;
        Ok::<_, wootz_llm::Error>([session.advance(&prompt)?, session.advance(&[7])?].concat())
    };
    for (arch, format) in [
        ("llama", BlockFormat::Q4_1),
        ("qwen2", BlockFormat::Q5_0),
        ("qwen3", BlockFormat::Q8_0),
        ("gemma3", BlockFormat::IQ4_NL),
        ("rwkv7", BlockFormat::Q4_0),
        ("llama", BlockFormat::F32),
    ] {
        let expected = run(arch, format, &Device::cpu()).unwrap();
        let size = expected.iter().fold(0f32, |m, x| m.max(x.abs()));
        for device in Device::all().iter().filter(|device| device.name() != "cpu") {
            let got =
                run(arch, format, device).unwrap_or_else(|e| panic!("{arch} in {format} on {device}: {e}"));
            assert_eq!(got.len(), expected.len());
            let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max) / size;
            assert!(worst < 1e-3, "{arch} in {format} on {device}: {worst}");
        }
    }
}

#[test]
fn a_shared_beginning_is_read_once() {
    for (arch, rewinds) in [("llama", true), ("rwkv7", false)] {
        let model = load(arch, BlockFormat::F32);
        let (long, mut other) = (tokens(40), tokens(40)[..30].to_vec());
        other.extend([5, 6, 7]);
        let mut session = Session::new(&model, EXACT).unwrap();
        session.read(&long[..35]).unwrap();
        let (_, reused) = session.read(&long).unwrap();
        assert_eq!(reused, 35, "{arch} goes on");
        let (logits, reused) = session.read(&other).unwrap();
        assert_eq!(reused, if rewinds { 30 } else { 0 }, "{arch} goes back");
        let fresh = Session::new(&model, EXACT).unwrap().advance(&other).unwrap();
        let worst = logits.iter().zip(&fresh).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
        assert!(worst < 1e-4, "{arch}: {worst}");
        assert_eq!(
            session.read(&other).unwrap().1,
            if rewinds { 32 } else { 0 },
            "the last token is computed"
        );
    }
}

#[test]
fn generation_ends_when_told() {
    let model = load("llama", BlockFormat::Q8_0);
    let request = Request {
        prompt: tokens(10),
        limit: 20,
        sampling: Sampling { temperature: 1.5, ..Sampling::default() },
        seed: 3,
        stops: vec![],
    };
    let run = |request: &Request| {
        let mut shown = String::new();
        let generated = Session::new(&model, EXACT).unwrap().generate(request, |text| {
            shown.push_str(text);
            ControlFlow::Continue(())
        });
        let generated = generated.unwrap();
        assert_eq!(generated.text, shown, "what is shown is the text");
        generated
    };
    let first = run(&request);
    assert!(first.finish == Finish::End || first.tokens.len() == 20, "{:?}", first.finish);
    assert_eq!(run(&request).tokens, first.tokens, "the seed decides");
    let mut session = Session::new(&model, EXACT).unwrap();
    let cancelled = session.generate(&request, |_| ControlFlow::Break(())).unwrap();
    assert_eq!((cancelled.finish, cancelled.tokens.len()), (Finish::Cancelled, 1));
    let short = SessionOptions { context: 12, ..EXACT };
    let full =
        Session::new(&model, short).unwrap().generate(&request, |_| ControlFlow::Continue(())).unwrap();
    assert!(full.tokens.len() <= 3, "10 of 12 are taken, and one more needs no place: {}", full.tokens.len());
}

#[test]
fn reading_a_long_prompt_can_be_cancelled_and_taken_up_again() {
    let model = load("llama", BlockFormat::Q8_0);
    let request =
        Request { prompt: tokens(600), limit: 3, sampling: Sampling::GREEDY, seed: 3, stops: vec![] };
    let whole =
        Session::new(&model, EXACT).unwrap().generate(&request, |_| ControlFlow::Continue(())).unwrap();
    let mut session = Session::new(&model, EXACT).unwrap();
    let mut asked = 0;
    let cancelled = session.generate(&request, |text| {
        assert_eq!(text, "", "nothing was generated yet");
        asked += 1;
        if asked == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let cancelled = cancelled.unwrap();
    assert_eq!((cancelled.finish, cancelled.tokens.len(), asked), (Finish::Cancelled, 0, 2));
    let read = session.tokens().len();
    assert!(0 < read && read < 600, "{read}");
    let resumed = session.generate(&request, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((resumed.tokens, resumed.reused_tokens), (whole.tokens, read));
}

#[test]
fn bad_models_and_bad_input_are_refused() {
    let missing = model("llama", BlockFormat::F32, |name| name != "blk.1.ffn_up.weight");
    let error = Model::from_gguf(missing, &Device::cpu(), ModelOptions::default()).err().unwrap().to_string();
    assert!(error.contains("blk.1.ffn_up.weight"), "{error}");
    let model = load("llama", BlockFormat::F32);
    let mut session = Session::new(&model, SessionOptions { context: 16, ..EXACT }).unwrap();
    let refused = |error: wootz_llm::Error, fact: &str| {
        assert!(error.to_string().contains(fact), "{error}");
    };
    refused(session.advance(&[]).unwrap_err(), "at least one token");
    refused(session.advance(&[VOCAB as u32]).unwrap_err(), "token 80");
    refused(session.advance(&tokens(17)).unwrap_err(), "context length of 16");
    refused(Session::new(&model, SessionOptions { context: 2048, ..EXACT }).err().unwrap(), "1024");
    assert!(session.advance(&tokens(16)).is_ok(), "errors leave the session as it was");
}
