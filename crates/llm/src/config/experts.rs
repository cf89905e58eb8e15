//! Parameters of mixtures of experts.

use super::Family;
use super::keys::Keys;
use crate::error::{Error, Result};
use wootz_gguf::Gguf;

/// A mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// Number of experts.
    pub count: usize,
    /// The first of this rank's.
    pub own_first: usize,
    /// How many this rank has, which are all of them on one rank.
    pub own_count: usize,
    /// How many a token takes.
    pub used: usize,
    /// Width of an expert.
    pub ffn: usize,
    /// Width of the shared expert, if there is one.
    pub shared_ffn: Option<usize>,
    /// How router scores become weights.
    pub gating: Gating,
    /// Whether the weights of a token's experts are normalised to sum to 1.
    pub normalised: bool,
    /// Factor on the weights.
    pub scale: Option<f32>,
    /// Number of expert groups, and how many of them a token may use: those with the highest sum of their two best
    /// scores.
    pub groups: Option<[usize; 2]>,
    /// How many layers, from the first, have an ordinary feed-forward network.
    pub dense_layers: usize,
    /// Activation between the matrices.
    pub activation: ExpertActivation,
}

/// How router scores become weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gating {
    /// Softmax over all experts.
    Softmax,
    /// The logistic function of each score.
    Sigmoid,
}

/// Combination of an expert's gate `g` and up `u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertActivation {
    /// `silu(g) · u`.
    Silu,
    /// `gelu(g) · u`, with the tanh approximation.
    Gelu,
    /// gpt-oss: `g · σ(1.702 g) · (u + 1)`, with `g` up to 7 and `u` from −7 to 7.
    Clamped,
}

impl Experts {
    /// Reads and checks them.
    pub(super) fn read(keys: &Keys<'_>, family: Family, gguf: &Gguf) -> Result<Option<Experts>> {
        let key = keys.key("expert_count");
        let count = keys.meta.optional(&key, "an integer", |v| v.as_u64())?.unwrap_or(0);
        match (count, experts_of(family)) {
            (0, Some(true)) => return Err(Error::Model(format!("{} without {key}", family.name()))),
            (0, _) => return Ok(None),
            (_, None) => {
                let problem = format!("{key} is {count}, but {} does not support experts", family.name());
                return Err(Error::Model(problem));
            }
            (_, Some(_)) => {}
        }
        let (count, used) = (keys.extent("expert_count")?, keys.extent("expert_used_count")?);
        if used > count {
            return Err(Error::Model(format!("invalid number of experts per token: {used} of {count}")));
        }
        let ffn = expert_ffn(keys, family, used)?;
        Ok(Some(Experts {
            count,
            own_first: 0,
            own_count: count,
            used,
            ffn,
            shared_ffn: shared_ffn(keys, family, ffn)?,
            gating: gating(keys, family, gguf)?,
            normalised: match family {
                // The softmax of a token's experts alone, which gpt-oss takes, is the softmax of all made to sum to 1.
                Family::Qwen2Moe | Family::Olmoe => false,
                Family::DeepSeek2 => keys.flag_or("expert_weights_norm", false)?,
                _ => true,
            },
            scale: keys.factor("expert_weights_scale")?.filter(|&scale| scale != 1.0),
            groups: groups(keys, count, used)?,
            dense_layers: match family {
                Family::DeepSeek2 | Family::Lfm2Moe => match keys.has("leading_dense_block_count") {
                    true => keys.list("leading_dense_block_count")?.first().copied().unwrap_or(0),
                    false => 0,
                },
                _ => 0,
            },
            activation: match family {
                Family::GptOss => ExpertActivation::Clamped,
                Family::Gemma4 => ExpertActivation::Gelu,
                _ => ExpertActivation::Silu,
            },
        }))
    }
}

