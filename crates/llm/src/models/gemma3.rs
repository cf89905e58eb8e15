//! Gemma 3 (Gemma Team, 2025): five layers with a sliding window to one that sees everything, norms on both sides of
//! each part and on query and key heads, scaled embeddings, a feed-forward part gated by the tanh form of GELU.
//!
//! The file's norm weights already contain the `1 +` of the paper.

use super::decoder::{Ends, GatedFeedForward, Heads, LayerWeights, Place, Projections, attention_of};
use super::{Input, Memory, Network, NewState, StateSpec, cache};
use crate::config::{Attention, Config};
use crate::error::Result;
use crate::rope::Rope;
use crate::weights::Weights;
use wootz::{RopeStyle, Tensor};

pub struct Gemma3 {
    ends: Ends,
    layers: Vec<Layer>,
    attention: Attention,
    embedding_scale: f32,
    epsilon: f64,
}

struct Layer {
    heads: Heads,
    attention_norm: Tensor,
    projections: Projections,
    head_norms: [Tensor; 2],
    attention_after: Tensor,
    ffn_norm: Tensor,
    ffn: GatedFeedForward,
    ffn_after: Tensor,
}

/// The 27B model's queries are scaled by the width per head, all others' by the width of a head.
const LAYERS_OF_27B: usize = 62;

impl Gemma3 {
    pub fn load(config: &Config, weights: &Weights) -> Result<Gemma3> {
        let attention = attention_of(config)?.clone();
        let layer = |index| Layer::load(&LayerWeights { config, attention: &attention, weights, index });
        let layers = (0..config.layers).map(layer).collect::<Result<_>>()?;
        Ok(Gemma3 {
            ends: Ends::load(config, weights)?,
            layers,
            attention,
            embedding_scale: (config.width as f32).sqrt(),
            epsilon: f64::from(config.norm_epsilon),
        })
    }
}

impl Layer {
    fn load(layer: &LayerWeights<'_>) -> Result<Layer> {
        let (width, head) = (layer.config.width, layer.attention.key_len);
        Ok(Layer {
            heads: heads(layer)?,
            attention_norm: layer.norm("attn_norm", width)?,
            projections: Projections::load(layer)?,
            head_norms: [layer.norm("attn_q_norm", head)?, layer.norm("attn_k_norm", head)?],
            attention_after: layer.norm("post_attention_norm", width)?,
            ffn_norm: layer.norm("ffn_norm", width)?,
            ffn: GatedFeedForward::load(layer)?,
            ffn_after: layer.norm("post_ffw_norm", width)?,
        })
    }
}

/// Layers with a window turn by their own base, and are never stretched.
fn heads(layer: &LayerWeights<'_>) -> Result<Heads> {
    let (config, attention) = (layer.config, layer.attention);
    let window = attention.window_of(layer.index);
    let rope = match window {
        Some(_) => Rope::plain(attention.rope_base_local, attention.rope_len),
        None => Rope::new(attention, None),
    };
    let scaled_by =
        if config.layers == LAYERS_OF_27B { config.width / attention.heads } else { attention.key_len };
    Ok(Heads { window, ..Heads::new(&rope, RopeStyle::Half, scaled_by, layer.weights)? })
}

impl Network for Gemma3 {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        cache::specs(self.layers.len(), &self.attention, memory)
    }

    fn window(&self) -> Option<usize> {
        self.attention.window
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let place = Place::new(input)?;
        let mut x = self.ends.embed(input.tokens)?.mul(self.embedding_scale)?;
        let mut state = NewState::default();
        for (i, layer) in self.layers.iter().enumerate() {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let projected = layer.projections.apply(&h)?.normed(&layer.head_norms, self.epsilon)?;
            let (mixed, cache) = layer.heads.attend(&projected, &place, i)?;
            state.push(cache);
            let mixed = layer.projections.output.apply(&mixed)?;
            x = x.add(&mixed.rms_norm(Some(&layer.attention_after), self.epsilon)?)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            let h = layer.ffn.apply(&h, Tensor::gelu_tanh)?;
            x = x.add(&h.rms_norm(Some(&layer.ffn_after), self.epsilon)?)?;
        }
        Ok((x, state.into_list()))
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.logits(hidden)
    }
}
