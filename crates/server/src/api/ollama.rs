//! Ollama's `/api/chat`, `/api/generate` and lists of models.

use super::{Context, Visit, merge};
use crate::error::{ApiError, Dialect, Outcome, json_response};
use crate::generate::{Answer, Generation, Step};
use crate::grammar::Grammar;
use crate::host::{Host, Hosted};
use crate::models::{Models, Offer};
use crate::output::Part;
use crate::prompt;
use crate::stream::{Framing, Writer, read_json, respond};
use crate::tools::{Call, Choice, Style, Tools};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::time::{Duration, SystemTime};
use wootz_llm::Finish;
use wootz_llm::engine::Done;

#[derive(Deserialize)]
struct OllamaRequest {
    model: Option<String>,
    messages: Option<Vec<Value>>,
    prompt: Option<String>,
    suffix: Option<String>,
    images: Option<Vec<Value>>,
    system: Option<String>,
    raw: Option<bool>,
    tools: Option<Vec<Value>>,
    format: Option<Value>,
    think: Option<Value>,
    stream: Option<bool>,
    options: Option<Options>,
}

#[derive(Default, Deserialize)]
struct Options {
    temperature: Option<f32>,
    top_k: Option<i64>,
    top_p: Option<f32>,
    min_p: Option<f32>,
    repeat_penalty: Option<f32>,
    frequency_penalty: Option<f32>,
    presence_penalty: Option<f32>,
    seed: Option<i64>,
    num_predict: Option<i64>,
    stop: Option<Vec<String>>,
}

/// What the answer is called in the two forms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Chat,
    Generate,
}

pub async fn chat(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    answer(visit, request, Form::Chat).await
}

pub async fn generate(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    answer(visit, request, Form::Generate).await
}

async fn answer(visit: Visit, request: Request<Body>, form: Form) -> Outcome<Response> {
    let request: OllamaRequest = read_json(&visit.app, request).await?;
    let context = visit.text(request.model.as_deref()).await?;
    if request.suffix.as_ref().is_some_and(|suffix| !suffix.is_empty()) {
        return Err(ApiError::field("suffix", "suffix (fill-in-the-middle) is not supported"));
    }
    if request.images.as_ref().is_some_and(|images| !images.is_empty()) {
        return Err(ApiError::field("images", "images are not supported by this model, only text"));
    }
    let streams = request.stream.unwrap_or(true);
    let empty = match form {
        Form::Chat => request.messages.as_ref().is_none_or(Vec::is_empty),
        Form::Generate => request.prompt.as_ref().is_none_or(String::is_empty),
    };
    if empty {
        // Ollama's clients load a model so.
        let mut body = head(&context.host, form, "", &[], "");
        (body["done"], body["done_reason"]) = (true.into(), "load".into());
        return Ok(json_response(StatusCode::OK, &body));
    }
    let answers = generation(&context, request, form)?.submit(&context.host, &context.id).await?;
    if !streams {
        return whole(&context, answers, form).await;
    }
    Ok(respond(Framing::Lines, move |writer| async move {
        if let Err(problem) = stream(&context, &writer, answers, form).await {
            writer.send(&problem.body(Dialect::Ollama)).await;
        }
    }))
}

fn generation(context: &Context, request: OllamaRequest, form: Form) -> Outcome<Generation> {
    let host = &context.host;
    let tools = Tools::new(request.tools.unwrap_or_default())?;
    let mut generation = match form {
        Form::Generate if request.raw.unwrap_or(false) || host.model().template().is_none() => {
            let tokens = prompt::plain(host, &Value::String(request.prompt.unwrap_or_default()))?;
            Generation::new(context, tokens)
        }
        _ => {
            let mut messages = request.messages.unwrap_or_default();
            if let Some(text) = request.prompt {
                messages.push(json!({"role": "user", "content": text}));
            }
            if let Some(system) = request.system {
                messages.insert(0, json!({"role": "system", "content": system}));
            }
            let choice = if tools.0.is_empty() { Choice::None } else { Choice::Auto };
            let extra = prompt::thinking(request.think.as_ref());
            let prompt = prompt::chat(host, messages, &tools, &choice, extra)?;
            Generation::chat(context, prompt)
        }
    };
    generation.grammar = match request.format {
        None | Some(Value::Null) => None,
        Some(Value::String(word)) if word.is_empty() => None,
        Some(Value::String(word)) if word == "json" => Some(Grammar::Schema(json!({"type": "object"}))),
        Some(schema @ Value::Object(_)) => Some(Grammar::Schema(schema)),
        Some(_) => return Err(ApiError::field("format", "format must be \"json\" or a JSON schema")),
    };
    options(&mut generation, request.options.unwrap_or_default());
    Ok(generation)
}

