//! A server with a small model of random weights that knows every byte and a few special tokens.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use wootz::Device;
use wootz_blocks::{BlockFormat, quantize};
use wootz_gguf::{Gguf, MetaValue, ValueType, Writer};
use wootz_llm::engine::EngineOptions;
use wootz_llm::{Embedder, Model, ModelOptions};
use wootz_server::{Loaded, Offer, Server, ServerOptions, Shutdown};

const WIDTH: usize = 64;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD_LEN: usize = 32;
const FFN: usize = 96;
const LAYERS: usize = 2;
const SPECIAL: [&str; 4] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<pad>"];
const CONTEXT: usize = 2048;

/// The character that stands for a byte in the vocabularies of byte-level models.
fn character(byte: u8) -> char {
    let plain = |b: u8| matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if plain(byte) {
        return byte as char;
    }
    let before = (0..byte).filter(|&b| !plain(b)).count() as u32;
    char::from_u32(256 + before).expect("below the surrogates")
}

fn noise(seed: u64) -> f32 {
    let z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((z >> 40) as f32 / (1u64 << 23) as f32) - 1.0
}

fn tensors(vocab: usize) -> Vec<(String, Vec<usize>)> {
    let mut list = vec![
        ("token_embd.weight".to_string(), vec![vocab, WIDTH]),
        ("output.weight".to_string(), vec![vocab, WIDTH]),
        ("output_norm.weight".to_string(), vec![WIDTH]),
    ];
    for i in 0..LAYERS {
        let parts = [
            ("attn_norm", vec![WIDTH]),
            ("attn_q", vec![HEADS * HEAD_LEN, WIDTH]),
            ("attn_k", vec![KV_HEADS * HEAD_LEN, WIDTH]),
            ("attn_v", vec![KV_HEADS * HEAD_LEN, WIDTH]),
            ("attn_output", vec![WIDTH, HEADS * HEAD_LEN]),
            ("ffn_norm", vec![WIDTH]),
            ("ffn_gate", vec![FFN, WIDTH]),
            ("ffn_up", vec![FFN, WIDTH]),
            ("ffn_down", vec![WIDTH, FFN]),
        ];
        list.extend(parts.map(|(name, dims)| (format!("blk.{i}.{name}.weight"), dims)));
    }
    list
}

/// Models that differ in how they write reasoning and calls: their chat template, and the control tokens that it needs.
const STYLES: [(&str, &str, &[&str]); 3] = [
    ("thinker", "{{ messages[-1].content }}<think>", &["<think>", "</think>"]),
    (
        "mistral",
        "{{ tools | tojson if tools }}[INST]{{ messages[-1].content }}[/INST]{# [TOOL_CALLS] [ARGS] #}",
        &["[INST]", "[/INST]", "[TOOL_CALLS]", "[ARGS]"],
    ),
    (
        "harmony",
        "{{ tools | tojson if tools }}<|start|>user<|message|>{{ messages[-1].content }}<|end|><|start|>assistant{# <|channel|> #}",
        &["<|start|>", "<|message|>", "<|end|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"],
    ),
];

