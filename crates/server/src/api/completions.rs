//! OpenAI's `/v1/completions`.

use super::settings::Settings;
use super::{Context, Visit, finish_reason, merge, token_text};
use crate::app::now;
use crate::error::{ApiError, Dialect, Outcome, json_response};
use crate::generate::{Answer, Generation, Step, Usage, Whole};
use crate::host::Host;
use crate::output::Part;
use crate::prompt;
use crate::stream::{Framing, Writer, read_json, respond};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use wootz_llm::engine::Chosen;

#[derive(Deserialize)]
struct CompletionRequest {
    prompt: Value,
    logprobs: Option<i64>,
    echo: Option<bool>,
    suffix: Option<Value>,
    best_of: Option<i64>,
    #[serde(flatten)]
    settings: Settings,
}

/// What OpenAI's clients get where they do not say.
const USUAL_LIMIT: i64 = 16;
/// Likeliest tokens that are listed at most.
const MOST_LOGPROBS: i64 = 20;
/// Prompts of one request at most.
const MOST_PROMPTS: usize = 64;

pub async fn completions(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let mut request: CompletionRequest = read_json(&visit.app, request).await?;
    let context = visit.text(request.settings.model.as_deref()).await?;
    if request.suffix.as_ref().is_some_and(|s| !s.is_null()) {
        return Err(ApiError::field("suffix", "suffix (fill-in-the-middle) is not supported"));
    }
    if request.best_of.is_some_and(|best| best != request.settings.n.unwrap_or(1)) {
        return Err(ApiError::field("best_of", "best_of is not supported; all n answers are returned"));
    }
    request.settings.max_tokens.get_or_insert(USUAL_LIMIT);
    let logprobs = match request.logprobs {
        None => None,
        Some(count @ 0..=MOST_LOGPROBS) => Some(count as usize),
        Some(_) => {
            return Err(ApiError::field("logprobs", format!("logprobs must be from 0 to {MOST_LOGPROBS}")));
        }
    };
    let (mut answers, mut shown, mut each) = (Vec::new(), Vec::new(), 1);
    for prompt in prompts(&request.prompt)? {
        let tokens = prompt::plain(&context.host, prompt)?;
        let echo = request.echo.unwrap_or(false);
        let echoed =
            if echo { context.host.model().tokenizer().decode(&tokens, false) } else { String::new() };
        let mut generation = Generation::new(&context, tokens);
        request.settings.apply(&mut generation)?;
        generation.logprobs = logprobs;
        each = generation.count;
        shown.extend(std::iter::repeat_n(echoed, each));
        answers.extend(generation.submit(&context.host, &context.id).await?);
    }
    if !request.settings.streams() {
        return whole(&context, answers, (&shown, each), logprobs.is_some()).await;
    }
    let usage = request.settings.wants_usage();
    Ok(respond(Framing::Sse, move |writer| async move {
        if let Err(problem) =
            stream(&context, &writer, answers, (&shown, each), (usage, logprobs.is_some())).await
        {
            writer.send(&problem.body(Dialect::OpenAi)).await;
        }
        writer.end().await;
    }))
}

/// One prompt or several: texts, token ids, lists of either.
fn prompts(prompt: &Value) -> Outcome<Vec<&Value>> {
    let list = match prompt {
        Value::Array(list) if list.first().is_some_and(|first| !first.is_number()) => list.iter().collect(),
        one => vec![one],
    };
    match list.len() {
        1..=MOST_PROMPTS => Ok(list),
        count => {
            Err(ApiError::field("prompt", format!("{count} prompts; at most {MOST_PROMPTS} are allowed")))
        }
    }
}

fn body(context: &Context, choices: Value) -> Value {
    json!({
        "id": format!("cmpl-{}", context.id),
        "object": "text_completion",
        "created": now(),
        "model": context.host.name,
        "choices": choices,
    })
}

async fn whole(
    context: &Context,
    answers: Vec<Answer>,
    (shown, each): (&[String], usize),
    with_logprobs: bool,
) -> Outcome<Response> {
    let (mut choices, mut ended) = (Vec::new(), Vec::new());
    for (index, answer) in answers.into_iter().enumerate() {
        let Whole { text, tokens, done, .. } = answer.collect().await?;
        choices.push(json!({
            "index": index,
            "text": format!("{}{text}", shown[index]),
            "logprobs": with_logprobs.then(|| logprobs(&context.host, &tokens)),
            "finish_reason": done.as_ref().map(|done| finish_reason(done.finish, 0)),
        }));
        ended.extend(done);
    }
    let mut body = body(context, choices.into());
    body["usage"] = Usage::of(&ended, each).openai();
    Ok(json_response(StatusCode::OK, &body))
}

fn logprobs(host: &Host, tokens: &[Chosen]) -> Value {
    let (mut texts, mut values, mut tops, mut offsets, mut offset) = (vec![], vec![], vec![], vec![], 0);
    for chosen in tokens {
        let Some(id) = chosen.token else { continue };
        let text = token_text(host, id).0;
        offsets.push(offset);
        offset += text.chars().count();
        texts.push(text);
        values.push(chosen.logprob);
        let top: serde_json::Map<String, Value> =
            chosen.top.iter().map(|(id, l)| (token_text(host, *id).0, json!(l))).collect();
        tops.push(top);
    }
    json!({"tokens": texts, "token_logprobs": values, "top_logprobs": tops, "text_offset": offsets})
}

async fn stream(
    context: &Context,
    writer: &Writer,
    answers: Vec<Answer>,
    (shown, each): (&[String], usize),
    (with_usage, with_logprobs): (bool, bool),
) -> Outcome<()> {
    let chunk = |index: usize, text: &str, logprobs: Value, finish: Value| {
        let choice = json!({"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish});
        body(context, json!([choice]))
    };
    for (index, text) in shown.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
        writer.send(&chunk(index, text, Value::Null, Value::Null)).await;
    }
    let mut ended = vec![None; answers.len()];
    let mut steps = merge(answers);
    while let Some((index, step)) = steps.recv().await {
        match step? {
            Step::Parts(parts, chosen) => {
                let text: String =
                    parts.iter().map(|p| if let Part::Text(t) = p { t.as_str() } else { "" }).collect();
                let logprobs = if with_logprobs { logprobs(&context.host, &[chosen]) } else { Value::Null };
                if !text.is_empty() || with_logprobs {
                    writer.send(&chunk(index, &text, logprobs, Value::Null)).await;
                }
            }
            Step::Done(done) => {
                writer.send(&chunk(index, "", Value::Null, finish_reason(done.finish, 0).into())).await;
                ended[index] = Some(done);
            }
        }
    }
    if with_usage {
        let mut last = body(context, json!([]));
        last["usage"] = Usage::of(ended.iter().flatten(), each).openai();
        writer.send(&last).await;
    }
    Ok(())
}
