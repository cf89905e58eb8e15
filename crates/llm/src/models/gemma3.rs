//! Gemma 3: embeddings scaled by `√width`, norms before and after each part, head norms, and sliding windows in five of
//! six layers, which have a rotation base of their own.
//!
//! `x += RMSNorm(Attention(RMSNorm(x))); x += RMSNorm(W₂(gelu(W₁ x̂) ⊙ W₃ x̂))`.

use wootz::{DType, Device, RopeStyle, Tensor};

use super::Model;
use super::attention::{Attention, Place, frequencies, fresh_cache, positions};
use crate::config::{Config, Mixer};
use crate::error::{Error, Result};
use crate::weights::{Linear, Weights};

/// A decoder of the Gemma 3 family.
pub(super) struct Gemma3 {
    config: Config,
    shape: crate::config::Attention,
    device: Device,
    embedding: Linear,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Linear,
    /// Angles of full-attention and of sliding-window layers.
    frequencies: [Tensor; 2],
}

struct Layer {
    attention_norm: Tensor,
    attention: Attention,
    after_attention: Tensor,
    ffn_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
    after_ffn: Tensor,
}

impl Gemma3 {
    pub fn load(weights: &Weights<'_>) -> Result<Gemma3> {
        let config = weights.config();
        let Mixer::Attention(shape) = &config.mixer else {
            return Err(Error::Model("gemma3 does not attend".into()));
        };
        let layer = |i: usize| -> Result<Layer> {
            let part = |name: &str| format!("blk.{i}.{name}");
            Ok(Layer {
                attention_norm: weights.vector(&part("attn_norm"), config.width)?,
                attention: Attention::load(weights, shape, i, RopeStyle::Half)?,
                after_attention: weights.vector(&part("post_attention_norm"), config.width)?,
                ffn_norm: weights.vector(&part("ffn_norm"), config.width)?,
                gate: weights.linear(&part("ffn_gate"), config.width, config.ffn)?,
                up: weights.linear(&part("ffn_up"), config.width, config.ffn)?,
                down: weights.linear(&part("ffn_down"), config.ffn, config.width)?,
                after_ffn: weights.vector(&part("post_ffw_norm"), config.width)?,
            })
        };
        Ok(Gemma3 {
            embedding: weights.linear("token_embd", config.width, config.vocab)?,
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            norm: weights.vector("output_norm", config.width)?,
            head: weights.head()?,
            frequencies: [
                frequencies(weights, shape, shape.rope_base, true)?,
                frequencies(weights, shape, shape.rope_base_local, false)?,
            ],
            shape: shape.clone(),
            device: weights.device().clone(),
            config: config.clone(),
        })
    }
}

impl Model for Gemma3 {
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
        let mut x = self.embedding.rows(tokens)?.mul(f64::from((self.config.width as f32).sqrt()))?;
        let mut new_state = Vec::with_capacity(state.len());
        for (i, (layer, cache)) in self.layers.iter().zip(state.chunks_exact(2)).enumerate() {
            let frequencies = &self.frequencies[usize::from(self.shape.window_of(i).is_some())];
            let normed = x.rms_norm(Some(&layer.attention_norm), epsilon)?;
            let (y, keys, values) =
                layer.attention.apply(&normed, &place, frequencies, (&cache[0], &cache[1]))?;
            new_state.extend([keys, values]);
            x = x.add(&y.rms_norm(Some(&layer.after_attention), epsilon)?)?;
            let normed = x.rms_norm(Some(&layer.ffn_norm), epsilon)?;
            let gated = layer.gate.apply(&normed)?.gelu_tanh()?.mul(&layer.up.apply(&normed)?)?;
            let y = layer.down.apply(&gated)?;
            x = x.add(&y.rms_norm(Some(&layer.after_ffn), epsilon)?)?;
        }
        Ok((x.rms_norm(Some(&self.norm), epsilon)?, new_state))
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.head.apply(hidden)
    }
}
