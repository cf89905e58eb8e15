//! What a launch is bound to.

use wootz_plan::{BufferId, Place, Plan};

/// A piece of memory that code uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A buffer of the plan.
    Plan(BufferId),
    /// Memory that launches of a step hand on to each other, from this byte on.
    Scratch(usize),
    /// The word that faults are noted in.
    Faults,
}

impl Bound {
    /// Whether it is a part of the run's scratch memory.
    pub fn is_scratch(self, plan: &Plan) -> bool {
        match self {
            Bound::Plan(id) => matches!(plan.buffers[id as usize].place, Place::Scratch(_)),
            Bound::Scratch(_) => true,
            Bound::Faults => false,
        }
    }
}

/// How code uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Written, and perhaps read.
    Write,
    /// Written in parts of words, or added to.
    Atomic,
}

/// Memory that a shader's code has asked for.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// What it is.
    pub bound: Bound,
    /// Its size in bytes.
    pub bytes: usize,
    /// How it is used.
    pub access: Access,
    /// Whether words are accessed four at a time.
    pub quads: bool,
}
