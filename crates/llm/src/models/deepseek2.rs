//! DeepSeek 2 and 3 (DeepSeek-AI, 2024): multi-head latent attention, and a mixture of experts, some of them shared.
//! GLM 4.7 Lite is the same network.
//!
//! For each token one vector `c` is cached, from which every head computes its keys `K·c` and values `V·c`, and one
//! rotated key for all heads. A score `q·(K·c)` is `(Kᵀ·q)·c`, and values can be computed after mixing: so queries
//! are multiplied by `Kᵀ`, attention has a single key head and value head, `c` itself, and its result is multiplied
//! by `V`.

use super::decoder::{Ends, Heads, LayerWeights, TokenPositions, attention_of, own_rows};
use super::experts::FeedForward;
use super::{Input, Memory, Network, NewState, StateSpec, cache};
use crate::config::{Attention, Config, Latent, RopeScaling};
use crate::error::{Error, Result};
use crate::rope::Rope;
use crate::weights::{Matrix, Stack, Weights};
use wootz::{DType, RopeStyle, Tensor};

pub struct DeepSeek2 {
    ends: Ends,
    layers: Vec<Layer>,
    attention: Attention,
    heads: Heads,
    /// Factor on what is rotated, where YaRN makes it longer.
    rotated_length: f64,
    epsilon: f64,
}

struct Layer {
    attention_norm: Tensor,
    attention: LatentAttention,
    ffn_norm: Tensor,
    ffn: FeedForward,
}

struct LatentAttention {
    query: Query,
    /// To `c` and the rotated key.
    latent: Matrix,
    latent_norm: Tensor,
    /// `Kᵀ` and `V` of each head.
    keys: Stack,
    values: Stack,
    output: Matrix,
    numbers: Latent,
    heads: usize,
}

enum Query {
    Direct(Matrix),
    /// Through a narrow vector, with a norm.
    Narrow {
        down: Matrix,
        norm: Tensor,
        up: Matrix,
    },
}

impl DeepSeek2 {
    pub fn load(config: &Config, weights: &Weights) -> Result<DeepSeek2> {
        let attention = attention_of(config)?.clone();
        let latent = attention.latent.ok_or_else(|| Error::Model("deepseek2 without latent heads".into()))?;
        let kept = latent.rank + attention.rope_len;
        if attention.key_len != kept || attention.kv_heads != 1 {
            return Err(Error::Model(format!(
                "{} key heads of {} values, where one of {kept} is kept; files from before latent attention was \
                 stored as such are not supported",
                attention.kv_heads, attention.key_len
            )));
        }
        let layers = (0..config.layers)
            .map(|index| Layer::load(&LayerWeights { config, weights, index }, latent))
            .collect::<Result<_>>()?;
        let (rotated_length, score_length) = lengths(&attention);
        let heads = Heads::new(&Rope::new(&attention, None), RopeStyle::Interleaved, &attention, weights)?;
        let scale = score_length * score_length / (latent.key_len as f64).sqrt();
        Ok(DeepSeek2 {
            ends: Ends::load(config, weights)?,
            layers,
            heads: Heads { scale, ..heads },
            attention,
            rotated_length,
            epsilon: f64::from(config.norm_epsilon),
        })
    }
}

/// What YaRN multiplies rotated values by, and all queries and keys. The file's number is a tenth of DeepSeek's `mscale_all_dim`.
fn lengths(attention: &Attention) -> (f64, f64) {
    let own = f64::from(attention.rope_length);
    let RopeScaling::Yarn { factor, log_multiplier, .. } = attention.rope_scaling else { return (own, own) };
    let grown = 0.1 * f64::from(factor).max(1.0).ln();
    match f64::from(log_multiplier) / 0.1 {
        0.0 => (own * (1.0 + grown), own * (1.0 + grown)),
        multiplier => (own, own * (1.0 + multiplier * grown)),
    }
}

impl Layer {
    fn load(layer: &LayerWeights<'_>, latent: Latent) -> Result<Layer> {
        let width = layer.config.width;
        Ok(Layer {
            attention_norm: layer.norm("attn_norm", width)?,
            attention: LatentAttention::load(layer, latent)?,
            ffn_norm: layer.norm("ffn_norm", width)?,
            ffn: FeedForward::load(layer)?,
        })
    }
}

