//! What can go wrong outside the tensor engine.

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model file is not readable, or lacks something.
    #[error(transparent)]
    Gguf(#[from] wootz_gguf::Error),
    /// The tensor engine refused or failed.
    #[error(transparent)]
    Engine(#[from] wootz::Error),
    /// The file is not a model that can run, or not in the way requested.
    #[error("model: {0}")]
    Model(String),
    /// A model could not be fetched.
    #[error("pull: {0}")]
    Pull(String),
    /// The vocabulary cannot be used.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// Settings or logits from which no token can be chosen.
    #[error("sampling: {0}")]
    Sampling(String),
    /// The chat template does not compile, or refused the messages.
    #[error("chat template: {0}")]
    Template(String),
}
