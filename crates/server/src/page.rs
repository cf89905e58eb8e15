//! The chat page: static files embedded in the program.

use crate::api::Visit;
use crate::error::Outcome;
use axum::body::Body;
use axum::http::{Request, header};
use axum::response::{IntoResponse, Response};

const HTML: &str = include_str!("../page/index.html");
const STYLE: &str = include_str!("../page/style.css");
const SCRIPT: &str = include_str!("../page/chat.js");
const MARKDOWN: &str = include_str!("../page/markdown.js");

/// Nothing from elsewhere runs in the page, nor can it send anything elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

pub async fn index(_: Visit, _: Request<Body>) -> Outcome<Response> {
    Ok(file("text/html; charset=utf-8", HTML))
}

pub async fn style(_: Visit, _: Request<Body>) -> Outcome<Response> {
    Ok(file("text/css; charset=utf-8", STYLE))
}

pub async fn script(_: Visit, _: Request<Body>) -> Outcome<Response> {
    Ok(file("text/javascript; charset=utf-8", SCRIPT))
}

pub async fn markdown(_: Visit, _: Request<Body>) -> Outcome<Response> {
    Ok(file("text/javascript; charset=utf-8", MARKDOWN))
}
