//! Folders with safetensors: the tiny models as hubs would hold them give the logits of the GGUF files.

mod tiny;

use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tiny::{FFN, HEAD_LEN, HEADS, KV_HEADS, VOCAB, WIDTH, layers, model, stored};
use wootz::{Device, Tensor};
use wootz_blocks::BlockFormat;
use wootz_gguf::Gguf;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::quantize::{Mix, Options, quantize_file};
use wootz_llm::tokenizer::{Encoding, Tokenizer};
use wootz_llm::{Model, ModelOptions, Session, SessionOptions, hub};

/// A tensor's name in a hub's file.
fn hub_name(arch: &str, name: &str) -> String {
    match name {
        "token_embd.weight" => return "model.embed_tokens.weight".into(),
        "output_norm.weight" => return "model.norm.weight".into(),
        "output.weight" => return "lm_head.weight".into(),
        _ => {}
    }
    let (layer, part) = name.strip_prefix("blk.").unwrap().split_once('.').unwrap();
    let (part, kind) = part.rsplit_once('.').unwrap();
    let part = match (part, arch) {
        ("attn_norm", _) => "input_layernorm",
        ("attn_q", _) => "self_attn.q_proj",
        ("attn_k", _) => "self_attn.k_proj",
        ("attn_v", _) => "self_attn.v_proj",
        ("attn_output", _) => "self_attn.o_proj",
        ("attn_q_norm", _) => "self_attn.q_norm",
        ("attn_k_norm", _) => "self_attn.k_norm",
        ("post_attention_norm", _) => "post_attention_layernorm",
        ("post_ffw_norm", _) => "post_feedforward_layernorm",
        ("ffn_norm", "gemma2" | "gemma3") => "pre_feedforward_layernorm",
        ("ffn_norm", _) => "post_attention_layernorm",
        ("ffn_gate", _) => "mlp.gate_proj",
        ("attn_qkv", _) => "self_attn.qkv_proj",
        ("ffn_up", "phi3") => "mlp.gate_up_proj",
        ("ffn_up", _) => "mlp.up_proj",
        ("ffn_down", _) => "mlp.down_proj",
        (other, _) => panic!("{other} has no name"),
    };
    format!("model.layers.{layer}.{part}.{kind}")
}

/// Llama's query and key rows as they were before the conversion: halves of a head instead of neighbours.
fn halves(values: &[f32], heads: usize, head_len: usize) -> Vec<f32> {
    let rows = heads * head_len;
    let width = values.len() / rows;
    let from = |row: usize| {
        let (start, i) = (row / head_len * head_len, row % head_len);
        start + i % (head_len / 2) * 2 + i / (head_len / 2)
    };
    (0..rows).flat_map(|row| &values[from(row) * width..][..width]).copied().collect()
}

/// Writes the folder of a model in two files.
fn write_folder(gguf: &Gguf, arch: &str, folder: &Path) {
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    for tensor in gguf.tensors() {
        let mut values: Vec<f32> = stored(gguf, &tensor.name).into_iter().map(|v| v as f32).collect();
        if arch == "llama" && tensor.name.contains("attn_q.") {
            values = halves(&values, HEADS, HEAD_LEN);
        } else if arch == "llama" && tensor.name.contains("attn_k.") {
            values = halves(&values, KV_HEADS, HEAD_LEN);
        } else if arch == "gemma3" && tensor.dims.len() == 1 {
            values.iter_mut().for_each(|v| *v -= 1.0);
        }
        let value = Tensor::from_slice(&values).unwrap().reshape(tensor.shape()).unwrap();
        tensors.push((hub_name(arch, &tensor.name), value));
    }
    let (first, second) = tensors.split_at(tensors.len() / 2);
    for (part, list) in [("1", first), ("2", second)] {
        let list: Vec<(&str, &Tensor)> = list.iter().map(|(n, t)| (n.as_str(), t)).collect();
        wootz::save_safetensors(folder.join(format!("model-{part}.safetensors")), &list).unwrap();
    }
    let mut config = json!({
        "model_type": arch, "num_hidden_layers": layers(arch), "max_position_embeddings": 1024,
        "hidden_size": WIDTH, "intermediate_size": FFN, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD_LEN, "rms_norm_eps": 1e-5, "rope_theta": 50000.0,
        "tie_word_embeddings": arch == "gemma3", "eos_token_id": [4, 5],
    });
    if arch == "gemma3" {
        config["sliding_window"] = json!(tiny::WINDOW);
    }
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    std::fs::write(folder.join("tokenizer.json"), byte_level().to_string()).unwrap();
    let settings = json!({
        "eos_token": { "content": "<|end|>" }, "bos_token": null,
        "chat_template": [{ "name": "tools", "template": "no" }, { "name": "default", "template": "yes" }],
    });
    std::fs::write(folder.join("tokenizer_config.json"), settings.to_string()).unwrap();
}

