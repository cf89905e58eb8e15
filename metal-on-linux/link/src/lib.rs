//! `use metalhost_link as _;` in a program for Metal links it with the framework for Linux.

pub use metalhost;
