//! Speculative decoding (Leviathan et al., 2022): a cheap method drafts the next tokens, the model processes all of
//! them in one pass, and keeps those that it would have chosen itself. A pass over a few tokens costs little more
//! than one over a single token, since both read all weights once.
//!
//! Drafts come from the text itself (what followed the same few tokens earlier; Saxena, 2023) or from a smaller model
//! with the same vocabulary. Drafting is timed: while it is slower than plain decoding, it pauses, longer each time.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::sampling::Sampling;
use crate::scores::{Scores, Want};
use crate::session::{Session, SessionOptions};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Number of preceding tokens that must match for what followed them to be a draft.
const KEY: usize = 3;
/// Numbers of tokens per verification pass: few sizes, so that there are few plans.
const SIZES: [usize; 4] = [2, 4, 8, 16];
/// Number of passes of either kind that a comparison needs.
const ENOUGH: usize = 4;
/// Number of plain tokens after drafting lost a comparison.
const FIRST_REST: usize = 32;
const LONGEST_REST: usize = 1024;

/// The drafting method, and whether it pays off.
pub struct Speculation {
    source: Source,
    /// The index in [`SIZES`] to try next.
    size: usize,
    /// Which sizes were tried: the first pass of a size includes planning, so its time is ignored.
    planned: [bool; SIZES.len()],
    single: Pace,
    guessed: Pace,
    rest: usize,
    next_rest: usize,
    /// Number of verified and of accepted draft tokens.
    drafted: usize,
    accepted: usize,
}

enum Source {
    Lookup(Lookup),
    Draft(Box<Session>),
}

/// Tokens and time of some passes.
#[derive(Clone, Copy, Default)]
struct Pace {
    passes: usize,
    tokens: f64,
    seconds: f64,
}

impl Pace {
    fn add(&mut self, tokens: usize, time: Duration) {
        // Old passes count less: texts and machines change.
        const FADE: f64 = 0.9;
        self.passes += 1;
        self.tokens = self.tokens * FADE + tokens as f64;
        self.seconds = self.seconds * FADE + time.as_secs_f64();
    }

    fn per_second(&self) -> f64 {
        self.tokens / self.seconds.max(1e-9)
    }
}

/// The last position of each n-gram.
#[derive(Default)]
struct Lookup {
    last: HashMap<[u32; KEY], usize>,
    /// The tokens in the table.
    known: Vec<u32>,
}

impl Lookup {
    /// What followed the last tokens at their previous occurrence.
    fn guess(&mut self, sequence: &[u32], most: usize) -> Vec<u32> {
        let same = self.known.iter().zip(sequence).take_while(|(a, b)| a == b).count();
        if same < self.known.len() {
            *self = Lookup::default();
        }
        let Some(ends) = sequence.len().checked_sub(KEY) else { return Vec::new() };
        // The last tokens themselves are looked up before they are added.
        for start in self.known.len().saturating_sub(KEY - 1)..ends {
            self.last.insert(key(sequence, start), start + KEY);
        }
        self.known = sequence[..sequence.len() - 1].to_vec();
        match self.last.get(&key(sequence, ends)) {
            Some(&next) => sequence[next..].iter().take(most).copied().collect(),
            None => Vec::new(),
        }
    }
}

fn key(sequence: &[u32], start: usize) -> [u32; KEY] {
    std::array::from_fn(|i| sequence[start + i])
}

impl Speculation {
    /// Drafts from earlier text.
    pub fn lookup() -> Speculation {
        Speculation::new(Source::Lookup(Lookup::default()))
    }

    /// Drafts from a smaller model, which must have the same vocabulary as the model.
    pub fn draft(draft: &Arc<Model>, model: &Model, options: SessionOptions) -> Result<Speculation> {
        let (small, large) = (draft.tokenizer().vocab(), model.tokenizer().vocab());
        let same =
            small.len() == large.len() && (0..large.len() as u32).all(|id| small.text(id) == large.text(id));
        if !same {
            return Err(Error::Model(format!(
                "the draft model must have the same vocabulary as the model: {} tokens differ from {}",
                small.len(),
                large.len()
            )));
        }
        let context = options.context.min(draft.config().context);
        let session = Session::new(draft, SessionOptions { context, ..options })?;
        Ok(Speculation::new(Source::Draft(Box::new(session))))
    }

    fn new(source: Source) -> Speculation {
        Speculation {
            source,
            size: 1,
            planned: [false; SIZES.len()],
            single: Pace::default(),
            guessed: Pace::default(),
            rest: 0,
            next_rest: FIRST_REST,
            drafted: 0,
            accepted: 0,
        }
    }

    /// Number of verified draft tokens so far, and how many of them were accepted.
    pub fn counts(&self) -> (usize, usize) {
        (self.drafted, self.accepted)
    }

