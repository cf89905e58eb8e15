//! Gemma 3 (Gemma Team, 2025): five layers with a sliding window to one that sees everything, norms on both sides of
//! each part and on query and key heads, scaled embeddings, a feed-forward part gated by the tanh form of GELU.
//!
//! The file's norm weights already contain the `1 +` of the paper.

use super::decoder::{Ends, Heads, Place, Projected, attention_of, cache, positions, split_heads};
use super::{Input, Memory, Network, StateSpec};
use crate::config::{Attention, Config};
use crate::error::Result;
use crate::rope::Rope;
use crate::weights::{Matrix, Weights};
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
    q: Matrix,
    k: Matrix,
    v: Matrix,
    o: Matrix,
    q_norm: Tensor,
    k_norm: Tensor,
    attention_after: Tensor,
    ffn_norm: Tensor,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
    ffn_after: Tensor,
}

/// The 27B model's queries are scaled by the width per head, all others' by the width of a head.
const LAYERS_OF_27B: usize = 62;

impl Gemma3 {
    pub fn load(config: &Config, weights: &Weights) -> Result<Gemma3> {
        let attention = attention_of(config)?.clone();
        let layers =
            (0..config.layers).map(|i| Layer::load(config, &attention, weights, i)).collect::<Result<_>>()?;
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
    fn load(config: &Config, attention: &Attention, weights: &Weights, index: usize) -> Result<Layer> {
        let values = |part: &str, len| weights.values(&format!("blk.{index}.{part}.weight"), &[len]);
        let linear =
            |part: &str, rows, columns| weights.linear(&format!("blk.{index}.{part}"), rows, columns);
        let (width, ffn) = (config.width, config.ffn);
        Ok(Layer {
            heads: heads(config, attention, weights, index)?,
            attention_norm: values("attn_norm", width)?,
            q: linear("attn_q", attention.heads * attention.key_len, width)?,
            k: linear("attn_k", attention.kv_heads * attention.key_len, width)?,
            v: linear("attn_v", attention.kv_heads * attention.value_len, width)?,
            o: linear("attn_output", width, attention.heads * attention.value_len)?,
            q_norm: values("attn_q_norm", attention.key_len)?,
            k_norm: values("attn_k_norm", attention.key_len)?,
            attention_after: values("post_attention_norm", width)?,
            ffn_norm: values("ffn_norm", width)?,
            gate: linear("ffn_gate", ffn, width)?,
            up: linear("ffn_up", ffn, width)?,
            down: linear("ffn_down", width, ffn)?,
            ffn_after: values("post_ffw_norm", width)?,
        })
    }
}

/// Layers with a window turn by their own base, and are never stretched.
fn heads(config: &Config, attention: &Attention, weights: &Weights, layer: usize) -> Result<Heads> {
    let window = attention.window_of(layer);
    let rope = match window {
        Some(_) => Rope::plain(attention.rope_base_local, attention.rope_len),
        None => Rope::new(attention, None),
    };
    let scaled_by =
        if config.layers == LAYERS_OF_27B { config.width / attention.heads } else { attention.key_len };
    Ok(Heads {
        style: RopeStyle::Half,
        frequencies: Tensor::from_slice_on(&rope.frequencies, weights.device())?,
        scale: rope.score_scale / (scaled_by as f64).sqrt(),
        window,
    })
}

impl Network for Gemma3 {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        cache(self.layers.len(), &self.attention, memory)
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let each = positions(input.tokens, input.position)?;
        let place = Place { first: input.position, each: &each };
        let mut x = self.ends.embed(input.tokens)?.mul(self.embedding_scale)?;
        let mut state = Vec::with_capacity(input.state.len());
        for (layer, cache) in self.layers.iter().zip(input.state.chunks_exact(2)) {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let q = split_heads(&layer.q.apply(&h)?, self.attention.heads)?;
            let k = split_heads(&layer.k.apply(&h)?, self.attention.kv_heads)?;
            let projected = Projected {
                q: q.rms_norm(Some(&layer.q_norm), self.epsilon)?,
                k: k.rms_norm(Some(&layer.k_norm), self.epsilon)?,
                v: split_heads(&layer.v.apply(&h)?, self.attention.kv_heads)?,
            };
            let (mixed, cache) = layer.heads.attend(projected, &place, [&cache[0], &cache[1]])?;
            state.extend(cache);
            x = x.add(&layer.o.apply(&mixed)?.rms_norm(Some(&layer.attention_after), self.epsilon)?)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            let gated = layer.gate.apply(&h)?.gelu_tanh()?.mul(&layer.up.apply(&h)?)?;
            x = x.add(&layer.down.apply(&gated)?.rms_norm(Some(&layer.ffn_after), self.epsilon)?)?;
        }
        Ok((x, state))
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.logits(hidden)
    }
}
