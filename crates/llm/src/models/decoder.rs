//! What the attention families have in common: heads, the cache of keys and values, the ends of the network.

use super::{Memory, StateSpec};
use crate::config::{Attention, Config, Mixer};
use crate::error::{Error, Result};
use crate::weights::{Matrix, Weights};
use wootz::{AttentionOptions, DType, RopeStyle, Shape, Tensor};

/// The numbers of an attention model.
pub fn attention_of(config: &Config) -> Result<&Attention> {
    match &config.mixer {
        Mixer::Attention(attention) => Ok(attention),
        Mixer::Recurrent(_) => Err(Error::Model(format!("{} has no attention", config.family.name()))),
    }
}

/// Keys and values of every layer: `[1, heads, context, width]`, so that the keys of a head lie side by side.
pub fn cache(layers: usize, attention: &Attention, memory: Memory) -> Vec<StateSpec> {
    let spec = |len| {
        let shape = Shape::from([1, attention.kv_heads, memory.context, len]);
        StateSpec { shape, dtype: memory.dtype }
    };
    (0..layers).flat_map(|_| [spec(attention.key_len), spec(attention.value_len)]).collect()
}

/// Token embedding, final norm and output matrix, which is the embedding again where the file has no other.
pub struct Ends {
    embedding: Matrix,
    norm: Tensor,
    output: Matrix,
    epsilon: f64,
}

impl Ends {
    pub fn load(config: &Config, weights: &Weights) -> Result<Ends> {
        let embedding = weights.matrix("token_embd.weight", config.vocab, config.width)?;
        let output = match weights.has("output.weight") {
            true => weights.matrix("output.weight", config.vocab, config.width)?,
            false => embedding.clone(),
        };
        let norm = weights.values("output_norm.weight", &[config.width])?;
        Ok(Ends { embedding, norm, output, epsilon: f64::from(config.norm_epsilon) })
    }

    /// The vectors of tokens.
    pub fn embed(&self, tokens: &Tensor) -> wootz::Result<Tensor> {
        self.embedding.rows(tokens)
    }

    /// Logits of hidden vectors.
    pub fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.output.apply(&hidden.rms_norm(Some(&self.norm), self.epsilon)?)
    }
}

/// Where the tokens of a pass stand: `position, position + 1, …`, one row each so that heads share them.
pub fn positions(tokens: &Tensor, position: &Tensor) -> wootz::Result<Tensor> {
    let count = tokens.shape()[0];
    Tensor::iota([count, 1], tokens.device())?.cast(DType::I32)?.add(position)
}

/// How heads attend.
pub struct Heads {
    pub style: RopeStyle,
    pub frequencies: Tensor,
    pub scale: f64,
    pub window: Option<usize>,
}

/// Queries, keys and values of a pass, `[t, heads, width]` each, before rotation.
pub struct Projected {
    pub q: Tensor,
    pub k: Tensor,
    pub v: Tensor,
}

/// Where in the sequence a pass stands.
pub struct Place<'a> {
    /// Position of the first token, `[1]`.
    pub first: &'a Tensor,
    /// Position of each token, `[t, 1]`.
    pub each: &'a Tensor,
}

impl Heads {
    /// Rotates queries and keys, adds keys and values to the cache, and attends: `[t, heads · width]`.
    pub fn attend(
        &self,
        projected: Projected,
        place: &Place<'_>,
        cache: [&Tensor; 2],
    ) -> wootz::Result<(Tensor, [Tensor; 2])> {
        let tokens = projected.q.shape()[0];
        // [t, heads, width] → [1, heads, t, width]
        let by_head = |x: &Tensor| x.permute([1, 0, 2])?.unsqueeze(0);
        let q = projected.q.rope(place.each, &self.frequencies, self.style)?;
        let k = projected.k.rope(place.each, &self.frequencies, self.style)?;
        let keys = cache[0].write_at(&by_head(&k)?, place.first, 2)?;
        let values = cache[1].write_at(&by_head(&projected.v)?, place.first, 2)?;
        let options = AttentionOptions {
            scale: Some(self.scale),
            position: Some(place.first),
            window: self.window,
            ..Default::default()
        };
        let mixed = by_head(&q)?.attention(&keys, &values, options)?;
        let width = mixed.count() / tokens.max(1);
        let mixed = mixed.squeeze(0)?.permute([1, 0, 2])?.reshape([tokens, width])?;
        Ok((mixed, [keys, values]))
    }
}

/// `[t, heads · width]` as `[t, heads, width]`.
pub fn split_heads(x: &Tensor, heads: usize) -> wootz::Result<Tensor> {
    let shape = [x.shape()[0], heads, x.shape()[1] / heads];
    x.reshape(shape)
}
