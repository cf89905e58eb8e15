//! The pre-tokenizers that GGUF files name, and their patterns.

/// What the original GPT-2 vocabulary uses, and most others build on.
pub(super) const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// English contractions in both cases.
macro_rules! contractions {
    () => {
        "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
    };
}

pub(super) const CONTRACTIONS: &str = contractions!();

/// The family of Llama 3 and Qwen 2: they differ in how many digits stay together.
macro_rules! words_and_digits {
    ($letters:literal, $others:literal, $digits:literal) => {
        words_and_digits!($letters, $others, $digits, r"+[\r\n]*|\s*[\r\n]+")
    };
    ($letters:literal, $others:literal, $digits:literal, $breaks:literal) => {
        concat!(
            contractions!(),
            r"|[^\r\n\p{L}\p{N}]?",
            $letters,
            "|",
            $digits,
            "| ?",
            $others,
            $breaks,
            r"|\s+(?!\S)|\s+"
        )
    };
}

/// The family of GPT-4o and Mistral's Tekken: words are cut where capitals follow small letters.
macro_rules! cased_words {
    ($after:expr, $digits:literal) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            $after,
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            $after,
            "|",
            $digits,
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

/// Kimi K2's: as GPT-4o's, with Chinese characters apart from other letters.
macro_rules! kimi_words {
    () => {
        concat!(
            r"\p{Han}+|[^\r\n\p{L}\p{N}]?[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]*",
            r"[[\p{Ll}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]+",
            contractions!(),
            r"?|[^\r\n\p{L}\p{N}]?[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]+",
            r"[[\p{Ll}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]*",
            contractions!(),
            r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

/// The words of DeepSeek 3: a sign and ASCII letters, or letters with their marks.
const SIGNED_WORDS: &str = concat!(
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+",
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// Digits in groups of three, counted from the last.
const GROUPED_DIGITS: &str = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))";

const LLAMA3: &str = words_and_digits!(r"\p{L}+", r"[^\s\p{L}\p{N}]", r"\p{N}{1,3}");
const QWEN2: &str = words_and_digits!(r"\p{L}+", r"[^\s\p{L}\p{N}]", r"\p{N}");
const GPT4O: &str = cased_words!(concat!(contractions!(), "?"), r"\p{N}{1,3}");

/// A pre-tokenizer.
pub(super) struct Row {
    /// Its names in `tokenizer.ggml.pre`.
    pub names: &'static [&'static str],
    pub patterns: &'static [&'static str],
    /// Whether a word that is a token skips the merges.
    pub whole_words: bool,
    /// Whether the begin token is added when the metadata is silent.
    pub add_bos: bool,
}

const fn row(names: &'static [&'static str], patterns: &'static [&'static str]) -> Row {
    Row { names, patterns, whole_words: false, add_bos: false }
}

impl Row {
    const fn whole_words(self) -> Row {
        Row { whole_words: true, ..self }
    }

    const fn add_bos(self) -> Row {
        Row { add_bos: true, ..self }
    }
}

pub(super) const ROWS: &[Row] = &[
    row(
        &[
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "gigachat",
            "granite-docling",
            "mellum",
            "exaone4",
            "a.x-4.0",
            "modern-bert",
            "roberta-bpe",
            "jina-es",
            "jina-de",
            "jina-v1-en",
            "jina-v2-es",
            "jina-v2-de",
            "jina-v2-code",
        ],
        &[GPT2],
    ),
    row(
        &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"],
        &[r"\p{N}", GPT2],
    ),
    row(
        &[
            "llama3",
            "llama-v3",
            "llama-bpe",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        &[LLAMA3],
    )
    .whole_words()
    .add_bos(),
    row(&["glm4", "glm5"], &[LLAMA3]).whole_words(),
    row(&["dbrx", "smaug-bpe", "chatglm-bpe"], &[LLAMA3]),
    row(&["minicpm5"], &[r"\p{N}{1,3}", words_and_digits!(r"\p{L}+", r"[^\s\p{L}\p{N}]", r"\p{N}+")])
        .whole_words(),
    row(
        &[
            "qwen2",
            "deepseek-r1-qwen",
            "stablelm2",
            "hunyuan",
            "megrez",
            "grok-2",
            "kormo",
            "f2llmv2",
            "solar-open",
        ],
        &[QWEN2],
    ),
    row(&["qwen35"], &[words_and_digits!(r"[\p{L}\p{M}]+", r"[^\s\p{L}\p{M}\p{N}]", r"\p{N}")]),
    row(
        &["bailingmoe", "bailingmoe2", "llada-moe"],
        &[words_and_digits!(r"\p{L}+", r"[^\s\p{L}\p{N}]", r"\p{N}", r"+[\r\n]*|\s*[\r\n]")],
    ),
    row(&["seed-coder"], &[words_and_digits!(r"\p{L}+", r"[^\s\p{L}\p{N}\r\n]", r"\p{N}", r"+|\s*[\r\n]+")]),
    row(
        &["exaone-moe"],
        &[words_and_digits!(
            r"(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+",
            r"[^\s\p{L}\p{N}]",
            r"\p{N}",
            r"+[\r\n/]?|\s*[\r\n]"
        )],
    ),
    row(&["tekken"], &[cased_words!("", r"\p{N}")]).whole_words().add_bos(),
    row(&["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], &[GPT4O]),
    row(&["granite-embed-multi-97m"], &[GPT4O]).whole_words(),
    row(&["tiny_aya", "cohere2moe"], &[GROUPED_DIGITS, GPT4O]),
    row(&["kimi-k2"], &[kimi_words!()]),
    row(&["deepseek-coder"], &["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"]),
    row(
        &["deepseek-llm"],
        &[
            "[\r\n]",
            // Letters that have a case.
            r"\s?[\p{Lu}\p{Ll}\p{Lt}]+",
            r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
            r"\s+$",
            "[一-龥ࠀ-一가-퟿]+",
            r"\p{N}+",
        ],
    ),
    row(
        &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        &[r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", SIGNED_WORDS],
    ),
    row(
        &["afmoe"],
        &[GROUPED_DIGITS, "[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+", SIGNED_WORDS],
    ),
    row(&["falcon"], &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"]),
    row(&["poro-chat", "bloom", "gpt3-finnish"], &[" ?[^(\\s|.,!?…。，、।۔،)]+"]),
    row(&["viking"], &[" ?[^(\\s|.,!?…。，、।۔،)]+", r"\p{N}"]),
    row(&["default"], &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"]),
];
