//! The `wootz` command.

fn main() {}
