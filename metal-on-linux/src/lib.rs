//! The driver for Apple's Metal on Linux. There is nothing here but its tests; see `docs/metal-on-linux.md`.
