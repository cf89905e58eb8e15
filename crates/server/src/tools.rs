//! Tools: how a model is told of them, how it calls them, and how a call is forced.

use crate::error::{ApiError, Outcome};
use crate::grammar::Grammar;
use serde_json::{Value, json};

/// How a model writes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>`: Hermes, Qwen, SmolLM and others.
    Tagged,
    /// `[TOOL_CALLS][{"name": …, "arguments": …}]`: Mistral.
    List,
    /// `{"name": …, "parameters": …}` as the whole answer: Llama 3.
    Bare,
}

impl Format {
    /// The format that a chat template speaks of.
    pub fn of(template: &str) -> Format {
        if template.contains("[TOOL_CALLS]") {
            Format::List
        } else if !template.contains("<tool_call>") && template.contains("ipython") {
            Format::Bare
        } else {
            Format::Tagged
        }
    }

    /// What stands before calls and after each.
    pub fn tags(self) -> Option<(&'static str, &'static str)> {
        match self {
            Format::Tagged => Some(("<tool_call>", "</tool_call>")),
            Format::List => Some(("[TOOL_CALLS]", "\u{0}")),
            Format::Bare => None,
        }
    }

    fn arguments(self) -> &'static str {
        if self == Format::Bare { "parameters" } else { "arguments" }
    }
}

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
    /// The calls in what stands between the tags: an object, or a list of them.
    pub fn parse(text: &str) -> Option<Vec<Call>> {
        let text = text.trim().trim_start_matches("<|python_tag|>").trim();
        let value: Value = serde_json::from_str(text).ok()?;
        let list = match value {
            Value::Array(list) if !list.is_empty() => list,
            object @ Value::Object(_) => vec![object],
            _ => return None,
        };
        list.into_iter().map(Call::of).collect()
    }

    fn of(value: Value) -> Option<Call> {
        let name = value.get("name")?.as_str()?.to_owned();
        let arguments = value.get("arguments").or_else(|| value.get("parameters"))?;
        let arguments = match arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(Call { name, arguments })
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

    /// The grammar of a call that is forced; none where it is not.
    pub fn grammar(&self, choice: &Choice, format: Format) -> Outcome<Option<Grammar>> {
        let picked: Vec<&Value> = match choice {
            Choice::None | Choice::Auto => return Ok(None),
            Choice::Required => self.0.iter().collect(),
            Choice::Named(name) => self.0.iter().filter(|tool| Tools::name(tool) == name).collect(),
        };
        if picked.is_empty() {
            return Err(ApiError::field("tool_choice", "there is no such tool to be called"));
        }
        let call = |tool: &&Value| {
            let parameters = tool.pointer("/function/parameters").filter(|p| p.is_object());
            let parameters =
                parameters.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
            json!({
                "type": "object",
                "properties": {"name": {"const": Tools::name(tool)}, format.arguments(): parameters},
                "required": ["name", format.arguments()],
                "additionalProperties": false,
                "x-guidance": {"whitespace_flexible": false},
            })
        };
        let calls: Vec<Value> = picked.iter().map(call).collect();
        let schema = if calls.len() == 1 { calls[0].clone() } else { json!({"anyOf": calls}) };
        let start = match format {
            Format::Tagged => "start: \"<tool_call>\" call \"</tool_call>\"",
            Format::List => "start: \"[TOOL_CALLS][\" call \"]\"",
            Format::Bare => "start: call",
        };
        Ok(Some(Grammar::Lark(format!("{start}\ncall: %json {schema}\n"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_in_every_form() {
        let call = Call { name: "f".into(), arguments: r#"{"x":1}"#.into() };
        for text in [
            r#" {"name": "f", "arguments": {"x": 1}} "#,
            r#"{"name":"f","parameters":{"x":1}}"#,
            r#"[{"name":"f","arguments":{"x":1}}]"#,
            r#"<|python_tag|>{"name":"f","arguments":"{\"x\":1}"}"#,
        ] {
            assert_eq!(Call::parse(text), Some(vec![call.clone()]), "{text}");
        }
        for text in ["", "hello", "{}", "[]", r#"{"name": 3, "arguments": {}}"#, r#"[{"name":"f"}]"#] {
            assert_eq!(Call::parse(text), None, "{text}");
        }
    }

    #[test]
    fn tools_without_names_are_refused() {
        assert!(Tools::new(vec![json!({"type": "function"})]).is_err());
        let tool = json!({"type": "function", "function": {"name": "f", "parameters": 3}});
        assert!(Tools::new(vec![tool]).is_err());
        let tools = Tools::new(vec![json!({"type": "function", "function": {"name": "f"}})]).unwrap();
        assert!(tools.grammar(&Choice::Named("g".into()), Format::Tagged).is_err());
        assert!(tools.grammar(&Choice::Required, Format::Tagged).unwrap().is_some());
        assert_eq!(tools.grammar(&Choice::Auto, Format::Tagged).unwrap(), None);
    }
}
