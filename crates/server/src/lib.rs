//! An HTTP server for language models on Wootz, which existing clients speak to: OpenAI's API, Anthropic's messages and
//! Ollama's.
//!
//! Promises: a request's greedy answer does not depend on what else is running (see [`wootz_llm::engine`]); bad input gets a
//! status of 4xx and an error in the form of its API, and changes nobody else's answer; a client that goes away frees its slot
//! before the next step; [`Server::run`] returns when everything accepted is answered.
//!
//! Not promised: encryption. Put a proxy in front where the network is not trusted.
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
mod output;
mod page;
mod prompt;
mod routes;
mod stream;
mod tools;

pub use host::Loaded;
pub use listen::{Server, Shutdown};
pub use models::{Load, Offer};

use std::net::SocketAddr;
use std::time::Duration;

/// How a server works.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens.
    pub address: SocketAddr,
    /// Bytes of weights, of all models together, beyond which idle models are dropped.
    pub model_memory: u64,
    /// Keys of which clients must have one; none are needed if empty.
    pub keys: Vec<String>,
    /// Origins whose pages may call the server from a browser; `*` is every one.
    pub origins: Vec<String>,
    /// Bytes of a request at most.
    pub body_limit: usize,
    /// Tokens of an answer at most, and where a request does not say.
    pub token_limit: usize,
    /// Connections at the same time at most.
    pub connections: usize,
    /// Time for an answer.
    pub timeout: Duration,
    /// Time for a request to arrive.
    pub read_timeout: Duration,
}

impl ServerOptions {
    /// A server on an address, with the usual limits.
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
        }
    }
}
