//! Pre-tokenizer patterns of byte-level BPE vocabularies: how a text is cut into words before merging.
//!
//! Each entry is a list of patterns applied in turn: every match, and what stands between matches, becomes a piece
//! that the next pattern cuts further.

use fancy_regex::Regex;

use crate::error::{Error, Result};

/// What the original GPT-2 vocabulary uses, and most others build on.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// English contractions in both cases.
macro_rules! contractions {
    () => {
        "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
    };
}

/// The family of Llama 3 and Qwen 2: they differ in how many digits stay together.
macro_rules! words_and_digits {
    ($letters:literal, $others:literal, $digits:literal) => {
        concat!(
            contractions!(),
            r"|[^\r\n\p{L}\p{N}]?",
            $letters,
            "|",
            $digits,
            "| ?",
            $others,
            r"+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

/// The family of GPT-4o and Mistral's Tekken: words are cut where capitals follow small letters.
macro_rules! cased_words {
    ($after:expr, $digits:literal) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            $after,
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            $after,
            "|",
            $digits,
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

/// A row: the names in `tokenizer.ggml.pre`, the patterns, whether a word that is a token skips the merges, and
/// whether the begin token is added when the metadata is silent.
struct Row {
    names: &'static [&'static str],
    patterns: &'static [&'static str],
    whole_words: bool,
    add_bos: bool,
}

const ROWS: &[Row] = &[
    Row {
        names: &[
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "gigachat",
            "granite-docling",
            "mellum",
        ],
        patterns: &[GPT2],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"],
        patterns: &[r"\p{N}", GPT2],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        patterns: &[words_and_digits!(r"\p{L}+", r"[^\s\p{L}\p{N}]", r"\p{N}{1,3}")],
        whole_words: true,
        add_bos: true,
    },
    Row {
        names: &["dbrx", "smaug-bpe"],
        patterns: &[words_and_digits!(r"\p{L}+", r"[^\s\p{L}\p{N}]", r"\p{N}{1,3}")],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "grok-2"],
        patterns: &[words_and_digits!(r"\p{L}+", r"[^\s\p{L}\p{N}]", r"\p{N}")],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["qwen35"],
        patterns: &[words_and_digits!(r"[\p{L}\p{M}]+", r"[^\s\p{L}\p{M}\p{N}]", r"\p{N}")],
        whole_words: false,
        add_bos: false,
    },
    Row { names: &["tekken"], patterns: &[cased_words!("", r"\p{N}")], whole_words: true, add_bos: true },
    Row {
        names: &["gpt-4o", "llama4"],
        patterns: &[cased_words!(concat!(contractions!(), "?"), r"\p{N}{1,3}")],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["deepseek-coder"],
        patterns: &["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["deepseek-llm"],
        patterns: &[
            "[\r\n]",
            // Letters that have a case.
            r"\s?[\p{Lu}\p{Ll}\p{Lt}]+",
            r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
            r"\s+$",
            "[一-龥ࠀ-一가-퟿]+",
            r"\p{N}+",
        ],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["deepseek-v3", "hunyuan-dense"],
        patterns: &[
            r"\p{N}{1,3}",
            "[一-龥぀-ゟ゠-ヿ]+",
            concat!(
                "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+",
                r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
        ],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["falcon"],
        patterns: &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
        whole_words: false,
        add_bos: false,
    },
    Row {
        names: &["default"],
        patterns: &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
        whole_words: false,
        add_bos: false,
    },
];

/// GPT-2's pattern, which tokenizers use that name no other.
pub(crate) fn gpt2_pattern() -> &'static str {
    GPT2
}

/// The name by which GGUF files call a pre-tokenizer with these patterns, if it has one.
pub(crate) fn name_of(patterns: &[String]) -> Option<&'static str> {
    let ours = |p: &String| p.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", contractions!());
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
    let row = ROWS.iter().find(|r| r.names.contains(&name)).ok_or_else(|| {
        Error::Tokenizer(format!("pre-tokenizer '{name}' (tokenizer.ggml.pre) is not known"))
    })?;
    Ok((PreTokenizer::new(row.patterns.iter().copied(), row.whole_words)?, row.add_bos))
}

impl PreTokenizer {
    /// One with these patterns.
    pub fn new<'a>(patterns: impl Iterator<Item = &'a str>, whole_words: bool) -> Result<PreTokenizer> {
        let compiled = patterns.map(|p| {
            Regex::new(p).map_err(|e| Error::Tokenizer(format!("pattern '{p}' of the pre-tokenizer: {e}")))
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
