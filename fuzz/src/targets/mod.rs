//! Everything that reads what others wrote, one file per kind.

mod arrays;
mod gguf;
mod http;
mod metal;
mod models;
mod mpi;

use crate::Target;
pub use gguf::make_corpus as make_gguf_corpus;
pub use metal::make_corpus as make_metal_corpus;
pub use mpi::make_corpus as make_mpi_corpus;

/// All of them.
pub const TARGETS: [Target; 13] = [
    gguf::GGUF,
    arrays::NPY,
    arrays::NPZ,
    arrays::SAFETENSORS,
    models::TOKENIZER,
    models::TEMPLATE,
    models::FOLDER,
    models::MODEL,
    metal::MSL,
    metal::CACHE,
    metal::METALLIB,
    http::HTTP,
    mpi::MPI,
];
