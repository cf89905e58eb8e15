//! The routes, and middleware for every request: API keys, request ids, logs.

use crate::api::{Visit, anthropic, chat, completions, embeddings, ollama, other, responses};
use crate::app::App;
use crate::error::{ApiError, Dialect, Outcome};
use crate::models::Models;
use crate::origin;
use crate::page;
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

type Handling = Pin<Box<dyn Future<Output = Outcome<Response>> + Send>>;

/// Who may use a route, and who logs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Open,
    /// Clients with a key.
    Keyed,
    /// The same; the answer has a line of its own in the log, when it is complete.
    Answers,
}

/// A route: what it is for, and who handles it.
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub summary: &'static str,
    /// The schema of its request in the description of the API.
    pub schema: Option<&'static str>,
    /// Who may use it.
    pub access: Access,
    handle: fn(Visit, Request<Body>) -> Handling,
}

macro_rules! routes {
    ($($method:literal $path:literal, $summary:literal, $schema:expr, $access:ident => $handler:path;)*) => {
        /// All routes; the router and the description of the API are made from them.
        pub const ROUTES: &[Route] = &[$(Route {
            method: $method,
            path: $path,
            summary: $summary,
            schema: $schema,
            access: Access::$access,
            handle: |visit, request| Box::pin($handler(visit, request)),
        },)*];
    };
}

routes! {
    "post" "/v1/chat/completions", "Answer a conversation (OpenAI)", Some("ChatRequest"), Answers => chat::chat;
    "post" "/v1/completions", "Continue a text (OpenAI)", Some("CompletionRequest"), Answers => completions::completions;
    "post" "/v1/responses", "Answer a conversation (OpenAI, stateless)", Some("ResponsesRequest"), Answers => responses::responses;
    "post" "/v1/embeddings", "Embed texts (OpenAI)", Some("EmbeddingRequest"), Keyed => embeddings::openai;
    "post" "/v1/rerank", "Rank documents by a reranking model, or by their embeddings", Some("RerankRequest"), Keyed => embeddings::rerank;
    "get" "/v1/models", "List the models (OpenAI)", None, Keyed => other::models;
    "get" "/v1/models/{name}", "Describe a model (OpenAI)", None, Keyed => other::model;
    "post" "/v1/messages", "Answer a conversation (Anthropic)", Some("MessagesRequest"), Answers => anthropic::messages;
    "post" "/v1/messages/count_tokens", "Count the tokens of a prompt (Anthropic)", Some("CountTokensRequest"), Keyed => anthropic::count_tokens;
    "post" "/api/chat", "Answer a conversation (Ollama)", Some("OllamaChatRequest"), Answers => ollama::chat;
    "post" "/api/generate", "Answer a prompt (Ollama)", Some("OllamaGenerateRequest"), Answers => ollama::generate;
    "get" "/api/tags", "List the models (Ollama)", None, Keyed => ollama::tags;
    "post" "/api/show", "Describe a model (Ollama)", Some("OllamaShowRequest"), Keyed => ollama::show;
    "post" "/api/pull", "Say whether a model is there (Ollama)", Some("OllamaShowRequest"), Keyed => ollama::pull;
    "post" "/api/embed", "Embed texts (Ollama)", Some("EmbeddingRequest"), Keyed => embeddings::ollama;
    "post" "/api/embeddings", "Embed one text (Ollama, older form)", Some("OllamaEmbeddingRequest"), Keyed => embeddings::ollama_one;
    "get" "/api/ps", "List the models that are loaded (Ollama)", None, Keyed => ollama::running;
    "get" "/api/version", "Version of the server (Ollama)", None, Open => ollama::version;
    "post" "/tokenize", "Tokens of a text", Some("TokenizeRequest"), Keyed => other::tokenize;
    "post" "/detokenize", "Text of tokens", Some("DetokenizeRequest"), Keyed => other::detokenize;
    "get" "/health", "Whether the server works", None, Open => other::health;
    "get" "/metrics", "Metrics for Prometheus", None, Keyed => other::metrics;
    "get" "/openapi.json", "This description", None, Open => other::description;
    "get" "/", "A chat in the browser", None, Open => page::index;
    "get" "/style.css", "Style of the chat", None, Open => page::style;
    "get" "/chat.js", "Program of the chat", None, Open => page::script;
    "get" "/markdown.js", "Formatting of the chat", None, Open => page::markdown;
}

