//! Scores of pairs of texts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use wootz::Device;
use wootz_gguf::{Gguf, MetaValue, TensorSpec, ValueType, Writer};
use wootz_llm::tokenizer::Encoding;
use wootz_llm::{EmbedOptions, Embedder, Model, ModelOptions, Session, SessionOptions};

const WHOLE: EmbedOptions = EmbedOptions { truncate: false };

fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

fn encoder() -> Embedder {
    Embedder::open(golden("tiny-bert-rank.model"), &Device::cpu()).unwrap()
}

/// llama.cpp scores single texts: all tokens of a pair are of the first kind to it.
#[test]
fn the_head_gives_llama_cpps_scores() {
    let model = encoder();
    let bytes = std::fs::read(golden("tiny-bert-rank.embeddings")).unwrap();
    let expected = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let texts = ["the cat.", "a", "The quick brown fox jumps over it. Then he sat"];
    for (text, expected) in texts.into_iter().zip(expected) {
        let tokens = model.tokens(&[text], WHOLE).unwrap();
        let got = model.embed_tokens(&tokens).unwrap()[0][0];
        assert!((got - expected).abs() < 5e-3, "{text}: {got}, llama.cpp {expected}");
    }
}

#[test]
fn a_score_belongs_to_a_pair() {
    let model = encoder();
    let documents = ["the cat", "a dog. it sat", "fox", "the cat"];
    let scores = model.score("the cat.", &documents, WHOLE).unwrap();
    assert_eq!(scores[0], scores[3], "equal documents have equal scores");
    let alone = model.score("the cat.", &documents[1..2], WHOLE).unwrap();
    assert!((scores[1] - alone[0]).abs() < 1e-4, "{} {}", scores[1], alone[0]);
    assert!(scores[..3].windows(2).all(|pair| (pair[0] - pair[1]).abs() > 1e-4), "{scores:?}");
    let swapped = model.score(documents[2], &["the cat."], WHOLE).unwrap();
    assert!((swapped[0] - scores[2]).abs() > 1e-4, "a query is not a document");
    let long = "a ".repeat(100);
    let error = model.score("the cat", &["a", &long], WHOLE).unwrap_err().to_string();
    assert!(error.contains("document 1 have 107 tokens") && error.contains("64"), "{error}");
    let cut = model.score("the cat", &[&long], EmbedOptions { truncate: true }).unwrap();
    let most = "a ".repeat(57);
    assert_eq!(
        cut,
        model.score("the cat", &[&most], WHOLE).unwrap(),
        "64 tokens, of which 7 are not the document's"
    );
}

const TEMPLATE: &str = "Q: {query} D: {document}!";

/// The tiny Qwen 3 with rows of its output matrix as a ranking head.
fn decoder(labels: [usize; 2]) -> Gguf {
    let plain = Gguf::open(golden("tiny-qwen3.model")).unwrap();
    let mut writer = Writer::new();
    plain.metadata().iter().for_each(|(key, value)| {
        writer.set(key, value);
    });
    writer.set("qwen3.pooling_type", MetaValue::U32(4));
    let names = ["yes", "no"].map(MetaValue::from).to_vec();
    writer.set("qwen3.classifier.output_labels", MetaValue::Array(ValueType::String, names));
    writer.set("tokenizer.chat_template.rerank", TEMPLATE);
    for tensor in plain.tensors() {
        writer.tensor(&tensor.name, &tensor.dims, tensor.format().unwrap());
    }
    let output =
        plain.find_tensor("output.weight").or_else(|| plain.find_tensor("token_embd.weight")).unwrap();
    writer.tensor("cls.output.weight", &[output.dims[0], 2], output.format().unwrap());
    let mut bytes = Vec::new();
    let data = |spec: &TensorSpec| {
        if spec.name != "cls.output.weight" {
            return Ok(plain.data(plain.tensor(&spec.name)?).to_vec());
        }
        let rows: Vec<&[u8]> =
            plain.data(output).chunks_exact(output.bytes as usize / output.dims[1] as usize).collect();
        Ok(labels.map(|label| rows[label]).concat())
    };
    writer.write(&mut bytes, data).unwrap();
    Gguf::from_bytes(bytes).unwrap()
}

#[test]
fn a_decoder_answers_yes_or_no() {
    let labels = [17, 91];
    let model = Embedder::from_gguf(decoder(labels), &Device::cpu(), &mut |_| {}).unwrap();
    let scores = model.score("abc", &["de", "xyz"], WHOLE).unwrap();
    let plain =
        Arc::new(Model::open(golden("tiny-qwen3.model"), &Device::cpu(), ModelOptions::default()).unwrap());
    for (document, score) in ["de", "xyz"].into_iter().zip(scores) {
        let prompt = TEMPLATE.replace("{query}", "abc").replace("{document}", document);
        let tokens = plain.tokenizer().encode(&prompt, Encoding::TEMPLATE);
        let logits = Session::new(&plain, SessionOptions::default()).unwrap().advance(&tokens).unwrap();
        let [yes, no] = labels.map(|label| f64::from(logits[label]));
        let expected = 1.0 / (1.0 + (no - yes).exp());
        assert!((f64::from(score) - expected).abs() < 1e-2, "{document}: {score}, expected {expected}");
    }
}

#[test]
fn other_models_are_refused() {
    let refused = |result: Result<(), wootz_llm::Error>, fact: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(fact), "{error}");
    };
    let plain = Embedder::open(golden("tiny-bert.model"), &Device::cpu()).unwrap();
    refused(plain.score("a", &["b"], WHOLE).map(drop), "pooling_type is not 4");
    refused(encoder().embed(&["a"], WHOLE).map(drop), "reranking model");
    let plain = Gguf::open(golden("tiny-bert.model")).unwrap();
    let mut writer = Writer::new();
    plain.metadata().iter().for_each(|(key, value)| {
        writer.set(key, value);
    });
    writer.set("bert.pooling_type", MetaValue::U32(4));
    plain.tensors().iter().for_each(|tensor| {
        writer.tensor(&tensor.name, &tensor.dims, tensor.format().unwrap());
    });
    let mut bytes = Vec::new();
    writer.write(&mut bytes, |spec| Ok(plain.data(plain.tensor(&spec.name)?).to_vec())).unwrap();
    let headless = Gguf::from_bytes(bytes).unwrap();
    refused(Embedder::from_gguf(headless, &Device::cpu(), &mut |_| {}).map(drop), "cls.output.weight");
}
