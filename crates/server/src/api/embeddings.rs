//! Embeddings in OpenAI's and Ollama's formats, and reranking based on them.

use super::Visit;
use crate::error::{ApiError, Outcome, json_response};
use crate::host::VectorHost;
use crate::stream::read_json;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;
use wootz_llm::cosine;

/// Texts of one request at most.
const MOST_TEXTS: usize = 2048;

#[derive(Deserialize)]
struct EmbeddingRequest {
    model: Option<String>,
    #[serde(alias = "prompt")]
    input: Value,
    encoding_format: Option<String>,
    dimensions: Option<usize>,
    truncate: Option<bool>,
}

/// Vectors, and how many tokens they are of.
struct Embedded {
    vectors: Vec<Vec<f32>>,
    tokens: usize,
}

/// Whether text that is too long is cut where the request does not say: Ollama does, OpenAI refuses it.
async fn embed(host: &Arc<VectorHost>, request: &EmbeddingRequest, truncate: bool) -> Outcome<Embedded> {
    if host.embedder.is_reranker() {
        let message = format!("the model '{}' scores pairs of texts, and has no embeddings", host.name);
        return Err(ApiError::bad(message).code("model_not_supported"));
    }
    let truncate = request.truncate.unwrap_or(truncate);
    let tokens = inputs(host, &request.input, truncate)?;
    let width = host.embedder.config().width;
    let dimensions = request.dimensions.unwrap_or(width);
    if !(1..=width).contains(&dimensions) {
        let message = format!("dimensions must be from 1 to {width}, the width of this model");
        return Err(ApiError::field("dimensions", message));
    }
    let mut embedded = vectors(host, tokens).await?;
    if dimensions < width {
        embedded.vectors.iter_mut().for_each(|vector| shorten(vector, dimensions));
    }
    Ok(embedded)
}

async fn vectors(host: &Arc<VectorHost>, tokens: Vec<Vec<u32>>) -> Outcome<Embedded> {
    let count = tokens.iter().map(Vec::len).sum();
    Ok(Embedded { vectors: host.embed(tokens).await?, tokens: count })
}

/// The first values of a vector, made of length 1 again.
fn shorten(vector: &mut Vec<f32>, dimensions: usize) {
    vector.truncate(dimensions);
    let size = vector.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    if size > 0.0 {
        vector.iter_mut().for_each(|v| *v = (f64::from(*v) / size) as f32);
    }
}

/// A text, texts, token ids, or lists of those.
fn inputs(host: &VectorHost, input: &Value, truncate: bool) -> Outcome<Vec<Vec<u32>>> {
    let wrong =
        || ApiError::field("input", "input must be a string, a list of strings, or lists of token ids");
    let list = match input {
        Value::String(text) => return host.tokens(std::slice::from_ref(text), truncate),
        Value::Array(list) => list,
        _ => return Err(wrong()),
    };
    if list.is_empty() || list.len() > MOST_TEXTS {
        let message = format!("{} inputs; must be 1 to {MOST_TEXTS}", list.len());
        return Err(ApiError::field("input", message));
    }
    let ids = |list: &[Value]| -> Outcome<Vec<u32>> {
        let id = |v: &Value| v.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(wrong);
        list.iter().map(id).collect()
    };
    if list[0].is_number() {
        return Ok(vec![ids(list)?]);
    }
    if list[0].is_array() {
        return list.iter().map(|item| ids(item.as_array().ok_or_else(wrong)?)).collect();
    }
    let text = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(wrong);
    host.tokens(&list.iter().map(text).collect::<Outcome<Vec<_>>>()?, truncate)
}

/// OpenAI's `/v1/embeddings`.
pub async fn openai(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: EmbeddingRequest = read_json(&visit.app, request).await?;
    let encode: fn(&[f32]) -> Value = match request.encoding_format.as_deref() {
        None | Some("float") => |vector| json!(vector),
        Some("base64") => |vector| {
            let bytes: Vec<u8> = vector.iter().flat_map(|v| v.to_le_bytes()).collect();
            BASE64_STANDARD.encode(bytes).into()
        },
        Some(_) => return Err(ApiError::field("encoding_format", "encoding_format must be float or base64")),
    };
    let host = visit.models.open(request.model.as_deref()).await?.vectors()?;
    let Embedded { vectors, tokens } = embed(&host, &request, false).await?;
    let entry = |(i, vector): (usize, &Vec<f32>)| json!({"object": "embedding", "index": i, "embedding": encode(vector)});
    let body = json!({
        "object": "list",
        "model": host.name,
        "data": vectors.iter().enumerate().map(entry).collect::<Vec<Value>>(),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    });
    Ok(json_response(StatusCode::OK, &body))
}

