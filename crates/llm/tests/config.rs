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
    assert!(refused("bert", &|_| {}).contains("'bert'"));
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
    assert_eq!(Estimate::new(&gemma, &config, load).unwrap().cache, (2 * 4000 + 10 * 128) * row);
    let rwkv = model("rwkv7", &|_| {});
    let config = Config::from_gguf(&rwkv).unwrap();
    let at = |context| Estimate::new(&rwkv, &config, Load { context, ..load }).unwrap().cache;
    assert_eq!(at(10), at(4000));
    assert_eq!(at(10), 12 * (64 * 16 + 2 * 64) * 4);
}
