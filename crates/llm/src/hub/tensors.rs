//! Tensors of safetensors files under their GGUF names.

use super::config::Shape;
use crate::error::{Error, Result};
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use std::path::{Path, PathBuf};
use wootz_blocks::{BlockFormat, dequantize};
use wootz_gguf::{Bytes, ExternalTensor};

/// Parts of a layer: their names there and here. In Gemma's layers `post_attention_layernorm` is another norm.
const PARTS: &[(&str, &str)] = &[
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("pre_feedforward_layernorm", "ffn_norm"),
    ("post_feedforward_layernorm", "post_ffw_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    // Phi's, one above the other.
    ("self_attn.qkv_proj", "attn_qkv"),
    ("mlp.gate_up_proj", "ffn_up"),
];

/// Whether a tensor is used, and as what.
enum Use {
    As(String),
    Not,
}

/// All tensors of all files.
pub fn map(files: &[PathBuf], shape: &Shape) -> Result<Vec<ExternalTensor>> {
    let mut list = Vec::new();
    for file in files {
        map_file(file, shape, &mut list)?;
    }
    if let Some(factors) = &shape.rope_factors {
        list.push(floats("rope_freqs.weight".into(), vec![factors.len() as u64], factors));
    }
    let phi = ["rope_factors_short.weight", "rope_factors_long.weight"];
    for (name, factors) in phi.into_iter().zip(shape.phi_factors.iter().flatten()) {
        list.push(floats(name.into(), vec![factors.len() as u64], factors));
    }
    Ok(list)
}

fn map_file(path: &Path, shape: &Shape, list: &mut Vec<ExternalTensor>) -> Result<()> {
    let fail = |problem: String| Error::Model(format!("{}: {problem}", path.display()));
    let bytes = Bytes::map(path)?;
    let (header, index) = SafeTensors::read_metadata(&bytes).map_err(|e| fail(e.to_string()))?;
    let start = header + size_of::<u64>();
    let mut tensors: Vec<_> = index.tensors().into_iter().collect();
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    for (name, info) in tensors {
        let renamed = match rename(&name, shape) {
            Some(Use::As(renamed)) => renamed,
            Some(Use::Not) => continue,
            None => return Err(fail(format!("unexpected tensor '{name}' in {}", shape.architecture))),
        };
        let format = match info.dtype {
            Dtype::F32 => BlockFormat::F32,
            Dtype::F16 => BlockFormat::F16,
            Dtype::BF16 => BlockFormat::BF16,
            other => return Err(fail(format!("tensor '{name}' is {other:?}, not F32, F16 or BF16"))),
        };
        let dims: Vec<u64> = info.shape.iter().rev().map(|&d| d as u64).collect();
        let range = start + info.data_offsets.0..start + info.data_offsets.1;
        if shape.architecture.starts_with("gemma") && dims.len() == 1 {
            // GGUF files have the 1 that Gemma adds to its norms in them.
            let mut values = vec![0f32; info.shape.iter().product()];
            dequantize(format, &bytes[range], &mut values).map_err(|e| fail(format!("'{name}': {e}")))?;
            values.iter_mut().for_each(|v| *v += 1.0);
            list.push(floats(renamed, dims, &values));
        } else {
            list.push(ExternalTensor { name: renamed, dims, format, bytes: bytes.clone(), range });
        }
    }
    Ok(())
}

fn floats(name: String, dims: Vec<u64>, values: &[f32]) -> ExternalTensor {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let range = 0..bytes.len();
    ExternalTensor { name, dims, format: BlockFormat::F32, bytes: bytes.into(), range }
}

/// BERT's tensors beside its layers.
const BERT: &[(&str, &str)] = &[
    ("embeddings.word_embeddings.weight", "token_embd.weight"),
    ("embeddings.position_embeddings.weight", "position_embd.weight"),
    ("embeddings.token_type_embeddings.weight", "token_types.weight"),
    ("embeddings.LayerNorm.weight", "token_embd_norm.weight"),
    ("embeddings.LayerNorm.bias", "token_embd_norm.bias"),
];

/// Parts of BERT's layers.
const BERT_PARTS: &[(&str, &str)] = &[
    ("attention.self.query", "attn_q"),
    ("attention.self.key", "attn_k"),
    ("attention.self.value", "attn_v"),
    ("attention.output.dense", "attn_output"),
    ("attention.output.LayerNorm", "attn_output_norm"),
    ("intermediate.dense", "ffn_up"),
    ("output.dense", "ffn_down"),
    ("output.LayerNorm", "layer_output_norm"),
];

fn rename_bert(name: &str) -> Option<Use> {
    let name = name.strip_prefix("bert.").unwrap_or(name);
    if name.starts_with("pooler.") || name.starts_with("cls.") || name == "embeddings.position_ids" {
        return Some(Use::Not);
    }
    if let Some((_, here)) = BERT.iter().find(|b| b.0 == name) {
        return Some(Use::As((*here).into()));
    }
    let (layer, rest) = name.strip_prefix("encoder.layer.")?.split_once('.')?;
    let layer: usize = layer.parse().ok()?;
    let (part, kind) = rest.rsplit_once('.')?;
    let here = BERT_PARTS.iter().find(|p| p.0 == part)?.1;
    Some(Use::As(format!("blk.{layer}.{here}.{kind}")))
}

fn rename(name: &str, shape: &Shape) -> Option<Use> {
    if shape.architecture == "bert" {
        return rename_bert(name);
    }
    // Models that also see images have their language part under a prefix, and other parts beside it.
    let own = ["model.language_model.", "language_model.model.", "model."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    let head = name.strip_prefix("language_model.").unwrap_or(name);
    let other =
        ["vision_tower.", "model.vision_tower.", "multi_modal_projector.", "model.multi_modal_projector."];
    if other.iter().any(|prefix| name.starts_with(prefix)) || name.ends_with("rotary_emb.inv_freq") {
        return Some(Use::Not);
    }
    if head == "lm_head.weight" {
        return Some(if shape.tied { Use::Not } else { Use::As("output.weight".into()) });
    }
    let own = own?;
    match own {
        "embed_tokens.weight" => return Some(Use::As("token_embd.weight".into())),
        "norm.weight" => return Some(Use::As("output_norm.weight".into())),
        _ => {}
    }
    let (layer, rest) = own.strip_prefix("layers.")?.split_once('.')?;
    let layer: usize = layer.parse().ok()?;
    let (part, kind) = rest.rsplit_once('.').filter(|(_, kind)| matches!(*kind, "weight" | "bias"))?;
    let here = match (part, shape.architecture) {
        ("post_attention_layernorm", "gemma2" | "gemma3") => "post_attention_norm",
        ("post_attention_layernorm", _) => "ffn_norm",
        _ => PARTS.iter().find(|p| p.0 == part)?.1,
    };
    Some(Use::As(format!("blk.{layer}.{here}.{kind}")))
}
