//! Splitting a text at special tokens.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::vocab::{TokenKind, Vocab};
use crate::error::{Error, Result};

/// A piece of a text: a special token, or what stands between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fragment<'a> {
    Token(u32),
    Text(&'a str),
}

/// Finds special tokens. Longer tokens take their places first, wherever they stand, then shorter ones in what is
/// left: with `<a>` and `<a><b>` in the vocabulary the second wins even if the first begins earlier.
#[derive(Debug)]
pub(super) struct Specials {
    /// Longest first.
    tokens: Vec<Special>,
    finder: AhoCorasick,
}

#[derive(Debug)]
struct Special {
    id: u32,
    text: String,
    /// Only found when the caller asks for control tokens.
    control: bool,
}

/// The longest special token, in bytes. Those of real models have some dozens.
const MAX_SPECIAL: usize = 4096;

/// All special tokens together, in bytes: each becomes a state of the finder.
const MAX_SPECIALS: usize = 16 << 20;

impl Specials {
    pub fn new(vocab: &Vocab) -> Result<Specials> {
        let mut tokens = Vec::new();
        for id in 0..vocab.len() as u32 {
            let kind = vocab.kind(id);
            let special = matches!(kind, TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined);
            if !special {
                continue;
            }
            let text = vocab.text(id).and_then(|t| std::str::from_utf8(t).ok()).unwrap_or_default();
            if text.len() > MAX_SPECIAL {
                let length = text.len();
                let problem =
                    format!("special token {id} is {length} bytes long; the limit is {MAX_SPECIAL}");
                return Err(Error::Tokenizer(problem));
            }
            if !text.is_empty() {
                tokens.push(Special { id, text: text.to_owned(), control: kind != TokenKind::UserDefined });
            }
        }
        tokens.sort_by_key(|t| std::cmp::Reverse(t.text.len()));
        let bytes: usize = tokens.iter().map(|t| t.text.len()).sum();
        if bytes > MAX_SPECIALS {
            let problem = format!("special tokens of {bytes} bytes in total; the limit is {MAX_SPECIALS}");
            return Err(Error::Tokenizer(problem));
        }
        let finder = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(tokens.iter().map(|t| &t.text))
            .map_err(|e| Error::Tokenizer(format!("{} special tokens: {e}", tokens.len())))?;
        Ok(Specials { tokens, finder })
    }

    /// Splits `text`; without `control`, only user-defined tokens count.
    pub fn split<'a>(&self, text: &'a str, control: bool) -> Vec<Fragment<'a>> {
        let mut fragments = if text.is_empty() { vec![] } else { vec![Fragment::Text(text)] };
        // One pass finds which tokens occur at all; vocabularies have thousands, texts a few.
        let found = self.finder.find_overlapping_iter(text).map(|m| m.pattern().as_usize());
        let mut found: Vec<usize> = found.filter(|&i| control || !self.tokens[i].control).collect();
        found.sort_unstable();
        found.dedup();
        for token in found.into_iter().map(|i| &self.tokens[i]) {
            fragments = fragments.into_iter().flat_map(|f| split_one(f, token)).collect();
        }
        fragments
    }
}

fn split_one<'a>(fragment: Fragment<'a>, token: &Special) -> Vec<Fragment<'a>> {
    let Fragment::Text(mut rest) = fragment else { return vec![fragment] };
    let mut out = Vec::new();
    while let Some(at) = rest.find(&token.text) {
        if at > 0 {
            out.push(Fragment::Text(&rest[..at]));
        }
        out.push(Fragment::Token(token.id));
        rest = &rest[at + token.text.len()..];
    }
    if !rest.is_empty() {
        out.push(Fragment::Text(rest));
    }
    out
}
