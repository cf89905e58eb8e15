//! The model families, one file each.

mod decoder;
mod gemma3;
mod llama;
mod qwen;
mod rwkv7;

use crate::config::{Config, Family};
use crate::error::Result;
use crate::weights::Weights;
use wootz::{DType, Shape, Tensor};

/// One piece of a sequence's state: what a new sequence starts from is zeros of this shape.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSpec {
    /// Its shape.
    pub shape: Shape,
    /// Its dtype.
    pub dtype: DType,
}

/// What a pass reads.
pub struct Input<'a> {
    /// Token ids `[t]`.
    pub tokens: &'a Tensor,
    /// The position of the first of them, `[1]`.
    pub position: &'a Tensor,
    /// The state, as [`Network::state`] lists it.
    pub state: &'a [Tensor],
}

/// How a sequence is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The most positions.
    pub context: usize,
    /// The dtype of cached keys and values.
    pub dtype: DType,
}

/// A network: it builds the graph of a pass. Nothing in it depends on values, so that the graph is planned once.
pub trait Network: Send + Sync {
    /// The pieces of a sequence's state.
    fn state(&self, memory: Memory) -> Vec<StateSpec>;

    /// The hidden vectors `[t, width]` after the last layer, and the state after these tokens.
    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)>;

    /// Logits `[t, vocab]` of hidden vectors.
    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor>;

    /// Whether the state keeps every position apart, so that a sequence can be cut back by forgetting the end.
    fn can_rewind(&self) -> bool {
        true
    }
}

/// The network of a model file.
pub fn load(config: &Config, weights: &Weights) -> Result<Box<dyn Network>> {
    Ok(match config.family {
        Family::Llama => Box::new(llama::Llama::load(config, weights)?),
        Family::Qwen2 | Family::Qwen3 => Box::new(qwen::Qwen::load(config, weights)?),
        Family::Gemma3 => Box::new(gemma3::Gemma3::load(config, weights)?),
        Family::Rwkv7 => Box::new(rwkv7::Rwkv7::load(config, weights)?),
    })
}