fn options(generation: &mut Generation, options: Options) {
    let sampling = &mut generation.sampling;
    sampling.temperature = options.temperature.unwrap_or(sampling.temperature);
    sampling.top_p = options.top_p.unwrap_or(sampling.top_p).max(f32::MIN_POSITIVE);
    sampling.min_p = options.min_p.unwrap_or(sampling.min_p);
    sampling.repeat_penalty = options.repeat_penalty.unwrap_or(sampling.repeat_penalty);
    if let Some(top_k) = options.top_k {
        sampling.top_k = usize::try_from(top_k).unwrap_or(0);
    }
    generation.adjust.frequency_penalty = options.frequency_penalty.unwrap_or(0.0);
    generation.adjust.presence_penalty = options.presence_penalty.unwrap_or(0.0);
    generation.seed = options.seed.map(|seed| seed as u64);
    generation.limit = options.num_predict.and_then(|limit| usize::try_from(limit).ok());
    generation.stops = options.stop.unwrap_or_default();
}

fn head(host: &Host, form: Form, text: &str, calls: &[Call], thinking: &str) -> Value {
    let mut body = json!({"model": host.name, "created_at": timestamp(SystemTime::now()), "done": false});
    match form {
        Form::Generate => {
            body["response"] = text.into();
            if !thinking.is_empty() {
                body["thinking"] = thinking.into();
            }
        }
        Form::Chat => {
            let mut message = json!({"role": "assistant", "content": text});
            if !thinking.is_empty() {
                message["thinking"] = thinking.into();
            }
            if !calls.is_empty() {
                let call = |call: &Call| {
                    let arguments: Value =
                        serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::Object(Map::new()));
                    json!({"function": {"name": call.name, "arguments": arguments}})
                };
                message["tool_calls"] = calls.iter().map(call).collect();
            }
            body["message"] = message;
        }
    }
    body
}

fn finish(body: &mut Value, done: &Done, load_time: Duration) {
    let nanoseconds = |time: Duration| time.as_nanos() as u64;
    body["done"] = true.into();
    body["done_reason"] = match done.finish {
        Finish::Limit | Finish::Context => "length".into(),
        _ => "stop".into(),
    };
    body["total_duration"] = nanoseconds(done.total_time).into();
    body["load_duration"] = nanoseconds(load_time).into();
    body["prompt_eval_count"] = done.prompt_tokens.into();
    body["prompt_eval_duration"] = nanoseconds(done.first_token_time.saturating_sub(done.queue_time)).into();
    body["eval_count"] = done.tokens.into();
    body["eval_duration"] = nanoseconds(done.total_time.saturating_sub(done.first_token_time)).into();
}

async fn whole(context: &Context, answers: Vec<Answer>, form: Form) -> Outcome<Response> {
    let mut body = Value::Null;
    for answer in answers {
        let whole = answer.collect().await?;
        body = head(&context.host, form, &whole.text, &whole.calls, &whole.reasoning);
        if let Some(done) = &whole.done {
            finish(&mut body, done, context.load_time);
        }
    }
    Ok(json_response(StatusCode::OK, &body))
}

async fn stream(context: &Context, writer: &Writer, answers: Vec<Answer>, form: Form) -> Outcome<()> {
    let host = &context.host;
    let mut steps = merge(answers);
    while let Some((_, step)) = steps.recv().await {
        match step? {
            Step::Parts(parts, _) => {
                for part in parts {
                    let body = match part {
                        Part::Text(text) => head(host, form, &text, &[], ""),
                        Part::Reasoning(text) => head(host, form, "", &[], &text),
                        // Calls are whole here: their arguments are an object.
                        Part::Call(call) => head(host, form, "", &[call], ""),
                        Part::Arguments(_) => continue,
                    };
                    writer.send(&body).await;
                }
            }
            Step::Done(done) => {
                let mut body = head(host, form, "", &[], "");
                finish(&mut body, &done, context.load_time);
                writer.send(&body).await;
            }
        }
    }
    Ok(())
}

