//! Text to tokens and back, from the vocabulary in a GGUF file.
//!
//! Five families: byte-level BPE (`gpt2` in the metadata), SentencePiece-style merging by score (`llama`) and by rank (`gemma4`), the
//! longest-match trie of RWKV World (`rwkv`), and BERT's WordPiece (`bert`). All split the text at special tokens first.

mod bpe;
mod bytes;
mod merge;
mod patterns;
mod pre_tokenizers;
mod rwkv;
mod spaced_bpe;
mod special;
mod spm;
mod stream;
mod vocab;
mod wordpiece;

use std::borrow::Cow;

use wootz_gguf::Gguf;

use crate::error::{Error, Result};

pub use stream::TextStream;
pub use vocab::{TokenKind, Vocab};

pub(crate) use patterns::{gpt2_pattern, name_of};
pub(crate) use special::Fragment;
use special::Specials;

/// Patterns that split a text into words, for models not made for GGUF that name no pre-tokenizer.
pub(crate) const PATTERNS_KEY: &str = "wootz.tokenizer.patterns";
/// Whether a word that is a token skips the merges, for the same models.
pub(crate) const WHOLE_WORDS_KEY: &str = "wootz.tokenizer.whole_words";

/// Converts text to token ids and back.
#[derive(Debug)]
pub struct Tokenizer {
    vocab: Vocab,
    specials: Specials,
    family: Family,
}

#[derive(Debug)]
enum Family {
    Bpe(Box<bpe::Bpe>),
    Spm(spm::Spm),
    SpacedBpe(Box<spaced_bpe::SpacedBpe>),
    Rwkv(rwkv::Rwkv),
    WordPiece,
}

/// Options of encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Add the BOS and EOS tokens that the model uses.
    pub add_special: bool,
    /// Parse control tokens (`<|im_start|>`) in the text; otherwise they are plain characters.
    pub parse_special: bool,
}

impl Encoding {
    /// For plain user text: nothing in it is special, and the model's BOS token is added.
    pub const TEXT: Encoding = Encoding { add_special: true, parse_special: false };
    /// For the output of a chat template: it contains its special tokens, including BOS.
    pub const TEMPLATE: Encoding = Encoding { add_special: false, parse_special: true };
}

impl Tokenizer {
    /// Reads the vocabulary of a model file.
    pub fn from_gguf(gguf: &Gguf) -> Result<Tokenizer> {
        let meta = gguf.metadata();
        let model = meta.str("tokenizer.ggml.model")?;
        let mut vocab = Vocab::from_gguf(gguf, model)?;
        let family = match model {
            "gpt2" => Family::Bpe(Box::new(bpe::Bpe::from_gguf(gguf, &mut vocab)?)),
            "llama" => Family::Spm(spm::Spm::new(meta.bool_or("tokenizer.ggml.add_space_prefix", true)?)),
            "gemma4" => Family::SpacedBpe(Box::new(spaced_bpe::SpacedBpe::from_gguf(gguf, &mut vocab)?)),
            "rwkv" => Family::Rwkv(rwkv::Rwkv::new(&mut vocab)),
            "bert" => Family::WordPiece,
            other => {
                let known = "gpt2, llama, gemma4, rwkv, bert";
                return Err(Error::Tokenizer(format!(
                    "model '{other}' is not supported; supported: {known}"
                )));
            }
        };
        vocab.read_flags(gguf)?;
        Ok(Tokenizer { specials: Specials::new(&vocab)?, vocab, family })
    }

    /// Whether decoding produces a leading space that is not part of the text.
    fn has_space_prefix(&self) -> bool {
        match &self.family {
            Family::Spm(spm) => spm.add_space_prefix(),
            Family::WordPiece => true,
            Family::Bpe(_) | Family::SpacedBpe(_) | Family::Rwkv(_) => false,
        }
    }

    /// The vocabulary.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// A text, split at its special tokens.
    pub(crate) fn fragments<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Fragment<'t>> {
        self.specials.split(text, true).into_iter()
    }

    /// Encodes a text.
    pub fn encode(&self, text: &str, encoding: Encoding) -> Vec<u32> {
        let mut out = Vec::with_capacity(text.len() / 3 + 2);
        if encoding.add_special && self.vocab.add_bos {
            out.extend(self.vocab.bos);
        }
        let mut after_special = true;
        for fragment in self.specials.split(text, encoding.parse_special) {
            match fragment {
                Fragment::Token(id) => {
                    out.push(id);
                    after_special = true;
                }
                Fragment::Text(text) => {
                    match &self.family {
                        Family::Bpe(bpe) => bpe.encode(&self.vocab, text, &mut out),
                        Family::SpacedBpe(bpe) => bpe.encode(&self.vocab, text, &mut out),
                        Family::Spm(spm) => spm.encode(&self.vocab, text, after_special, &mut out),
                        Family::Rwkv(rwkv) => rwkv.encode(&self.vocab, text, &mut out),
                        Family::WordPiece => wordpiece::encode(&self.vocab, text, &mut out),
                    }
                    after_special = false;
                }
            }
        }
        if encoding.add_special && self.vocab.add_eos {
            out.extend(self.vocab.eos);
        }
        out
    }

    /// The bytes of a token; with `special` also of control tokens. Empty for unknown ids.
    pub fn piece(&self, id: u32, special: bool) -> Cow<'_, [u8]> {
        let Some(text) = self.vocab.text(id) else { return Cow::Borrowed(&[]) };
        match self.vocab.kind(id) {
            TokenKind::Control if self.vocab.is_shown(id) => Cow::Borrowed(text),
            TokenKind::Control | TokenKind::Unknown => Cow::Borrowed(if special { text } else { &[] }),
            TokenKind::UserDefined => Cow::Borrowed(text),
            TokenKind::Unused => Cow::Borrowed(&[]),
            TokenKind::Normal | TokenKind::Byte => match &self.family {
                Family::Bpe(_) => Cow::Owned(bytes::decode(text)),
                Family::Spm(_) | Family::SpacedBpe(_) => spm::piece(text, self.vocab.kind(id)),
                Family::Rwkv(rwkv) => Cow::Borrowed(rwkv.bytes(id)),
                Family::WordPiece => Cow::Owned(wordpiece::piece(text)),
            },
        }
    }

    /// Decodes tokens; invalid UTF-8 becomes replacement characters.
    pub fn decode(&self, ids: &[u32], special: bool) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| self.piece(id, special).into_owned()).collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match &self.family {
            // The space that encoding put in front is not part of the text.
            Family::Spm(_) | Family::WordPiece if self.has_space_prefix() => match text.strip_prefix(' ') {
                Some(rest) => rest.to_owned(),
                None => text,
            },
            _ => text,
        }
    }
}
