//! Serialisation of a sequence.

use super::{Session, SessionOptions, fresh};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::models::Memory;
use std::sync::Arc;
use wootz::Tensor;

/// A sequence's tokens and the bytes of its state.
pub(crate) struct SavedSession {
    pub tokens: Vec<u32>,
    /// The first position that sliding-window layers still have.
    pub kept_from: usize,
    /// Capacity of the cache in positions.
    pub capacity: usize,
    pub pieces: Vec<Vec<u8>>,
}

impl Session {
    /// Serialises the sequence.
    pub(crate) fn save(&self) -> Result<SavedSession> {
        let pieces = self.state.iter().map(Tensor::to_bytes).collect::<wootz::Result<_>>()?;
        Ok(SavedSession {
            tokens: self.tokens.clone(),
            kept_from: self.kept_from,
            capacity: self.memory.context,
            pieces,
        })
    }

    /// Restores a sequence saved with [`Session::save`] on the same model and device, with the same options.
    pub(crate) fn from_saved(
        model: &Arc<Model>,
        options: SessionOptions,
        saved: SavedSession,
    ) -> Result<Session> {
        let mut session = Session::new(model, options)?;
        let fits = saved.tokens.len() <= saved.capacity
            && saved.capacity <= session.context
            && saved.kept_from <= saved.tokens.len();
        let memory = Memory { context: saved.capacity, ..session.memory };
        let specs = model.network.state(memory);
        if !fits || specs.len() != saved.pieces.len() {
            return Err(Error::Model("the saved sequence does not match this model".into()));
        }
        session.check_vocabulary(&saved.tokens)?;
        let mut state = Vec::with_capacity(specs.len());
        for (spec, bytes) in specs.iter().zip(&saved.pieces) {
            let piece = Tensor::from_bytes_on(bytes, spec.dtype, spec.shape.clone(), model.device())?;
            let start = Tensor::from_slice_on(&[0i32], model.device())?;
            state.push(fresh(model, spec)?.write_at(&piece, &start, 0)?.donate()?);
        }
        session.tokens = saved.tokens;
        session.kept_from = saved.kept_from;
        session.memory = memory;
        session.state = state;
        Ok(session)
    }

    fn check_vocabulary(&self, tokens: &[u32]) -> Result<()> {
        let vocab = self.model.config().vocab;
        match tokens.iter().find(|&&id| id as usize >= vocab) {
            Some(id) => {
                Err(Error::Model(format!("token {id} is outside this model's vocabulary of {vocab}")))
            }
            None => Ok(()),
        }
    }
}
