//! Errors outside the tensor engine.

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model file is unreadable, or lacks something.
    #[error(transparent)]
    Gguf(#[from] wootz_gguf::Error),
    /// An error of the tensor engine.
    #[error(transparent)]
    Engine(#[from] wootz::Error),
    /// The file is not a model that can run, at least not as requested.
    #[error("model: {0}")]
    Model(String),
    /// A model could not be downloaded.
    #[error("pull: {0}")]
    Pull(String),
    /// The vocabulary is unusable.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// Invalid sampling options or logits.
    #[error("sampling: {0}")]
    Sampling(String),
    /// The chat template does not compile, or rejected the messages.
    #[error("chat template: {0}")]
    Template(String),
}
