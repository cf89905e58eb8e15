//! Models, tokenization, health, metrics, the API description.

use super::Visit;
use crate::app::App;
use crate::error::{ApiError, Outcome, json_response};
use crate::host::Hosted;
use crate::openapi;
use crate::stream::read_json;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use wootz_llm::engine::Snapshot;
use wootz_llm::tokenizer::Encoding;

/// A model in OpenAI's list; context and device are known once it is loaded.
fn entry(app: &App, name: &str, loaded: &[Hosted]) -> Value {
    let mut entry = json!({"id": name, "object": "model", "created": app.started, "owned_by": "wootz"});
    match loaded.iter().find(|hosted| hosted.name() == name) {
        Some(Hosted::Text(host)) => {
            entry["context_length"] = host.engine.context().into();
            entry["device"] = host.model().device().to_string().into();
        }
        Some(Hosted::Vectors(host)) => {
            entry["context_length"] = host.embedder.config().context.into();
            entry["device"] = host.embedder.device().to_string().into();
        }
        None => {}
    }
    entry
}

pub async fn models(visit: Visit, _: Request<Body>) -> Outcome<Response> {
    let loaded = visit.models.loaded();
    let data: Vec<Value> = visit.models.names().map(|name| entry(&visit.app, name, &loaded)).collect();
    Ok(json_response(StatusCode::OK, &json!({"object": "list", "data": data})))
}

pub async fn model(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let name = request.uri().path().trim_start_matches("/v1/models/").to_owned();
    let name = visit.models.find(Some(&name))?;
    let loaded = visit.models.loaded();
    Ok(json_response(StatusCode::OK, &entry(&visit.app, name, &loaded)))
}

#[derive(Deserialize)]
struct Tokenize {
    model: Option<String>,
    #[serde(alias = "text", alias = "prompt")]
    content: String,
    #[serde(default)]
    add_special: bool,
    #[serde(default)]
    parse_special: bool,
}

pub async fn tokenize(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: Tokenize = read_json(&visit.app, request).await?;
    let encoding = Encoding { add_special: request.add_special, parse_special: request.parse_special };
    let hosted = visit.models.open(request.model.as_deref()).await?;
    let tokens = hosted.tokenizer().0.encode(&request.content, encoding);
    let count = tokens.len();
    Ok(json_response(StatusCode::OK, &json!({"tokens": tokens, "count": count})))
}

#[derive(Deserialize)]
struct Detokenize {
    model: Option<String>,
    tokens: Vec<u32>,
    #[serde(default)]
    special: bool,
}

pub async fn detokenize(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: Detokenize = read_json(&visit.app, request).await?;
    let hosted = visit.models.open(request.model.as_deref()).await?;
    let (tokenizer, vocab) = hosted.tokenizer();
    if let Some(id) = request.tokens.iter().find(|&&id| id as usize >= vocab) {
        return Err(ApiError::field(
            "tokens",
            format!("token {id} is outside this model's vocabulary of {vocab}"),
        ));
    }
    let text = tokenizer.decode(&request.tokens, request.special);
    Ok(json_response(StatusCode::OK, &json!({"content": text, "prompt": text})))
}

pub async fn health(visit: Visit, _: Request<Body>) -> Outcome<Response> {
    let hosts = visit.models.hosts();
    if let Some(ended) = hosts.iter().find(|host| host.engine.is_finished()) {
        let message = format!("the engine of '{}' has stopped", ended.name);
        return Err(ApiError::status(StatusCode::SERVICE_UNAVAILABLE, message));
    }
    if let Some(lost) = hosts.iter().find_map(|host| host.engine.lost()) {
        return Err(ApiError::status(StatusCode::SERVICE_UNAVAILABLE, lost));
    }
    let stats: Vec<Snapshot> = hosts.iter().map(|host| host.engine.stats()).collect();
    let limit = visit.app.options.timeout;
    if let Some((host, stats)) = hosts.iter().zip(&stats).find(|(_, stats)| stats.step_time > limit) {
        let seconds = stats.step_time.as_secs();
        let message =
            format!("the engine of '{}' is stuck: its present step has taken {seconds} s", host.name);
        return Err(ApiError::status(StatusCode::SERVICE_UNAVAILABLE, message));
    }
    let body = json!({
        "status": "ok",
        "running": stats.iter().map(|s| s.running).sum::<usize>(),
        "waiting": stats.iter().map(|s| s.waiting).sum::<usize>(),
        "steps": stats.iter().map(|s| s.steps).sum::<u64>(),
    });
    Ok(json_response(StatusCode::OK, &body))
}

pub async fn metrics(visit: Visit, _: Request<Body>) -> Outcome<Response> {
    let hosts = visit.models.hosts();
    let stats: Vec<(&str, Snapshot)> =
        hosts.iter().map(|host| (host.name.as_str(), host.engine.stats())).collect();
    let text = visit.app.metrics.text(&stats);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

pub async fn description(visit: Visit, _: Request<Body>) -> Outcome<Response> {
    Ok(json_response(
        StatusCode::OK,
        &openapi::document(&visit.models.names().collect::<Vec<_>>(), &visit.app.options),
    ))
}