/// A byte-level tokenizer with a few merges.
fn byte_level() -> serde_json::Value {
    let mut vocab = serde_json::Map::new();
    for (i, text) in ["h", "e", "l", "o", "Ġ", "1", "2", "he", "ll", "Ġhe", "hell"].into_iter().enumerate()
    {
        vocab.insert(text.into(), json!(i));
    }
    json!({
        "added_tokens": [{ "id": 12, "content": "<|end|>", "special": true }, { "id": 13, "content": "[x]" }],
        "normalizer": null,
        "pre_tokenizer": { "type": "Sequence", "pretokenizers": [
            { "type": "Digits", "individual_digits": true }, { "type": "ByteLevel", "use_regex": true },
        ]},
        "post_processor": null,
        "model": { "type": "BPE", "vocab": vocab, "merges": ["h e", ["l", "l"], ["Ġ", "he"], "he ll"] },
    })
}

fn logits(model: Model) -> Vec<f32> {
    let tokens: Vec<u32> = (0..20).map(|i| (i * i * 7 + 3) as u32 % VOCAB as u32).collect();
    let options = SessionOptions { cache: CacheFormat::F32, ..SessionOptions::default() };
    Session::new(&Arc::new(model), options).unwrap().advance(&tokens).unwrap()
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max)
}

