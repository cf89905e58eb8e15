//! Messages between ranks.

use crate::{Target, corpus};

pub const MPI: Target =
    Target { name: "mpi", words: &["\n", "\u{1}", "\u{d}"], accepts: wootz_mpi::fuzzing::message };

/// Writes the corpus.
pub fn make_corpus() {
    std::fs::create_dir_all(corpus("mpi")).expect("a writable folder");
    std::fs::write(corpus("mpi").join("header"), wootz_mpi::fuzzing::header()).expect("a writable folder");
}
