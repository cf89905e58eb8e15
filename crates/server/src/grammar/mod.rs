//! Structured output: JSON schemas, regular expressions and grammars, using llguidance.

mod opening;

pub use opening::Opening;

use crate::error::{ApiError, Outcome};
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use opening::{Opened, Words};
use serde_json::{Value, json};
use std::sync::Arc;
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use wootz_llm::Model;
use wootz_llm::engine::Constraint;
use wootz_llm::tokenizer::TokenKind;

/// What an answer has to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Grammar {
    /// JSON that follows a schema.
    Schema(Value),
    /// Text that a regular expression matches as a whole.
    Regex(String),
    /// A grammar in llguidance's variant of Lark.
    Lark(String),
    /// The same, of a tool call.
    Call(String),
}

/// Makes constraints for a model's vocabulary.
pub struct Grammars {
    factory: ParserFactory,
    words: Arc<Words>,
}

impl Grammars {
    /// The vocabulary as llguidance sees it. Fails for vocabularies that it cannot use.
    pub fn new(model: &Model) -> Result<Grammars, String> {
        let (tokenizer, vocab) = (model.tokenizer(), model.tokenizer().vocab());
        let count = model.config().vocab as u32;
        let end = vocab.eos.or_else(|| (0..count).find(|&id| vocab.is_end(id)));
        let end = end.ok_or("the vocabulary has no end token")?;
        let words: Vec<Vec<u8>> = (0..count)
            .map(|id| {
                let is_special = matches!(vocab.kind(id), TokenKind::Control | TokenKind::Unknown);
                if is_special || vocab.is_end(id) {
                    let text = vocab.text(id).unwrap_or_default();
                    [&[TokTrie::SPECIAL_TOKEN_MARKER], text].concat()
                } else {
                    tokenizer.piece(id, false).into_owned()
                }
            })
            .collect();
        let trie = TokTrie::from(&TokRxInfo::new(count, end), &words);
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&environment).map_err(|e| e.to_string())?;
        factory.quiet();
        Ok(Grammars { factory, words: Arc::new(Words::new(model)) })
    }

    /// The constraint of one answer.
    pub fn constraint(&self, grammar: &Grammar, opening: Option<Opening>) -> Outcome<Box<dyn Constraint>> {
        let top = match grammar {
            Grammar::Schema(schema) => TopLevelGrammar::from_json_schema(compact(schema.clone())),
            Grammar::Regex(pattern) => TopLevelGrammar::from_regex(pattern),
            Grammar::Lark(text) | Grammar::Call(text) => TopLevelGrammar::from_lark(text.clone()),
        };
        let refused = |why: String| {
            ApiError::field("response_format", format!("this grammar cannot be compiled: {why}"))
        };
        let mut matcher = Matcher::new(self.factory.create_parser(top));
        if let Some(error) = matcher.get_error() {
            return Err(refused(error));
        }
        // A grammar that allows nothing is found out now, and not in the middle of an answer.
        matcher.compute_mask_or_eos().map_err(|error| refused(error.to_string()))?;
        let following = Following { matcher };
        Ok(match opening {
            None => Box::new(following),
            Some(opening) => Box::new(Opened::new(opening, self.words.clone(), following)),
        })
    }
}

/// Whitespace between items is of no use, and small models never stop writing it.
fn compact(mut schema: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.entry("x-guidance").or_insert_with(|| json!({"whitespace_flexible": false}));
    }
    schema
}

struct Following {
    matcher: Matcher,
}

impl Constraint for Following {
    fn restrict(&mut self, logits: &mut [f32]) -> Result<(), String> {
        let mask = self.matcher.compute_mask_or_eos().map_err(|error| error.to_string())?;
        let known = mask.len().min(logits.len());
        mask.iter_unset_entries(|token| {
            if let Some(logit) = logits.get_mut(token) {
                *logit = f32::NEG_INFINITY;
            }
        });
        // A mask may be shorter than the rows of a model that was padded.
        logits[known..].fill(f32::NEG_INFINITY);
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<(), String> {
        self.matcher.consume_token(token).map_err(|error| error.to_string())
    }

    fn is_complete(&mut self) -> bool {
        self.matcher.is_stopped()
    }
}