#[test]
fn a_folder_recommends_how_to_sample() {
    let folder = tempfile::tempdir().unwrap();
    write_folder(&model("llama", BlockFormat::F32, |_| true), "llama", folder.path());
    for (generation, expected) in [
        (json!({ "do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95 }), (0.6, 20, 0.95)),
        (json!({ "do_sample": false, "temperature": 0.6 }), (0.0, 40, 0.95)),
        (json!({ "do_sample": true, "top_p": 0.9 }), (1.0, 40, 0.9)),
        (json!({ "eos_token_id": 12 }), (0.0, 40, 0.95)),
    ] {
        std::fs::write(folder.path().join("generation_config.json"), generation.to_string()).unwrap();
        let model = Model::open(folder.path(), &Device::cpu(), ModelOptions::default()).unwrap();
        let sampling = model.sampling();
        assert_eq!((sampling.temperature, sampling.top_k, sampling.top_p), expected, "{generation}");
    }
}

#[test]
fn folders_are_the_models_they_hold() {
    for arch in ["llama", "qwen2", "qwen3", "gemma3"] {
        let gguf = model(arch, BlockFormat::F32, |_| true);
        let folder = tempfile::tempdir().unwrap();
        write_folder(&gguf, arch, folder.path());
        let expected = logits(Model::from_gguf(gguf, &Device::cpu(), ModelOptions::default()).unwrap());
        let ours = logits(Model::open(folder.path(), &Device::cpu(), ModelOptions::default()).unwrap());
        assert!(difference(&ours, &expected) < 1e-4, "{arch}: {}", difference(&ours, &expected));
        // As a GGUF file, rows in the order of GGUF.
        let file = folder.path().join("all.gguf");
        let opened = hub::open(folder.path().join("model-1.safetensors")).unwrap();
        quantize_file(&opened, &file, Options::new(Mix::from_name("f32").unwrap(), 2), &mut |_| {}).unwrap();
        let rewritten = Model::open(&file, &Device::cpu(), ModelOptions::default()).unwrap();
        assert!(rewritten.gguf().metadata().get("wootz.rope.pairs").is_none());
        let rewritten = logits(rewritten);
        assert!(difference(&rewritten, &expected) < 1e-4, "{arch}: {}", difference(&rewritten, &expected));
    }
}

/// Writes the folder of a golden model in one file; `extra` is what its `config.json` has beside the usual.
fn write_golden(gguf: &Gguf, arch: &str, folder: &Path, extra: serde_json::Value) {
    let meta = gguf.metadata();
    let number = |key: &str| meta.usize(&format!("{arch}.{key}")).unwrap();
    let (heads, kv) = (number("attention.head_count"), number("attention.head_count_kv"));
    let head = number("attention.key_length");
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    for tensor in gguf.tensors().iter().filter(|tensor| !tensor.name.starts_with("rope_factors")) {
        let mut values: Vec<f32> = stored(gguf, &tensor.name).into_iter().map(|v| v as f32).collect();
        if matches!(arch, "granite" | "smollm3") && tensor.name.contains("attn_q.") {
            values = halves(&values, heads, head);
        } else if matches!(arch, "granite" | "smollm3") && tensor.name.contains("attn_k.") {
            values = halves(&values, kv, head);
        } else if arch == "gemma2" && tensor.dims.len() == 1 {
            values.iter_mut().for_each(|v| *v -= 1.0);
        }
        let value = Tensor::from_slice(&values).unwrap().reshape(tensor.shape()).unwrap();
        tensors.push((hub_name(arch, &tensor.name), value));
    }
    let list: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    wootz::save_safetensors(folder.join("model.safetensors"), &list).unwrap();
    let mut config = json!({
        "model_type": arch, "num_hidden_layers": number("block_count"), "max_position_embeddings": number("context_length"),
        "hidden_size": number("embedding_length"), "intermediate_size": number("feed_forward_length"),
        "num_attention_heads": heads, "num_key_value_heads": kv, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "tie_word_embeddings": true,
    });
    for (key, value) in extra.as_object().unwrap() {
        config[key] = value.clone();
    }
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    std::fs::write(folder.join("tokenizer.json"), byte_level().to_string()).unwrap();
}

#[test]
fn folders_of_newer_families() {
    let factors = |last: f64| (0..8).map(|i| 1.0 + (last - 1.0) * f64::from(i) / 7.0).collect::<Vec<_>>();
    for (arch, extra) in [
        (
            "gemma2",
            json!({ "head_dim": 32, "sliding_window": 16, "attn_logit_softcapping": 5.0,
            "final_logit_softcapping": 20.0, "query_pre_attn_scalar": 32 }),
        ),
        (
            "granite",
            json!({ "embedding_multiplier": 3.0, "residual_multiplier": 0.6, "attention_multiplier": 0.1,
            "logits_scaling": 2.0 }),
        ),
        ("smollm3", json!({ "head_dim": 32, "no_rope_layers": [1, 1, 1, 0] })),
        // Such a length makes Phi's factor on rotated values 1.2.
        (
            "phi3",
            json!({ "max_position_embeddings": 7970, "original_max_position_embeddings": 512,
            "rope_scaling": { "type": "longrope", "short_factor": factors(3.0), "long_factor": factors(30.0) } }),
        ),
    ] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/tiny-{arch}.model"));
        let gguf = Gguf::open(golden).unwrap();
        let folder = tempfile::tempdir().unwrap();
        write_golden(&gguf, arch, folder.path(), extra);
        let open = |path: &Path| logits(Model::open(path, &Device::cpu(), ModelOptions::default()).unwrap());
        let expected = logits(Model::from_gguf(gguf, &Device::cpu(), ModelOptions::default()).unwrap());
        let size = expected.iter().fold(0f32, |m, v| m.max(v.abs()));
        let ours = open(folder.path());
        assert!(
            difference(&ours, &expected) < 1e-4 * size,
            "{arch}: {} of {size}",
            difference(&ours, &expected)
        );
        let file = folder.path().join("all.gguf");
        let opened = hub::open(folder.path()).unwrap();
        quantize_file(&opened, &file, Options::new(Mix::from_name("f32").unwrap(), 2), &mut |_| {}).unwrap();
        assert!(difference(&open(&file), &expected) < 1e-4 * size, "{arch} rewritten");
    }
}

#[test]
fn byte_level_tokenizers_are_read() {
    let gguf = model("llama", BlockFormat::F32, |_| true);
    let folder = tempfile::tempdir().unwrap();
    write_folder(&gguf, "llama", folder.path());
    let opened = hub::open(folder.path()).unwrap();
    let tokenizer = Tokenizer::from_gguf(&opened).unwrap();
    let plain = Encoding { add_special: true, parse_special: true };
    // hello → hell + o, a space with he, digits one by one, special tokens where they stand.
    assert_eq!(tokenizer.encode("hello he12<|end|>[x]", plain), [10, 3, 9, 5, 6, 12, 13]);
    assert_eq!(tokenizer.decode(&[10, 3, 9, 5, 13], false), "hello he1[x]");
    assert_eq!((tokenizer.vocab().eos, tokenizer.vocab().bos), (Some(12), None));
    assert!(tokenizer.vocab().is_end(12));
    let meta = opened.metadata();
    assert_eq!(meta.str("tokenizer.chat_template").unwrap(), "yes");
    assert_eq!(meta.str("tokenizer.ggml.pre").unwrap(), "smollm");
}

#[test]
fn sentencepiece_tokenizers_are_read() {
    let gguf = model("llama", BlockFormat::F32, |_| true);
    let folder = tempfile::tempdir().unwrap();
    write_folder(&gguf, "llama", folder.path());
    let mut vocab = serde_json::Map::new();
    let texts = ["<unk>", "<s>", "▁", "a", "b", "ab", "▁a", "▁ab", "<0x21>", "ba"];
    for (i, text) in texts.into_iter().enumerate() {
        vocab.insert(text.into(), json!(i));
    }
    let tokenizer = json!({
        "added_tokens": [{ "id": 0, "content": "<unk>", "special": true }, { "id": 1, "content": "<s>", "special": true }],
        "normalizer": { "type": "Sequence", "normalizers": [
            { "type": "Prepend", "prepend": "▁" }, { "type": "Replace", "pattern": { "String": " " }, "content": "▁" },
        ]},
        "post_processor": { "type": "TemplateProcessing", "single": [{ "SpecialToken": { "id": "<s>" } }, { "Sequence": {} }] },
        "model": {
            "type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "vocab": vocab,
            "merges": ["b a", "a b", "▁ a", "▁ ab", "▁a b"],
        },
    });
    std::fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let settings = json!({ "bos_token": "<s>" });
    std::fs::write(folder.path().join("tokenizer_config.json"), settings.to_string()).unwrap();
    let tokenizer = Tokenizer::from_gguf(&hub::open(folder.path()).unwrap()).unwrap();
    // The earliest merge first: ▁, a, ba; then ▁a. A byte where no token is.
    assert_eq!(tokenizer.encode("aba!", Encoding::TEXT), [1, 6, 9, 8]);
    assert_eq!(tokenizer.encode("ab", Encoding::TEXT), [1, 7]);
}

#[test]
fn bad_folders_are_refused_with_facts() {
    let gguf = model("llama", BlockFormat::F32, |_| true);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let refused = || match hub::open(path) {
        Ok(_) => panic!("a bad folder was opened"),
        Err(error) => error.to_string(),
    };
    assert!(refused().contains("config.json"), "{}", refused());
    write_folder(&gguf, "llama", path);
    let file = path.join("model-2.safetensors");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 10]).unwrap();
    assert!(refused().contains("model-2.safetensors"), "{}", refused());
    std::fs::copy(path.join("model-1.safetensors"), &file).unwrap();
    assert!(refused().contains("twice"), "{}", refused());
    std::fs::remove_file(&file).unwrap();
    let error =
        Model::open(path, &Device::cpu(), ModelOptions::default()).err().expect("half a model").to_string();
    assert!(error.contains("blk.") || error.contains("output"), "{error}");
    let odd = Tensor::from_slice(&[1.0f32]).unwrap();
    wootz::save_safetensors(&file, &[("model.layers.0.magic.weight", &odd)]).unwrap();
    assert!(refused().contains("magic"), "{}", refused());
    std::fs::remove_file(&file).unwrap();
    // Sizes that would be allocated before anything else is looked at, and divisions by what is not there.
    let config = std::fs::read_to_string(path.join("config.json")).unwrap();
    let scaling = json!({ "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192 });
    for (changes, expected) in [
        (vec![("head_dim", json!(4_294_967_295u32)), ("rope_scaling", scaling.clone())], "4294967295"),
        (vec![("num_attention_heads", json!(0)), ("rope_scaling", scaling.clone())], "num_attention_heads"),
        (
            vec![("num_attention_heads", json!(0)), ("head_dim", json!(null)), ("rope_scaling", scaling)],
            "num_attention_heads",
        ),
        (vec![("hidden_size", json!(-5))], "hidden_size"),
        (vec![("num_hidden_layers", json!(1e300))], "num_hidden_layers"),
    ] {
        let mut changed: serde_json::Value = serde_json::from_str(&config).unwrap();
        changes.into_iter().for_each(|(key, value)| changed[key] = value);
        std::fs::write(path.join("config.json"), changed.to_string()).unwrap();
        assert!(refused().contains(expected), "{expected}: {}", refused());
    }
    std::fs::write(path.join("config.json"), config).unwrap();
    let mut tokenizer = byte_level();
    tokenizer["model"]["type"] = json!("Unigram");
    std::fs::write(path.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    assert!(refused().contains("Unigram"), "{}", refused());
}
