//! Which web pages may use the server. A page of any site can send requests to a loopback address, and by rebinding its
//! own name to that address it can read the answers too.
//!
//! Browsers name the page's origin in each request that another site's page sends: it has to be the server's own, or one
//! that is allowed. Without API keys, a server on a loopback address is known as an address or as `localhost`, and by
//! the names of allowed origins; a request to any other name is that of a page whose name was rebound.

use crate::app::App;
use crate::error::{ApiError, Outcome};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use std::net::IpAddr;

/// Refuses requests of pages that may not use the server.
pub fn check(app: &App, headers: &HeaderMap) -> Outcome<()> {
    let allowed = &app.options.origins;
    if allowed.iter().any(|origin| origin == "*") {
        return Ok(());
    }
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).unwrap_or_default();
    let refused =
        |what: String| Err(ApiError::status(StatusCode::FORBIDDEN, what).code("origin_not_allowed"));
    if let Some(origin) = text(header::ORIGIN) {
        let is_own = site(origin).is_some_and(|own| own.eq_ignore_ascii_case(host));
        if !is_own && !allowed.iter().any(|known| known == origin) {
            return refused(format!("pages of '{origin}' may not use this server; allow them with --cors"));
        }
    }
    let is_private = app.options.address.ip().is_loopback() && app.options.keys.is_empty();
    if is_private && !is_known(name_of(host), allowed) {
        return refused(format!(
            "'{host}' is not a name of this server; use its address, or allow it with --cors"
        ));
    }
    Ok(())
}

/// The host and port of an origin.
fn site(origin: &str) -> Option<&str> {
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
}

/// A host without its port, and without the brackets of an address.
fn name_of(host: &str) -> &str {
    let name = host.parse::<Authority>().map_or(host.len(), |authority| authority.host().len());
    host[..name].trim_start_matches('[').trim_end_matches(']')
}

fn is_known(name: &str, allowed: &[String]) -> bool {
    let name = name.to_ascii_lowercase();
    let is_local = name == "localhost" || name.ends_with(".localhost");
    // Clients of HTTP/1.0 do not say.
    name.is_empty()
        || is_local
        || name.parse::<IpAddr>().is_ok()
        || allowed.iter().filter_map(|origin| site(origin)).any(|site| name_of(site) == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerOptions;

    fn status(change: impl FnOnce(&mut ServerOptions), host: &str, origin: Option<&str>) -> u16 {
        let mut options = ServerOptions::new(([127, 0, 0, 1], 8080).into());
        change(&mut options);
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().unwrap()));
        check(&App::new(options), &headers).map_or_else(|error| error.status.as_u16(), |()| 200)
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        let host = "127.0.0.1:8080";
        assert_eq!(status(|_| {}, host, None), 200);
        assert_eq!(status(|_| {}, host, Some("http://127.0.0.1:8080")), 200);
        for origin in
            ["http://evil.example", "null", "http://127.0.0.1:3000", "http://127.0.0.1:8080.evil.example"]
        {
            assert_eq!(status(|_| {}, host, Some(origin)), 403, "{origin}");
            assert_eq!(status(|o| o.origins.push(origin.into()), host, Some(origin)), 200, "{origin}");
            assert_eq!(status(|o| o.origins.push("*".into()), host, Some(origin)), 200, "{origin}");
        }
    }

    #[test]
    fn rebound_names_are_refused() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1",
            "127.0.0.9:80",
            "[::1]:8080",
            "[::1]",
            "app.localhost:1",
        ] {
            assert_eq!(status(|_| {}, host, None), 200, "{host}");
        }
        for host in
            ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "[x]:1"]
        {
            assert_eq!(status(|_| {}, host, None), 403, "{host}");
            assert_eq!(status(|o| o.keys.push("key".into()), host, None), 200, "{host}");
            assert_eq!(status(|o| o.address = ([0, 0, 0, 0], 80).into(), host, None), 200, "{host}");
        }
        let named = |o: &mut ServerOptions| o.origins.push("https://chat.example:444".into());
        assert_eq!(status(named, "chat.example", None), 200);
    }
}
