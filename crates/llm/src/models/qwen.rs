//! Qwen 2 (biases on query, key and value) and Qwen 3 (norms of query and key heads instead): otherwise a Llama whose
//! rotary pairs are half a head apart.

use super::decoder::{Ends, Heads, Place, Projected, attention_of, cache, positions, split_heads};
use super::{Input, Memory, Network, StateSpec};
use crate::config::{Attention, Config, Family};
use crate::error::Result;
use crate::rope::Rope;
use crate::weights::{Matrix, Weights};
use wootz::{RopeStyle, Tensor};

pub struct Qwen {
    ends: Ends,
    layers: Vec<Layer>,
    attention: Attention,
    heads: Heads,
    epsilon: f64,
}

struct Layer {
    attention_norm: Tensor,
    q: Matrix,
    k: Matrix,
    v: Matrix,
    o: Matrix,
    /// Qwen 3 only: norms over the width of a head.
    qk_norms: Option<[Tensor; 2]>,
    ffn_norm: Tensor,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

impl Qwen {
    pub fn load(config: &Config, weights: &Weights) -> Result<Qwen> {
        let attention = attention_of(config)?.clone();
        let rope = Rope::new(&attention, None);
        let heads = Heads {
            style: RopeStyle::Half,
            frequencies: Tensor::from_slice_on(&rope.frequencies, weights.device())?,
            scale: rope.score_scale / (attention.key_len as f64).sqrt(),
            window: attention.window,
        };
        let layers =
            (0..config.layers).map(|i| Layer::load(config, &attention, weights, i)).collect::<Result<_>>()?;
        let epsilon = f64::from(config.norm_epsilon);
        Ok(Qwen { ends: Ends::load(config, weights)?, layers, attention, heads, epsilon })
    }
}

impl Layer {
    fn load(config: &Config, attention: &Attention, weights: &Weights, index: usize) -> Result<Layer> {
        let head_norm =
            |part: &str| weights.values(&format!("blk.{index}.{part}.weight"), &[attention.key_len]);
        let qk_norms = match config.family {
            Family::Qwen3 => Some([head_norm("attn_q_norm")?, head_norm("attn_k_norm")?]),
            _ => None,
        };
        let norm = |part: &str| weights.values(&format!("blk.{index}.{part}.weight"), &[config.width]);
        let linear =
            |part: &str, rows, columns| weights.linear(&format!("blk.{index}.{part}"), rows, columns);
        let (width, ffn) = (config.width, config.ffn);
        let keys = attention.kv_heads * attention.key_len;
        let values = attention.kv_heads * attention.value_len;
        Ok(Layer {
            attention_norm: norm("attn_norm")?,
            q: linear("attn_q", attention.heads * attention.key_len, width)?,
            k: linear("attn_k", keys, width)?,
            v: linear("attn_v", values, width)?,
            o: linear("attn_output", width, attention.heads * attention.value_len)?,
            qk_norms,
            ffn_norm: norm("ffn_norm")?,
            gate: linear("ffn_gate", ffn, width)?,
            up: linear("ffn_up", ffn, width)?,
            down: linear("ffn_down", width, ffn)?,
        })
    }
}

impl Network for Qwen {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        cache(self.layers.len(), &self.attention, memory)
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let each = positions(input.tokens, input.position)?;
        let place = Place { first: input.position, each: &each };
        let mut x = self.ends.embed(input.tokens)?;
        let mut state = Vec::with_capacity(input.state.len());
        for (layer, cache) in self.layers.iter().zip(input.state.chunks_exact(2)) {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let mut projected = Projected {
                q: split_heads(&layer.q.apply(&h)?, self.attention.heads)?,
                k: split_heads(&layer.k.apply(&h)?, self.attention.kv_heads)?,
                v: split_heads(&layer.v.apply(&h)?, self.attention.kv_heads)?,
            };
            if let Some([q_norm, k_norm]) = &layer.qk_norms {
                projected.q = projected.q.rms_norm(Some(q_norm), self.epsilon)?;
                projected.k = projected.k.rms_norm(Some(k_norm), self.epsilon)?;
            }
            let (mixed, cache) = self.heads.attend(projected, &place, [&cache[0], &cache[1]])?;
            state.extend(cache);
            x = x.add(&layer.o.apply(&mixed)?)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            let gated = layer.gate.apply(&h)?.silu()?.mul(&layer.up.apply(&h)?)?;
            x = x.add(&layer.down.apply(&gated)?)?;
        }
        Ok((x, state))
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.logits(hidden)
    }
}