impl LatentAttention {
    fn load(layer: &LayerWeights<'_>, numbers: Latent) -> Result<LatentAttention> {
        let (width, a) = (layer.config.width, layer.attention()?);
        let Latent { rank, query_rank, key_len, value_len } = numbers;
        let stack = |part: &str, rows, columns| {
            layer.weights.stack(&format!("blk.{}.{part}", layer.index), a.heads, rows, columns)
        };
        Ok(LatentAttention {
            query: match query_rank.filter(|_| layer.has("attn_q_a")) {
                Some(rank) => Query::Narrow {
                    down: layer.linear("attn_q_a", rank, width)?,
                    norm: layer.norm("attn_q_a_norm", rank)?,
                    up: layer.linear("attn_q_b", a.heads * key_len, rank)?,
                },
                None => Query::Direct(layer.linear("attn_q", a.heads * key_len, width)?),
            },
            latent: layer.linear("attn_kv_a_mqa", rank + a.rope_len, width)?,
            latent_norm: layer.norm("attn_kv_a_norm", rank)?,
            keys: stack("attn_k_b", rank, key_len - a.rope_len)?,
            values: stack("attn_v_b", value_len, rank)?,
            output: layer.linear("attn_output", width, a.heads * value_len)?,
            numbers,
            heads: a.heads,
        })
    }

    /// Each head's part of `x [t, heads, n]` times its own matrix.
    fn by_head(&self, stack: &Stack, x: &Tensor) -> wootz::Result<Tensor> {
        let (tokens, heads, len) = (x.shape()[0], x.shape()[1], x.shape()[2]);
        let own = Tensor::iota_on([1, heads], x.device())?.cast(DType::I32)?.broadcast_to([tokens, heads])?;
        let product = stack.apply(&x.reshape([tokens * heads, len])?, &own.reshape([tokens * heads, 1])?)?;
        let rows = product.count() / (tokens * heads).max(1);
        product.reshape([tokens, heads, rows])
    }

    fn queries(&self, x: &Tensor, epsilon: f64) -> wootz::Result<Tensor> {
        let q = match &self.query {
            Query::Direct(matrix) => matrix.apply(x)?,
            Query::Narrow { down, norm, up } => up.apply(&down.apply(x)?.rms_norm(Some(norm), epsilon)?)?,
        };
        q.reshape([x.shape()[0], self.heads, self.numbers.key_len])
    }

    fn apply(
        &self,
        x: &Tensor,
        network: &DeepSeek2,
        positions: &TokenPositions<'_>,
        layer: usize,
    ) -> wootz::Result<(Tensor, Vec<Vec<Tensor>>)> {
        let (tokens, Latent { rank, key_len, value_len, .. }) = (x.shape()[0], self.numbers);
        let rotated = network.attention.rope_len;
        let rotate = |x: &Tensor| {
            let x = network.heads.rotate(x, positions, layer)?;
            if network.rotated_length == 1.0 { Ok(x) } else { x.mul(network.rotated_length) }
        };
        let q = self.queries(x, network.epsilon)?;
        let absorbed = self.by_head(&self.keys, &q.narrow(2, 0, key_len - rotated)?)?;
        let q = Tensor::concat(&[&absorbed, &rotate(&q.narrow(2, key_len - rotated, rotated)?)?], 2)?;
        let latent = self.latent.apply(x)?;
        let c = latent.narrow(1, 0, rank)?.rms_norm(Some(&self.latent_norm), network.epsilon)?;
        let turned = rotate(&latent.narrow(1, rank, rotated)?.unsqueeze(1)?)?;
        let k = Tensor::concat(&[&c.unsqueeze(1)?, &turned], 2)?;

        let (mut kept, mut caches) = (Vec::new(), Vec::new());
        for sequence in positions.sequences {
            let pieces = cache::pieces(sequence.format) / 2;
            let own = &sequence.state[layer * pieces..(layer + 1) * pieces];
            let new = own_rows(&k, sequence)?.permute([1, 0, 2])?.unsqueeze(0)?;
            let (keys, state) = cache::write(own, &new, sequence.position)?;
            let values = keys.narrow(3, 0, rank)?;
            kept.push([keys, values]);
            caches.push(state);
        }
        let mixed = network.heads.mix(&q, &kept, positions)?.reshape([tokens, self.heads, rank])?;
        let mixed = self.by_head(&self.values, &mixed)?.reshape([tokens, self.heads * value_len])?;
        Ok((self.output.apply(&mixed)?, caches))
    }
}

impl Network for DeepSeek2 {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        let own = self.attention.layer(0);
        let layer = cache::rows(own, own.key_len, memory);
        (0..self.layers.len()).flat_map(|_| layer.clone()).collect()
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let positions = TokenPositions::new(input)?;
        let mut x = self.ends.embed(input.tokens)?;
        let mut state = NewState::default();
        for (i, layer) in self.layers.iter().enumerate() {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let (mixed, cache) = layer.attention.apply(&h, self, &positions, i)?;
            state.push(cache);
            x = x.add(&mixed)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            x = x.add(&layer.ffn.apply(&h)?)?;
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
