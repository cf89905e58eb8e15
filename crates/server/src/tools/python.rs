//! Calls in Python's notation: `[name(key="value", other=[1, 2])]`.

use super::Call;
use serde_json::{Map, Number, Value};

/// Lists and dictionaries may contain each other this deep.
const DEPTH: usize = 32;

/// A list of calls; `None` if it is anything else.
pub fn calls(text: &str) -> Option<Vec<Call>> {
    let mut reader = Reader { rest: text.trim() };
    let is_list = reader.takes("[");
    let mut calls = vec![reader.call()?];
    while is_list && reader.takes(",") {
        calls.push(reader.call()?);
    }
    let is_whole = (!is_list || reader.takes("]")) && reader.rest.trim().is_empty();
    is_whole.then_some(calls)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_.-+".contains(c))).unwrap_or(rest.len());
        let word = &rest[..end];
        self.rest = &rest[end..];
        (!word.is_empty()).then_some(word)
    }

    fn call(&mut self) -> Option<Call> {
        let name = self.word()?;
        if !self.takes("(") {
            return None;
        }
        let mut arguments = Map::new();
        while !self.takes(")") {
            if !arguments.is_empty() && !self.takes(",") {
                return None;
            }
            let key = self.word()?.to_owned();
            if !self.takes("=") {
                return None;
            }
            arguments.insert(key, self.value(0)?);
        }
        Some(Call { name: name.to_owned(), arguments: Value::Object(arguments).to_string() })
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        if self.takes("[") {
            let mut list = Vec::new();
            while !self.takes("]") {
                if !list.is_empty() && !self.takes(",") {
                    return None;
                }
                list.push(self.value(depth + 1)?);
            }
            return Some(list.into());
        }
        if self.takes("{") {
            let mut map = Map::new();
            while !self.takes("}") {
                if !map.is_empty() && !self.takes(",") {
                    return None;
                }
                let key = self.string()?;
                if !self.takes(":") {
                    return None;
                }
                map.insert(key, self.value(depth + 1)?);
            }
            return Some(map.into());
        }
        if let Some(text) = self.string() {
            return Some(text.into());
        }
        match self.word()? {
            "True" | "true" => Some(true.into()),
            "False" | "false" => Some(false.into()),
            "None" | "null" => Some(Value::Null),
            number => number.parse::<Number>().ok().map(Value::Number),
        }
    }

    /// Text in quotes of either kind.
    fn string(&mut self) -> Option<String> {
        let quote = ['"', '\''].into_iter().find(|quote| self.takes(quote.encode_utf8(&mut [0; 4])))?;
        let (mut text, mut chars) = (String::new(), self.rest.chars());
        loop {
            match chars.next()? {
                c if c == quote => break,
                '\\' => text.push(match chars.next()? {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                }),
                c => text.push(c),
            }
        }
        self.rest = chars.as_str();
        Some(text)
    }
}
