//! An engine over ranks: rank 0 has the queue, the budget and the listeners, and tells the others what to run.
//!
//! Before each pass rank 0 shares an [`Order`]; every rank has sequences under the same numbers, and all run the pass together.
//! Tokens are chosen on rank 0 alone. Sequences that it has dropped are named at the head of the next order.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::scores::{Scores, Want};
use crate::session::{Session, SessionOptions};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wootz::distributed::Group;
use wootz::{Device, Tensor};

/// What all ranks do next.
#[derive(Serialize, Deserialize)]
pub enum Order {
    /// Nothing: rank 0 looks whether the others are there.
    Wait,
    /// An empty sequence.
    Open { new: u64 },
    /// A copy of the first tokens of a sequence.
    Fork { new: u64, from: u64, count: usize },
    /// Tokens of a prompt, of which nothing is wanted yet.
    Feed { at: u64, tokens: Vec<u32> },
    /// The last tokens of a prompt.
    Advance { at: u64, want: Want, tokens: Vec<u32> },
    /// A token for each of several sequences.
    Step { want: Want, at: Vec<u64>, tokens: Vec<u32> },
    /// The engine has ended.
    End,
}

#[derive(Serialize, Deserialize)]
struct Message {
    dropped: Vec<u64>,
    order: Order,
}

/// Rank 0's side.
pub struct Leader {
    group: Group,
    next: AtomicU64,
    dropped: Mutex<Vec<u64>>,
}

impl Leader {
    fn new(group: &Group) -> Leader {
        Leader { group: group.clone(), next: AtomicU64::new(0), dropped: Mutex::default() }
    }

    /// The number of a new sequence.
    pub fn number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }

    /// A sequence that is not needed any more.
    pub fn forget(&self, number: u64) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(number);
    }

    /// Tells the others what comes next.
    pub fn tell(&self, order: Order) -> Result<()> {
        let dropped = std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        let bytes = serde_json::to_vec(&Message { dropped, order });
        let bytes = bytes.map_err(|error| Error::Model(error.to_string()))?;
        self.group.share(&bytes)?;
        Ok(())
    }

    /// Passes on what a pass on this rank came to. One that failed here leaves the others in the middle of theirs.
    pub fn all_or_none<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.group.abandon(&error.to_string()))
    }

    /// Why no more passes can be run, if that is so.
    pub fn failure(&self) -> Option<String> {
        self.group.failure().map(|error| error.to_string())
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        // Where that fails, the others know already.
        let _ = self.tell(Order::End);
    }
}

/// What every rank does before an engine starts: they agree on how sequences are kept. Returns how many bytes the state of one token
/// takes on this rank, and on the rank where it takes most.
fn meet(model: &Model, group: &Group, options: SessionOptions) -> Result<(usize, usize)> {
    group.agree("how sequences are kept", &format!("{options:?}"))?;
    let own = Session::bytes_for(model, options, 1);
    let bytes = Tensor::from_slice_on(&[own as u64], &Device::cpu())?;
    let most = group.all_max(&bytes)?.to_vec::<u64>()?;
    Ok((own.max(1), most.first().map_or(own, |&most| most as usize).max(1)))
}

/// Rank 0's side of an engine, and what is left of its budget so that no rank needs more than that.
pub fn lead(model: &Model, options: SessionOptions, budget: usize) -> Result<Option<(Arc<Leader>, usize)>> {
    let Some(share) = model.share() else { return Ok(None) };
    let group = share.group();
    if group.rank() != 0 {
        return Err(Error::Model("an engine over ranks starts on rank 0; the others follow it".into()));
    }
    let (own, most) = meet(model, group, options)?;
    let budget = (budget as u128 * own as u128 / most as u128) as usize;
    Ok(Some((Arc::new(Leader::new(group)), budget)))
}

/// Another rank's side: runs what rank 0 orders, until its engine has ended.
pub fn follow(model: &Arc<Model>, options: SessionOptions) -> Result<()> {
    let Some(share) = model.share() else {
        return Err(Error::Model("only ranks of a divided model follow an engine".into()));
    };
    let group = share.group();
    meet(model, group, options)?;
    let mut sessions = FxHashMap::default();
    loop {
        let message = group.share(&[])?;
        let message: Message =
            serde_json::from_slice(&message).map_err(|error| Error::Model(error.to_string()))?;
        message.dropped.iter().for_each(|number| drop(sessions.remove(number)));
        match obey(model, options, &mut sessions, message.order) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                group.abandon(&error.to_string());
                return Err(error);
            }
        }
    }
}

/// Does what was ordered; whether more is to come.
fn obey(
    model: &Arc<Model>,
    options: SessionOptions,
    sessions: &mut FxHashMap<u64, Session>,
    order: Order,
) -> Result<bool> {
    let missing = |number| Error::Model(format!("rank 0 has a sequence {number} that is not known here"));
    match order {
        Order::Wait => {}
        Order::Open { new } => drop(sessions.insert(new, Session::new(model, options)?)),
        Order::Fork { new, from, count } => {
            let copy = sessions.get(&from).ok_or_else(|| missing(from))?.fork(count)?;
            sessions.insert(new, copy.ok_or_else(|| missing(from))?);
        }
        Order::Feed { at, tokens } => sessions.get_mut(&at).ok_or_else(|| missing(at))?.feed(&tokens)?,
        Order::Advance { at, want, tokens } => {
            sessions.get_mut(&at).ok_or_else(|| missing(at))?.advance_for(want, &tokens)?;
        }
        Order::Step { want, at, tokens } => {
            let mut picked = Vec::with_capacity(at.len());
            for number in &at {
                picked.push((*number, sessions.remove(number).ok_or_else(|| missing(*number))?));
            }
            let mut together: Vec<&mut Session> = picked.iter_mut().map(|(_, session)| session).collect();
            Scores::new(Session::step_together(want, &mut together, &tokens)?)?;
            sessions.extend(picked);
        }
        Order::End => return Ok(false),
    }
    Ok(true)
}
