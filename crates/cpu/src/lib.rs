//! The CPU backend of Wootz: a thread team and SIMD kernels chosen at run time.
