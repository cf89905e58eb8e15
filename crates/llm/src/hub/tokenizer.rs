//! Conversion of `tokenizer.json` and related files to GGUF metadata.
//!
//! Byte-level BPE keeps its own patterns. BPE with byte fallback is SentencePiece's, for which GGUF needs scores: a
//! token's score decreases with the rank of the first merge that produces it.

use super::{optional_json, read_json};
use crate::error::{Error, Result};
use crate::tokenizer::{PATTERNS_KEY, WHOLE_WORDS_KEY, gpt2_pattern, name_of};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::Path;
use wootz_gguf::{MetaValue, ValueType, Writer};

const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

fn bad(problem: impl std::fmt::Display) -> Error {
    Error::Tokenizer(format!("tokenizer.json: {problem}"))
}

/// Writes the metadata of a folder's tokenizer and chat template.
pub fn write(folder: &Path, config: &Json, generation: &Json, writer: &mut Writer) -> Result<()> {
    let json = read_json(&folder.join("tokenizer.json"))?;
    let settings = optional_json(&folder.join("tokenizer_config.json"))?;
    let kind = json["model"]["type"].as_str().unwrap_or("BPE");
    let vocab = Vocabulary::read(&json)?;
    if kind == "WordPiece" {
        return word_piece(&json, vocab, writer);
    }
    if kind != "BPE" {
        return Err(bad(format!("unsupported model type '{kind}'; only BPE and WordPiece are supported")));
    }
    let merges = merges(&json["model"]["merges"])?;
    if json["model"]["byte_fallback"].as_bool() == Some(true) {
        writer.set("tokenizer.ggml.model", "llama");
        writer.set("tokenizer.ggml.scores", vocab.scores(&merges));
        writer.set("tokenizer.ggml.add_space_prefix", MetaValue::Bool(adds_space(&json)));
    } else {
        writer.set("tokenizer.ggml.model", "gpt2");
        writer
            .set("tokenizer.ggml.merges", MetaValue::strings(merges.iter().map(|(a, b)| format!("{a} {b}"))));
        let patterns = patterns(&json["pre_tokenizer"])?;
        // For other programs, when this becomes a GGUF file.
        writer.set("tokenizer.ggml.pre", name_of(&patterns).unwrap_or("default"));
        writer.set(PATTERNS_KEY, MetaValue::strings(patterns));
        let whole = json["model"]["ignore_merges"].as_bool().unwrap_or(false);
        writer.set(WHOLE_WORDS_KEY, MetaValue::Bool(whole));
    }
    let kinds = vocab.kinds.iter().map(|&k| MetaValue::I32(k)).collect();
    writer.set("tokenizer.ggml.token_type", MetaValue::Array(ValueType::I32, kinds));
    for (role, key) in [("bos", "bos_token"), ("eos", "eos_token")] {
        let id = vocab.role(&settings[key], &[generation, config], &format!("{key}_id"));
        // The metadata's own defaults are of other models.
        writer.set(format!("tokenizer.ggml.{role}_token_id"), MetaValue::U32(id.unwrap_or(u32::MAX)));
    }
    let adds_bos =
        settings["add_bos_token"].as_bool().unwrap_or_else(|| begins_with_token(&json["post_processor"]));
    writer.set("tokenizer.ggml.add_bos_token", MetaValue::Bool(adds_bos));
    writer.set("tokenizer.ggml.tokens", MetaValue::strings(vocab.texts));
    if let Some(template) = template(folder, &settings)? {
        writer.set("tokenizer.chat_template", template.as_str());
    }
    Ok(())
}

