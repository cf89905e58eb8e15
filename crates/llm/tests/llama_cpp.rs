//! Tiny random models of every family against logits that llama.cpp gave for the same files.

use std::path::Path;
use std::sync::Arc;
use wootz::Device;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};

fn golden(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

/// The tokens of `golden/make_models.py`.
fn tokens(vocab: usize) -> Vec<u32> {
    (0..40).map(|i| ((i * i * 7 + 3 * i + 11) % 900 % vocab) as u32).collect()
}

#[test]
fn logits_equal_llama_cpps() {
    for family in ["llama", "qwen2", "qwen3", "gemma3", "rwkv7"] {
        let model = Arc::new(
            Model::open(golden(&format!("tiny-{family}.model")), &Device::cpu(), ModelOptions::default())
                .unwrap(),
        );
        let vocab = model.config().vocab;
        let options = SessionOptions { context: 64, cache: CacheFormat::F32 };
        let mut session = Session::new(&model, options).unwrap();
        let mut all = Vec::new();
        let keep = |rows: &[f32]| {
            all.extend_from_slice(rows);
            Ok(())
        };
        session.score(&tokens(vocab), keep).unwrap();
        let bytes = std::fs::read(golden(&format!("tiny-{family}.logits"))).unwrap();
        let expected: Vec<f32> =
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let got: Vec<f32> = all.chunks_exact(vocab).skip(4).step_by(5).flatten().copied().collect();
        assert_eq!(got.len(), expected.len());
        let spread = expected.iter().fold(0f32, |m, v| m.max(v.abs()));
        assert!(spread > 1.0, "{family}: the golden logits say nothing");
        // llama.cpp rounds activations to f16 before f16 matrices.
        let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max) / spread;
        assert!(worst < 5e-3, "{family}: logits differ by {worst} of their range");
    }
}
