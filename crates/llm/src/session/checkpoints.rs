//! Checkpoints of earlier states. A full KV cache is truncated by dropping its end; windows and recurrent states
//! cannot be truncated, so a session keeps copies of them while it processes a prompt. They are taken between
//! complete chunks: resuming from one gives the same bits as a cold run.

use super::Session;
use super::room::copied;
use crate::error::Result;
use crate::models::Kept;
use crate::passes::CHUNK;
use wootz::Tensor;

/// Maximum number of checkpoints.
const MOST: usize = 8;
/// A checkpoint is taken every this many tokens of a long prompt, and at the end of its last complete chunk.
const SPACING: usize = 8 * CHUNK;

/// The state after some tokens, except for tensors with an entry per position.
pub(super) struct Checkpoint {
    pub tokens: usize,
    kept_from: usize,
    pieces: Vec<Option<Tensor>>,
}

impl Checkpoint {
    pub fn pieces(&self) -> impl Iterator<Item = &Tensor> {
        self.pieces.iter().flatten()
    }
}

impl Session {
    /// A copy of the current state.
    pub(super) fn checkpoint(&self) -> Result<Checkpoint> {
        let specs = self.model.network.state(self.memory);
        let mut pieces = Vec::with_capacity(specs.len());
        for (piece, spec) in self.state.iter().zip(&specs) {
            pieces.push(match spec.kept {
                Kept::Every => None,
                Kept::Window | Kept::Latest => Some(copied(&self.model, spec, piece, 0)?),
            });
        }
        Ok(Checkpoint { tokens: self.tokens.len(), kept_from: self.kept_from, pieces })
    }

    /// Restores a checkpoint of this sequence.
    pub(super) fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let specs = self.model.network.state(self.memory);
        for ((piece, spec), kept) in self.state.iter_mut().zip(&specs).zip(&checkpoint.pieces) {
            let Some(kept) = kept else { continue };
            // A window may have more room now.
            let axis = if spec.kept == Kept::Window { 2 } else { 0 };
            *piece = copied(&self.model, spec, kept, axis)?;
        }
        self.tokens.truncate(checkpoint.tokens);
        self.kept_from = checkpoint.kept_from;
        Ok(())
    }

    /// Returns to the last checkpoint; false if there is none.
    pub(super) fn return_to_checkpoint(&mut self) -> Result<bool> {
        let Some(last) = self.checkpoints.pop() else { return Ok(false) };
        self.restore(&last)?;
        self.checkpoints.push(last);
        Ok(true)
    }

    /// Called after each complete chunk of a prompt with `left` remaining tokens.
    pub(super) fn keep_checkpoint(&mut self, left: usize) -> Result<()> {
        let here = self.tokens.len();
        let last = (1..=CHUNK).contains(&left);
        let wanted = here.is_multiple_of(CHUNK) && (last || (left > 0 && here.is_multiple_of(SPACING)));
        let known = self.checkpoints.last().is_some_and(|last| last.tokens >= here);
        let specs = self.model.network.state(self.memory);
        if !wanted || known || specs.iter().all(|spec| spec.kept == Kept::Every) {
            return Ok(());
        }
        let taken = self.checkpoint()?;
        self.checkpoints.push(taken);
        if self.checkpoints.len() > MOST {
            // The one whose neighbours are nearest to each other is missed least.
            let gap = |i: &usize| self.checkpoints[i + 1].tokens - self.checkpoints[i - 1].tokens;
            let least = (1..self.checkpoints.len() - 1).min_by_key(gap).unwrap_or(0);
            self.checkpoints.remove(least);
        }
        Ok(())
    }
}
