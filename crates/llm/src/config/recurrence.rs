//! Parameters of recurrent layers.

use super::attention::attention;
use super::keys::Keys;
use super::{Attention, Family};
use crate::error::{Error, Result};

/// Parameters of RWKV-7.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrent {
    /// Width of a head; the state of a head is its square.
    pub head_len: usize,
    /// Ranks of the low-rank projections: decay, in-context rate, value residual, gate.
    pub ranks: [usize; 4],
}

/// Parameters of a model that mixes attention layers with layers of fixed-size state.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid {
    /// The attention layers, unless there are none.
    pub attention: Option<Attention>,
    /// The recurrent layers.
    pub recurrence: Recurrence,
    /// Which layers are recurrent.
    pub is_recurrent: Vec<bool>,
}

/// The state of a recurrent layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recurrence {
    /// A matrix per head that decays, forgets along a key and stores a new value (gated delta nets).
    DeltaNet(MatrixStates),
    /// A matrix per head that decays and accumulates (Mamba 2).
    StateSpace(MatrixStates),
    /// The last tokens of a short convolution (LFM 2).
    Convolution {
        /// Number of tokens.
        kernel: usize,
        /// Number of channels.
        channels: usize,
    },
}

/// A matrix of `value_len` rows and `key_len` columns for each of `heads` heads, after a short convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixStates {
    /// Heads, with a value each.
    pub heads: usize,
    /// Heads of keys and queries, which value heads share.
    pub key_heads: usize,
    /// Width of a key and of a query.
    pub key_len: usize,
    /// Width of a value.
    pub value_len: usize,
    /// Tokens that the convolution spans.
    pub kernel: usize,
}

impl MatrixStates {
    fn read(keys: &Keys<'_>) -> Result<MatrixStates> {
        let (inner, heads) = (keys.extent("ssm.inner_size")?, keys.extent("ssm.time_step_rank")?);
        let key_heads = keys.extent("ssm.group_count")?;
        let kernel = kernel(keys, "ssm.conv_kernel")?;
        if !inner.is_multiple_of(heads) || !heads.is_multiple_of(key_heads) {
            let problem = format!("{heads} heads of {key_heads} groups cannot share {inner} values");
            return Err(Error::Model(problem));
        }
        let key_len = keys.extent("ssm.state_size")?;
        Ok(MatrixStates { heads, key_heads, key_len, value_len: inner / heads, kernel })
    }

    /// Values of all heads.
    pub fn values(&self) -> usize {
        self.heads * self.value_len
    }

    /// Keys of all heads.
    pub fn keys(&self) -> usize {
        self.key_heads * self.key_len
    }

    /// Channels of the convolution: queries, keys and values.
    pub fn channels(&self) -> usize {
        self.values() + 2 * self.keys()
    }
}

fn kernel(keys: &Keys<'_>, name: &str) -> Result<usize> {
    match keys.extent(name)? {
        1 => Err(Error::Model(format!("{} is 1, which is not a convolution", keys.key(name)))),
        kernel => Ok(kernel),
    }
}

impl Recurrence {
    /// Size of a layer's state of a sequence, in f32 values.
    pub fn values(&self) -> usize {
        match self {
            Recurrence::DeltaNet(m) | Recurrence::StateSpace(m) => {
                m.heads * m.key_len * m.value_len + (m.kernel - 1) * m.channels()
            }
            Recurrence::Convolution { kernel, channels } => (kernel - 1) * channels,
        }
    }
}

impl Hybrid {
    pub(super) fn read(keys: &Keys<'_>, family: Family, width: usize, layers: usize) -> Result<Hybrid> {
        let (recurrence, is_recurrent) = match family {
            Family::Qwen35 | Family::Qwen35Moe | Family::Qwen3Next => {
                let states = MatrixStates::read(keys)?;
                if states.key_len != states.value_len {
                    let (k, v) = (states.key_len, states.value_len);
                    return Err(Error::Model(format!(
                        "a delta net with keys of {k} and values of {v} is not supported"
                    )));
                }
                (Recurrence::DeltaNet(states), by_interval(keys, layers)?)
            }
            Family::Mamba2 => (Recurrence::StateSpace(MatrixStates::read(keys)?), vec![true; layers]),
            Family::GraniteHybrid => {
                (Recurrence::StateSpace(MatrixStates::read(keys)?), without_keys(keys, layers)?)
            }
            _ => {
                let kernel = kernel(keys, "shortconv.l_cache")?;
                (Recurrence::Convolution { kernel, channels: width }, without_keys(keys, layers)?)
            }
        };
        let attends = is_recurrent.iter().any(|&recurrent| !recurrent);
        let attention = if attends { Some(attention(keys, family, width, layers)?) } else { None };
        let lists = attention.as_ref().is_some_and(|a| {
            let mut own = a.kv_heads_of.iter().zip(&is_recurrent).filter(|(_, recurrent)| !**recurrent);
            own.any(|(&count, _)| count != a.kv_heads)
        });
        if lists {
            let problem = "layers with different numbers of key heads are not supported here";
            return Err(Error::Model(problem.into()));
        }
        let attention = attention.map(|a| Attention { kv_heads_of: Vec::new(), ..a });
        Ok(Hybrid { attention, recurrence, is_recurrent })
    }
}

/// As listed in the file, or all except every fourth.
fn by_interval(keys: &Keys<'_>, layers: usize) -> Result<Vec<bool>> {
    if keys.has("attention.recurrent_layers") {
        let list = keys.list_of("attention.recurrent_layers", layers)?;
        return Ok(list.into_iter().map(|flag| flag != 0).collect());
    }
    let interval = keys.extent_or("full_attention_interval", Some(4))?;
    Ok((0..layers).map(|layer| !(layer + 1).is_multiple_of(interval)).collect())
}

/// Layers without key heads.
fn without_keys(keys: &Keys<'_>, layers: usize) -> Result<Vec<bool>> {
    Ok(keys.list_of("attention.head_count_kv", layers)?.into_iter().map(|count| count == 0).collect())
}

impl Recurrent {
    pub(super) fn read(keys: &Keys<'_>, width: usize) -> Result<Recurrent> {
        let head_len = keys.extent("wkv.head_size")?;
        if !width.is_multiple_of(head_len) {
            return Err(Error::Model(format!("width {width} is not a multiple of the head size {head_len}")));
        }
        let ranks = [
            keys.extent("attention.decay_lora_rank")?,
            keys.extent("attention.iclr_lora_rank")?,
            keys.extent("attention.value_residual_mix_lora_rank")?,
            keys.extent("attention.gate_lora_rank")?,
        ];
        Ok(Recurrent { head_len, ranks })
    }
}