    /// Whether it can be used: sampling must be greedy.
    pub(crate) fn suits(sampling: &Sampling) -> bool {
        sampling.candidates_needed() == Some(1)
    }

    /// Draft tokens for a sequence, for which the model has room for `room` more tokens; none if they would not pay
    /// off.
    pub(crate) fn guess(&mut self, sequence: &[u32], room: usize) -> Result<Vec<u32>> {
        if self.rest > 0 {
            self.rest -= 1;
            return Ok(Vec::new());
        }
        // A comparison needs passes of both kinds.
        if self.single.passes < ENOUGH {
            return Ok(Vec::new());
        }
        let most = SIZES[self.size] - 1;
        let mut guesses = match &mut self.source {
            Source::Lookup(lookup) => lookup.guess(sequence, most),
            Source::Draft(session) => drafted(session, sequence, most)?,
        };
        // With the token before them they fill one of the sizes.
        let fits = |size: &&usize| **size <= guesses.len() + 1 && **size < room;
        let size = SIZES.iter().rev().find(fits).copied().unwrap_or(1);
        guesses.truncate(size - 1);
        Ok(guesses)
    }

    /// Records the time of a pass over a single token.
    pub(crate) fn note_single(&mut self, time: Duration) {
        self.single.add(1, time);
    }

    /// Records the result of a pass with draft tokens, including drafting time.
    pub(crate) fn note_guessed(&mut self, read: usize, stayed: usize, time: Duration) {
        self.drafted += read;
        self.accepted += stayed;
        self.size = match stayed == read {
            true => (self.size + 1).min(SIZES.len() - 1),
            false if stayed * 2 < read => self.size.saturating_sub(1),
            false => self.size,
        };
        if let Some(tried) = SIZES.iter().position(|&size| size == read + 1)
            && !std::mem::replace(&mut self.planned[tried], true)
        {
            return;
        }
        self.guessed.add(stayed + 1, time);
        if self.guessed.passes < ENOUGH {
            return;
        }
        match self.guessed.per_second() < self.single.per_second() {
            true => {
                self.rest = self.next_rest;
                self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
                self.guessed = Pace { passes: ENOUGH - 2, ..Pace::default() };
                self.size = 0;
            }
            false => self.next_rest = FIRST_REST,
        }
    }
}

/// The tokens that the smaller model would choose.
fn drafted(session: &mut Session, sequence: &[u32], most: usize) -> Result<Vec<u32>> {
    if sequence.len() + most >= session.context() {
        return Ok(Vec::new());
    }
    let (mut scores, _) = session.read_for(Want::Best, sequence)?;
    let mut guesses = Vec::with_capacity(most);
    while guesses.len() < most {
        let token = best(&scores)?;
        guesses.push(token);
        if guesses.len() < most {
            scores = session.advance_for(Want::Best, &[token])?;
        }
    }
    Ok(guesses)
}

fn best(scores: &Scores) -> Result<u32> {
    let offer = scores.read()?.pop().ok_or_else(|| Error::Model("a pass returned no logits".into()))?;
    Ok(offer.best())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stood_before_is_guessed_again() {
        let mut lookup = Lookup::default();
        assert!(lookup.guess(&[1, 2, 3, 4, 5, 6], 4).is_empty());
        assert_eq!(lookup.guess(&[1, 2, 3, 4, 5, 6, 2, 3, 4], 2), [5, 6]);
        assert_eq!(lookup.guess(&[1, 2, 3, 4, 5, 6, 2, 3, 4, 9, 2, 3, 4], 4), [9, 2, 3, 4], "the last time");
        assert_eq!(lookup.guess(&[7, 7, 7, 7], 8), [7], "a sequence that is another one");
        assert!(lookup.guess(&[7], 8).is_empty(), "too short");
    }

    #[test]
    fn guesses_that_do_not_pay_stop() {
        let mut speculation = Speculation::lookup();
        let sequence: Vec<u32> = (0..40).map(|i| i % 5).collect();
        let tick = Duration::from_millis(10);
        assert!(speculation.guess(&sequence, 100).unwrap().is_empty(), "nothing to compare with yet");
        (0..ENOUGH).for_each(|_| speculation.note_single(tick));
        // The first one is planned.
        for _ in 0..ENOUGH + 1 {
            assert!(!speculation.guess(&sequence, 100).unwrap().is_empty());
            speculation.note_guessed(3, 0, 3 * tick);
        }
        for _ in 0..FIRST_REST {
            assert!(speculation.guess(&sequence, 100).unwrap().is_empty());
        }
        assert_eq!(speculation.guess(&sequence, 100).unwrap().len(), 1, "a small one at first");
        speculation.note_guessed(1, 1, tick);
        assert_eq!(speculation.guess(&sequence, 100).unwrap().len(), 3, "then more");
        assert_eq!(speculation.guess(&sequence, 3).unwrap().len(), 1, "as many as there is room for");
    }
}
