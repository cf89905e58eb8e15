//! One file per format: the layout of a block, its codes and scales, and how values are encoded.

pub mod grid;
mod grid_points;
mod grid_search;
pub mod iq1;
pub mod iq2;
pub mod iq3;
pub mod iq4_nl;
pub mod iq4_xs;
pub mod mxfp4;
pub mod nvfp4;
mod plain;
pub mod q2_k;
pub mod q3_k;
pub mod q4_0;
pub mod q4_1;
pub mod q4_k;
pub mod q5_0;
pub mod q5_1;
pub mod q5_k;
pub mod q6_k;
pub mod q8_0;
pub mod q8_k;
mod super_block;
pub mod ternary;

pub use super_block::unpack_scales_6bit;
