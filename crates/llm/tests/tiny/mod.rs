//! Small models of every family with random weights, written by our own writer.

use wootz_blocks::{BlockFormat, dequantize, quantize};
use wootz_gguf::{Gguf, MetaValue, ValueType, Writer};

pub const WIDTH: usize = 64;
pub const HEADS: usize = 4;
pub const KV_HEADS: usize = 2;
pub const HEAD_LEN: usize = 32;
pub const FFN: usize = 96;
pub const VOCAB: usize = 80;
pub const RANK: usize = 32;
pub const WINDOW: usize = 9;
pub const EPSILON: f32 = 1e-5;

/// Layers of each family; Gemma 3 needs six to have one without a window.
pub fn layers(arch: &str) -> usize {
    if arch == "gemma3" { 6 } else { 2 }
}

/// A number from −1 to 1 that depends on all bits of the seed.
fn noise(seed: u64) -> f32 {
    let z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((z >> 40) as f32 / (1u64 << 23) as f32) - 1.0
}

/// Values that keep a signal's size: norms near 1, matrices scaled by their inputs.
fn values(name: &str, count: usize, inputs: usize) -> Vec<f32> {
    let seed = name.bytes().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
    let scale = 1.7 / (inputs as f32).sqrt();
    let centred = name.contains("norm") || name.contains("_ln");
    (0..count as u64)
        .map(|i| {
            let x = noise(seed.wrapping_mul(1_000_003).wrapping_add(i));
            match (centred, name.ends_with("bias")) {
                (true, false) => 1.0 + 0.3 * x,
                (true, true) | (false, true) => 0.2 * x,
                _ => x * scale,
            }
        })
        .collect()
}

/// The tensors of a family: name and extents, slowest-varying first.
pub fn tensors(arch: &str) -> Vec<(String, Vec<usize>)> {
    let mut list = vec![
        ("token_embd.weight".to_string(), vec![VOCAB, WIDTH]),
        ("output_norm.weight".to_string(), vec![WIDTH]),
    ];
    if arch != "gemma3" {
        list.push(("output.weight".into(), vec![VOCAB, WIDTH]));
    }
    if arch == "rwkv7" {
        for name in ["output_norm.bias", "token_embd_norm.weight", "token_embd_norm.bias"] {
            list.push((name.into(), vec![WIDTH]));
        }
    }
    for i in 0..layers(arch) {
        let parts = if arch == "rwkv7" { recurrent(i) } else { attention(arch) };
        list.extend(parts.into_iter().map(|(name, dims)| (format!("blk.{i}.{name}"), dims)));
    }
    list
}

fn attention(arch: &str) -> Vec<(&'static str, Vec<usize>)> {
    let (queries, keys) = (HEADS * HEAD_LEN, KV_HEADS * HEAD_LEN);
    let mut list = vec![
        ("attn_norm.weight", vec![WIDTH]),
        ("attn_q.weight", vec![queries, WIDTH]),
        ("attn_k.weight", vec![keys, WIDTH]),
        ("attn_v.weight", vec![keys, WIDTH]),
        ("attn_output.weight", vec![WIDTH, queries]),
        ("ffn_norm.weight", vec![WIDTH]),
        ("ffn_gate.weight", vec![FFN, WIDTH]),
        ("ffn_up.weight", vec![FFN, WIDTH]),
        ("ffn_down.weight", vec![WIDTH, FFN]),
    ];
    if arch == "qwen2" {
        list.extend([
            ("attn_q.bias", vec![queries]),
            ("attn_k.bias", vec![keys]),
            ("attn_v.bias", vec![keys]),
        ]);
    }
    if arch == "qwen3" || arch == "gemma3" {
        list.extend([("attn_q_norm.weight", vec![HEAD_LEN]), ("attn_k_norm.weight", vec![HEAD_LEN])]);
    }
    if arch == "gemma3" {
        list.extend([("post_attention_norm.weight", vec![WIDTH]), ("post_ffw_norm.weight", vec![WIDTH])]);
    }
    list
}

