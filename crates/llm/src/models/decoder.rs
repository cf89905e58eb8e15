//! Common parts of the attention families: projections, heads, the gated feed-forward network, embedding and output.

use super::{Input, Sequence, cache};
use crate::config::{Attention, Config, Family, Scales, Temperature};
use crate::error::{Error, Result};
use crate::ranks::Stage;
use crate::rope::Rope;
use crate::weights::{Matrix, Weights};
use wootz::{AttentionOptions, DType, RopeStyle, Tensor};

/// The numbers of an attention model.
pub fn attention_of(config: &Config) -> Result<&Attention> {
    let attention = config.mixer.attention();
    attention.ok_or_else(|| Error::Model(format!("{} has no attention", config.family.name())))
}

/// Token embedding, final norm and output matrix, which is the embedding again where the file has no other.
pub struct Ends {
    embedding: Matrix,
    norm: Tensor,
    output: Matrix,
    epsilon: f64,
    scales: Scales,
    /// This rank's place among several that have the layers.
    stage: Option<Stage>,
}

impl Ends {
    pub fn load(config: &Config, weights: &Weights) -> Result<Ends> {
        let embedding = weights.matrix("token_embd.weight", config.vocab, config.width)?;
        let output = match weights.has("output.weight") {
            true => weights.output("output.weight", config.vocab, config.width)?,
            false => weights.output("token_embd.weight", config.vocab, config.width)?,
        };
        // Liquid's files have it by another name.
        let norm = match config.family {
            Family::Lfm2 | Family::Lfm2Moe => "token_embd_norm.weight",
            _ => "output_norm.weight",
        };
        let norm = weights.values(norm, &[config.width])?;
        let (epsilon, scales) = (f64::from(config.norm_epsilon), config.scales);
        Ok(Ends { embedding, norm, output, epsilon, scales, stage: weights.stage() })
    }

    /// The vectors of tokens, as the first layer reads them; those of a rank further on come from the rank before.
    pub fn embed(&self, tokens: &Tensor) -> wootz::Result<Tensor> {
        if let Some(stage) = self.stage.as_ref().filter(|stage| !stage.is_first()) {
            return stage.receive(tokens, self.norm.shape()[0]);
        }
        let rows = self.embedding.rows(tokens)?;
        match self.scales.embedding {
            Some(scale) => rows.mul(scale),
            None => Ok(rows),
        }
    }

    /// Hidden vectors as the output matrix reads them.
    pub fn normed(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        hidden.rms_norm(Some(&self.norm), self.epsilon)
    }

    /// Logits of hidden vectors.
    pub fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        let mut logits = self.output.apply(&self.normed(hidden)?)?;
        if let Some(scale) = self.scales.logits {
            logits = logits.div(scale)?;
        }
        match self.scales.logit_cap {
            Some(cap) => logits.div(cap)?.tanh()?.mul(cap),
            None => Ok(logits),
        }
    }
}

/// The tensors of layer `index`.
pub struct LayerWeights<'a> {
    pub config: &'a Config,
    pub weights: &'a Weights,
    pub index: usize,
}

impl LayerWeights<'_> {
    /// The numbers of the model's attention.
    pub fn attention(&self) -> Result<&Attention> {
        attention_of(self.config)
    }

    /// The vector of a norm over `len` values.
    pub fn norm(&self, part: &str, len: usize) -> Result<Tensor> {
        self.weights.values(&format!("blk.{}.{part}.weight", self.index), &[len])
    }

    /// A matrix with its bias.
    pub fn linear(&self, part: &str, rows: usize, columns: usize) -> Result<Matrix> {
        self.weights.linear(&format!("blk.{}.{part}", self.index), rows, columns)
    }

    /// Whether the layer has this matrix.
    pub fn has(&self, part: &str) -> bool {
        self.weights.has(&format!("blk.{}.{part}.weight", self.index))
    }

    /// Matrices that the file has as one.
    pub fn parts<const N: usize>(&self, part: &str, rows: [usize; N], columns: usize) -> Result<[Matrix; N]> {
        self.weights.parts(&format!("blk.{}.{part}", self.index), rows, columns)
    }
}

/// From the residual stream to queries, keys and values, and from mixed values back.
pub struct Projections {
    q: Matrix,
    k: Matrix,
    v: Matrix,
    pub output: Matrix,
    heads: usize,
    kv_heads: usize,
}

impl Projections {
    pub fn load(layer: &LayerWeights<'_>) -> Result<Projections> {
        let (width, a) = (layer.config.width, layer.attention()?);
        // A gate behind each query is as wide as the query.
        let gated = if layer.config.family.has_gated_attention() { 2 } else { 1 };
        let rows = [a.heads * a.key_len * gated, a.kv_heads * a.key_len, a.kv_heads * a.value_len];
        let [q, k, v] = match layer.has("attn_qkv") {
            true => layer.parts("attn_qkv", rows, width)?,
            false => [
                layer.linear("attn_q", rows[0], width)?,
                layer.linear("attn_k", rows[1], width)?,
                layer.linear("attn_v", rows[2], width)?,
            ],
        };
        Ok(Projections {
            q,
            k,
            v,
            output: layer.linear("attn_output", width, a.heads * a.value_len)?,
            heads: a.heads,
            kv_heads: a.kv_heads,
        })
    }

