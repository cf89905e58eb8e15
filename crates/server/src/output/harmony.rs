//! gpt-oss writes an answer as messages in channels:
//! `<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…`. Reasoning is in `analysis`, the
//! answer in `final`, and a message whose header says `to=functions.NAME` is a call.

use super::{Part, overlap};
use crate::tools::Call;

const MESSAGE: &str = "<|message|>";
const CHANNEL: &str = "<|channel|>";
/// What begins a header, or ends a message.
const TAGS: [&str; 7] = [CHANNEL, MESSAGE, "<|start|>", "<|end|>", "<|call|>", "<|return|>", "<|constrain|>"];

#[derive(Clone, Debug, Default, PartialEq)]
enum Within {
    /// Before the first header: text without one is the answer.
    #[default]
    Nothing,
    /// A header, from the name of its channel on.
    Header(String),
    Reasoning,
    Text,
    /// The arguments of a call.
    Call {
        name: String,
        arguments: String,
    },
    /// The arguments of a call that are passed on.
    LiveCall,
}

/// Takes an answer's messages apart.
#[derive(Clone, Debug, Default)]
pub struct Harmony {
    within: Within,
    held: String,
    /// Whether calls are passed on as they are written.
    pub is_live: bool,
}

impl Harmony {
    /// Adds text; the parts that are decided.
    pub fn push(&mut self, text: &str) -> Vec<Part> {
        self.held.push_str(text);
        let mut parts = Vec::new();
        while let Some((at, tag)) = TAGS.iter().filter_map(|tag| Some((self.held.find(tag)?, *tag))).min() {
            let rest = self.held.split_off(at + tag.len());
            let mut before = std::mem::replace(&mut self.held, rest);
            before.truncate(at);
            self.take(&before, &mut parts);
            self.turn(tag, &mut parts);
        }
        let keep = TAGS.iter().map(|tag| overlap(&self.held, tag)).max().unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - keep);
        let text = std::mem::replace(&mut self.held, rest);
        self.take(&text, &mut parts);
        parts
    }

    pub fn is_reasoning(&self) -> bool {
        self.within == Within::Reasoning
    }

    fn take(&mut self, text: &str, parts: &mut Vec<Part>) {
        match &mut self.within {
            _ if text.is_empty() => {}
            Within::Header(header) => header.push_str(text),
            Within::Call { name, arguments } => {
                arguments.push_str(text);
                if self.is_live && arguments.trim_start().starts_with('{') {
                    let name = std::mem::take(name);
                    let arguments = arguments.trim_start().to_owned();
                    parts.push(Part::Call(Call { name, arguments: String::new() }));
                    parts.push(Part::Arguments(arguments));
                    self.within = Within::LiveCall;
                }
            }
            Within::LiveCall => parts.push(Part::Arguments(text.to_owned())),
            Within::Reasoning => parts.push(Part::Reasoning(text.to_owned())),
            Within::Nothing | Within::Text => {
                self.within = Within::Text;
                parts.push(Part::Text(text.to_owned()));
            }
        }
    }

    /// A tag: headers go on to `<|message|>`, everything else ends a message.
    fn turn(&mut self, tag: &str, parts: &mut Vec<Part>) {
        match (&mut self.within, tag) {
            (Within::Header(header), MESSAGE) => self.within = body(header),
            (Within::Header(header), CHANNEL | "<|constrain|>") => header.push(' '),
            _ => {
                self.end_call(parts);
                self.within = match tag {
                    CHANNEL | "<|start|>" => Within::Header(String::new()),
                    _ => Within::Nothing,
                };
            }
        }
    }

    fn end_call(&mut self, parts: &mut Vec<Part>) {
        if let Within::Call { name, arguments } = &self.within {
            // What cannot be read is shown, so that nothing is lost.
            let call = Call::with(name, arguments);
            parts.push(call.map_or_else(|| Part::Text(arguments.clone()), Part::Call));
        }
    }

    /// Ends the answer.
    pub fn finish(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        let held = std::mem::take(&mut self.held);
        self.take(&held, &mut parts);
        self.end_call(&mut parts);
        self.within = Within::Nothing;
        parts
    }
}

/// What a header announces.
fn body(header: &str) -> Within {
    let mut words = header.split_whitespace();
    if let Some(name) = words.clone().find_map(|word| word.strip_prefix("to=functions.")) {
        return Within::Call { name: name.to_owned(), arguments: String::new() };
    }
    if words.any(|word| word == "analysis") { Within::Reasoning } else { Within::Text }
}
