//! Calls that are passed on while a model writes them: the name as soon as it is known, then the arguments piece by piece. What
//! cannot be read like that is left for the end, when it is read as a whole.

use super::Part;
use super::xml::Xml;
use crate::tools::{Call, Tools};

/// Bytes before the arguments of a call at most.
const LONGEST_HEADER: usize = 1024;

/// Reads what stands between the tags of calls.
#[derive(Clone, Debug, Default)]
pub struct CallReader {
    /// What is not passed on yet.
    held: String,
    body: Option<Body>,
    /// Whether a call was passed on.
    begun: bool,
}

/// The arguments that are being passed on.
#[derive(Clone, Debug)]
enum Body {
    Json(Object),
    Xml(Xml),
}

impl CallReader {
    /// The beginning of a call of a known tool: its name, and how many bytes stand before its arguments.
    pub fn header(text: &str, tools: &Tools) -> Option<(String, usize)> {
        let start = text.len() - text.trim_start().len();
        let (name, length) = header(&text[start..])?;
        tools.has(&name).then_some((name, start + length))
    }

    /// Adds text.
    pub fn push(&mut self, text: &str, tools: &Tools, parts: &mut Vec<Part>) {
        self.held.push_str(text);
        loop {
            let mut arguments = String::new();
            let is_complete = match &mut self.body {
                None => {
                    let start = skipped(&self.held, self.begun);
                    let Some((name, length)) = CallReader::header(&self.held[start..], tools) else { return };
                    self.body = Some(match self.held[start..].starts_with(Xml::BEGIN) {
                        true => Body::Xml(Xml::new(name.clone())),
                        false => Body::Json(Object::default()),
                    });
                    self.held.drain(..start + length);
                    self.begun = true;
                    parts.push(Part::Call(Call { name, arguments: String::new() }));
                    continue;
                }
                Some(Body::Json(object)) => {
                    arguments.extend(self.held.drain(..object.read(&self.held)));
                    object.is_complete
                }
                Some(Body::Xml(xml)) => xml.read(&mut self.held, tools, &mut arguments),
            };
            if !arguments.is_empty() {
                parts.push(Part::Arguments(arguments));
            }
            if !is_complete {
                return;
            }
            self.body = None;
        }
    }

    /// Ends the calls. What was not passed on is read as a whole, and shown if it cannot be, so that nothing is lost.
    pub fn finish(mut self, tools: &Tools) -> Vec<Part> {
        if let Some(Body::Xml(xml)) = &mut self.body {
            let mut arguments = String::new();
            xml.finish(&mut self.held, tools, &mut arguments);
            return vec![Part::Arguments(arguments)];
        }
        let start = if self.begun { skipped(&self.held, true) } else { 0 };
        let rest = &self.held[start..];
        if self.begun && rest.is_empty() {
            return Vec::new();
        }
        match Call::parse(rest, tools) {
            Some(calls) => calls.into_iter().map(Part::Call).collect(),
            None => vec![Part::Text(self.held)],
        }
    }
}

/// What may stand before a call; after another one, its end too.
fn skipped(text: &str, begun: bool) -> usize {
    let before = ["[", "<|python_tag|>"].as_slice();
    let between = ["}", "]", ",", "```", "[TOOL_CALLS]", "<|/tool_call|>", "<｜tool▁call▁end｜>"].as_slice();
    let mut rest = text.trim_start();
    while let Some(after) =
        between.iter().filter(|_| begun).chain(before).find_map(|mark| rest.strip_prefix(mark))
    {
        rest = after.trim_start();
    }
    text.len() - rest.len()
}

fn header(text: &str) -> Option<(String, usize)> {
    let end = text.char_indices().map(|(at, _)| at).find(|&at| at > LONGEST_HEADER).unwrap_or(text.len());
    let text = &text[..end];
    let (name, rest) = object(text).or_else(|| named(text)).or_else(|| deep_seek(text)).or_else(|| {
        text.strip_prefix(Xml::BEGIN)?.split_once('>').map(|(name, rest)| (name.to_owned(), rest))
    })?;
    Some((name.trim().to_owned(), text.len() - rest.len()))
}

/// `{"name": …, "arguments": {`.
fn object(text: &str) -> Option<(String, &str)> {
    let (key, rest) = string(text.strip_prefix('{')?)?;
    let (name, rest) = string(rest.trim_start().strip_prefix(':')?).filter(|_| key == "name")?;
    let (key, rest) = string(rest.trim_start().strip_prefix(',')?)?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    (matches!(key.as_str(), "arguments" | "parameters") && rest.starts_with('{')).then_some((name, rest))
}

/// A string in quotes, and what follows it.
fn string(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    Some((value, &text[end..]))
}

/// `name[ARGS]{`.
fn named(text: &str) -> Option<(String, &str)> {
    let (name, rest) = text.split_once("[ARGS]")?;
    let name = name.split_once("[CALL_ID]").map_or(name, |(name, _)| name);
    arguments(name, rest)
}

/// `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{`, or the name and a fence behind the separator.
fn deep_seek(text: &str) -> Option<(String, &str)> {
    let (before, after) = text.strip_prefix("<｜tool▁call▁begin｜>")?.split_once("<｜tool▁sep｜>")?;
    match after.split_once("```json") {
        Some((name, rest)) => arguments(name, rest),
        None => arguments(before, after),
    }
}

fn arguments<'a>(name: &str, rest: &'a str) -> Option<(String, &'a str)> {
    let rest = rest.trim_start();
    rest.starts_with('{').then(|| (name.to_owned(), rest))
}

/// Finds the end of a JSON object that is read in pieces.
#[derive(Clone, Debug, Default)]
pub struct Object {
    depth: usize,
    is_quoted: bool,
    is_escaped: bool,
    pub is_complete: bool,
}

impl Object {
    /// How many bytes of a text belong to it.
    pub fn read(&mut self, text: &str) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_quoted => self.is_escaped = true,
                b'"' => self.is_quoted = !self.is_quoted,
                b'{' | b'[' if !self.is_quoted => self.depth += 1,
                b'}' | b']' if !self.is_quoted => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.is_complete = true;
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        text.len()
    }
}
