//! Every family against plain loops over its formulas, and sessions against themselves.

mod tiny;

use std::ops::ControlFlow;
use std::sync::Arc;
use tiny::reference::{attention_logits, recurrent_logits};
use tiny::{VOCAB, model};
use wootz::{DType, Device};
use wootz_blocks::BlockFormat;
use wootz_llm::sampling::Sampling;
use wootz_llm::{Finish, Model, Request, Session, SessionOptions};

const FAMILIES: [&str; 5] = ["llama", "qwen2", "qwen3", "gemma3", "rwkv7"];
const EXACT: SessionOptions = SessionOptions { context: 0, cache: DType::F32 };

fn tokens(count: usize) -> Vec<u32> {
    (0..count).map(|i| (i * i * 7 + i * 13 + 3) as u32 % VOCAB as u32).collect()
}

fn load(arch: &str, format: BlockFormat) -> Arc<Model> {
    Arc::new(Model::from_gguf(model(arch, format, |_| true), &Device::cpu()).unwrap())
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
        let model = load(arch, format);
        // The reference reads the same blocks; what differs is the 8-bit activations.
        let error = difference(&together(&model, &tokens, EXACT), &reference(arch, &model, &tokens));
        let allowed = if format.is_float() { 1e-4 } else { 0.06 };
        assert!(error < allowed, "{arch} in {format}: {error}");
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
fn bad_models_and_bad_input_are_refused() {
    let missing = model("llama", BlockFormat::F32, |name| name != "blk.1.ffn_up.weight");
    let error = Model::from_gguf(missing, &Device::cpu()).err().unwrap().to_string();
    assert!(error.contains("blk.1.ffn_up.weight"), "{error}");
    let model = load("llama", BlockFormat::F32);
    let mut session = Session::new(&model, SessionOptions { context: 16, ..EXACT }).unwrap();
    let refused = |error: wootz_llm::Error, fact: &str| {
        assert!(error.to_string().contains(fact), "{error}");
    };
    refused(session.advance(&[]).unwrap_err(), "no tokens");
    refused(session.advance(&[VOCAB as u32]).unwrap_err(), "token 80");
    refused(session.advance(&tokens(17)).unwrap_err(), "context of 16");
    refused(Session::new(&model, SessionOptions { context: 2048, ..EXACT }).err().unwrap(), "1024");
    refused(Session::new(&model, SessionOptions { cache: DType::I32, ..EXACT }).err().unwrap(), "i32");
    assert!(session.advance(&tokens(16)).is_ok(), "errors leave the session as it was");
}
