//! What the engine has done so far, for whoever watches it.

use super::job::Done;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Counters, written by the engine's thread.
#[derive(Default)]
pub struct Stats {
    done: AtomicU64,
    cancelled: AtomicU64,
    failed: AtomicU64,
    prompt_tokens: AtomicU64,
    cached_tokens: AtomicU64,
    read_tokens: AtomicU64,
    generated_tokens: AtomicU64,
    decode_steps: AtomicU64,
    decoded_rows: AtomicU64,
    preemptions: AtomicU64,
    active_bytes: AtomicUsize,
    kept_bytes: AtomicUsize,
    kept_sequences: AtomicUsize,
    pub(super) running: AtomicUsize,
    pub(super) steps: AtomicU64,
}

/// The counters at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Answers that are complete.
    pub done: u64,
    /// Answers that nobody wanted any more.
    pub cancelled: u64,
    /// Answers that failed.
    pub failed: u64,
    /// Tokens of prompts, of answers that have ended.
    pub prompt_tokens: u64,
    /// How many of them were not computed again.
    pub cached_tokens: u64,
    /// Tokens that were read in chunks.
    pub read_tokens: u64,
    /// Tokens of answers that have ended.
    pub generated_tokens: u64,
    /// Passes of one token per sequence.
    pub decode_steps: u64,
    /// Sequences of those passes.
    pub decoded_rows: u64,
    /// Times that a sequence lost its memory to an older one.
    pub preemptions: u64,
    /// Bytes of the state of sequences that are being answered.
    pub active_bytes: usize,
    /// Bytes of the state of kept sequences.
    pub kept_bytes: usize,
    /// Kept sequences.
    pub kept_sequences: usize,
    /// Jobs in slots.
    pub running: usize,
    /// Jobs in the queue.
    pub waiting: usize,
    /// Turns of the engine's loop; it stands still while nothing is to be done.
    pub steps: u64,
}

impl Stats {
    pub(super) fn done(&self, done: &Done) {
        self.done.fetch_add(1, Relaxed);
        self.ended(done);
    }

    pub(super) fn cancelled(&self, done: &Done) {
        self.cancelled.fetch_add(1, Relaxed);
        self.ended(done);
    }

    fn ended(&self, done: &Done) {
        self.prompt_tokens.fetch_add(done.prompt_tokens as u64, Relaxed);
        self.cached_tokens.fetch_add(done.cached_tokens as u64, Relaxed);
        self.generated_tokens.fetch_add(done.tokens as u64, Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    pub(super) fn read(&self, tokens: usize) {
        self.read_tokens.fetch_add(tokens as u64, Relaxed);
    }

    pub(super) fn decoded(&self, rows: usize) {
        self.decode_steps.fetch_add(1, Relaxed);
        self.decoded_rows.fetch_add(rows as u64, Relaxed);
    }

    pub(super) fn preempted(&self) {
        self.preemptions.fetch_add(1, Relaxed);
    }

    pub(super) fn memory(&self, active: usize, kept: usize, sequences: usize) {
        self.active_bytes.store(active, Relaxed);
        self.kept_bytes.store(kept, Relaxed);
        self.kept_sequences.store(sequences, Relaxed);
    }

    pub(super) fn snapshot(&self, waiting: usize) -> Snapshot {
        Snapshot {
            done: self.done.load(Relaxed),
            cancelled: self.cancelled.load(Relaxed),
            failed: self.failed.load(Relaxed),
            prompt_tokens: self.prompt_tokens.load(Relaxed),
            cached_tokens: self.cached_tokens.load(Relaxed),
            read_tokens: self.read_tokens.load(Relaxed),
            generated_tokens: self.generated_tokens.load(Relaxed),
            decode_steps: self.decode_steps.load(Relaxed),
            decoded_rows: self.decoded_rows.load(Relaxed),
            preemptions: self.preemptions.load(Relaxed),
            active_bytes: self.active_bytes.load(Relaxed),
            kept_bytes: self.kept_bytes.load(Relaxed),
            kept_sequences: self.kept_sequences.load(Relaxed),
            running: self.running.load(Relaxed),
            steps: self.steps.load(Relaxed),
            waiting,
        }
    }
}
