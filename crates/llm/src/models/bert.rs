//! BERT (Devlin et al., 2018): an encoder. All tokens of a text attend to each other; norms follow each sublayer,
//! after the residual connection. Nomic's variant rotates queries and keys instead of adding positions, and has a
//! gated feed-forward network.

use super::Encoder;
use super::decoder::{GatedFeedForward, LayerWeights, attention_of};
use crate::config::{Config, Family, Pooling};
use crate::error::Result;
use crate::rope::Rope;
use crate::weights::{Matrix, Weights};
use wootz::{AttentionOptions, DType, RopeStyle, Tensor};

/// An encoder: vectors of whole texts, several at once.
pub struct Bert {
    tokens: Matrix,
    kinds: Kinds,
    positions: Option<Matrix>,
    /// Rotation frequencies, where there are no vectors of positions.
    frequencies: Option<Tensor>,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    epsilon: f64,
}

/// Vectors that tell apart the two texts of a pair.
enum Kinds {
    None,
    /// The vector of the first text, which there is no other of.
    First(Tensor),
    /// The vectors of both; the first ends with this token.
    Pair(Matrix, u32),
}

impl Kinds {
    fn load(config: &Config, weights: &Weights) -> Result<Kinds> {
        if !weights.has("token_types.weight") {
            return Ok(Kinds::None);
        }
        let vectors = weights.matrix("token_types.weight", 2, config.width)?;
        Ok(match config.separator.filter(|_| config.pooling == Pooling::Rank) {
            Some(separator) => Kinds::Pair(vectors, separator),
            None => Kinds::First(vectors.rows(&zero(weights)?)?),
        })
    }

    /// Adds the vectors to those of tokens `[b, t]`.
    fn add(&self, x: Tensor, tokens: &Tensor) -> wootz::Result<Tensor> {
        match self {
            Kinds::None => Ok(x),
            Kinds::First(vector) => x.add(vector),
            Kinds::Pair(vectors, separator) => {
                let ends = tokens.equal(*separator)?.cast(DType::I32)?;
                // Separators before each token; the one after the second text begins no third.
                let before = ends.cumsum(1)?.sub(&ends)?.minimum(1)?.cast(DType::I32)?;
                x.add(&vectors.rows(&before)?)
            }
        }
    }
}

struct Layer {
    q: Matrix,
    k: Matrix,
    v: Matrix,
    output: Matrix,
    attention_norm: Norm,
    ffn: FeedForward,
    ffn_norm: Norm,
}

enum FeedForward {
    Plain { up: Matrix, down: Matrix },
    Gated(GatedFeedForward),
}

/// Weight and bias.
struct Norm([Tensor; 2]);

impl Norm {
    fn load(weights: &Weights, name: &str, width: usize) -> Result<Norm> {
        let of = |kind: &str| weights.values(&format!("{name}.{kind}"), &[width]);
        Ok(Norm([of("weight")?, of("bias")?]))
    }

    fn apply(&self, x: &Tensor, epsilon: f64) -> wootz::Result<Tensor> {
        x.layer_norm(Some(&self.0[0]), Some(&self.0[1]), epsilon)
    }
}

impl Bert {
    pub fn load(config: &Config, weights: &Weights) -> Result<Bert> {
        let (width, attention) = (config.width, attention_of(config)?);
        let layer = |index| Layer::load(&LayerWeights { config, weights, index });
        let rotates = config.family == Family::NomicBert;
        Ok(Bert {
            tokens: weights.matrix("token_embd.weight", config.vocab, width)?,
            kinds: Kinds::load(config, weights)?,
            positions: match rotates {
                true => None,
                false => Some(weights.matrix("position_embd.weight", config.context, width)?),
            },
            frequencies: match rotates {
                true => {
                    let rope = Rope::new(attention, None);
                    Some(Tensor::from_slice_on(&rope.frequencies, weights.device())?)
                }
                false => None,
            },
            norm: Norm::load(weights, "token_embd_norm", width)?,
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            heads: attention.heads,
            epsilon: f64::from(config.norm_epsilon),
        })
    }
}

impl Encoder for Bert {
    fn encode(&self, tokens: &Tensor, counts: &Tensor) -> wootz::Result<Tensor> {
        let (texts, length) = (tokens.shape()[0], tokens.shape()[1]);
        let places = Tensor::iota_on([length], tokens.device())?;
        let mut x = self.kinds.add(self.tokens.rows(tokens)?, tokens)?;
        if let Some(positions) = &self.positions {
            x = x.add(&positions.rows(&places)?)?;
        }
        x = self.norm.apply(&x, self.epsilon)?;
        // What fills a text up is seen by nobody.
        let real = places.less(&counts.unsqueeze(-1)?)?.reshape([texts, 1, 1, length])?;
        for layer in &self.layers {
            // [b, t, width] → [b, heads, t, width of a head], rotated where positions are not in x.
            let split = |x: Tensor, rotate: bool| {
                let x = x.reshape([texts, length, self.heads, x.shape()[2] / self.heads])?;
                let x = x.permute([0, 2, 1, 3])?;
                match self.frequencies.as_ref().filter(|_| rotate) {
                    Some(frequencies) => x.rope(&places.cast(DType::I32)?, frequencies, RopeStyle::Half),
                    None => Ok(x),
                }
            };
            let (q, k) = (split(layer.q.apply(&x)?, true)?, split(layer.k.apply(&x)?, true)?);
            let v = split(layer.v.apply(&x)?, false)?;
            let mixed = q.attention(&k, &v, AttentionOptions { mask: Some(&real), ..Default::default() })?;
            let mixed = mixed.permute([0, 2, 1, 3])?.reshape(x.shape())?;
            x = layer.attention_norm.apply(&x.add(&layer.output.apply(&mixed)?)?, self.epsilon)?;
            let h = match &layer.ffn {
                FeedForward::Plain { up, down } => down.apply(&up.apply(&x)?.gelu()?)?,
                FeedForward::Gated(ffn) => ffn.apply(&x, Tensor::silu)?,
            };
            x = layer.ffn_norm.apply(&x.add(&h)?, self.epsilon)?;
        }
        Ok(x)
    }
}

/// The index 0.
fn zero(weights: &Weights) -> Result<Tensor> {
    Ok(Tensor::zeros_on([1], DType::I32, weights.device())?.reshape([])?)
}

impl Layer {
    fn load(layer: &LayerWeights<'_>) -> Result<Layer> {
        let width = layer.config.width;
        let [q, k, v] = match layer.has("attn_qkv") {
            true => layer.parts("attn_qkv", [width; 3], width)?,
            false => [
                layer.linear("attn_q", width, width)?,
                layer.linear("attn_k", width, width)?,
                layer.linear("attn_v", width, width)?,
            ],
        };
        let norm = |part: &str| Norm::load(layer.weights, &format!("blk.{}.{part}", layer.index), width);
        Ok(Layer {
            q,
            k,
            v,
            output: layer.linear("attn_output", width, width)?,
            attention_norm: norm("attn_output_norm")?,
            ffn: match layer.config.family {
                Family::NomicBert => FeedForward::Gated(GatedFeedForward::load(layer)?),
                _ => FeedForward::Plain {
                    up: layer.linear("ffn_up", layer.config.ffn, width)?,
                    down: layer.linear("ffn_down", width, layer.config.ffn)?,
                },
            },
            ffn_norm: norm("layer_output_norm")?,
        })
    }
}
