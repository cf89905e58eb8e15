//! What models say before a grammar applies: their reasoning, which no grammar describes.

use std::sync::Arc;
use wootz_llm::Model;
use wootz_llm::engine::Constraint;

/// After what a grammar applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A tag that ends reasoning.
    After(&'static str),
    /// The header of the message with the answer (gpt-oss).
    FinalMessage,
}

impl Opening {
    /// How many bytes of `text` belong to the opening, if it is complete.
    fn length(self, text: &[u8]) -> Option<usize> {
        match self {
            Opening::After(tag) => find(text, tag.as_bytes()).map(|at| at + tag.len()),
            Opening::FinalMessage => {
                let mut from = 0;
                while let Some(at) = find(&text[from..], b"<|channel|>") {
                    from += at + b"<|channel|>".len();
                    let header = &text[from..];
                    let end = find(header, b"<|message|>")?;
                    if header.starts_with(b"final") {
                        return Some(from + end + b"<|message|>".len());
                    }
                }
                None
            }
        }
    }

    /// The end of the opening.
    fn tag(self) -> &'static [u8] {
        match self {
            Opening::After(tag) => tag.as_bytes(),
            Opening::FinalMessage => b"<|message|>",
        }
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// A vocabulary's texts, control tokens included.
pub struct Words {
    words: Vec<Box<[u8]>>,
    ends: Vec<u32>,
}

impl Words {
    pub fn new(model: &Model) -> Words {
        let (tokenizer, count) = (model.tokenizer(), model.config().vocab as u32);
        let words = (0..count).map(|id| tokenizer.piece(id, true).into_owned().into()).collect();
        Words { words, ends: (0..count).filter(|&id| tokenizer.vocab().is_end(id)).collect() }
    }
}

/// A constraint that begins after an opening. Until then everything is allowed but to end the answer, and tokens that
/// would go on beyond the opening.
pub struct Opened<C> {
    opening: Opening,
    words: Arc<Words>,
    /// What was said so far, until the opening is complete.
    text: Vec<u8>,
    /// Tokens that could complete the opening and say more.
    longer: Vec<u32>,
    is_open: bool,
    inner: C,
}

impl<C> Opened<C> {
    pub fn new(opening: Opening, words: Arc<Words>, inner: C) -> Opened<C> {
        let last = *opening.tag().last().expect("tags are not empty");
        let is_longer = |word: &[u8]| word.len() > 1 && word.contains(&last);
        let ids = words.words.iter().zip(0..).filter(|(word, _)| is_longer(word));
        let longer = ids.map(|(_, id)| id).collect();
        Opened { opening, words, text: Vec::new(), longer, is_open: false, inner }
    }

    /// Whether a token completes the opening and says more than that.
    fn goes_beyond(&self, word: &[u8]) -> bool {
        let tag = self.opening.tag();
        // Only the end of the text can be a part of the tag.
        let begin = self.text.len().saturating_sub(tag.len() - 1);
        let joined = [&self.text[begin..], word].concat();
        find(&joined, tag).is_some_and(|at| !joined[at + tag.len()..].trim_ascii().is_empty())
    }
}

impl<C: Constraint> Constraint for Opened<C> {
    fn restrict(&mut self, logits: &mut [f32]) -> Result<(), String> {
        if self.is_open {
            return self.inner.restrict(logits);
        }
        let known = self.words.words.len().min(logits.len());
        logits[known..].fill(f32::NEG_INFINITY);
        let beyond = self.longer.iter().filter(|&&id| self.goes_beyond(&self.words.words[id as usize]));
        for &id in beyond.chain(&self.words.ends) {
            if let Some(logit) = logits.get_mut(id as usize) {
                *logit = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<(), String> {
        if self.is_open {
            return self.inner.accept(token);
        }
        self.text.extend_from_slice(self.words.words.get(token as usize).map_or(&[], |word| word));
        self.is_open = self.opening.length(&self.text).is_some();
        Ok(())
    }

    fn is_complete(&mut self) -> bool {
        self.is_open && self.inner.is_complete()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allows token 0 only, and is complete after it.
    struct Zero(bool);

    impl Constraint for Zero {
        fn restrict(&mut self, logits: &mut [f32]) -> Result<(), String> {
            logits[1..].fill(f32::NEG_INFINITY);
            Ok(())
        }
        fn accept(&mut self, token: u32) -> Result<(), String> {
            self.0 = token == 0;
            if self.0 { Ok(()) } else { Err("not zero".into()) }
        }
        fn is_complete(&mut self) -> bool {
            self.0
        }
    }

    fn allowed(constraint: &mut impl Constraint, count: usize) -> Vec<usize> {
        let mut logits = vec![0.0; count];
        constraint.restrict(&mut logits).unwrap();
        (0..count).filter(|&i| logits[i] == 0.0).collect()
    }

    fn opened(opening: Opening, words: &[&str]) -> Opened<Zero> {
        let words = words.iter().map(|word| word.as_bytes().into()).collect();
        Opened::new(opening, Arc::new(Words { words, ends: vec![1] }), Zero(false))
    }

    #[test]
    fn a_grammar_begins_after_reasoning() {
        let words = ["a", "<end>", "</thi", "nk>", "nk>{", "nk>\n", "</think>", "</think>x"];
        let mut constraint = opened(Opening::After("</think>"), &words);
        assert_eq!(
            allowed(&mut constraint, 9),
            [0, 2, 3, 4, 5, 6],
            "no end, nothing beyond, no unknown token"
        );
        constraint.accept(0).unwrap();
        constraint.accept(2).unwrap();
        assert_eq!(allowed(&mut constraint, 9), [0, 2, 3, 5, 6]);
        assert!(!constraint.is_complete());
        constraint.accept(5).unwrap();
        assert_eq!(allowed(&mut constraint, 9), [0]);
        constraint.accept(0).unwrap();
        assert!(constraint.is_complete());
    }

    #[test]
    fn a_grammar_begins_in_the_final_message() {
        let words = ["a", "<end>", "<|channel|>", "analysis", "final", "<|message|>", "<|end|>"];
        let mut constraint = opened(Opening::FinalMessage, &words);
        for token in [2, 3, 5, 4, 6, 2, 4] {
            constraint.accept(token).unwrap();
            assert_eq!(allowed(&mut constraint, 7), [0, 2, 3, 4, 5, 6]);
        }
        constraint.accept(5).unwrap();
        assert_eq!(allowed(&mut constraint, 7), [0]);
    }
}
