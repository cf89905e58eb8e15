//! Anthropic's `/v1/messages`.

use super::{Context, Visit, merge};
use crate::error::{ApiError, Dialect, Outcome, json_response};
use crate::generate::{Answer, Generation, Step};
use crate::output::Part;
use crate::prompt;
use crate::stream::{Framing, Writer, read_json, respond};
use crate::tools::{Choice, Tools};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use wootz_llm::Finish;
use wootz_llm::engine::Done;

#[derive(Deserialize)]
struct MessagesRequest {
    model: Option<String>,
    messages: Vec<Value>,
    /// Not needed to count the prompt's tokens.
    #[serde(default)]
    max_tokens: i64,
    system: Option<Value>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    top_k: Option<i64>,
    stop_sequences: Option<Vec<String>>,
    stream: Option<bool>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    thinking: Option<Value>,
}

pub async fn messages(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: MessagesRequest = read_json(&visit.app, request).await?;
    let context = visit.text(request.model.as_deref()).await?;
    let streams = request.stream.unwrap_or(false);
    let mut generation = generation(&context, request)?;
    generation.live_calls = streams;
    let prompt = generation.prompt.len();
    let answers = generation.submit(&context.host, &context.id).await?;
    if !streams {
        return whole(&context, answers).await;
    }
    Ok(respond(Framing::Sse, move |writer| async move {
        if let Err(problem) = stream(&context, &writer, answers, prompt).await {
            writer.event("error", &problem.body(Dialect::Anthropic)).await;
        }
    }))
}

/// `/v1/messages/count_tokens`: the tokens of a prompt, without an answer.
pub async fn count_tokens(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: MessagesRequest = read_json(&visit.app, request).await?;
    let context = visit.text(request.model.as_deref()).await?;
    let count = generation(&context, MessagesRequest { max_tokens: 1, ..request })?.prompt.len();
    Ok(json_response(StatusCode::OK, &json!({"input_tokens": count})))
}

fn generation(context: &Context, request: MessagesRequest) -> Outcome<Generation> {
    let limit = usize::try_from(request.max_tokens).ok().filter(|limit| *limit > 0);
    let limit = limit.ok_or_else(|| ApiError::field("max_tokens", "max_tokens must be at least 1"))?;
    let tools = request.tools.unwrap_or_default().into_iter().map(tool).collect::<Outcome<_>>()?;
    let tools = Tools::new(tools)?;
    let choice = match request.tool_choice.as_ref() {
        None if tools.0.is_empty() => Choice::None,
        None => Choice::Auto,
        Some(choice) => match choice.get("type").and_then(Value::as_str) {
            Some("auto") => Choice::Auto,
            Some("none") => Choice::None,
            Some("any") => Choice::Required,
            Some("tool") => Choice::Named(choice["name"].as_str().unwrap_or_default().to_owned()),
            _ => {
                return Err(ApiError::field(
                    "tool_choice",
                    "tool_choice.type must be auto, any, tool or none",
                ));
            }
        },
    };
    let mut messages = Vec::new();
    if let Some(system) = request.system.filter(|s| !s.is_null()) {
        let text = prompt::text_of(&system).map_err(|what| ApiError::field("system", what))?;
        messages.push(json!({"role": "system", "content": text}));
    }
    for message in request.messages {
        messages.extend(openai_messages(message)?);
    }
    let wished = request.thinking.as_ref().and_then(|thinking| thinking["type"].as_str());
    let wished = wished.map(|kind| Value::from(kind != "disabled"));
    let prompt = prompt::chat(&context.host, messages, &tools, &choice, prompt::thinking(wished.as_ref()))?;
    let mut generation = Generation::chat(context, prompt);
    generation.force(&context.host, &tools, &choice)?;
    generation.limit = Some(limit);
    generation.stops = request.stop_sequences.unwrap_or_default();
    let sampling = &mut generation.sampling;
    sampling.temperature = request.temperature.unwrap_or(sampling.temperature);
    sampling.top_p = request.top_p.unwrap_or(sampling.top_p).max(f32::MIN_POSITIVE);
    if let Some(top_k) = request.top_k {
        sampling.top_k = usize::try_from(top_k).unwrap_or(0);
    }
    Ok(generation)
}

/// A tool in OpenAI's form. Those that Anthropic's servers run themselves are not there.
fn tool(tool: Value) -> Outcome<Value> {
    match tool.get("type").and_then(Value::as_str) {
        None | Some("custom") => Ok(json!({"type": "function", "function": {
            "name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"],
        }})),
        Some(kind) => Err(ApiError::field("tools", format!("tools of type '{kind}' are not supported"))),
    }
}

