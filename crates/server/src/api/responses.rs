//! OpenAI's `/v1/responses`, as far as clients need it: stateless, with text and function calls.

mod stream;

use self::stream::Events;
use super::settings::Settings;
use super::{Context, Visit, chat};
use crate::app::now;
use crate::error::{ApiError, Outcome, json_response};
use crate::generate::{End, Generation};
use crate::prompt;
use crate::stream::{Framing, read_json, respond};
use crate::tools::{Call, Tools};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use wootz_llm::Finish;

#[derive(Deserialize)]
struct ResponsesRequest {
    input: Value,
    instructions: Option<String>,
    previous_response_id: Option<String>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    reasoning: Option<Value>,
    text: Option<Value>,
    #[serde(flatten)]
    settings: Settings,
}

pub async fn responses(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: ResponsesRequest = read_json(&visit.app, request).await?;
    let context = visit.text(request.settings.model.as_deref()).await?;
    if request.previous_response_id.is_some() {
        let message = "responses are not stored; send the entire conversation as input";
        return Err(ApiError::field("previous_response_id", message));
    }
    let streams = request.settings.streams();
    let mut generation = generation(&context, request)?;
    generation.live_calls = streams;
    let mut answers = generation.submit(&context.host, &context.id).await?;
    let answer = answers.pop().ok_or_else(|| ApiError::bad("the input is empty"))?;
    if streams {
        return Ok(respond(Framing::Sse, move |writer| async move {
            let mut events = Events::new(&context, &writer);
            if let Err(problem) = events.answer(answer).await {
                let error = json!({"code": "server_error", "message": problem.message, "param": null});
                events.send("error", error).await;
            }
        }));
    }
    let whole = answer.collect().await?;
    let mut items = Vec::new();
    if !whole.reasoning.is_empty() {
        items.push(reasoning(&context, &whole.reasoning));
    }
    if !whole.text.is_empty() || whole.calls.is_empty() {
        items.push(message(&context, &whole.text, "completed"));
    }
    items.extend(whole.calls.iter().map(|call| function_call(&context, call)));
    Ok(json_response(StatusCode::OK, &body(&context, items, whole.done.as_ref())))
}

fn generation(context: &Context, request: ResponsesRequest) -> Outcome<Generation> {
    // Functions are flat here.
    let flat = |tool: Value| match tool.get("function") {
        Some(_) => tool,
        None => json!({"type": "function", "function": {
            "name": tool["name"], "description": tool["description"], "parameters": tool["parameters"],
        }}),
    };
    let tools = Tools::new(request.tools.unwrap_or_default().into_iter().map(flat).collect())?;
    let choice = chat::choice(request.tool_choice.as_ref(), &tools)?;
    let mut messages = Vec::new();
    if let Some(text) = request.instructions {
        messages.push(json!({"role": "system", "content": text}));
    }
    match request.input {
        Value::String(text) => messages.push(json!({"role": "user", "content": text})),
        Value::Array(items) => messages.extend(items.into_iter().filter_map(item)),
        _ => return Err(ApiError::field("input", "input must be text or a list of items")),
    }
    let effort = request.reasoning.as_ref().and_then(|reasoning| reasoning.get("effort"));
    let prompt = prompt::chat(&context.host, messages, &tools, &choice, prompt::thinking(effort))?;
    let mut settings = request.settings;
    settings.n = None;
    if let Some(format) = request.text.as_ref().and_then(|text| text.get("format")) {
        settings.response_format = Some(format.clone());
    }
    let mut generation = Generation::chat(context, prompt);
    settings.apply(&mut generation)?;
    generation.force(&context.host, &tools, &choice)?;
    Ok(generation)
}

/// An item of the input as a message.
fn item(item: Value) -> Option<Value> {
    match item.get("type").and_then(Value::as_str) {
        Some("reasoning") => None,
        Some("function_call") => Some(json!({"role": "assistant", "content": "", "tool_calls": [{
            "id": item["call_id"], "type": "function",
            "function": {"name": item["name"], "arguments": item["arguments"]},
        }]})),
        Some("function_call_output") => {
            Some(json!({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}))
        }
        _ => Some(json!({"role": item["role"], "content": item["content"]})),
    }
}

fn message(context: &Context, text: &str, status: &str) -> Value {
    json!({
        "id": format!("msg_{}", context.id), "type": "message", "role": "assistant", "status": status,
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
    })
}

fn reasoning(context: &Context, text: &str) -> Value {
    let summary = json!([{"type": "summary_text", "text": text}]);
    json!({"id": format!("rs_{}", context.id), "type": "reasoning", "summary": summary})
}

fn function_call(context: &Context, call: &Call) -> Value {
    let id = context.host.app.unique();
    json!({
        "id": format!("fc_{id:016x}"), "call_id": format!("call_{id:016x}"), "type": "function_call",
        "name": call.name, "arguments": call.arguments, "status": "completed",
    })
}

fn body(context: &Context, items: Vec<Value>, done: Option<&End>) -> Value {
    let cut = done.is_some_and(|done| matches!(done.finish, Finish::Limit | Finish::Context));
    let status = match (done, cut) {
        (None, _) => "in_progress",
        (Some(_), true) => "incomplete",
        (Some(_), false) => "completed",
    };
    json!({
        "id": format!("resp_{}", context.id),
        "object": "response",
        "created_at": now(),
        "status": status,
        "error": null,
        "incomplete_details": cut.then(|| json!({"reason": "max_output_tokens"})),
        "instructions": null,
        "metadata": {},
        "model": context.host.name,
        "output": items,
        "parallel_tool_calls": true,
        "temperature": null,
        "tool_choice": "auto",
        "tools": [],
        "top_p": null,
        "usage": done.map(|done| json!({
            "input_tokens": done.prompt_tokens,
            "input_tokens_details": {"cached_tokens": done.cached_tokens},
            "output_tokens": done.tokens,
            "output_tokens_details": {"reasoning_tokens": done.reasoning_tokens},
            "total_tokens": done.prompt_tokens + done.tokens,
        })),
    })
}
