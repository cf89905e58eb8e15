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

/// Extents of a model. Heads have [`HEAD_LEN`] values, mixtures [`EXPERTS`] experts as wide as `ffn`.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub ffn: usize,
    pub vocab: usize,
}

impl Size {
    /// That of most tests.
    pub fn of(arch: &str) -> Size {
        let (width, heads, kv_heads, ffn, vocab) = (WIDTH, HEADS, KV_HEADS, FFN, VOCAB);
        Size { layers: layers(arch), width, heads, kv_heads, ffn, vocab }
    }
}

/// Experts of a layer, and those that a token takes.
pub const EXPERTS: usize = 4;
pub const USED: usize = 2;

fn is_mixture(arch: &str) -> bool {
    arch.ends_with("moe")
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
fn tensors(arch: &str, size: &Size) -> Vec<(String, Vec<usize>)> {
    let (vocab, width) = (size.vocab, size.width);
    let mut list = vec![
        ("token_embd.weight".to_string(), vec![vocab, width]),
        ("output_norm.weight".to_string(), vec![width]),
    ];
    if arch != "gemma3" {
        list.push(("output.weight".into(), vec![vocab, width]));
    }
    if arch == "rwkv7" {
        for name in ["output_norm.bias", "token_embd_norm.weight", "token_embd_norm.bias"] {
            list.push((name.into(), vec![WIDTH]));
        }
    }
    for i in 0..size.layers {
        let parts = match arch {
            "rwkv7" => recurrent(i),
            _ => [attention(arch, size), feed_forward(arch, size)].concat(),
        };
        list.extend(parts.into_iter().map(|(name, dims)| (format!("blk.{i}.{name}"), dims)));
    }
    list
}

fn feed_forward(arch: &str, size: &Size) -> Vec<(&'static str, Vec<usize>)> {
    let (width, ffn) = (size.width, size.ffn);
    let mut list = vec![("ffn_norm.weight", vec![width])];
    if !is_mixture(arch) {
        list.extend([
            ("ffn_gate.weight", vec![ffn, width]),
            ("ffn_up.weight", vec![ffn, width]),
            ("ffn_down.weight", vec![width, ffn]),
        ]);
        return list;
    }
    list.extend([
        ("ffn_gate_inp.weight", vec![EXPERTS, width]),
        ("ffn_gate_exps.weight", vec![EXPERTS, ffn, width]),
        ("ffn_up_exps.weight", vec![EXPERTS, ffn, width]),
        ("ffn_down_exps.weight", vec![EXPERTS, width, ffn]),
    ]);
    if arch == "qwen2moe" {
        list.extend([
            ("ffn_gate_inp_shexp.weight", vec![width]),
            ("ffn_gate_shexp.weight", vec![ffn, width]),
            ("ffn_up_shexp.weight", vec![ffn, width]),
            ("ffn_down_shexp.weight", vec![width, ffn]),
        ]);
    }
    list
}

fn attention(arch: &str, size: &Size) -> Vec<(&'static str, Vec<usize>)> {
    let (queries, keys, width) = (size.heads * HEAD_LEN, size.kv_heads * HEAD_LEN, size.width);
    let mut list = vec![
        ("attn_norm.weight", vec![width]),
        ("attn_q.weight", vec![queries, width]),
        ("attn_k.weight", vec![keys, width]),
        ("attn_v.weight", vec![keys, width]),
        ("attn_output.weight", vec![width, queries]),
    ];
    if arch.starts_with("qwen2") {
        list.extend([
            ("attn_q.bias", vec![queries]),
            ("attn_k.bias", vec![keys]),
            ("attn_v.bias", vec![keys]),
        ]);
    }
    if arch.starts_with("qwen3") || arch == "gemma3" {
        list.extend([("attn_q_norm.weight", vec![HEAD_LEN]), ("attn_k_norm.weight", vec![HEAD_LEN])]);
    }
    if arch == "gemma3" {
        list.extend([("post_attention_norm.weight", vec![width]), ("post_ffw_norm.weight", vec![width])]);
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

fn metadata(arch: &str, size: &Size, w: &mut Writer) {
    w.set("general.architecture", arch);
    for (key, value) in [
        ("block_count", size.layers),
        ("context_length", 1024),
        ("embedding_length", size.width),
        ("feed_forward_length", size.ffn),
        ("attention.head_count", size.heads),
        ("attention.head_count_kv", size.kv_heads),
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
    if is_mixture(arch) {
        for (key, value) in [
            ("expert_count", EXPERTS),
            ("expert_used_count", USED),
            ("expert_feed_forward_length", size.ffn),
            ("expert_shared_feed_forward_length", size.ffn),
        ] {
            w.set(format!("{arch}.{key}"), MetaValue::U32(value as u32));
        }
    }
    w.set(format!("{arch}.attention.layer_norm_rms_epsilon"), MetaValue::F32(EPSILON));
    w.set(format!("{arch}.attention.layer_norm_epsilon"), MetaValue::F32(EPSILON));
    w.set(format!("{arch}.rope.freq_base"), MetaValue::F32(50_000.0));
    w.set("tokenizer.ggml.model", "llama");
    w.set("tokenizer.ggml.tokens", MetaValue::strings((0..size.vocab).map(|i| format!("t{i}"))));
    w.set("tokenizer.ggml.scores", MetaValue::Array(ValueType::F32, vec![MetaValue::F32(0.0); size.vocab]));
    w.set("tokenizer.ggml.token_type", MetaValue::Array(ValueType::I32, vec![MetaValue::I32(1); size.vocab]));
}

/// A model whose matrices are stored in `format` and whose vectors are f32; `change` edits the file before it is written.
pub fn model(arch: &str, format: BlockFormat, keep: impl Fn(&str) -> bool) -> Gguf {
    Gguf::from_bytes(file(arch, &Size::of(arch), format, keep)).expect("what was written can be read")
}

/// A model of any size, as a file.
pub fn file(arch: &str, size: &Size, format: BlockFormat, keep: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut writer = Writer::new();
    metadata(arch, size, &mut writer);
    let list: Vec<_> = tensors(arch, size).into_iter().filter(|(name, _)| keep(name)).collect();
    for (name, dims) in &list {
        let is_matrix = dims.len() == 2 || name.contains("_exps.");
        let is_matrix = is_matrix && dims.last().is_some_and(|last| last.is_multiple_of(format.block_len()));
        let stored = if is_matrix { format } else { BlockFormat::F32 };
        let dims: Vec<u64> = dims.iter().rev().map(|&d| d as u64).collect();
        writer.tensor(name, &dims, stored);
    }
    let mut bytes = Vec::new();
    let data = |spec: &wootz_gguf::TensorSpec| {
        let count = spec.dims.iter().product::<u64>() as usize;
        let values = values(
            &spec.name,
            count,
            if matches!(spec.dims.len(), 2 | 3) { spec.dims[0] as usize } else { 4 },
        );
        let mut coded = vec![0; spec.format.bytes_of(count).expect("whole blocks")];
        quantize(spec.format, &values, None, &mut coded).expect("finite values");
        Ok(coded)
    };
    writer.write(&mut bytes, data).expect("a well-formed file");
    bytes
}

/// A tensor's values as the file has them, in f64.
pub fn stored(gguf: &Gguf, name: &str) -> Vec<f64> {
    let tensor = gguf.tensor(name).expect("the reference asks for tensors that are there");
    let mut values = vec![0f32; tensor.len() as usize];
    dequantize(tensor.format().expect("ours"), gguf.data(tensor), &mut values).expect("whole blocks");
    values.into_iter().map(f64::from).collect()
}