/// A model in Ollama's list; what is in its file is known once it is loaded.
fn entry(models: &Models, offer: &Offer, loaded: &[Hosted]) -> Value {
    let hosted = loaded.iter().find(|hosted| hosted.name() == offer.name);
    let file = offer.file.as_ref().and_then(|path| path.metadata().ok());
    let modified = file.as_ref().and_then(|file| file.modified().ok()).unwrap_or_else(|| models.started());
    let bytes = file.map(|file| file.len()).or_else(|| hosted.map(Hosted::bytes)).unwrap_or(0);
    let modified = timestamp(modified);
    // Clients show the beginning of it, to tell versions of a model apart.
    let digest = Sha256::digest(format!("{:?} {} {bytes} {modified}", offer.file, offer.name));
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut details = json!({"format": "gguf"});
    if let Some(hosted) = hosted {
        let (parameters, format) = hosted.size();
        details["family"] = hosted.family().into();
        details["families"] = json!([hosted.family()]);
        details["parameter_size"] = match parameters {
            0..1_000_000_000 => format!("{:.0}M", parameters as f64 / 1e6).into(),
            _ => format!("{:.1}B", parameters as f64 / 1e9).into(),
        };
        details["quantization_level"] = format.into();
    }
    json!({
        "name": offer.name,
        "model": offer.name,
        "modified_at": modified,
        "size": bytes,
        "digest": digest,
        "details": details,
    })
}

pub async fn tags(visit: Visit, _: Request<Body>) -> Outcome<Response> {
    let loaded = visit.models.loaded();
    let models: Vec<Value> =
        visit.models.offers().map(|offer| entry(&visit.models, offer, &loaded)).collect();
    Ok(json_response(StatusCode::OK, &json!({"models": models})))
}

/// Ollama's `/api/ps`: the models that are loaded.
pub async fn running(visit: Visit, _: Request<Body>) -> Outcome<Response> {
    let loaded = visit.models.loaded();
    let is_loaded = |offer: &&Offer| loaded.iter().any(|hosted| hosted.name() == offer.name);
    let offers = visit.models.offers().filter(is_loaded);
    let models: Vec<Value> = offers.map(|offer| entry(&visit.models, offer, &loaded)).collect();
    Ok(json_response(StatusCode::OK, &json!({"models": models})))
}

/// Which model.
#[derive(Deserialize)]
struct Show {
    #[serde(alias = "name")]
    model: Option<String>,
}

pub async fn show(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: Show = read_json(&visit.app, request).await?;
    let hosted = visit.models.open(request.model.as_deref()).await?;
    let offer = visit.models.offers().find(|offer| offer.name == hosted.name());
    let mut body = match offer {
        Some(offer) => entry(&visit.models, offer, std::slice::from_ref(&hosted)),
        None => json!({}),
    };
    body["model_info"] = json!({"general.architecture": hosted.family()});
    match hosted {
        Hosted::Text(host) => {
            body["template"] = host.model().template().map_or("", |t| t.source()).into();
            let mut capabilities = vec!["completion"];
            if let Some(template) = host.model().template() {
                let thinks = template.source().contains(Style::of(template.source()).thinking.0);
                capabilities.extend(template.source().contains("tools").then_some("tools"));
                capabilities.extend(thinks.then_some("thinking"));
            }
            body["capabilities"] = json!(capabilities);
        }
        Hosted::Vectors(_) => body["capabilities"] = json!(["embedding"]),
    }
    Ok(json_response(StatusCode::OK, &body))
}

/// Ollama's `/api/pull`, which clients call before they use a model: nothing is pulled, but a model that is there is there.
pub async fn pull(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: Show = read_json(&visit.app, request).await?;
    visit.models.open(request.model.as_deref()).await?;
    Ok(json_response(StatusCode::OK, &json!({"status": "success"})))
}

pub async fn version(_: Visit, _: Request<Body>) -> Outcome<Response> {
    Ok(json_response(StatusCode::OK, &json!({"version": env!("CARGO_PKG_VERSION")})))
}

/// A time in the form of RFC 3339.
fn timestamp(time: SystemTime) -> String {
    let now = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (now.as_secs() / 86_400, now.as_secs() % 86_400);
    // The calendar of Gregorian days, counted from March so that leap days come last.
    let shifted = days as i64 + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", now.subsec_micros())
}
