//! A minimal HTTP client for model servers: one request per connection, streamed responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A server's address: `http://HOST[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    authority: String,
    path: String,
}

impl Url {
    /// Parses an address. Its path, if any, is prepended to request paths.
    pub fn parse(text: &str) -> Result<Url, String> {
        let rest = text.strip_prefix("http://").ok_or("the address must start with http://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() {
            return Err("the address has no host".into());
        }
        let authority = match authority.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => authority.to_owned(),
            _ => format!("{authority}:80"),
        };
        let path = path.trim_end_matches('/').trim_end_matches("v1").trim_end_matches('/');
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Url { authority, path })
    }
}

/// A response whose body is read as it arrives.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Response body.
    pub body: Box<dyn BufRead>,
}

impl Answer {
    /// The next object of a stream of server-sent events; `None` at its end.
    pub fn event(&mut self) -> Result<Option<serde_json::Value>, String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.body.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Ok(None);
            }
            match line.trim().strip_prefix("data:").map(str::trim) {
                Some("[DONE]") => return Ok(None),
                Some(data) => return serde_json::from_str(data).map(Some).map_err(|error| error.to_string()),
                None => {}
            }
        }
    }

    /// Reads the rest of the body.
    pub fn text(mut self) -> Result<String, String> {
        let mut text = String::new();
        self.body.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }
}

/// Sends a request: a POST if there is a body, otherwise a GET.
pub fn request(
    url: &Url,
    path: &str,
    key: Option<&str>,
    body: Option<&serde_json::Value>,
) -> Result<Answer, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", url.authority);
    let mut stream = TcpStream::connect(&url.authority).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(600))).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let (method, body) = body.map_or(("GET", String::new()), |body| ("POST", body.to_string()));
    let key = key.map_or_else(String::new, |key| format!("authorization: Bearer {key}\r\n"));
    let head = format!(
        "{method} {}{path} HTTP/1.1\r\nhost: {}\r\n{key}content-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        url.path,
        url.authority,
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).map_err(failed)?;
    answer(BufReader::new(stream)).map_err(|error| format!("{}: {error}", url.authority))
}

fn answer(mut reader: BufReader<TcpStream>) -> Result<Answer, String> {
    let line = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        reader.read_line(&mut line).map(|_| line.trim_end().to_owned()).map_err(|error| error.to_string())
    };
    let first = line(&mut reader)?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| format!("not an HTTP response: '{first}'"))?;
    let mut chunked = false;
    loop {
        let header = line(&mut reader)?.to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        chunked |= header.starts_with("transfer-encoding:") && header.contains("chunked");
    }
    let body: Box<dyn BufRead> = match chunked {
        true => Box::new(BufReader::new(Chunks { reader, left: 0, ended: false })),
        false => Box::new(reader),
    };
    Ok(Answer { status, body })
}

/// Decodes a chunked body.
struct Chunks {
    reader: BufReader<TcpStream>,
    left: usize,
    ended: bool,
}

impl Read for Chunks {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while self.left == 0 && !self.ended {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            // An empty line ends the previous chunk.
            if line == "\r\n" {
                continue;
            }
            let digits = line.trim().split(';').next().unwrap_or_default();
            self.left = usize::from_str_radix(digits, 16).map_err(std::io::Error::other)?;
            self.ended = self.left == 0;
        }
        let most = out.len().min(self.left);
        let count = self.reader.read(&mut out[..most])?;
        if count == 0 && self.left > 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let url = |text: &str| Url::parse(text).map(|url| (url.authority, url.path));
        assert_eq!(url("http://localhost:8080"), Ok(("localhost:8080".into(), String::new())));
        assert_eq!(url("http://h/v1/"), Ok(("h:80".into(), String::new())));
        assert_eq!(url("http://h:1/base"), Ok(("h:1".into(), "/base".into())));
        assert!(url("https://h").is_err());
        assert!(url("http://").is_err());
    }
}
