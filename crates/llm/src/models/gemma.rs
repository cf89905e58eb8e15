//! Gemma 3 (Gemma Team, 2025): five sliding-window layers for each global one, norms before and after each sublayer
//! and on query and key heads, scaled embeddings, a feed-forward network gated by tanh-approximated GELU.
//!
//! Gemma 2 (2024) has a window in every other layer, no head norms, and soft caps on scores and logits instead.
//!
//! The norm weights in the file already contain the paper's `1 +`.

use super::decoder::{
    Ends, GatedFeedForward, Heads, LayerWeights, Projections, TokenPositions, attention_of,
};
use super::{Input, Memory, Network, NewState, StateSpec, cache};
use crate::config::{Attention, Config, Family};
use crate::error::Result;
use crate::rope::Rope;
use crate::weights::Weights;
use wootz::{RopeStyle, Tensor};

pub struct Gemma {
    ends: Ends,
    layers: Vec<Layer>,
    attention: Attention,
    epsilon: f64,
}

pub struct Layer {
    pub heads: Heads,
    pub attention_norm: Tensor,
    pub projections: Projections,
    /// Gemma 3 only.
    pub head_norms: Option<[Tensor; 2]>,
    pub attention_after: Tensor,
    pub ffn_norm: Tensor,
    pub ffn: GatedFeedForward,
    pub ffn_after: Tensor,
}

/// The 27B models' queries are scaled by the width per head, all others' by the width of a head.
fn is_27b(config: &Config) -> bool {
    config.all_layers == if config.family == Family::Gemma2 { 46 } else { 62 }
}

impl Gemma {
    pub fn load(config: &Config, weights: &Weights) -> Result<Gemma> {
        let attention = attention_of(config)?.clone();
        let layer = |index| Layer::load(&LayerWeights { config, weights, index });
        let layers = (0..config.layers).map(layer).collect::<Result<_>>()?;
        Ok(Gemma {
            ends: Ends::load(config, weights)?,
            layers,
            attention,
            epsilon: f64::from(config.norm_epsilon),
        })
    }
}

impl Layer {
    pub fn load(layer: &LayerWeights<'_>) -> Result<Layer> {
        let (width, head) = (layer.config.width, layer.attention()?.key_len);
        Ok(Layer {
            heads: heads(layer)?,
            attention_norm: layer.norm("attn_norm", width)?,
            projections: Projections::load(layer)?,
            head_norms: match layer.config.family {
                Family::Gemma3 | Family::GemmaEmbedding => {
                    Some([layer.norm("attn_q_norm", head)?, layer.norm("attn_k_norm", head)?])
                }
                _ => None,
            },
            attention_after: layer.norm("post_attention_norm", width)?,
            ffn_norm: layer.norm("ffn_norm", width)?,
            ffn: GatedFeedForward::load(layer)?,
            ffn_after: layer.norm("post_ffw_norm", width)?,
        })
    }
}

/// Layers with a window turn by their own base, and are never stretched.
fn heads(layer: &LayerWeights<'_>) -> Result<Heads> {
    let (config, attention) = (layer.config, layer.attention()?);
    let window = attention.window_of(layer.index);
    let rope = match window {
        Some(_) => Rope::plain(attention.rope_base_local, attention.rope_len),
        None => Rope::new(attention, None),
    };
    let per_head = 1.0 / ((config.width / attention.all_heads) as f32).sqrt();
    let scale = if is_27b(config) { Some(per_head) } else { attention.scale };
    let attention = Attention { scale, ..attention.clone() };
    Ok(Heads { window, ..Heads::new(&rope, RopeStyle::Half, &attention, layer.weights)? })
}

impl Network for Gemma {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        cache::specs(self.layers.len(), &self.attention, memory)
    }

    fn window(&self) -> Option<usize> {
        self.attention.window
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let positions = TokenPositions::new(input)?;
        let mut x = self.ends.embed(input.tokens)?;
        let mut state = NewState::default();
        for (i, layer) in self.layers.iter().enumerate() {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let mut projected = layer.projections.apply(&h)?;
            if let Some(norms) = &layer.head_norms {
                projected = projected.normed(norms, self.epsilon)?;
            }
            let (mixed, cache) = layer.heads.attend(&projected, &positions, i)?;
            state.push(cache);
            let mixed = layer.projections.output.apply(&mixed)?;
            x = x.add(&mixed.rms_norm(Some(&layer.attention_after), self.epsilon)?)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            let h = layer.ffn.apply(&h, Tensor::gelu_tanh)?;
            x = x.add(&h.rms_norm(Some(&layer.ffn_after), self.epsilon)?)?;
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
