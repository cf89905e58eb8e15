//! Gemma 4 (Gemma Team, 2026): Gemma 3's norms and windows, with heads of two widths (global layers have wider ones,
//! partially rotated), normalised values, and no scaling of scores. The small models share keys and values between
//! their last layers and have per-layer embeddings; the mixture has experts in addition to the ordinary feed-forward
//! network.

use super::decoder::{Ends, GatedFeedForward, Heads, LayerWeights, TokenPositions, attention_of};
use super::experts::RoutedFeedForward;
use super::{Input, Memory, Network, NewState, StateSpec, cache};
use crate::config::{Attention, Config, Experts, LayerHeads};
use crate::error::Result;
use crate::rope::Rope;
use crate::weights::{Matrix, Weights};
use wootz::{RopeStyle, Tensor};

pub struct Gemma4 {
    ends: Ends,
    layers: Vec<Layer>,
    layer_embeddings: Option<LayerEmbeddings>,
    attention: Attention,
    epsilon: f64,
}

struct Layer {
    attention_norm: Tensor,
    attention: SharingAttention,
    attention_after: Tensor,
    ffn_norm: Tensor,
    ffn: GatedFeedForward,
    experts: Option<Box<BesideExperts>>,
    ffn_after: Tensor,
    embedding: Option<LayerEmbedding>,
    /// Factor on all that the layer gives.
    scale: Option<Tensor>,
}

/// Attention over keys and values of its own, or of an earlier layer.
struct SharingAttention {
    heads: Heads,
    own: LayerHeads,
    query_heads: usize,
    q: Matrix,
    q_norm: Tensor,
    keys: Option<Keys>,
    output: Matrix,
}

struct Keys {
    k: Matrix,
    /// Without one, values are the keys before their norm.
    v: Option<Matrix>,
    norm: Tensor,
}

/// Experts that are added to the feed-forward part, with norms of their own.
struct BesideExperts {
    routed: RoutedFeedForward,
    judged_scale: Tensor,
    before: Tensor,
    after: Tensor,
    /// Behind the ordinary part.
    ffn_after: Tensor,
}

/// A vector of each token for each layer, and another that comes from its embedding.
struct LayerEmbeddings {
    tokens: Matrix,
    projection: Matrix,
    norm: Tensor,
    len: usize,
}

struct LayerEmbedding {
    gate: Matrix,
    projection: Matrix,
    norm: Tensor,
}

impl Gemma4 {
    pub fn load(config: &Config, weights: &Weights) -> Result<Gemma4> {
        let attention = attention_of(config)?.clone();
        let factors = weights.optional_values("rope_freqs.weight", &[attention.rope_len / 2])?;
        let factors = factors.map(|f| f.to_vec::<f32>()).transpose()?;
        let layer = |index| Layer::load(&LayerWeights { config, weights, index }, factors.as_deref());
        let layers = (0..config.layers).map(layer).collect::<Result<_>>()?;
        Ok(Gemma4 {
            ends: Ends::load(config, weights)?,
            layers,
            layer_embeddings: match config.layer_embedding {
                Some(len) => Some(LayerEmbeddings::load(config, weights, len)?),
                None => None,
            },
            attention,
            epsilon: f64::from(config.norm_epsilon),
        })
    }
}

impl LayerEmbeddings {
    fn load(config: &Config, weights: &Weights, len: usize) -> Result<LayerEmbeddings> {
        let all = len * config.layers;
        Ok(LayerEmbeddings {
            tokens: weights.matrix("per_layer_token_embd.weight", config.vocab, all)?,
            projection: weights.matrix("per_layer_model_proj.weight", all, config.width)?,
            norm: weights.values("per_layer_proj_norm.weight", &[len])?,
            len,
        })
    }

