//! Llama (Touvron et al., 2023; Llama 3, Mistral and SmolLM are the same network): RMS pre-norms, rotary positions,
//! grouped-query attention, a gated feed-forward network.
//!
//! Variants differ in details. Qwen 2 adds biases to query, key and value, Qwen 3 norms on query and key heads, OLMoE
//! norms over all heads; mixtures of experts route the feed-forward network; Phi stores fused matrices; SmolLM 3 has
//! no rotation in every fourth layer; Ministral 3 scales queries with the position; Granite has constant factors. The
//! rotary pairs are half a head apart unless the matrices were reordered for GGUF.

use super::decoder::{Ends, Heads, LayerWeights, Projections, TokenPositions, attention_of};
use super::experts::FeedForward;
use super::{Input, Memory, Network, NewState, StateSpec, cache};
use crate::config::{Attention, Config, Family, Pairs};
use crate::error::Result;
use crate::rope::Rope;
use crate::weights::Weights;
use wootz::{RopeStyle, Tensor};

pub struct Llama {
    ends: Ends,
    layers: Vec<Layer>,
    attention: Attention,
    heads: Heads,
    epsilon: f64,
    /// Granite's factor on what a part adds.
    residual_scale: Option<f32>,
}

struct Layer {
    attention_norm: Tensor,
    projections: Projections,
    head_norms: Option<HeadNorms>,
    ffn_norm: Tensor,
    ffn: FeedForward,
}

/// Norms of queries and keys: of each head, or of all heads together.
enum HeadNorms {
    Each([Tensor; 2]),
    Together([Tensor; 2]),
}

impl Llama {
    pub fn load(config: &Config, weights: &Weights) -> Result<Llama> {
        let attention = attention_of(config)?.clone();
        // Phi's long factors are for positions that the config does not allow; see `Config`.
        let name = if weights.has(SHORT_FACTORS) { SHORT_FACTORS } else { "rope_freqs.weight" };
        let factors = weights.optional_values(name, &[attention.rope_len / 2])?;
        let factors = factors.map(|f| f.to_vec::<f32>()).transpose()?;
        let rope = Rope::new(&attention, factors.as_deref());
        let style = match attention.rope_pairs {
            Pairs::Neighbours => RopeStyle::Interleaved,
            Pairs::Halves => RopeStyle::Half,
        };
        let heads = Heads::new(&rope, style, &attention, weights)?;
        let layer = |index| Layer::load(&LayerWeights { config, weights, index });
        let layers = (0..config.layers).map(layer).collect::<Result<_>>()?;
        let (epsilon, residual_scale) = (f64::from(config.norm_epsilon), config.scales.residual);
        Ok(Llama { ends: Ends::load(config, weights)?, layers, attention, heads, epsilon, residual_scale })
    }

    /// The residual stream with what a part adds.
    fn add(&self, x: &Tensor, part: Tensor) -> wootz::Result<Tensor> {
        match self.residual_scale {
            Some(scale) => x.add(&part.mul(scale)?),
            None => x.add(&part),
        }
    }
}

/// What Phi's frequencies are divided by, up to the original context length.
const SHORT_FACTORS: &str = "rope_factors_short.weight";

impl Layer {
    fn load(layer: &LayerWeights<'_>) -> Result<Layer> {
        let (width, a) = (layer.config.width, layer.attention()?);
        let norms = |q: usize, k: usize| -> Result<[Tensor; 2]> {
            Ok([layer.norm("attn_q_norm", q)?, layer.norm("attn_k_norm", k)?])
        };
        let head_norms = match layer.config.family {
            Family::Qwen3 | Family::Qwen3Moe => Some(HeadNorms::Each(norms(a.key_len, a.key_len)?)),
            Family::Olmoe => Some(HeadNorms::Together(norms(a.heads * a.key_len, a.kv_heads * a.key_len)?)),
            _ => None,
        };
        let ffn = FeedForward::load(layer)?;
        Ok(Layer {
            attention_norm: layer.norm("attn_norm", width)?,
            projections: Projections::load(layer)?,
            head_norms,
            ffn_norm: layer.norm("ffn_norm", width)?,
            ffn,
        })
    }
}

impl Network for Llama {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        cache::specs(self.layers.len(), &self.attention, memory)
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let positions = TokenPositions::new(input)?;
        let mut x = self.ends.embed(input.tokens)?;
        let mut state = NewState::default();
        for (i, layer) in self.layers.iter().enumerate() {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let mut projected = layer.projections.apply(&h)?;
            projected = match &layer.head_norms {
                Some(HeadNorms::Each(norms)) => projected.normed(norms, self.epsilon)?,
                Some(HeadNorms::Together(norms)) => projected.normed_together(norms, self.epsilon)?,
                None => projected,
            };
            let (mixed, cache) = self.heads.attend(&projected, &positions, i)?;
            state.push(cache);
            x = self.add(&x, layer.projections.output.apply(&mixed)?)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            x = self.add(&x, layer.ffn.apply(&h)?)?;
        }
        Ok((x, state.into_list()))
    }

    fn embedding(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.normed(hidden)
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.logits(hidden)
    }
}
