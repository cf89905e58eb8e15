//! Errors of reading and writing files.

/// Result of reading or writing a container.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file was rejected, or a metadata key is unusable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operating system error.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// `"open"`, `"map"` or `"write"`.
        action: &'static str,
        /// The file.
        path: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// The file does not start with the magic bytes.
    #[error("not a GGUF file: it starts with {found:02x?}, not \"GGUF\"")]
    Magic {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// An unsupported version.
    #[error("GGUF version {0} is not supported (2 and 3 are); convert the file with a current tool")]
    Version(u32),
    /// A big-endian file.
    #[error("this GGUF file is big-endian (version field {0:#010x}); convert it to little-endian")]
    BigEndian(u32),
    /// The file is truncated.
    #[error(
        "the file ends at byte {len} inside {what} at byte {at}, which needs {needed} bytes; it is truncated or corrupt"
    )]
    Truncated {
        /// What was being read.
        what: String,
        /// Its offset.
        at: u64,
        /// The number of bytes it needs.
        needed: u64,
        /// The size of the file.
        len: u64,
    },
    /// A field has an invalid value.
    #[error("{what} at byte {at}: {problem}")]
    Invalid {
        /// The field.
        what: String,
        /// Its offset.
        at: u64,
        /// The problem.
        problem: String,
    },
    /// An invalid tensor description.
    #[error("tensor '{name}': {problem}")]
    Tensor {
        /// Name of the tensor.
        name: String,
        /// The problem.
        problem: String,
    },
    /// A missing metadata key.
    #[error("metadata key '{0}' is missing")]
    MissingKey(String),
    /// A metadata key with an unexpected type.
    #[error("metadata key '{key}' is {found}, expected {expected}")]
    KeyType {
        /// The key.
        key: String,
        /// What it contains.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A missing tensor.
    #[error("tensor '{0}' is missing")]
    MissingTensor(String),
}