/// BERT's tokens: pieces that begin a word get its mark, those that continue one lose theirs.
fn word_piece(json: &Json, vocab: Vocabulary, writer: &mut Writer) -> Result<()> {
    if json["normalizer"]["lowercase"].as_bool() != Some(true) {
        return Err(bad("case-sensitive WordPiece models are not supported"));
    }
    let continuing = json["model"]["continuing_subword_prefix"].as_str().unwrap_or("##");
    let marked = |(text, &kind): (&String, &i32)| match text.strip_prefix(continuing) {
        _ if matches!(kind, CONTROL | UNKNOWN) => text.clone(),
        Some(rest) => rest.to_owned(),
        None => format!("\u{2581}{text}"),
    };
    let texts: Vec<String> = vocab.texts.iter().zip(&vocab.kinds).map(marked).collect();
    let kinds = vocab.kinds.iter().map(|&k| MetaValue::I32(k)).collect();
    writer.set("tokenizer.ggml.model", "bert");
    writer.set("tokenizer.ggml.token_type", MetaValue::Array(ValueType::I32, kinds));
    writer.set("tokenizer.ggml.tokens", MetaValue::strings(texts));
    for (role, text) in [("cls", "[CLS]"), ("seperator", "[SEP]"), ("unknown", "[UNK]")] {
        let id = vocab.ids.get(text).ok_or_else(|| bad(format!("there is no token {text}")))?;
        writer.set(format!("tokenizer.ggml.{role}_token_id"), MetaValue::U32(*id as u32));
    }
    Ok(())
}

/// Tokens by number.
struct Vocabulary {
    texts: Vec<String>,
    kinds: Vec<i32>,
    ids: HashMap<String, usize>,
}

/// An upper bound on vocabulary sizes; larger ids in a file are invalid.
const MOST_TOKENS: u64 = 1 << 22;

impl Vocabulary {
    fn read(json: &Json) -> Result<Vocabulary> {
        let vocab = json["model"]["vocab"].as_object().ok_or_else(|| bad("model.vocab is not an object"))?;
        let none = Vec::new();
        let added = json["added_tokens"].as_array().unwrap_or(&none);
        let unknown = json["model"]["unk_token"].as_str();
        let byte = |text: &str| text.len() == 6 && text.starts_with("<0x") && text.ends_with('>');
        let mut list = Vec::with_capacity(vocab.len() + added.len());
        for (text, id) in vocab {
            let kind = match text {
                _ if Some(text.as_str()) == unknown => UNKNOWN,
                _ if byte(text) => BYTE,
                _ => NORMAL,
            };
            list.push((text.as_str(), id, kind));
        }
        for token in added {
            let text = token["content"].as_str().ok_or_else(|| bad("an added token has no content"))?;
            let special = token["special"].as_bool().unwrap_or(false);
            let kind = match special {
                _ if Some(text) == unknown => UNKNOWN,
                true => CONTROL,
                false => USER_DEFINED,
            };
            list.push((text, &token["id"], kind));
        }
        let mut tokens = Vocabulary { texts: vec![], kinds: vec![], ids: HashMap::new() };
        for (text, id, kind) in list {
            let id = id.as_u64().filter(|&id| id < MOST_TOKENS);
            let id = id.ok_or_else(|| bad(format!("token '{text}' has no id below {MOST_TOKENS}")))? as usize;
            while tokens.texts.len() <= id {
                tokens.texts.push(format!("[unused {}]", tokens.texts.len()));
                tokens.kinds.push(UNUSED);
            }
            tokens.texts[id] = text.to_owned();
            tokens.kinds[id] = kind;
            tokens.ids.insert(text.to_owned(), id);
        }
        Ok(tokens)
    }

    fn scores(&self, merges: &[(String, String)]) -> MetaValue {
        let mut scores = vec![-(merges.len() as f32) - 1.0; self.texts.len()];
        for (rank, (left, right)) in merges.iter().enumerate().rev() {
            if let Some(&id) = self.ids.get(&format!("{left}{right}")) {
                scores[id] = -(rank as f32);
            }
        }
        MetaValue::Array(ValueType::F32, scores.into_iter().map(MetaValue::F32).collect())
    }

