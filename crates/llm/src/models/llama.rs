//! Llama, and the families that are Llama with a detail more: Qwen 2 (biases), Qwen 3 (head norms).
//!
//! `x += Attention(RMSNorm(x)); x += W₂(silu(W₁ x̂) ⊙ W₃ x̂)` with `x̂ = RMSNorm(x)`, layer after layer.

use wootz::{DType, Device, RopeStyle, Tensor};

use super::Model;
use super::attention::{Attention, Place, frequencies, fresh_cache, positions};
use crate::config::{Config, Family, Mixer};
use crate::error::{Error, Result};
use crate::weights::{Linear, Weights};

/// A decoder of the Llama family.
pub(super) struct Llama {
    config: Config,
    shape: crate::config::Attention,
    device: Device,
    embedding: Linear,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Linear,
    frequencies: Tensor,
}

struct Layer {
    attention_norm: Tensor,
    attention: Attention,
    ffn_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
}

impl Llama {
    pub fn load(weights: &Weights<'_>) -> Result<Llama> {
        let config = weights.config();
        let Mixer::Attention(shape) = &config.mixer else {
            return Err(Error::Model(format!("{} does not attend", config.family.name())));
        };
        // Llama files have query and key rows reordered for rotation of neighbours; the others rotate halves.
        let style = if config.family == Family::Llama { RopeStyle::Interleaved } else { RopeStyle::Half };
        let layer = |i: usize| -> Result<Layer> {
            let part = |name: &str| format!("blk.{i}.{name}");
            Ok(Layer {
                attention_norm: weights.vector(&part("attn_norm"), config.width)?,
                attention: Attention::load(weights, shape, i, style)?,
                ffn_norm: weights.vector(&part("ffn_norm"), config.width)?,
                gate: weights.linear(&part("ffn_gate"), config.width, config.ffn)?,
                up: weights.linear(&part("ffn_up"), config.width, config.ffn)?,
                down: weights.linear(&part("ffn_down"), config.ffn, config.width)?,
            })
        };
        Ok(Llama {
            embedding: weights.linear("token_embd", config.width, config.vocab)?,
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            norm: weights.vector("output_norm", config.width)?,
            head: weights.head()?,
            frequencies: frequencies(weights, shape, shape.rope_base, true)?,
            shape: shape.clone(),
            device: weights.device().clone(),
            config: config.clone(),
        })
    }
}

impl Model for Llama {
    fn config(&self) -> &Config {
        &self.config
    }

    fn fresh_state(&self, context: usize, cache: DType) -> wootz::Result<Vec<Tensor>> {
        fresh_cache(&self.shape, self.config.layers, context, (cache, &self.device))
    }

    fn hidden(
        &self,
        tokens: &Tensor,
        position: &Tensor,
        state: &[Tensor],
    ) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let epsilon = f64::from(self.config.norm_epsilon);
        let positions = positions(position, tokens.shape()[0], &self.device)?;
        let place = Place { start: position, positions: &positions };
        let mut x = self.embedding.rows(tokens)?;
        let mut new_state = Vec::with_capacity(state.len());
        for (layer, cache) in self.layers.iter().zip(state.chunks_exact(2)) {
            let normed = x.rms_norm(Some(&layer.attention_norm), epsilon)?;
            let (y, keys, values) =
                layer.attention.apply(&normed, &place, &self.frequencies, (&cache[0], &cache[1]))?;
            new_state.extend([keys, values]);
            x = x.add(&y)?;
            let normed = x.rms_norm(Some(&layer.ffn_norm), epsilon)?;
            let gated = layer.gate.apply(&normed)?.silu()?.mul(&layer.up.apply(&normed)?)?;
            x = x.add(&layer.down.apply(&gated)?)?;
        }
        Ok((x.rms_norm(Some(&self.norm), epsilon)?, new_state))
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.head.apply(hidden)
    }
}
