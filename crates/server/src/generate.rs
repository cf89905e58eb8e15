//! From a request in any dialect to answers: submits a job for each, and handles its events.

use crate::api::Context;
use crate::error::{ApiError, Outcome};
use crate::grammar::Grammar;
use crate::host::Host;
use crate::output::{Part, Splitter};
use crate::prompt::{Prompt, Reading};
use crate::tools::{Choice, Tools};
use axum::http::StatusCode;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use wootz_llm::engine::{Adjust, Chosen, Done, Event, Job, Listener};
use wootz_llm::sampling::Sampling;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Generation {
    pub prompt: Vec<u32>,
    pub limit: Option<usize>,
    pub sampling: Sampling,
    pub adjust: Adjust,
    pub seed: Option<u64>,
    pub stops: Vec<String>,
    pub logprobs: Option<usize>,
    pub grammar: Option<Grammar>,
    pub client: u64,
    /// Answers to the one prompt.
    pub count: usize,
    /// How the answer is taken apart; `None` to hand its text on as it is.
    pub reading: Option<Reading>,
    pub ignore_end: bool,
    /// Whether tool calls are passed on while they are written.
    pub live_calls: bool,
}

/// Answers that one request may ask for.
pub const MOST_ANSWERS: usize = 16;

impl Generation {
    /// A prompt with everything at its default: what the model's makers recommend, or the whole distribution.
    pub fn new(context: &Context, prompt: Vec<u32>) -> Generation {
        let recommended = context.host.model().sampling();
        let whole = Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Sampling::default() };
        let sampling = if recommended.temperature == 0.0 { whole } else { recommended };
        Generation {
            prompt,
            limit: None,
            sampling,
            adjust: Adjust::default(),
            seed: None,
            stops: Vec::new(),
            logprobs: None,
            grammar: None,
            client: context.client,
            count: 1,
            reading: None,
            ignore_end: false,
            live_calls: false,
        }
    }

    /// The next turn of a conversation.
    pub fn chat(context: &Context, prompt: Prompt) -> Generation {
        Generation { reading: Some(prompt.reading), ..Generation::new(context, prompt.tokens) }
    }

    /// Forces a tool call where the request asks for one.
    pub fn force(&mut self, host: &Host, tools: &Tools, choice: &Choice) -> Outcome<()> {
        if let Some(reading) = &self.reading
            && let Some(grammar) =
                tools.grammar(choice, reading.style.format, host.model().tokenizer().vocab())?
        {
            self.grammar = Some(grammar);
        }
        Ok(())
    }

    /// Hands the jobs to the engine.
    pub async fn submit(self, host: &Arc<Host>, id: &str) -> Outcome<Vec<Answer>> {
        if !(1..=MOST_ANSWERS).contains(&self.count) {
            return Err(ApiError::field(
                "n",
                format!("n is {}, but must be from 1 to {MOST_ANSWERS}", self.count),
            ));
        }
        let constraints = match self.grammar.clone() {
            None => (0..self.count).map(|_| None).collect(),
            Some(grammar) => {
                let (host, count) = (host.clone(), self.count);
                let opening = self.reading.as_ref().and_then(|reading| reading.opening(&grammar));
                // Large schemas take a while.
                let made = tokio::task::spawn_blocking(move || {
                    let one = |_| host.grammars()?.constraint(&grammar, opening).map(Some);
                    (0..count).map(one).collect::<Outcome<Vec<_>>>()
                });
                made.await.map_err(|_| ApiError::bad("this grammar cannot be compiled"))??
            }
        };
        let seed = self.seed.unwrap_or_else(|| host.app.unique());
        let shown =
            self.reading.as_ref().map(|reading| host.control_tokens(&reading.style)).unwrap_or_default();
        let mut answers = Vec::with_capacity(self.count);
        for (index, constraint) in constraints.into_iter().enumerate() {
            let (sender, events) = mpsc::unbounded_channel();
            let job = Job {
                limit: self.limit.unwrap_or(usize::MAX).min(host.app.options.token_limit),
                sampling: self.sampling,
                adjust: self.adjust.clone(),
                seed: seed.wrapping_add(index as u64),
                stops: self.stops.clone(),
                logprobs: self.logprobs,
                constraint,
                client: self.client,
                deadline: Some(Instant::now() + host.app.options.timeout),
                ignore_end: self.ignore_end,
                shown: shown.clone(),
                ..Job::new(self.prompt.clone(), 0)
            };
            host.engine.submit(job, Box::new(Ear(sender)))?;
            let splitter = self.reading.clone().map(|r| {
                let splitter = Splitter::new(r.style, r.tools, r.reasons);
                if self.live_calls { splitter.live() } else { splitter }
            });
            answers.push(Answer {
                host: host.clone(),
                id: id.to_owned(),
                events,
                splitter,
                ended: false,
                reasoning_tokens: 0,
                done: None,
            });
        }
        Ok(answers)
    }
}

struct Ear(mpsc::UnboundedSender<Event>);

impl Listener for Ear {
    fn hear(&mut self, event: Event) {
        // Whoever has gone needs no answer.
        let _ = self.0.send(event);
    }
    fn is_listening(&self) -> bool {
        !self.0.is_closed()
    }
}

