//! OpenAI's `/v1/responses`, as far as clients need it: stateless, with text and function calls.

use super::settings::Settings;
use super::{Context, Visit, chat, merge};
use crate::app::now;
use crate::error::{ApiError, Outcome, json_response};
use crate::generate::{Answer, End, Generation, Step};
use crate::output::Part;
use crate::prompt;
use crate::stream::{Framing, Writer, read_json, respond};
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
    let mut answers = generation(&context, request)?.submit(&context.host, &context.id).await?;
    let answer = answers.pop().ok_or_else(|| ApiError::bad("the input is empty"))?;
    if streams {
        return Ok(respond(Framing::Sse, move |writer| async move {
            let mut events = Events { context: &context, writer: &writer, number: 0 };
            if let Err(problem) = stream(&mut events, answer).await {
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

/// Numbered events.
struct Events<'a> {
    context: &'a Context,
    writer: &'a Writer,
    number: usize,
}

impl Events<'_> {
    async fn send(&mut self, kind: &str, mut value: Value) {
        value["type"] = kind.into();
        value["sequence_number"] = self.number.into();
        self.number += 1;
        self.writer.event(kind, &value).await;
    }
}

async fn stream(events: &mut Events<'_>, answer: Answer) -> Outcome<()> {
    let context = events.context;
    let at_first = body(context, vec![], None);
    events.send("response.created", json!({"response": at_first})).await;
    events.send("response.in_progress", json!({"response": at_first})).await;
    let (mut items, mut text, mut thoughts) = (Vec::<Value>::new(), None::<String>, String::new());
    let id = format!("msg_{}", context.id);
    let mut steps = merge(vec![answer]);
    while let Some((_, step)) = steps.recv().await {
        let (parts, done) = match step? {
            Step::Parts(parts, _) => (parts, None),
            Step::Done(done) => (Vec::new(), Some(done)),
        };
        for part in parts {
            match part {
                Part::Reasoning(more) => thoughts.push_str(&more),
                Part::Text(more) => {
                    let index = items.len();
                    if text.is_none() {
                        let mut item = message(context, "", "in_progress");
                        item["content"] = json!([]);
                        events
                            .send("response.output_item.added", json!({"output_index": index, "item": item}))
                            .await;
                        let part = json!({"type": "output_text", "text": "", "annotations": []});
                        let place =
                            json!({"item_id": id, "output_index": index, "content_index": 0, "part": part});
                        events.send("response.content_part.added", place).await;
                    }
                    let delta = json!({"item_id": id, "output_index": index, "content_index": 0, "delta": more, "logprobs": []});
                    events.send("response.output_text.delta", delta).await;
                    text.get_or_insert_default().push_str(&more);
                }
                Part::Call(call) => {
                    end_text(events, &mut items, &mut text).await;
                    call_item(events, &mut items, &call).await;
                }
            }
        }
        if let Some(done) = done {
            end_text(events, &mut items, &mut text).await;
            if !thoughts.is_empty() {
                items.insert(0, reasoning(context, &thoughts));
            }
            let response = body(context, std::mem::take(&mut items), Some(&done));
            let kind = format!("response.{}", response["status"].as_str().unwrap_or("completed"));
            events.send(&kind, json!({"response": response})).await;
        }
    }
    Ok(())
}

async fn end_text(events: &mut Events<'_>, items: &mut Vec<Value>, text: &mut Option<String>) {
    let Some(text) = text.take() else { return };
    let (index, id) = (items.len(), format!("msg_{}", events.context.id));
    let place = json!({"item_id": id, "output_index": index, "content_index": 0});
    let mut end = place.clone();
    (end["text"], end["logprobs"]) = (text.as_str().into(), json!([]));
    events.send("response.output_text.done", end).await;
    let mut end = place;
    end["part"] = json!({"type": "output_text", "text": text, "annotations": []});
    events.send("response.content_part.done", end).await;
    let item = message(events.context, &text, "completed");
    events.send("response.output_item.done", json!({"output_index": index, "item": item})).await;
    items.push(item);
}

async fn call_item(events: &mut Events<'_>, items: &mut Vec<Value>, call: &Call) {
    let (index, item) = (items.len(), function_call(events.context, call));
    let mut begun = item.clone();
    (begun["arguments"], begun["status"]) = ("".into(), "in_progress".into());
    events.send("response.output_item.added", json!({"output_index": index, "item": begun})).await;
    let delta = json!({"item_id": item["id"], "output_index": index, "delta": call.arguments});
    events.send("response.function_call_arguments.delta", delta).await;
    let end =
        json!({"item_id": item["id"], "output_index": index, "arguments": call.arguments, "name": call.name});
    events.send("response.function_call_arguments.done", end).await;
    events.send("response.output_item.done", json!({"output_index": index, "item": item})).await;
    items.push(item);
}
