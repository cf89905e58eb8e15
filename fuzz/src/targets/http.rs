//! Requests to the server, written as they travel: a request line, headers, an empty line, a body.

use crate::{Target, corpus};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::runtime::Runtime;
use tower::ServiceExt;
use wootz::Device;
use wootz_llm::engine::EngineOptions;
use wootz_llm::{Embedder, Model, ModelOptions};
use wootz_server::{Loaded, Offer, Server, ServerOptions};

/// A server without its connections.
struct Service {
    runtime: Runtime,
    router: Router,
    /// Keeps the models.
    _server: Server,
}

/// An answer may be this long, and take this long.
const TOKENS: usize = 6;
const TIMEOUT: Duration = Duration::from_secs(5);

impl Service {
    fn start() -> Service {
        let mut options = ServerOptions::new(([127, 0, 0, 1], 0).into());
        options.body_limit = 1 << 20;
        options.token_limit = TOKENS;
        options.timeout = TIMEOUT;
        options.read_timeout = TIMEOUT;
        let runtime = Runtime::new().expect("a runtime");
        let server = runtime.block_on(Server::bind(offers(), options)).expect("a free port");
        Service { runtime, router: server.router(), _server: server }
    }

    /// The status of the answer, once all of it has come.
    fn answer(&self, request: Request<Body>) -> StatusCode {
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.expect("the router does not fail");
            let status = response.status();
            let body = to_bytes(response.into_body(), 16 << 20).await.expect("an answer that ends");
            assert!(!status.is_client_error() || !body.is_empty(), "an error says what is wrong");
            status
        })
    }
}

fn offers() -> Vec<Offer> {
    let file = |name: &str| corpus("model").join(name);
    let text = move || {
        let model = Model::open(file("tiny-llama.model"), &Device::cpu(), ModelOptions::default());
        Ok(Loaded::Text(Arc::new(model.map_err(|error| error.to_string())?), EngineOptions::default()))
    };
    let vectors = move || {
        let model = Embedder::open(file("tiny-bert.model"), &Device::cpu());
        Ok(Loaded::Vectors(Arc::new(model.map_err(|error| error.to_string())?)))
    };
    vec![Offer::new("tiny", text), Offer::new("vectors", vectors)]
}

static SERVICE: LazyLock<Service> = LazyLock::new(Service::start);

/// The request in these bytes, if they are one that HTTP can carry.
fn parse(bytes: &[u8]) -> Option<Request<Body>> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path);
    for line in lines {
        let (name, value) = line.split_once(": ")?;
        request = request.header(name, value);
    }
    request.body(Body::from(bytes[end + 2..].to_vec())).ok()
}

pub const HTTP: Target = Target {
    name: "http",
    words: &[
        "\"",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "null",
        "true",
        "-1",
        "1e400",
        "18446744073709551615",
        "\\ud800",
        "\\u0000",
        "<|im_start|>",
        "\"stream\": true,",
        "\"n\": 9,",
        "\"stop\": [\"\"],",
        "\"logprobs\": true, \"top_logprobs\": 20,",
        "\"logit_bias\": {\"5\": -100},",
        "\"response_format\": {\"type\": \"json_schema\", \"json_schema\": {\"schema\": {\"type\": \"object\"}}},",
        "\"grammar\": \"start: /(a|b)*/\",",
        "\"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"$ref\": \"#\"}}}],",
        "\"tool_choice\": \"required\",",
        "\"temperature\": ",
        "\"messages\": [",
        "\"role\": \"assistant\"",
        "\"content\": [{\"type\": \"text\", \"text\": \"a\"}]",
        "\"model\": \"vectors\"",
        "POST /v1/responses\n\n",
        "POST /v1/messages\n\n",
    ],
    accepts: |bytes| {
        let Some(request) = parse(bytes) else { return false };
        let status = SERVICE.answer(request);
        // Busy and too late are answers; what is left of 5xx is a fault of ours.
        let allowed = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
        assert!(!status.is_server_error() || allowed.contains(&status), "the answer was {status}");
        status.is_success()
    },
};