    pub fn apply(&self, x: &Tensor) -> wootz::Result<Projected> {
        let split = |x: Tensor, heads: usize| x.reshape([x.shape()[0], heads, x.shape()[1] / heads]);
        Ok(Projected {
            q: split(self.q.apply(x)?, self.heads)?,
            k: split(self.k.apply(x)?, self.kv_heads)?,
            v: split(self.v.apply(x)?, self.kv_heads)?,
        })
    }
}

/// Queries, keys and values of a pass, `[t, heads, width]` each, before rotation.
pub struct Projected {
    pub q: Tensor,
    pub k: Tensor,
    pub v: Tensor,
}

impl Projected {
    /// Norms over the width of each query head and each key head.
    pub fn normed(self, [q_norm, k_norm]: &[Tensor; 2], epsilon: f64) -> wootz::Result<Projected> {
        let q = self.q.rms_norm(Some(q_norm), epsilon)?;
        let k = self.k.rms_norm(Some(k_norm), epsilon)?;
        Ok(Projected { q, k, v: self.v })
    }

    /// Norms over all query heads together, and over all key heads.
    pub fn normed_together(self, [q_norm, k_norm]: &[Tensor; 2], epsilon: f64) -> wootz::Result<Projected> {
        let all = |x: &Tensor, norm: &Tensor| {
            let shape = x.shape();
            x.reshape([shape[0], shape[1] * shape[2]])?.rms_norm(Some(norm), epsilon)?.reshape(shape)
        };
        Ok(Projected { q: all(&self.q, q_norm)?, k: all(&self.k, k_norm)?, v: self.v })
    }
}

/// `down(activation(gate(x)) · up(x))`.
pub struct GatedFeedForward {
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

impl GatedFeedForward {
    pub fn load(layer: &LayerWeights<'_>) -> Result<GatedFeedForward> {
        let (width, ffn) = (layer.config.width, layer.config.ffn);
        if layer.has("ffn_gate") {
            return GatedFeedForward::named(layer, ffn, ["ffn_gate", "ffn_up", "ffn_down"]);
        }
        let [gate, up] = layer.parts("ffn_up", [ffn, ffn], width)?;
        Ok(GatedFeedForward { gate, up, down: layer.linear("ffn_down", width, ffn)? })
    }

    /// The same of another width, by the names of gate, up and down.
    pub fn named(
        layer: &LayerWeights<'_>,
        ffn: usize,
        [gate, up, down]: [&str; 3],
    ) -> Result<GatedFeedForward> {
        let width = layer.config.width;
        Ok(GatedFeedForward {
            gate: layer.linear(gate, ffn, width)?,
            up: layer.linear(up, ffn, width)?,
            down: layer.linear(down, width, ffn)?,
        })
    }

    pub fn apply(
        &self,
        x: &Tensor,
        activation: impl Fn(&Tensor) -> wootz::Result<Tensor>,
    ) -> wootz::Result<Tensor> {
        self.down.apply(&activation(&self.gate.apply(x)?)?.mul(&self.up.apply(x)?)?)
    }
}

/// All keys and values of each sequence.
type KeysAndValues = Vec<[Tensor; 2]>;

/// How heads attend.
pub struct Heads {
    pub style: RopeStyle,
    pub frequencies: Tensor,
    pub scale: f64,
    pub window: Option<usize>,
    /// Soft limit of the scores.
    pub softcap: Option<f64>,
    /// A score for each head that takes its part of the softmax.
    pub sinks: Option<Tensor>,
    /// Every so many layers, the last one does not rotate.
    pub unrotated_period: Option<usize>,
    /// The model's layers before the first of this rank.
    pub first_layer: usize,
    /// How queries grow with the position.
    pub temperature: Option<Temperature>,
}

/// Where in their sequences the tokens of a pass stand.
pub struct TokenPositions<'a> {
    pub sequences: &'a [Sequence<'a>],
    /// Position of each token, `[t, 1]`, so that heads share them.
    pub each: Tensor,
}

impl<'a> TokenPositions<'a> {
    pub fn new(input: &Input<'a>) -> wootz::Result<TokenPositions<'a>> {
        let of = |sequence: &Sequence<'_>| {
            let steps = Tensor::iota_on([sequence.rows.len(), 1], input.tokens.device())?.cast(DType::I32)?;
            steps.add(sequence.position)
        };
        let each: Vec<Tensor> = input.sequences.iter().map(of).collect::<wootz::Result<_>>()?;
        Ok(TokenPositions { sequences: input.sequences, each: joined(each, 0)? })
    }
}

/// One tensor, or several along an axis.
pub fn joined(mut parts: Vec<Tensor>, axis: isize) -> wootz::Result<Tensor> {
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => Tensor::concat(&parts.iter().collect::<Vec<_>>(), axis),
    }
}

