//! A sequence of the engine: a session, which on several ranks has one like it on each of the others.

use super::ranks::{Leader, Order};
use crate::error::Result;
use crate::model::Model;
use crate::sampling::Offer;
use crate::scores::{Scores, Want};
use crate::session::verify::Before;
use crate::session::{Session, SessionOptions};
use std::ops::Deref;
use std::sync::Arc;

/// A session whose passes run on all ranks.
pub struct Sequence {
    session: Session,
    led: Option<Led>,
}

/// The number under which other ranks know a sequence.
struct Led {
    leader: Arc<Leader>,
    number: u64,
}

impl Drop for Led {
    fn drop(&mut self) {
        self.leader.forget(self.number);
    }
}

impl From<Session> for Sequence {
    fn from(session: Session) -> Sequence {
        Sequence { session, led: None }
    }
}

impl Deref for Sequence {
    type Target = Session;
    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Sequence {
    /// An empty sequence.
    pub fn new(
        model: &Arc<Model>,
        options: SessionOptions,
        leader: Option<&Arc<Leader>>,
    ) -> Result<Sequence> {
        let led = leader.map(|leader| Led { leader: leader.clone(), number: leader.number() });
        let order = |led: &Led| Order::Open { new: led.number };
        run(led.as_ref(), order, || Session::new(model, options)).map(|session| Sequence { session, led })
    }

    /// The same as [`Session::fork`].
    pub fn fork(&self, count: usize) -> Result<Option<Sequence>> {
        if !self.session.can_fork(count) {
            return Ok(None);
        }
        let led =
            self.led.as_ref().map(|own| Led { leader: own.leader.clone(), number: own.leader.number() });
        let from = self.led.as_ref().map_or(0, |own| own.number);
        let order = |led: &Led| Order::Fork { new: led.number, from, count };
        let session = run(led.as_ref(), order, || self.session.fork(count))?;
        Ok(session.map(|session| Sequence { session, led }))
    }

    /// Appends tokens, of which nothing is wanted.
    pub fn feed(&mut self, tokens: &[u32]) -> Result<()> {
        let order = |led: &Led| Order::Feed { at: led.number, tokens: tokens.to_vec() };
        run(self.led.as_ref(), order, || self.session.feed(tokens))
    }

    /// Appends tokens, with what is wanted after the last of them.
    pub fn advance_for(&mut self, want: Want, tokens: &[u32]) -> Result<Scores> {
        let order = |led: &Led| Order::Advance { at: led.number, want, tokens: tokens.to_vec() };
        run(self.led.as_ref(), order, || self.session.advance_for(want, tokens))
    }

    /// The same as [`Session::verify`]; not over ranks.
    pub fn verify(&mut self, tokens: &[u32]) -> Result<(Vec<Offer>, Before)> {
        self.session.verify(tokens)
    }

    /// The same as [`Session::keep_verified`]; not over ranks.
    pub fn keep_verified(&mut self, before: &Before, count: usize) -> Result<()> {
        self.session.keep_verified(before, count)
    }

    /// Appends a token to each of several sequences.
    pub fn step_together(want: Want, sequences: &mut [&mut Sequence], tokens: &[u32]) -> Result<Scores> {
        let at: Vec<u64> = sequences.iter().filter_map(|s| s.led.as_ref().map(|led| led.number)).collect();
        let (mut sessions, mut led) = (Vec::with_capacity(sequences.len()), None);
        for sequence in sequences.iter_mut() {
            led = sequence.led.as_ref();
            sessions.push(&mut sequence.session);
        }
        let order = |_: &Led| Order::Step { want, at, tokens: tokens.to_vec() };
        run(led, order, || Scores::new(Session::step_together(want, &mut sessions, tokens)?))
    }
}

/// Runs a pass, which the other ranks run as well where there are some.
fn run<T>(
    led: Option<&Led>,
    order: impl FnOnce(&Led) -> Order,
    pass: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Some(led) = led else { return pass() };
    led.leader.tell(order(led))?;
    led.leader.all_or_none(pass())
}
