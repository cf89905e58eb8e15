//! `wootz chat --url`: a conversation with a model on a server.

use crate::http::{self, Url};
use crate::models::Failure;
use crate::output::{DIM, HEAD, paint};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use wootz_llm::sampling::Sampling;

/// A server and the conversation so far.
pub struct Remote {
    url: Url,
    key: Option<String>,
    model: String,
    system: Option<String>,
    messages: Vec<Value>,
}

impl Remote {
    /// Connects to a server and asks for its model.
    pub fn connect(url: &str, key: Option<&str>, system: Option<&str>) -> Result<Remote, Failure> {
        let url = Url::parse(url).map_err(|problem| format!("{url}: {problem}"))?;
        let answer = http::request(&url, "/v1/models", key, None)?;
        let (status, text) = (answer.status, answer.text()?);
        let list: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let Some(model) = list.pointer("/data/0/id").and_then(Value::as_str).map(str::to_owned) else {
            return Err(format!("the server answered with status {status}: {text}").into());
        };
        let mut remote = Remote {
            url,
            key: key.map(str::to_owned),
            model,
            system: system.map(str::to_owned),
            messages: vec![],
        };
        remote.clear();
        Ok(remote)
    }

    /// The model's display name.
    pub fn title(&self) -> String {
        paint(HEAD, &self.model).to_string()
    }

    /// Clears the conversation.
    pub fn clear(&mut self) {
        let system = self.system.iter().map(|text| json!({"role": "system", "content": text}));
        self.messages = system.collect();
    }

    /// Sends a message and streams the answer, until `stop` is set.
    pub fn answer(
        &mut self,
        text: &str,
        sampling: &Sampling,
        (limit, seed): (usize, u64),
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        self.messages.push(json!({"role": "user", "content": text}));
        let body = json!({
            "model": self.model, "messages": self.messages, "stream": true, "max_tokens": limit,
            "temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p,
            "min_p": sampling.min_p, "repeat_penalty": sampling.repeat_penalty, "seed": seed >> 1,
            "stream_options": {"include_usage": true},
        });
        let mut answer = http::request(&self.url, "/v1/chat/completions", self.key.as_deref(), Some(&body))?;
        if answer.status != 200 {
            self.messages.pop();
            let status = answer.status;
            return Err(format!("status {status}: {}", answer.text()?).into());
        }
        let mut out = std::io::stdout();
        let (mut whole, mut tokens) = (String::new(), None);
        while let Some(event) = answer.event()? {
            if let Some(problem) = event.pointer("/error/message").and_then(Value::as_str) {
                return Err(problem.to_owned().into());
            }
            tokens = event.pointer("/usage/completion_tokens").and_then(Value::as_u64).or(tokens);
            let piece = event.pointer("/choices/0/delta/content").and_then(Value::as_str).unwrap_or_default();
            write!(out, "{piece}")?;
            out.flush()?;
            whole.push_str(piece);
            // Closing the connection ends the answer on the server too.
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        writeln!(out)?;
        if let Some(tokens) = tokens {
            anstream::eprintln!("{}", paint(DIM, format!("{tokens} tokens")));
        }
        self.messages.push(json!({"role": "assistant", "content": whole}));
        Ok(())
    }
}
