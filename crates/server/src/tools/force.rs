//! Grammars of calls that a model has to make.

use super::{Format, Tools};
use serde_json::{Value, json};
use wootz_llm::tokenizer::{TokenKind, Vocab};

/// A call of a tool in a model's own notation, as an expression of a Lark grammar.
pub fn call(tool: &Value, format: Format, vocab: &Vocab) -> String {
    let name = Tools::name(tool);
    let parameters = tool.pointer("/function/parameters").filter(|p| p.is_object()).cloned();
    let mut parameters = parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
    let compact = json!({"whitespace_flexible": false});
    let mark = |text: &str| match vocab.id(text.as_bytes()) {
        Some(id) if vocab.kind(id) == TokenKind::Control => format!("<[{id}]>"),
        _ => Value::from(text).to_string(),
    };
    let text = |text: &str| Value::from(text).to_string();
    let object = |key: &str| {
        json!({
            "type": "object",
            "properties": {"name": {"const": name}, key: parameters.clone()},
            "required": ["name", key],
            "additionalProperties": false,
            "x-guidance": compact,
        })
    };
    let (begin, end) = format.tags().unwrap_or_default();
    let parts = match format {
        Format::Tagged => vec![mark(begin), format!("%json {}", object("arguments")), mark(end)],
        Format::List | Format::Granite => {
            vec![mark(begin), text("["), format!("%json {}", object("arguments")), text("]")]
        }
        Format::Python => {
            vec![mark(begin), text("["), format!("%json {}", object("arguments")), text("]"), mark(end)]
        }
        Format::Bare => vec![format!("%json {}", object("parameters"))],
        Format::Named | Format::Gemma | Format::DeepSeek { .. } | Format::Harmony => {
            parameters["x-guidance"] = compact;
            let arguments = format!("%json {parameters}");
            match format {
                Format::Gemma => vec![mark(begin), text(&format!("call:{name}")), arguments, mark(end)],
                Format::Harmony => {
                    let header = text(&format!("commentary to=functions.{name} "));
                    vec![
                        mark("<|channel|>"),
                        header,
                        mark("<|constrain|>"),
                        text("json"),
                        mark("<|message|>"),
                        arguments,
                    ]
                }
                Format::DeepSeek { fenced } => {
                    let (call, after) = (mark("<｜tool▁call▁begin｜>"), mark("<｜tool▁call▁end｜>"));
                    let inner = match fenced {
                        false => vec![text(name), mark("<｜tool▁sep｜>"), arguments],
                        true => vec![
                            text("function"),
                            mark("<｜tool▁sep｜>"),
                            text(&format!("{name}\n```json\n")),
                            arguments,
                            text("\n```"),
                        ],
                    };
                    [vec![mark(begin), call], inner, vec![after, mark(end)]].concat()
                }
                _ => vec![mark(begin), text(name), mark("[ARGS]"), arguments],
            }
        }
    };
    parts.join(" ")
}
