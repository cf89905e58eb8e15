//! Speculative decoding in the engine: while a greedy answer is the only one that is being written, tokens are drafted from the text
//! before them, and several are verified in one pass. Only where a pass over several tokens has the bits of passes over single ones, so
//! that answers stay what they are.

use super::scheduler::{Room, Scheduler};
use super::slot::Slot;
use crate::error::{Error, Result};
use crate::sampling::Offer;
use crate::speculate::Speculation;
use std::time::Instant;

/// Drafting for an answer, if it can be used: the next token must be the most likely one, whatever else is asked for.
pub fn speculation(slot: &Slot) -> Option<Speculation> {
    let job = &slot.job;
    let is_plain = job.constraint.is_none() && job.logprobs.is_none() && job.adjust.is_none();
    (is_plain && Speculation::suits(&job.sampling)).then(Speculation::lookup)
}

impl Scheduler {
    /// Decodes one or more tokens of a slot that is alone. Returns whether it has done so.
    pub(super) fn decode_alone(&mut self, at: usize) -> Result<bool> {
        let context = self.context();
        let slot = &mut self.slots[at];
        let (fed, count) = (slot.fed(), slot.tokens.len());
        let Some(speculation) = slot.speculation.as_mut().filter(|_| fed + 1 == count) else {
            return Ok(false);
        };
        let begin = Instant::now();
        let left = (slot.job.limit + slot.prompt).saturating_sub(count);
        let room = context.saturating_sub(count).min(left.saturating_add(1));
        let guesses = speculation.guess(&slot.tokens, room)?;
        let growth =
            slot.session.as_ref().map_or(0, |s| s.growth_for((1 + guesses.len()).next_multiple_of(16)));
        if !guesses.is_empty() && growth > 0 && !matches!(self.make_room(at, growth), Room::Made) {
            return Ok(false);
        }
        let Some(offers) = self.pass(at, &guesses, begin) else { return Ok(true) };
        let number = self.slots[at].number;
        for offer in offers {
            // The answer may have ended.
            let Some(at) = self.slots.iter().position(|slot| slot.number == number) else { break };
            self.choose(at, offer);
        }
        Ok(true)
    }

    /// What comes after the last token, and after each draft token that is right; none if the pass failed, which ends the answer.
    fn pass(&mut self, at: usize, guesses: &[u32], begin: Instant) -> Option<Vec<Offer>> {
        let model = self.model.clone();
        match self.slots[at].ahead(&model, guesses, begin) {
            Ok(offers) => {
                self.stats.decoded(offers.len(), begin.elapsed());
                self.stats.drafted(guesses.len(), offers.len() - 1);
                Some(offers)
            }
            Err(error) => {
                self.fail(at, &error.to_string());
                None
            }
        }
    }
}

impl Slot {
    fn ahead(&mut self, model: &crate::Model, guesses: &[u32], begin: Instant) -> Result<Vec<Offer>> {
        let (want, token) = (self.want(model), self.tokens[self.fed()]);
        let (Some(session), Some(speculation)) = (&mut self.session, &mut self.speculation) else {
            return Err(Error::Model("a sequence without state".into()));
        };
        if guesses.is_empty() {
            let offers = session.advance_for(want, &[token])?.read()?;
            speculation.note_single(begin.elapsed());
            return Ok(offers);
        }
        let read: Vec<u32> = [&[token], guesses].concat();
        let (mut offers, before) = session.verify(&read)?;
        let right = guesses.iter().zip(&offers).take_while(|(guess, offer)| **guess == offer.best()).count();
        session.keep_verified(&before, 1 + right)?;
        speculation.note_guessed(guesses.len(), right, begin.elapsed());
        offers.truncate(1 + right);
        Ok(offers)
    }
}
