//! A sequence of tokens on a model: what has been processed so far, and the resulting state.

mod checkpoints;
mod room;
mod saved;
pub(crate) mod verify;

use crate::error::{Error, Result};
use crate::estimate::CacheFormat;
use crate::model::Model;
use crate::models::{Kept, Memory};
use crate::passes::{Argument, CHUNK, Pass};
use crate::placement::{Notice, OnNotice};
use crate::scores::{Scores, Want, rows};
use checkpoints::Checkpoint;
use room::{copied, fresh};
pub(crate) use saved::SavedSession;
use std::sync::Arc;
use wootz::{Device, DeviceKind, OnProgress, Quote, Tensor};

/// Initial capacity of the cache in positions; it doubles when it is full.
const FIRST_CAPACITY: usize = 256;

/// Options of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// Context length; at most the model's, which is also the default for 0.
    pub context: usize,
    /// Format of the KV cache.
    pub cache: CacheFormat,
    /// Whether logits must not depend on the number of tokens or sequences processed together, bit for bit; see
    /// [`wootz::Compiled::batch_invariant`].
    pub batch_invariant: bool,
}

/// A sequence of tokens and its state.
pub struct Session {
    model: Arc<Model>,
    tokens: Vec<u32>,
    state: Vec<Tensor>,
    memory: Memory,
    /// The first position that sliding-window layers still have.
    kept_from: usize,
    context: usize,
    /// Checkpoints of state that cannot be truncated, oldest first.
    checkpoints: Vec<Checkpoint>,
    batch_invariant: bool,
    pub(crate) on_notice: Option<OnNotice>,
    pub(crate) notices: Vec<Notice>,
}

