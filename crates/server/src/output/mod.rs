//! Splits an answer, as it is generated, into reasoning, text and tool calls.

mod call;
mod harmony;
mod xml;

use crate::tools::{Call, Format, NEVER, Style, Tools};
use call::CallReader;
use harmony::Harmony;
use std::sync::Arc;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text for the user.
    Text(String),
    /// What the model said to itself.
    Reasoning(String),
    /// A call of a tool; where calls are passed on as they are written, its beginning.
    Call(Call),
    /// More arguments of the last call.
    Arguments(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Text,
    Reasoning,
    Call,
}

/// Takes text apart. Whatever could be the beginning of a tag is held back until it is decided.
#[derive(Clone, Debug)]
pub struct Splitter {
    style: Style,
    /// The tools that the answer may call, if any.
    tools: Option<Arc<Tools>>,
    within: Within,
    held: String,
    /// Whether nothing was shown yet: blanks before the first text are dropped.
    fresh: bool,
    /// Takes answers apart that are written as messages in channels.
    harmony: Option<Harmony>,
    /// Whether calls are passed on as they are written.
    is_live: bool,
    /// Reads such calls.
    reader: Option<CallReader>,
}

impl Splitter {
    /// A splitter of an answer that may call tools, and perhaps begins inside of its reasoning.
    pub fn new(style: Style, tools: Option<Arc<Tools>>, reasons: bool) -> Splitter {
        let within = if reasons { Within::Reasoning } else { Within::Text };
        let harmony = (style.format == Format::Harmony).then(Harmony::default);
        Splitter {
            style,
            tools,
            within,
            held: String::new(),
            fresh: true,
            harmony,
            is_live: false,
            reader: None,
        }
    }

    /// Passes calls on as they are written. What turns out not to be a call then has been passed on as one.
    pub fn live(mut self) -> Splitter {
        self.is_live = self.tools.is_some();
        if let Some(harmony) = &mut self.harmony {
            harmony.is_live = self.is_live;
        }
        self
    }

    /// Whether what comes next is reasoning, as far as is known.
    pub fn is_reasoning(&self) -> bool {
        match &self.harmony {
            Some(harmony) => harmony.is_reasoning(),
            None => self.within == Within::Reasoning,
        }
    }

    fn call_tags(&self) -> Option<(&'static str, &'static str)> {
        self.style.format.tags().filter(|_| self.tools.is_some())
    }

    fn may_be_bare(&self) -> bool {
        self.style.format == Format::Bare && self.tools.is_some()
    }

    fn calls(&self, text: &str) -> Option<Vec<Call>> {
        Call::parse(text, self.tools.as_deref()?)
    }

    fn tags(&self) -> Vec<(&'static str, Within)> {
        match self.within {
            Within::Reasoning => vec![(self.style.thinking.1, Within::Text)],
            Within::Call => vec![(self.call_tags().map_or(NEVER, |tags| tags.1), Within::Text)],
            Within::Text => {
                let call = self.call_tags().map(|tags| (tags.0, Within::Call));
                call.into_iter().chain([(self.style.thinking.0, Within::Reasoning)]).collect()
            }
        }
    }

    /// Adds text; the parts that are decided.
    pub fn push(&mut self, text: &str) -> Vec<Part> {
        if let Some(harmony) = &mut self.harmony {
            return harmony.push(text);
        }
        self.held.push_str(text);
        let mut parts = Vec::new();
        // A bare call can only be told from text at the end.
        if self.within == Within::Text && self.may_be_bare() && self.looks_like_a_call() {
            if !self.begins_call() {
                return parts;
            }
            self.enter(Within::Call);
        }
        loop {
            let tags = self.tags();
            let found = tags.iter().filter_map(|(tag, to)| self.held.find(tag).map(|at| (at, *tag, *to)));
            let Some((at, tag, to)) = found.min_by_key(|found| found.0) else { break };
            let rest = self.held.split_off(at + tag.len());
            let mut before = std::mem::replace(&mut self.held, rest);
            before.truncate(at);
            self.emit(before, true, &mut parts);
            self.enter(to);
        }
        if self.within != Within::Call || self.reader.is_some() {
            let keep = self.tags().iter().map(|(tag, _)| overlap(&self.held, tag)).max().unwrap_or(0);
            let rest = self.held.split_off(self.held.len() - keep);
            let text = std::mem::replace(&mut self.held, rest);
            self.emit(text, false, &mut parts);
        }
        parts
    }

