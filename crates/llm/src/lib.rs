//! Language models on Wootz: tokenizers, model families, sampling and generation.
