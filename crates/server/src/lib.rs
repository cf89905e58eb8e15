//! An HTTP server for language models on Wootz, compatible with existing clients of OpenAI's API, Anthropic's
//! Messages API and Ollama.
//!
//! Promises: a request's greedy answer does not depend on concurrent requests (see [`wootz_llm::engine`]); invalid
//! input gets a 4xx status and an error in the format of its API, and affects no other answer; a client that
//! disconnects frees its slot before the next step; [`Server::run`] returns once all accepted requests are answered.
//!
//! Not promised: encryption. Use a reverse proxy on untrusted networks.
#![forbid(unsafe_code)]

mod api;
mod app;
mod error;
mod generate;
mod grammar;
mod host;
mod listen;
mod metrics;
mod models;
mod openapi;
mod origin;
mod output;
mod page;
mod prompt;
mod routes;
mod stalled;
mod stream;
mod tools;

pub use host::Loaded;
pub use listen::{Server, Shutdown};
pub use models::{Load, Offer};

use std::net::SocketAddr;
use std::time::Duration;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address to listen on.
    pub address: SocketAddr,
    /// Total bytes of weights beyond which idle models are unloaded.
    pub model_memory: u64,
    /// API keys, one of which clients must send; none are needed if empty.
    pub keys: Vec<String>,
    /// Origins whose web pages may call the server; `*` allows any.
    pub origins: Vec<String>,
    /// Maximum request size in bytes.
    pub body_limit: usize,
    /// Maximum number of tokens per answer, and the default.
    pub token_limit: usize,
    /// Maximum number of connections.
    pub connections: usize,
    /// Timeout of an answer.
    pub timeout: Duration,
    /// Timeout of receiving a request.
    pub read_timeout: Duration,
    /// How long a client may read nothing of what is sent to it.
    pub write_timeout: Duration,
    /// Maximum number of embedding requests that wait for their model.
    pub embedding_queue: usize,
}

impl ServerOptions {
    /// A server on an address, with default limits.
    pub fn new(address: SocketAddr) -> ServerOptions {
        ServerOptions {
            address,
            model_memory: u64::MAX,
            keys: Vec::new(),
            origins: Vec::new(),
            body_limit: 8 << 20,
            token_limit: 4096,
            connections: 512,
            timeout: Duration::from_secs(600),
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            embedding_queue: 256,
        }
    }
}