    fn enter(&mut self, to: Within) {
        self.within = to;
        self.reader = (self.is_live && to == Within::Call).then(CallReader::default);
    }

    /// Whether a bare call has begun whose arguments can be passed on.
    fn begins_call(&self) -> bool {
        let text = self.held.trim_start();
        let text = text.strip_prefix("<|python_tag|>").unwrap_or(text);
        let header = |tools: &Arc<Tools>| CallReader::header(text, tools);
        self.is_live && self.tools.as_ref().and_then(header).is_some()
    }

    fn looks_like_a_call(&self) -> bool {
        let text = self.held.trim_start();
        self.fresh && (text.is_empty() || text.starts_with('{') || text.starts_with("<|python_tag|>"))
    }

    fn emit(&mut self, text: String, ends: bool, parts: &mut Vec<Part>) {
        let blank = self.fresh && text.trim().is_empty();
        match self.within {
            Within::Call if self.reader.is_some() => {
                let (Some(reader), Some(tools)) = (&mut self.reader, &self.tools) else { return };
                reader.push(&text, tools, parts);
                if ends && let Some(reader) = self.reader.take() {
                    parts.extend(reader.finish(tools));
                }
            }
            Within::Call => match self.calls(&text) {
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
        if let Some(harmony) = &mut self.harmony {
            return harmony.finish();
        }
        let mut parts = Vec::new();
        let held = std::mem::take(&mut self.held);
        if self.within == Within::Text
            && self.may_be_bare()
            && self.fresh
            && let Some(calls) = self.calls(&held)
        {
            return calls.into_iter().map(Part::Call).collect();
        }
        self.emit(held, true, &mut parts);
        parts
    }
}

/// How many bytes at the end of `text` are the beginning of `tag`.
fn overlap(text: &str, tag: &str) -> usize {
    // By bytes: marks of DeepSeek have characters of several, none of which a text can end inside of.
    let (text, tag) = (text.as_bytes(), tag.as_bytes());
    (1..tag.len()).rev().find(|&n| text.ends_with(&tag[..n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts with neighbours of a kind joined, for pieces of every size.
    fn split(template: &str, has_tools: bool, reasons: bool, text: &str) -> Vec<Part> {
        let tools = has_tools.then(Arc::<Tools>::default);
        let all: Vec<Vec<Part>> = (1..=text.chars().count().max(1))
            .map(|size| {
                let mut splitter = Splitter::new(Style::of(template), tools.clone(), reasons);
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

    /// The same of a splitter that passes calls on while they are written, and the number of pieces that arguments came in.
    fn live(template: &str, text: &str) -> (Vec<Part>, usize) {
        let parameters =
            serde_json::json!({"properties": {"s": {"type": "string"}, "n": {"type": "integer"}}});
        let tool = |name: &str| serde_json::json!({"type": "function", "function": {"name": name, "parameters": parameters}});
        let tools = Arc::new(Tools::new(vec![tool("a"), tool("b")]).unwrap());
        let mut results: Vec<(Vec<Part>, usize)> = (1..=text.chars().count().max(1))
            .map(|size| {
                let mut splitter = Splitter::new(Style::of(template), Some(tools.clone()), false).live();
                let chars: Vec<char> = text.chars().collect();
                let pieces = chars.chunks(size).map(|c| c.iter().collect::<String>());
                let mut parts: Vec<Part> = pieces.flat_map(|piece| splitter.push(&piece)).collect();
                parts.extend(splitter.finish());
                let mut joined: Vec<Part> = Vec::new();
                let mut count = 0;
                for part in parts {
                    count += usize::from(matches!(part, Part::Arguments(_)));
                    match (joined.last_mut(), &part) {
                        (Some(Part::Text(a)), Part::Text(b)) => a.push_str(b),
                        (Some(Part::Call(call)), Part::Arguments(more)) => call.arguments.push_str(more),
                        _ => joined.push(part),
                    }
                }
                (joined, count)
            })
            .collect();
        assert!(results.iter().all(|(parts, _)| *parts == results[0].0), "{results:?}");
        results.swap_remove(0)
    }

    #[test]
    fn arguments_are_passed_on_while_they_are_written() {
        let with =
            |name: &str, arguments: &str| Part::Call(Call { name: name.into(), arguments: arguments.into() });
        let json = r#"{"s": "a } ] \"b\" \\", "n": [1, {}]}"#;
        let object = format!(r#"{{"name": "a", "arguments": {json}}}"#);
        let second = r#"{"name": "b", "arguments": {}}"#;
        for (template, answer) in [
            ("", format!("<tool_call>\n{object}\n</tool_call>\n<tool_call>{second}</tool_call>")),
            ("[TOOL_CALLS]", format!("[TOOL_CALLS][{object}, {second}]")),
            ("[TOOL_CALLS] [ARGS]", format!("[TOOL_CALLS]a[ARGS]{json}[TOOL_CALLS]b[ARGS]{{}}")),
            ("<|tool_call|>", format!("<|tool_call|>[{object},{second}]<|/tool_call|>")),
            (
                "<｜tool▁calls▁begin｜> ```json",
                format!(
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n```json\n{json}\n```<｜tool▁call▁end｜>\n\
                     <｜tool▁call▁begin｜>b<｜tool▁sep｜>{{}}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
                ),
            ),
            (
                "<|channel|> <|message|>",
                format!(
                    "<|channel|>commentary to=functions.a <|constrain|>json<|message|>{json}<|call|>\
                     <|start|>assistant<|channel|>commentary to=functions.b<|message|>{{}}<|call|>"
                ),
            ),
        ] {
            let (parts, pieces) = live(template, &answer);
            let shown: Vec<&Part> =
                parts.iter().filter(|part| !matches!(part, Part::Text(t) if t.trim().is_empty())).collect();
            assert_eq!(shown, [&with("a", json), &with("b", "{}")], "{answer}");
            assert!(pieces > 20, "{pieces} pieces of {answer}");
        }
        let (parts, pieces) = live("ipython", &format!(r#" {{"name": "a", "parameters": {json}}}"#));
        assert_eq!((&parts[..], pieces > 20), (&[with("a", json)][..], true));
    }

    #[test]
    fn parameters_become_json_while_they_are_written() {
        let answer = "<tool_call>\n<function=a>\n<parameter=s>\nlet x = \"<p>\";\n\n</parameter>\n<parameter=n>\n3\n</parameter>\n\
            </function>\n</tool_call>";
        let (parts, pieces) = live("", answer);
        let whole = split_with(answer);
        let arguments = |parts: &[Part]| match parts {
            [Part::Call(call)] => serde_json::from_str::<serde_json::Value>(&call.arguments).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(arguments(&parts), arguments(&whole));
        assert_eq!(arguments(&parts), serde_json::json!({"s": "let x = \"<p>\";\n", "n": 3}));
        assert!(pieces > 10, "{pieces}");
        for (answer, expected) in [
            ("<tool_call><function=b></function></tool_call>", "{}"),
            ("<tool_call><function=b><parameter=s></parameter></function></tool_call>", r#"{"s": ""}"#),
            ("<tool_call><function=b><parameter=s>\n\n</parameter></function></tool_call>", r#"{"s": ""}"#),
            ("<tool_call><function=b><parameter=s>cut of", r#"{"s": "cut of"}"#),
        ] {
            let (parts, _) = live("", answer);
            assert_eq!(
                parts,
                [Part::Call(Call { name: "b".into(), arguments: expected.into() })],
                "{answer}"
            );
        }
    }

    /// A call that is read as a whole.
    fn split_with(text: &str) -> Vec<Part> {
        let tool = serde_json::json!({"type": "function", "function": {"name": "a", "parameters": {"properties": {"s": {"type": "string"}}}}});
        let tools = Arc::new(Tools::new(vec![tool]).unwrap());
        let mut splitter = Splitter::new(Style::of(""), Some(tools), false);
        let mut parts = splitter.push(text);
        parts.extend(splitter.finish());
        parts
    }

    #[test]
    fn what_is_no_known_call_is_read_as_a_whole() {
        let call =
            |name: &str, arguments: &str| Part::Call(Call { name: name.into(), arguments: arguments.into() });
        assert_eq!(live("", "<tool_call>oops").0, [text("oops")]);
        let unknown = r#"<tool_call>{"name": "c", "arguments": {"s": 1}}</tool_call>!"#;
        assert_eq!(live("", unknown).0, [call("c", r#"{"s":1}"#), text("!")]);
        let reversed = r#"<tool_call>{"arguments": {"s": 1}, "name": "a"}</tool_call>"#;
        assert_eq!(live("", reversed).0, [call("a", r#"{"s":1}"#)]);
        let quoted = r#"<tool_call>{"name": "a", "arguments": "{\"s\": 1}"}</tool_call>"#;
        assert_eq!(live("", quoted).0, [call("a", r#"{"s": 1}"#)]);
        assert_eq!(
            live("<|tool_call_start|>", "<|tool_call_start|>[a(), b()]<|tool_call_end|>").0,
            [call("a", "{}"), call("b", "{}")]
        );
        assert_eq!(live("ipython", "No {call}.").0, [text("No {call}.")]);
        let cut = r#"<tool_call>{"name": "a", "arguments": {"s": "x"#;
        assert_eq!(live("", cut).0, [call("a", r#"{"s": "x"#)]);
    }

    fn text(t: &str) -> Part {
        Part::Text(t.into())
    }

    fn thought(t: &str) -> Part {
        Part::Reasoning(t.into())
    }

    fn call(name: &str) -> Part {
        Part::Call(Call { name: name.into(), arguments: "{}".into() })
    }

    #[test]
    fn reasoning_is_apart() {
        let parts = split("", false, false, "<think>hm, 2</think>\n\nIt is 2 < 3.");
        assert_eq!(parts, [thought("hm, 2"), text("It is 2 < 3.")]);
        assert_eq!(split("", false, true, "hm</think>yes"), [thought("hm"), text("yes")]);
        assert_eq!(split("", false, false, "a <thin b"), [text("a <thin b")]);
        let parts = split("[THINK]", false, false, "[THINK]hm[/THINK]yes");
        assert_eq!(parts, [thought("hm"), text("yes")]);
        let parts = split("<|channel>", false, false, "<|channel>thought\nhm<channel|>yes");
        assert_eq!(parts, [thought("\nhm"), text("yes")]);
    }

    #[test]
    fn calls_are_apart() {
        let answer = r#"Well <tool_call>{"name":"a","arguments":{}}</tool_call><tool_call>
            {"name":"b","arguments":{}}</tool_call>"#;
        assert_eq!(split("", true, false, answer), [text("Well "), call("a"), call("b")]);
        let answer = r#"[TOOL_CALLS][{"name":"a","arguments":{}}]"#;
        assert_eq!(split("[TOOL_CALLS]", true, false, answer), [call("a")]);
        let answer = "[TOOL_CALLS]a[ARGS]{}[TOOL_CALLS]b[ARGS]{}";
        assert_eq!(split("[TOOL_CALLS] [ARGS]", true, false, answer), [call("a"), call("b")]);
        let answer = "<|tool_call_start|>[a(), b()]<|tool_call_end|>Done.";
        assert_eq!(split("<|tool_call_start|>", true, false, answer), [call("a"), call("b"), text("Done.")]);
        let answer = "<|tool_call>call:a{}<tool_call|><|tool_call>call:b{}<tool_call|>";
        assert_eq!(split("<|tool_call> <tool_call|>", true, false, answer), [call("a"), call("b")]);
        assert_eq!(split("ipython", true, false, r#"{"name":"a","parameters":{}}"#), [call("a")]);
        assert_eq!(split("ipython", true, false, "No {call}."), [text("No {call}.")]);
        assert_eq!(split("", true, false, "<tool_call>oops"), [text("oops")]);
        assert_eq!(split("", false, false, "<tool_call>x"), [text("<tool_call>x")]);
    }

    #[test]
    fn channels_are_apart() {
        let template = "<|channel|> <|message|>";
        let answer = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>";
        assert_eq!(split(template, false, false, answer), [thought("hm"), text("yes")]);
        let answer = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary \
            to=functions.a <|constrain|>json<|message|>{}<|call|>";
        assert_eq!(split(template, true, false, answer), [thought("hm"), call("a")]);
        let answer = "<|start|>assistant to=functions.a<|channel|>commentary json<|message|>{}";
        assert_eq!(split(template, true, false, answer), [call("a")]);
        let answer = "<|channel|>commentary<|message|>First,<|end|>";
        assert_eq!(split(template, true, false, answer), [text("First,")]);
        assert_eq!(split(template, true, false, r#"{"a": 1}"#), [text(r#"{"a": 1}"#)]);
    }
}
