//! A running job.

use super::job::{Chosen, Done, Event, Failure, Job, Listener};
use super::queue::Waiting;
use super::sequence::Sequence;
use super::stats::Stats;
use crate::error::{Error, Result};
use crate::generate::Finish;
use crate::model::Model;
use crate::sampling::{Offer, Random};
use crate::scores::Want;
use crate::speculate::Speculation;
use crate::stop::StopStrings;
use crate::tokenizer::TextStream;
use std::time::{Duration, Instant};

pub struct Slot {
    pub job: Job,
    listener: Box<dyn Listener>,
    /// The state; none before the first step, and after the memory was needed for others.
    pub session: Option<Sequence>,
    /// Prompt and answer.
    pub tokens: Vec<u32>,
    /// Number of prompt tokens.
    pub prompt: usize,
    /// Number of prompt tokens that were cached at the first start.
    pub cached: Option<usize>,
    /// Where the prompt parts from the others that are known, in whole chunks.
    pub branch: usize,
    /// Jobs are numbered in order of admission; lower numbers have priority when memory is short.
    pub number: u64,
    /// When it last had a prefill step.
    pub served: u64,
    /// Drafts tokens while it is alone.
    pub speculation: Option<Speculation>,
    random: Random,
    stream: TextStream,
    stops: StopStrings,
    arrived: Instant,
    started: Instant,
    first_token: Option<Duration>,
}

/// A generated token, with the requested log-probabilities.
struct Pick {
    token: u32,
    logprob: Option<f32>,
    top: Vec<(u32, f32)>,
}

/// What a slot needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Processing this many tokens of the prompt, or of an answer whose state was dropped.
    Read(usize),
    /// Decoding a token, batched with others.
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
            branch: 0,
            number,
            served: 0,
            speculation: None,
            random: Random::new(job.seed),
            stream: TextStream::new(),
            stops: StopStrings::new(job.stops.iter().cloned()),
            arrived,
            started: Instant::now(),
            first_token: None,
            job,
        }
    }

    /// Number of tokens covered by the state.
    pub fn fed(&self) -> usize {
        self.session.as_ref().map_or(0, |s| s.tokens().len())
    }

    /// The next step: chunks of the prompt end at multiples of `chunk`, whatever else is running. If processing many
    /// tokens at once gives different bits than one at a time, an answer is replayed as it was generated.
    pub fn next(&self, chunk: usize, exact: bool) -> Next {
        let (fed, all) = (self.fed(), self.tokens.len());
        let end = if exact { all } else { self.prompt };
        if fed >= self.prompt && (all - fed == 1 || !exact) {
            return Next::Decode;
        }
        Next::Read((chunk - fed % chunk).min(end - fed))
    }

    /// Whether the answer was cancelled.
    pub fn is_abandoned(&self) -> bool {
        !self.listener.is_listening()
    }

    /// The part of the logits that sampling needs.
    pub fn want(&self, model: &Model) -> Want {
        let all = self.job.logprobs.is_some() || self.job.constraint.is_some() || !self.job.adjust.is_none();
        if all { Want::Last } else { Want::of(&self.job.sampling, model.device()) }
    }

    /// Chooses the next token, and tells it. Returns why the answer is complete, if it is.
    pub fn choose(
        &mut self,
        model: &Model,
        offer: Offer,
        context: usize,
        stats: &Stats,
    ) -> Result<Option<Finish>> {
        let Pick { token, logprob, top } = self.pick(offer, stats)?;
        self.first_token.get_or_insert_with(|| self.arrived.elapsed());
        let tokenizer = model.tokenizer();
        if tokenizer.vocab().is_end(token) && !self.job.ignore_end {
            return Ok(Some(Finish::End));
        }
        let mut complete = false;
        if let Some(constraint) = &mut self.job.constraint {
            let begin = Instant::now();
            constraint.accept(token).map_err(Error::Sampling)?;
            complete = constraint.is_complete();
            stats.constrained(begin.elapsed());
        }
        self.tokens.push(token);
        let shows = self.job.show_special || self.job.shown.contains(&token);
        let text = self.stops.push(&self.stream.push(tokenizer, token, shows));
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

    fn pick(&mut self, offer: Offer, stats: &Stats) -> Result<Pick> {
        let Offer::All(mut logits) = offer else {
            let token = self.job.sampling.choose_from(offer, &self.tokens, &mut self.random)?;
            return Ok(Pick { token, logprob: None, top: Vec::new() });
        };
        let probabilities = self.job.logprobs.map(|count| log_probabilities(&logits, count));
        let shift = probabilities.as_ref().map(|(shift, _)| (*shift, logits.clone()));
        self.job.adjust.apply(&mut logits, &self.tokens[self.prompt..]);
        if let Some(constraint) = &mut self.job.constraint {
            let begin = Instant::now();
            constraint.restrict(&mut logits).map_err(Error::Sampling)?;
            stats.constrained(begin.elapsed());
        }
        let token = self.job.sampling.choose(&mut logits, &self.tokens, &mut self.random)?;
        let logprob = shift.and_then(|(shift, raw)| raw.get(token as usize).map(|l| l - shift));
        Ok(Pick { token, logprob, top: probabilities.map(|p| p.1).unwrap_or_default() })
    }

    /// Reports that the answer is complete.
    pub fn finish(&mut self, finish: Finish, stats: &Stats) {
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
        // Counted first: whoever has the whole answer finds it in the statistics.
        match finish {
            Finish::Cancelled => stats.cancelled(&done),
            _ => stats.done(&done),
        }
        self.listener.hear(Event::Done(done));
    }

    /// Tells that the answer cannot be given.
    pub fn fail(&mut self, why: Failure) {
        self.listener.hear(Event::Failed(why));
    }
}

/// The log-sum-exp of the logits, and the `count` most likely tokens with their log-probabilities.
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
