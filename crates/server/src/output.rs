//! An answer taken apart as it comes: reasoning, text, calls of tools.

use crate::tools::{Call, Format};

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text for the user.
    Text(String),
    /// What the model said to itself.
    Reasoning(String),
    /// A call of a tool.
    Call(Call),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Text,
    Reasoning,
    Call,
}

const THINK: (&str, &str) = ("<think>", "</think>");

/// Takes text apart. Whatever could be the beginning of a tag is held back until it is decided.
#[derive(Clone, Debug)]
pub struct Splitter {
    tools: Option<Format>,
    within: Within,
    held: String,
    /// Whether nothing was shown yet: blanks before the first text are dropped.
    fresh: bool,
}

impl Splitter {
    /// A splitter of an answer that may call tools, and perhaps begins inside of its reasoning.
    pub fn new(tools: Option<Format>, reasons: bool) -> Splitter {
        let within = if reasons { Within::Reasoning } else { Within::Text };
        Splitter { tools, within, held: String::new(), fresh: true }
    }

    fn tags(&self) -> Vec<(&'static str, Within)> {
        match self.within {
            Within::Reasoning => vec![(THINK.1, Within::Text)],
            Within::Call => {
                let end = self.tools.and_then(Format::tags).map_or("\u{0}", |tags| tags.1);
                vec![(end, Within::Text)]
            }
            Within::Text => {
                let call = self.tools.and_then(Format::tags).map(|tags| (tags.0, Within::Call));
                call.into_iter().chain([(THINK.0, Within::Reasoning)]).collect()
            }
        }
    }

    /// Adds text; the parts that are decided.
    pub fn push(&mut self, text: &str) -> Vec<Part> {
        self.held.push_str(text);
        let mut parts = Vec::new();
        // A bare call can only be told from text at the end.
        if self.tools == Some(Format::Bare) && self.looks_like_a_call() {
            return parts;
        }
        loop {
            let tags = self.tags();
            let found = tags.iter().filter_map(|(tag, to)| self.held.find(tag).map(|at| (at, *tag, *to)));
            let Some((at, tag, to)) = found.min_by_key(|found| found.0) else { break };
            let rest = self.held.split_off(at + tag.len());
            let mut before = std::mem::replace(&mut self.held, rest);
            before.truncate(at);
            self.emit(before, true, &mut parts);
            self.within = to;
        }
        if self.within != Within::Call {
            let keep = self.tags().iter().map(|(tag, _)| overlap(&self.held, tag)).max().unwrap_or(0);
            let rest = self.held.split_off(self.held.len() - keep);
            let text = std::mem::replace(&mut self.held, rest);
            self.emit(text, false, &mut parts);
        }
        parts
    }

    fn looks_like_a_call(&self) -> bool {
        let text = self.held.trim_start();
        self.fresh && (text.is_empty() || text.starts_with('{') || text.starts_with("<|python_tag|>"))
    }

    fn emit(&mut self, text: String, ends: bool, parts: &mut Vec<Part>) {
        let blank = self.fresh && text.trim().is_empty();
        match self.within {
            Within::Call => match Call::parse(&text) {
                Some(calls) => parts.extend(calls.into_iter().map(Part::Call)),
                // What cannot be read is shown, so that nothing is lost.
                None => parts.push(Part::Text(text)),
            },
            _ if text.is_empty() || (blank && ends) => {}
            Within::Reasoning => parts.push(Part::Reasoning(text)),
            Within::Text => {
                let text = if self.fresh { text.trim_start().to_owned() } else { text };
                if !text.is_empty() {
                    self.fresh = false;
                    parts.push(Part::Text(text));
                }
            }
        }
    }

    /// Ends the answer.
    pub fn finish(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        let held = std::mem::take(&mut self.held);
        if self.tools == Some(Format::Bare)
            && self.fresh
            && let Some(calls) = Call::parse(&held)
        {
            return calls.into_iter().map(Part::Call).collect();
        }
        self.emit(held, true, &mut parts);
        parts
    }
}

/// How many bytes at the end of `text` are the beginning of `tag`.
fn overlap(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|&n| text.ends_with(&tag[..n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts with neighbours of a kind joined, for pieces of every size.
    fn split(tools: Option<Format>, reasons: bool, text: &str) -> Vec<Part> {
        let all: Vec<Vec<Part>> = (1..=text.chars().count().max(1))
            .map(|size| {
                let mut splitter = Splitter::new(tools, reasons);
                let chars: Vec<char> = text.chars().collect();
                let pieces = chars.chunks(size).map(|c| c.iter().collect::<String>());
                let mut parts: Vec<Part> = pieces.flat_map(|piece| splitter.push(&piece)).collect();
                parts.extend(splitter.finish());
                let mut joined: Vec<Part> = Vec::new();
                for part in parts {
                    match (joined.last_mut(), &part) {
                        (Some(Part::Text(a)), Part::Text(b)) => a.push_str(b),
                        (Some(Part::Reasoning(a)), Part::Reasoning(b)) => a.push_str(b),
                        _ => joined.push(part),
                    }
                }
                joined
            })
            .collect();
        assert!(all.iter().all(|parts| *parts == all[0]), "{all:?}");
        all[0].clone()
    }

    fn text(t: &str) -> Part {
        Part::Text(t.into())
    }

    #[test]
    fn reasoning_is_apart() {
        let parts = split(None, false, "<think>hm, 2</think>\n\nIt is 2 < 3.");
        assert_eq!(parts, [Part::Reasoning("hm, 2".into()), text("It is 2 < 3.")]);
        let parts = split(None, true, "hm</think>yes");
        assert_eq!(parts, [Part::Reasoning("hm".into()), text("yes")]);
        assert_eq!(split(None, false, "a <thin b"), [text("a <thin b")]);
    }

    #[test]
    fn calls_are_apart() {
        let call = |n: &str| Part::Call(Call { name: n.into(), arguments: "{}".into() });
        let answer = r#"Well <tool_call>{"name":"a","arguments":{}}</tool_call><tool_call>
            {"name":"b","arguments":{}}</tool_call>"#;
        assert_eq!(split(Some(Format::Tagged), false, answer), [text("Well "), call("a"), call("b")]);
        let answer = r#"[TOOL_CALLS][{"name":"a","arguments":{}}]"#;
        assert_eq!(split(Some(Format::List), false, answer), [call("a")]);
        assert_eq!(split(Some(Format::Bare), false, r#"{"name":"a","parameters":{}}"#), [call("a")]);
        assert_eq!(split(Some(Format::Bare), false, "No {call}."), [text("No {call}.")]);
        assert_eq!(split(Some(Format::Tagged), false, "<tool_call>oops"), [text("oops")]);
        assert_eq!(split(None, false, "<tool_call>x"), [text("<tool_call>x")]);
    }
}