/// Whether a family has experts: always, sometimes, or never (`None`).
fn experts_of(family: Family) -> Option<bool> {
    match family {
        Family::Qwen2Moe
        | Family::Qwen3Moe
        | Family::Qwen35Moe
        | Family::Qwen3Next
        | Family::GraniteMoe
        | Family::Olmoe
        | Family::GptOss
        | Family::DeepSeek2
        | Family::Lfm2Moe => Some(true),
        Family::GraniteHybrid | Family::Gemma4 => Some(false),
        Family::Llama
        | Family::Mistral3
        | Family::SmolLm3
        | Family::Granite
        | Family::Phi3
        | Family::Qwen2
        | Family::Qwen3
        | Family::Qwen35
        | Family::Gemma2
        | Family::Gemma3
        | Family::GemmaEmbedding
        | Family::Lfm2
        | Family::Mamba2
        | Family::Rwkv7
        | Family::Bert
        | Family::NomicBert => None,
    }
}

fn expert_ffn(keys: &Keys<'_>, family: Family, used: usize) -> Result<usize> {
    match family {
        Family::GraniteMoe | Family::GraniteHybrid | Family::Olmoe => keys.extent("feed_forward_length"),
        // Where it is missing, a token's experts together are as wide as the key says.
        _ if !keys.has("expert_feed_forward_length") => {
            Ok((keys.extent("feed_forward_length")? / used).max(1))
        }
        _ => keys.extent("expert_feed_forward_length"),
    }
}

fn shared_ffn(keys: &Keys<'_>, family: Family, ffn: usize) -> Result<Option<usize>> {
    let name = "expert_shared_feed_forward_length";
    match family {
        Family::Qwen2Moe | Family::Qwen35Moe | Family::Qwen3Next if !keys.has(name) => {
            Ok(Some(keys.extent("feed_forward_length")?))
        }
        Family::DeepSeek2 => match keys.has("expert_shared_count") {
            true => Ok(Some(ffn * keys.extent("expert_shared_count")?)),
            false => Ok(None),
        },
        Family::Qwen2Moe
        | Family::Qwen35Moe
        | Family::Qwen3Next
        | Family::GraniteMoe
        | Family::GraniteHybrid
            if keys.has(name) =>
        {
            Ok(Some(keys.extent(name)?))
        }
        _ => Ok(None),
    }
}

/// GGUF's values for how experts are weighted.
fn gating(keys: &Keys<'_>, family: Family, gguf: &Gguf) -> Result<Gating> {
    let key = keys.key("expert_gating_func");
    match keys.meta.optional(&key, "an integer", |v| v.as_u64())? {
        // GLM 4.7 Lite says nothing, and is told by its vocabulary.
        None | Some(0) if family == Family::DeepSeek2 && vocab(gguf) == Some(154_880) => Ok(Gating::Sigmoid),
        None | Some(0 | 1) => Ok(Gating::Softmax),
        Some(2) => Ok(Gating::Sigmoid),
        Some(other) => {
            let known = "1 (softmax), 2 (sigmoid)";
            Err(Error::Model(format!("{key} is {other}; supported: {known}")))
        }
    }
}

fn vocab(gguf: &Gguf) -> Option<u64> {
    gguf.find_tensor("token_embd.weight").and_then(|t| t.dims.get(1).copied())
}

fn groups(keys: &Keys<'_>, count: usize, used: usize) -> Result<Option<[usize; 2]>> {
    if !keys.has("expert_group_count") || keys.list("expert_group_count")?.iter().all(|&n| n <= 1) {
        return Ok(None);
    }
    let (groups, taken) = (keys.extent("expert_group_count")?, keys.extent("expert_group_used_count")?);
    let fits = count.is_multiple_of(groups) && count / groups >= 2 && taken <= groups;
    if !fits || used > taken * (count / groups) {
        let problem = format!("cannot select {used} of {count} experts from {taken} of {groups} groups");
        return Err(Error::Model(problem));
    }
    Ok(Some([groups, taken]))
}
