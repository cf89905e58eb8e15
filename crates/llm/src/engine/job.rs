//! Requests to the engine, and its answers.

use crate::generate::Finish;
use crate::sampling::Sampling;
use std::time::{Duration, Instant};

/// A request to continue a prompt.
pub struct Job {
    /// Prompt tokens.
    pub prompt: Vec<u32>,
    /// Maximum number of tokens to generate.
    pub limit: usize,
    /// Sampling options.
    pub sampling: Sampling,
    /// Logit processing before sampling.
    pub adjust: Adjust,
    /// Random seed.
    pub seed: u64,
    /// Stop strings, which are not part of the answer.
    pub stops: Vec<String>,
    /// Whether to report log-probabilities of the chosen tokens, and of how many of the most likely ones at each
    /// position.
    pub logprobs: Option<usize>,
    /// Constraint on the next token.
    pub constraint: Option<Box<dyn Constraint>>,
    /// The client: clients take turns in the queue.
    pub client: u64,
    /// Deadline.
    pub deadline: Option<Instant>,
    /// Whether the text shows special tokens.
    pub show_special: bool,
    /// Special tokens that the text shows in any case, such as those around tool calls.
    pub shown: Vec<u32>,
    /// Whether generation continues after the EOS token, up to the limit; for benchmarks.
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
            shown: Vec::new(),
            ignore_end: false,
        }
    }
}

/// Logit changes, in terms of the OpenAI API.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adjust {
    /// Frequency penalty: subtracted from a token's logit for each time that it was generated.
    pub frequency_penalty: f32,
    /// Presence penalty: subtracted once from tokens that were generated.
    pub presence_penalty: f32,
    /// Logit bias: added to the logits of these tokens.
    pub logit_bias: Vec<(u32, f32)>,
}

impl Adjust {
    /// Whether it has no effect.
    pub fn is_none(&self) -> bool {
        self.frequency_penalty == 0.0 && self.presence_penalty == 0.0 && self.logit_bias.is_empty()
    }

    /// Modifies logits, given the tokens generated so far.
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

/// A constraint on the answer, such as a grammar.
pub trait Constraint: Send {
    /// Sets the logits of disallowed tokens to −∞.
    fn restrict(&mut self, logits: &mut [f32]) -> Result<(), String>;
    /// Advances by the chosen token.
    fn accept(&mut self, token: u32) -> Result<(), String>;
    /// Whether the answer is complete, and nothing may follow.
    fn is_complete(&mut self) -> bool;
}

/// Receives the events of an answer. Called on the engine's thread, so it must not block.
pub trait Listener: Send {
    /// Handles an event; [`Event::Done`] and [`Event::Failed`] are the last.
    fn hear(&mut self, event: Event);
    /// Whether anybody is still interested in the answer. If not, it ends before the next step.
    fn is_listening(&self) -> bool;
}

/// An event of a job.
#[derive(Clone, Debug)]
pub enum Event {
    /// A token was generated.
    Token(Chosen),
    /// The answer is complete.
    Done(Done),
    /// It failed, by no fault of the request.
    Failed(Failure),
}

/// Why a job that was taken is not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Its deadline has passed.
    #[error("the time limit of the request has passed")]
    Late,
    /// The engine is shutting down, or has lost a rank.
    #[error("{0}")]
    Unavailable(String),
    /// Something else went wrong.
    #[error("{0}")]
    Internal(String),
}

/// A generated token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Its id; `None` for text that was held back until the end.
    pub token: Option<u32>,
    /// Text that is now complete: possibly empty, or that of several tokens.
    pub text: String,
    /// Its log-probability, if requested.
    pub logprob: Option<f32>,
    /// The most likely tokens with theirs.
    pub top: Vec<(u32, f32)>,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Finish reason.
    pub finish: Finish,
    /// The stop string, if that is the reason.
    pub stop: Option<String>,
    /// Number of prompt tokens.
    pub prompt_tokens: usize,
    /// How many of them were cached.
    pub cached_tokens: usize,
    /// Number of generated tokens.
    pub tokens: usize,
    /// From submission to the first step.
    pub queue_time: Duration,
    /// From submission to the first token.
    pub first_token_time: Duration,
    /// From submission to the end.
    pub total_time: Duration,
}

/// Why a job was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The queue is full.
    #[error("the queue is full ({waiting} waiting); try again later")]
    QueueFull {
        /// Number of waiting jobs.
        waiting: usize,
    },
    /// The prompt leaves no room for an answer.
    #[error("a prompt of {prompt} tokens leaves no room in a context of {context}")]
    TooLong {
        /// Number of prompt tokens.
        prompt: usize,
        /// Context length.
        context: usize,
    },
    /// The cache memory cannot hold the prompt, even if it is all available.
    #[error("a prompt of {prompt} tokens needs {needed} bytes of cache; the budget is {budget}")]
    TooLarge {
        /// Number of prompt tokens.
        prompt: usize,
        /// Bytes needed.
        needed: usize,
        /// Bytes available.
        budget: usize,
    },
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The engine is shutting down.
    #[error("the server is shutting down")]
    Closing,
    /// A rank of a divided model is lost.
    #[error("{0}")]
    Lost(String),
}
