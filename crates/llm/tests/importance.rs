//! Importance matrices: what they count, their files, and what quantisers make of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use wootz::Device;
use wootz_blocks::{BlockFormat, dequantize};
use wootz_gguf::{Gguf, MetaValue, Writer};
use wootz_llm::importance::{Importance, collect};
use wootz_llm::quantize::{Mix, Options, quantize_file};
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};

fn golden(family: &str) -> Gguf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    Gguf::open(folder.join(format!("tiny-{family}.model"))).unwrap()
}

fn values(gguf: &Gguf, name: &str) -> Vec<f32> {
    let tensor = gguf.tensor(name).unwrap();
    let mut values = vec![0.0; tensor.len() as usize];
    dequantize(tensor.format().unwrap(), gguf.data(tensor), &mut values).unwrap();
    values
}

/// Tokens of one window.
fn tokens() -> Vec<u32> {
    (0..32).map(|i| (i * 7 + 3) % 60).collect()
}

fn collected(family: &str) -> Importance {
    let mut windows = 0;
    let twice = [tokens(), tokens()].concat();
    let found = collect(golden(family), &twice, 37, "a text", &mut || windows += 1).unwrap();
    assert_eq!((windows, found.chunks, found.chunk_size), (2, 2, 32), "37 is rounded down to 32");
    found
}

#[test]
fn inputs_of_the_first_layer_are_normed_embeddings() {
    let gguf = golden("llama");
    let found = collected("llama").of(gguf.tensor("blk.0.attn_q.weight").unwrap()).unwrap().unwrap();
    let (embedding, weight) = (values(&gguf, "token_embd.weight"), values(&gguf, "blk.0.attn_norm.weight"));
    let epsilon = gguf.metadata().get("llama.attention.layer_norm_rms_epsilon").unwrap().as_f64().unwrap();
    let width = weight.len();
    let mut expected = vec![0f64; width];
    for token in tokens() {
        let row = &embedding[token as usize * width..][..width];
        let mean = row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / width as f64;
        for (i, sum) in expected.iter_mut().enumerate() {
            *sum += (f64::from(row[i]) * f64::from(weight[i])).powi(2) / (mean + epsilon) / 32.0;
        }
    }
    for (found, expected) in found.iter().zip(&expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-4 * expected.max(1e-3), "{found}, not {expected}");
    }
}

#[test]
fn experts_count_what_reaches_them() {
    let gguf = golden("qwen3moe");
    let found = collected("qwen3moe");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("imatrix.gguf");
    found.save(&path).unwrap();
    let file = Gguf::open(&path).unwrap();
    let used = gguf.metadata().usize("qwen3moe.expert_used_count").unwrap();
    for part in ["ffn_gate_exps", "ffn_down_exps"] {
        let counts = values(&file, &format!("blk.0.{part}.weight.counts"));
        assert_eq!(counts.len(), gguf.metadata().usize("qwen3moe.expert_count").unwrap());
        assert_eq!(counts.iter().sum::<f32>(), (2 * 32 * used) as f32, "{part}");
    }
    assert_eq!(file.tensor("blk.0.attn_q.weight.counts").unwrap().dims.iter().product::<u64>(), 1);
    assert!(found.names().all(|name| name.starts_with("blk.")));
}

#[test]
fn files_give_back_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("imatrix.gguf");
    let written = collected("llama");
    written.save(&path).unwrap();
    assert_eq!(Importance::open(&path).unwrap(), written);
    let file = Gguf::open(&path).unwrap();
    assert_eq!(file.metadata().str("general.type").unwrap(), "imatrix");
}

/// An older file of one entry.
fn older(name: &str, calls: i32, values: &[f32]) -> Vec<u8> {
    let mut bytes = 1i32.to_le_bytes().to_vec();
    bytes.extend((name.len() as i32).to_le_bytes());
    bytes.extend(name.as_bytes());
    bytes.extend(calls.to_le_bytes());
    bytes.extend((values.len() as i32).to_le_bytes());
    values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    bytes.extend(9i32.to_le_bytes());
    bytes.extend(4i32.to_le_bytes());
    bytes.extend(b"wiki");
    bytes
}

#[test]
fn older_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("imatrix.dat");
    let gguf = golden("llama");
    let tensor = gguf.tensor("blk.1.attn_k.weight").unwrap();
    let sums: Vec<f32> = (0..tensor.dims[0]).map(|i| i as f32).collect();
    let whole = older(&tensor.name, 4, &sums);
    std::fs::write(&path, &whole).unwrap();
    let read = Importance::open(&path).unwrap();
    assert_eq!((read.chunks, &read.datasets[..]), (9, &["wiki".to_owned()][..]));
    assert_eq!(read.of(tensor).unwrap().unwrap()[6], 1.5);
    assert_eq!(read.of(gguf.tensor("blk.0.attn_k.weight").unwrap()).unwrap(), None);
    for cut in [0, 3, 10, 40, 60] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let error = Importance::open(&path).unwrap_err().to_string();
        assert!(error.contains("imatrix.dat"), "{error}");
    }
}

