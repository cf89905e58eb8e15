//! The Objective-C runtime: selectors, classes, messages, reference counts, pools, blocks.

pub mod block;
pub mod class;
pub mod ffi;
pub mod image;
pub mod message;
pub mod object;
pub mod pool;
pub mod selector;
pub mod weak;

#[cfg(test)]
mod tests;
