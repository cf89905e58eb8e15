//! RWKV-7 "Goose" (Peng et al., 2025): a recurrent network. Each head keeps a matrix that decays, forgets along one
//! direction and stores a new key and value at every token (the generalised delta rule); the state of a sequence has
//! a fixed size.

use super::recurrence::recur;
use super::{Input, Kept, Memory, Network, NewState, Sequence, StateSpec};
use crate::config::{Config, Mixer};
use crate::error::{Error, Result};
use crate::ranks::Stage;
use crate::weights::{Matrix, Weights};
use wootz::{DType, Shape, Tensor};

pub struct Rwkv7 {
    embedding: Matrix,
    embedding_norm: Norm,
    layers: Vec<Layer>,
    output_norm: Norm,
    output: Matrix,
    width: usize,
    head_len: usize,
    /// This rank's place among several that have the layers.
    stage: Option<Stage>,
}

/// A layer norm.
struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f64,
}

struct Layer {
    time_norm: Norm,
    time: TimeMix,
    channel_norm: Norm,
    channel: ChannelMix,
}

/// Parts of a token's predecessor that are mixed in, in the order of the file.
const MIXED: [&str; 6] = ["r", "w", "k", "v", "a", "g"];

struct TimeMix {
    /// How much of the predecessor each of [`MIXED`] sees.
    lerp: Vec<Tensor>,
    receptance: Matrix,
    key: Matrix,
    value: Matrix,
    output: Matrix,
    decay: LowRank,
    rate: LowRank,
    /// Absent in the first layer, whose values the others may return to.
    value_residual: Option<LowRank>,
    gate: [Matrix; 2],
    k_k: Tensor,
    k_a: Tensor,
    r_k: Tensor,
    group_norm: [Tensor; 2],
}

/// `base + B·f(A·x)`.
struct LowRank {
    base: Tensor,
    a: Matrix,
    b: Matrix,
}

struct ChannelMix {
    lerp: Tensor,
    key: Matrix,
    value: Matrix,
}

impl Norm {
    fn load(weights: &Weights, name: &str, config: &Config) -> Result<Norm> {
        Ok(Norm {
            weight: weights.values(&format!("{name}.weight"), &[config.width])?,
            bias: weights.values(&format!("{name}.bias"), &[config.width])?,
            epsilon: f64::from(config.norm_epsilon),
        })
    }

    fn apply(&self, x: &Tensor) -> wootz::Result<Tensor> {
        x.layer_norm(Some(&self.weight), Some(&self.bias), self.epsilon)
    }
}

/// The tensors of one layer.
struct Part<'a> {
    weights: &'a Weights,
    prefix: String,
    width: usize,
}

impl Part<'_> {
    fn vector(&self, name: &str) -> Result<Tensor> {
        self.weights.values(&format!("{}.{name}.weight", self.prefix), &[self.width])
    }

    fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix> {
        self.weights.matrix(&format!("{}.{name}.weight", self.prefix), rows, columns)
    }

    fn low_rank(&self, name: &str, rank: usize) -> Result<LowRank> {
        Ok(LowRank {
            base: self.vector(&format!("{name}0"))?,
            a: self.matrix(&format!("{name}1"), rank, self.width)?,
            b: self.matrix(&format!("{name}2"), self.width, rank)?,
        })
    }

    fn time_mix(&self, ranks: [usize; 4], first: bool) -> Result<TimeMix> {
        let width = self.width;
        let lerp_name = format!("{}.time_mix_lerp_fused.weight", self.prefix);
        let lerp = self.weights.values(&lerp_name, &[MIXED.len(), width])?;
        let lerp = (0..MIXED.len()).map(|i| lerp.narrow(0, i, 1)).collect::<wootz::Result<_>>()?;
        let [decay, rate, value_residual, gate] = ranks;
        let group_bias = format!("{}.time_mix_ln.bias", self.prefix);
        Ok(TimeMix {
            lerp,
            receptance: self.matrix("time_mix_receptance", width, width)?,
            key: self.matrix("time_mix_key", width, width)?,
            value: self.matrix("time_mix_value", width, width)?,
            output: self.matrix("time_mix_output", width, width)?,
            decay: self.low_rank("time_mix_w", decay)?,
            rate: self.low_rank("time_mix_a", rate)?,
            value_residual: if first { None } else { Some(self.low_rank("time_mix_v", value_residual)?) },
            gate: [self.matrix("time_mix_g1", gate, width)?, self.matrix("time_mix_g2", width, gate)?],
            k_k: self.vector("time_mix_k_k")?,
            k_a: self.vector("time_mix_k_a")?,
            r_k: self.vector("time_mix_r_k")?,
            group_norm: [self.vector("time_mix_ln")?, self.weights.values(&group_bias, &[width])?],
        })
    }
}

