//! EmbeddingGemma (Vera et al., 2025): Gemma 3 as an encoder. All tokens of a text attend to each other, in
//! sliding-window layers those within half a window on either side; two matrices follow the mean pooling.

use super::Encoder;
use super::decoder::{Ends, LayerWeights, attention_of};
use super::gemma::Layer;
use crate::config::{Attention, Config};
use crate::error::Result;
use crate::weights::{Matrix, Weights};
use wootz::{AttentionOptions, DType, Tensor};

pub struct GemmaEmbedding {
    ends: Ends,
    layers: Vec<Layer>,
    attention: Attention,
    dense: Option<[Matrix; 2]>,
    epsilon: f64,
}

impl GemmaEmbedding {
    pub fn load(config: &Config, weights: &Weights) -> Result<GemmaEmbedding> {
        let layer = |index| Layer::load(&LayerWeights { config, weights, index });
        Ok(GemmaEmbedding {
            ends: Ends::load(config, weights)?,
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            attention: attention_of(config)?.clone(),
            dense: match config.dense_width.filter(|_| weights.has("dense_2.weight")) {
                Some(wide) => Some([
                    weights.matrix("dense_2.weight", wide, config.width)?,
                    weights.matrix("dense_3.weight", config.width, wide)?,
                ]),
                None => None,
            },
            epsilon: f64::from(config.norm_epsilon),
        })
    }

    /// Which tokens `[b, 1, t, t]` see which: real ones, and in layers with a window near ones.
    fn masks(&self, counts: &Tensor, length: usize) -> wootz::Result<[Tensor; 2]> {
        let places = Tensor::iota_on([length], counts.device())?;
        let real = places.less(&counts.unsqueeze(-1)?)?.reshape([counts.count(), 1, 1, length])?;
        let reach = (self.attention.window.unwrap_or(2 * length) / 2) as i64;
        let apart = places.unsqueeze(1)?.sub(&places)?.abs()?;
        let near = apart.less_equal(reach)?.logical_and(&real)?;
        Ok([real, near])
    }
}

impl Encoder for GemmaEmbedding {
    fn encode(&self, tokens: &Tensor, counts: &Tensor) -> wootz::Result<Tensor> {
        let (texts, length) = (tokens.shape()[0], tokens.shape()[1]);
        let all = texts * length;
        let places = Tensor::iota_on([length], tokens.device())?.cast(DType::I32)?;
        let [real, near] = self.masks(counts, length)?;
        let mut x = self.ends.embed(&tokens.reshape([all])?)?;
        for (i, layer) in self.layers.iter().enumerate() {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let mut projected = layer.projections.apply(&h)?;
            if let Some(norms) = &layer.head_norms {
                projected = projected.normed(norms, self.epsilon)?;
            }
            // [b·t, heads, width] → [b, heads, t, width].
            let split = |x: &Tensor| {
                let (heads, width) = (x.shape()[1], x.shape()[2]);
                x.reshape([texts, length, heads, width])?.permute([0, 2, 1, 3])
            };
            let heads = &layer.heads;
            let turn = |x: &Tensor| split(x)?.rope(&places, &heads.frequencies, heads.style);
            let mask = if self.attention.window_of(i).is_some() { &near } else { &real };
            let options =
                AttentionOptions { mask: Some(mask), scale: Some(heads.scale), ..Default::default() };
            let mixed =
                turn(&projected.q)?.attention(&turn(&projected.k)?, &split(&projected.v)?, options)?;
            let width = mixed.shape()[1] * mixed.shape()[3];
            let mixed =
                layer.projections.output.apply(&mixed.permute([0, 2, 1, 3])?.reshape([all, width])?)?;
            x = x.add(&mixed.rms_norm(Some(&layer.attention_after), self.epsilon)?)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            let h = layer.ffn.apply(&h, Tensor::gelu_tanh)?;
            x = x.add(&h.rms_norm(Some(&layer.ffn_after), self.epsilon)?)?;
        }
        let x = self.ends.normed(&x)?;
        x.reshape([texts, length, x.shape()[1]])
    }

    fn pooled(&self, x: Tensor) -> wootz::Result<Tensor> {
        match &self.dense {
            Some([up, down]) => down.apply(&up.apply(&x)?),
            None => Ok(x),
        }
    }
}