impl Heads {
    /// Heads that turn as `rope` says; scores are scaled by the width of a key, unless the model says otherwise.
    pub fn new(rope: &Rope, style: RopeStyle, attention: &Attention, weights: &Weights) -> Result<Heads> {
        let scale = attention.scale.map_or(1.0 / (attention.key_len as f64).sqrt(), f64::from);
        Ok(Heads {
            style,
            frequencies: Tensor::from_slice_on(&rope.frequencies, weights.device())?,
            scale: rope.score_scale * scale,
            window: None,
            softcap: attention.softcap.map(f64::from),
            sinks: None,
            unrotated_period: attention.unrotated_period,
            first_layer: attention.first_layer,
            temperature: attention.temperature,
        })
    }

    /// Queries or keys of a layer, rotated.
    pub fn rotate(&self, x: &Tensor, positions: &TokenPositions<'_>, layer: usize) -> wootz::Result<Tensor> {
        match self
            .unrotated_period
            .is_none_or(|period| !(self.first_layer + layer + 1).is_multiple_of(period))
        {
            true => x.rope(&positions.each, &self.frequencies, self.style),
            false => Ok(x.clone()),
        }
    }

    /// Queries as they grow with the position.
    fn sharpened(&self, q: Tensor, positions: &TokenPositions<'_>) -> wootz::Result<Tensor> {
        let Some(Temperature { scale, floor }) = self.temperature else { return Ok(q) };
        let steps = positions.each.floor_divide(floor as i64)?.cast(DType::F32)?;
        let growth = steps.log1p()?.mul(scale)?.add(1.0)?;
        q.mul(&growth.unsqueeze(-1)?)
    }

    /// Rotates queries and keys, adds keys and values to the cache of `layer`, and attends: `[t, heads · width]`, and
    /// the new cache of each sequence.
    pub fn attend(
        &self,
        projected: &Projected,
        positions: &TokenPositions<'_>,
        layer: usize,
    ) -> wootz::Result<(Tensor, Vec<Vec<Tensor>>)> {
        let q = self.sharpened(self.rotate(&projected.q, positions, layer)?, positions)?;
        let k = self.rotate(&projected.k, positions, layer)?;
        let (kept, caches) = self.remember([&k, &projected.v], positions, layer)?;
        Ok((self.mix(&q, &kept, positions)?, caches))
    }

    /// Adds keys and values to the cache of `layer`: all that each sequence has now, and its new cache.
    pub fn remember(
        &self,
        [k, v]: [&Tensor; 2],
        positions: &TokenPositions<'_>,
        layer: usize,
    ) -> wootz::Result<(KeysAndValues, Vec<Vec<Tensor>>)> {
        let (mut all, mut caches) = (Vec::new(), Vec::new());
        for sequence in positions.sequences {
            let position = self.position(sequence);
            let [key_cache, value_cache] = sequence.cache(layer);
            let (keys, mut state) = cache::write(key_cache, &by_head(k, sequence)?, position)?;
            let (values, value_state) = cache::write(value_cache, &by_head(v, sequence)?, position)?;
            state.extend(value_state);
            all.push([keys, values]);
            caches.push(state);
        }
        Ok((all, caches))
    }

    /// Rotated queries `[t, heads, width]` over the keys and values of each sequence: `[t, heads · width]`.
    pub fn mix(
        &self,
        q: &Tensor,
        kept: &[[Tensor; 2]],
        positions: &TokenPositions<'_>,
    ) -> wootz::Result<Tensor> {
        let mut all = Vec::with_capacity(kept.len());
        for (sequence, [keys, values]) in positions.sequences.iter().zip(kept) {
            let options = AttentionOptions {
                scale: Some(self.scale),
                position: Some(self.position(sequence)),
                window: self.window,
                softcap: self.softcap,
                sinks: self.sinks.as_ref(),
                ..Default::default()
            };
            let mixed = by_head(q, sequence)?.attention(keys, values, options)?;
            let (tokens, width) = (sequence.rows.len(), mixed.count() / sequence.rows.len().max(1));
            all.push(mixed.squeeze(0)?.permute([1, 0, 2])?.reshape([tokens, width])?);
        }
        joined(all, 0)
    }

    /// Where the first token of a sequence stands in the cache.
    fn position<'a>(&self, sequence: &Sequence<'a>) -> &'a Tensor {
        if self.window.is_some() { sequence.window_position } else { sequence.position }
    }
}

/// The tokens of a sequence of `[t, heads, width]`, as `[1, heads, t, width]`.
fn by_head(x: &Tensor, sequence: &Sequence<'_>) -> wootz::Result<Tensor> {
    own_rows(x, sequence)?.permute([1, 0, 2])?.unsqueeze(0)
}

/// The rows of a sequence.
pub fn own_rows(x: &Tensor, sequence: &Sequence<'_>) -> wootz::Result<Tensor> {
    let rows = &sequence.rows;
    if x.shape()[0] == rows.len() { Ok(x.clone()) } else { x.narrow(0, rows.start, rows.len()) }
}
