//! Errors in the format of the request's API.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use wootz_llm::engine::{Failure, Refused};

/// The API dialect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's, and our own endpoints.
    OpenAi,
    /// Anthropic's.
    Anthropic,
    /// Ollama's.
    Ollama,
}

impl Dialect {
    /// The dialect of a path.
    pub fn of(path: &str) -> Dialect {
        match path {
            "/v1/messages" => Dialect::Anthropic,
            _ if path.starts_with("/api/") => Dialect::Ollama,
            _ => Dialect::OpenAi,
        }
    }
}

/// An API error.
#[derive(Clone, Debug)]
pub struct ApiError {
    /// HTTP status.
    pub status: StatusCode,
    /// Human-readable message.
    pub message: String,
    /// The invalid field.
    pub param: Option<&'static str>,
    /// Machine-readable code.
    pub code: Option<&'static str>,
}

/// The result of a handler.
pub type Outcome<T> = Result<T, ApiError>;

impl ApiError {
    /// The request is invalid.
    pub fn bad(message: impl Into<String>) -> ApiError {
        ApiError { status: StatusCode::BAD_REQUEST, message: message.into(), param: None, code: None }
    }

    /// A field of the request is invalid.
    pub fn field(param: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { param: Some(param), ..ApiError::bad(message) }
    }

    /// An error with another status.
    pub fn status(status: StatusCode, message: impl Into<String>) -> ApiError {
        ApiError { status, ..ApiError::bad(message) }
    }

    /// Adds a machine-readable code.
    pub fn code(self, code: &'static str) -> ApiError {
        ApiError { code: Some(code), ..self }
    }

    fn kind(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            503 => "overloaded_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        }
    }

    /// The body of the error, in a dialect.
    pub fn body(&self, dialect: Dialect) -> Value {
        match dialect {
            Dialect::OpenAi => json!({"error": {
                "message": self.message, "type": self.kind(), "param": self.param, "code": self.code,
            }}),
            Dialect::Anthropic => {
                json!({"type": "error", "error": {"type": self.kind(), "message": self.message}})
            }
            Dialect::Ollama => json!({"error": self.message}),
        }
    }

    /// The whole answer.
    pub fn response(&self, dialect: Dialect) -> Response {
        let mut response = json_response(self.status, &self.body(dialect));
        if matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> ApiError {
        let message = refused.to_string();
        match refused {
            Refused::QueueFull { .. } => {
                ApiError::status(StatusCode::TOO_MANY_REQUESTS, message).code("queue_full")
            }
            Refused::TooLong { .. } | Refused::TooLarge { .. } => {
                ApiError::bad(message).code("context_length_exceeded")
            }
            Refused::Invalid(_) => ApiError::bad(message),
            Refused::Closing | Refused::Lost(_) => ApiError::status(StatusCode::SERVICE_UNAVAILABLE, message),
        }
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> ApiError {
        let status = match failure {
            Failure::Late => StatusCode::GATEWAY_TIMEOUT,
            Failure::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Failure::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        ApiError::status(status, failure.to_string())
    }
}

/// JSON with a status.
pub fn json_response(status: StatusCode, value: &Value) -> Response {
    let body = Body::from(value.to_string());
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
