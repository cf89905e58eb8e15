//! What can be wrong with a file.

/// Result of reading or writing a container.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file was refused, or a metadata key could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// `"open"`, `"map"` or `"write"`.
        action: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file does not start with the magic bytes.
    #[error("not a GGUF file: it starts with {found:02x?}, not \"GGUF\"")]
    Magic {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// The version is not 2 or 3.
    #[error("GGUF version {0} is not supported (2 and 3 are); convert the file with a current tool")]
    Version(u32),
    /// The file was written for big-endian machines.
    #[error("this GGUF file is big-endian (version field {0:#010x}); convert it to little-endian")]
    BigEndian(u32),
    /// The file ends inside something.
    #[error(
        "the file ends at byte {len} inside {what} at byte {at}, which needs {needed} bytes; it is truncated or corrupt"
    )]
    Truncated {
        /// What was being read.
        what: String,
        /// Where it starts.
        at: u64,
        /// How many bytes it needs.
        needed: u64,
        /// Where the file ends.
        len: u64,
    },
    /// A field has a value that cannot be.
    #[error("{what} at byte {at}: {problem}")]
    Invalid {
        /// Which field.
        what: String,
        /// Where it stands.
        at: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A tensor's description does not hold.
    #[error("tensor '{name}': {problem}")]
    Tensor {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A metadata key is not there.
    #[error("metadata key '{0}' is missing")]
    MissingKey(String),
    /// A metadata key holds something else than was asked for.
    #[error("metadata key '{key}' is {found}, expected {expected}")]
    KeyType {
        /// The key.
        key: String,
        /// What it holds.
        found: String,
        /// What was asked for.
        expected: &'static str,
    },
    /// A tensor is not there.
    #[error("tensor '{0}' is missing")]
    MissingTensor(String),
}
