//! From messages to tokens.

use crate::error::{ApiError, Outcome};
use crate::grammar::{Grammar, Opening};
use crate::host::Host;
use crate::tools::{Choice, Format, Style, Tools};
use serde_json::{Value, json};
use std::sync::Arc;
use wootz_llm::tokenizer::Encoding;

/// A prompt, and what it means for reading the answer.
pub struct Prompt {
    pub tokens: Vec<u32>,
    pub reading: Reading,
}

/// What has to be known to take an answer apart.
#[derive(Clone, Debug)]
pub struct Reading {
    pub style: Style,
    /// The tools that the answer may call, if any.
    pub tools: Option<Arc<Tools>>,
    /// Whether the prompt has opened the model's reasoning.
    pub reasons: bool,
}

impl Reading {
    /// What has to be said before a grammar applies: models that reason do so first.
    pub fn opening(&self, grammar: &Grammar) -> Option<Opening> {
        match (self.style.format, grammar) {
            // Its grammar has the message's header.
            (Format::Harmony, Grammar::Call(_)) => None,
            (Format::Harmony, _) => Some(Opening::FinalMessage),
            _ => self.reasons.then_some(Opening::After(self.style.thinking.1)),
        }
    }
}

/// Messages that one request may have.
const MOST_MESSAGES: usize = 4096;

/// The prompt of a conversation in OpenAI's form.
pub fn chat(
    host: &Host,
    messages: Vec<Value>,
    tools: &Tools,
    choice: &Choice,
    extra: Value,
) -> Outcome<Prompt> {
    let Some(template) = host.model().template() else {
        return Err(ApiError::bad("this model has no chat template; use /v1/completions"));
    };
    if messages.is_empty() || messages.len() > MOST_MESSAGES {
        let count = messages.len();
        return Err(ApiError::field("messages", format!("{count} messages; must be 1 to {MOST_MESSAGES}")));
    }
    if tools.0.is_empty() && matches!(choice, Choice::Required | Choice::Named(_)) {
        return Err(ApiError::field("tool_choice", "a tool call is required, but there are no tools"));
    }
    let mut messages =
        messages.into_iter().enumerate().map(|(i, m)| message(i, m)).collect::<Outcome<Vec<_>>>()?;
    let begun = begun(&mut messages);
    let uses_tools = !tools.0.is_empty() && *choice != Choice::None;
    let mut names = match extra {
        Value::Object(names) => names,
        _ => serde_json::Map::new(),
    };
    if uses_tools {
        if template.source().contains("tools") {
            names.insert("tools".into(), Value::Array(tools.0.clone()));
        } else {
            describe(tools, &mut messages);
        }
    }
    let rendered = template.render_json(&Value::Array(messages), true, &Value::Object(names));
    let mut text = rendered.map_err(|error| ApiError::field("messages", error.to_string()))?;
    let style = Style::of(template.source());
    let mut reasons = text.trim_end().ends_with(style.thinking.0);
    if let Some(begun) = begun {
        if std::mem::take(&mut reasons) {
            // What has been said already is the answer, not the reasoning.
            text = format!("{}\n\n{}\n\n", text.trim_end(), style.thinking.1);
        }
        text.push_str(&begun);
    }
    let tokens = host.model().tokenizer().encode(&text, Encoding::TEMPLATE);
    let tools = uses_tools.then(|| Arc::new(tools.clone()));
    Ok(Prompt { tokens, reading: Reading { style, tools, reasons } })
}

/// The beginning of the answer, if the last message is that: the model goes on where it ends.
fn begun(messages: &mut Vec<Value>) -> Option<String> {
    let last =
        messages.last().filter(|last| last["role"] == "assistant" && last.get("tool_calls").is_none())?;
    let text = last["content"].as_str().filter(|text| !text.is_empty())?.to_owned();
    if messages.len() == 1 {
        return None;
    }
    messages.pop();
    Some(text)
}

