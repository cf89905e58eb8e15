//! Fault injection in the language-model runtime: whatever the system refuses while a model is loaded or a prompt cache
//! is used, the result is an error or the right answer, and the next call succeeds.

#![cfg(debug_assertions)]

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod tiny;

use std::path::Path;
use std::sync::Arc;
use tiny::VOCAB;
use wootz::Device;
use wootz_backend::inject::{Point, each_failure};
use wootz_blocks::BlockFormat;
use wootz_llm::engine::{Engine, EngineOptions, Event, Job, Listener, PromptCache};
use wootz_llm::{Error, Model, ModelOptions, Session, SessionOptions};

type Outcome = Result<(), String>;

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn golden(name: &str) -> String {
    format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn logits(model: &Arc<Model>) -> Result<Vec<f32>, Error> {
    Session::new(model, SessionOptions::default())?.advance(&[1, 2, 3])
}

#[test]
fn a_model_is_loaded_right_or_not_at_all() {
    let load = |path: &str| -> Result<Arc<Model>, String> {
        Ok(Arc::new(Model::open(path, &Device::cpu(), ModelOptions::default()).map_err(said)?))
    };
    let path = golden("tiny-llama.model");
    let expected = logits(&load(&path).expect("a golden model")).expect("logits");
    for (point, least) in [(Point::File, 2), (Point::Memory, 3), (Point::Compile, 1), (Point::Submit, 1)] {
        let failed = each_failure(point, || -> Outcome {
            // A new device, so that every attempt plans and allocates anew.
            let model = load(&path)?;
            model.device().trim();
            assert_eq!(logits(&model).map_err(said)?, expected, "{point:?}");
            Ok(())
        });
        assert!(failed >= least, "{point:?}: {failed} failures");
    }
}

struct Ear(std::sync::mpsc::Sender<Event>);

impl Listener for Ear {
    fn hear(&mut self, event: Event) {
        let _ = self.0.send(event);
    }
    fn is_listening(&self) -> bool {
        true
    }
}

/// What a new engine over a prompt cache answers, and how many tokens of the prompt it found there.
fn answer(model: &Arc<Model>, folder: &Path, prompt: &[u32]) -> Result<(Vec<u32>, usize), String> {
    let cache = PromptCache { folder: folder.to_owned(), bytes: 1 << 30 };
    let options = EngineOptions { prompt_cache: Some(cache), ..EngineOptions::default() };
    let engine = Engine::start(model, options).map_err(said)?;
    let (sender, events) = std::sync::mpsc::channel();
    engine
        .submit(Job::new(prompt.to_vec(), 4), Box::new(Ear(sender)))
        .map_err(|refused| format!("{refused:?}"))?;
    let mut tokens = Vec::new();
    let done = loop {
        match events.recv().map_err(said)? {
            Event::Token(chosen) => tokens.extend(chosen.token),
            Event::Done(done) => break done,
            Event::Failed(why) => return Err(why.to_string()),
        }
    };
    engine.drain();
    while !engine.is_finished() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    Ok((tokens, done.cached_tokens))
}

#[test]
fn a_prompt_cache_that_fails_costs_time_only() {
    let gguf = tiny::model("llama", BlockFormat::Q8_0, |_| true);
    let model = Arc::new(Model::from_gguf(gguf, &Device::cpu(), ModelOptions::default()).expect("a model"));
    let prompt: Vec<u32> = (0..100).map(|i| (i * i * 7 + i * 13 + 3) % VOCAB as u32).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let (expected, _) = answer(&model, folder.path(), &prompt).expect("an answer");
    let leftovers = |folder: &Path| {
        let inner = std::fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path());
        let files = inner.flat_map(|folder| std::fs::read_dir(folder).expect("a folder").flatten());
        files.filter(|file| file.path().extension().is_none_or(|ending| ending != "kv")).count()
    };
    for stored in [true, false] {
        let failed = each_failure(Point::File, || -> Outcome {
            if !stored {
                // Nothing to read, so that the prompt is written.
                std::fs::remove_dir_all(folder.path()).map_err(said)?;
            }
            let (tokens, _) = answer(&model, folder.path(), &prompt)?;
            assert_eq!(tokens, expected);
            assert_eq!(leftovers(folder.path()), 0, "a part of a file is left");
            Ok(())
        });
        assert!(failed <= 1, "{failed}: only a folder that cannot be read ends an engine's start");
    }
    let (tokens, cached) = answer(&model, folder.path(), &prompt).expect("an answer");
    assert_eq!((tokens, cached > 0), (expected, true), "the cache works after all of it");
}
