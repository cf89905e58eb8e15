//! Language models on Wootz: tokenizers, model families, sampling and generation.
//!
//! Promises: token ids equal those of llama.cpp for the same GGUF vocabulary and text; text is emitted from a stream
//! of tokens in complete characters; sampling is a pure function of logits, settings and a seed. Bad files and bad
//! input cause errors with the facts, never a panic.
#![forbid(unsafe_code)]

pub mod chat;
pub mod config;
mod embed;
pub mod engine;
mod error;
pub mod estimate;
mod family;
mod generate;
pub mod hub;
pub mod importance;
mod lora;
mod model;
pub mod models;
mod passes;
mod placement;
pub mod pull;
pub mod quantize;
pub mod ranks;
mod rerank;
mod rope;
pub mod sampling;
mod scores;
mod session;
mod speculate;
pub mod stop;
mod survey;
pub mod tokenizer;
pub mod weights;

pub use embed::{EmbedOptions, Embedder, cosine};
pub use error::{Error, Result};
pub use generate::{Finish, Generated, Request};
pub use lora::Adapter;
pub use model::{LoadNetwork, Model, ModelOptions, ModelSource};
pub use placement::{Candidate, Forecast, Notice, OnNotice, Placement};
pub use session::{Session, SessionOptions};
pub use speculate::Speculation;
pub use survey::missing_tensors;
