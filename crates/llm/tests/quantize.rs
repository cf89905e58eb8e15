//! Rewriting a model in another format.

use wootz_blocks::{BlockFormat, dequantize, quantize};
use wootz_gguf::{Gguf, MetaValue, Writer};
use wootz_llm::quantize::{MIXES, Mix, Options, quantize_file};

/// A model-like file in F16: 16 layers, rows of 256 except one matrix with rows of 96.
fn model() -> Gguf {
    let mut w = Writer::new();
    w.set("general.architecture", "llama").set("llama.block_count", MetaValue::U32(16));
    w.set("general.file_type", MetaValue::U32(1));
    w.tensor("token_embd.weight", &[256, 12], BlockFormat::F16);
    w.tensor("output_norm.weight", &[256], BlockFormat::F32);
    for i in 0..16 {
        for part in ["attn_q", "attn_v", "ffn_down"] {
            w.tensor(format!("blk.{i}.{part}.weight"), &[256, 3], BlockFormat::F16);
        }
        w.tensor(format!("blk.{i}.attn_norm.weight"), &[256], BlockFormat::F32);
    }
    w.tensor("blk.0.odd.weight", &[96, 4], BlockFormat::F16);
    let mut bytes = Vec::new();
    w.write(&mut bytes, |t| {
        let values: Vec<f32> =
            (0..t.dims.iter().product::<u64>()).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
        let mut out = vec![0; t.format.bytes_of(values.len()).unwrap()];
        quantize(t.format, &values, None, &mut out).unwrap();
        Ok(out)
    })
    .unwrap();
    Gguf::from_bytes(bytes).unwrap()
}

fn formats(mix: &str) -> (Gguf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.gguf");
    let mut steps = 0;
    quantize_file(&model(), &path, Options::new(Mix::from_name(mix).unwrap(), 2), &mut |s| {
        steps += 1;
        assert_eq!((s.done, s.total), (steps, 67));
    })
    .unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the result stays");
    (Gguf::open(path).unwrap(), folder)
}

#[test]
fn q4_k_m_gives_sensitive_matrices_more_bits() {
    let (gguf, _folder) = formats("Q4_K_M");
    let format = |name: &str| gguf.tensor(name).unwrap().format().unwrap();
    assert_eq!(format("token_embd.weight"), BlockFormat::Q6_K, "the embedding is the output matrix here");
    assert_eq!(format("output_norm.weight"), BlockFormat::F32);
    assert_eq!(format("blk.0.attn_q.weight"), BlockFormat::Q4_K);
    assert_eq!(format("blk.0.odd.weight"), BlockFormat::Q5_0, "rows of 96 have no blocks of 256");
    let better: Vec<usize> =
        (0..16).filter(|i| format(&format!("blk.{i}.ffn_down.weight")) == BlockFormat::Q6_K).collect();
    assert_eq!(better, [0, 1, 4, 7, 10, 13, 14, 15]);
    assert_eq!(gguf.metadata().usize("general.file_type").unwrap(), 15);
}

#[test]
fn every_mix_writes_a_readable_file_close_to_the_original() {
    let original = model();
    for mix in MIXES {
        let (gguf, _folder) = formats(mix.name);
        for tensor in gguf.tensors() {
            let values = |g: &Gguf| {
                let t = g.tensor(&tensor.name).unwrap();
                let mut v = vec![0.0; t.len() as usize];
                dequantize(t.format().unwrap(), g.data(t), &mut v).unwrap();
                v
            };
            let (a, b) = (values(&original), values(&gguf));
            let error: f32 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f32>() / a.len() as f32;
            let bits = gguf.tensor(&tensor.name).unwrap().format().unwrap().bits_per_value();
            // Of values from −1 to 1, which one sign cannot tell from ½ by less than 0.29.
            let most = if bits < 2.5 { 0.35 } else { 0.2 };
            assert!(error.sqrt() < most, "{} {}: {error}", mix.name, tensor.name);
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mix = Mix::from_name("q5_k_m").unwrap();
    let bytes = |threads: usize| {
        let path = folder.path().join(threads.to_string());
        quantize_file(&model(), &path, Options::new(mix, threads), &mut |_| {}).unwrap();
        std::fs::read(path).unwrap()
    };
    assert_eq!(bytes(1), bytes(3));
}

#[test]
fn bad_input_leaves_no_file() {
    assert!(Mix::from_name("q9").unwrap_err().to_string().contains("q4_k_m"));
    let mut w = Writer::new();
    w.set("general.architecture", "llama").set("llama.block_count", MetaValue::U32(1));
    w.tensor("blk.0.attn_q.weight", &[256, 2], BlockFormat::F32);
    let mut bytes = Vec::new();
    w.write(&mut bytes, |_| Ok(f32::NAN.to_le_bytes().repeat(512))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.gguf");
    let broken = Gguf::from_bytes(bytes).unwrap();
    let error =
        quantize_file(&broken, &path, Options::new(Mix::from_name("q4_k_m").unwrap(), 1), &mut |_| {})
            .unwrap_err();
    assert!(
        error.to_string().contains("blk.0.attn_q.weight") && error.to_string().contains("NaN"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