/// A message in OpenAI's form; results of tools are messages of their own there.
fn openai_messages(message: Value) -> Outcome<Vec<Value>> {
    let Some(blocks) = message.get("content").and_then(Value::as_array).cloned() else {
        return Ok(vec![message]);
    };
    let wrong = |what: String| ApiError::field("messages", what);
    let (mut all, mut text, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        match block.get("type").and_then(Value::as_str) {
            Some("tool_use") => calls.push(json!({
                "id": block["id"], "type": "function",
                "function": {"name": block["name"], "arguments": block["input"]},
            })),
            Some("tool_result") => {
                let content = match block.get("content") {
                    None | Some(Value::Null) => String::new(),
                    Some(content) => prompt::text_of(content).map_err(wrong)?,
                };
                all.push(json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": content}));
            }
            Some("thinking" | "redacted_thinking") => {}
            _ => text.push(block),
        }
    }
    if !text.is_empty() || !calls.is_empty() || all.is_empty() {
        let mut own = json!({"role": message["role"], "content": text});
        if !calls.is_empty() {
            own["tool_calls"] = calls.into();
        }
        all.push(own);
    }
    Ok(all)
}

fn stop_reason(done: &Done, calls: usize) -> &'static str {
    match done.finish {
        _ if calls > 0 => "tool_use",
        Finish::Limit | Finish::Context => "max_tokens",
        Finish::Stop => "stop_sequence",
        Finish::End | Finish::Cancelled => "end_turn",
    }
}

fn usage(done: &Done) -> Value {
    json!({
        "input_tokens": done.prompt_tokens - done.cached_tokens,
        "cache_read_input_tokens": done.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": done.tokens,
    })
}

fn input(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!({}))
}

async fn whole(context: &Context, answers: Vec<Answer>) -> Outcome<Response> {
    let mut content = Vec::new();
    let mut end = None;
    for answer in answers {
        let whole = answer.collect().await?;
        if !whole.reasoning.is_empty() {
            content.push(json!({"type": "thinking", "thinking": whole.reasoning, "signature": ""}));
        }
        if !whole.text.is_empty() || whole.calls.is_empty() {
            content.push(json!({"type": "text", "text": whole.text}));
        }
        content.extend(whole.calls.iter().map(|call| {
            let id = format!("toolu_{:016x}", context.host.app.unique());
            json!({"type": "tool_use", "id": id, "name": call.name, "input": input(&call.arguments)})
        }));
        end = whole.done.map(|done| (done, whole.calls.len()));
    }
    let body = json!({
        "id": format!("msg_{}", context.id),
        "type": "message",
        "role": "assistant",
        "model": context.host.name,
        "content": content,
        "stop_reason": end.as_ref().map(|(done, calls)| stop_reason(done, *calls)),
        "stop_sequence": end.as_ref().and_then(|(done, _)| done.stop.clone()),
        "usage": end.as_ref().map(|(done, _)| usage(done)),
    });
    Ok(json_response(StatusCode::OK, &body))
}

/// Blocks of a stream: text and thinking go on over several parts.
struct Blocks<'a> {
    writer: &'a Writer,
    count: usize,
    open: Option<&'static str>,
}

impl Blocks<'_> {
    async fn close(&mut self) {
        if self.open.take().is_some() {
            let stop = json!({"type": "content_block_stop", "index": self.count});
            self.writer.event("content_block_stop", &stop).await;
            self.count += 1;
        }
    }

    async fn open(&mut self, kind: &'static str, block: Value) {
        if self.open == Some(kind) && kind != "tool_use" {
            return;
        }
        self.close().await;
        self.open = Some(kind);
        let start = json!({"type": "content_block_start", "index": self.count, "content_block": block});
        self.writer.event("content_block_start", &start).await;
    }

    async fn arguments(&self, text: &str) {
        self.delta(json!({"type": "input_json_delta", "partial_json": text})).await;
    }

    async fn delta(&self, delta: Value) {
        let value = json!({"type": "content_block_delta", "index": self.count, "delta": delta});
        self.writer.event("content_block_delta", &value).await;
    }
}

async fn stream(
    context: &Context,
    writer: &Writer,
    answers: Vec<Answer>,
    prompt_tokens: usize,
) -> Outcome<()> {
    let message = json!({
        "id": format!("msg_{}", context.id), "type": "message", "role": "assistant",
        "model": context.host.name, "content": [], "stop_reason": null, "stop_sequence": null,
        // How many of them are cached is known at the end.
        "usage": {"input_tokens": prompt_tokens, "output_tokens": 0},
    });
    writer.event("message_start", &json!({"type": "message_start", "message": message})).await;
    let mut blocks = Blocks { writer, count: 0, open: None };
    let mut calls = 0;
    let mut steps = merge(answers);
    while let Some((_, step)) = steps.recv().await {
        match step? {
            Step::Parts(parts, _) => {
                for part in parts {
                    match part {
                        Part::Text(text) => {
                            blocks.open("text", json!({"type": "text", "text": ""})).await;
                            blocks.delta(json!({"type": "text_delta", "text": text})).await;
                        }
                        Part::Reasoning(text) => {
                            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                            blocks.open("thinking", block).await;
                            blocks.delta(json!({"type": "thinking_delta", "thinking": text})).await;
                        }
                        Part::Call(call) => {
                            calls += 1;
                            let id = format!("toolu_{:016x}", context.host.app.unique());
                            let block = json!({"type": "tool_use", "id": id, "name": call.name, "input": {}});
                            blocks.open("tool_use", block).await;
                            blocks.arguments(&call.arguments).await;
                        }
                        Part::Arguments(text) => blocks.arguments(&text).await,
                    }
                }
            }
            Step::Done(done) => {
                blocks.close().await;
                let delta = json!({"stop_reason": stop_reason(&done, calls), "stop_sequence": done.stop});
                let value = json!({"type": "message_delta", "delta": delta, "usage": usage(&done)});
                writer.event("message_delta", &value).await;
            }
        }
    }
    writer.event("message_stop", &json!({"type": "message_stop"})).await;
    Ok(())
}
