//! Lazy tensors that run on the fastest device proven correct.
