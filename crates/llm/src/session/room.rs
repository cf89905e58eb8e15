//! Memory of a sequence: growing caches, sliding windows, copies.

use super::Session;
use crate::error::Result;
use crate::model::Model;
use crate::models::{Kept, Memory, StateSpec, WINDOW_STEP};
use wootz::Tensor;

impl Session {
    /// The capacity needed for `more` tokens. Doubling keeps the number of plans small, and memory close to what is
    /// used.
    pub(super) fn capacity_for(&self, more: usize) -> usize {
        let needed = self.tokens.len() + more;
        if needed <= self.memory.context {
            return self.memory.context;
        }
        needed.next_power_of_two().min(self.context)
    }

    /// Makes room for `more` tokens, and moves window contents to the start if the cache is full.
    pub(super) fn make_room(&mut self, more: usize) -> Result<()> {
        self.grow(self.capacity_for(more))?;
        let Some(window) = self.model.network.window() else { return Ok(()) };
        let (here, capacity) = (self.tokens.len(), self.memory.positions(Some(window)));
        if here + more - self.kept_from <= capacity {
            return Ok(());
        }
        // In steps of attention's tiles, so that results do not depend on when the cache was full.
        let keep_from = here.saturating_sub(window) / WINDOW_STEP * WINDOW_STEP;
        let (from, count) = (keep_from - self.kept_from, here - keep_from);
        let specs = self.model.network.state(self.memory);
        for (piece, spec) in self.state.iter_mut().zip(&specs).filter(|(_, spec)| spec.kept == Kept::Window) {
            *piece = moved(&self.model, spec, &piece.narrow(2, from, count)?)?;
        }
        self.kept_from = keep_from;
        Ok(())
    }

    pub(super) fn grow(&mut self, context: usize) -> Result<()> {
        if context <= self.memory.context {
            return Ok(());
        }
        let memory = Memory { context, ..self.memory };
        let specs = self.model.network.state(memory);
        for (piece, spec) in self.state.iter_mut().zip(&specs) {
            if *piece.shape() != spec.shape {
                *piece = moved(&self.model, spec, piece)?;
            }
        }
        self.memory = memory;
        Ok(())
    }
}

/// Zeros that a pass may update in place.
pub(super) fn fresh(model: &Model, spec: &StateSpec) -> Result<Tensor> {
    let zeros = Tensor::full_on(spec.shape.clone(), 0, spec.dtype, model.device())?;
    Ok(zeros.copied()?.donate()?)
}

/// New memory for a state tensor that starts with these positions.
fn moved(model: &Model, spec: &StateSpec, positions: &Tensor) -> Result<Tensor> {
    copied(model, spec, positions, 2)
}

/// New memory for a state tensor that starts with these elements along an axis.
pub(super) fn copied(model: &Model, spec: &StateSpec, elements: &Tensor, axis: isize) -> Result<Tensor> {
    let start = Tensor::from_slice_on(&[0i32], model.device())?;
    Ok(fresh(model, spec)?.write_at(elements, &start, axis)?.donate()?)
}