/// An importance matrix of a tensor's name, as a file.
fn matrix(folder: &Path, name: &str, sums: &[f32], matrices: u64) -> PathBuf {
    let mut writer = Writer::new();
    writer.set("general.type", "imatrix");
    writer.set("imatrix.chunk_count", MetaValue::U32(1));
    let dims = [sums.len() as u64 / matrices, matrices];
    writer.tensor(format!("{name}.in_sum2"), &dims, BlockFormat::F32);
    writer.tensor(format!("{name}.counts"), &[1, matrices], BlockFormat::F32);
    let path = folder.join("one.gguf");
    let mut bytes = Vec::new();
    let mut data = [sums.to_vec(), vec![2.0; matrices as usize]].into_iter();
    let next = |values: Vec<f32>| values.iter().flat_map(|v| v.to_le_bytes()).collect();
    writer.write(&mut bytes, |_| Ok(next(data.next().unwrap()))).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn quantisers_spare_what_matters() {
    let folder = tempfile::tempdir().unwrap();
    let (gguf, name) = (golden("llama"), "blk.0.ffn_up.weight");
    let columns = gguf.tensor(name).unwrap().dims[0] as usize;
    let weights: Vec<f32> = (0..columns).map(|i| if i % 4 == 0 { 200.0 } else { 0.2 }).collect();
    let importance = Importance::open(matrix(folder.path(), name, &weights, 1)).unwrap();
    let original = values(&gguf, name);
    let error = |importance: Option<&Importance>| -> f32 {
        let path = folder.path().join("out.gguf");
        let options = Options { importance, ..Options::new(Mix::from_name("q4_0").unwrap(), 2) };
        quantize_file(&gguf, &path, options, &mut |_| {}).unwrap();
        let coded = values(&Gguf::open(&path).unwrap(), name);
        original.iter().zip(&coded).step_by(4).map(|(a, b)| (a - b).powi(2)).sum()
    };
    let (plain, weighed) = (error(None), error(Some(&importance)));
    assert!(weighed < 0.9 * plain, "{weighed} with importance, {plain} without");
}

#[test]
fn another_models_matrix_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let gguf = golden("llama");
    let quantised = |path: PathBuf| {
        let importance = Importance::open(path).unwrap();
        let options =
            Options { importance: Some(&importance), ..Options::new(Mix::from_name("q8_0").unwrap(), 1) };
        quantize_file(&gguf, &folder.path().join("out.gguf"), options, &mut |_| {}).unwrap_err().to_string()
    };
    let error = quantised(matrix(folder.path(), "blk.0.nothing.weight", &[1.0; 8], 1));
    assert!(error.contains("another model's") && error.contains("blk.0.nothing.weight"), "{error}");
    let error = quantised(matrix(folder.path(), "blk.0.ffn_up.weight", &[1.0; 8], 1));
    assert!(error.contains("8 values for 'blk.0.ffn_up.weight'"), "{error}");
    assert!(!folder.path().join("out.gguf").exists());
    for bad in [f32::NAN, -1.0] {
        let error = Importance::open(matrix(folder.path(), "x", &[bad; 8], 1)).unwrap_err().to_string();
        assert!(error.contains("'x' has a sum or count of"), "{error}");
    }
    let error = collect(golden("llama"), &[1, 2, 3], 512, "", &mut || ()).err().unwrap().to_string();
    assert!(error.contains("3 tokens"), "{error}");
}

#[test]
fn parts_that_are_written_are_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let gguf = golden("llama");
    let whole = folder.path().join("model.gguf");
    let options = Options::new(Mix::from_name("q8_0").unwrap(), 2);
    assert_eq!(quantize_file(&gguf, &whole, options, &mut |_| {}).unwrap(), std::slice::from_ref(&whole));
    let split = Options { split: Some(20_000), ..options };
    let parts = quantize_file(&gguf, &whole, split, &mut |_| {}).unwrap();
    let count = parts.len();
    assert!(count > 2);
    assert!(parts[1].ends_with(format!("model-00002-of-{count:05}.gguf")), "{parts:?}");
    let logits = |path: &Path| {
        let model = Model::open(path, &Device::cpu(), ModelOptions::default()).unwrap();
        Session::new(&Arc::new(model), SessionOptions::default()).unwrap().advance(&[3, 1, 4]).unwrap()
    };
    assert_eq!(logits(&parts[0]), logits(&whole));
    for (no, part) in parts.iter().enumerate() {
        let part = Gguf::open(part).unwrap();
        assert_eq!(part.metadata().usize("split.no").unwrap(), no);
        let bytes: u64 = part.tensors().iter().map(|tensor| tensor.bytes).sum();
        assert!(bytes <= 20_000 || part.tensors().len() == 1, "{bytes}");
    }
    std::fs::remove_file(&parts[1]).unwrap();
    let error = Model::open(&parts[0], &Device::cpu(), ModelOptions::default()).err().unwrap().to_string();
    assert!(error.contains(&format!("part 2 of {count} is missing")), "{error}");
}
