//! Block-quantised number formats: layout, dequantise, quantise and dot product, one definition each.
//!
//! Every format is one file in `formats/`: a `#[repr(C)]` struct that is the layout in a GGUF file, and
//! the integer codes, scales and offsets it holds. Everything else (dequantise, reference dot product,
//! the table of sizes and type ids) follows from that.
//!
//! Promises: dequantisation is bit-exact with the `gguf` Python package (Q8_K, which that package cannot
//! read, is exact by its definition); no function panics on any bytes; lengths are checked and an error
//! names the format, what was given and what was expected. Quantisers are deterministic, search over
//! scales, and refuse values that are not finite.
//!
//! Not here: speed. These are the definitions that kernels are judged by; fast integer dot products live
//! with each device. Blocks are little-endian, and so must be the host.
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
