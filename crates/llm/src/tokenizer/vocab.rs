//! The vocabulary: texts, kinds, scores and special ids.

use rustc_hash::FxHashMap;
use wootz_gguf::{Gguf, Value};

use crate::error::{Error, Result};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Ordinary text.
    Normal,
    /// Unknown text.
    Unknown,
    /// Control: begin, end, roles; not text.
    Control,
    /// User-defined: text that is always a single token.
    UserDefined,
    /// Unused id.
    Unused,
    /// A single byte.
    Byte,
}

/// Texts, kinds and scores of all tokens, and special ids.
#[derive(Debug)]
pub struct Vocab {
    pub(super) texts: Vec<Box<[u8]>>,
    kinds: Vec<TokenKind>,
    scores: Vec<f32>,
    ids: FxHashMap<Box<[u8]>, u32>,
    /// BOS token.
    pub bos: Option<u32>,
    /// EOS token.
    pub eos: Option<u32>,
    /// Unknown token.
    pub unknown: Option<u32>,
    /// Whether BOS is added.
    pub add_bos: bool,
    /// Whether EOS is added.
    pub add_eos: bool,
    ends: Vec<u32>,
    /// Control tokens that decoding shows as their text.
    shown: Vec<u32>,
}

/// Texts with which models mark the end of a turn or of the output. Files often mislabel them as plain text, so they
/// are control tokens whatever their stated kind.
const END_TEXTS: [&str; 22] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<turn|>",
    "<eos>",
    "</s>",
    "<|tool_response>",
    "[e~[",
];

/// Texts that mark an end in most vocabularies, but not in those that have all of the others.
const NO_END: [(&str, &[&str]); 3] = [
    // The end of a message, of which an answer of gpt-oss has several.
    ("<|end|>", &["<|return|>", "<|call|>"]),
    ("<|end|>", &["<|flush|>", "<|calls|>"]),
    // Gemma 4 has it as plain text.
    ("</s>", &["<|tool_response>"]),
];

/// Control tokens that are part of an answer's text, because they separate its channels.
const SHOWN_TEXTS: [&str; 5] = ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "<|end|>"];

impl Vocab {
    pub(super) fn from_gguf(gguf: &Gguf, model: &str) -> Result<Vocab> {
        let meta = gguf.metadata();
        let tokens = meta.array("tokenizer.ggml.tokens")?;
        let mut texts: Vec<Box<[u8]>> = Vec::with_capacity(tokens.len());
        let mut ids = FxHashMap::with_capacity_and_hasher(tokens.len(), Default::default());
        for (id, token) in tokens.iter().enumerate() {
            let text = token.as_bytes().ok_or_else(|| {
                Error::Tokenizer(format!("tokenizer.ggml.tokens contains {}, not strings", token.describe()))
            })?;
            ids.insert(text.into(), id as u32);
            texts.push(text.into());
        }
        let kinds = per_token(gguf, "tokenizer.ggml.token_type", texts.len(), kind)?;
        let scores = per_token(gguf, "tokenizer.ggml.scores", texts.len(), |v| v.as_f64().map(|s| s as f32))?;
        let scores = match (scores, model) {
            (Some(scores), _) => scores,
            (None, "llama") => return Err(Error::Tokenizer("tokenizer.ggml.scores is missing".into())),
            (None, _) => Vec::new(),
        };
        let len = texts.len();
        let kinds = kinds.unwrap_or_else(|| vec![TokenKind::Normal; len]);
        let (bos, eos, unknown) = match model {
            // What these vocabularies use when the metadata is silent.
            "llama" => (Some(1), Some(2), Some(0)),
            "gpt2" => (Some(11), Some(11), None),
            // Texts are between [CLS] and [SEP].
            "bert" => (Some(101), Some(102), Some(100)),
            _ => (None, None, None),
        };
        Ok(Vocab {
            texts,
            kinds,
            scores,
            ids,
            bos,
            eos,
            unknown,
            add_bos: matches!(model, "llama" | "bert"),
            add_eos: model == "bert",
            ends: vec![],
            shown: vec![],
        })
    }