/// The router over all routes.
pub fn router(app: &Arc<App>, models: &Arc<Models>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = if route.method == "get" { MethodFilter::GET } else { MethodFilter::POST };
        let models = models.clone();
        let handler = move |State(app): State<Arc<App>>, request: Request<Body>| {
            serve(app, models.clone(), route, request)
        };
        router = router.route(route.path, on(filter, handler));
    }
    let missing = |request: Request<Body>| async move {
        let path = request.uri().path().to_owned();
        let problem = ApiError::status(StatusCode::NOT_FOUND, format!("no such endpoint: {path}"));
        problem.response(Dialect::of(&path))
    };
    let not_so = |State(app): State<Arc<App>>, request: Request<Body>| async move {
        if request.method() == Method::OPTIONS && !app.options.origins.is_empty() {
            return allowed(&app, request.headers(), Response::new(Body::empty()));
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let message = format!("{method} is not allowed for {path}");
        ApiError::status(StatusCode::METHOD_NOT_ALLOWED, message).response(Dialect::of(&path))
    };
    router.fallback(missing).method_not_allowed_fallback(not_so).with_state(app.clone())
}

/// Everything around a handler.
async fn serve(
    app: Arc<App>,
    models: Arc<Models>,
    route: &'static Route,
    request: Request<Body>,
) -> Response {
    let started = Instant::now();
    let (path, headers) = (request.uri().path().to_owned(), request.headers().clone());
    let id = format!("{:016x}", app.unique());
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let known = origin::check(&app, &headers)
        .and_then(|()| client(&app, &headers, peer, route.access == Access::Open));
    let outcome = match known {
        Ok(client) => {
            let visit = Visit { app: app.clone(), models, client, id: id.clone() };
            (route.handle)(visit, request).await
        }
        Err(problem) => Err(problem),
    };
    let (mut response, problem) = match outcome {
        Ok(response) => (response, None),
        Err(problem) => (problem.response(Dialect::of(&path)), Some(problem)),
    };
    let status = response.status().as_u16();
    app.metrics.request(route.path, status);
    let milliseconds = started.elapsed().as_millis() as u64;
    let method = route.method.to_uppercase();
    match (&problem, route.access) {
        (Some(problem), _) => {
            tracing::warn!(id, status, milliseconds, "{method} {path}: {}", problem.message)
        }
        (None, Access::Answers) => tracing::debug!(id, status, milliseconds, "{method} {path}"),
        (None, _) => tracing::info!(id, status, milliseconds, "{method} {path}"),
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    allowed(&app, &headers, response)
}

/// Whose request it is. Refuses those without a key where one is needed.
fn client(app: &App, headers: &HeaderMap, peer: Option<SocketAddr>, open: bool) -> Outcome<u64> {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
    let given = bearer.or_else(|| headers.get("x-api-key").and_then(|value| value.to_str().ok()));
    let known = given.filter(|given| app.options.keys.iter().any(|key| same(key, given)));
    if known.is_none() && !app.options.keys.is_empty() && !open {
        let message = match given {
            Some(_) => "invalid API key",
            None => "missing API key: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'",
        };
        return Err(ApiError::status(StatusCode::UNAUTHORIZED, message).code("invalid_api_key"));
    }
    let mut hasher = DefaultHasher::new();
    match known {
        Some(key) => key.hash(&mut hasher),
        None => peer.map(|peer| peer.ip()).hash(&mut hasher),
    }
    Ok(hasher.finish())
}

/// Compares keys in a time that does not tell how much of them agrees.
fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0u8, |all, (x, y)| all | (x ^ y));
    a.len() == b.len() && differ == 0
}

/// Lets pages of known origins read the answer.
fn allowed(app: &App, headers: &HeaderMap, mut response: Response) -> Response {
    let origin = headers.get(header::ORIGIN).and_then(|value| value.to_str().ok());
    let Some(origin) = origin.filter(|o| app.options.origins.iter().any(|known| known == "*" || known == o))
    else {
        return response;
    };
    let own = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(origin) {
        own.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, value);
        own.insert(header::VARY, HeaderValue::from_static("origin"));
        own.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
        let names = "authorization, content-type, x-api-key, anthropic-version";
        own.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
    }
    response
}