/// Ollama's `/api/embed`.
pub async fn ollama(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let started = Instant::now();
    let request: EmbeddingRequest = read_json(&visit.app, request).await?;
    let host = visit.models.open(request.model.as_deref()).await?.vectors()?;
    let loaded = started.elapsed();
    let Embedded { vectors, tokens } = embed(&host, &request, true).await?;
    let body = json!({
        "model": host.name,
        "embeddings": vectors,
        "total_duration": started.elapsed().as_nanos() as u64,
        "load_duration": loaded.as_nanos() as u64,
        "prompt_eval_count": tokens,
    });
    Ok(json_response(StatusCode::OK, &body))
}

/// Ollama's older `/api/embeddings`: one text, one vector.
pub async fn ollama_one(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: EmbeddingRequest = read_json(&visit.app, request).await?;
    if !request.input.is_string() {
        return Err(ApiError::field("prompt", "prompt must be a string"));
    }
    let host = visit.models.open(request.model.as_deref()).await?.vectors()?;
    let mut embedded = embed(&host, &request, true).await?;
    Ok(json_response(StatusCode::OK, &json!({"embedding": embedded.vectors.pop()})))
}

#[derive(Deserialize)]
struct RerankRequest {
    model: Option<String>,
    query: String,
    documents: Vec<Value>,
    top_n: Option<usize>,
    return_documents: Option<bool>,
}

/// `/v1/rerank`, as Jina and Cohere have it: documents by a reranking model's scores, or by the cosine of their vectors with that of the
/// query.
pub async fn rerank(visit: Visit, request: Request<Body>) -> Outcome<Response> {
    let request: RerankRequest = read_json(&visit.app, request).await?;
    let host = visit.models.open(request.model.as_deref()).await?.vectors()?;
    let wrong = || ApiError::field("documents", "documents must be strings, or objects with a text field");
    let text = |item: &Value| {
        item.as_str().or_else(|| item.get("text")?.as_str()).map(str::to_owned).ok_or_else(wrong)
    };
    let texts = request.documents.iter().map(text).collect::<Outcome<Vec<String>>>()?;
    let count = texts.len();
    if !(1..MOST_TEXTS).contains(&count) {
        return Err(ApiError::field(
            "documents",
            format!("{count} documents; must be 1 to {}", MOST_TEXTS - 1),
        ));
    }
    let (scores, tokens) = match host.embedder.is_reranker() {
        true => {
            let Embedded { vectors, tokens } = vectors(&host, host.pairs(&request.query, &texts)?).await?;
            (vectors.iter().map(|labels| labels.first().copied().unwrap_or(0.0)).collect(), tokens)
        }
        false => similarities(&host, &request.query, &texts).await?,
    };
    let mut order: Vec<(usize, f32)> = scores.into_iter().enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.truncate(request.top_n.unwrap_or(order.len()));
    let result = |(index, score): &(usize, f32)| {
        let mut result = json!({"index": index, "relevance_score": score});
        if request.return_documents.unwrap_or(false) {
            result["document"] = json!({"text": texts[*index]});
        }
        result
    };
    let body = json!({
        "object": "list",
        "model": host.name,
        "results": order.iter().map(result).collect::<Vec<Value>>(),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    });
    Ok(json_response(StatusCode::OK, &body))
}

/// The cosines of documents with a query, and how many tokens were read.
async fn similarities(
    host: &Arc<VectorHost>,
    query: &str,
    documents: &[String],
) -> Outcome<(Vec<f32>, usize)> {
    let texts: Vec<String> = std::iter::once(query.to_owned()).chain(documents.iter().cloned()).collect();
    let Embedded { vectors, tokens } = vectors(host, host.tokens(&texts, true)?).await?;
    Ok((vectors[1..].iter().map(|vector| cosine(&vectors[0], vector)).collect(), tokens))
}
