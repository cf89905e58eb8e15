//! The model families, one file each.

mod bert;
mod cache;
mod decoder;
mod deepseek2;
mod delta_net;
mod experts;
mod gemma;
mod gemma4;
mod gemma_embedding;
mod gpt_oss;
mod hybrid;
mod llama;
mod recurrence;
mod rwkv7;
mod short_conv;
mod state_space;

use crate::config::{Config, Family};
use crate::error::{Error, Result};
use crate::estimate::CacheFormat;
use crate::weights::Weights;
pub(crate) use decoder::attention_of;
use std::ops::Range;
use wootz::{DType, Shape, Tensor};

/// A tensor of a sequence's state; a new sequence starts with zeros of this shape.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSpec {
    /// Shape; keys and values have their positions on axis 2.
    pub shape: Shape,
    /// Its dtype.
    pub dtype: DType,
    /// What it contains.
    pub kept: Kept,
}

/// What a state tensor contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// One entry per position.
    Every,
    /// Entries of the last positions.
    Window,
    /// A summary of all positions, up to the last one.
    Latest,
}

/// The input of a pass: the tokens of one sequence, or of several, one sequence after another.
pub struct Input<'a> {
    /// Token ids `[t]`.
    pub tokens: &'a Tensor,
    /// The sequences.
    pub sequences: &'a [Sequence<'a>],
}

/// A sequence in a pass.
pub struct Sequence<'a> {
    /// The range of its tokens.
    pub rows: Range<usize>,
    /// The position of the first of them, `[1]`.
    pub position: &'a Tensor,
    /// The same, counted from the first position that layers with a window keep.
    pub window_position: &'a Tensor,
    /// The state, in the order of [`Network::state`].
    pub state: &'a [Tensor],
    /// The layout of the state.
    pub format: CacheFormat,
}

impl<'a> Sequence<'a> {
    /// The pieces of the keys and of the values of the layer that is this one of those with a cache; their pieces come first.
    pub fn cache(&self, layer: usize) -> [&'a [Tensor]; 2] {
        let count = cache::pieces(self.format);
        let (keys, values) = self.state[layer * count..(layer + 1) * count].split_at(count / 2);
        [keys, values]
    }
}

/// Sliding-window layers drop positions in steps of this size: a multiple of the tiles that the CPU's attention reads keys in, so
/// that the others stay in the tiles that they were in, and sums in their order.
pub(crate) const WINDOW_STEP: usize = 128;

/// The layout of a sequence's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Maximum number of positions.
    pub context: usize,
    /// Maximum number of tokens per pass, which sliding-window layers keep in addition to the window.
    pub chunk: usize,
    /// Format of the KV cache.
    pub format: CacheFormat,
}

impl Memory {
    /// Positions that a layer with this window keeps.
    pub fn positions(&self, window: Option<usize>) -> usize {
        window.map_or(self.context, |window| self.context.min(window + self.chunk + WINDOW_STEP))
    }
}

/// The state of each sequence, layer after layer, in the order of a pass's results: sequence after sequence.
#[derive(Default)]
pub struct NewState(Vec<Vec<Tensor>>);

impl NewState {
    /// Adds a layer's state of each sequence.
    pub fn push(&mut self, layer: Vec<Vec<Tensor>>) {
        self.0.resize_with(layer.len(), Vec::new);
        self.0.iter_mut().zip(layer).for_each(|(all, new)| all.extend(new));
    }

    /// Adds what `others` have behind it, sequence by sequence.
    pub fn join(&mut self, others: NewState) {
        if !others.0.is_empty() {
            self.push(others.0);
        }
    }

    /// The state of all sequences, one after another.
    pub fn into_list(self) -> Vec<Tensor> {
        self.0.into_iter().flatten().collect()
    }
}

/// A network: it builds the graph of a forward pass. Nothing in it depends on values, so the graph is planned once.
pub trait Network: Send + Sync {
    /// The tensors of a sequence's state.
    fn state(&self, memory: Memory) -> Vec<StateSpec>;

    /// The number of state tensors of a sequence.
    fn pieces(&self, format: CacheFormat) -> usize {
        self.state(Memory { context: 1, chunk: 1, format }).len()
    }

    /// The hidden vectors `[t, width]` after the last layer, and the state of each sequence after these tokens.
    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)>;

    /// Logits `[t, vocab]` of hidden vectors.
    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor>;

    /// Hidden vectors as embeddings of their tokens: the input of the output matrix.
    fn embedding(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        Ok(hidden.clone())
    }

    /// The window of sliding-window layers; positions before it are not kept.
    fn window(&self) -> Option<usize> {
        None
    }

    /// Whether the state has an entry per position only, so that a sequence can be truncated.
    fn can_rewind(&self) -> bool {
        true
    }
}

/// An encoder: processes entire texts, several at once.
pub(crate) trait Encoder: Send + Sync {
    /// The vectors `[b, t, width]` of tokens `[b, t]`, of which the first `counts [b]` are real.
    fn encode(&self, tokens: &Tensor, counts: &Tensor) -> wootz::Result<Tensor>;

    /// Post-processing of the pooled vectors `[b, width]`.
    fn pooled(&self, x: Tensor) -> wootz::Result<Tensor> {
        Ok(x)
    }
}

/// The encoder of a model file.
pub(crate) fn load_encoder(config: &Config, weights: &Weights) -> Result<Box<dyn Encoder>> {
    Ok(match config.family {
        Family::GemmaEmbedding => Box::new(gemma_embedding::GemmaEmbedding::load(config, weights)?),
        _ => Box::new(bert::Bert::load(config, weights)?),
    })
}

/// The network of a model file.
pub fn load(config: &Config, weights: &Weights) -> Result<Box<dyn Network>> {
    Ok(match config.family {
        Family::Llama
        | Family::Mistral3
        | Family::SmolLm3
        | Family::Granite
        | Family::GraniteMoe
        | Family::Phi3
        | Family::Qwen2
        | Family::Qwen2Moe
        | Family::Qwen3
        | Family::Qwen3Moe
        | Family::Olmoe => Box::new(llama::Llama::load(config, weights)?),
        Family::Gemma2 | Family::Gemma3 => Box::new(gemma::Gemma::load(config, weights)?),
        Family::Gemma4 => Box::new(gemma4::Gemma4::load(config, weights)?),
        Family::DeepSeek2 => Box::new(deepseek2::DeepSeek2::load(config, weights)?),
        Family::Qwen35
        | Family::Qwen35Moe
        | Family::Qwen3Next
        | Family::GraniteHybrid
        | Family::Mamba2
        | Family::Lfm2
        | Family::Lfm2Moe => Box::new(hybrid::HybridNetwork::load(config, weights)?),
        Family::GptOss => Box::new(gpt_oss::GptOss::load(config, weights)?),
        Family::Rwkv7 => Box::new(rwkv7::Rwkv7::load(config, weights)?),
        Family::Bert | Family::NomicBert | Family::GemmaEmbedding => {
            let name = config.family.name();
            return Err(Error::Model(format!("{name} produces embeddings, not text; use `wootz embed`")));
        }
    })
}
