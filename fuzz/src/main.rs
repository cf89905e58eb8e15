//! `fuzz TARGET SECONDS` changes files of a corpus; `fuzz list` names the targets; `fuzz make-corpus` writes the made parts of the
//! corpora again.

use wootz_fuzz::Target;
use wootz_fuzz::targets::{TARGETS, make_gguf_corpus, make_metal_corpus, make_mpi_corpus};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        ["make-corpus"] => {
            make_gguf_corpus();
            make_metal_corpus();
            make_mpi_corpus();
        }
        [name, seconds] => {
            let target = Target::named(name).expect("a target that `fuzz list` names");
            target.run(seconds.parse().expect("a number of seconds"), std::process::id().into());
        }
        _ => panic!("usage: fuzz TARGET SECONDS | list | make-corpus"),
    }
}
