//! Llama (Touvron et al., 2023; Llama 3, Mistral and SmolLM are the same network): RMS norms in front, rotary
//! positions, grouped-query attention, a gated feed-forward part.
//!
//! Qwen 2 adds biases to query, key and value, Qwen 3 norms of query and key heads instead; the rotary pairs of both
//! are half a head apart, as they are in every model that was not converted for GGUF.

use super::decoder::{Ends, GatedFeedForward, Heads, LayerWeights, Place, Projections, attention_of};
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
}

struct Layer {
    attention_norm: Tensor,
    projections: Projections,
    /// Qwen 3 only.
    head_norms: Option<[Tensor; 2]>,
    ffn_norm: Tensor,
    ffn: GatedFeedForward,
}

impl Llama {
    pub fn load(config: &Config, weights: &Weights) -> Result<Llama> {
        let attention = attention_of(config)?.clone();
        let factors = weights.optional_values("rope_freqs.weight", &[attention.rope_len / 2])?;
        let factors = factors.map(|f| f.to_vec::<f32>()).transpose()?;
        let rope = Rope::new(&attention, factors.as_deref());
        let style = match attention.rope_pairs {
            Pairs::Neighbours => RopeStyle::Interleaved,
            Pairs::Halves => RopeStyle::Half,
        };
        let heads = Heads::new(&rope, style, attention.key_len, weights)?;
        let layer = |index| Layer::load(&LayerWeights { config, attention: &attention, weights, index });
        let layers = (0..config.layers).map(layer).collect::<Result<_>>()?;
        let epsilon = f64::from(config.norm_epsilon);
        Ok(Llama { ends: Ends::load(config, weights)?, layers, attention, heads, epsilon })
    }
}

impl Layer {
    fn load(layer: &LayerWeights<'_>) -> Result<Layer> {
        let (width, head) = (layer.config.width, layer.attention.key_len);
        let head_norms = match layer.config.family {
            Family::Qwen3 => Some([layer.norm("attn_q_norm", head)?, layer.norm("attn_k_norm", head)?]),
            _ => None,
        };
        Ok(Layer {
            attention_norm: layer.norm("attn_norm", width)?,
            projections: Projections::load(layer)?,
            head_norms,
            ffn_norm: layer.norm("ffn_norm", width)?,
            ffn: GatedFeedForward::load(layer)?,
        })
    }
}

impl Network for Llama {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        cache::specs(self.layers.len(), &self.attention, memory)
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let place = Place::new(input)?;
        let mut x = self.ends.embed(input.tokens)?;
        let mut state = NewState::default();
        for (i, layer) in self.layers.iter().enumerate() {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let mut projected = layer.projections.apply(&h)?;
            if let Some(norms) = &layer.head_norms {
                projected = projected.normed(norms, self.epsilon)?;
            }
            let (mixed, cache) = self.heads.attend(&projected, &place, i)?;
            state.push(cache);
            x = x.add(&layer.projections.output.apply(&mixed)?)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            x = x.add(&layer.ffn.apply(&h, Tensor::silu)?)?;
        }
        Ok((x, state.into_list()))
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.logits(hidden)
    }
}
