//! A sequence in progress: its state on the device, and the compiled steps that extend it.

use std::sync::Arc;

use wootz::{Compiled, DType, Device, Tensor, compile};

use crate::error::{Error, Result};
use crate::models::Model;

/// Which positions' logits are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Of the last token only: generation.
    Last,
    /// Of every token: scoring.
    All,
}

/// One sequence of tokens.
pub struct Session {
    model: Arc<dyn Model>,
    device: Device,
    last: Compiled,
    all: Compiled,
    state: Vec<Tensor>,
    tokens: Vec<u32>,
    context: usize,
    batch: usize,
}

impl Session {
    /// An empty sequence with room for `context` tokens; attention caches are kept in `cache` (F32 or F16).
    pub fn new(model: Arc<dyn Model>, device: &Device, context: usize, cache: DType) -> Result<Session> {
        let trained = model.config().context;
        if context == 0 || context > trained {
            let problem = format!("a context of {context} tokens; the model has 1 to {trained}");
            return Err(Error::Model(problem));
        }
        if !matches!(cache, DType::F32 | DType::F16) {
            return Err(Error::Model(format!("a cache of {cache}; it can be f32 or f16")));
        }
        let state = model.fresh_state(context, cache)?;
        let (last, all) = (step(&model, device, Want::Last), step(&model, device, Want::All));
        let tokens = Vec::new();
        Ok(Session { model, device: device.clone(), last, all, state, tokens, context, batch: 128 })
    }

    /// The tokens so far.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The model.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// Appends tokens, and returns the logits that are wanted, row after row.
    pub fn extend(&mut self, tokens: &[u32], want: Want) -> Result<Vec<f32>> {
        let (have, vocab) = (self.tokens.len(), self.model.config().vocab);
        if tokens.is_empty() {
            return Err(Error::Model("no tokens to read".into()));
        }
        if tokens.len() > self.context - have {
            let n = tokens.len();
            return Err(Error::Model(format!(
                "{n} tokens after {have} do not fit a context of {}",
                self.context
            )));
        }
        if let Some(bad) = tokens.iter().find(|t| **t as usize >= vocab) {
            return Err(Error::Model(format!("token {bad} is not one of the {vocab} of the model")));
        }
        let mut logits = Vec::new();
        for chunk in tokens.chunks(self.batch) {
            let out = self.run(chunk, want)?;
            match want {
                Want::Last => logits = out,
                Want::All => logits.extend(out),
            }
        }
        Ok(logits)
    }

    fn run(&mut self, tokens: &[u32], want: Want) -> Result<Vec<f32>> {
        let ids: Vec<i32> = tokens.iter().map(|&t| t as i32).collect();
        let ids = Tensor::from_slice_on(&ids, &self.device)?;
        let position = Tensor::from_slice_on(&[self.tokens.len() as i32], &self.device)?;
        // The old state is given away: its buffers are updated in place and come back as the new one.
        let state = self.state.iter().map(Tensor::donate).collect::<wootz::Result<Vec<_>>>()?;
        let arguments: Vec<&Tensor> = [&ids, &position].into_iter().chain(&state).collect();
        let step = if want == Want::All { &self.all } else { &self.last };
        let mut results = step.call(&arguments)?;
        self.state = results.split_off(1);
        self.tokens.extend_from_slice(tokens);
        Ok(results[0].to_vec::<f32>()?)
    }

    /// Forgets everything from `len` tokens on. Attention models only need to count; others must start anew.
    pub fn truncate(&mut self, len: usize) -> Result<()> {
        if matches!(self.model.config().mixer, crate::config::Mixer::Recurrent(_))
            && len > 0
            && len < self.tokens.len()
        {
            return Err(Error::Model("a recurrent state cannot be taken back; start a new session".into()));
        }
        self.tokens.truncate(len);
        Ok(())
    }
}

fn step(model: &Arc<dyn Model>, device: &Device, want: Want) -> Compiled {
    let model = model.clone();
    compile(device, move |arguments| {
        let (hidden, state) = model.hidden(&arguments[0], &arguments[1], &arguments[2..])?;
        let t = hidden.shape()[0];
        let hidden = if want == Want::Last { hidden.narrow(0, t - 1, 1)? } else { hidden };
        Ok([model.logits(&hidden)?].into_iter().chain(state).collect())
    })
}
