//! Byte-level BPE.

use rustc_hash::FxHashMap;
use wootz_gguf::{Gguf, Value};

use super::bytes::CHARS;
use super::merge::{Priority, merge};
use super::patterns::{PreTokenizer, find};
use super::vocab::Vocab;
use super::{PATTERNS_KEY, WHOLE_WORDS_KEY};
use crate::error::{Error, Result};

/// A string that takes part in merges: a token, or an intermediate step that is none.
type Piece = u32;

/// A character that is in no merge and no token.
const NO_PIECE: Piece = u32::MAX;

/// Merge table and pre-tokenizer.
#[derive(Debug)]
pub(super) struct Bpe {
    pre: PreTokenizer,
    /// Rank and result of each mergeable pair.
    merges: FxHashMap<(Piece, Piece), (u32, Piece)>,
    /// Piece of each byte's character.
    bytes: [Piece; 256],
    /// Pieces from the vocabulary are their token ids; what merges add comes after them.
    extra: Vec<Box<[u8]>>,
}

/// By name; or by its patterns, where the model was not made for GGUF.
fn pre_tokenizer(gguf: &Gguf) -> Result<(PreTokenizer, bool)> {
    let meta = gguf.metadata();
    if let Some(patterns) = meta.optional(PATTERNS_KEY, "an array", Value::as_array)? {
        let patterns: Vec<&str> = patterns.iter().map(|p| p.as_str().unwrap_or_default()).collect();
        let whole_words = meta.bool_or(WHOLE_WORDS_KEY, false)?;
        return Ok((PreTokenizer::new(patterns.into_iter(), whole_words)?, false));
    }
    find(meta.optional("tokenizer.ggml.pre", "a string", Value::as_str)?.unwrap_or("default"))
}

impl Bpe {
    pub fn from_gguf(gguf: &Gguf, vocab: &mut Vocab) -> Result<Bpe> {
        let meta = gguf.metadata();
        let (pre, add_bos) = pre_tokenizer(gguf)?;
        vocab.add_bos = add_bos;
        let array = meta.array("tokenizer.ggml.merges")?;
        let mut bpe = Bpe { pre, merges: FxHashMap::default(), bytes: [NO_PIECE; 256], extra: Vec::new() };
        bpe.merges.reserve(array.len());
        let mut extra_ids: FxHashMap<Box<[u8]>, Piece> = FxHashMap::default();
        let first_extra = vocab.len() as u32;
        let mut piece = |text: &[u8], extra: &mut Vec<Box<[u8]>>| {
            vocab.id(text).unwrap_or_else(|| {
                *extra_ids.entry(text.into()).or_insert_with(|| {
                    extra.push(text.into());
                    first_extra + extra.len() as u32 - 1
                })
            })
        };
        for (rank, value) in array.iter().enumerate() {
            let text = value.as_bytes().unwrap_or_default();
            // The separator is the first space after the first character, which may itself be a space.
            let space = text.iter().skip(1).position(|&b| b == b' ').map(|p| p + 1).ok_or_else(|| {
                Error::Tokenizer(format!(
                    "merge {rank} ('{}') is not two strings",
                    String::from_utf8_lossy(text)
                ))
            })?;
            let (left, right) = (&text[..space], &text[space + 1..]);
            let joined = [left, right].concat();
            let pair = (piece(left, &mut bpe.extra), piece(right, &mut bpe.extra));
            let result = piece(&joined, &mut bpe.extra);
            bpe.merges.entry(pair).or_insert((rank as u32, result));
        }
        for (b, c) in CHARS.iter().enumerate() {
            let mut utf8 = [0; 4];
            let text = c.encode_utf8(&mut utf8).as_bytes();
            bpe.bytes[b] = vocab.id(text).or_else(|| extra_ids.get(text).copied()).unwrap_or(NO_PIECE);
        }
        Ok(bpe)
    }

    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let mut spelled = String::new();
        self.pre.split(text, &mut |word| {
            if self.pre.whole_words() {
                spelled.clear();
                spelled.extend(word.bytes().map(|b| CHARS[usize::from(b)]));
                if let Some(id) = vocab.id(spelled.as_bytes()) {
                    return out.push(id);
                }
            }
            self.encode_word(vocab, word, out);
        });
    }

    fn encode_word(&self, vocab: &Vocab, word: &str, out: &mut Vec<u32>) {
        let symbols = word.bytes().map(|b| self.bytes[usize::from(b)]);
        let pieces = merge(symbols, |left, right| {
            let &(rank, merged) = self.merges.get(&(left, right))?;
            Some((Priority::Rank(rank), merged))
        });
        for piece in pieces {
            if (piece as usize) < vocab.len() {
                out.push(piece);
            } else if let Some(text) = self.extra.get((piece as usize).wrapping_sub(vocab.len())) {
                // A step of a merge that never became a token: its ASCII characters, as far as they are tokens.
                out.extend(text.iter().filter_map(|b| vocab.id(&[*b])));
            }
        }
    }
}
