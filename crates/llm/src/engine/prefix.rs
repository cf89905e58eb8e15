//! Sequences kept after their answers, so that prompts with a common prefix need not be processed again.

use super::sequence::Sequence;
use crate::error::Result;
use crate::session::Session;

/// A sequence that is not in use.
struct Kept {
    session: Sequence,
    /// Tokens that were read as a prompt, in whole chunks from the start; the others were generated.
    read: usize,
    last_used: u64,
}

/// The kept sequences.
#[derive(Default)]
pub struct PrefixCache {
    kept: Vec<Kept>,
    clock: u64,
}

/// Which prefixes of a sequence can be reused.
#[derive(Clone, Copy)]
pub struct Reuse {
    /// Whether the state after a token has the same bits however the preceding tokens were processed. If not, only
    /// complete chunks of a prompt can be reused.
    pub exact: bool,
    /// Chunk size in tokens.
    pub chunk: usize,
}

impl Reuse {
    /// How many tokens of `session`, of which `read` were processed as a prompt, can be reused for a sequence with
    /// `tokens`.
    pub fn usable(&self, session: &Session, read: usize, tokens: &[u32]) -> usize {
        // The last token is always computed, for its logits.
        let most = tokens.len().saturating_sub(1);
        let shared = shared(session.tokens(), &tokens[..most]);
        let shared = match self.exact {
            true => shared,
            false => shared.min(read) / self.chunk * self.chunk,
        };
        if session.can_fork(shared) { shared } else { 0 }
    }
}

/// How many tokens two sequences begin with that are the same.
pub fn shared(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl PrefixCache {
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    pub fn bytes(&self) -> usize {
        self.kept.iter().map(|k| k.session.state_bytes()).sum()
    }

    /// Keeps a sequence, instead of those that it begins with.
    pub fn keep(&mut self, session: Sequence, read: usize) {
        self.clock += 1;
        if session.can_rewind() {
            self.kept.retain(|k| !session.tokens().starts_with(k.session.tokens()) || k.read > read);
        } else {
            self.kept.retain(|k| k.session.tokens() != session.tokens());
        }
        self.kept.push(Kept { session, read, last_used: self.clock });
    }

    /// Length of the longest prefix among the kept sequences.
    pub fn longest(&self, reuse: Reuse, tokens: &[u32]) -> usize {
        self.kept.iter().map(|k| reuse.usable(&k.session, k.read, tokens)).max().unwrap_or(0)
    }

    /// How many tokens a prompt shares with any kept sequence, whether their state can be cut there or not.
    pub fn shared(&self, tokens: &[u32]) -> usize {
        self.kept.iter().map(|k| shared(k.session.tokens(), tokens)).max().unwrap_or(0)
    }

    /// A sequence with the longest beginning: the kept one itself where all of it is used and it can be cut again later, else a
    /// copy.
    pub fn fork(&mut self, reuse: Reuse, tokens: &[u32]) -> Result<Option<Sequence>> {
        let usable = |k: &Kept| reuse.usable(&k.session, k.read, tokens);
        let Some((at, count)) = self.kept.iter().map(usable).enumerate().max_by_key(|best| best.1) else {
            return Ok(None);
        };
        if count == 0 {
            return Ok(None);
        }
        let kept = &mut self.kept[at];
        if count == kept.session.tokens().len() && kept.session.can_rewind() {
            return Ok(Some(self.kept.swap_remove(at).session));
        }
        self.clock += 1;
        kept.last_used = self.clock;
        kept.session.fork(count)
    }

    /// Takes out the sequence that was not used for the longest time, and how many of its tokens were read as a prompt.
    pub fn pop_oldest(&mut self) -> Option<(Sequence, usize)> {
        let oldest = self.kept.iter().enumerate().min_by_key(|(_, k)| k.last_used).map(|(i, _)| i)?;
        let Kept { session, read, .. } = self.kept.swap_remove(oldest);
        Some((session, read))
    }

    pub fn clear(&mut self) {
        self.kept.clear();
    }
}
