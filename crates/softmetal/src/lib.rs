//! A software Metal compute device: runs, checks and profiles .metal kernels on any machine.