impl Rwkv7 {
    pub fn load(config: &Config, weights: &Weights) -> Result<Rwkv7> {
        let Mixer::Recurrent(recurrent) = &config.mixer else {
            return Err(Error::Model("rwkv7 without the numbers of its recurrence".into()));
        };
        let stage = weights.stage();
        let starts = stage.as_ref().is_none_or(Stage::is_first);
        let layer = |i: usize| {
            let part = Part { weights, prefix: format!("blk.{i}"), width: config.width };
            Ok(Layer {
                time_norm: Norm::load(weights, &format!("blk.{i}.attn_norm"), config)?,
                time: part.time_mix(recurrent.ranks, starts && i == 0)?,
                channel_norm: Norm::load(weights, &format!("blk.{i}.attn_norm_2"), config)?,
                channel: ChannelMix {
                    lerp: part.vector("channel_mix_lerp_k")?,
                    key: part.matrix("channel_mix_key", config.ffn, config.width)?,
                    value: part.matrix("channel_mix_value", config.width, config.ffn)?,
                },
            })
        };
        Ok(Rwkv7 {
            embedding: weights.matrix("token_embd.weight", config.vocab, config.width)?,
            embedding_norm: Norm::load(weights, "token_embd_norm", config)?,
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            output_norm: Norm::load(weights, "output_norm", config)?,
            output: weights.matrix("output.weight", config.vocab, config.width)?,
            width: config.width,
            head_len: recurrent.head_len,
            stage,
        })
    }
}

impl Rwkv7 {
    /// What the first layer reads; on a rank further on, what the layer before left, with the values of the model's first layer behind it.
    fn begin(&self, tokens: &Tensor) -> wootz::Result<(Tensor, Option<Tensor>)> {
        match self.stage.as_ref().filter(|stage| !stage.is_first()) {
            Some(stage) => {
                let both = stage.receive(tokens, 2 * self.width)?;
                Ok((both.narrow(1, 0, self.width)?, Some(both.narrow(1, self.width, self.width)?)))
            }
            None => Ok((self.embedding_norm.apply(&self.embedding.rows(tokens)?)?, None)),
        }
    }
}

/// Each token's predecessor: the last token of the pass before, then those of this pass, sequence by sequence.
fn shifted<'a>(
    x: &Tensor,
    sequences: &[Sequence<'_>],
    last: impl Fn(usize) -> &'a Tensor,
) -> wootz::Result<Tensor> {
    let mut parts = Vec::with_capacity(2 * sequences.len());
    for (i, sequence) in sequences.iter().enumerate() {
        parts.push(last(i).clone());
        if sequence.rows.len() > 1 {
            parts.push(x.narrow(0, sequence.rows.start, sequence.rows.len() - 1)?);
        }
    }
    Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0)
}

/// The last row of a sequence, in place of what its state held.
fn remember(x: &Tensor, sequence: &Sequence<'_>, state: &Tensor) -> wootz::Result<Tensor> {
    let start = Tensor::scalar_on(0, DType::I32, x.device());
    state.write_at(&x.narrow(0, sequence.rows.end - 1, 1)?, &start, 0)
}

/// What the mix of a layer reads: its input, each token's predecessor, the values of the first layer.
struct Passed<'a> {
    x: &'a Tensor,
    before: &'a Tensor,
    first_value: Option<&'a Tensor>,
}

impl LowRank {
    fn apply(&self, x: &Tensor, inner: impl Fn(Tensor) -> wootz::Result<Tensor>) -> wootz::Result<Tensor> {
        self.b.apply(&inner(self.a.apply(x)?)?)?.add(&self.base)
    }
}