    /// Reads special ids and flags, overriding the defaults of the family.
    pub(super) fn read_flags(&mut self, gguf: &Gguf) -> Result<()> {
        let meta = gguf.metadata();
        let (count, len) = (self.len(), self.len() as u64);
        let role = |name: &str, default: Option<u32>| -> Result<Option<u32>> {
            let key = format!("tokenizer.ggml.{name}_token_id");
            match meta.optional(&key, "a token id", Value::as_u64)? {
                None => Ok(default.filter(|&d| u64::from(d) < len)),
                Some(id) if id < len => Ok(Some(id as u32)),
                // Files write −1 as an unsigned number for "none".
                Some(id) if id == u64::from(u32::MAX) => Ok(None),
                Some(id) => Err(Error::Tokenizer(format!("{key} is {id}, but there are {count} tokens"))),
            }
        };
        // BERT's files name the same tokens by what they were trained for; GGUF misspells the second.
        self.bos = role("cls", role("bos", self.bos)?)?;
        self.eos = role("eos", self.eos)?;
        if meta.optional("tokenizer.ggml.model", "a string", |v| v.as_str())? == Some("bert") {
            self.eos = role("seperator", self.eos)?;
        }
        self.unknown = role("unknown", self.unknown)?;
        let extra = [role("eot", None)?, role("eom", None)?];
        self.add_bos = meta.bool_or("tokenizer.ggml.add_bos_token", self.add_bos)?;
        self.add_eos = meta.bool_or("tokenizer.ggml.add_eos_token", self.add_eos)?;
        let is_end = |text: &&str| !NO_END.iter().any(|(none, with)| none == text && self.has_all(with));
        let texts = END_TEXTS.iter().filter(|text| is_end(text));
        let named: Vec<u32> = texts.filter_map(|t| self.id(t.as_bytes())).collect();
        named.iter().for_each(|&id| self.kinds[id as usize] = TokenKind::Control);
        let shown = SHOWN_TEXTS.iter().filter(|_| self.has_all(&["<|channel|>", "<|message|>"]));
        self.shown = shown.filter_map(|t| self.id(t.as_bytes())).filter(|id| !named.contains(id)).collect();
        self.ends = self.eos.into_iter().chain(extra.into_iter().flatten()).chain(named).collect();
        self.ends.sort_unstable();
        self.ends.dedup();
        Ok(())
    }

    /// Vocabulary size.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether the vocabulary is empty.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// A token's text as stored in the file (not decoded).
    pub fn text(&self, id: u32) -> Option<&[u8]> {
        self.texts.get(id as usize).map(|t| &**t)
    }

    /// A token's kind; unknown ids are unused.
    pub fn kind(&self, id: u32) -> TokenKind {
        self.kinds.get(id as usize).copied().unwrap_or(TokenKind::Unused)
    }

    /// A token's score; higher scores merge first.
    pub fn score(&self, id: u32) -> f32 {
        self.scores.get(id as usize).copied().unwrap_or(0.0)
    }

    /// The token with this text.
    pub fn id(&self, text: &[u8]) -> Option<u32> {
        self.ids.get(text).copied()
    }

    fn has_all(&self, texts: &[&str]) -> bool {
        texts.iter().all(|text| self.id(text.as_bytes()).is_some())
    }

    /// Whether this is a control token that is part of an answer's text.
    pub fn is_shown(&self, id: u32) -> bool {
        self.shown.contains(&id)
    }

    /// Whether generation ends with this token: EOS, or an end-of-turn token.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.binary_search(&id).is_ok()
    }
}

/// An optional array with one value per token.
fn per_token<T>(
    gguf: &Gguf,
    key: &str,
    len: usize,
    read: impl Fn(Value<'_>) -> Option<T>,
) -> Result<Option<Vec<T>>> {
    let Some(array) = gguf.metadata().optional(key, "an array", Value::as_array)? else { return Ok(None) };
    if array.len() != len {
        return Err(Error::Tokenizer(format!("{key} has {} values for {len} tokens", array.len())));
    }
    let values = array.iter().map(|v| {
        read(v)
            .ok_or_else(|| Error::Tokenizer(format!("{key} contains {}, which is not allowed", v.describe())))
    });
    values.collect::<Result<Vec<T>>>().map(Some)
}

fn kind(value: Value<'_>) -> Option<TokenKind> {
    Some(match value.as_i64()? {
        0 | 1 => TokenKind::Normal,
        2 => TokenKind::Unknown,
        3 => TokenKind::Control,
        4 => TokenKind::UserDefined,
        5 => TokenKind::Unused,
        6 => TokenKind::Byte,
        _ => return None,
    })
}
