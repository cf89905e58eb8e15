//! The contract that a Wootz device implements: buffers, pool, fences, errors.
