//! WordPiece, BERT's tokenizer: lower-case words without accents, split greedily into the longest matching tokens.
//!
//! In GGUF files a piece that starts a word is prefixed with `▁`; a continuation has no prefix.

use super::vocab::Vocab;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// What stands in front of a word.
const WORD: char = '\u{2581}';

/// Words longer than this are unknown as a whole.
const LONGEST_WORD: usize = 100;

pub(super) fn encode(vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
    for word in words(text) {
        let start = out.len();
        let whole = word.chars().count() <= LONGEST_WORD && pieces(vocab, &format!("{WORD}{word}"), out);
        if !whole {
            out.truncate(start);
            out.extend(vocab.unknown);
        }
    }
}

/// The pieces of a word; false where a part of it has none.
fn pieces(vocab: &Vocab, word: &str, out: &mut Vec<u32>) -> bool {
    let mut rest = word;
    while !rest.is_empty() {
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
        let Some((end, id)) = { ends }.find_map(|end| Some((end, vocab.id(&rest.as_bytes()[..end])?))) else {
            return false;
        };
        // The mark of a word alone is no piece of it.
        if end == WORD.len_utf8() && rest.len() == word.len() {
            return false;
        }
        out.push(id);
        rest = &rest[end..];
    }
    true
}

/// Words: runs between spaces; punctuation and Chinese characters are words of their own.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let clean = text.chars().filter(|&c| !is_dropped(c)).flat_map(char::to_lowercase).nfd();
    for c in clean.filter(|c| c.general_category() != GeneralCategory::NonspacingMark) {
        if c.is_whitespace() {
            words.push(String::new());
        } else if is_alone(c) {
            words.extend([c.to_string(), String::new()]);
        } else {
            words.last_mut().expect("there is always a last word").push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Control and format characters, but for those that are spaces.
fn is_dropped(c: char) -> bool {
    let is_control = matches!(c.general_category(), GeneralCategory::Control | GeneralCategory::Format);
    (is_control && !matches!(c, '\t' | '\n' | '\r')) || c == '\u{fffd}'
}

fn is_alone(c: char) -> bool {
    c.is_ascii_punctuation()
        || c.general_category_group() == GeneralCategoryGroup::Punctuation
        || is_chinese(c)
}

/// The blocks of Chinese characters, also where they are used for other languages.
fn is_chinese(c: char) -> bool {
    matches!(u32::from(c),
        0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x2a6df | 0x2a700..=0x2b73f
        | 0x2b740..=0x2b81f | 0x2b820..=0x2ceaf | 0x2f800..=0x2fa1f)
}

/// The bytes of a token: `▁` is a space.
pub(super) fn piece(text: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(text).replace(WORD, " ").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_lower_case_without_accents() {
        assert_eq!(words("Élan  vital,naïve\u{0}ly"), ["elan", "vital", ",", "naively"]);
        assert_eq!(words("你好 x\ty"), ["你", "好", "x", "y"]);
        assert!(words(" \n ").is_empty());
        // Neither private characters nor unassigned ones are dropped.
        assert_eq!(words("a\u{e000}\u{200b}b \u{378}"), ["a\u{e000}b", "\u{378}"]);
    }
}
