//! Calls as XML (Qwen3-Coder, Qwen3.5), whose parameters become JSON while they are written.

use super::overlap;
use crate::tools::{Tools, typed};
use serde_json::Value;

const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";
const END: &str = "</function>";

/// The body of `<function=name><parameter=key>value</parameter></function>`.
#[derive(Clone, Debug)]
pub struct Xml {
    name: String,
    /// Parameters so far.
    count: usize,
    value: Option<Parameter>,
}

/// A parameter whose value is being read.
#[derive(Clone, Debug)]
struct Parameter {
    is_text: bool,
    /// Whether nothing of it was passed on.
    is_fresh: bool,
}

impl Xml {
    pub const BEGIN: &str = "<function=";

    pub fn new(name: String) -> Xml {
        Xml { name, count: 0, value: None }
    }

    /// Takes from `held` what is decided, and adds it to `json`. Returns whether the call has ended.
    pub fn read(&mut self, held: &mut String, tools: &Tools, json: &mut String) -> bool {
        loop {
            if let Some(parameter) = &mut self.value {
                let ends = [PARAMETER_END, PARAMETER, END].map(|tag| held.find(tag));
                let Some(end) = ends.into_iter().flatten().min() else {
                    parameter.pass_on(held, json);
                    return false;
                };
                let value: String = held.drain(..end).collect();
                parameter.end(&value, json);
                self.value = None;
                if held.starts_with(PARAMETER_END) {
                    held.drain(..PARAMETER_END.len());
                }
            }
            held.drain(..held.len() - held.trim_start().len());
            if let Some((key, _)) = held.strip_prefix(PARAMETER).and_then(|rest| rest.split_once('>')) {
                json.push_str(if self.count == 0 { "{" } else { ", " });
                json.push_str(&format!("{}: ", Value::from(key.trim())));
                self.count += 1;
                self.value =
                    Some(Parameter { is_text: tools.is_text(&self.name, key.trim()), is_fresh: true });
                held.drain(..PARAMETER.len() + key.len() + 1);
            } else if held.starts_with(END) {
                held.drain(..END.len());
                json.push_str(if self.count == 0 { "{}" } else { "}" });
                return true;
            } else {
                return false;
            }
        }
    }

    /// The end of a call that the model did not end.
    pub fn finish(&mut self, held: &mut String, tools: &Tools, json: &mut String) {
        held.push_str(END);
        self.read(held, tools, json);
    }
}

impl Parameter {
    /// Passes on a text that goes on.
    fn pass_on(&mut self, held: &mut String, json: &mut String) {
        if !self.is_text {
            return;
        }
        // A line break may be the one before the end tag.
        let keep =
            [PARAMETER_END, PARAMETER, END].map(|tag| overlap(held, tag)).into_iter().max().unwrap_or(0);
        let keep = keep + usize::from(held[..held.len() - keep].ends_with('\n'));
        let text: String = held.drain(..held.len() - keep).collect();
        if !text.is_empty() {
            self.write(&text, json);
        }
    }

    fn write(&mut self, text: &str, json: &mut String) {
        let is_first = std::mem::replace(&mut self.is_fresh, false);
        let text = if is_first { text.strip_prefix('\n').unwrap_or(text) } else { text };
        let quoted = Value::from(text).to_string();
        json.push_str(if is_first { "\"" } else { "" });
        json.push_str(&quoted[1..quoted.len() - 1]);
    }

    fn end(&mut self, value: &str, json: &mut String) {
        if self.is_text {
            // The first line break is that after the tag, the last one that before its end.
            let value = match self.is_fresh && value == "\n" {
                true => "",
                false => value.strip_suffix('\n').unwrap_or(value),
            };
            self.write(value, json);
            json.push('"');
        } else {
            let value = value.strip_prefix('\n').unwrap_or(value);
            json.push_str(&typed(value.strip_suffix('\n').unwrap_or(value), false).to_string());
        }
    }
}
