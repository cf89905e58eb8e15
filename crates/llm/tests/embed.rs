//! Embeddings: tiny random encoders against llama.cpp's vectors for the same files, batches, decoders, bad input.

use std::path::Path;
use wootz::Device;
use wootz_llm::{EmbedOptions, Embedder, cosine};

/// The texts of `golden/make_models.py`.
const TEXTS: [&str; 3] = ["the cat.", "a", "The quick brown fox jumps over it. Then he sat"];

const ENCODERS: [&str; 3] = ["bert", "nomic-bert", "gemma-embedding"];

const WHOLE: EmbedOptions = EmbedOptions { truncate: false };

fn golden(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

fn open(family: &str) -> Embedder {
    Embedder::open(golden(&format!("tiny-{family}.model")), &Device::cpu()).unwrap()
}

#[test]
fn encoders_give_llama_cpps_vectors() {
    for family in ENCODERS {
        let vectors = open(family).embed(&TEXTS, WHOLE).unwrap();
        let bytes = std::fs::read(golden(&format!("tiny-{family}.embeddings"))).unwrap();
        let expected: Vec<f32> =
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        for (vector, expected) in vectors.iter().zip(expected.chunks_exact(vectors[0].len())) {
            // llama.cpp's GELU is the approximation by a tanh, from a table of half-precision floats.
            let same = cosine(vector, expected);
            assert!(same > 0.9999, "{family}: {same}");
        }
        assert!(
            cosine(&vectors[0], &vectors[1]) < 0.99,
            "{family}: texts that differ have vectors that differ"
        );
    }
}

#[test]
fn a_text_has_one_vector_whatever_it_is_embedded_with() {
    for family in ENCODERS {
        let model = open(family);
        let texts: Vec<String> =
            (0..256).map(|i| "the cat sat ".repeat(1 + i % 5) + &"z".repeat(i % 7)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let together = model.embed(&texts, WHOLE).unwrap();
        for i in [0, 3, 100, 255] {
            let alone = model.embed(&texts[i..=i], WHOLE).unwrap();
            let same = cosine(&alone[0], &together[i]);
            assert!(same > 0.999_999, "{family}, text {i}: {same}");
        }
    }
}

#[test]
fn decoders_embed_too() {
    let model = open("qwen3");
    let vectors = model.embed(&["abc", "abd"], WHOLE).unwrap();
    assert_eq!(vectors[0].len(), model.config().width);
    let size: f32 = vectors[0].iter().map(|v| v * v).sum();
    assert!((size - 1.0).abs() < 1e-5, "{size}");
    assert!(cosine(&vectors[0], &vectors[1]) < 0.9999);
}

#[test]
fn long_texts_are_refused_or_cut() {
    let model = open("bert");
    let long = "a ".repeat(200);
    let error = model.embed(&["a", &long], WHOLE).unwrap_err().to_string();
    assert!(error.contains("text 1 has 202 tokens") && error.contains("64"), "{error}");
    assert_eq!(model.embed(&[&long], EmbedOptions { truncate: true }).unwrap().len(), 1);
}

#[test]
fn an_encoder_generates_no_text() {
    let path = golden("tiny-bert.model");
    let error = wootz_llm::Model::open(path, &Device::cpu(), Default::default()).err().unwrap().to_string();
    assert!(error.contains("wootz embed"), "{error}");
}
