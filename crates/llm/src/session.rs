//! A sequence of tokens on a model: what was read so far, and the state that remembers it.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::models::{Memory, StateSpec};
use std::sync::Arc;
use wootz::{Compiled, DType, Tensor};

/// Tokens that are computed together at most. Larger chunks gain little once weights are read from cache.
const CHUNK: usize = 128;

/// Positions that the cache holds at first; it doubles when they are used up.
const FIRST_CAPACITY: usize = 256;

/// How a sequence is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// The most tokens; at most what the model was made for when 0.
    pub context: usize,
    /// The dtype of cached keys and values: f32, f16 or bf16.
    pub cache: DType,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions { context: 0, cache: DType::F16 }
    }
}

/// A sequence of tokens and its state.
pub struct Session {
    model: Arc<Model>,
    tokens: Vec<u32>,
    state: Vec<Tensor>,
    memory: Memory,
    context: usize,
}

impl Session {
    /// An empty sequence.
    pub fn new(model: &Arc<Model>, options: SessionOptions) -> Result<Session> {
        let longest = model.config().context;
        let context = if options.context == 0 { longest } else { options.context };
        if context > longest {
            let problem = format!("a context of {context} was asked for; this model was made for {longest}");
            return Err(Error::Model(problem));
        }
        if !options.cache.is_float() || options.cache == DType::F64 {
            return Err(Error::Model(format!("a cache of {} is none of f32, f16, bf16", options.cache)));
        }
        let memory = Memory { context: context.min(FIRST_CAPACITY), dtype: options.cache };
        let specs = model.network.state(memory);
        let state = specs.iter().map(|spec| fresh(model, spec)).collect::<Result<_>>()?;
        Ok(Session { model: model.clone(), tokens: Vec::new(), state, memory, context })
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The tokens so far.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The most tokens that the sequence may have.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Bytes of the state.
    pub fn state_bytes(&self) -> usize {
        self.state.iter().map(|t| t.count() * t.dtype().size()).sum()
    }

    /// Forgets everything.
    pub fn clear(&mut self) -> Result<()> {
        self.tokens.clear();
        if !self.model.network.can_rewind() {
            let specs = self.model.network.state(self.memory);
            self.state = specs.iter().map(|spec| fresh(&self.model, spec)).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Makes `tokens` the sequence, reusing what it shares with the present one, and returns the logits after its last
    /// token and how many tokens were reused.
    pub fn read(&mut self, tokens: &[u32]) -> Result<(Vec<f32>, usize)> {
        let shared = self.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        // The last token is always computed, for its logits.
        let shared = shared.min(tokens.len().saturating_sub(1));
        if shared == self.tokens.len() || self.model.network.can_rewind() {
            self.tokens.truncate(shared);
        } else {
            self.clear()?;
        }
        let reused = self.tokens.len();
        Ok((self.advance(&tokens[reused..])?, reused))
    }

    /// Appends tokens; the logits after the last of them.
    pub fn advance(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.check(tokens)?;
        let last = (tokens.len() - 1) / CHUNK * CHUNK;
        for chunk in tokens[..last].chunks(CHUNK) {
            self.pass(|model| &model.passes.absorb, chunk)?;
        }
        let logits = self.pass(|model| &model.passes.next, &tokens[last..])?;
        Ok(logits[0].to_vec::<f32>()?)
    }

    /// Appends tokens and hands each chunk's logits (`vocab` values per token) to `sink`.
    pub fn score(&mut self, tokens: &[u32], mut sink: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        self.check(tokens)?;
        for chunk in tokens.chunks(CHUNK) {
            let logits = self.pass(|model| &model.passes.every, chunk)?;
            sink(&logits[0].to_vec::<f32>()?)?;
        }
        Ok(())
    }

    fn check(&self, tokens: &[u32]) -> Result<()> {
        let vocab = self.model.config().vocab;
        if tokens.is_empty() {
            return Err(Error::Model("no tokens were given".into()));
        }
        if let Some(id) = tokens.iter().find(|&&id| id as usize >= vocab) {
            return Err(Error::Model(format!("token {id} is not one of the {vocab} of this model")));
        }
        if self.tokens.len() + tokens.len() > self.context {
            let problem = format!(
                "{} tokens after {} are more than the context of {}",
                tokens.len(),
                self.tokens.len(),
                self.context
            );
            return Err(Error::Model(problem));
        }
        Ok(())
    }

    /// One submit: the tokens go through the network, the state moves on, and what came beside the state is returned.
    fn pass(&mut self, pick: fn(&Model) -> &Compiled, tokens: &[u32]) -> Result<Vec<Tensor>> {
        self.make_room(tokens.len())?;
        let device = self.model.device();
        let ids: Vec<i32> = tokens.iter().map(|&id| id as i32).collect();
        let ids = Tensor::from_slice_on(&ids, device)?;
        let position = Tensor::from_slice_on(&[self.tokens.len() as i32], device)?;
        let arguments: Vec<&Tensor> = [&ids, &position].into_iter().chain(&self.state).collect();
        let mut results = pick(&self.model).call(&arguments)?;
        let state = results.split_off(results.len() - self.state.len());
        self.state = state.iter().map(Tensor::donate).collect::<wootz::Result<_>>()?;
        self.tokens.extend(tokens);
        Ok(results)
    }

    /// Grows the cache to hold `more` tokens. Doubling keeps the number of plans small, and memory near what is used.
    fn make_room(&mut self, more: usize) -> Result<()> {
        let needed = self.tokens.len() + more;
        if needed <= self.memory.context {
            return Ok(());
        }
        let memory = Memory { context: needed.next_power_of_two().min(self.context), ..self.memory };
        let specs = self.model.network.state(memory);
        let start = Tensor::from_slice_on(&[0i32], self.model.device())?;
        for (piece, spec) in self.state.iter_mut().zip(&specs) {
            if *piece.shape() != spec.shape {
                let grown = fresh(&self.model, spec)?.write_at(piece, &start, 2)?;
                *piece = grown.donate()?;
            }
        }
        self.memory = memory;
        Ok(())
    }
}

/// Zeros, which a pass may update in place.
fn fresh(model: &Model, spec: &StateSpec) -> Result<Tensor> {
    let zeros = Tensor::full_on(spec.shape.clone(), 0, spec.dtype, model.device())?;
    Ok(zeros.copied()?.donate()?)
}
