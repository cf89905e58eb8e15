//! Tiny random models of every family against logits that llama.cpp gave for the same files.

use std::path::Path;
use std::sync::Arc;
use wootz::Device;
use wootz_llm::config::Family;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};

fn golden(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

/// The tokens of `golden/make_models.py`.
fn tokens(vocab: usize) -> Vec<u32> {
    (0..40).map(|i| ((i * i * 7 + 3 * i + 11) % 900 % vocab) as u32).collect()
}

/// The names of all families that have logits. Each has golden ones.
fn families() -> impl Iterator<Item = &'static str> {
    Family::ALL.iter().filter(|family| !family.is_encoder()).map(|family| family.name())
}

#[test]
fn logits_equal_llama_cpps() {
    for family in families() {
        let model = Arc::new(
            Model::open(
                golden(&format!("tiny-{family}.model")),
                &Device::cpu(),
                ModelOptions { precise: true },
            )
            .unwrap(),
        );
        let vocab = model.config().vocab;
        let options = EXACT;
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

fn open(family: &str, device: &Device) -> Arc<Model> {
    let options = ModelOptions { precise: true };
    Arc::new(Model::open(golden(&format!("tiny-{family}.model")), device, options).unwrap())
}

fn worst(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(0f32, |m, v| m.max(v.abs()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max) / size
}

const EXACT: SessionOptions = SessionOptions { context: 64, cache: CacheFormat::F32, batch_invariant: false };

#[test]
fn one_by_one_in_chunks_and_with_others_agree() {
    for family in families() {
        let model = open(family, &Device::cpu());
        let tokens = tokens(model.config().vocab);
        let session = || Session::new(&model, EXACT).unwrap();
        let (mut single, mut chunks) = (session(), session());
        let mut last = Vec::new();
        for token in &tokens {
            last = single.advance(&[*token]).unwrap();
        }
        for chunk in tokens.chunks(17) {
            assert!(!chunks.advance(chunk).unwrap().is_empty());
        }
        let next = chunks.advance(&[5]).unwrap();
        let (mut whole, mut other) = (session(), session());
        assert!(worst(&whole.advance(&tokens).unwrap(), &last) < 1e-4, "{family}: one by one");
        other.advance(&tokens[..9]).unwrap();
        let rows = Session::advance_together(&mut [&mut whole, &mut other], &[5, 6]).unwrap();
        assert!(worst(&rows[0], &next) < 1e-4, "{family}: in chunks, and beside another sequence");
    }
}

/// Bits that do not depend on what else is in a pass.
const INVARIANT: SessionOptions = SessionOptions { batch_invariant: true, ..EXACT };

#[test]
fn batch_invariant_logits_are_the_same_alone_and_with_others() {
    for family in families() {
        let model = open(family, &Device::cpu());
        let tokens = tokens(model.config().vocab);
        let start = |count: usize| {
            let mut session = Session::new(&model, INVARIANT).unwrap();
            session.advance(&tokens[..count]).unwrap();
            session
        };
        let lengths = [39, 9, 20, 1];
        let mut alone = lengths.map(start);
        let mut grouped = lengths.map(start);
        for step in 0..3 {
            let next = [5 + step, 6, 7, 8 + step];
            let rows = Session::advance_together(&mut grouped.each_mut(), &next).unwrap();
            for ((session, token), row) in alone.iter_mut().zip(next).zip(rows) {
                assert_eq!(session.advance(&[token]).unwrap(), row, "{family}, step {step}");
            }
        }
    }
}

#[test]
fn batch_invariant_logits_are_the_same_one_by_one_and_in_chunks() {
    for family in families() {
        let model = open(family, &Device::cpu());
        let vocab = model.config().vocab;
        // More than one chunk of 128 tokens where the model's context has room for it.
        let count = model.config().context.min(150) - 1;
        let tokens: Vec<u32> = (0..count).map(|i| ((i * i * 7 + 3 * i + 11) % vocab) as u32).collect();
        let session = |batch_invariant| {
            Session::new(&model, SessionOptions { context: 0, batch_invariant, ..EXACT }).unwrap()
        };
        let (mut single, mut plain) = (session(true), session(false));
        let (mut last, mut plain_last) = (Vec::new(), Vec::new());
        for token in &tokens {
            last = single.advance(&[*token]).unwrap();
            plain_last = plain.advance(&[*token]).unwrap();
        }
        let chunked = session(true).advance(&tokens).unwrap();
        assert_eq!(chunked, last, "{family}");
        let error = worst(&session(false).advance(&tokens).unwrap(), &plain_last);
        assert!(error < 1e-4, "{family}: {error}");
    }
}

/// Imitated devices are slow: by default the family with the most ops of its own.
#[test]
fn every_device_gives_the_cpus_logits() {
    let all = std::env::var_os("WOOTZ_FULL").is_some();
    for family in families().filter(|family| all || *family == "gpt-oss") {
        let run = |device: &Device| {
            let model = open(family, device);
            let mut session = Session::new(&model, EXACT).unwrap();
            let tokens = tokens(model.config().vocab);
            [session.advance(&tokens[..19]).unwrap(), session.advance(&[7]).unwrap()].concat()
        };
        let expected = run(&Device::cpu());
        for device in Device::all().iter().filter(|device| device.name() != "cpu") {
            let error = worst(&run(device), &expected);
            assert!(error < 1e-3, "{family} on {device}: {error}");
        }
    }
}
