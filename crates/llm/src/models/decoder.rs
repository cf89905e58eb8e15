//! What the attention families have in common: projections, heads, the gated feed-forward part, the ends of the network.

use super::{Input, Sequence, cache};
use crate::config::{Attention, Config, Mixer};
use crate::error::{Error, Result};
use crate::rope::Rope;
use crate::weights::{Matrix, Weights};
use wootz::{AttentionOptions, DType, RopeStyle, Tensor};

/// The numbers of an attention model.
pub fn attention_of(config: &Config) -> Result<&Attention> {
    match &config.mixer {
        Mixer::Attention(attention) => Ok(attention),
        Mixer::Recurrent(_) => Err(Error::Model(format!("{} has no attention", config.family.name()))),
    }
}

/// Token embedding, final norm and output matrix, which is the embedding again where the file has no other.
pub struct Ends {
    embedding: Matrix,
    norm: Tensor,
    output: Matrix,
    epsilon: f64,
}

impl Ends {
    pub fn load(config: &Config, weights: &Weights) -> Result<Ends> {
        let embedding = weights.matrix("token_embd.weight", config.vocab, config.width)?;
        let output = match weights.has("output.weight") {
            true => weights.matrix("output.weight", config.vocab, config.width)?,
            false => embedding.clone(),
        };
        let norm = weights.values("output_norm.weight", &[config.width])?;
        Ok(Ends { embedding, norm, output, epsilon: f64::from(config.norm_epsilon) })
    }

    /// The vectors of tokens.
    pub fn embed(&self, tokens: &Tensor) -> wootz::Result<Tensor> {
        self.embedding.rows(tokens)
    }

    /// Logits of hidden vectors.
    pub fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.output.apply(&hidden.rms_norm(Some(&self.norm), self.epsilon)?)
    }
}

/// The tensors of layer `index`.
pub struct LayerWeights<'a> {
    pub config: &'a Config,
    pub attention: &'a Attention,
    pub weights: &'a Weights,
    pub index: usize,
}

impl LayerWeights<'_> {
    /// The vector of a norm over `len` values.
    pub fn norm(&self, part: &str, len: usize) -> Result<Tensor> {
        self.weights.values(&format!("blk.{}.{part}.weight", self.index), &[len])
    }

    fn linear(&self, part: &str, rows: usize, columns: usize) -> Result<Matrix> {
        self.weights.linear(&format!("blk.{}.{part}", self.index), rows, columns)
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
        let (width, a) = (layer.config.width, layer.attention);
        Ok(Projections {
            q: layer.linear("attn_q", a.heads * a.key_len, width)?,
            k: layer.linear("attn_k", a.kv_heads * a.key_len, width)?,
            v: layer.linear("attn_v", a.kv_heads * a.value_len, width)?,
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
    q: Tensor,
    k: Tensor,
    v: Tensor,
}

impl Projected {
    /// Norms over the width of each query head and each key head.
    pub fn normed(self, [q_norm, k_norm]: &[Tensor; 2], epsilon: f64) -> wootz::Result<Projected> {
        let q = self.q.rms_norm(Some(q_norm), epsilon)?;
        let k = self.k.rms_norm(Some(k_norm), epsilon)?;
        Ok(Projected { q, k, v: self.v })
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
        Ok(GatedFeedForward {
            gate: layer.linear("ffn_gate", ffn, width)?,
            up: layer.linear("ffn_up", ffn, width)?,
            down: layer.linear("ffn_down", width, ffn)?,
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

/// How heads attend.
pub struct Heads {
    pub style: RopeStyle,
    pub frequencies: Tensor,
    pub scale: f64,
    pub window: Option<usize>,
}

/// Where in their sequences the tokens of a pass stand.
pub struct Place<'a> {
    sequences: &'a [Sequence<'a>],
    /// Position of each token, `[t, 1]`, so that heads share them.
    each: Tensor,
}

impl<'a> Place<'a> {
    pub fn new(input: &Input<'a>) -> wootz::Result<Place<'a>> {
        let of = |sequence: &Sequence<'_>| {
            let steps = Tensor::iota_on([sequence.rows.len(), 1], input.tokens.device())?.cast(DType::I32)?;
            steps.add(sequence.position)
        };
        let each: Vec<Tensor> = input.sequences.iter().map(of).collect::<wootz::Result<_>>()?;
        Ok(Place { sequences: input.sequences, each: joined(each, 0)? })
    }
}

/// One tensor, or several along an axis.
fn joined(mut parts: Vec<Tensor>, axis: isize) -> wootz::Result<Tensor> {
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => Tensor::concat(&parts.iter().collect::<Vec<_>>(), axis),
    }
}

impl Heads {
    /// Heads that turn as `rope` says, for keys of `key_len` values.
    pub fn new(rope: &Rope, style: RopeStyle, key_len: usize, weights: &Weights) -> Result<Heads> {
        Ok(Heads {
            style,
            frequencies: Tensor::from_slice_on(&rope.frequencies, weights.device())?,
            scale: rope.score_scale / (key_len as f64).sqrt(),
            window: None,
        })
    }

    /// Rotates queries and keys, adds keys and values to the cache of `layer`, and attends: `[t, heads · width]`, and
    /// the new cache of each sequence.
    pub fn attend(
        &self,
        projected: &Projected,
        place: &Place<'_>,
        layer: usize,
    ) -> wootz::Result<(Tensor, Vec<Vec<Tensor>>)> {
        let q = projected.q.rope(&place.each, &self.frequencies, self.style)?;
        let k = projected.k.rope(&place.each, &self.frequencies, self.style)?;
        let (mut all, mut caches) = (Vec::new(), Vec::new());
        for sequence in place.sequences {
            // [t, heads, width] → [1, heads, t, width], the tokens of this sequence.
            let own = |x: &Tensor| {
                let rows = &sequence.rows;
                let whole = x.shape()[0] == rows.len();
                let x = if whole { x.clone() } else { x.narrow(0, rows.start, rows.len())? };
                x.permute([1, 0, 2])?.unsqueeze(0)
            };
            let position = if self.window.is_some() { sequence.window_position } else { sequence.position };
            let [key_cache, value_cache] = sequence.cache(layer);
            let (keys, mut state) = cache::write(key_cache, &own(&k)?, position)?;
            let (values, value_state) = cache::write(value_cache, &own(&projected.v)?, position)?;
            state.extend(value_state);
            let options = AttentionOptions {
                scale: Some(self.scale),
                position: Some(position),
                window: self.window,
                ..Default::default()
            };
            let mixed = own(&q)?.attention(&keys, &values, options)?;
            let (tokens, width) = (sequence.rows.len(), mixed.count() / sequence.rows.len().max(1));
            all.push(mixed.squeeze(0)?.permute([1, 0, 2])?.reshape([tokens, width])?);
            caches.push(state);
        }
        Ok((joined(all, 0)?, caches))
    }
}
