//! The API dialects, one file each.

pub mod anthropic;
pub mod chat;
pub mod completions;
pub mod embeddings;
pub mod ollama;
pub mod other;
pub mod responses;
mod settings;

use crate::app::App;
use crate::error::Outcome;
use crate::generate::{Answer, Step};
use crate::host::Host;
use crate::models::Models;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use wootz_llm::Finish;

/// What is known of a request before it is read.
#[derive(Clone)]
pub struct Visit {
    pub app: Arc<App>,
    pub models: Arc<Models>,
    /// Whose it is.
    pub client: u64,
    /// Its number.
    pub id: String,
}

impl Visit {
    /// The same with the model that it asks for, which has to generate text.
    pub async fn text(self, model: Option<&str>) -> Outcome<Context> {
        let begin = Instant::now();
        let host = self.models.open(model).await?.text()?;
        Ok(Context { host, client: self.client, id: self.id, load_time: begin.elapsed() })
    }
}

/// What a handler that generates text knows of a request beside its body.
#[derive(Clone)]
pub struct Context {
    pub host: Arc<Host>,
    /// Whose it is.
    pub client: u64,
    /// Its number.
    pub id: String,
    /// How long it waited for the model to be loaded.
    pub load_time: Duration,
}

/// Several answers as they come, each step with the number of its answer.
pub fn merge(answers: Vec<Answer>) -> mpsc::Receiver<(usize, Outcome<Step>)> {
    let (sender, receiver) = mpsc::channel(16);
    for (index, mut answer) in answers.into_iter().enumerate() {
        let sender = sender.clone();
        tokio::spawn(async move {
            loop {
                // Whoever reads may go away while nothing comes.
                let next = tokio::select! {
                    next = answer.next() => next,
                    () = sender.closed() => return,
                };
                let step = match next {
                    Ok(Some(step)) => Ok(step),
                    Ok(None) => return,
                    Err(problem) => Err(problem),
                };
                let failed = step.is_err();
                if sender.send((index, step)).await.is_err() || failed {
                    return;
                }
            }
        });
    }
    receiver
}

/// Why an answer ended, in OpenAI's words.
pub fn finish_reason(finish: Finish, calls: usize) -> &'static str {
    match finish {
        _ if calls > 0 => "tool_calls",
        Finish::Limit | Finish::Context => "length",
        Finish::End | Finish::Stop | Finish::Cancelled => "stop",
    }
}

/// Token text for people, as far as it is text.
pub fn token_text(host: &Host, id: u32) -> (String, Vec<u8>) {
    let bytes = host.model().tokenizer().piece(id, true).into_owned();
    (String::from_utf8_lossy(&bytes).into_owned(), bytes)
}
