//! OpenAI's `/v1/chat/completions`.

use super::settings::Settings;
use super::{Context, Visit, finish_reason, merge, token_text};
use crate::app::now;
use crate::error::{ApiError, Dialect, Outcome, json_response};
use crate::generate::{Answer, Generation, Step, Usage, Whole};
use crate::host::Host;
use crate::output::Part;
use crate::prompt;
use crate::stream::{Framing, Writer, read_json, respond};
use crate::tools::{Call, Choice, Tools};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use wootz_llm::engine::Chosen;

#[derive(Deserialize)]
struct ChatRequest {
    messages: Vec<Value>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    logprobs: Option<bool>,
    top_logprobs: Option<i64>,
    reasoning_effort: Option<Value>,
    chat_template_kwargs: Option<Value>,
    #[serde(flatten)]
    settings: Settings,
}

/// Likeliest tokens that are listed at most.
const MOST_LOGPROBS: i64 = 20;

pub async fn chat(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: ChatRequest = read_json(&visit.app, request).await?;
    let settings = request.settings.clone();
    let context = visit.text(settings.model.as_deref()).await?;
    let mut generation = generation(&context, request)?;
    generation.live_calls = settings.streams();
    let with_logprobs = generation.logprobs.is_some();
    let answers = generation.submit(&context.host, &context.id).await?;
    if !settings.streams() {
        return whole(&context, answers, with_logprobs).await;
    }
    let usage = settings.wants_usage();
    Ok(respond(Framing::Sse, move |writer| async move {
        if let Err(problem) = stream(&context, &writer, answers, (usage, with_logprobs)).await {
            writer.send(&problem.body(Dialect::OpenAi)).await;
        }
        writer.end().await;
    }))
}

fn generation(context: &Context, request: ChatRequest) -> Outcome<Generation> {
    let tools = Tools::new(request.tools.unwrap_or_default())?;
    let choice = choice(request.tool_choice.as_ref(), &tools)?;
    let effort = prompt::thinking(request.reasoning_effort.as_ref());
    let extra = request.chat_template_kwargs.unwrap_or(effort);
    let prompt = prompt::chat(&context.host, request.messages, &tools, &choice, extra)?;
    let mut generation = Generation::chat(context, prompt);
    request.settings.apply(&mut generation)?;
    generation.force(&context.host, &tools, &choice)?;
    let top = request.top_logprobs.unwrap_or(0);
    if !(0..=MOST_LOGPROBS).contains(&top) {
        return Err(ApiError::field(
            "top_logprobs",
            format!("top_logprobs must be from 0 to {MOST_LOGPROBS}"),
        ));
    }
    generation.logprobs = request.logprobs.unwrap_or(false).then_some(top as usize);
    Ok(generation)
}

/// `"none"`, `"auto"`, `"required"`, or the name of a function.
pub fn choice(choice: Option<&Value>, tools: &Tools) -> Outcome<Choice> {
    let wrong = || ApiError::field("tool_choice", "tool_choice must be none, auto, required or a function");
    match choice {
        None | Some(Value::Null) => Ok(if tools.0.is_empty() { Choice::None } else { Choice::Auto }),
        Some(Value::String(word)) => match word.as_str() {
            "none" => Ok(Choice::None),
            "auto" => Ok(Choice::Auto),
            "required" | "any" => Ok(Choice::Required),
            _ => Err(wrong()),
        },
        Some(named) => {
            let name = named.pointer("/function/name").or_else(|| named.get("name")).and_then(Value::as_str);
            Ok(Choice::Named(name.ok_or_else(wrong)?.to_owned()))
        }
    }
}

async fn whole(context: &Context, answers: Vec<Answer>, with_logprobs: bool) -> Outcome<Response> {
    let mut all = Vec::with_capacity(answers.len());
    for answer in answers {
        all.push(answer.collect().await?);
    }
    let choices: Vec<Value> =
        all.iter().enumerate().map(|(i, whole)| choice_of(&context.host, i, whole, with_logprobs)).collect();
    let body = json!({
        "id": format!("chatcmpl-{}", context.id),
        "object": "chat.completion",
        "created": now(),
        "model": context.host.name,
        "choices": choices,
        "usage": Usage::of(all.iter().filter_map(|whole| whole.done.as_ref()), all.len()).openai(),
    });
    Ok(json_response(StatusCode::OK, &body))
}

