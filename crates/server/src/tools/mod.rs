//! Tools: how they are described to a model, how its calls are parsed, and how a call is forced.

mod force;
mod format;
mod parse;
mod python;

pub use format::{Format, NEVER, Style};
pub use parse::typed;

use crate::error::{ApiError, Outcome};
use crate::grammar::Grammar;
use serde_json::Value;
use wootz_llm::tokenizer::Vocab;

/// Which tool has to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// None may be.
    None,
    /// The model decides.
    Auto,
    /// One of them.
    Required,
    /// This one.
    Named(String),
}

/// A call that a model has made.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON text.
    pub arguments: String,
}

impl Call {
    /// The calls in what stands between a format's tags.
    pub fn parse(text: &str, tools: &Tools) -> Option<Vec<Call>> {
        parse::calls(text, tools)
    }

    /// A call by name, if its arguments are a JSON object.
    pub fn with(name: &str, arguments: &str) -> Option<Call> {
        let arguments = arguments.trim();
        let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
        (is_object && !name.is_empty())
            .then(|| Call { name: name.to_owned(), arguments: arguments.to_owned() })
    }
}

/// Tools in OpenAI's form, checked: `{"type": "function", "function": {"name", "description", "parameters"}}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tools(pub Vec<Value>);

impl Tools {
    /// Refuses what is no tool.
    pub fn new(list: Vec<Value>) -> Outcome<Tools> {
        for tool in &list {
            let name = tool.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
            if name.is_empty() {
                return Err(ApiError::field("tools", "every tool must be a function with a name"));
            }
            if tool.pointer("/function/parameters").is_some_and(|p| !p.is_object() && !p.is_null()) {
                return Err(ApiError::field(
                    "tools",
                    format!("the parameters of '{name}' must be a JSON schema"),
                ));
            }
        }
        Ok(Tools(list))
    }

    fn name(tool: &Value) -> &str {
        tool.pointer("/function/name").and_then(Value::as_str).unwrap_or_default()
    }

    /// What tells a model of the tools whose template does not.
    pub fn description(&self) -> String {
        let list: Vec<String> = self.0.iter().map(Value::to_string).collect();
        format!(
            "You can call functions. The functions, one per line, as JSON schemas:\n{}\nTo call one, answer with \
             <tool_call>{{\"name\": the name, \"arguments\": the arguments}}</tool_call> and nothing else.",
            list.join("\n")
        )
    }

    /// Whether one of them has this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|tool| Tools::name(tool) == name)
    }

    /// Whether a parameter of a tool is text, as far as its schema says.
    pub fn is_text(&self, tool: &str, parameter: &str) -> bool {
        let tool = self.0.iter().find(|known| Tools::name(known) == tool);
        let schema = tool.and_then(|tool| tool.pointer("/function/parameters/properties")?.get(parameter));
        schema.is_some_and(|schema| schema["type"] == "string")
    }

    /// The grammar of a call that is forced; none where it is not.
    pub fn grammar(&self, choice: &Choice, format: Format, vocab: &Vocab) -> Outcome<Option<Grammar>> {
        let picked: Vec<&Value> = match choice {
            Choice::None | Choice::Auto => return Ok(None),
            Choice::Required => self.0.iter().collect(),
            Choice::Named(name) => self.0.iter().filter(|tool| Tools::name(tool) == name).collect(),
        };
        if picked.is_empty() {
            return Err(ApiError::field("tool_choice", "tool_choice names an unknown tool"));
        }
        let calls: Vec<String> = picked.iter().map(|tool| force::call(tool, format, vocab)).collect();
        Ok(Some(Grammar::Call(format!("start: {}\n", calls.join(" | ")))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn weather() -> Tools {
        let parameters = json!({"type": "object", "properties": {
            "city": {"type": "string"}, "days": {"type": "integer"}, "zip": {"type": "string"},
        }});
        let function = json!({"name": "weather", "parameters": parameters});
        Tools::new(vec![json!({"type": "function", "function": function})]).unwrap()
    }

    fn parse(text: &str) -> Option<Vec<(String, Value)>> {
        let value = |call: Call| (call.name, serde_json::from_str(&call.arguments).unwrap());
        Some(Call::parse(text, &weather())?.into_iter().map(value).collect())
    }

    #[test]
    fn calls_are_read_in_every_notation() {
        let call = ("weather".to_owned(), json!({"city": "Oslo", "days": 3}));
        for text in [
            r#" {"name": "weather", "arguments": {"city": "Oslo", "days": 3}} "#,
            r#"{"name":"weather","parameters":{"city":"Oslo","days":3}}"#,
            r#"[{"name":"weather","arguments":{"city":"Oslo","days":3}}]"#,
            r#"[{"name":"weather","arguments":{"city":"Oslo","days":3}}]<|/tool_call|>"#,
            r#"<|python_tag|>{"name":"weather","arguments":"{\"city\":\"Oslo\",\"days\":3}"}"#,
            r#"weather[ARGS]{"city": "Oslo", "days": 3}"#,
            r#"weather[CALL_ID]abc[ARGS]{"city": "Oslo", "days": 3}"#,
            "\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n",
            r#"[weather(city="Oslo", days=3)]"#,
            r#"weather(city='Oslo', days=3)"#,
            r#"call:weather{city:<|"|>Oslo<|"|>,days:3}"#,
            r#"call:weather{"city": "Oslo", "days": 3}"#,
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\":\"Oslo\",\"days\":3}\n```<｜tool▁call▁end｜>",
            r#"<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city":"Oslo","days":3}<｜tool▁call▁end｜>"#,
        ] {
            assert_eq!(parse(text), Some(vec![call.clone()]), "{text}");
        }
        let text = r#"weather[ARGS]{"city": "Oslo", "days": 3}[TOOL_CALLS]weather[ARGS]{}"#;
        assert_eq!(parse(text), Some(vec![call, ("weather".to_owned(), json!({}))]));
    }

    #[test]
    fn values_keep_their_types() {
        let text =
            "<function=weather><parameter=zip>0150</parameter><parameter=days>[1, 2]</parameter></function>";
        assert_eq!(parse(text), Some(vec![("weather".into(), json!({"zip": "0150", "days": [1, 2]}))]));
        let text = r#"[weather(a=True, b=None, c=[1.5, 'x\'y'], d={"k": "a, b)"})]"#;
        let expected = json!({"a": true, "b": null, "c": [1.5, "x'y"], "d": {"k": "a, b)"}});
        assert_eq!(parse(text), Some(vec![("weather".into(), expected)]));
        let text = r#"call:weather{a:{b:[<|"|>x: "y"<|"|>, true]}, c:"k:\"v"}"#;
        let expected = json!({"a": {"b": ["x: \"y\"", true]}, "c": "k:\"v"});
        assert_eq!(parse(text), Some(vec![("weather".into(), expected)]));
    }

    #[test]
    fn other_text_is_no_call() {
        for text in [
            "",
            "hello",
            "{}",
            "[]",
            r#"{"name": 3, "arguments": {}}"#,
            r#"[{"name":"f"}]"#,
            "f(x)",
            "[f(x=1)",
            "f[ARGS]{",
            "call:f{a:}",
            "<function=f><parameter",
            "<function=f",
            "<｜tool▁call▁begin｜>f",
            "[f(x=\"é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
