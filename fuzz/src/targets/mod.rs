//! Everything that reads what others wrote, one file per kind.

mod arrays;
mod gguf;
mod metal;
mod models;

use crate::Target;
pub use gguf::make_corpus as make_gguf_corpus;
pub use metal::make_corpus as make_metal_corpus;

/// All of them.
pub const TARGETS: [Target; 11] = [
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
];
