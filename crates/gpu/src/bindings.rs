//! The bindings of a launch.

use wootz_plan::{BufferId, Place, Plan};

/// Memory that code accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A buffer of the plan.
    Plan(BufferId),
    /// Scratch memory that the launches of a step share, from this byte on.
    Scratch(usize),
    /// The fault word.
    Faults,
}

impl Bound {
    /// Whether it is part of the run's scratch memory.
    pub fn is_scratch(self, plan: &Plan) -> bool {
        match self {
            Bound::Plan(id) => matches!(plan.buffers[id as usize].place, Place::Scratch(_)),
            Bound::Scratch(_) => true,
            Bound::Faults => false,
        }
    }
}

/// How code accesses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Written, and possibly read.
    Write,
    /// Written in parts of words, or accumulated into.
    Atomic,
}

/// Memory opened by a shader's code.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// The memory.
    pub bound: Bound,
    /// Size in bytes.
    pub bytes: usize,
    /// Access mode.
    pub access: Access,
    /// Whether words are accessed four at a time.
    pub quads: bool,
}
