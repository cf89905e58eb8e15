//! The OpenAPI description, generated from the routes.

use crate::ServerOptions;
use crate::routes::{Access, ROUTES};
use serde_json::{Map, Value, json};

/// The document.
pub fn document(models: &[&str], options: &ServerOptions) -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let mut operation = json!({
            "summary": route.summary,
            "operationId": format!("{}{}", route.method, route.path.replace(['/', '{', '}', '.'], "_")),
            "responses": responses(route.access == Access::Open, route.schema.is_some()),
        });
        if let Some(schema) = route.schema {
            let content = json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
            operation["requestBody"] = json!({"required": true, "content": {"application/json": content}});
        }
        if route.path.contains("{name}") {
            let name = json!({"name": "name", "in": "path", "required": true, "schema": {"type": "string"}});
            operation["parameters"] = json!([name]);
        }
        if route.access == Access::Open {
            operation["security"] = json!([]);
        }
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {"title": "Wootz", "version": env!("CARGO_PKG_VERSION"),
                 "description": "Language models with OpenAI, Anthropic and Ollama compatible APIs."},
        "paths": paths,
        "components": {
            "schemas": schemas(models),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    });
    if !options.keys.is_empty() {
        document["security"] = json!([{"key": []}]);
    }
    document
}

fn responses(open: bool, has_body: bool) -> Value {
    let mut all = json!({"200": {"description": "The answer"}});
    let mut add = |status: &str, description: &str| all[status] = json!({"description": description});
    add("403", "A web page of an origin that is not allowed");
    if !open {
        add("401", "Missing or invalid API key");
    }
    add("404", "Unknown model");
    if has_body {
        add("400", "The request is not valid");
        add("408", "The request took too long to arrive");
        add("413", "The request is too large");
        add("429", "The queue is full");
        add("500", "The answer failed");
        add("504", "The answer took too long");
    }
    add("503", "The server is shutting down");
    all
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

fn schemas(models: &[&str]) -> Value {
    let text = json!({"type": "string"});
    let name = json!({"type": "string", "enum": models});
    let messages = json!({"type": "array", "minItems": 1, "items": {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"enum": ["system", "user", "assistant"]}, "content": text},
    }});
    let tools = json!({"type": "array", "items": {
        "type": "object",
        "required": ["type", "function"],
        "properties": {"type": {"const": "function"}, "function": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "minLength": 1}, "description": text, "parameters": {"type": "object"}},
        }},
    }});
    let choice = json!({"enum": ["none", "auto", "required"]});
    let effort = json!({"enum": ["none", "low", "medium", "high"]});
    let think = json!({"anyOf": [{"type": "boolean"}, effort]});
    let number = |least: f64, most: f64| json!({"type": "number", "minimum": least, "maximum": most});
    let integer = |least: i64, most: i64| json!({"type": "integer", "minimum": least, "maximum": most});
    let settings = json!({
        "model": name,
        "temperature": number(0.0, 2.0),
        "top_p": number(0.0, 1.0),
        "top_k": integer(0, 1000),
        "min_p": number(0.0, 1.0),
        "frequency_penalty": number(-2.0, 2.0),
        "presence_penalty": number(-2.0, 2.0),
        "seed": {"type": "integer", "minimum": 0, "maximum": i64::MAX},
        "stop": {"anyOf": [text, {"type": "array", "items": text, "maxItems": 32}]},
        "max_tokens": integer(1, 1_000_000),
        "n": integer(1, 16),
        "stream": {"type": "boolean"},
        "stream_options": object(&[], json!({"include_usage": {"type": "boolean"}})),
        "response_format": {"type": "object", "required": ["type"], "properties": {
            "type": {"enum": ["text", "json_object", "json_schema", "regex", "grammar"]},
            "json_schema": {"type": "object"}, "pattern": text, "grammar": text,
        }},
    });
    let with = |mut properties: Value| {
        for (name, schema) in settings.as_object().into_iter().flatten() {
            properties[name] = schema.clone();
        }
        properties
    };
    let options = object(
        &[],
        json!({
            "temperature": number(0.0, 2.0), "top_k": integer(0, 1000), "top_p": number(0.0, 1.0),
            "seed": {"type": "integer", "minimum": 0, "maximum": i64::MAX}, "num_predict": integer(-1, 1_000_000),
            "stop": {"type": "array", "items": text},
        }),
    );
    let format = json!({"anyOf": [{"const": "json"}, {"type": "object"}]});
    json!({
        "ChatRequest": object(&["messages"], with(json!({
            "messages": messages, "tools": tools, "tool_choice": choice, "reasoning_effort": effort, "logprobs": {"type": "boolean"}, "top_logprobs": integer(0, 20),
            "logit_bias": {"type": "object", "additionalProperties": number(-100.0, 100.0)},
        }))),
        "CompletionRequest": object(&["prompt"], with(json!({
            "prompt": {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]},
            "echo": {"type": "boolean"}, "logprobs": integer(0, 20),
        }))),
        "ResponsesRequest": object(&["input"], json!({
            "model": name, "input": {"anyOf": [text, messages]}, "instructions": text,
            "max_output_tokens": integer(1, 1_000_000), "temperature": number(0.0, 2.0),
            "stream": {"type": "boolean"}, "tools": tools, "tool_choice": choice,
            "reasoning": object(&[], json!({"effort": effort})),
        })),
        "MessagesRequest": object(&["messages", "max_tokens"], json!({
            "model": name, "messages": messages, "max_tokens": integer(1, 1_000_000), "system": text,
            "temperature": number(0.0, 2.0), "top_p": number(0.0, 1.0), "top_k": integer(0, 1000),
            "stop_sequences": {"type": "array", "items": text}, "stream": {"type": "boolean"},
            "tools": {"type": "array", "items": object(&["name", "input_schema"], json!({
                "name": {"type": "string", "minLength": 1}, "description": text, "input_schema": {"type": "object"},
            }))},
            "tool_choice": object(&["type"], json!({"type": {"enum": ["auto", "any", "none"]}})),
            "thinking": object(&["type"], json!({"type": {"enum": ["enabled", "disabled"]}})),
        })),
        "CountTokensRequest": object(&["messages"], json!({"model": name, "messages": messages, "system": text})),
        "OllamaChatRequest": object(&["model", "messages"], json!({
            "model": name, "messages": messages, "stream": {"type": "boolean"}, "format": format, "options": options,
            "tools": tools, "think": think,
        })),
        "OllamaGenerateRequest": object(&["model", "prompt"], json!({
            "model": name, "prompt": text, "system": text, "raw": {"type": "boolean"}, "stream": {"type": "boolean"},
            "format": format, "options": options, "think": think,
        })),
        "OllamaShowRequest": object(&["model"], json!({"model": name})),
        "EmbeddingRequest": object(&["input"], json!({
            "model": name, "dimensions": integer(1, 1_000_000), "encoding_format": {"enum": ["float", "base64"]},
            "truncate": {"type": "boolean"}, "input": {"anyOf": [
                text, {"type": "array", "items": text, "minItems": 1},
                {"type": "array", "items": integer(0, i64::from(u32::MAX)), "minItems": 1},
            ]},
        })),
        "OllamaEmbeddingRequest": object(&["model", "prompt"], json!({"model": name, "prompt": text})),
        "RerankRequest": object(&["query", "documents"], json!({
            "model": name, "query": text, "documents": {"type": "array", "items": text, "minItems": 1},
            "top_n": integer(1, 2048), "return_documents": {"type": "boolean"},
        })),
        "TokenizeRequest": object(&["content"], json!({
            "model": name, "content": text, "add_special": {"type": "boolean"}, "parse_special": {"type": "boolean"},
        })),
        "DetokenizeRequest": object(&["tokens"], json!({
            "model": name, "tokens": {"type": "array", "items": integer(0, i64::from(u32::MAX))}, "special": {"type": "boolean"},
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_every_reference_leads_somewhere() {
        let document = document(&["m"], &ServerOptions::new(([127, 0, 0, 1], 0).into()));
        let described: usize =
            document["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(described, ROUTES.len());
        for route in ROUTES {
            assert!(
                document["paths"][route.path][route.method].is_object(),
                "{} {}",
                route.method,
                route.path
            );
            if let Some(schema) = route.schema {
                assert!(document["components"]["schemas"][schema].is_object(), "{schema}");
            }
        }
    }
}
