//! Reranking: scores of documents for a query, by models that read both together (cross-encoders).

use crate::config::{Config, Pooling};
use crate::embed::{EmbedOptions, Embedder};
use crate::error::{Error, Result};
use crate::tokenizer::{Encoding, Fragment};
use crate::weights::{Matrix, Weights};
use wootz::Tensor;
use wootz_gguf::Value;

/// The prompt of a decoder, with `{query}` and `{document}` in it.
const TEMPLATE_KEY: &str = "tokenizer.chat_template.rerank";

/// Nothing is added, and texts of users contain no special tokens.
const PLAIN: Encoding = Encoding { add_special: false, parse_special: false };

/// What computes scores from a pooled vector.
pub(crate) struct Head {
    dense: Option<Matrix>,
    output: Matrix,
    /// Whether the scores are probabilities of labels.
    softmax: bool,
}

impl Head {
    pub fn load(config: &Config, weights: &Weights) -> Result<Head> {
        let dense = match weights.has("cls.weight") {
            true => Some(weights.linear("cls", config.width, config.width)?),
            false => None,
        };
        let output = weights.linear("cls.output", config.labels, config.width)?;
        Ok(Head { dense, output, softmax: !config.family.is_encoder() })
    }

    /// The scores `[b, labels]` of vectors `[b, width]`.
    pub fn apply(&self, x: Tensor) -> wootz::Result<Tensor> {
        let x = match &self.dense {
            Some(dense) => dense.apply(&x)?.tanh()?,
            None => x,
        };
        let x = self.output.apply(&x)?;
        if self.softmax { x.softmax(-1) } else { Ok(x) }
    }
}

impl Embedder {
    /// Whether it is a reranking model: a cross-encoder, or a decoder that answers whether a document meets a query. It
    /// scores pairs of texts, and has no embeddings.
    pub fn is_reranker(&self) -> bool {
        self.config().pooling == Pooling::Rank
    }

    /// A score for each document: the higher, the better it answers the query. Cross-encoders give logits, decoders
    /// probabilities. Only documents are truncated, at their end.
    pub fn score(&self, query: &str, documents: &[&str], options: EmbedOptions) -> Result<Vec<f32>> {
        let scores = self.embed_tokens(&self.pairs(query, documents, options)?)?;
        Ok(scores.into_iter().map(|labels| labels.first().copied().unwrap_or(0.0)).collect())
    }

    /// The tokens of the query with each document, for [`Embedder::embed_tokens`], which gives a score for each label of
    /// the model: the first is that of [`Embedder::score`].
    pub fn pairs(&self, query: &str, documents: &[&str], options: EmbedOptions) -> Result<Vec<Vec<u32>>> {
        if !self.is_reranker() {
            return Err(Error::Model("this is not a reranking model (its pooling_type is not 4)".into()));
        }
        let template = self.gguf().metadata().optional(TEMPLATE_KEY, "a string", Value::as_str)?;
        let pairs = documents.iter().enumerate();
        let tokens = pairs.map(|(index, document)| {
            let prompt = |document: &str| match template {
                Some(template) => self.filled(template, query, document),
                None => self.pair(query, document),
            };
            self.fitting(index, document, options, prompt)
        });
        tokens.collect()
    }

    /// The tokens of a prompt with a document, of which only the beginning is used if the prompt is too long.
    fn fitting(
        &self,
        index: usize,
        document: &str,
        options: EmbedOptions,
        prompt: impl Fn(&str) -> Vec<u32>,
    ) -> Result<Vec<u32>> {
        let most = self.config().context;
        let tokens = prompt(document);
        if tokens.len() <= most {
            return Ok(tokens);
        }
        let mut own = self.tokenizer().encode(document, PLAIN);
        let mut shorter = tokens.clone();
        while options.truncate && shorter.len() > most && !own.is_empty() {
            own.truncate(own.len().saturating_sub(shorter.len() - most));
            shorter = prompt(&self.tokenizer().decode(&own, false));
        }
        if shorter.len() > most {
            let all = tokens.len();
            return Err(Error::Model(format!(
                "the query and document {index} have {all} tokens, but the model accepts at most {most}"
            )));
        }
        Ok(shorter)
    }

    /// A prompt. Its special tokens are those of the template alone, and words are split as in one text.
    fn filled(&self, template: &str, query: &str, document: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        for part in self.tokenizer().fragments(template) {
            match part {
                Fragment::Token(id) => tokens.push(id),
                Fragment::Text(text) => {
                    let pieces = text.split("{query}").map(|piece| piece.replace("{document}", document));
                    let text = pieces.collect::<Vec<_>>().join(query);
                    tokens.extend(self.tokenizer().encode(&text, PLAIN));
                }
            }
        }
        tokens
    }

    /// The same for an encoder: `[CLS] query [SEP] document [SEP]`.
    fn pair(&self, query: &str, document: &str) -> Vec<u32> {
        let (tokenizer, vocab) = (self.tokenizer(), self.tokenizer().vocab());
        let mut tokens: Vec<u32> = vocab.bos.into_iter().filter(|_| vocab.add_bos).collect();
        for text in [query, document] {
            tokens.extend(tokenizer.encode(text, PLAIN));
            tokens.extend(vocab.eos);
        }
        tokens
    }
}
