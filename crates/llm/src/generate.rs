//! Generation: samples tokens one after another, and emits their text as soon as it forms complete characters.

use crate::error::{Error, Result};
use crate::sampling::{Offer, Random, Sampling};
use crate::scores::{Scores, Want};
use crate::session::Session;
use crate::speculate::Speculation;
use crate::stop::StopStrings;
use crate::tokenizer::TextStream;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// A generation request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The sequence to continue.
    pub prompt: Vec<u32>,
    /// Maximum number of tokens to generate.
    pub limit: usize,
    /// Sampling options.
    pub sampling: Sampling,
    /// Random seed.
    pub seed: u64,
    /// Stop strings, which are not part of the answer.
    pub stops: Vec<String>,
}

/// Why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model generated an end token.
    End,
    /// A stop string was generated.
    Stop,
    /// The token limit was reached.
    Limit,
    /// The context is full.
    Context,
    /// Cancelled by the caller.
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

/// The result of generation.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The text.
    pub text: String,
    /// Its tokens, excluding the end token.
    pub tokens: Vec<u32>,
    /// Finish reason.
    pub finish: Finish,
    /// Number of prompt tokens.
    pub prompt_tokens: usize,
    /// How many of them were cached.
    pub reused_tokens: usize,
    /// Prefill time for the others.
    pub prompt_time: Duration,
    /// Number of decode steps after that.
    pub decode_steps: usize,
    /// Decode time.
    pub decode_time: Duration,
}

impl Generated {
    /// Prefill throughput in tokens per second, without cached tokens.
    pub fn prompt_rate(&self) -> f64 {
        rate(self.prompt_tokens - self.reused_tokens, self.prompt_time)
    }

    /// Decode throughput in tokens per second.
    pub fn decode_rate(&self) -> f64 {
        rate(self.decode_steps, self.decode_time)
    }
}

fn rate(count: usize, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// An answer in progress.
struct Answer<'a> {
    request: &'a Request,
    random: Random,
    stream: TextStream,
    stops: StopStrings,
    text: String,
    tokens: Vec<u32>,
    finish: Option<Finish>,
    reused_tokens: usize,
    prompt_time: Duration,
    decode_steps: usize,
}

