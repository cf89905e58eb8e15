//! Reader and writer of the GGUF model container.
//!
//! [`Gguf`] maps a file and checks all of it that is not tensor data: every length, offset, dimension product
//! and type id. What it hands out afterwards (metadata, tensor bytes) cannot be out of bounds. Any input gives
//! a value or an error that says what is wrong at which byte; none panics or allocates more than a small
//! multiple of the file's size.
//!
//! Read: versions 2 and 3, little-endian. Refused with their own errors: version 1, unknown versions, and
//! big-endian files. Tensor types that the engine cannot compute with are listed with their sizes, so that
//! a file can be inspected; [`Tensor::format`] says whether a tensor is usable.
//!
//! Not checked here: whether the metadata makes a model. A file that another process shortens while it is mapped
//! raises a bus error, as with every mapped file.

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

/// Alignment of tensor data when the file does not name another.
pub const DEFAULT_ALIGNMENT: u64 = 32;

/// Most dimensions that a tensor may have.
pub const MAX_DIMS: usize = 4;
