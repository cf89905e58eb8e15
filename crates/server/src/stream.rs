//! Bodies: requests read within limits, answers streamed.

use crate::app::App;
use crate::error::{ApiError, Outcome};
use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::convert::Infallible;
use tokio::sync::mpsc;

/// The JSON of a request.
pub async fn read_json<T: DeserializeOwned>(app: &App, request: Request<Body>) -> Outcome<T> {
    let limit = app.options.body_limit;
    let declared = request.headers().get(header::CONTENT_LENGTH).and_then(|l| l.to_str().ok()?.parse().ok());
    let too_large =
        || ApiError::status(StatusCode::PAYLOAD_TOO_LARGE, format!("the request exceeds {limit} bytes"));
    if declared.is_some_and(|length: usize| length > limit) {
        return Err(too_large());
    }
    let bytes = axum::body::to_bytes(request.into_body(), limit);
    let late = |_| ApiError::status(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive");
    let bytes = tokio::time::timeout(app.options.read_timeout, bytes).await.map_err(late)?;
    let bytes = bytes.map_err(|error| match error.to_string().contains("limit") {
        true => too_large(),
        false => ApiError::bad(format!("cannot read the request: {error}")),
    })?;
    if bytes.is_empty() {
        return Err(ApiError::bad("the request has no body; it must be a JSON object"));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::bad(format!("the request is not valid: {error}")))
}

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// A JSON object per line.
    Lines,
}

/// Where a streaming handler writes.
pub struct Writer {
    framing: Framing,
    sender: mpsc::Sender<Bytes>,
}

/// Events that wait for a slow reader before the stream waits for it. Tokens are kept meanwhile, as many as an answer has.
const AHEAD: usize = 64;

impl Writer {
    /// Writes an object. Returns false when the client has gone.
    pub async fn send(&self, value: &Value) -> bool {
        let text = match self.framing {
            Framing::Sse => format!("data: {value}\n\n"),
            Framing::Lines => format!("{value}\n"),
        };
        self.sender.send(text.into()).await.is_ok()
    }

    /// Writes an event with a name.
    pub async fn event(&self, name: &str, value: &Value) -> bool {
        self.sender.send(format!("event: {name}\ndata: {value}\n\n").into()).await.is_ok()
    }

    /// Writes what OpenAI's clients wait for at the end.
    pub async fn end(&self) {
        let _ = self.sender.send("data: [DONE]\n\n".into()).await;
    }
}

/// An answer whose body `write` produces. When the client goes away, `write` is dropped at its next wait, and with it
/// the answers that it reads.
pub fn respond<F>(framing: Framing, write: impl FnOnce(Writer) -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, mut receiver) = mpsc::channel::<Bytes>(AHEAD);
    let closed = sender.clone();
    let write = write(Writer { framing, sender });
    tokio::spawn(async move {
        tokio::select! {
            () = write => {}
            () = closed.closed() => {}
        }
    });
    let bytes = stream::poll_fn(move |context| {
        receiver.poll_recv(context).map(|bytes| bytes.map(Ok::<Bytes, Infallible>))
    });
    let kind = match framing {
        Framing::Sse => "text/event-stream",
        Framing::Lines => "application/x-ndjson",
    };
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(bytes)).into_response()
}
