//! Reader and writer of the GGUF model container.
