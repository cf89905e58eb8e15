//! Token ids against the test vectors that llama.cpp ships: `vocabularies FOLDER`, where the folder has `*.gguf` with
//! `*.gguf.inp` (texts) and `*.gguf.out` (ids). It is `vendor/llama.cpp/models` of the source package `llama-cpp-python`.

use std::path::Path;
use wootz_gguf::Gguf;
use wootz_llm::tokenizer::{Encoding, Tokenizer};

/// What stands between texts.
const SEPARATOR: &str = "\n__ggml_vocab_test__\n";

fn check(path: &Path) -> Result<(usize, usize), Box<dyn std::error::Error>> {
    let tokenizer = Tokenizer::from_gguf(&Gguf::open(path)?)?;
    let beside = |end: &str| std::fs::read_to_string(format!("{}.{end}", path.display()));
    let (texts, ids) = (beside("inp")?, beside("out")?);
    let (mut right, mut all) = (0, 0);
    for (text, ids) in texts.split(SEPARATOR).zip(ids.lines()) {
        let expected: Vec<u32> = ids.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let got = tokenizer.encode(text, Encoding { add_special: false, parse_special: false });
        all += 1;
        right += usize::from(got == expected);
        if got != expected {
            println!("  {text:?}\n    ours   {got:?}\n    theirs {expected:?}");
        }
    }
    Ok((right, all))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let mut files: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "gguf"));
    files.sort();
    let mut failed = 0;
    for path in files.iter().filter(|path| Path::new(&format!("{}.inp", path.display())).exists()) {
        let name = path.file_stem().unwrap_or_default().display();
        match check(path) {
            Ok((right, all)) => {
                failed += usize::from(right < all);
                println!("{name}: {right} of {all}");
            }
            Err(error) => {
                failed += 1;
                println!("{name}: {error}");
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} vocabularies differ").into()) }
}
