//! Guessed tokens and states that rewind: the same answers as without.

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod tiny;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tiny::{VOCAB, model};
use wootz::Device;
use wootz_blocks::BlockFormat;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::sampling::Sampling;
use wootz_llm::{Generated, Model, ModelOptions, Request, Session, SessionOptions, Speculation};

const EXACT: SessionOptions = SessionOptions { context: 0, cache: CacheFormat::F32, batch_invariant: false };

fn load(arch: &str) -> Arc<Model> {
    let file = model(arch, BlockFormat::F32, |_| true);
    Arc::new(Model::from_gguf(file, &Device::cpu(), ModelOptions::default()).unwrap())
}

/// A model with golden logits.
fn golden(family: &str) -> Arc<Model> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let file = folder.join(format!("tiny-{family}.model"));
    Arc::new(Model::open(file, &Device::cpu(), ModelOptions::default()).unwrap())
}

fn tokens(count: usize, vocab: usize) -> Vec<u32> {
    (0..count).map(|i| ((i * i * 7 + i * 13 + 3) % vocab) as u32).collect()
}

/// A text that says the same again and again, so that it can be guessed.
fn request(vocab: usize) -> Request {
    let prompt = tokens(12, vocab).repeat(3);
    Request { prompt, limit: 96, sampling: Sampling::GREEDY, seed: 0, stops: vec![] }
}

fn answer(model: &Arc<Model>, request: &Request, speculation: Option<&mut Speculation>) -> Generated {
    let mut session = Session::new(model, EXACT).unwrap();
    session.generate_with(request, speculation, |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn guessing_changes_no_token() {
    // Caches of every position, windows, recurrent states.
    let models = ["llama", "gemma3", "rwkv7"].map(load).into_iter().chain(["qwen35", "lfm2"].map(golden));
    for model in models {
        let name = model.config().family.name();
        let request = request(model.config().vocab);
        let plain = answer(&model, &request, None);
        let mut lookup = Speculation::lookup();
        let guessed = answer(&model, &request, Some(&mut lookup));
        assert_eq!(guessed.tokens, plain.tokens, "{name} by look-up");
        assert_eq!((guessed.finish, guessed.text), (plain.finish, plain.text.clone()), "{name}");
        let mut draft = Speculation::draft(&model, &model, EXACT).unwrap();
        let drafted = answer(&model, &request, Some(&mut draft));
        assert_eq!(drafted.tokens, plain.tokens, "{name} by a draft");
        let (read, kept) = draft.counts();
        assert!(read > 0, "{name} guessed nothing");
        assert!(kept * 10 >= read * 9, "{name} guesses its own tokens: {kept} of {read}");
    }
}

#[test]
fn a_limit_and_a_full_context_end_where_they_do_without_guesses() {
    let model = load("llama");
    for limit in [1, 2, 7, 20] {
        let request = Request { limit, ..request(VOCAB) };
        let mut draft = Speculation::draft(&model, &model, EXACT).unwrap();
        let (plain, drafted) = (answer(&model, &request, None), answer(&model, &request, Some(&mut draft)));
        assert_eq!((plain.tokens, plain.finish), (drafted.tokens, drafted.finish), "{limit} tokens");
    }
    let short = SessionOptions { context: 64, ..EXACT };
    let request = Request { limit: 1000, ..request(VOCAB) };
    let run = |speculation: Option<&mut Speculation>| {
        let mut session = Session::new(&model, short).unwrap();
        session.generate_with(&request, speculation, |_| ControlFlow::Continue(())).unwrap()
    };
    let plain = run(None);
    let guessed = run(Some(&mut Speculation::draft(&model, &model, EXACT).unwrap()));
    assert_eq!((plain.tokens, plain.finish), (guessed.tokens, guessed.finish));
}

#[test]
fn another_vocabulary_is_refused() {
    let error = Speculation::draft(&golden("lfm2"), &load("llama"), EXACT).err().unwrap().to_string();
    assert!(error.contains("vocabulary") && error.contains("80"), "{error}");
}

#[test]
fn an_edited_prompt_starts_from_a_checkpoint() {
    let models = ["gemma3", "rwkv7"].map(load).into_iter();
    let models = models.chain(["qwen35", "granitehybrid", "lfm2", "gemma4"].map(golden));
    for model in models {
        let name = model.config().family.name();
        let vocab = model.config().vocab;
        let mut edited = tokens(300, vocab);
        let mut session = Session::new(&model, EXACT).unwrap();
        session.read(&edited).unwrap();
        for changed in [257, 259] {
            // An answer that is thrown away, long enough for windows to forget what is before token 256.
            session.advance(&tokens(200, vocab)).unwrap();
            edited[changed] = (edited[changed] + 1) % vocab as u32;
            let (logits, reused) = session.read(&edited).unwrap();
            assert_eq!(reused, 256, "{name}, token {changed}");
            let cold = Session::new(&model, EXACT).unwrap().read(&edited).unwrap().0;
            assert_eq!(logits, cold, "{name}, token {changed}");
        }
        edited[100] = (edited[100] + 1) % vocab as u32;
        let (logits, reused) = session.read(&edited).unwrap();
        assert_eq!(reused, 0, "{name}: nothing is kept of so early a state");
        assert_eq!(logits, Session::new(&model, EXACT).unwrap().read(&edited).unwrap().0, "{name}");
    }
}
