//! LoRA adapters against the same change of the weights themselves, and adapters that do not fit.

mod tiny;

use std::sync::Arc;
use tiny::{FFN, HEAD_LEN, HEADS, VOCAB, WIDTH, model, stored};
use wootz::Device;
use wootz_blocks::BlockFormat;
use wootz_gguf::{Gguf, MetaValue, Writer};
use wootz_llm::estimate::CacheFormat;
use wootz_llm::{Adapter, Model, ModelOptions, ModelSource, Session, SessionOptions};

const EXACT: SessionOptions = SessionOptions { context: 0, cache: CacheFormat::F32, batch_invariant: false };
const RANK: usize = 4;
const ALPHA: f32 = 8.0;

/// The adapted tensors: name, outputs, inputs.
const ADAPTED: [(&str, usize, usize); 3] = [
    ("blk.0.attn_q.weight", HEADS * HEAD_LEN, WIDTH),
    ("blk.1.ffn_down.weight", WIDTH, FFN),
    ("output.weight", VOCAB, WIDTH),
];

fn values(name: &str, count: usize) -> Vec<f32> {
    let seed = name.bytes().fold(3u32, |h, b| h.wrapping_mul(31).wrapping_add(u32::from(b)));
    (0..count as u32)
        .map(|i| ((seed.wrapping_add(i).wrapping_mul(2_654_435_761) >> 16) as f32 / 65536.0 - 0.5) * 0.3)
        .collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn adapter_file<D: AsRef<[u64]>>(arch: &str, tensors: &[(String, D)]) -> Gguf {
    let mut w = Writer::new();
    w.set("general.architecture", arch);
    w.set("general.type", "adapter");
    w.set("adapter.type", "lora");
    w.set("adapter.lora.alpha", MetaValue::F32(ALPHA));
    for (name, dims) in tensors {
        w.tensor(name, dims.as_ref(), BlockFormat::F32);
    }
    let mut out = Vec::new();
    w.write(&mut out, |t| Ok(bytes(&values(&t.name, t.dims.iter().product::<u64>() as usize)))).unwrap();
    Gguf::from_bytes(out).unwrap()
}

fn whole() -> Vec<(String, [u64; 2])> {
    ADAPTED
        .iter()
        .flat_map(|&(name, rows, columns)| {
            let (rows, columns, rank) = (rows as u64, columns as u64, RANK as u64);
            [(format!("{name}.lora_a"), [columns, rank]), (format!("{name}.lora_b"), [rank, rows])]
        })
        .collect()
}

/// The model with `scale · B·A` added to its weights.
fn merged(scale: f32) -> Gguf {
    let plain = model("llama", BlockFormat::F32, |_| true);
    let mut w = Writer::new();
    for (key, value) in plain.metadata().iter() {
        w.set(key, MetaValue::from(value));
    }
    for tensor in plain.tensors() {
        w.tensor(&tensor.name, &tensor.dims, BlockFormat::F32);
    }
    let mut out = Vec::new();
    let write = |t: &wootz_gguf::TensorSpec| {
        let mut weights = stored(&plain, &t.name);
        if let Some(&(name, rows, columns)) = ADAPTED.iter().find(|a| a.0 == t.name) {
            let a = values(&format!("{name}.lora_a"), RANK * columns);
            let b = values(&format!("{name}.lora_b"), rows * RANK);
            for (i, weight) in weights.iter_mut().enumerate() {
                let (row, column) = (i / columns, i % columns);
                let part: f32 = (0..RANK).map(|r| b[row * RANK + r] * a[r * columns + column]).sum();
                *weight += f64::from(part * scale * ALPHA / RANK as f32);
            }
        }
        Ok(bytes(&weights.iter().map(|&v| v as f32).collect::<Vec<_>>()))
    };
    w.write(&mut out, write).unwrap();
    Gguf::from_bytes(out).unwrap()
}

fn logits(gguf: Gguf, adapters: Vec<Adapter>) -> Vec<f32> {
    let source = ModelSource { gguf, adapters };
    let model = Model::place(source, &Device::cpu(), ModelOptions::default(), EXACT, &mut |_| {}).unwrap();
    Session::new(&Arc::new(model), EXACT).unwrap().advance(&[3, 14, 15, 9, 26]).unwrap()
}

fn adapter(scale: f32) -> Adapter {
    Adapter::new(adapter_file("llama", &whole()), "adapter".into(), scale).unwrap()
}

#[test]
fn an_adapter_is_a_change_of_weights() {
    let plain = || model("llama", BlockFormat::F32, |_| true);
    let worst = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
    let expected = logits(merged(0.5), vec![]);
    let got = logits(plain(), vec![adapter(0.5)]);
    assert!(worst(&got, &expected) < 1e-4, "{}", worst(&got, &expected));
    let twice = logits(plain(), vec![adapter(0.2), adapter(0.3)]);
    assert!(worst(&twice, &expected) < 1e-4, "two of them: {}", worst(&twice, &expected));
    assert!(worst(&logits(plain(), vec![]), &expected) > 0.01, "it makes a difference");
}

/// The tiny mixture of Qwen 3 as floats, `change` of them.
fn mixture(change: impl Fn(&str, &mut [f64])) -> Gguf {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-qwen3moe.model");
    let plain = Gguf::open(path).unwrap();
    let mut w = Writer::new();
    for (key, value) in plain.metadata().iter() {
        w.set(key, MetaValue::from(value));
    }
    for tensor in plain.tensors() {
        w.tensor(&tensor.name, &tensor.dims, BlockFormat::F32);
    }
    let mut out = Vec::new();
    let write = |t: &wootz_gguf::TensorSpec| {
        let mut weights = stored(&plain, &t.name);
        change(&t.name, &mut weights);
        Ok(bytes(&weights.iter().map(|&v| v as f32).collect::<Vec<_>>()))
    };
    w.write(&mut out, write).unwrap();
    Gguf::from_bytes(out).unwrap()
}

#[test]
fn each_expert_has_its_own_change() {
    let plain = mixture(|_, _| {});
    let name = "blk.1.ffn_down_exps.weight";
    let [columns, rows, experts] = plain.tensor(name).unwrap().dims[..] else { panic!("a stack of experts") };
    let rank = RANK as u64;
    let pair = [
        (format!("{name}.lora_a"), vec![columns, rank, experts]),
        (format!("{name}.lora_b"), vec![rank, rows, experts]),
    ];
    let file = adapter_file("qwen3moe", &pair);
    let [columns, rows, experts] = [columns, rows, experts].map(|extent| extent as usize);
    let merged = mixture(|tensor, weights| {
        if tensor != name {
            return;
        }
        let a = values(&pair[0].0, experts * RANK * columns);
        let b = values(&pair[1].0, experts * rows * RANK);
        for (i, weight) in weights.iter_mut().enumerate() {
            let (expert, row, column) = (i / (rows * columns), i / columns % rows, i % columns);
            let part =
                |r: usize| b[(expert * rows + row) * RANK + r] * a[(expert * RANK + r) * columns + column];
            *weight += f64::from((0..RANK).map(part).sum::<f32>() * ALPHA / RANK as f32);
        }
    });
    let worst = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
    let (plain_logits, expected) = (logits(mixture(|_, _| {}), vec![]), logits(merged, vec![]));
    let got = logits(plain, vec![Adapter::new(file, "adapter".into(), 1.0).unwrap()]);
    assert!(worst(&got, &expected) < 1e-3, "{}", worst(&got, &expected));
    assert!(worst(&plain_logits, &expected) > 0.05, "it makes a difference");
}

#[test]
fn adapters_of_something_else_are_refused() {
    let open = |arch: &str, tensors: &[(String, [u64; 2])]| {
        Adapter::new(adapter_file(arch, tensors), "tuned.gguf".into(), 1.0)
    };
    let llama = model("llama", BlockFormat::F32, |_| true);
    let refused = |adapter: wootz_llm::Result<Adapter>, fact: &str| {
        let error = adapter.and_then(|adapter| adapter.check(&llama)).unwrap_err().to_string();
        assert!(error.contains("tuned.gguf") && error.contains(fact), "{error}");
    };
    refused(open("qwen3", &whole()), "the adapter is for qwen3, but the model is llama");
    refused(open("llama", &whole()[..1]), "blk.0.attn_q.weight.lora_a");
    let pair =
        |name: &str, a: [u64; 2], b: [u64; 2]| [(format!("{name}.lora_a"), a), (format!("{name}.lora_b"), b)];
    refused(open("llama", &pair("blk.7.attn_q.weight", [64, 4], [4, 128])), "which the model does not have");
    refused(open("llama", &pair("blk.0.attn_q.weight", [32, 4], [4, 128])), "do not match");
    refused(open("llama", &pair("token_embd.weight", [64, 4], [4, 80])), "token_embd");
    let error = Adapter::new(llama, "model.gguf".into(), 1.0).err().unwrap().to_string();
    assert!(error.contains("not a LoRA adapter"), "{error}");
}