/// The model's file.
pub fn gguf(template: Option<&str>, control: &[&str]) -> Gguf {
    let mut words: Vec<String> = (0..=255u8).map(|b| character(b).to_string()).collect();
    words.extend(SPECIAL.iter().chain(control).map(|text| text.to_string()));
    let vocab = words.len();
    let mut writer = Writer::new();
    writer.set("general.architecture", "llama");
    for (key, value) in [
        ("block_count", LAYERS),
        ("context_length", CONTEXT),
        ("embedding_length", WIDTH),
        ("feed_forward_length", FFN),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KV_HEADS),
        ("attention.key_length", HEAD_LEN),
        ("attention.value_length", HEAD_LEN),
    ] {
        writer.set(format!("llama.{key}"), MetaValue::U32(value as u32));
    }
    writer.set("llama.attention.layer_norm_rms_epsilon", MetaValue::F32(1e-5));
    writer.set("llama.rope.freq_base", MetaValue::F32(10_000.0));
    let kinds = (0..vocab).map(|i| MetaValue::I32(if i < 256 { 1 } else { 3 })).collect();
    writer.set("tokenizer.ggml.model", "gpt2");
    writer.set("tokenizer.ggml.pre", "gpt-2");
    writer.set("tokenizer.ggml.tokens", MetaValue::strings(words));
    writer.set("tokenizer.ggml.token_type", MetaValue::Array(ValueType::I32, kinds));
    writer.set("tokenizer.ggml.merges", MetaValue::strings(["a b".to_owned()]));
    writer.set("tokenizer.ggml.bos_token_id", MetaValue::U32(256));
    writer.set("tokenizer.ggml.eos_token_id", MetaValue::U32(258));
    if let Some(template) = template {
        writer.set("tokenizer.chat_template", template);
    }
    for (name, dims) in tensors(vocab) {
        let format = if dims.len() == 2 { BlockFormat::Q8_0 } else { BlockFormat::F32 };
        let dims: Vec<u64> = dims.iter().rev().map(|&d| d as u64).collect();
        writer.tensor(&name, &dims, format);
    }
    let mut bytes = Vec::new();
    let data = |spec: &wootz_gguf::TensorSpec| {
        let seed = spec.name.bytes().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
        let count = spec.dims.iter().product::<u64>() as usize;
        let scale = 1.7 / (spec.dims[0] as f32).sqrt();
        let value = |i: u64| {
            let x = noise(seed.wrapping_mul(1_000_003).wrapping_add(i));
            if spec.dims.len() == 1 { 1.0 + 0.3 * x } else { x * scale }
        };
        let values: Vec<f32> = (0..count as u64).map(value).collect();
        let mut coded = vec![0; spec.format.bytes_of(count).expect("whole blocks")];
        quantize(spec.format, &values, None, &mut coded).expect("finite values");
        Ok(coded)
    };
    writer.write(&mut bytes, data).expect("a well-formed file");
    Gguf::from_bytes(bytes).expect("what was written can be read")
}

/// A server on a free port.
pub struct Running {
    pub address: SocketAddr,
    pub shutdown: Shutdown,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts one; `change` edits its options.
    pub fn start(change: impl FnOnce(&mut ServerOptions, &mut EngineOptions)) -> Running {
        Running::start_with(false, change)
    }

    /// The same, with a model beside the others that cannot be loaded.
    pub fn start_with(
        with_broken: bool,
        change: impl FnOnce(&mut ServerOptions, &mut EngineOptions),
    ) -> Running {
        let (mut options, mut engine) =
            (ServerOptions::new(([127, 0, 0, 1], 0).into()), EngineOptions::default());
        change(&mut options, &mut engine);
        let load = |template: Option<&'static str>, control: &'static [&str]| {
            let engine = engine.clone();
            move || {
                let model =
                    Model::from_gguf(gguf(template, control), &Device::cpu(), ModelOptions::default());
                Ok(Loaded::Text(Arc::new(model.map_err(|error| error.to_string())?), engine.clone()))
            }
        };
        let text = load(None, &[]);
        let vectors = || {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../llm/tests/golden/tiny-bert.model");
            let model = Embedder::open(path, &Device::cpu()).map_err(|error| error.to_string())?;
            Ok(Loaded::Vectors(Arc::new(model)))
        };
        let mut offers = vec![
            Offer::new("tiny", text.clone()),
            Offer::new("tiny-bert", vectors),
            Offer::new("second", text),
        ];
        if with_broken {
            offers.push(Offer::new("tiny-rerank", || {
                let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../llm/tests/golden/tiny-bert-rank.model");
                let model = Embedder::open(path, &Device::cpu()).map_err(|error| error.to_string())?;
                Ok(Loaded::Vectors(Arc::new(model)))
            }));
            offers.push(Offer::new("broken", || Err("its file is not there".into())));
            offers.extend(
                STYLES.map(|(name, template, control)| Offer::new(name, load(Some(template), control))),
            );
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let server = Server::bind(offers, options).await.expect("a free port");
                sender.send((server.address(), server.shutdown())).expect("somebody waits");
                server.run().await;
            });
        });
        let (address, shutdown) = receiver.recv().expect("the server starts");
        Running { address, shutdown, thread: Some(thread) }
    }

    /// Asks it to finish, and waits until it has.
    pub fn stop(mut self) {
        self.shutdown.ask();
        self.thread.take().expect("it runs").join().expect("the server ends in order");
    }
}
