//! Statistics of the engine.

use super::job::Done;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counters, updated by the engine's thread.
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
    drafted_tokens: AtomicU64,
    accepted_tokens: AtomicU64,
    preemptions: AtomicU64,
    decode_nanoseconds: AtomicU64,
    constraint_nanoseconds: AtomicU64,
    active_bytes: AtomicUsize,
    kept_bytes: AtomicUsize,
    kept_sequences: AtomicUsize,
    pub(super) running: AtomicUsize,
    pub(super) steps: AtomicU64,
    step: Mutex<Option<Instant>>,
}

/// A snapshot of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Completed answers.
    pub done: u64,
    /// Cancelled answers.
    pub cancelled: u64,
    /// Failed answers.
    pub failed: u64,
    /// Prompt tokens of finished answers.
    pub prompt_tokens: u64,
    /// How many of them were cached.
    pub cached_tokens: u64,
    /// Prompt tokens processed in chunks.
    pub read_tokens: u64,
    /// Generated tokens of finished answers.
    pub generated_tokens: u64,
    /// Decode steps: one token per sequence, and draft tokens that were right.
    pub decode_steps: u64,
    /// Total tokens of all decode steps.
    pub decoded_rows: u64,
    /// Draft tokens that were verified.
    pub drafted_tokens: u64,
    /// How many of them were right.
    pub accepted_tokens: u64,
    /// Number of times that a sequence's cache was dropped in favour of an older one.
    pub preemptions: u64,
    /// Time of the passes of one token per sequence.
    pub decode_time: Duration,
    /// Time that grammars took to say which tokens may come next.
    pub constraint_time: Duration,
    /// Bytes of the state of sequences that are being answered.
    pub active_bytes: usize,
    /// State bytes of kept sequences.
    pub kept_bytes: usize,
    /// Number of kept sequences.
    pub kept_sequences: usize,
    /// Running jobs.
    pub running: usize,
    /// Queued jobs.
    pub waiting: usize,
    /// Iterations of the engine's loop; constant while it is idle.
    pub steps: u64,
    /// How long the present step has taken so far; zero between steps.
    pub step_time: Duration,
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

    /// Notes that a step begins or has ended.
    pub(super) fn stepping(&self, begin: Option<Instant>) {
        *self.step() = begin;
    }

    fn step(&self) -> MutexGuard<'_, Option<Instant>> {
        // It is only ever replaced.
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    pub(super) fn read(&self, tokens: usize) {
        self.read_tokens.fetch_add(tokens as u64, Relaxed);
    }

    pub(super) fn constrained(&self, time: Duration) {
        self.constraint_nanoseconds.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    pub(super) fn decoded(&self, rows: usize, time: Duration) {
        self.decode_nanoseconds.fetch_add(time.as_nanos() as u64, Relaxed);
        self.decode_steps.fetch_add(1, Relaxed);
        self.decoded_rows.fetch_add(rows as u64, Relaxed);
    }

    pub(super) fn drafted(&self, tokens: usize, right: usize) {
        self.drafted_tokens.fetch_add(tokens as u64, Relaxed);
        self.accepted_tokens.fetch_add(right as u64, Relaxed);
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
            drafted_tokens: self.drafted_tokens.load(Relaxed),
            accepted_tokens: self.accepted_tokens.load(Relaxed),
            preemptions: self.preemptions.load(Relaxed),
            decode_time: Duration::from_nanos(self.decode_nanoseconds.load(Relaxed)),
            constraint_time: Duration::from_nanos(self.constraint_nanoseconds.load(Relaxed)),
            active_bytes: self.active_bytes.load(Relaxed),
            kept_bytes: self.kept_bytes.load(Relaxed),
            kept_sequences: self.kept_sequences.load(Relaxed),
            running: self.running.load(Relaxed),
            steps: self.steps.load(Relaxed),
            step_time: self.step().map_or(Duration::ZERO, |begin| begin.elapsed()),
            waiting,
        }
    }
}
