//! Generation: tokens are chosen one after another, and their text is handed on as soon as it is whole.

use crate::error::{Error, Result};
use crate::sampling::{Random, Sampling};
use crate::session::Session;
use crate::stop::StopStrings;
use crate::tokenizer::TextStream;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What to generate.
#[derive(Clone, Debug)]
pub struct Request {
    /// The sequence to continue.
    pub prompt: Vec<u32>,
    /// The most tokens to add.
    pub limit: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Where the random choice starts.
    pub seed: u64,
    /// Texts that end the answer and are not part of it.
    pub stops: Vec<String>,
}

/// Why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model said so.
    End,
    /// A stop string came.
    Stop,
    /// As many tokens as were asked for.
    Limit,
    /// The context is full.
    Context,
    /// The caller said so.
    Cancelled,
}

impl Finish {
    /// The reason in one word.
    pub fn name(self) -> &'static str {
        match self {
            Finish::End => "end",
            Finish::Stop => "stop",
            Finish::Limit => "limit",
            Finish::Context => "context",
            Finish::Cancelled => "cancelled",
        }
    }
}

/// What was generated.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The text.
    pub text: String,
    /// Its tokens, the end token not among them.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of them were known from before.
    pub reused_tokens: usize,
    /// Time for the others.
    pub prompt_time: Duration,
    /// Passes of one token that ran after them.
    pub decode_steps: usize,
    /// Time for those.
    pub decode_time: Duration,
}

impl Generated {
    /// New prompt tokens per second.
    pub fn prompt_rate(&self) -> f64 {
        rate(self.prompt_tokens - self.reused_tokens, self.prompt_time)
    }

    /// Generated tokens per second.
    pub fn decode_rate(&self) -> f64 {
        rate(self.decode_steps, self.decode_time)
    }
}

fn rate(count: usize, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

impl Session {
    /// Continues a prompt. `show` gets the text as it comes, and breaks to cancel; what was read stays in the session.
    pub fn generate(
        &mut self,
        request: &Request,
        mut show: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated> {
        request.sampling.check()?;
        if request.prompt.len() >= self.context() {
            let (prompt, context) = (request.prompt.len(), self.context());
            let problem = format!("a prompt of {prompt} tokens leaves no room in a context of {context}");
            return Err(Error::Model(problem));
        }
        let model = self.model().clone();
        let mut random = Random::new(request.seed);
        let (mut stream, mut stops) = (TextStream::new(), StopStrings::new(request.stops.iter().cloned()));
        let started = Instant::now();
        let (mut logits, reused_tokens) = self.read(&request.prompt)?;
        let prompt_time = started.elapsed();
        let (mut text, mut tokens, mut decode_steps) = (String::new(), Vec::new(), 0);
        let started = Instant::now();
        let finish = loop {
            if tokens.len() == request.limit {
                break Finish::Limit;
            }
            let token = request.sampling.choose(&mut logits, self.tokens(), &mut random)?;
            if model.tokenizer().vocab().is_end(token) {
                break Finish::End;
            }
            tokens.push(token);
            let piece = stops.push(&stream.push(model.tokenizer(), token, false));
            text.push_str(&piece);
            if show(&piece).is_break() {
                break Finish::Cancelled;
            }
            if stops.stopped() {
                break Finish::Stop;
            }
            if tokens.len() == request.limit {
                break Finish::Limit;
            }
            if self.tokens().len() == self.context() {
                break Finish::Context;
            }
            logits = self.advance(&[token])?;
            decode_steps += 1;
        };
        let decode_time = started.elapsed();
        if finish != Finish::Stop {
            let rest = stops.push(&stream.finish()) + &stops.finish();
            text.push_str(&rest);
            let _ = show(&rest);
        }
        let prompt_tokens = request.prompt.len();
        Ok(Generated {
            text,
            tokens,
            finish,
            prompt_tokens,
            reused_tokens,
            prompt_time,
            decode_steps,
            decode_time,
        })
    }
}
