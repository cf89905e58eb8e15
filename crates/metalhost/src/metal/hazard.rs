//! Ordering of encoders: fences, events, and command buffer boundaries. Two encoders that use an untracked buffer, at
//! least one of them writing, must be ordered explicitly; Metal does not do it.

use crate::report::{Kind, report};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An encoder, as far as order is concerned.
#[derive(Clone, Debug)]
pub struct Pass {
    serial: u64,
    /// Its command buffer has ended.
    done: Arc<AtomicBool>,
}

impl Pass {
    /// A new encoder of a command buffer.
    pub fn new(done: &Arc<AtomicBool>) -> Pass {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Pass { serial: NEXT.fetch_add(1, Ordering::Relaxed), done: done.clone() }
    }
}

/// Encoders that are known to end before something begins.
#[derive(Clone, Debug, Default)]
pub struct Before(FxHashMap<u64, Pass>);

impl Before {
    /// Adds an encoder.
    pub fn add(&mut self, pass: &Pass) {
        self.0.insert(pass.serial, pass.clone());
    }

    /// Adds what comes before something else.
    pub fn join(&mut self, other: &Before) {
        // What has ended is before everything anyway.
        self.0.retain(|_, pass| !pass.done.load(Ordering::Acquire));
        let alive = other.0.iter().filter(|(_, pass)| !pass.done.load(Ordering::Acquire));
        self.0.extend(alive.map(|(serial, pass)| (*serial, pass.clone())));
    }

    fn has(&self, pass: &Pass) -> bool {
        self.0.contains_key(&pass.serial)
    }
}

/// The last uses of an untracked buffer.
#[derive(Debug, Default)]
pub struct Uses(Mutex<(Option<Pass>, Vec<Pass>)>);

impl Uses {
    /// Notes a use, and reports one that nothing orders it against.
    pub fn note(&self, pass: &Pass, before: &Before, writes: bool, name: &str) {
        let mut uses = self.0.lock();
        let (written, read) = &mut *uses;
        let clashes = |other: &Pass| {
            other.serial != pass.serial && !other.done.load(Ordering::Acquire) && !before.has(other)
        };
        let clash = match written {
            Some(other) if clashes(other) => Some("an earlier encoder writes"),
            _ if writes && read.iter().any(clashes) => Some("an earlier encoder reads"),
            _ => None,
        };
        if let Some(what) = clash {
            report(
                Kind::Hazard,
                format!(
                    "nothing orders this use of the untracked buffer {name}, which {what}: use a fence, an event, or tracking"
                ),
            );
        }
        if writes {
            *written = Some(pass.clone());
            read.clear();
        } else if read.last().is_none_or(|last| last.serial != pass.serial) {
            read.retain(|p| !p.done.load(Ordering::Acquire));
            read.push(pass.clone());
        }
    }
}
