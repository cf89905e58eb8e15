//! Calls as models write them.

use super::python;
use super::{Call, Tools};
use serde_json::{Map, Value};

/// The calls in what stands between a format's tags, in whichever notation; `None` if it cannot be read as calls.
pub fn calls(text: &str, tools: &Tools) -> Option<Vec<Call>> {
    let text = text.trim();
    let text = text.strip_prefix("<|python_tag|>").unwrap_or(text);
    let text = text.strip_suffix("<|/tool_call|>").unwrap_or(text).trim();
    let found = json(text)
        .or_else(|| xml(text, tools))
        .or_else(|| named(text))
        .or_else(|| deep_seek(text))
        .or_else(|| gemma(text))
        .or_else(|| python::calls(text));
    found.filter(|calls| !calls.is_empty())
}

/// An object with a name and arguments, or a list of them.
fn json(text: &str) -> Option<Vec<Call>> {
    let list = match serde_json::from_str(text).ok()? {
        Value::Array(list) => list,
        object => vec![object],
    };
    let one = |value: Value| {
        let name = value.get("name")?.as_str()?.to_owned();
        let arguments = match value.get("arguments").or_else(|| value.get("parameters"))? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(Call { name, arguments })
    };
    list.into_iter().map(one).collect()
}

/// `<function=name><parameter=key>value</parameter></function>`, any number of times. Values are text; the tool's schema
/// tells which of them are JSON.
fn xml(text: &str, tools: &Tools) -> Option<Vec<Call>> {
    let mut calls = Vec::new();
    let mut rest = text;
    while !rest.trim().is_empty() {
        let (name, after) = rest.trim_start().strip_prefix("<function=")?.split_once('>')?;
        let (mut body, after) = after.split_once("</function>").unwrap_or((after, ""));
        let name = name.trim();
        let mut arguments = Map::new();
        while let Some((key, after)) =
            body.trim_start().strip_prefix("<parameter=").and_then(|b| b.split_once('>'))
        {
            let end = [after.find("</parameter>"), after.find("<parameter=")].into_iter().flatten().min();
            let (value, after) = after.split_at(end.unwrap_or(after.len()));
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            let key = key.trim();
            arguments.insert(key.to_owned(), typed(value, tools.is_text(name, key)));
            body = after.strip_prefix("</parameter>").unwrap_or(after);
        }
        if name.is_empty() || !body.trim().is_empty() {
            return None;
        }
        calls.push(Call { name: name.to_owned(), arguments: Value::Object(arguments).to_string() });
        rest = after;
    }
    Some(calls)
}

/// A value that is not quoted.
pub fn typed(text: &str, is_text: bool) -> Value {
    let plain = || Value::String(text.to_owned());
    if is_text { plain() } else { serde_json::from_str(text.trim()).unwrap_or_else(|_| plain()) }
}

/// `name[ARGS]{…}`, with further calls behind `[TOOL_CALLS]`.
fn named(text: &str) -> Option<Vec<Call>> {
    let one = |part: &str| {
        let (name, arguments) = part.split_once("[ARGS]")?;
        let name = name.split_once("[CALL_ID]").map_or(name, |(name, _)| name).trim();
        Call::with(name, arguments)
    };
    text.split("[TOOL_CALLS]").map(one).collect()
}

/// `function<｜tool▁sep｜>name` and fenced arguments, or `name<｜tool▁sep｜>{…}`.
fn deep_seek(text: &str) -> Option<Vec<Call>> {
    const BEGIN: &str = "<｜tool▁call▁begin｜>";
    let one = |part: &str| {
        let part = part.trim().trim_end_matches("<｜tool▁call▁end｜>");
        let (before, after) = part.split_once("<｜tool▁sep｜>")?;
        match after.split_once("```json") {
            Some((name, fenced)) => {
                Call::with(name.trim(), fenced.rsplit_once("```").map_or(fenced, |(inner, _)| inner))
            }
            None => Call::with(before.trim(), after),
        }
    };
    text.strip_prefix(BEGIN)?.split(BEGIN).map(one).collect()
}

/// `call:name{key:value}`, with keys that are not quoted and strings between `<|"|>`.
fn gemma(text: &str) -> Option<Vec<Call>> {
    let (name, arguments) = text.strip_prefix("call:")?.split_once('{')?;
    let mut json = String::from("{");
    for (i, part) in arguments.split("<|\"|>").enumerate() {
        if i % 2 == 1 {
            json.push_str(&Value::from(part).to_string());
        } else {
            quote_keys(part, &mut json);
        }
    }
    Some(vec![Call::with(name.trim(), &json)?])
}

/// Copies text with quotes around bare words before colons. Strings in double quotes stay as they are.
fn quote_keys(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
        let length = if c == '"' {
            let mut escaped = true;
            let ends = |c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            };
            rest.find(ends).map_or(rest.len(), |end| end + 1)
        } else if is_word(c) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        let (piece, after) = rest.split_at(length);
        match is_word(c) && after.trim_start().starts_with(':') {
            true => out.push_str(&Value::from(piece).to_string()),
            false => out.push_str(piece),
        }
        rest = after;
    }
}
