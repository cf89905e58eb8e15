//! From MSL text to C++ text: preprocessing, tokens, declarations, reflection, rewriting.

pub mod binding;
pub mod casts;
pub mod edit;
pub mod items;
pub mod lexer;
pub mod members;
pub mod numbers;
pub mod overloads;
pub mod params;
pub mod position;
pub mod rewrite;
pub mod thunk;
pub mod unit;
