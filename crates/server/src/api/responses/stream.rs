//! A response as events: items are opened, grow, and are closed, one after another.

use super::{body, function_call, message, reasoning};
use crate::api::{Context, merge};
use crate::error::Outcome;
use crate::generate::{Answer, End, Step};
use crate::output::Part;
use crate::stream::Writer;
use crate::tools::Call;
use serde_json::{Value, json};

/// Numbered events, and the items so far.
pub struct Events<'a> {
    context: &'a Context,
    writer: &'a Writer,
    number: usize,
    items: Vec<Value>,
    open: Option<Open>,
}

/// The item that is growing.
struct Open {
    kind: Kind,
    /// As it was announced.
    item: Value,
    /// Its text, or the arguments of a call.
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reasoning,
    Text,
    Call,
}

impl<'a> Events<'a> {
    pub fn new(context: &'a Context, writer: &'a Writer) -> Events<'a> {
        Events { context, writer, number: 0, items: Vec::new(), open: None }
    }

    pub async fn send(&mut self, kind: &str, mut value: Value) {
        value["type"] = kind.into();
        value["sequence_number"] = self.number.into();
        self.number += 1;
        self.writer.event(kind, &value).await;
    }

    /// The events of an answer.
    pub async fn answer(&mut self, answer: Answer) -> Outcome<()> {
        let at_first = body(self.context, vec![], None);
        self.send("response.created", json!({"response": at_first})).await;
        self.send("response.in_progress", json!({"response": at_first})).await;
        let mut steps = merge(vec![answer]);
        while let Some((_, step)) = steps.recv().await {
            match step? {
                Step::Parts(parts, _) => {
                    for part in parts {
                        self.part(part).await;
                    }
                }
                Step::Done(done) => self.end(&done).await,
            }
        }
        Ok(())
    }

    async fn part(&mut self, part: Part) {
        match part {
            Part::Reasoning(more) => {
                if self.open(Kind::Reasoning, reasoning(self.context, "")).await {
                    let part = json!({"type": "summary_text", "text": ""});
                    self.at("response.reasoning_summary_part.added", json!({"part": part})).await;
                }
                self.grow("response.reasoning_summary_text.delta", &more).await;
            }
            Part::Text(more) => {
                if self.open(Kind::Text, message(self.context, "", "in_progress")).await {
                    let part = json!({"type": "output_text", "text": "", "annotations": []});
                    self.at("response.content_part.added", json!({"part": part})).await;
                }
                self.grow("response.output_text.delta", &more).await;
            }
            Part::Call(call) => {
                let Call { name, arguments } = call;
                let begun = Call { name, arguments: String::new() };
                self.open(Kind::Call, function_call(self.context, &begun)).await;
                self.grow("response.function_call_arguments.delta", &arguments).await;
            }
            Part::Arguments(more) => self.grow("response.function_call_arguments.delta", &more).await,
        }
    }

    /// Opens an item, unless one of its kind goes on. Calls end with their arguments.
    async fn open(&mut self, kind: Kind, mut item: Value) -> bool {
        if kind != Kind::Call && self.open.as_ref().is_some_and(|open| open.kind == kind) {
            return false;
        }
        self.close().await;
        let index = self.items.len();
        match kind {
            Kind::Reasoning => item["summary"] = json!([]),
            Kind::Text => item["content"] = json!([]),
            Kind::Call => item["status"] = "in_progress".into(),
        }
        if index > 0 && kind != Kind::Call {
            item["id"] = format!("{}_{index}", item["id"].as_str().unwrap_or_default()).into();
        }
        self.send("response.output_item.added", json!({"output_index": index, "item": item})).await;
        self.open = Some(Open { kind, item, text: String::new() });
        true
    }

    async fn grow(&mut self, event: &str, more: &str) {
        let Some(open) = self.open.as_mut().filter(|_| !more.is_empty()) else { return };
        open.text.push_str(more);
        let mut delta = json!({"delta": more});
        if open.kind == Kind::Text {
            delta["logprobs"] = json!([]);
        }
        self.at(event, delta).await;
    }

    /// An event of the item that is growing.
    async fn at(&mut self, event: &str, mut value: Value) {
        let Some(open) = &self.open else { return };
        value["output_index"] = self.items.len().into();
        value["item_id"] = open.item["id"].clone();
        match open.kind {
            Kind::Reasoning => value["summary_index"] = 0.into(),
            Kind::Text => value["content_index"] = 0.into(),
            Kind::Call => {}
        }
        self.send(event, value).await;
    }

    /// Closes the item that is growing.
    async fn close(&mut self) {
        let Some(Open { kind, item, text }) = &self.open else { return };
        let (kind, mut item, text) = (*kind, item.clone(), text.clone());
        match kind {
            Kind::Reasoning => {
                let part = json!({"type": "summary_text", "text": text});
                self.at("response.reasoning_summary_text.done", json!({"text": text})).await;
                self.at("response.reasoning_summary_part.done", json!({"part": part})).await;
                item["summary"] = json!([part]);
            }
            Kind::Text => {
                let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
                self.at("response.output_text.done", json!({"text": text, "logprobs": []})).await;
                self.at("response.content_part.done", json!({"part": part})).await;
                (item["content"], item["status"]) = (json!([part]), "completed".into());
            }
            Kind::Call => {
                let end = json!({"arguments": text, "name": item["name"]});
                self.at("response.function_call_arguments.done", end).await;
                (item["arguments"], item["status"]) = (text.into(), "completed".into());
            }
        }
        self.open = None;
        let index = self.items.len();
        self.send("response.output_item.done", json!({"output_index": index, "item": item})).await;
        self.items.push(item);
    }

    async fn end(&mut self, done: &End) {
        self.close().await;
        let response = body(self.context, std::mem::take(&mut self.items), Some(done));
        let kind = format!("response.{}", response["status"].as_str().unwrap_or("completed"));
        self.send(&kind, json!({"response": response})).await;
    }
}
