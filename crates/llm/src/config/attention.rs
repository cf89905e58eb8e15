//! Attention parameters.

use super::keys::Keys;
use super::{Attention, Family, Latent, LocalHeads, Pairs, RopeScaling, Temperature, WindowLayers};
use crate::error::{Error, Result};

pub fn attention(keys: &Keys<'_>, family: Family, width: usize, layers: usize) -> Result<Attention> {
    let heads = keys.extent("attention.head_count")?;
    let kv_heads_of = kv_heads(keys, heads, layers)?;
    // Layers without any have no attention.
    let Some(&kv_heads) = kv_heads_of.iter().find(|&&count| count > 0) else {
        return Err(Error::Model("no layer has key-value heads".into()));
    };
    let default = if width.is_multiple_of(heads) { Some(width / heads) } else { None };
    let key_len = keys.extent_or("attention.key_length", default)?;
    let value_len = keys.extent_or("attention.value_length", default)?;
    let rope_len = keys.extent_or("rope.dimension_count", Some(key_len))?;
    check_heads(heads, &kv_heads_of, [key_len, rope_len])?;
    if rope_len < key_len && keys.number_or("rope.scaling.attn_factor", 1.0)? != 1.0 {
        return Err(Error::Model("context extension with partial rotation is not supported".into()));
    }
    let gemma = family.is_gemma();
    // Mistral files may name a window of 0 for none.
    let windowed = gemma || family == Family::GptOss;
    let window = match windowed && keys.has("attention.sliding_window") {
        true => Some(keys.extent("attention.sliding_window")?),
        false => None,
    };
    let rope_base = keys.number_or("rope.freq_base", 10_000.0)?;
    let same = kv_heads_of.iter().all(|&count| count == kv_heads);
    if !same && family != Family::Gemma4 && !family.is_hybrid() {
        let problem = format!("{} is not the same for all layers", keys.key("attention.head_count_kv"));
        return Err(Error::Model(problem));
    }
    Ok(Attention {
        heads,
        kv_heads,
        key_len,
        value_len,
        rope_len,
        rope_pairs: pairs(keys, family)?,
        rope_base,
        rope_base_local: if gemma { keys.number_or("rope.freq_base_swa", 10_000.0)? } else { rope_base },
        rope_scaling: scaling(keys)?,
        rope_length: keys.number_or("rope.scaling.attn_factor", 1.0)?,
        window,
        window_layers: window_layers(keys, family, layers)?,
        local: local(keys, family)?,
        kv_heads_of: if same { Vec::new() } else { kv_heads_of },
        own_caches: own_caches(keys, family, layers)?,
        latent: latent(keys, family, rope_len)?,
        unrotated_period: match family {
            Family::SmolLm3 => Some(4),
            // The flag says whether positions are learnt by rotation; without it, none are.
            Family::GraniteHybrid if !keys.flag_or("rope.scaling.finetuned", true)? => Some(1),
            _ => None,
        },
        scale: if family == Family::Gemma4 { Some(1.0) } else { keys.factor("attention.scale")? },
        softcap: if gemma { keys.factor("attn_logit_softcapping")? } else { None },
        temperature: temperature(keys, family)?,
        first_layer: 0,
        all_heads: heads,
    })
}

/// Key heads of each layer.
fn kv_heads(keys: &Keys<'_>, heads: usize, layers: usize) -> Result<Vec<usize>> {
    match keys.has("attention.head_count_kv") {
        true => keys.list_of("attention.head_count_kv", layers),
        false => Ok(vec![heads; layers]),
    }
}

fn check_heads(heads: usize, kv_heads: &[usize], [key_len, rope_len]: [usize; 2]) -> Result<()> {
    if let Some(count) = kv_heads.iter().find(|&&count| count > 0 && !heads.is_multiple_of(count)) {
        return Err(Error::Model(format!("{heads} query heads cannot share {count} key heads")));
    }
    if rope_len > key_len || !rope_len.is_multiple_of(2) {
        let problem = format!("{rope_len} of the {key_len} values of a head cannot be rotated in pairs");
        return Err(Error::Model(problem));
    }
    Ok(())
}

fn window_layers(keys: &Keys<'_>, family: Family, layers: usize) -> Result<WindowLayers> {
    Ok(match family {
        Family::Gemma2 | Family::GptOss => WindowLayers::Period(2),
        Family::Gemma3 | Family::GemmaEmbedding => WindowLayers::Period(6),
        Family::Gemma4 => {
            let list = keys.list_of("attention.sliding_window_pattern", layers)?;
            WindowLayers::List(list.into_iter().map(|flag| flag != 0).collect())
        }
        _ => WindowLayers::Period(1),
    })
}