/// An answer on its way. Dropping it cancels the job.
pub struct Answer {
    /// Kept while the answer is on its way.
    host: Arc<Host>,
    events: mpsc::UnboundedReceiver<Event>,
    splitter: Option<Splitter>,
    id: String,
    /// Whether the engine has said its last word.
    ended: bool,
    reasoning_tokens: usize,
    done: Option<End>,
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.ended {
            tracing::info!(id = self.id, "the client disconnected");
        }
    }
}

/// How an answer ended.
#[derive(Clone, Debug)]
pub struct End {
    pub done: Done,
    /// Generated tokens that were reasoning.
    pub reasoning_tokens: usize,
}

impl Deref for End {
    type Target = Done;
    fn deref(&self) -> &Done {
        &self.done
    }
}

/// A step of an answer.
#[derive(Clone, Debug)]
pub enum Step {
    /// Parts that are decided now, and the token behind them.
    Parts(Vec<Part>, Chosen),
    /// The end.
    Done(End),
}

impl Answer {
    /// What comes next; `None` after the end.
    pub async fn next(&mut self) -> Outcome<Option<Step>> {
        if let Some(done) = self.done.take() {
            self.events.close();
            return Ok(Some(Step::Done(done)));
        }
        match self.events.recv().await {
            None => Ok(None),
            Some(Event::Token(chosen)) => {
                let parts = match &mut self.splitter {
                    Some(splitter) => {
                        let parts = splitter.push(&chosen.text);
                        self.reasoning_tokens += usize::from(splitter.is_reasoning());
                        parts
                    }
                    None if chosen.text.is_empty() => Vec::new(),
                    None => vec![Part::Text(chosen.text.clone())],
                };
                Ok(Some(Step::Parts(parts, chosen)))
            }
            Some(Event::Done(done)) => {
                self.ended = true;
                self.host.app.metrics.answered(&self.host.name, &done);
                self.log(&done);
                let done = End { done, reasoning_tokens: self.reasoning_tokens };
                let rest = self.splitter.as_mut().map(Splitter::finish).unwrap_or_default();
                if rest.is_empty() {
                    self.events.close();
                    return Ok(Some(Step::Done(done)));
                }
                self.done = Some(done);
                Ok(Some(Step::Parts(rest, Chosen::default())))
            }
            Some(Event::Failed(why)) => {
                self.ended = true;
                tracing::warn!(id = self.id, "{why}");
                Err(why.into())
            }
        }
    }

    /// The line of a request that was answered.
    fn log(&self, done: &Done) {
        let rest = done.total_time.saturating_sub(done.first_token_time).as_secs_f64();
        let rate = if rest > 0.0 { done.tokens.saturating_sub(1) as f64 / rest } else { 0.0 };
        tracing::info!(
            id = self.id,
            prompt = done.prompt_tokens,
            cached = done.cached_tokens,
            tokens = done.tokens,
            queued_ms = done.queue_time.as_millis() as u64,
            first_ms = done.first_token_time.as_millis() as u64,
            rate = format!("{rate:.1}/s"),
            "answered ({})",
            done.finish.name(),
        );
    }

    /// The whole answer.
    pub async fn collect(mut self) -> Outcome<Whole> {
        let mut whole = Whole::default();
        while let Some(step) = self.next().await? {
            match step {
                Step::Parts(parts, chosen) => {
                    for part in parts {
                        match part {
                            Part::Text(text) => whole.text.push_str(&text),
                            Part::Reasoning(text) => whole.reasoning.push_str(&text),
                            Part::Call(call) => whole.calls.push(call),
                            Part::Arguments(text) => {
                                if let Some(call) = whole.calls.last_mut() {
                                    call.arguments.push_str(&text);
                                }
                            }
                        }
                    }
                    if chosen.token.is_some() {
                        whole.tokens.push(chosen);
                    }
                }
                Step::Done(done) => whole.done = Some(done),
            }
        }
        match whole.done {
            Some(_) => Ok(whole),
            None => Err(ApiError::status(StatusCode::INTERNAL_SERVER_ERROR, "the answer was not completed")),
        }
    }
}

/// A complete answer.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<crate::tools::Call>,
    pub tokens: Vec<Chosen>,
    pub done: Option<End>,
}

/// Tokens of a request's answers together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub prompt: usize,
    pub cached: usize,
    pub completion: usize,
    pub reasoning: usize,
}

impl Usage {
    /// Usage of answers, in order, with `count` to each prompt. A prompt counts once.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a End>, count: usize) -> Usage {
        let mut usage = Usage::default();
        for (index, done) in answers.into_iter().enumerate() {
            usage.completion += done.tokens;
            usage.reasoning += done.reasoning_tokens;
            if index.is_multiple_of(count.max(1)) {
                usage.prompt += done.prompt_tokens;
                usage.cached += done.cached_tokens;
            }
        }
        usage
    }

    /// In OpenAI's form.
    pub fn openai(&self) -> serde_json::Value {
        serde_json::json!({
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning},
        })
    }
}