impl TimeMix {
    /// The mix of `[t, width]` with its past, the values that later layers may return to, and the new head states.
    fn apply(
        &self,
        passed: &Passed<'_>,
        sequences: &[Sequence<'_>],
        states: &[&Tensor],
    ) -> wootz::Result<(Tensor, Tensor, Vec<Tensor>)> {
        let Passed { x, before, first_value } = *passed;
        let change = before.sub(x)?;
        let mixed = |i: usize| x.add(&change.mul(&self.lerp[i])?);
        let (xr, xw, xk, xv, xa, xg) = (mixed(0)?, mixed(1)?, mixed(2)?, mixed(3)?, mixed(4)?, mixed(5)?);
        let r = self.receptance.apply(&xr)?;
        // Decay: exp(-e^(-1/2)·σ(…)).
        let w = self.decay.apply(&xw, |h| h.tanh())?.sigmoid()?.mul(-(-0.5f64).exp())?.exp()?;
        let k = self.key.apply(&xk)?;
        let mut v = self.value.apply(&xv)?;
        if let (Some(low_rank), Some(first)) = (&self.value_residual, first_value) {
            v = v.add(&first.sub(&v)?.mul(&low_rank.apply(&xv, Ok)?.sigmoid()?)?)?;
        }
        let g = self.gate[1].apply(&self.gate[0].apply(&xg)?.sigmoid()?)?;
        let a = self.rate.apply(&xa, Ok)?.sigmoid()?;
        let (tokens, head_len) = (x.shape()[0], states[0].shape()[2]);
        let heads = Shape::from([tokens, states[0].shape()[0], head_len]);
        let by_head = |x: &Tensor| x.reshape(heads.clone());
        let kk = by_head(&k.mul(&self.k_k)?)?;
        let length = kk.square()?.sum_axes([-1], true)?.sqrt()?.maximum(1e-12)?;
        let kk = kk.div(&length)?;
        // The in-context rate also weakens the key.
        let k = k.mul(&a.sub(1.0)?.mul(&self.k_a)?.add(1.0)?)?;
        let (r, w, k, v_heads) = (by_head(&r)?, by_head(&w)?, by_head(&k)?, by_head(&v)?);
        let removed = kk.neg()?;
        let replaced = kk.mul(&by_head(&a)?)?;
        let (out, states) = recur([&r, &w, &k, &v_heads, &removed, &replaced], sequences, states)?;
        let flat = |x: &Tensor| x.reshape([tokens, self.k_k.count()]);
        let out = flat(&out.layer_norm(None, None, GROUP_EPSILON)?)?;
        let out = out.mul(&self.group_norm[0])?.add(&self.group_norm[1])?;
        let r_k = self.r_k.reshape([heads[1], head_len])?;
        let bonus = r.mul(&k)?.mul(&r_k)?.sum_axes([-1], true)?.mul(&v_heads)?;
        let out = out.add(&flat(&bonus)?)?.mul(&g)?;
        Ok((self.output.apply(&out)?, v, states))
    }
}

/// The reference scales the usual 1e-5 by the square of 8.
const GROUP_EPSILON: f64 = 64e-5;

impl ChannelMix {
    fn apply(&self, x: &Tensor, before: &Tensor) -> wootz::Result<Tensor> {
        let mixed = x.add(&before.sub(x)?.mul(&self.lerp)?)?;
        self.value.apply(&self.key.apply(&mixed)?.relu()?.square()?)
    }
}

impl Network for Rwkv7 {
    fn state(&self, _: Memory) -> Vec<StateSpec> {
        let heads = self.width / self.head_len;
        let shift = StateSpec { shape: Shape::from([1, self.width]), dtype: DType::F32, kept: Kept::Latest };
        let matrices = Shape::from([heads, self.head_len, self.head_len]);
        let matrices = StateSpec { shape: matrices, dtype: DType::F32, kept: Kept::Latest };
        (0..self.layers.len()).flat_map(|_| [shift.clone(), matrices.clone(), shift.clone()]).collect()
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let (mut x, mut first_value) = self.begin(input.tokens)?;
        let mut state = NewState::default();
        for (i, layer) in self.layers.iter().enumerate() {
            let before: Vec<&[Tensor]> = input.sequences.iter().map(|s| &s.state[3 * i..3 * i + 3]).collect();
            let h = layer.time_norm.apply(&x)?;
            let past = shifted(&h, input.sequences, |s| &before[s][0])?;
            let matrices: Vec<&Tensor> = before.iter().map(|b| &b[1]).collect();
            let passed = Passed { x: &h, before: &past, first_value: first_value.as_ref() };
            let (mixed, value, matrices) = layer.time.apply(&passed, input.sequences, &matrices)?;
            first_value.get_or_insert(value);
            x = x.add(&mixed)?;
            let g = layer.channel_norm.apply(&x)?;
            let past = shifted(&g, input.sequences, |s| &before[s][2])?;
            x = x.add(&layer.channel.apply(&g, &past)?)?;
            let new = input.sequences.iter().zip(before).zip(&matrices);
            let new = new.map(|((sequence, before), matrices)| {
                Ok(vec![
                    remember(&h, sequence, &before[0])?,
                    matrices.clone(),
                    remember(&g, sequence, &before[2])?,
                ])
            });
            state.push(new.collect::<wootz::Result<_>>()?);
        }
        if let (Some(stage), Some(value)) = (&self.stage, &first_value)
            && !stage.is_last()
        {
            x = Tensor::concat(&[&x, value], 1)?;
        }
        Ok((x, state.into_list()))
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.output.apply(&self.output_norm.apply(hidden)?)
    }

    fn can_rewind(&self) -> bool {
        false
    }
}
