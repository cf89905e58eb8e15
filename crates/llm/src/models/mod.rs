//! The model families, one file each.

mod cache;
mod decoder;
mod gemma3;
mod llama;
mod rwkv7;

use crate::config::{Config, Family};
use crate::error::Result;
use crate::estimate::CacheFormat;
use crate::weights::Weights;
use std::ops::Range;
use wootz::{DType, Shape, Tensor};

/// One piece of a sequence's state: what a new sequence starts from is zeros of this shape.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSpec {
    /// Its shape; keys and values have their positions on axis 2.
    pub shape: Shape,
    /// Its dtype.
    pub dtype: DType,
    /// Whether it keeps only the last positions.
    pub windowed: bool,
}

/// What a pass reads: the tokens of one sequence, or those of several, one sequence after another.
pub struct Input<'a> {
    /// Token ids `[t]`.
    pub tokens: &'a Tensor,
    /// Whose they are.
    pub sequences: &'a [Sequence<'a>],
}

/// A sequence's part in a pass.
pub struct Sequence<'a> {
    /// Which of the tokens are its own.
    pub rows: Range<usize>,
    /// The position of the first of them, `[1]`.
    pub position: &'a Tensor,
    /// The same, counted from the first position that layers with a window keep.
    pub window_position: &'a Tensor,
    /// The state, as [`Network::state`] lists it.
    pub state: &'a [Tensor],
    /// How it is remembered.
    pub format: CacheFormat,
}

impl<'a> Sequence<'a> {
    /// The pieces of a layer's keys and of its values.
    pub fn cache(&self, layer: usize) -> [&'a [Tensor]; 2] {
        let count = cache::pieces(self.format);
        let (keys, values) = self.state[layer * count..(layer + 1) * count].split_at(count / 2);
        [keys, values]
    }
}

/// How a sequence is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The most positions.
    pub context: usize,
    /// The most tokens of one pass, which layers with a window keep beside it.
    pub chunk: usize,
    /// How keys and values are kept.
    pub format: CacheFormat,
}

impl Memory {
    /// Positions that a layer with this window keeps.
    pub fn positions(&self, window: Option<usize>) -> usize {
        window.map_or(self.context, |window| self.context.min(window + self.chunk))
    }
}

/// The state of each sequence, layer after layer, in the order of a pass's results: sequence after sequence.
#[derive(Default)]
pub struct NewState(Vec<Vec<Tensor>>);

impl NewState {
    /// Adds what a layer left for each sequence.
    pub fn push(&mut self, layer: Vec<Vec<Tensor>>) {
        self.0.resize_with(layer.len(), Vec::new);
        self.0.iter_mut().zip(layer).for_each(|(all, new)| all.extend(new));
    }

    /// The state of all sequences, one after another.
    pub fn into_list(self) -> Vec<Tensor> {
        self.0.into_iter().flatten().collect()
    }
}

/// A network: it builds the graph of a pass. Nothing in it depends on values, so that the graph is planned once.
pub trait Network: Send + Sync {
    /// The pieces of a sequence's state.
    fn state(&self, memory: Memory) -> Vec<StateSpec>;

    /// How many pieces of state a sequence has.
    fn pieces(&self, format: CacheFormat) -> usize {
        self.state(Memory { context: 1, chunk: 1, format }).len()
    }

    /// The hidden vectors `[t, width]` after the last layer, and the state of each sequence after these tokens.
    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)>;

    /// Logits `[t, vocab]` of hidden vectors.
    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor>;

    /// The window of layers that have one; what lies before it is not kept.
    fn window(&self) -> Option<usize> {
        None
    }

    /// Whether the state keeps every position apart, so that a sequence can be cut back by forgetting the end.
    fn can_rewind(&self) -> bool {
        true
    }
}

/// The network of a model file.
pub fn load(config: &Config, weights: &Weights) -> Result<Box<dyn Network>> {
    Ok(match config.family {
        Family::Llama | Family::Qwen2 | Family::Qwen3 => Box::new(llama::Llama::load(config, weights)?),
        Family::Gemma3 => Box::new(gemma3::Gemma3::load(config, weights)?),
        Family::Rwkv7 => Box::new(rwkv7::Rwkv7::load(config, weights)?),
    })
}
