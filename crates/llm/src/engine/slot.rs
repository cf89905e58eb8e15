//! A job that is being answered.

use super::job::{Chosen, Done, Event, Job, Listener};
use super::queue::Waiting;
use crate::error::{Error, Result};
use crate::generate::Finish;
use crate::model::Model;
use crate::sampling::{Offer, Random};
use crate::scores::Want;
use crate::session::Session;
use crate::stop::StopStrings;
use crate::tokenizer::TextStream;
use std::time::{Duration, Instant};

pub struct Slot {
    pub job: Job,
    listener: Box<dyn Listener>,
    /// The state; none before the first step, and after the memory was needed for others.
    pub session: Option<Session>,
    /// Prompt and answer.
    pub tokens: Vec<u32>,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens whose state was found, of the prompt, at the first start.
    pub cached: Option<usize>,
    /// Jobs are numbered as they are admitted; those with lower numbers come first where memory is short.
    pub number: u64,
    /// When it last had a step of its own.
    pub served: u64,
    random: Random,
    stream: TextStream,
    stops: StopStrings,
    arrived: Instant,
    started: Instant,
    first_token: Option<Duration>,
}

/// A token that was chosen, with what was asked for beside it.
struct Pick {
    token: u32,
    logprob: Option<f32>,
    top: Vec<(u32, f32)>,
}

/// What a slot needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// So many tokens of the prompt, or of an answer that has to be read again.
    Read(usize),
    /// One token, together with others.
    Decode,
}

impl Slot {
    pub fn new(waiting: Waiting, number: u64) -> Slot {
        let Waiting { job, listener, arrived } = waiting;
        Slot {
            listener,
            session: None,
            tokens: job.prompt.clone(),
            prompt: job.prompt.len(),
            cached: None,
            number,
            served: 0,
            random: Random::new(job.seed),
            stream: TextStream::new(),
            stops: StopStrings::new(job.stops.iter().cloned()),
            arrived,
            started: Instant::now(),
            first_token: None,
            job,
        }
    }

    /// Tokens whose state there is.
    pub fn fed(&self) -> usize {
        self.session.as_ref().map_or(0, |s| s.tokens().len())
    }

    /// What comes next: chunks of the prompt end at multiples of `chunk`, whoever else is there. Where reading many
    /// tokens together gives other bits than one after another, an answer is read again as it was generated.
    pub fn next(&self, chunk: usize, exact: bool) -> Next {
        let (fed, all) = (self.fed(), self.tokens.len());
        let end = if exact { all } else { self.prompt };
        if fed >= self.prompt && (all - fed == 1 || !exact) {
            return Next::Decode;
        }
        Next::Read((chunk - fed % chunk).min(end - fed))
    }

    /// Whether nobody wants the answer any more.
    pub fn is_abandoned(&self) -> bool {
        !self.listener.is_listening()
    }

    /// The least of the logits that the choice of a token needs.
    pub fn want(&self, model: &Model) -> Want {
        let all = self.job.logprobs.is_some() || self.job.constraint.is_some() || !self.job.adjust.is_none();
        if all { Want::Last } else { Want::of(&self.job.sampling, model.device()) }
    }

    /// Chooses the next token, and tells it. Returns why the answer is complete, if it is.
    pub fn choose(&mut self, model: &Model, offer: Offer, context: usize) -> Result<Option<Finish>> {
        let Pick { token, logprob, top } = self.pick(offer)?;
        self.first_token.get_or_insert_with(|| self.arrived.elapsed());
        let tokenizer = model.tokenizer();
        if tokenizer.vocab().is_end(token) && !self.job.ignore_end {
            return Ok(Some(Finish::End));
        }
        let mut complete = false;
        if let Some(constraint) = &mut self.job.constraint {
            constraint.accept(token).map_err(Error::Sampling)?;
            complete = constraint.is_complete();
        }
        self.tokens.push(token);
        let text = self.stops.push(&self.stream.push(tokenizer, token, self.job.show_special));
        self.listener.hear(Event::Token(Chosen { token: Some(token), text, logprob, top }));
        Ok(if self.stops.stopped() {
            Some(Finish::Stop)
        } else if complete {
            Some(Finish::End)
        } else if self.tokens.len() - self.prompt >= self.job.limit {
            Some(Finish::Limit)
        } else if self.tokens.len() >= context {
            Some(Finish::Context)
        } else {
            None
        })
    }

    fn pick(&mut self, offer: Offer) -> Result<Pick> {
        let Offer::All(mut logits) = offer else {
            let token = self.job.sampling.choose_from(offer, &self.tokens, &mut self.random)?;
            return Ok(Pick { token, logprob: None, top: Vec::new() });
        };
        let probabilities = self.job.logprobs.map(|count| log_probabilities(&logits, count));
        let shift = probabilities.as_ref().map(|(shift, _)| (*shift, logits.clone()));
        self.job.adjust.apply(&mut logits, &self.tokens[self.prompt..]);
        if let Some(constraint) = &mut self.job.constraint {
            constraint.restrict(&mut logits).map_err(Error::Sampling)?;
        }
        let token = self.job.sampling.choose(&mut logits, &self.tokens, &mut self.random)?;
        let logprob = shift.and_then(|(shift, raw)| raw.get(token as usize).map(|l| l - shift));
        Ok(Pick { token, logprob, top: probabilities.map(|p| p.1).unwrap_or_default() })
    }

    /// Tells that the answer is complete.
    pub fn finish(&mut self, finish: Finish) -> Done {
        if finish != Finish::Stop {
            let text = self.stops.push(&self.stream.finish()) + &self.stops.finish();
            if !text.is_empty() {
                self.listener.hear(Event::Token(Chosen { text, ..Chosen::default() }));
            }
        }
        let total_time = self.arrived.elapsed();
        let done = Done {
            finish,
            stop: self.stops.which().map(str::to_owned),
            prompt_tokens: self.prompt,
            cached_tokens: self.cached.unwrap_or(0),
            tokens: self.tokens.len() - self.prompt,
            queue_time: self.started - self.arrived,
            first_token_time: self.first_token.unwrap_or(total_time),
            total_time,
        };
        self.listener.hear(Event::Done(done.clone()));
        done
    }

    /// Tells that the answer cannot be given.
    pub fn fail(&mut self, why: &str) {
        self.listener.hear(Event::Failed(why.to_owned()));
    }
}

/// The logarithm of the sum of all exponentials, and the `count` likeliest tokens with their log-probabilities.
fn log_probabilities(logits: &[f32], count: usize) -> (f32, Vec<(u32, f32)>) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|l| f64::from(l - largest).exp()).sum();
    let shift = largest + sum.ln() as f32;
    let mut order: Vec<(u32, f32)> = logits.iter().enumerate().map(|(i, l)| (i as u32, l - shift)).collect();
    let likelier = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    let count = count.min(order.len());
    if count < order.len() {
        order.select_nth_unstable_by(count, likelier);
    }
    order.truncate(count);
    order.sort_unstable_by(likelier);
    (shift, order)
}