    /// `[t, layers, len]`.
    fn apply(&self, tokens: &Tensor, x: &Tensor, epsilon: f64) -> wootz::Result<Tensor> {
        let rows = self.tokens.rows(tokens)?.mul((self.len as f64).sqrt())?;
        let shape = [x.shape()[0], rows.shape()[1] / self.len, self.len];
        let projected = self.projection.apply(x)?.mul(1.0 / (x.shape()[1] as f64).sqrt())?;
        let projected = projected.reshape(shape)?.rms_norm(Some(&self.norm), epsilon)?;
        projected.add(&rows.reshape(shape)?)?.mul(std::f64::consts::FRAC_1_SQRT_2)
    }
}

impl Layer {
    fn load(layer: &LayerWeights<'_>, factors: Option<&[f32]>) -> Result<Layer> {
        let (width, index) = (layer.config.width, layer.index);
        let ffn = layer.config.ffn_of.get(index).copied().unwrap_or(layer.config.ffn);
        let experts = layer.config.experts.filter(|_| layer.has("ffn_gate_inp"));
        Ok(Layer {
            attention_norm: layer.norm("attn_norm", width)?,
            attention: SharingAttention::load(layer, factors)?,
            attention_after: layer.norm("post_attention_norm", width)?,
            ffn_norm: layer.norm("ffn_norm", width)?,
            ffn: GatedFeedForward::named(layer, ffn, ["ffn_gate", "ffn_up", "ffn_down"])?,
            experts: match experts {
                Some(experts) => Some(Box::new(BesideExperts::load(layer, experts)?)),
                None => None,
            },
            ffn_after: layer.norm("post_ffw_norm", width)?,
            embedding: match layer.config.layer_embedding {
                Some(len) => Some(LayerEmbedding {
                    gate: layer.linear("inp_gate", len, width)?,
                    projection: layer.linear("proj", width, len)?,
                    norm: layer.norm("post_norm", width)?,
                }),
                None => None,
            },
            scale: layer.weights.optional_values(&format!("blk.{index}.layer_output_scale.weight"), &[1])?,
        })
    }

    /// The feed-forward part of the residual stream.
    fn feed_forward(&self, x: &Tensor, epsilon: f64) -> wootz::Result<Tensor> {
        let h = self.ffn.apply(&x.rms_norm(Some(&self.ffn_norm), epsilon)?, Tensor::gelu_tanh)?;
        let h = match &self.experts {
            Some(experts) => {
                let beside = experts.apply(x, epsilon)?;
                h.rms_norm(Some(&experts.ffn_after), epsilon)?.add(&beside)?
            }
            None => h,
        };
        h.rms_norm(Some(&self.ffn_after), epsilon)
    }
}

impl BesideExperts {
    fn load(layer: &LayerWeights<'_>, experts: Experts) -> Result<BesideExperts> {
        let width = layer.config.width;
        Ok(BesideExperts {
            routed: RoutedFeedForward::load(layer, experts)?,
            judged_scale: layer
                .weights
                .values(&format!("blk.{}.ffn_gate_inp.scale", layer.index), &[width])?,
            before: layer.norm("pre_ffw_norm_2", width)?,
            after: layer.norm("post_ffw_norm_2", width)?,
            ffn_after: layer.norm("post_ffw_norm_1", width)?,
        })
    }

    fn apply(&self, x: &Tensor, epsilon: f64) -> wootz::Result<Tensor> {
        let judged = x.rms_norm(None, epsilon)?.mul(1.0 / (x.shape()[1] as f64).sqrt())?;
        let judged = judged.mul(&self.judged_scale)?;
        let h = self.routed.apply_routed(&x.rms_norm(Some(&self.before), epsilon)?, &judged)?;
        h.rms_norm(Some(&self.after), epsilon)
    }
}

