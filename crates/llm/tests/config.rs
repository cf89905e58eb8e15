//! Model shapes and memory estimates from metadata, good and bad.

use wootz_blocks::BlockFormat;
use wootz_gguf::{Gguf, MetaValue, Writer};
use wootz_llm::config::{Config, Family, Mixer, RopeScaling};
use wootz_llm::estimate::{CacheFormat, Estimate, Load};

/// Metadata of a small model, with changes.
fn model(arch: &str, change: &dyn Fn(&mut Writer)) -> Gguf {
    let mut w = Writer::new();
    w.set("general.architecture", arch);
    for (key, value) in [
        ("block_count", 12),
        ("context_length", 4096),
        ("embedding_length", 64),
        ("feed_forward_length", 128),
        ("attention.head_count", 4),
        ("attention.head_count_kv", 2),
        ("wkv.head_size", 16),
        ("attention.decay_lora_rank", 8),
        ("attention.iclr_lora_rank", 8),
        ("attention.value_residual_mix_lora_rank", 8),
        ("attention.gate_lora_rank", 8),
    ] {
        w.set(format!("{arch}.{key}"), MetaValue::U32(value));
    }
    w.set(format!("{arch}.attention.layer_norm_rms_epsilon"), MetaValue::F32(1e-6));
    w.tensor("token_embd.weight", &[64, 100], BlockFormat::Q8_0);
    change(&mut w);
    let mut bytes = Vec::new();
    w.write(&mut bytes, |t| Ok(vec![0; t.format.bytes_of(t.dims.iter().product::<u64>() as usize).unwrap()]))
        .unwrap();
    Gguf::from_bytes(bytes).unwrap()
}

fn refused(arch: &str, change: &dyn Fn(&mut Writer)) -> String {
    Config::from_gguf(&model(arch, change)).unwrap_err().to_string()
}

#[test]
fn families_are_read() {
    let config = Config::from_gguf(&model("llama", &|_| {})).unwrap();
    assert_eq!((config.family, config.layers, config.vocab), (Family::Llama, 12, 100));
    let Mixer::Attention(a) = &config.mixer else { panic!("llama attends") };
    assert_eq!((a.heads, a.kv_heads, a.key_len, a.rope_len, a.window), (4, 2, 16, 16, None));
    assert_eq!((a.rope_base, a.rope_scaling), (10_000.0, RopeScaling::None));
    let gemma = model("gemma3", &|w| {
        w.set("gemma3.attention.sliding_window", MetaValue::U32(512));
        w.set("gemma3.attention.key_length", MetaValue::U32(32));
        w.set("gemma3.rope.freq_base", MetaValue::F32(1e6));
    });
    let config = Config::from_gguf(&gemma).unwrap();
    let Mixer::Attention(a) = &config.mixer else { panic!("gemma attends") };
    assert_eq!((a.key_len, a.rope_base, a.rope_base_local), (32, 1e6, 1e4));
    let full: Vec<usize> = (0..12).filter(|&l| a.window_of(l).is_none()).collect();
    assert_eq!(full, [5, 11]);
    let config = Config::from_gguf(&model("rwkv7", &|_| {})).unwrap();
    assert!(matches!(config.mixer, Mixer::Recurrent(r) if r.head_len == 16));
}

#[test]
fn nonsense_is_refused_with_facts() {
    let unknown = refused("t5", &|_| {});
    assert!(
        unknown.contains("'t5'") && unknown.contains("qwen3moe") && unknown.contains("gpt-oss"),
        "{unknown}"
    );
    let set = |key: &'static str, value: u32| {
        move |w: &mut Writer| {
            w.set(key, MetaValue::U32(value));
        }
    };
    assert!(refused("llama", &set("llama.block_count", 0)).contains("llama.block_count is 0"));
    assert!(refused("llama", &set("llama.embedding_length", u32::MAX)).contains("4294967295"));
    assert!(refused("llama", &set("llama.attention.head_count_kv", 3)).contains("4 query heads"));
    assert!(refused("llama", &set("llama.embedding_length", 96)).contains("[64, 100]"));
    assert!(refused("llama", &set("llama.rope.dimension_count", 7)).contains("7 of the 16"));
    assert!(
        refused("llama", &|w| {
            w.set("llama.rope.scaling.type", "magic");
        })
        .contains("magic")
    );
    assert!(
        refused("llama", &|w| {
            w.set("llama.context_length", "long");
        })
        .contains("llama.context_length")
    );
    assert!(
        refused("llama", &|w| {
            w.set("tokenizer.ggml.tokens", MetaValue::strings(vec!["a"; 101]));
        })
        .contains("101 tokens")
    );
    let layers = MetaValue::Array(wootz_gguf::ValueType::U32, vec![MetaValue::U32(1), MetaValue::U32(2)]);
    assert!(
        refused("llama", &|w| {
            w.set("llama.feed_forward_length", layers.clone());
        })
        .contains("same for all layers")
    );
}

/// A list of numbers for layers.
fn list(values: &[u32]) -> MetaValue {
    let values = values.iter().map(|&v| MetaValue::U32(v)).collect();
    MetaValue::Array(wootz_gguf::ValueType::U32, values)
}

/// The numbers of recurrent layers.
fn recurrent(arch: &'static str, w: &mut Writer) {
    for (key, value) in [
        ("ssm.conv_kernel", 4),
        ("ssm.inner_size", 64),
        ("ssm.state_size", 16),
        ("ssm.time_step_rank", 4),
        ("ssm.group_count", 2),
        ("shortconv.l_cache", 3),
    ] {
        w.set(format!("{arch}.{key}"), MetaValue::U32(value));
    }
}

