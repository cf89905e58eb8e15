//! Fuzzes tokenizers: the metadata of a model file, and text through what is made of it.

use wootz_fuzz::Target;
use wootz_gguf::Gguf;
use wootz_llm::tokenizer::{Encoding, Tokenizer};

fn main() {
    let accepts = |bytes: &[u8]| {
        let Ok(gguf) = Gguf::from_bytes(bytes) else { return false };
        let Ok(tokenizer) = Tokenizer::from_gguf(&gguf) else { return false };
        for text in ["Hello, wörld!  12345\n\n<s>", "\u{0}\u{feff}\u{10ffff}", ""] {
            let tokens = tokenizer.encode(text, Encoding::TEMPLATE);
            std::hint::black_box(tokenizer.decode(&tokens, true));
        }
        true
    };
    Target { name: "tokenizer", words: &["gpt2", "llama", "rwkv", "<s>", "\u{2581}", "Ġ"], accepts }.run();
}