impl SharingAttention {
    fn load(layer: &LayerWeights<'_>, factors: Option<&[f32]>) -> Result<SharingAttention> {
        let (width, attention) = (layer.config.width, layer.attention()?);
        let own = attention.layer(layer.index);
        let rope = match own.window {
            Some(_) => Rope::plain(attention.rope_base_local, own.rope_len),
            None => Rope::new(attention, factors),
        };
        let has_keys = layer.index < attention.caches(layer.config.layers);
        let heads = Heads::new(&rope, RopeStyle::Half, attention, layer.weights)?;
        Ok(SharingAttention {
            heads: Heads { window: own.window, ..heads },
            own,
            query_heads: attention.heads,
            q: layer.linear("attn_q", attention.heads * own.key_len, width)?,
            q_norm: layer.norm("attn_q_norm", own.key_len)?,
            keys: match has_keys {
                true => Some(Keys {
                    k: layer.linear("attn_k", own.kv_heads * own.key_len, width)?,
                    v: match layer.has("attn_v") {
                        true => Some(layer.linear("attn_v", own.kv_heads * own.value_len, width)?),
                        false => None,
                    },
                    norm: layer.norm("attn_k_norm", own.key_len)?,
                }),
                false => None,
            },
            output: layer.linear("attn_output", width, attention.heads * own.value_len)?,
        })
    }

    /// Rotated keys and values of the tokens, `[t, heads, width]`.
    fn keys(
        &self,
        keys: &Keys,
        x: &Tensor,
        positions: &TokenPositions<'_>,
        (layer, epsilon): (usize, f64),
    ) -> wootz::Result<[Tensor; 2]> {
        let (tokens, own) = (x.shape()[0], self.own);
        let k = keys.k.apply(x)?;
        let v = if let Some(v) = &keys.v { v.apply(x)? } else { k.clone() };
        let k = k.reshape([tokens, own.kv_heads, own.key_len])?.rms_norm(Some(&keys.norm), epsilon)?;
        let v = v.reshape([tokens, own.kv_heads, own.value_len])?.rms_norm(None, epsilon)?;
        Ok([self.heads.rotate(&k, positions, layer)?, v])
    }
}

impl Network for Gemma4 {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        cache::specs(self.layers.len(), &self.attention, memory)
    }

    fn window(&self) -> Option<usize> {
        self.attention.window
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let (positions, epsilon) = (TokenPositions::new(input)?, self.epsilon);
        let mut x = self.ends.embed(input.tokens)?;
        let embeddings = match &self.layer_embeddings {
            Some(embeddings) => Some(embeddings.apply(input.tokens, &x, epsilon)?),
            None => None,
        };
        let mut state = NewState::default();
        // Keys and values of each layer that has its own.
        let mut kept: Vec<Vec<[Tensor; 2]>> = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            let h = x.rms_norm(Some(&layer.attention_norm), epsilon)?;
            let attention = &layer.attention;
            let q = attention.q.apply(&h)?;
            let q = q.reshape([h.shape()[0], attention.query_heads, attention.own.key_len])?;
            let q = attention.heads.rotate(&q.rms_norm(Some(&attention.q_norm), epsilon)?, &positions, i)?;
            if let Some(keys) = &attention.keys {
                let [k, v] = attention.keys(keys, &h, &positions, (i, epsilon))?;
                let (all, caches) = attention.heads.remember([&k, &v], &positions, i)?;
                kept.push(all);
                state.push(caches);
            }
            // The last two layers with keys are one of each kind.
            let from = match (&attention.keys, attention.own.window) {
                (Some(_), _) => i,
                (None, Some(_)) => kept.len() - 2,
                (None, None) => kept.len() - 1,
            };
            let mixed = attention.output.apply(&attention.heads.mix(&q, &kept[from], &positions)?)?;
            x = x.add(&mixed.rms_norm(Some(&layer.attention_after), epsilon)?)?;
            x = x.add(&layer.feed_forward(&x, epsilon)?)?;
            if let (Some(embeddings), Some(own)) = (&embeddings, &layer.embedding) {
                let h = own.gate.apply(&x)?.gelu_tanh()?.mul(&embeddings.narrow(1, i, 1)?.squeeze(1)?)?;
                x = x.add(&own.projection.apply(&h)?.rms_norm(Some(&own.norm), epsilon)?)?;
            }
            if let Some(scale) = &layer.scale {
                x = x.mul(scale)?;
            }
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
