//! SentencePiece-style merging by score, with byte fallback.

use std::borrow::Cow;

use super::merge::{Priority, merge};
use super::vocab::{TokenKind, Vocab};

/// The character that stands for a space.
pub(super) const SPACE: &str = "\u{2581}";

/// Settings of the family; the tables are the vocabulary's.
#[derive(Debug)]
pub(super) struct Spm {
    add_space_prefix: bool,
}

/// A run of the text, as a byte range.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub start: usize,
    pub end: usize,
}

impl Spm {
    pub fn new(add_space_prefix: bool) -> Spm {
        Spm { add_space_prefix }
    }

    pub fn add_space_prefix(&self) -> bool {
        self.add_space_prefix
    }

    pub fn encode(&self, vocab: &Vocab, text: &str, first: bool, out: &mut Vec<u32>) {
        let prefix = if self.add_space_prefix && first { SPACE } else { "" };
        let text = format!("{prefix}{}", text.replace(' ', SPACE));
        let bytes = text.as_bytes();
        let chars = text.char_indices().map(|(start, c)| Run { start, end: start + c.len_utf8() });
        let runs = merge(chars, |left, right| {
            let id = vocab.id(&bytes[left.start..right.end])?;
            Some((Priority::Score(vocab.score(id)), Run { start: left.start, end: right.end }))
        });
        for run in runs {
            let text = &bytes[run.start..run.end];
            match vocab.id(text) {
                Some(id) => out.push(id),
                None => out.extend(text.iter().filter_map(|&b| byte_token(vocab, b))),
            }
        }
    }
}

pub(super) fn byte_token(vocab: &Vocab, b: u8) -> Option<u32> {
    vocab.id(format!("<0x{b:02X}>").as_bytes()).or_else(|| vocab.id(&[b])).or(vocab.unknown)
}

/// The bytes of a normal or byte token.
pub(super) fn piece(text: &[u8], kind: TokenKind) -> Cow<'_, [u8]> {
    if kind == TokenKind::Byte {
        let hex = text.strip_prefix(b"<0x").and_then(|t| t.strip_suffix(b">"));
        let hex = hex.and_then(|h| std::str::from_utf8(h).ok()).and_then(|h| u8::from_str_radix(h, 16).ok());
        return hex.map_or(Cow::Borrowed(text), |b| Cow::Owned(vec![b]));
    }
    match std::str::from_utf8(text) {
        Ok(s) if s.contains(SPACE) => Cow::Owned(s.replace(SPACE, " ").into_bytes()),
        _ => Cow::Borrowed(text),
    }
}