/// What tells a template how much to reason: whether at all, or an effort. Templates have several names for it.
pub fn thinking(wish: Option<&Value>) -> Value {
    match wish {
        Some(Value::Bool(wanted)) => json!({"enable_thinking": wanted, "thinking": wanted}),
        Some(Value::String(effort)) if effort == "none" => thinking(Some(&Value::Bool(false))),
        Some(Value::String(effort)) => {
            json!({"enable_thinking": true, "thinking": true, "reasoning_effort": effort})
        }
        _ => Value::Null,
    }
}

/// Tells of tools in the system prompt.
fn describe(tools: &Tools, messages: &mut Vec<Value>) {
    let text = tools.description();
    match messages.first_mut().filter(|first| first["role"] == "system") {
        Some(first) => {
            let before = first["content"].as_str().unwrap_or_default();
            first["content"] = format!("{before}\n\n{text}").into();
        }
        None => messages.insert(0, json!({"role": "system", "content": text})),
    }
}

/// A message as templates know it: content is text, arguments of calls are objects.
fn message(index: usize, message: Value) -> Outcome<Value> {
    let wrong = |what: &str| ApiError::field("messages", format!("message {index}: {what}"));
    let Value::Object(mut message) = message else { return Err(wrong("it must be an object")) };
    let role = match message.get("role").and_then(Value::as_str) {
        Some("developer") => "system",
        Some("function") => "tool",
        Some(role @ ("system" | "user" | "assistant" | "tool")) => role,
        Some(other) => return Err(wrong(&format!("unknown role '{other}'"))),
        None => return Err(wrong("it needs a role")),
    };
    let role = role.to_owned();
    let has_calls =
        message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    let content = match message.get("content") {
        None | Some(Value::Null) if has_calls || role == "assistant" => String::new(),
        None | Some(Value::Null) => return Err(wrong("it needs content")),
        Some(content) => text_of(content).map_err(|what| wrong(&what))?,
    };
    message.insert("role".into(), role.into());
    message.insert("content".into(), content.into());
    if !has_calls {
        message.remove("tool_calls");
    }
    if message.get("images").and_then(Value::as_array).is_some_and(|images| !images.is_empty()) {
        return Err(wrong("images are not supported by this model, only text"));
    }
    for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(arguments) = call.pointer_mut("/function/arguments") else {
            return Err(wrong("a tool call needs a function with arguments"));
        };
        if let Some(parsed) = arguments.as_str().and_then(|text| serde_json::from_str(text).ok()) {
            *arguments = parsed;
        }
    }
    Ok(Value::Object(message))
}

/// The text of content: a string, or a list of parts that are text.
pub fn text_of(content: &Value) -> Result<String, String> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => parts.iter().map(part).collect(),
        other => Err(format!("content must be a string or a list of parts, not {}", kind(other))),
    }
}

fn part(part: &Value) -> Result<String, String> {
    match part.get("type").and_then(Value::as_str) {
        Some("text" | "input_text" | "output_text") => {
            part.get("text").and_then(Value::as_str).map(str::to_owned).ok_or("a text part needs text".into())
        }
        Some(other) => Err(format!("parts of type '{other}' are not supported by this model, only text")),
        None => Err("a part needs a type".into()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The tokens of a plain prompt: text, or token ids.
pub fn plain(host: &Host, prompt: &Value) -> Outcome<Vec<u32>> {
    let wrong = || ApiError::field("prompt", "a prompt must be a string or a list of token ids");
    match prompt {
        Value::String(text) => {
            let encoding = Encoding { add_special: true, parse_special: true };
            let tokens = host.model().tokenizer().encode(text, encoding);
            // A model without a begin token has nothing to continue an empty text from.
            if tokens.is_empty() { Err(ApiError::field("prompt", "the prompt is empty")) } else { Ok(tokens) }
        }
        Value::Array(ids) => {
            let id = |v: &Value| v.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(wrong);
            ids.iter().map(id).collect()
        }
        _ => Err(wrong()),
    }
}
