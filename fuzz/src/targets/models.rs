//! Language models: tokenizers, templates, folders of a hub, and whole models that are loaded and asked.

use crate::{Target, scratch};
use std::ops::ControlFlow;
use std::sync::Arc;
use wootz::Device;
use wootz_gguf::Gguf;
use wootz_llm::chat::{ChatTemplate, Message, TemplateLimits};
use wootz_llm::sampling::Sampling;
use wootz_llm::tokenizer::{Encoding, Tokenizer};
use wootz_llm::{Model, ModelOptions, Request, Session, SessionOptions};

fn tokenizes(gguf: &Gguf) -> bool {
    let Ok(tokenizer) = Tokenizer::from_gguf(gguf) else { return false };
    for text in ["Hello, wörld!  12345\n\n<s>", "\u{0}\u{feff}\u{10ffff}", ""] {
        let tokens = tokenizer.encode(text, Encoding::TEMPLATE);
        std::hint::black_box(tokenizer.decode(&tokens, true));
    }
    true
}

pub const TOKENIZER: Target = Target {
    name: "tokenizer",
    words: &["gpt2", "llama", "rwkv", "<s>", "\u{2581}", "Ġ"],
    accepts: |bytes| Gguf::from_bytes(bytes).is_ok_and(|gguf| tokenizes(&gguf)),
};

pub const TEMPLATE: Target = Target {
    name: "template",
    words: &[
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "-",
        "not ",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "~",
        "+",
        "*",
        "|",
        ".",
        "'",
        "\"",
        "if ",
        "else ",
        "elif ",
        "endif",
        "for i in range(99)",
        "endfor",
        "set x = ",
        "endset",
        "macro m(a)",
        "endmacro",
        "namespace()",
        "ns.x",
        "loop.index",
        "|join(x)",
        "|tojson",
        "|replace('a', x)",
        ".split('a')",
        "raw",
        "endraw",
        "messages",
        "[::-1]",
        "is defined",
        "9999999999",
    ],
    accepts: |bytes| {
        let source = String::from_utf8_lossy(bytes);
        let limits = TemplateLimits { steps: 20_000, bytes: 1 << 16, ..TemplateLimits::default() };
        let messages = [Message::new("system", "Be brief."), Message::new("user", " Hi <b>\n")];
        ChatTemplate::within(limits, &source, "<s>", "</s>").is_ok_and(|template| {
            let _ = template.render(&messages, true);
            true
        })
    },
};

/// Loads a model and asks it for two tokens. Whether it could be loaded.
fn answers(gguf: Gguf) -> bool {
    let Ok(model) = Model::from_gguf(gguf, &Device::cpu(), ModelOptions::default()) else { return false };
    let model = Arc::new(model);
    let Ok(mut session) = Session::new(&model, SessionOptions::default()) else { return false };
    let request =
        Request { prompt: vec![0, 1, 2, 1], limit: 2, sampling: Sampling::GREEDY, seed: 7, stops: vec![] };
    let _ = session.generate(&request, |_| ControlFlow::Continue(()));
    true
}

pub const MODEL: Target = Target {
    name: "model",
    words: &["llama", "gemma3", "qwen3", "rwkv7", "qwen2"],
    accepts: |bytes| Gguf::from_bytes(bytes).is_ok_and(answers),
};

/// A safetensors file without tensors: what is fuzzed is everything beside them.
const NO_WEIGHTS: &[u8] = b"\x02\0\0\0\0\0\0\0{}";

/// A folder as one file: each of its files begins with a line `=== NAME`.
pub const FOLDER: Target = Target {
    name: "folder",
    words: &[
        "\"",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "null",
        "true",
        "-1",
        "1e400",
        "4294967295",
        "\"head_dim\": ",
        "\"rope_scaling\": ",
        "\"rope_type\": \"llama3\"",
        "\"factor\": 0",
        "\"num_attention_heads\": 0",
        "\"vocab\"",
        "\"merges\"",
        "\"added_tokens\"",
        "\n=== config.json\n",
        "\n=== tokenizer.json\n",
    ],
    accepts: |bytes| {
        let folder = scratch("folder");
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        for name in ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"] {
            let _ = std::fs::remove_file(folder.join(name));
        }
        let text = String::from_utf8_lossy(bytes);
        for part in text.split("\n=== ") {
            let Some((name, content)) = part.split_once('\n') else { continue };
            // Only the names that are removed above: an input must not leave anything to the next one.
            if ["config.json", "tokenizer.json", "tokenizer_config.json"].contains(&name) {
                std::fs::write(folder.join(name), content).expect("the temporary folder is writable");
            }
        }
        std::fs::write(folder.join("model.safetensors"), NO_WEIGHTS)
            .expect("the temporary folder is writable");
        wootz_llm::hub::open(&folder).is_ok_and(|gguf| {
            let whole = tokenizes(&gguf);
            whole | answers(gguf)
        })
    },
};