impl Session {
    /// An empty session.
    pub fn new(model: &Arc<Model>, options: SessionOptions) -> Result<Session> {
        let longest = model.config().context;
        let context = if options.context == 0 { longest } else { options.context };
        if context > longest {
            let problem = format!("context length {context} exceeds the {longest} that this model supports");
            return Err(Error::Model(problem));
        }
        let memory = Memory { context: context.min(FIRST_CAPACITY), chunk: CHUNK, format: options.cache };
        let specs = model.network.state(memory);
        let state = specs.iter().map(|spec| fresh(model, spec)).collect::<Result<_>>()?;
        Ok(Session {
            model: model.clone(),
            tokens: Vec::new(),
            state,
            memory,
            kept_from: 0,
            context,
            checkpoints: Vec::new(),
            batch_invariant: options.batch_invariant,
            on_notice: None,
            notices: Vec::new(),
        })
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The tokens so far.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Context length in tokens.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Its options.
    pub(crate) fn options(&self) -> SessionOptions {
        SessionOptions {
            context: self.context,
            cache: self.memory.format,
            batch_invariant: self.batch_invariant,
        }
    }

    /// Bytes of the state and of its checkpoints.
    pub fn state_bytes(&self) -> usize {
        let kept = self.checkpoints.iter().flat_map(Checkpoint::pieces);
        self.state.iter().chain(kept).map(|t| t.count() * t.dtype().size()).sum()
    }

    /// Whether the state has an entry per position only, so that the sequence can be truncated.
    pub(crate) fn can_rewind(&self) -> bool {
        self.model.network.can_rewind() && self.model.network.window().is_none()
    }

    /// Bytes of state that a sequence of `count` tokens has.
    pub fn bytes_for(model: &Model, options: SessionOptions, count: usize) -> usize {
        let context = if options.context == 0 { model.config().context } else { options.context };
        let capacity = count.next_power_of_two().max(FIRST_CAPACITY).min(context);
        let memory = Memory { context: capacity, chunk: CHUNK, format: options.cache };
        model.network.state(memory).iter().map(|spec| spec.shape.count() * spec.dtype.size()).sum()
    }

    /// Peak extra bytes for `more` tokens, while the state moves to larger memory; 0 if they fit.
    pub(crate) fn growth_for(&self, more: usize) -> usize {
        let capacity = self.capacity_for(more);
        if capacity <= self.memory.context {
            return 0;
        }
        let specs = self.model.network.state(Memory { context: capacity, ..self.memory });
        specs.iter().map(|spec| spec.shape.count() * spec.dtype.size()).sum()
    }

    /// Capacity of the cache in positions.
    pub(crate) fn capacity(&self) -> usize {
        self.memory.context
    }

    /// Whether [`Session::fork`] can copy the first `count` tokens.
    pub(crate) fn can_fork(&self, count: usize) -> bool {
        count > 0
            && (count == self.tokens.len()
                || (count < self.tokens.len() && count >= self.kept_from && self.can_cut_to(count)))
    }

    /// A sequence of the first `count` tokens, with a copy of their state; `None` if the state cannot be truncated
    /// there.
    pub fn fork(&self, count: usize) -> Result<Option<Session>> {
        if !self.can_fork(count) {
            return Ok(None);
        }
        let network = &self.model.network;
        let context = count.next_power_of_two().max(FIRST_CAPACITY).min(self.context);
        let memory = Memory { context, ..self.memory };
        let specs = network.state(memory);
        let mut state = Vec::with_capacity(specs.len());
        for (piece, spec) in self.state.iter().zip(&specs) {
            state.push(match spec.kept {
                // A recurrent state is copied whole.
                Kept::Latest => copied(&self.model, spec, piece, 0)?,
                Kept::Every => copied(&self.model, spec, &piece.narrow(2, 0, count)?, 2)?,
                Kept::Window => copied(&self.model, spec, &piece.narrow(2, 0, count - self.kept_from)?, 2)?,
            });
        }
        Ok(Some(Session {
            model: self.model.clone(),
            tokens: self.tokens[..count].to_vec(),
            state,
            memory,
            kept_from: self.kept_from,
            context: self.context,
            checkpoints: Vec::new(),
            batch_invariant: self.batch_invariant,
            on_notice: None,
            notices: Vec::new(),
        }))
    }

    /// Clears the sequence.
    pub fn clear(&mut self) -> Result<()> {
        self.tokens.clear();
        self.checkpoints.clear();
        self.kept_from = 0;
        if !self.model.network.can_rewind() {
            let specs = self.model.network.state(self.memory);
            self.state = specs.iter().map(|spec| fresh(&self.model, spec)).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Whether everything that the token after the first `count` ones attends to is still available.
    fn can_cut_to(&self, count: usize) -> bool {
        let network = &self.model.network;
        let window = network.window().unwrap_or(0);
        network.can_rewind() && (self.kept_from == 0 || count + 1 >= self.kept_from + window)
    }

    /// Makes `tokens` the sequence, reusing the common prefix with the current one, and returns the logits after its
    /// last token and the number of reused tokens.
    pub fn read(&mut self, tokens: &[u32]) -> Result<(Vec<f32>, usize)> {
        let (scores, reused) = self.read_for(Want::Last, tokens)?;
        Ok((only_row(&scores)?, reused))
    }

    /// Appends tokens; returns the logits after the last of them.
    pub fn advance(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        only_row(&self.advance_for(Want::Last, tokens)?)
    }

    /// Like [`Session::read`], with the requested scores after the last token.
    pub(crate) fn read_for(&mut self, want: Want, tokens: &[u32]) -> Result<(Scores, usize)> {
        let (scores, reused) = self.read_unless(want, tokens, &mut || false)?;
        Ok((scores.ok_or_else(|| Error::Model("tokens were not fully processed".into()))?, reused))
    }

    /// The same, unless it is cancelled between two passes: what was processed by then stays, and there are no
    /// scores.
    pub(crate) fn read_unless(
        &mut self,
        want: Want,
        tokens: &[u32],
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<(Option<Scores>, usize)> {
        let shared = self.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        // The last token is always computed, for its logits.
        let shared = shared.min(tokens.len().saturating_sub(1));
        self.checkpoints.retain(|checkpoint| checkpoint.tokens <= shared);
        if shared == self.tokens.len() || self.can_cut_to(shared) {
            self.tokens.truncate(shared);
        } else if !self.return_to_checkpoint()? {
            self.clear()?;
        }
        let reused = self.tokens.len();
        Ok((self.advance_unless(want, &tokens[reused..], cancelled)?, reused))
    }

    /// Like [`Session::advance`], with the requested scores after the last token.
    pub(crate) fn advance_for(&mut self, want: Want, tokens: &[u32]) -> Result<Scores> {
        let scores = self.advance_unless(want, tokens, &mut || false)?;
        scores.ok_or_else(|| Error::Model("tokens were not fully processed".into()))
    }

    fn advance_unless(
        &mut self,
        want: Want,
        tokens: &[u32],
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Scores>> {
        self.check(tokens)?;
        let (mut done, mut wanted) = (0, Vec::new());
        for (real, padded) in self.model.passes.cut(tokens.len(), self.context - self.tokens.len()) {
            if done > 0 && cancelled() {
                return Ok(None);
            }
            let is_last = done + real == tokens.len();
            let want = if is_last { want } else { Want::Nothing };
            wanted = self.pass(want, &tokens[done..done + real], padded)?;
            done += real;
            if real == CHUNK {
                self.keep_checkpoint(tokens.len() - done)?;
            }
        }
        Scores::new(wanted).map(Some)
    }

    /// Appends tokens without computing logits.
    pub(crate) fn feed(&mut self, tokens: &[u32]) -> Result<()> {
        self.check(tokens)?;
        let mut done = 0;
        for (real, padded) in self.model.passes.cut(tokens.len(), self.context - self.tokens.len()) {
            self.pass(Want::Nothing, &tokens[done..done + real], padded)?;
            done += real;
        }
        Ok(())
    }

    /// Whether a pass can start from a token that the host has not seen: on an asynchronous device, with a state that
    /// can drop the token again.
    pub(crate) fn can_run_ahead(&self) -> bool {
        let on_host = self.model.device().info().kind == DeviceKind::Cpu;
        !on_host && self.model.network.can_rewind() && self.tokens.len() < self.context
    }

    /// Starts the pass over a token that is still being computed. The sequence contains the token once
    /// [`Session::accept`] confirms it; until then nothing has changed.
    pub(crate) fn run_ahead(&mut self, want: Want, token: &Tensor) -> Result<Scores> {
        self.make_room(1)?;
        Scores::new(self.submit(want, token, 1)?)
    }

    /// Makes the token of the last [`Session::run_ahead`] part of the sequence.
    pub(crate) fn accept(&mut self, token: u32) {
        self.tokens.push(token);
    }

    /// Appends tokens and passes each chunk's logits (`vocab` values per token) to `sink`.
    pub fn score(&mut self, tokens: &[u32], mut sink: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        self.check(tokens)?;
        let mut done = 0;
        for (real, padded) in self.model.passes.cut(tokens.len(), self.context - self.tokens.len()) {
            let wanted = self.pass(Want::Every, &tokens[done..done + real], padded)?;
            done += real;
            let vocab = self.model.config().vocab;
            if let [logits] = &wanted[..] {
                sink(&logits.to_vec::<f32>()?[..real * vocab])?;
            }
        }
        Ok(())
    }

    /// Appends one token to each of several sequences on one model, reading its weights once for all of them; returns
    /// the logits after each.
    pub fn advance_together(sessions: &mut [&mut Session], tokens: &[u32]) -> Result<Vec<Vec<f32>>> {
        if sessions.is_empty() && tokens.is_empty() {
            return Ok(Vec::new());
        }
        match Session::advance_together_for(Want::Last, sessions, tokens)? {
            Scores::All(logits) => rows(&logits),
            Scores::Best(..) | Scores::Top(..) => unreachable!("logits were asked for"),
        }
    }

    /// The same, with the requested scores after each token.
    pub(crate) fn advance_together_for(
        want: Want,
        sessions: &mut [&mut Session],
        tokens: &[u32],
    ) -> Result<Scores> {
        let Some(first) = sessions.first() else {
            return Err(Error::Model("expected at least one sequence".into()));
        };
        let (model, format) = (&first.model, first.memory.format);
        if sessions.len() != tokens.len() {
            let problem = format!("got {} tokens for {} sequences", tokens.len(), sessions.len());
            return Err(Error::Model(problem));
        }
        let alike = |s: &Session| s.memory.format == format && s.batch_invariant == first.batch_invariant;
        if sessions.iter().any(|s| !Arc::ptr_eq(&s.model, model) || !alike(s)) {
            let problem = "sequences can only be batched if they share a model and options";
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
        Session::pass_together(want, sessions, tokens)
    }

    /// The same with caches as large as each sequence needs, with one plan per list of sizes.
    pub(crate) fn step_together(
        want: Want,
        sessions: &mut [&mut Session],
        tokens: &[u32],
    ) -> Result<Vec<Tensor>> {
        for (session, token) in sessions.iter_mut().zip(tokens) {
            session.check(&[*token])?;
            session.make_room(1)?;
        }
        Session::wanted_together(want, sessions, tokens)
    }

    fn pass_together(want: Want, sessions: &mut [&mut Session], tokens: &[u32]) -> Result<Scores> {
        Scores::new(Session::wanted_together(want, sessions, tokens)?)
    }

    /// One submission for all sequences, which have room and are on one model.
    fn wanted_together(want: Want, sessions: &mut [&mut Session], tokens: &[u32]) -> Result<Vec<Tensor>> {
        let Some(first) = sessions.first() else { return Ok(Vec::new()) };
        let (model, format) = (first.model.clone(), first.memory.format);
        let arguments = sessions.iter().map(|s| s.argument()).collect::<Result<Vec<_>>>()?;
        let ids = ids(tokens, &model)?;
        let batch_invariant = first.batch_invariant;
        let pass = Pass { want, format, batch_invariant, tokens: &ids, real: 1, sequences: &arguments };
        let (wanted, states) = model.passes.run(&pass)?;
        for ((session, state), token) in sessions.iter_mut().zip(states).zip(tokens) {
            session.state = state;
            session.tokens.push(*token);
        }
        Ok(wanted)
    }

    fn check(&self, tokens: &[u32]) -> Result<()> {
        let vocab = self.model.config().vocab;
        if tokens.is_empty() {
            return Err(Error::Model("expected at least one token".into()));
        }
        if let Some(id) = tokens.iter().find(|&&id| id as usize >= vocab) {
            return Err(Error::Model(format!("token {id} is outside this model's vocabulary of {vocab}")));
        }
        if self.tokens.len() + tokens.len() > self.context {
            let problem = format!(
                "{} tokens after {} exceed the context length of {}",
                tokens.len(),
                self.tokens.len(),
                self.context
            );
            return Err(Error::Model(problem));
        }
        Ok(())
    }

    /// One submission: the padded tokens go through the network, and the state advances.
    fn pass(&mut self, want: Want, tokens: &[u32], padded: usize) -> Result<Vec<Tensor>> {
        self.make_room(padded)?;
        let mut padding = tokens.to_vec();
        padding.resize(padded, 0);
        let wanted = self.submit(want, &ids(&padding, &self.model)?, tokens.len())?;
        self.tokens.extend(tokens);
        Ok(wanted)
    }

    fn submit(&mut self, want: Want, tokens: &Tensor, real: usize) -> Result<Vec<Tensor>> {
        let (format, batch_invariant) = (self.memory.format, self.batch_invariant);
        let sequences = &[self.argument()?];
        let pass = Pass { want, format, batch_invariant, tokens, real, sequences };
        let (wanted, states) = self.model.passes.run(&pass)?;
        self.state = states.into_iter().flatten().collect();
        Ok(wanted)
    }

    /// The cost of a pass over `count` tokens on a device.
    pub(crate) fn quote(
        &self,
        count: usize,
        device: &Device,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<std::result::Result<Quote, String>> {
        let tokens = ids(&vec![0; count], &self.model)?;
        let sequences = [self.argument()?];
        let (format, batch_invariant) = (self.memory.format, self.batch_invariant);
        let (want, tokens) = (Want::Best, &tokens);
        let pass = Pass { want, format, batch_invariant, tokens, real: count, sequences: &sequences };
        self.model.passes.quote(&pass, device, on_progress)
    }

    fn argument(&self) -> Result<Argument<'_>> {
        let index = |position: usize| Tensor::from_slice_on(&[position as i32], self.model.device());
        let (here, windowed) = (self.tokens.len(), self.model.network.window().is_some());
        let window_position = windowed.then(|| index(here - self.kept_from)).transpose()?;
        Ok(Argument { position: index(here)?, window_position, state: &self.state })
    }
}

/// Tokens in the form that a pass takes.
fn ids(tokens: &[u32], model: &Model) -> Result<Tensor> {
    let ids: Vec<i32> = tokens.iter().map(|&id| id as i32).collect();
    Ok(Tensor::from_slice_on(&ids, model.device())?)
}

fn only_row(scores: &Scores) -> Result<Vec<f32>> {
    match scores {
        Scores::All(logits) => Ok(logits.to_vec::<f32>()?),
        Scores::Best(..) | Scores::Top(..) => unreachable!("logits were asked for"),
    }
}
