//! What Wootz asks of the operating system, in one place: files that are replaced atomically ([`files`]), cache files
//! that are never trusted ([`cache`]), and a test hook that makes the system refuse what it is asked for ([`inject`]).
//!
//! Every crate that opens, maps or writes a file of its own accord calls [`inject::file`] first, here or itself, so
//! that tests can make the n-th such operation fail.

pub mod cache;
pub mod files;
pub mod inject;
mod owner;