#[test]
fn hybrids_are_read_and_counted() {
    let qwen = model("qwen35", &|w| recurrent("qwen35", w));
    let config = Config::from_gguf(&qwen).unwrap();
    let Mixer::Hybrid(hybrid) = &config.mixer else { panic!("qwen35 is a hybrid") };
    let full: Vec<usize> = (0..12).filter(|&l| !hybrid.is_recurrent[l]).collect();
    assert_eq!(full, [3, 7, 11]);
    let load = Load { context: 100, sequences: 1, batch: 28, cache: CacheFormat::F32 };
    let states = 9 * (4 * 16 * 16 + 3 * (64 + 2 * 32)) * 4;
    let caches = 3 * 100 * 2 * 32 * 4;
    assert_eq!(Estimate::new(&qwen, &config, load).unwrap().cache, states + caches);
    // Layers after the network's own guess ahead and are not run.
    let ahead = model("qwen35", &|w| {
        recurrent("qwen35", w);
        w.set("qwen35.nextn_predict_layers", MetaValue::U32(1));
    });
    assert_eq!(Config::from_gguf(&ahead).unwrap().layers, 11);
}

#[test]
fn numbers_of_new_families_are_checked() {
    let with = |arch: &'static str, key: &'static str, value: MetaValue| {
        refused(arch, &move |w| {
            recurrent(arch, w);
            w.set(format!("{arch}.{key}"), value.clone());
        })
    };
    let says = |error: String, fact: &str| assert!(error.contains(fact), "{error}");
    says(with("qwen35", "ssm.time_step_rank", MetaValue::U32(3)), "3 heads of 2 groups");
    says(with("qwen35", "ssm.state_size", MetaValue::U32(8)), "keys of 8 and values of 16");
    says(with("qwen35", "nextn_predict_layers", MetaValue::U32(12)), "only 12 layers");
    says(with("qwen35", "ssm.conv_kernel", MetaValue::U32(1)), "not a convolution");
    says(with("qwen35", "expert_count", MetaValue::U32(4)), "does not support experts");
    says(with("qwen35moe", "expert_used_count", MetaValue::U32(2)), "without qwen35moe.expert_count");
    says(with("lfm2", "attention.head_count_kv", list(&[0, 2, 0])), "3 values for 12 layers");
    let mixed: Vec<u32> = (0..12).map(|l| l % 3).collect();
    says(with("lfm2", "attention.head_count_kv", list(&mixed)), "different numbers of key heads");
    says(with("llama", "attention.head_count_kv", list(&[2; 11])), "11 values for 12 layers");
    says(refused("deepseek2", &|_| {}), "deepseek2.attention.key_length_mla");
    let experts = |change: &'static [(&'static str, u32)]| {
        refused("lfm2moe", &move |w| {
            recurrent("lfm2moe", w);
            for (key, value) in [("expert_count", 6), ("expert_used_count", 2)].iter().chain(change) {
                w.set(format!("lfm2moe.{key}"), MetaValue::U32(*value));
            }
        })
    };
    says(experts(&[("expert_used_count", 7)]), "7 of 6");
    says(experts(&[("expert_gating_func", 9)]), "1 (softmax), 2 (sigmoid)");
    says(experts(&[("expert_group_count", 4), ("expert_group_used_count", 2)]), "2 of 4 groups");
}

#[test]
fn estimates_count_every_byte_of_the_cache() {
    let gguf = model("llama", &|_| {});
    let config = Config::from_gguf(&gguf).unwrap();
    let load = Load { context: 1000, sequences: 2, batch: 128, cache: CacheFormat::F16 };
    let estimate = Estimate::new(&gguf, &config, load).unwrap();
    assert_eq!(estimate.weights, 100 * 68);
    // 12 layers × 2 sequences × 1000 positions × 2 heads × (16 + 16) values × 2 bytes.
    assert_eq!(estimate.cache, 12 * 2 * 1000 * 2 * 32 * 2);
    let q8 = Estimate::new(&gguf, &config, Load { cache: CacheFormat::Q8_0, ..load }).unwrap();
    assert_eq!(q8.cache, 12 * 2 * 1000 * 2 * 2 * 34, "16 values fill one padded block");
    assert_eq!(CacheFormat::from_name("Q8_0").unwrap(), CacheFormat::Q8_0);
    let error = CacheFormat::from_name("i4").unwrap_err().to_string();
    assert!(error.contains("'i4'") && error.contains("bf16, q8_0"), "{error}");
    let error = Estimate::new(&gguf, &config, Load { context: 5000, ..load }).unwrap_err().to_string();
    assert!(error.contains("5000") && error.contains("4096"), "{error}");
    estimate.must_fit(1 << 30).unwrap();
    let error = estimate.must_fit(1 << 20).unwrap_err().to_string();
    assert!(error.contains("1 MiB are available"), "{error}");
    assert!(Estimate::new(&gguf, &config, Load { sequences: usize::MAX, ..load }).is_err());
}

#[test]
fn windows_and_states_need_less() {
    let gemma = model("gemma3", &|w| {
        w.set("gemma3.attention.sliding_window", MetaValue::U32(100));
    });
    let config = Config::from_gguf(&gemma).unwrap();
    let load = Load { context: 4000, sequences: 1, batch: 28, cache: CacheFormat::F32 };
    let row = 2 * 32 * 4;
    // A window and a batch, and the step in which windows move.
    assert_eq!(Estimate::new(&gemma, &config, load).unwrap().cache, (2 * 4000 + 10 * (128 + 128)) * row);
    let rwkv = model("rwkv7", &|_| {});
    let config = Config::from_gguf(&rwkv).unwrap();
    let at = |context| Estimate::new(&rwkv, &config, Load { context, ..load }).unwrap().cache;
    assert_eq!(at(10), at(4000));
    assert_eq!(at(10), 12 * (64 * 16 + 2 * 64) * 4);
}
