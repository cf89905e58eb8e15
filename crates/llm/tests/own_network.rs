//! A network that this crate does not know, written against its public face.

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod tiny;

use std::ops::ControlFlow;
use std::sync::Arc;
use tiny::{VOCAB, model};
use wootz::{Device, Tensor};
use wootz_blocks::BlockFormat;
use wootz_llm::config::Config;
use wootz_llm::models::{Input, Memory, Network, StateSpec};
use wootz_llm::sampling::Sampling;
use wootz_llm::weights::{Matrix, Weights};
use wootz_llm::{Model, ModelOptions, Request, Result, Session, SessionOptions};

/// A bigram model: the next token depends on the last one alone, by the embedding of a language model's file.
struct Bigram {
    embedding: Matrix,
}

impl Bigram {
    fn load(config: &Config, weights: &Weights) -> Result<Box<dyn Network>> {
        let embedding = weights.matrix("token_embd.weight", config.vocab, config.width)?;
        Ok(Box::new(Bigram { embedding }))
    }
}

impl Network for Bigram {
    fn state(&self, _: Memory) -> Vec<StateSpec> {
        Vec::new()
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        Ok((self.embedding.rows(input.tokens)?, Vec::new()))
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.embedding.apply(hidden)
    }
}

#[test]
fn a_network_of_ones_own_runs_like_any_other() {
    let file = model("llama", BlockFormat::F32, |_| true);
    let model = Model::with_network(file, &Device::cpu(), ModelOptions::default(), Bigram::load).unwrap();
    let mut session = Session::new(&Arc::new(model), SessionOptions::default()).unwrap();
    let logits = session.advance(&[3, 1, 4]).unwrap();
    assert_eq!(logits.len(), VOCAB);
    session.clear().unwrap();
    let alone = session.advance(&[4]).unwrap();
    assert_eq!(logits, alone, "only the last token counts");
    let request = Request { prompt: vec![4], limit: 5, sampling: Sampling::GREEDY, seed: 0, stops: vec![] };
    let generated = session.generate(&request, |_| ControlFlow::Continue(())).unwrap();
    let best = wootz_llm::sampling::argmax(&alone).unwrap();
    assert_eq!(generated.tokens[0], best);
}
