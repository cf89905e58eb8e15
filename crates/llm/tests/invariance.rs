//! Batch invariance of every family: an answer has the same bits however its prompt was read, and whatever else runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use wootz::Device;
use wootz_llm::engine::{Engine, EngineOptions, Event, Job, Listener};
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};

/// Encoders, which generate nothing.
const ENCODERS: [&str; 4] = ["bert", "bert-rank", "nomic-bert", "gemma-embedding"];

fn families() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let name = |path: &Path| {
        Some(path.file_name()?.to_str()?.strip_prefix("tiny-")?.strip_suffix(".model")?.to_owned())
    };
    let mut all: Vec<_> = files.filter_map(|path| Some((name(&path)?, path))).collect();
    all.retain(|(name, _)| !ENCODERS.contains(&name.as_str()));
    all.sort();
    assert!(all.len() >= 24, "families are missing: {all:?}");
    all
}

fn prompt(model: &Model, seed: usize, count: usize) -> Vec<u32> {
    let token = |i: usize| (i * i * 7 + i * 13 + seed * 31 + 3) % model.config().vocab;
    (0..count).map(|i| token(i) as u32).collect()
}

/// Logits after the last token, with the prompt read in these pieces.
fn logits(model: &Arc<Model>, pieces: &[&[u32]]) -> Vec<u32> {
    let options = SessionOptions { batch_invariant: true, ..SessionOptions::default() };
    let mut session = Session::new(model, options).unwrap();
    let mut last = Vec::new();
    pieces.iter().for_each(|piece| last = session.advance(piece).unwrap());
    last.iter().map(|l| l.to_bits()).collect()
}

struct Ear(mpsc::Sender<Event>);

impl Listener for Ear {
    fn hear(&mut self, event: Event) {
        let _ = self.0.send(event);
    }
    fn is_listening(&self) -> bool {
        true
    }
}

/// The tokens of jobs that run together, and the bits of the logarithms of their probabilities.
fn answers(engine: &Engine, jobs: &[Vec<u32>]) -> Vec<Vec<(u32, u32)>> {
    let submit = |prompt: &Vec<u32>| {
        let (sender, events) = mpsc::channel();
        let job = Job { ignore_end: true, logprobs: Some(0), ..Job::new(prompt.clone(), 6) };
        engine.submit(job, Box::new(Ear(sender))).unwrap();
        events
    };
    let waiting: Vec<_> = jobs.iter().map(submit).collect();
    let answer = |events: mpsc::Receiver<Event>| {
        let mut tokens = Vec::new();
        loop {
            match events.recv_timeout(Duration::from_secs(600)).expect("every job ends") {
                Event::Token(chosen) => {
                    tokens.extend(chosen.token.map(|id| (id, chosen.logprob.unwrap().to_bits())));
                }
                Event::Done(_) => return tokens,
                Event::Failed(why) => panic!("{why}"),
            }
        }
    };
    waiting.into_iter().map(answer).collect()
}

#[test]
fn logits_of_every_family_have_the_same_bits_however_a_prompt_is_read() {
    let mut differ = Vec::new();
    for (family, path) in families() {
        let model = Arc::new(Model::open(&path, &Device::cpu(), ModelOptions::default()).unwrap());
        let tokens = prompt(&model, 5, 75);
        let expected = logits(&model, &[&tokens]);
        let one_by_one: Vec<&[u32]> = tokens.chunks(1).collect();
        let (a, b) = tokens.split_at(31);
        let (b, c) = b.split_at(2);
        for (how, pieces) in [("one by one", &one_by_one[..]), ("in three pieces", &[a, b, c])] {
            if logits(&model, pieces) != expected {
                differ.push(format!("{family} {how}"));
            }
        }
    }
    assert!(differ.is_empty(), "other bits: {differ:?}");
}

#[test]
fn answers_of_every_family_have_the_same_bits_whatever_else_runs() {
    let mut differ = Vec::new();
    for (family, path) in families() {
        let model = Arc::new(Model::open(&path, &Device::cpu(), ModelOptions::default()).unwrap());
        let engine = Engine::start(&model, EngineOptions::default()).unwrap();
        let jobs: Vec<_> =
            [3, 40, 17, 70, 1, 33].iter().zip(0..).map(|(&n, i)| prompt(&model, i % 4, n)).collect();
        let alone = |job: &Vec<u32>| {
            engine.forget();
            answers(&engine, std::slice::from_ref(job)).remove(0)
        };
        let expected: Vec<_> = jobs.iter().map(alone).collect();
        engine.forget();
        // The second time they find their states.
        for round in 0..2 {
            if answers(&engine, &jobs) != expected {
                differ.push(format!("{family} in round {round}"));
            }
        }
    }
    assert!(differ.is_empty(), "other bits: {differ:?}");
}
