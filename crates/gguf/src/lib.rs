//! Reader and writer of the GGUF model container.
//!
//! [`Gguf`] maps a file and validates everything except the tensor data: every length, offset, dimension product and
//! type id. What it returns afterwards (metadata, tensor bytes) cannot be out of bounds. Any input yields a value or
//! an error that says what is wrong at which byte; none panics or allocates more than a small multiple of the file's
//! size.
//!
//! Supported: versions 2 and 3, little-endian. Rejected with specific errors: version 1, unknown versions, and
//! big-endian files. Tensor types that the engine cannot compute with are listed with their sizes, so that a file can
//! be inspected; [`Tensor::format`] says whether a tensor is usable.
//!
//! Not checked here: whether the metadata describes a valid model. If another process truncates a mapped file, access
//! raises a bus error, as with any mapped file.

mod cursor;
mod error;
mod read;
mod tensor;
mod value;
mod write;

pub use error::{Error, Result};
pub use read::{Bytes, ExternalTensor, Gguf, Metadata};
pub use tensor::{Tensor, TensorType};
pub use value::{Array, Value, ValueType};
pub use write::{MetaValue, TensorSpec, Writer};

/// The first four bytes of a file.
pub const MAGIC: [u8; 4] = *b"GGUF";

/// Default alignment of tensor data.
pub const DEFAULT_ALIGNMENT: u64 = 32;

/// Maximum number of dimensions of a tensor.
pub const MAX_DIMS: usize = 4;