impl<'a> Answer<'a> {
    fn new(session: &Session, request: &'a Request) -> Result<Answer<'a>> {
        request.sampling.check()?;
        if request.prompt.len() >= session.context() {
            let (prompt, context) = (request.prompt.len(), session.context());
            let problem = format!("a prompt of {prompt} tokens leaves no room in a context of {context}");
            return Err(Error::Model(problem));
        }
        Ok(Answer {
            request,
            random: Random::new(request.seed),
            stream: TextStream::new(),
            stops: StopStrings::new(request.stops.iter().cloned()),
            text: String::new(),
            tokens: Vec::new(),
            finish: None,
            reused_tokens: 0,
            prompt_time: Duration::ZERO,
            decode_steps: 0,
        })
    }

    /// Processes the prompt.
    fn start(session: &mut Session, request: &'a Request, want: Want) -> Result<(Answer<'a>, Scores)> {
        let (answer, scores) = Answer::start_unless(session, request, want, &mut || false)?;
        let scores = scores.ok_or_else(|| Error::Model("a prompt was not fully processed".into()))?;
        Ok((answer, scores))
    }

    /// Processes the prompt, unless it is cancelled between two chunks: then there are no scores.
    fn start_unless(
        session: &mut Session,
        request: &'a Request,
        want: Want,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<(Answer<'a>, Option<Scores>)> {
        let mut answer = Answer::new(session, request)?;
        let started = Instant::now();
        let scores = match session.read_unless(want, &request.prompt, cancelled) {
            Ok((scores, reused)) => {
                answer.reused_tokens = reused;
                scores
            }
            Err(error) => Some(session.move_on(error, want, &request.prompt)?),
        };
        answer.prompt_time = started.elapsed();
        Ok((answer, scores))
    }

    /// The prompt and the answer so far.
    fn sequence(&self) -> Vec<u32> {
        self.request.prompt.iter().chain(&self.tokens).copied().collect()
    }

    /// Samples the next token and shows its text. Returns the token if another one is to follow.
    fn choose(
        &mut self,
        session: &Session,
        offer: Offer,
        show: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Option<u32>> {
        let limit = self.request.limit;
        let finish = 'ended: {
            if self.tokens.len() == limit {
                break 'ended Finish::Limit;
            }
            let tokenizer = session.model().tokenizer();
            let sampling = &self.request.sampling;
            let token = sampling.choose_from(offer, session.tokens(), &mut self.random)?;
            if tokenizer.vocab().is_end(token) {
                break 'ended Finish::End;
            }
            self.tokens.push(token);
            let piece = self.stops.push(&self.stream.push(tokenizer, token, false));
            self.text.push_str(&piece);
            if show(&piece).is_break() {
                break 'ended Finish::Cancelled;
            }
            if self.stops.stopped() {
                break 'ended Finish::Stop;
            }
            if self.tokens.len() == limit {
                break 'ended Finish::Limit;
            }
            if session.tokens().len() == session.context() {
                break 'ended Finish::Context;
            }
            return Ok(Some(token));
        };
        self.finish = Some(finish);
        if finish != Finish::Stop {
            let rest = self.stops.push(&self.stream.finish()) + &self.stops.finish();
            self.text.push_str(&rest);
            let _ = show(&rest);
        }
        Ok(None)
    }

    fn into_generated(self, decode_time: Duration) -> Generated {
        Generated {
            text: self.text,
            tokens: self.tokens,
            finish: self.finish.unwrap_or(Finish::Cancelled),
            prompt_tokens: self.request.prompt.len(),
            reused_tokens: self.reused_tokens,
            prompt_time: self.prompt_time,
            decode_steps: self.decode_steps,
            decode_time,
        }
    }
}

/// The scores that a single sequence samples from.
fn last(scores: &Scores) -> Result<Offer> {
    scores.read()?.pop().ok_or_else(|| Error::Model("a pass returned no logits".into()))
}

impl Session {
    /// Continues a prompt. `show` receives the text as it is generated, and breaks to cancel; what was processed
    /// stays in the session. During prefill of a long prompt, `show` is called with an empty text between chunks, so
    /// that it can be cancelled too. If the model was placed automatically and its device fails, the answer continues
    /// on the next one.
    pub fn generate(
        &mut self,
        request: &Request,
        mut show: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated> {
        self.generate_with(request, None, &mut show)
    }

    /// The same with speculative decoding, for greedy sampling.
    pub fn generate_with(
        &mut self,
        request: &Request,
        speculation: Option<&mut Speculation>,
        mut show: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated> {
        let want = Want::of(&request.sampling, self.model().device());
        let (mut answer, scores) = Answer::start_unless(self, request, want, &mut || show("").is_break())?;
        let started = Instant::now();
        let Some(mut scores) = scores else { return Ok(answer.into_generated(started.elapsed())) };
        if let Some(speculation) = speculation.filter(|_| Speculation::suits(&request.sampling)) {
            let mut offer = last(&scores)?;
            loop {
                match self.step_with(&mut answer, speculation, offer, &mut show) {
                    Ok(Some(next)) => offer = next,
                    Ok(None) => return Ok(answer.into_generated(started.elapsed())),
                    Err(error) => offer = last(&self.move_on(error, want, &answer.sequence())?)?,
                }
            }
        }
        loop {
            match self.step(&mut answer, want, &scores, &mut show) {
                Ok(Some(next)) => scores = next,
                Ok(None) => return Ok(answer.into_generated(started.elapsed())),
                Err(error) => scores = self.move_on(error, want, &answer.sequence())?,
            }
        }
    }

    /// Samples a token, and starts the next pass; `None` at the end. On an asynchronous device, the next pass is in
    /// flight before the host looks at the token.
    fn step(
        &mut self,
        answer: &mut Answer<'_>,
        want: Want,
        scores: &Scores,
        show: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Option<Scores>> {
        let is_last = answer.tokens.len() + 1 >= answer.request.limit;
        let ahead = match scores.best() {
            Some(token) if !is_last && self.can_run_ahead() => Some(self.run_ahead(want, token)?),
            _ => None,
        };
        let Some(token) = answer.choose(self, last(scores)?, show)? else { return Ok(None) };
        answer.decode_steps += 1;
        match ahead {
            Some(next) => {
                self.accept(token);
                Ok(Some(next))
            }
            None => self.advance_for(want, &[token]).map(Some),
        }
    }

    /// Samples a token, verifies draft tokens after it, and accepts those that were right; returns the scores for the
    /// next one. `None` at the end.
    fn step_with(
        &mut self,
        answer: &mut Answer<'_>,
        speculation: &mut Speculation,
        offer: Offer,
        show: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Option<Offer>> {
        let Some(token) = answer.choose(self, offer, show)? else { return Ok(None) };
        let started = Instant::now();
        let room = (self.context() - self.tokens().len()).min(answer.request.limit - answer.tokens.len() + 1);
        let guesses = speculation.guess(&answer.sequence(), room)?;
        if guesses.is_empty() {
            let offer = last(&self.advance_for(Want::Best, &[token])?)?;
            speculation.note_single(started.elapsed());
            answer.decode_steps += 1;
            return Ok(Some(offer));
        }
        let read: Vec<u32> = [&[token], &guesses[..]].concat();
        let (mut offers, before) = self.verify(&read)?;
        let right = guesses.iter().zip(&offers).take_while(|(guess, offer)| **guess == offer.best()).count();
        self.keep_verified(&before, 1 + right)?;
        speculation.note_guessed(guesses.len(), right, started.elapsed());
        answer.decode_steps += 1 + right;
        let next = offers.swap_remove(right);
        for offer in offers.drain(..right) {
            if answer.choose(self, offer, show)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(next))
    }

    /// Continues several prompts, each in its own session on one model. They are decoded as a batch, so that weights
    /// are read once for all of them. `show` receives the index of the prompt with its text; breaking cancels only
    /// that answer. Decode times are those of the batch.
    pub fn generate_together(
        sessions: &mut [Session],
        requests: &[Request],
        mut show: impl FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Result<Vec<Generated>> {
        if sessions.len() != requests.len() {
            let problem = format!("got {} requests for {} sessions", requests.len(), sessions.len());
            return Err(Error::Model(problem));
        }
        let wants = sessions.iter().zip(requests).map(|(s, r)| Want::of(&r.sampling, s.model().device()));
        let Some(want) = wants.max() else { return Ok(Vec::new()) };
        let mut answers = Vec::with_capacity(requests.len());
        let mut offers = Vec::with_capacity(requests.len());
        for (session, request) in sessions.iter_mut().zip(requests) {
            let (answer, scores) = Answer::start(session, request, want)?;
            answers.push(answer);
            offers.push(scores.read()?.pop());
        }
        let started = Instant::now();
        let mut times = vec![Duration::ZERO; answers.len()];
        loop {
            let (mut going, mut tokens) = (Vec::new(), Vec::new());
            for (i, answer) in answers.iter_mut().enumerate() {
                let Some(offer) = offers[i].take() else { continue };
                match answer.choose(&sessions[i], offer, &mut |text| show(i, text))? {
                    Some(token) => {
                        going.push(i);
                        tokens.push(token);
                    }
                    None => times[i] = started.elapsed(),
                }
            }
            if going.is_empty() {
                break;
            }
            let picked = sessions.iter_mut().enumerate().filter(|(i, _)| going.contains(i));
            let mut picked: Vec<&mut Session> = picked.map(|(_, session)| session).collect();
            let scores = Session::advance_together_for(want, &mut picked, &tokens)?;
            for (&i, offer) in going.iter().zip(scores.read()?) {
                offers[i] = Some(offer);
                answers[i].decode_steps += 1;
            }
        }
        Ok(answers.into_iter().zip(times).map(|(answer, time)| answer.into_generated(time)).collect())
    }
}
