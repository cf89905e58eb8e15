//! Block-quantised number formats: layout, dequantisation, quantisation and dot product, each defined once.
//!
//! Each format is a file in `formats/`: a `#[repr(C)]` struct with the layout of a GGUF file, and its integer codes,
//! scales and offsets. Everything else (dequantisation, reference dot product, the table of sizes and type ids)
//! follows from that.
//!
//! Promises: dequantisation is bit-exact with the `gguf` Python package (Q8_K, which that package cannot read, is
//! exact by its definition); no function panics on any bytes; lengths are checked and an error names the format, what
//! was given and what was expected. Quantisers are deterministic, search over scales, and reject non-finite values.
//!
//! Not here: speed. These are the definitions that kernels are compared with; fast integer dot products belong to
//! each device. Blocks are little-endian, and so must the host be.
#![forbid(unsafe_code)]

mod block;
mod convert;
mod format;
mod search;

pub mod formats;

pub use block::{Block, CodedBlock, Group};
pub use convert::{BlockError, dequantize, dot, quantize};
pub use format::BlockFormat;

#[cfg(target_endian = "big")]
compile_error!("block formats are read in place as little-endian structs; this host is big-endian");