fn recurrent(layer: usize) -> Vec<(&'static str, Vec<usize>)> {
    let mut list = vec![
        ("time_mix_lerp_fused.weight", vec![6, 1, 1, WIDTH]),
        ("time_mix_g1.weight", vec![RANK, WIDTH]),
        ("time_mix_g2.weight", vec![WIDTH, RANK]),
        ("channel_mix_key.weight", vec![FFN, WIDTH]),
        ("channel_mix_value.weight", vec![WIDTH, FFN]),
    ];
    let vectors = [
        "attn_norm.weight",
        "attn_norm.bias",
        "attn_norm_2.weight",
        "attn_norm_2.bias",
        "time_mix_w0.weight",
        "time_mix_a0.weight",
        "time_mix_k_k.weight",
        "time_mix_k_a.weight",
        "time_mix_r_k.weight",
        "time_mix_ln.weight",
        "time_mix_ln.bias",
        "channel_mix_lerp_k.weight",
    ];
    list.extend(vectors.map(|name| (name, vec![WIDTH])));
    let squares = [
        "time_mix_receptance.weight",
        "time_mix_key.weight",
        "time_mix_value.weight",
        "time_mix_output.weight",
    ];
    list.extend(squares.map(|name| (name, vec![WIDTH, WIDTH])));
    list.extend(["time_mix_w1.weight", "time_mix_a1.weight"].map(|name| (name, vec![RANK, WIDTH])));
    list.extend(["time_mix_w2.weight", "time_mix_a2.weight"].map(|name| (name, vec![WIDTH, RANK])));
    if layer > 0 {
        list.push(("time_mix_v0.weight", vec![WIDTH]));
        list.push(("time_mix_v1.weight", vec![RANK, WIDTH]));
        list.push(("time_mix_v2.weight", vec![WIDTH, RANK]));
    }
    list
}

fn metadata(arch: &str, w: &mut Writer) {
    w.set("general.architecture", arch);
    for (key, value) in [
        ("block_count", layers(arch)),
        ("context_length", 1024),
        ("embedding_length", WIDTH),
        ("feed_forward_length", FFN),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KV_HEADS),
        ("attention.key_length", HEAD_LEN),
        ("attention.value_length", HEAD_LEN),
        ("attention.sliding_window", WINDOW),
        ("wkv.head_size", HEAD_LEN),
        ("attention.decay_lora_rank", RANK),
        ("attention.iclr_lora_rank", RANK),
        ("attention.value_residual_mix_lora_rank", RANK),
        ("attention.gate_lora_rank", RANK),
    ] {
        w.set(format!("{arch}.{key}"), MetaValue::U32(value as u32));
    }
    w.set(format!("{arch}.attention.layer_norm_rms_epsilon"), MetaValue::F32(EPSILON));
    w.set(format!("{arch}.attention.layer_norm_epsilon"), MetaValue::F32(EPSILON));
    w.set(format!("{arch}.rope.freq_base"), MetaValue::F32(50_000.0));
    w.set("tokenizer.ggml.model", "llama");
    w.set("tokenizer.ggml.tokens", MetaValue::strings((0..VOCAB).map(|i| format!("t{i}"))));
    w.set("tokenizer.ggml.scores", MetaValue::Array(ValueType::F32, vec![MetaValue::F32(0.0); VOCAB]));
    w.set("tokenizer.ggml.token_type", MetaValue::Array(ValueType::I32, vec![MetaValue::I32(1); VOCAB]));
}

/// A model whose matrices are stored in `format` and whose vectors are f32; `change` edits the file before it is written.
pub fn model(arch: &str, format: BlockFormat, keep: impl Fn(&str) -> bool) -> Gguf {
    let mut writer = Writer::new();
    metadata(arch, &mut writer);
    let list: Vec<_> = tensors(arch).into_iter().filter(|(name, _)| keep(name)).collect();
    for (name, dims) in &list {
        let is_matrix = dims.len() == 2 && dims[1].is_multiple_of(format.block_len());
        let stored = if is_matrix { format } else { BlockFormat::F32 };
        let dims: Vec<u64> = dims.iter().rev().map(|&d| d as u64).collect();
        writer.tensor(name, &dims, stored);
    }
    let mut bytes = Vec::new();
    let data = |spec: &wootz_gguf::TensorSpec| {
        let count = spec.dims.iter().product::<u64>() as usize;
        let values = values(&spec.name, count, if spec.dims.len() == 2 { spec.dims[0] as usize } else { 4 });
        let mut coded = vec![0; spec.format.bytes_of(count).expect("whole blocks")];
        quantize(spec.format, &values, None, &mut coded).expect("finite values");
        Ok(coded)
    };
    writer.write(&mut bytes, data).expect("a well-formed file");
    Gguf::from_bytes(bytes).expect("what was written can be read")
}

/// A tensor's values as the file has them, in f64.
pub fn stored(gguf: &Gguf, name: &str) -> Vec<f64> {
    let tensor = gguf.tensor(name).expect("the reference asks for tensors that are there");
    let mut values = vec![0f32; tensor.len() as usize];
    dequantize(tensor.format().expect("ours"), gguf.data(tensor), &mut values).expect("whole blocks");
    values.into_iter().map(f64::from).collect()
}
