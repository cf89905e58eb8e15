//! Token ids against llama.cpp's: small vocabularies of every family in git, and real models where they are.

use std::path::{Path, PathBuf};

use serde_json::Value;
use wootz_gguf::{Gguf, MetaValue, ValueType, Writer};
use wootz_llm::tokenizer::{Encoding, TextStream, Tokenizer};

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn golden(file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden_dir().join(file)).unwrap()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

/// Compares all strings; reports the first few that differ.
fn compare(name: &str, tokenizer: &Tokenizer, strings: &Value, expected: &Value) {
    let strings = strings.as_array().unwrap();
    let modes = [("plain", Encoding::TEXT), ("special", Encoding::TEMPLATE)];
    let mut wrong = Vec::new();
    for (mode, encoding) in modes {
        // Many pre-tokenizers have the ids of the first strings only, in one mode.
        let Some(expected) = expected.get(mode).map(|ids| ids.as_array().unwrap()) else { continue };
        assert!(expected.len() > 140, "{name}: only {} strings", expected.len());
        for (text, expected) in strings.iter().zip(expected) {
            let text = text.as_str().unwrap();
            let (got, expected) = (tokenizer.encode(text, encoding), ids(expected));
            if got != expected {
                wrong.push(format!("{mode} {text:?}\n  ours   {got:?}\n  theirs {expected:?}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{name}: {} differ, the first:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
}

/// A small vocabulary, with another pre-tokenizer if one is named.
fn small(file: &str, pre: Option<&str>) -> Tokenizer {
    let gguf = Gguf::open(golden_dir().join(file)).unwrap();
    let Some(pre) = pre else { return Tokenizer::from_gguf(&gguf).unwrap() };
    let mut writer = Writer::new();
    for (key, value) in gguf.metadata().iter() {
        writer.set(key, value);
    }
    writer.set("tokenizer.ggml.pre", pre);
    let mut bytes = Vec::new();
    writer.write(&mut bytes, |_| unreachable!("a vocabulary has no tensors")).unwrap();
    Tokenizer::from_gguf(&Gguf::from_bytes(bytes).unwrap()).unwrap()
}

#[test]
fn small_vocabularies_give_the_oracles_ids() {
    let golden = golden("tokens.json");
    let mut families = 0;
    for (name, expected) in golden.as_object().unwrap().iter().filter(|(k, _)| *k != "strings") {
        let tokenizer = match name.split_once('/') {
            Some((file, pre)) => small(&format!("{file}.vocab"), Some(pre)),
            None => small(&format!("{name}.vocab"), None),
        };
        compare(name, &tokenizer, &golden["strings"], expected);
        families += 1;
    }
    assert!(families >= 26, "the golden file has only {families} vocabularies");
}

/// A vocabulary whose special tokens are these.
fn with_specials(specials: &[&str]) -> Tokenizer {
    let gguf = Gguf::open(golden_dir().join("bpe.vocab")).unwrap();
    let tokens = gguf.metadata().array("tokenizer.ggml.tokens").unwrap();
    let mut tokens: Vec<MetaValue> = tokens.iter().map(MetaValue::from).collect();
    let kinds = gguf.metadata().array("tokenizer.ggml.token_type").unwrap();
    let mut kinds: Vec<MetaValue> = kinds.iter().map(MetaValue::from).collect();
    tokens.extend(specials.iter().map(|text| MetaValue::from(*text)));
    kinds.resize(tokens.len(), MetaValue::I32(3));
    let mut writer = Writer::new();
    for (key, value) in gguf.metadata().iter() {
        writer.set(key, value);
    }
    writer.set("tokenizer.ggml.tokens", MetaValue::Array(ValueType::String, tokens));
    writer.set("tokenizer.ggml.token_type", MetaValue::Array(ValueType::I32, kinds));
    let mut bytes = Vec::new();
    writer.write(&mut bytes, |_| unreachable!("a vocabulary has no tensors")).unwrap();
    Tokenizer::from_gguf(&Gguf::from_bytes(bytes).unwrap()).unwrap()
}

#[test]
fn the_end_of_a_message_is_no_end_where_an_answer_has_several() {
    let end_of = |tokenizer: &Tokenizer, text: &str| {
        let id = tokenizer.vocab().id(text.as_bytes()).unwrap();
        (tokenizer.vocab().is_end(id), String::from_utf8(tokenizer.piece(id, false).into_owned()).unwrap())
    };
    let phi = with_specials(&["<|end|>", "<|assistant|>"]);
    assert_eq!(end_of(&phi, "<|end|>"), (true, String::new()));
    assert_eq!(end_of(&phi, "<|assistant|>"), (false, String::new()));
    let harmony =
        with_specials(&["<|end|>", "<|return|>", "<|call|>", "<|channel|>", "<|message|>", "<|start|>"]);
    assert_eq!(end_of(&harmony, "<|end|>"), (false, "<|end|>".into()));
    assert_eq!(end_of(&harmony, "<|channel|>"), (false, "<|channel|>".into()));
    assert_eq!(end_of(&harmony, "<|return|>"), (true, String::new()));
    // Text of a user makes none of them.
    assert!(harmony.encode("<|end|>", Encoding::TEXT).len() > 2);
    let gemma4 = with_specials(&["<|tool_response>", "</s>"]);
    assert!(!end_of(&gemma4, "</s>").0 && end_of(&gemma4, "<|tool_response>").0);
    assert!(end_of(&with_specials(&["</s>"]), "</s>").0);
}

/// Text to tokens to text is the identity, one token at a time and at once.
#[test]
fn round_trips() {
    let golden = golden("tokens.json");
    for file in ["bpe.vocab", "spm.vocab", "spm-bare.vocab", "rwkv.vocab"] {
        let tokenizer = small(file, None);
        for text in golden["strings"].as_array().unwrap() {
            let text = text.as_str().unwrap();
            // After a user-defined token SentencePiece puts in the space that begins a text.
            if file == "spm.vocab" && text.contains("kebab-case") {
                continue;
            }
            // A space and its stand-in are one and the same to SentencePiece.
            let expected =
                if file.starts_with("spm") { text.replace('\u{2581}', " ") } else { text.to_owned() };
            let plain = Encoding { add_special: false, parse_special: false };
            let tokens = tokenizer.encode(text, plain);
            assert_eq!(tokenizer.decode(&tokens, true), expected, "{file}: {tokens:?}");
            let mut stream = TextStream::new();
            let mut streamed: String = tokens.iter().map(|&t| stream.push(&tokenizer, t, true)).collect();
            streamed += &stream.finish();
            let prefixed = file == "spm.vocab" && !text.is_empty();
            assert_eq!(streamed, if prefixed { format!(" {expected}") } else { expected }, "{file}");
        }
    }
}

#[test]
fn bad_vocabularies_are_errors() {
    let refuse = |change: &dyn Fn(&mut Writer)| {
        let gguf = Gguf::open(golden_dir().join("bpe.vocab")).unwrap();
        let mut writer = Writer::new();
        for (key, value) in gguf.metadata().iter() {
            writer.set(key, value);
        }
        change(&mut writer);
        let mut bytes = Vec::new();
        writer.write(&mut bytes, |_| unreachable!("a vocabulary has no tensors")).unwrap();
        Tokenizer::from_gguf(&Gguf::from_bytes(bytes).unwrap()).unwrap_err().to_string()
    };
    use wootz_gguf::MetaValue;
    assert!(
        refuse(&|w| {
            w.set("tokenizer.ggml.model", "t5");
        })
        .contains("'t5'")
    );
    assert!(
        refuse(&|w| {
            w.set("tokenizer.ggml.pre", "no-such");
        })
        .contains("'no-such'")
    );
    assert!(
        refuse(&|w| {
            w.set("tokenizer.ggml.tokens", MetaValue::U8(1));
        })
        .contains("tokenizer.ggml.tokens")
    );
    assert!(
        refuse(&|w| {
            w.set("tokenizer.ggml.bos_token_id", MetaValue::U32(99_999));
        })
        .contains("99999")
    );
    assert!(
        refuse(&|w| {
            w.set("tokenizer.ggml.merges", MetaValue::strings(["ab"]));
        })
        .contains("merge 0")
    );
    assert!(
        refuse(&|w| {
            w.set("tokenizer.ggml.token_type", MetaValue::strings(["a"]));
        })
        .contains("1 values")
    );
    assert!(
        refuse(&|w| {
            w.set("tokenizer.ggml.model", "llama");
        })
        .contains("scores")
    );
}

/// A token of 128 KiB took 40 seconds to build a searcher for.
#[test]
fn special_tokens_are_bounded() {
    let gguf = Gguf::open(golden_dir().join("bpe.vocab")).unwrap();
    let with = |length: usize, count: usize| {
        let mut writer = Writer::new();
        for (key, value) in gguf.metadata().iter() {
            writer.set(key, value);
        }
        let tokens = gguf.metadata().get("tokenizer.ggml.tokens").unwrap();
        let mut texts: Vec<String> =
            tokens.as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_string()).collect();
        let mut kinds = vec![MetaValue::I32(1); texts.len()];
        let last = texts.len();
        for i in last - count..last {
            (texts[i], kinds[i]) = (format!("{i}{}", "x".repeat(length)), MetaValue::I32(3));
        }
        writer.set("tokenizer.ggml.tokens", MetaValue::strings(&texts));
        writer.set("tokenizer.ggml.token_type", MetaValue::Array(ValueType::I32, kinds));
        let mut bytes = Vec::new();
        writer.write(&mut bytes, |_| unreachable!("a vocabulary has no tensors")).unwrap();
        let started = std::time::Instant::now();
        let made = Tokenizer::from_gguf(&Gguf::from_bytes(bytes).unwrap()).map(|_| ());
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
        made.map_err(|e| e.to_string())
    };
    let error = with(128 << 10, 1).unwrap_err();
    assert!(error.contains("special token") && error.contains("limit is 4096"), "{error}");
    with(4000, 5).unwrap();
}

/// Real vocabularies: the models that `wootz pull` fetches, if the folder `models` has them.
#[test]
fn real_vocabularies_give_the_oracles_ids() {
    let folder = std::env::var_os("WOOTZ_MODELS")
        .map_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models"), PathBuf::from);
    for (model, file) in
        [("smollm2-135m-q4_1.gguf", "smollm2.json"), ("gemma3-270m-q4_k_m.gguf", "gemma3.json")]
    {
        let path = folder.join(model);
        if !path.exists() {
            assert!(std::env::var_os("WOOTZ_REQUIRE_MODELS").is_none(), "{} is missing", path.display());
            eprintln!("{} is not there: its vocabulary was not compared", path.display());
            continue;
        }
        let golden = golden(file);
        let tokenizer = Tokenizer::from_gguf(&Gguf::open(path).unwrap()).unwrap();
        compare(model, &tokenizer, &golden["strings"], &golden);
    }
    // Any other vocabulary X.gguf with the ids that `make_tokens.py` wrote to X.json beside it.
    for entry in std::fs::read_dir(folder.join("vocab")).into_iter().flatten() {
        let path = entry.unwrap().path();
        let ids = path.with_extension("json");
        if path.extension().is_some_and(|e| e == "gguf") && ids.exists() {
            let golden: Value = serde_json::from_slice(&std::fs::read(ids).unwrap()).unwrap();
            let tokenizer = Tokenizer::from_gguf(&Gguf::open(&path).unwrap()).unwrap();
            compare(&path.display().to_string(), &tokenizer, &golden["strings"], &golden);
            println!("{} agrees", path.display());
        }
    }
}
