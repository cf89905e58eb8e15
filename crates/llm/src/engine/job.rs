//! What the engine is asked for, and what it answers.

use crate::generate::Finish;
use crate::sampling::Sampling;
use std::time::{Duration, Instant};

/// A prompt to continue.
pub struct Job {
    /// The tokens to continue.
    pub prompt: Vec<u32>,
    /// Maximum number of tokens to generate.
    pub limit: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// What is done to logits before.
    pub adjust: Adjust,
    /// Random seed.
    pub seed: u64,
    /// Texts that end the answer and are not part of it.
    pub stops: Vec<String>,
    /// Log-probabilities of the chosen tokens, and of so many of the likeliest beside each.
    pub logprobs: Option<usize>,
    /// Which tokens may come next.
    pub constraint: Option<Box<dyn Constraint>>,
    /// Whose it is: clients take turns where there is a queue.
    pub client: u64,
    /// When it is given up.
    pub deadline: Option<Instant>,
    /// Whether the text shows special tokens.
    pub show_special: bool,
    /// Whether the answer goes on after the model's end token, up to its limit; for measurements.
    pub ignore_end: bool,
}

impl Job {
    /// A greedy continuation of up to `limit` tokens.
    pub fn new(prompt: Vec<u32>, limit: usize) -> Job {
        Job {
            prompt,
            limit,
            sampling: Sampling::GREEDY,
            adjust: Adjust::default(),
            seed: 0,
            stops: Vec::new(),
            logprobs: None,
            constraint: None,
            client: 0,
            deadline: None,
            show_special: false,
            ignore_end: false,
        }
    }
}

/// Changes to the logits, in the terms of the OpenAI API.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adjust {
    /// Subtracted from a token's logit for each time that it was generated.
    pub frequency_penalty: f32,
    /// Subtracted once from tokens that were generated.
    pub presence_penalty: f32,
    /// Added to the logits of these tokens.
    pub logit_bias: Vec<(u32, f32)>,
}

impl Adjust {
    /// Whether it changes nothing.
    pub fn is_none(&self) -> bool {
        self.frequency_penalty == 0.0 && self.presence_penalty == 0.0 && self.logit_bias.is_empty()
    }

    /// Changes logits after these generated tokens.
    pub(super) fn apply(&self, logits: &mut [f32], generated: &[u32]) {
        for &(token, bias) in &self.logit_bias {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit += bias;
            }
        }
        if self.frequency_penalty == 0.0 && self.presence_penalty == 0.0 {
            return;
        }
        let mut sorted = generated.to_vec();
        sorted.sort_unstable();
        for same in sorted.chunk_by(|a, b| a == b) {
            if let Some(logit) = logits.get_mut(same[0] as usize) {
                *logit -= self.presence_penalty + self.frequency_penalty * same.len() as f32;
            }
        }
    }
}

/// A grammar that an answer has to follow.
pub trait Constraint: Send {
    /// Sets the logits of tokens that may not come next to −∞.
    fn restrict(&mut self, logits: &mut [f32]) -> Result<(), String>;
    /// Takes the token that was chosen.
    fn accept(&mut self, token: u32) -> Result<(), String>;
    /// Whether the answer is complete and nothing may follow.
    fn is_complete(&mut self) -> bool;
}

/// Who hears of an answer. Called on the engine's thread, so it must not wait for anything.
pub trait Listener: Send {
    /// Takes the next event; [`Event::Done`] and [`Event::Failed`] are the last.
    fn hear(&mut self, event: Event);
    /// Whether anybody still wants the answer. If not, it ends before the next step.
    fn is_listening(&self) -> bool;
}

/// What happens to a job.
#[derive(Clone, Debug)]
pub enum Event {
    /// A token was chosen.
    Token(Chosen),
    /// The answer is complete.
    Done(Done),
    /// It failed, by no fault of the request.
    Failed(String),
}

/// A token of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Its id; none for text that was held back until the end.
    pub token: Option<u32>,
    /// Text that is now complete: it may be empty, or that of several tokens.
    pub text: String,
    /// Its log-probability, where that was asked for.
    pub logprob: Option<f32>,
    /// The likeliest tokens with theirs.
    pub top: Vec<(u32, f32)>,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Why.
    pub finish: Finish,
    /// The stop string that came, if that is why.
    pub stop: Option<String>,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of them were not computed again.
    pub cached_tokens: usize,
    /// Tokens of the answer.
    pub tokens: usize,
    /// From submission to the first step.
    pub queue_time: Duration,
    /// From submission to the first token.
    pub first_token_time: Duration,
    /// From submission to the end.
    pub total_time: Duration,
}

/// Why a job was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// As many wait already as may.
    #[error("the queue is full ({waiting} waiting); try again later")]
    QueueFull {
        /// How many wait.
        waiting: usize,
    },
    /// The prompt leaves no room for an answer.
    #[error("a prompt of {prompt} tokens leaves no room in a context of {context}")]
    TooLong {
        /// Tokens of the prompt.
        prompt: usize,
        /// Tokens that fit.
        context: usize,
    },
    /// The memory for caches cannot hold the prompt, even if it has all of it.
    #[error("a prompt of {prompt} tokens needs {needed} bytes of cache; the budget is {budget}")]
    TooLarge {
        /// Tokens of the prompt.
        prompt: usize,
        /// Bytes that they need.
        needed: usize,
        /// Bytes that there are.
        budget: usize,
    },
    /// The request means nothing.
    #[error("{0}")]
    Invalid(String),
    /// The engine is shutting down.
    #[error("the server is shutting down")]
    Closing,
}