fn local(keys: &Keys<'_>, family: Family) -> Result<Option<LocalHeads>> {
    if family != Family::Gemma4 {
        return Ok(None);
    }
    let key_len = keys.extent("attention.key_length_swa")?;
    let value_len = keys.extent("attention.value_length_swa")?;
    let rope_len = keys.extent_or("rope.dimension_count_swa", Some(key_len))?;
    check_heads(1, &[1], [key_len, rope_len])?;
    Ok(Some(LocalHeads { key_len, value_len, rope_len }))
}

fn own_caches(keys: &Keys<'_>, family: Family, layers: usize) -> Result<Option<usize>> {
    if family != Family::Gemma4 {
        return Ok(None);
    }
    let key = keys.key("attention.shared_kv_layers");
    match keys.meta.optional(&key, "an integer", |v| v.as_u64())?.unwrap_or(0) {
        0 => Ok(None),
        // The last two layers that have keys are of either kind.
        shared if shared + 2 <= layers as u64 => Ok(Some(layers - shared as usize)),
        shared => Err(Error::Model(format!("{key} is {shared} of {layers} layers"))),
    }
}

fn latent(keys: &Keys<'_>, family: Family, rope_len: usize) -> Result<Option<Latent>> {
    if family != Family::DeepSeek2 {
        return Ok(None);
    }
    let key_len = keys.extent("attention.key_length_mla")?;
    if rope_len >= key_len {
        let problem = format!("{rope_len} of the {key_len} values of a latent head are rotated");
        return Err(Error::Model(problem));
    }
    Ok(Some(Latent {
        rank: keys.extent("attention.kv_lora_rank")?,
        query_rank: match keys.has("attention.q_lora_rank") {
            true => Some(keys.extent("attention.q_lora_rank")?),
            false => None,
        },
        key_len,
        value_len: keys.extent("attention.value_length_mla")?,
    }))
}

/// The key of a choice that GGUF files leave to the architecture.
pub(crate) const PAIRS_KEY: &str = "wootz.rope.pairs";

/// Only the matrices of Llama and its closest relatives are reordered (for adjacent pairs) during conversion to GGUF.
fn pairs(keys: &Keys<'_>, family: Family) -> Result<Pairs> {
    match keys.meta.optional(PAIRS_KEY, "a string", |v| v.as_str())? {
        Some("halves") => Ok(Pairs::Halves),
        None => Ok(match family {
            Family::Llama
            | Family::Mistral3
            | Family::SmolLm3
            | Family::Granite
            | Family::GraniteMoe
            | Family::GraniteHybrid
            | Family::DeepSeek2 => Pairs::Neighbours,
            _ => Pairs::Halves,
        }),
        Some(other) => Err(Error::Model(format!("{PAIRS_KEY} is '{other}', not 'halves'"))),
    }
}

fn scaling(keys: &Keys<'_>) -> Result<RopeScaling> {
    let key = keys.key("rope.scaling.type");
    let factor = keys.number_or("rope.scaling.factor", 1.0)?;
    let kind = keys.meta.optional(&key, "a string", |v| v.as_str())?;
    match kind {
        Some("none") | None if factor == 1.0 || factor == 0.0 => Ok(RopeScaling::None),
        Some("none") => Ok(RopeScaling::None),
        // Older files give a factor only, and mean linear scaling.
        None | Some("linear") if factor > 0.0 => Ok(RopeScaling::Linear(factor)),
        Some("yarn") if factor > 0.0 => {
            let original_context = keys.extent("rope.scaling.original_context_length")?;
            let log_multiplier = keys.number_or("rope.scaling.yarn_log_multiplier", 0.0)?;
            Ok(RopeScaling::Yarn { factor, original_context, log_multiplier })
        }
        // Phi's factors are tensors.
        Some("longrope") => Ok(RopeScaling::None),
        other => {
            Err(Error::Model(format!("{key} is {other:?} with factor {factor}, which is not supported")))
        }
    }
}

fn temperature(keys: &Keys<'_>, family: Family) -> Result<Option<Temperature>> {
    if family != Family::Mistral3 {
        return Ok(None);
    }
    let Some(scale) = keys.factor("attention.temperature_scale")? else { return Ok(None) };
    Ok(Some(Temperature { scale, floor: keys.extent("rope.scaling.original_context_length")? }))
}
