//! A sequence of tokens on a model: what was read so far, and the state that remembers it.

use crate::error::{Error, Result};
use crate::estimate::CacheFormat;
use crate::model::Model;
use crate::models::{Memory, StateSpec};
use crate::passes::{Argument, CHUNK, Want};
use std::sync::Arc;
use wootz::Tensor;

/// Positions that the cache holds at first; it doubles when they are used up.
const FIRST_CAPACITY: usize = 256;

/// How a sequence is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// The most tokens; at most what the model was made for when 0.
    pub context: usize,
    /// How keys and values are kept.
    pub cache: CacheFormat,
}

/// A sequence of tokens and its state.
pub struct Session {
    model: Arc<Model>,
    tokens: Vec<u32>,
    state: Vec<Tensor>,
    memory: Memory,
    /// The first position that layers with a window still have.
    kept_from: usize,
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
        let memory = Memory { context: context.min(FIRST_CAPACITY), chunk: CHUNK, format: options.cache };
        let specs = model.network.state(memory);
        let state = specs.iter().map(|spec| fresh(model, spec)).collect::<Result<_>>()?;
        Ok(Session { model: model.clone(), tokens: Vec::new(), state, memory, kept_from: 0, context })
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
        self.kept_from = 0;
        if !self.model.network.can_rewind() {
            let specs = self.model.network.state(self.memory);
            self.state = specs.iter().map(|spec| fresh(&self.model, spec)).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Whether everything that the token after `count` ones looks back to is still there.
    fn can_cut_to(&self, count: usize) -> bool {
        let network = &self.model.network;
        let window = network.window().unwrap_or(0);
        network.can_rewind() && (self.kept_from == 0 || count + 1 >= self.kept_from + window)
    }

    /// Makes `tokens` the sequence, reusing what it shares with the present one, and returns the logits after its last
    /// token and how many tokens were reused.
    pub fn read(&mut self, tokens: &[u32]) -> Result<(Vec<f32>, usize)> {
        let shared = self.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        // The last token is always computed, for its logits.
        let shared = shared.min(tokens.len().saturating_sub(1));
        if shared == self.tokens.len() || self.can_cut_to(shared) {
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
        let (mut done, mut logits) = (0, None);
        for (real, padded) in self.model.passes.cut(tokens.len(), self.context - self.tokens.len()) {
            let is_last = done + real == tokens.len();
            let want = if is_last { Want::Last } else { Want::Nothing };
            logits = self.pass(want, &tokens[done..done + real], padded)?;
            done += real;
        }
        let logits = logits.ok_or_else(|| Error::Model("a pass gave no logits".into()))?;
        Ok(logits.to_vec::<f32>()?)
    }

    /// Appends tokens and hands each chunk's logits (`vocab` values per token) to `sink`.
    pub fn score(&mut self, tokens: &[u32], mut sink: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        self.check(tokens)?;
        let mut done = 0;
        for (real, padded) in self.model.passes.cut(tokens.len(), self.context - self.tokens.len()) {
            let logits = self.pass(Want::Every, &tokens[done..done + real], padded)?;
            done += real;
            let vocab = self.model.config().vocab;
            if let Some(logits) = logits {
                sink(&logits.to_vec::<f32>()?[..real * vocab])?;
            }
        }
        Ok(())
    }

    /// Appends one token to each of several sequences on one model, reading its weights once for all of them; the
    /// logits after each.
    pub fn advance_together(sessions: &mut [&mut Session], tokens: &[u32]) -> Result<Vec<Vec<f32>>> {
        let Some(first) = sessions.first() else { return Ok(Vec::new()) };
        let (model, format) = (first.model.clone(), first.memory.format);
        if sessions.len() != tokens.len() {
            let problem = format!("{} tokens were given for {} sequences", tokens.len(), sessions.len());
            return Err(Error::Model(problem));
        }
        if sessions.iter().any(|s| !Arc::ptr_eq(&s.model, &model) || s.memory.format != format) {
            let problem = "sequences go together only on one model and with one kind of cache";
            return Err(Error::Model(problem.into()));
        }
        for (session, token) in sessions.iter().zip(tokens) {
            session.check(&[*token])?;
        }
        // Caches of one size have one plan.
        let capacity = sessions.iter().map(|s| s.memory.context.max(s.capacity_for(1))).max().unwrap_or(0);
        for session in sessions.iter_mut() {
            session.make_room(1)?;
            session.grow(capacity.min(session.context))?;
        }
        let arguments = sessions.iter().map(|s| s.argument()).collect::<Result<Vec<_>>>()?;
        let (logits, states) = model.passes.run((Want::Last, format), tokens, 1, &arguments)?;
        for ((session, state), token) in sessions.iter_mut().zip(states).zip(tokens) {
            session.state = state;
            session.tokens.push(*token);
        }
        let logits = logits.ok_or_else(|| Error::Model("a pass gave no logits".into()))?.to_vec::<f32>()?;
        Ok(logits.chunks_exact(model.config().vocab).map(<[f32]>::to_vec).collect())
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

    /// One submit: the tokens, padded, go through the network, and the state moves on.
    fn pass(&mut self, want: Want, tokens: &[u32], padded: usize) -> Result<Option<Tensor>> {
        self.make_room(padded)?;
        let model = self.model.clone();
        let mut ids = tokens.to_vec();
        ids.resize(padded, 0);
        let argument = self.argument()?;
        let (logits, states) =
            model.passes.run((want, self.memory.format), &ids, tokens.len(), &[argument])?;
        self.state = states.into_iter().flatten().collect();
        self.tokens.extend(tokens);
        Ok(logits)
    }

    fn argument(&self) -> Result<Argument<'_>> {
        let index = |position: usize| Tensor::from_slice_on(&[position as i32], self.model.device());
        let (here, windowed) = (self.tokens.len(), self.model.network.window().is_some());
        let window_position = windowed.then(|| index(here - self.kept_from)).transpose()?;
        Ok(Argument { position: index(here)?, window_position, state: &self.state })
    }

    /// The capacity that `more` tokens need. Doubling keeps the number of plans small, and memory near what is used.
    fn capacity_for(&self, more: usize) -> usize {
        let needed = self.tokens.len() + more;
        if needed <= self.memory.context {
            return self.memory.context;
        }
        needed.next_power_of_two().min(self.context)
    }

    /// Makes the cache hold `more` tokens, and moves what windows see to its start where it is full.
    fn make_room(&mut self, more: usize) -> Result<()> {
        self.grow(self.capacity_for(more))?;
        let Some(window) = self.model.network.window() else { return Ok(()) };
        let (here, capacity) = (self.tokens.len(), self.memory.positions(Some(window)));
        if here + more - self.kept_from <= capacity {
            return Ok(());
        }
        let keep_from = here.saturating_sub(window);
        let (from, count) = (keep_from - self.kept_from, here - keep_from);
        let specs = self.model.network.state(self.memory);
        for (piece, spec) in self.state.iter_mut().zip(&specs).filter(|(_, spec)| spec.windowed) {
            *piece = moved(&self.model, spec, &piece.narrow(2, from, count)?)?;
        }
        self.kept_from = keep_from;
        Ok(())
    }

    fn grow(&mut self, context: usize) -> Result<()> {
        if context <= self.memory.context {
            return Ok(());
        }
        let memory = Memory { context, ..self.memory };
        let specs = self.model.network.state(memory);
        for (piece, spec) in self.state.iter_mut().zip(&specs) {
            if *piece.shape() != spec.shape {
                *piece = moved(&self.model, spec, piece)?;
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

/// New memory for a piece of state that starts with these positions.
fn moved(model: &Model, spec: &StateSpec, positions: &Tensor) -> Result<Tensor> {
    let start = Tensor::from_slice_on(&[0i32], model.device())?;
    Ok(fresh(model, spec)?.write_at(positions, &start, 2)?.donate()?)
}
