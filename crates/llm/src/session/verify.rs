//! Verification of several draft tokens in one pass.

use super::Session;
use super::checkpoints::Checkpoint;
use crate::error::{Error, Result};
use crate::sampling::Offer;
use crate::scores::{Scores, Want};

/// The sequence before draft tokens were processed.
pub(crate) struct Before {
    tokens: usize,
    /// For states that cannot be truncated.
    state: Option<Checkpoint>,
}

impl Session {
    /// Processes a token and draft tokens after it in one pass: returns the most likely token after each, and a way
    /// to roll back.
    pub(crate) fn verify(&mut self, tokens: &[u32]) -> Result<(Vec<Offer>, Before)> {
        self.check(tokens)?;
        let pieces = self.model.passes.cut(tokens.len(), self.context - self.tokens.len());
        let [(real, padded)] = pieces[..] else {
            return Err(Error::Model(format!("{} draft tokens do not fit in one pass", tokens.len())));
        };
        let state = if self.model.network.can_rewind() { None } else { Some(self.checkpoint()?) };
        let before = Before { tokens: self.tokens.len(), state };
        let scores = Scores::new(self.pass(Want::BestOfEach, &tokens[..real], padded)?)?;
        let mut offers = scores.read()?;
        offers.truncate(tokens.len());
        Ok((offers, before))
    }

    /// Keeps the first `count` of the processed tokens.
    pub(crate) fn keep_verified(&mut self, before: &Before, count: usize) -> Result<()> {
        let Some(state) = before.state.as_ref().filter(|_| self.tokens.len() > before.tokens + count) else {
            self.tokens.truncate(before.tokens + count);
            return Ok(());
        };
        let again = self.tokens[before.tokens..before.tokens + count].to_vec();
        self.restore(state)?;
        self.feed(&again)
    }
}