    /// A token by its text, or by its number in the first file that has one (of a list, the first).
    fn role(&self, text: &Json, files: &[&Json], key: &str) -> Option<u32> {
        let text = text.as_str().or(text["content"].as_str());
        let by_text = text.and_then(|text| self.ids.get(text)).map(|&id| id as u32);
        by_text.or_else(|| {
            let number = |file: &&Json| file[key].as_u64().or(file[key][0].as_u64());
            files.iter().find_map(number).and_then(|id| u32::try_from(id).ok())
        })
    }
}

fn merges(json: &Json) -> Result<Vec<(String, String)>> {
    let list = json.as_array().ok_or_else(|| bad("model.merges is not a list"))?;
    let pair = |(rank, merge): (usize, &Json)| {
        let pair = match (merge.as_str(), &merge[0], &merge[1]) {
            // The separator is the first space after the first character.
            (Some(text), _, _) => text
                .char_indices()
                .skip(1)
                .find(|(_, c)| *c == ' ')
                .map(|(at, _)| (text[..at].to_owned(), text[at + 1..].to_owned())),
            (None, Json::String(left), Json::String(right)) => Some((left.clone(), right.clone())),
            _ => None,
        };
        pair.ok_or_else(|| bad(format!("merge {rank} is {merge}, not two strings")))
    };
    list.iter().enumerate().map(pair).collect()
}

/// The patterns of a pre-tokenizer, in the order in which they cut.
fn patterns(json: &Json) -> Result<Vec<String>> {
    let kind = json["type"].as_str().unwrap_or_default();
    Ok(match kind {
        "Sequence" => {
            let parts = json["pretokenizers"].as_array().map(Vec::as_slice).unwrap_or_default();
            let parts: Vec<Vec<String>> = parts.iter().map(patterns).collect::<Result<_>>()?;
            parts.concat()
        }
        "ByteLevel" if json["use_regex"].as_bool().unwrap_or(true) => vec![gpt2_pattern().to_owned()],
        "ByteLevel" => vec![],
        "Digits" if json["individual_digits"].as_bool().unwrap_or(false) => vec![r"\p{N}".to_owned()],
        "Digits" => vec![r"\p{N}+".to_owned()],
        "Split" => {
            let regex = json["pattern"]["Regex"].as_str();
            let isolated =
                json["behavior"].as_str() == Some("Isolated") && json["invert"].as_bool() != Some(true);
            match regex.filter(|_| isolated) {
                Some(regex) => vec![regex.to_owned()],
                None => return Err(bad(format!("unsupported pre-tokenizer: {json}"))),
            }
        }
        _ => return Err(bad(format!("unsupported pre-tokenizer: {json}"))),
    })
}

/// Whether a text gets a space in front.
fn adds_space(json: &Json) -> bool {
    let prepends = |n: &Json| n["type"] == "Prepend";
    let normalizer = &json["normalizer"];
    let in_list = normalizer["normalizers"].as_array().is_some_and(|list| list.iter().any(prepends));
    let pre = &json["pre_tokenizer"];
    let by_metaspace = pre["type"] == "Metaspace"
        && pre["prepend_scheme"].as_str().map_or(pre["add_prefix_space"] == true, |scheme| scheme != "never");
    prepends(normalizer) || in_list || by_metaspace
}

/// Whether the template of a single text opens with a special token.
fn begins_with_token(post: &Json) -> bool {
    match post["type"].as_str() {
        Some("TemplateProcessing") => post["single"][0]["SpecialToken"].is_object(),
        Some("Sequence") => {
            post["processors"].as_array().is_some_and(|list| list.iter().any(begins_with_token))
        }
        _ => false,
    }
}

/// The chat template: in a file of its own, or in the settings (the one named `default`, of several).
fn template(folder: &Path, settings: &Json) -> Result<Option<String>> {
    let own = folder.join("chat_template.jinja");
    if own.exists() {
        return std::fs::read_to_string(&own).map(Some).map_err(|e| super::cannot("read", &own, &e));
    }
    let stored = &settings["chat_template"];
    let named = stored.as_array().and_then(|list| list.iter().find(|t| t["name"] == "default"));
    let text = named.map_or(stored.as_str(), |t| t["template"].as_str());
    Ok(text.map(str::to_owned))
}