fn choice_of(host: &Host, index: usize, whole: &Whole, with_logprobs: bool) -> Value {
    let mut message = json!({"role": "assistant", "content": whole.text});
    if !whole.reasoning.is_empty() {
        message["reasoning_content"] = whole.reasoning.as_str().into();
    }
    if !whole.calls.is_empty() {
        let calls = whole.calls.iter().enumerate().map(|(i, call)| call_of(host, i, call));
        message["tool_calls"] = calls.collect();
        if whole.text.trim().is_empty() {
            message["content"] = Value::Null;
        }
    }
    let finish = whole.done.as_ref().map(|done| finish_reason(done.finish, whole.calls.len()));
    let logprobs = with_logprobs.then(|| json!({"content": logprobs(host, &whole.tokens)}));
    json!({"index": index, "message": message, "logprobs": logprobs, "finish_reason": finish})
}

fn call_of(host: &Host, index: usize, call: &Call) -> Value {
    json!({
        "index": index,
        "id": format!("call_{:016x}", host.app.unique()),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    })
}

fn logprobs(host: &Host, tokens: &[Chosen]) -> Value {
    let entry = |id: u32, logprob: f32| {
        let (text, bytes) = token_text(host, id);
        json!({"token": text, "logprob": logprob, "bytes": bytes})
    };
    let list = tokens.iter().filter_map(|chosen| {
        let mut value = entry(chosen.token?, chosen.logprob.unwrap_or(f32::MIN));
        value["top_logprobs"] = chosen.top.iter().map(|(id, l)| entry(*id, *l)).collect();
        Some(value)
    });
    list.collect()
}

async fn stream(
    context: &Context,
    writer: &Writer,
    answers: Vec<Answer>,
    (with_usage, with_logprobs): (bool, bool),
) -> Outcome<()> {
    let (count, host, created) = (answers.len(), &context.host, now());
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{}", context.id),
            "object": "chat.completion.chunk",
            "created": created,
            "model": host.name,
            "choices": choices,
        });
        if with_usage {
            chunk["usage"] = usage;
        }
        chunk
    };
    let one = |index: usize, delta: Value, logprobs: Value, finish: Value| {
        let choice = json!({"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish});
        chunk(json!([choice]), Value::Null)
    };
    for index in 0..count {
        writer.send(&one(index, json!({"role": "assistant", "content": ""}), Value::Null, Value::Null)).await;
    }
    let mut calls = vec![0; count];
    let mut ended = vec![None; count];
    let mut steps = merge(answers);
    while let Some((index, step)) = steps.recv().await {
        match step? {
            Step::Parts(parts, chosen) => {
                let mut logprobs = match (with_logprobs, chosen.token) {
                    (true, Some(_)) => json!({"content": logprobs(host, &[chosen])}),
                    _ => Value::Null,
                };
                // A token's probability is told even where its text is still held back.
                let silent = parts.is_empty() && !logprobs.is_null();
                for delta in parts.iter().flat_map(|part| deltas(host, part, &mut calls[index])) {
                    writer.send(&one(index, delta, logprobs.take(), Value::Null)).await;
                }
                if silent {
                    writer.send(&one(index, json!({"content": ""}), logprobs, Value::Null)).await;
                }
            }
            Step::Done(done) => {
                let reason = finish_reason(done.finish, calls[index]);
                ended[index] = Some(done);
                writer.send(&one(index, json!({}), Value::Null, reason.into())).await;
            }
        }
    }
    if with_usage {
        let usage = Usage::of(ended.iter().flatten(), count);
        writer.send(&chunk(json!([]), usage.openai())).await;
    }
    Ok(())
}

fn more(index: usize, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
}

/// A part as deltas: a call is begun with its name, and its arguments follow.
fn deltas(host: &Host, part: &Part, calls: &mut usize) -> Vec<Value> {
    match part {
        Part::Text(text) => vec![json!({"content": text})],
        Part::Reasoning(text) => vec![json!({"reasoning_content": text})],
        Part::Arguments(arguments) => vec![more(calls.saturating_sub(1), arguments)],
        Part::Call(call) => {
            let index = *calls;
            *calls += 1;
            let begun = call_of(host, index, &Call { arguments: String::new(), ..call.clone() });
            let mut all = vec![json!({"tool_calls": [begun]})];
            all.extend((!call.arguments.is_empty()).then(|| more(index, &call.arguments)));
            all
        }
    }
}
