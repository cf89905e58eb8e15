//! How a text is split into words before byte-level BPE merges them: a list of patterns applied in turn. Every match, and
//! the text between matches, becomes a piece that the next pattern splits further.

use fancy_regex::Regex;

use super::pre_tokenizers::{CONTRACTIONS, GPT2, ROWS};
use crate::error::{Error, Result};

/// GPT-2's pattern, which tokenizers use that name no other.
pub(crate) fn gpt2_pattern() -> &'static str {
    GPT2
}

/// The name by which GGUF files call a pre-tokenizer with these patterns, if it has one.
pub(crate) fn name_of(patterns: &[String]) -> Option<&'static str> {
    let ours = |p: &String| p.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", CONTRACTIONS);
    let patterns: Vec<String> = patterns.iter().map(ours).collect();
    ROWS.iter().find(|row| row.patterns.iter().eq(patterns.iter())).map(|row| row.names[0])
}

/// Compiled patterns.
#[derive(Debug)]
pub(super) struct PreTokenizer {
    patterns: Vec<Regex>,
    whole_words: bool,
}

/// The pre-tokenizer of this name, and whether it adds a begin token by default.
pub(super) fn find(name: &str) -> Result<(PreTokenizer, bool)> {
    let row = ROWS
        .iter()
        .find(|r| r.names.contains(&name))
        .ok_or_else(|| Error::Tokenizer(format!("unknown pre-tokenizer '{name}' (tokenizer.ggml.pre)")))?;
    Ok((PreTokenizer::new(row.patterns.iter().copied(), row.whole_words)?, row.add_bos))
}

impl PreTokenizer {
    /// One with these patterns.
    pub fn new<'a>(patterns: impl Iterator<Item = &'a str>, whole_words: bool) -> Result<PreTokenizer> {
        let compiled = patterns.map(|p| {
            Regex::new(p).map_err(|e| Error::Tokenizer(format!("invalid pre-tokenizer pattern '{p}': {e}")))
        });
        Ok(PreTokenizer { patterns: compiled.collect::<Result<_>>()?, whole_words })
    }

    /// Whether a word that is a token is taken as it is.
    pub fn whole_words(&self) -> bool {
        self.whole_words
    }

    /// Cuts `text` into words.
    pub fn split(&self, text: &str, word: &mut dyn FnMut(&str)) {
        cut(&self.patterns, text, word);
    }
}

fn cut(patterns: &[Regex], text: &str, word: &mut dyn FnMut(&str)) {
    let Some((first, rest)) = patterns.split_first() else {
        return word(text);
    };
    let mut done = 0;
    // A pattern that gives up (its backtracking is bounded) leaves the rest of the text as one piece.
    for found in first.find_iter(text).map_while(|m| m.ok()).filter(|m| !m.as_str().is_empty()) {
        if found.start() > done {
            cut(rest, &text[done..found.start()], word);
        }
        cut(rest, found.as_str(), word);
        done = found.end();
    }
    if done < text.len() {
        cut(rest, &text[done..], word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        for name in ROWS.iter().flat_map(|r| r.names) {
            find(name).unwrap();
        }
        assert!(find("nonsense").unwrap_err().to_string().contains("'nonsense'"));
    }

    #[test]
    fn patterns_have_names() {
        let qwen = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
        assert_eq!(name_of(&[qwen.into()]), Some("qwen2"));
        assert_eq!(name_of(&[r"\p{N}".into(), GPT2.into()]), Some("smollm"));
        assert_eq!(name_of(&["x".into()]), None);
    }

    #[test]
    fn words_of_smollm() {
        let (pre, _) = find("smollm").unwrap();
        let mut words = Vec::new();
        pre.split("It's  12 pm\n\n  ok ", &mut |w| words.push(w.to_owned()));
        assert_eq!(words, ["It", "'s", "  ", "1", "2", " pm", "\n\n ", " ok", " "]);
    }
}
