//! BPE over characters, as in Gemma 4: merges by rank, with SentencePiece's character for spaces and its byte
//! fallback.

use rustc_hash::FxHashMap;
use wootz_gguf::Gguf;

use super::merge::{Priority, merge};
use super::spm::{Run, SPACE, byte_token};
use super::vocab::Vocab;
use crate::error::Result;

/// Rank of each merge, by its line in the file: two strings with a space between them, which neither of them has.
#[derive(Debug)]
pub(super) struct SpacedBpe {
    ranks: FxHashMap<Box<[u8]>, u32>,
}

impl SpacedBpe {
    pub fn from_gguf(gguf: &Gguf, vocab: &mut Vocab) -> Result<SpacedBpe> {
        let array = gguf.metadata().array("tokenizer.ggml.merges")?;
        let mut ranks = FxHashMap::default();
        ranks.reserve(array.len());
        for (rank, value) in array.iter().enumerate() {
            ranks.entry(value.as_bytes().unwrap_or_default().into()).or_insert(rank as u32);
        }
        vocab.add_bos = true;
        Ok(SpacedBpe { ranks })
    }

    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let text = text.replace(' ', SPACE);
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            // Line breaks never merge with anything else.
            let breaks = first == '\n';
            let len = rest.find(|c| (c == '\n') != breaks).unwrap_or(rest.len());
            let (word, after) = rest.split_at(len);
            match vocab.id(word.as_bytes()).filter(|_| breaks) {
                Some(id) => out.push(id),
                None => self.encode_word(vocab, word, out),
            }
            rest = after;
        }
    }

    fn encode_word(&self, vocab: &Vocab, word: &str, out: &mut Vec<u32>) {
        let bytes = word.as_bytes();
        let chars = word.char_indices().map(|(start, c)| Run { start, end: start + c.len_utf8() });
        let runs = merge(chars, |left, right| {
            let line = [&bytes[left.start..left.end], b" ", &bytes[right.start..right.end]].concat();
            let rank = *self.ranks.get(line.as_slice())?;
            Some((Priority::Rank(rank), Run { start: left.start, end: right.end }))
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
