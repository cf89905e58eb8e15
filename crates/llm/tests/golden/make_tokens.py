"""Golden token ids from llama.cpp (needs gguf, numpy and llama-cpp-python).

make_tokens.py                     rewrites the small vocabularies and tokens.json beside this script
make_tokens.py MODEL.gguf OUT      writes the ids of the same strings under a real vocabulary
"""
import collections
import json
import pathlib
import re
import sys
import tempfile

import llama_cpp
from gguf import GGUFReader, GGUFWriter

HERE = pathlib.Path(__file__).parent
PRES = ("gpt-2 smollm llama-bpe qwen2 qwen35 deepseek-coder deepseek-v3 falcon default command-r stablelm2").split()
# The others that llama.cpp has no approximation of, with fewer texts.
MORE = "glm4 chatglm-bpe minicpm5 bailingmoe seed-coder exaone-moe tiny_aya deepseek-llm afmoe poro-chat viking modern-bert".split()

BASE = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n", "\r\n", " \n", "\n ", "\t\n\t", "a", " a", "a ", "Hello", " Hello", "Hello world",
    " Hello world", "Hello World!", "Hello, world!", " Hello, y'all! How are you?", "this is 🦙.cpp", "w048 7tuijk dsdfhu",
    "I'm you're they've we'll he'd it's don't", "I'M YOU'RE THEY'VE WE'LL HE'D IT'S DON'T", "'s't're've'm'll'd", "''''''''", "'S 'T 'Re",
    "3", "33", "333", "3333", "33333", "333333", "3333333", "1234567890", "3.14159", "1,000,000", "0x7fff", "½ ¾ ² ³ Ⅷ ⅔", "٣٤٥ १२३ 一二三",
    "日本語のテキスト", "你好，世界！", "我想在apple工作1314151天～", "한국어 텍스트입니다", "Здравствуй, мир", "нещо на Български", "Γειά σου Κόσμε",
    "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "ภาษาไทย", "កាន់តែពិសេសអាច", "Tiếng Việt", "naïve café résumé", "Zwölf Boxkämpfer jagen",
    "e\u0301 o\u0308 n\u0303", "é ö ñ", "ﬁ ﬂ ﬀ", "Ａｂｃ１２３", "🚀 (normal) 😶‍🌫️ (multiple emojis concatenated) ✅", "👨‍👩‍👧‍👦 family", "🇺🇳🇯🇵", "❤️ 👍🏽",
    "\u200b\u200c\u200d\ufeff", "a\u00a0b\u2003c\u3000d", "\u2028\u2029", "x\u0085y", "\x00", "\x01\x02\x1f\x7f", "tab\tseparated\tvalues",
    "    indented", "        def f(x):\n            return x + 1\n", "if (a && b) { c(); } // ok", "a==b!=c<=d>=e", "http://example.com/a?b=c&d=e#f", "user@example.com",
    "!!!???...", "......", "-----", "=====", "_____", "#### Title", "$$x^2$$", "`code`", "\\n\\t\\\\", "C:\\dir\\file.txt", "«guillemets» “quotes” ‘single’ — dash – en … dots",
    "a  b", "a   b", "a    b", "a\nb", "a\n\nb", "a \n b", "a\t\tb", "trailing   ", "   leading", "\n leading newline", "ends with newline\n", " \t \n \t ",
    "ALLCAPS", "camelCaseWord", "snake_case_word", "kebab-case-word", "MixedCASEWords", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababab", "ⒶⒷⒸ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝕬𝖇𝖈", "𐍈𐌰𐌿",
    "<|endoftext|>", "<|im_start|>user\nHi<|im_end|>\n", "a<|im_end|>b", "<|im_end", "<s>", "</s>", "<s>a</s>", "<unk>", "<bos><start_of_turn>user\nHi<end_of_turn>", "<0x41>", "<|im_start|><|im_start|>", " <|im_start|> ",
    "\u2581", "\u2581\u2581", "a\u2581b", "Ġ", "Ċ", "Ġthe", "the quick brown fox jumps over the lazy dog", "The Quick Brown Fox", "THE QUICK BROWN FOX",
    "Führer straße ß ẞ", "ǅ ǈ ǋ", "ʰ ʱ ʲ", "ªº", "İıŞş", "ﷺ", "क्षि", "ก็", "🏳️‍🌈", "a\u0300\u0301\u0302", "\u0300", "Å Å", "① ② ③", "№ 5", "™ © ®", "→ ← ↑ ↓", "∀x∈ℝ: x²≥0", "│├└─", "█▓▒░",
]


def strings():
    out = list(BASE)
    words = [s for s in BASE if s.strip() and len(s) < 24]
    for i, s in enumerate(words):
        other = words[(i * 7 + 3) % len(words)]
        out += [s + " " + other, s + other, "\n" + s + "  " + other + "\n"]
    return list(dict.fromkeys(out))


CORPUS = " ".join(BASE) + """ The quick brown fox jumps over the lazy dog, and then the other one. Every model reads its text as tokens; each token
is a piece of a word, and the pieces are merged from characters. It is not the case that there is one right way to do this.
def add(a, b):\n    return a + b\n\nfor i in range(10):\n    print(i, add(i, 1))\n
Der schnelle braune Fuchs springt über den faulen Hund. Le renard brun saute par-dessus le chien paresseux. 日本語の文章もあります。日本語は難しい。 """ * 2


def byte_chars():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = {}, 0
    for b in range(256):
        table[b] = chr(b) if b in plain else chr(256 + extra)
        extra += b not in plain
    return table


def train(words, count):
    """The `count` best merges of words (tuples of symbols with their counts)."""
    merges = []
    for _ in range(count):
        pairs = collections.Counter()
        for symbols, n in words.items():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        merged = {}
        for symbols, n in words.items():
            out, i = [], 0
            while i < len(symbols):
                if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == best:
                    out.append(symbols[i] + symbols[i + 1])
                    i += 2
                else:
                    out.append(symbols[i])
                    i += 1
            merged[tuple(out)] = merged.get(tuple(out), 0) + n
        words = merged
    return merges


def write(path, model, tokens, types, **more):
    w = GGUFWriter(path, "llama")
    w.add_tokenizer_model(model)
    w.add_token_list(tokens)
    w.add_token_types(types)
    if "pre" in more:
        w.add_tokenizer_pre(more["pre"])
        w.add_token_merges(more["merges"])
    if "scores" in more:
        w.add_token_scores(more["scores"])
    for key, value in more.get("ids", {}).items():
        w.add_uint32(f"tokenizer.ggml.{key}_token_id", value)
    for key, value in more.get("flags", {}).items():
        w.add_bool(f"tokenizer.ggml.{key}", value)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_start|><|im_start|>"]


def bpe(path, pre):
    chars = byte_chars()
    words = collections.Counter(tuple(chars[b] for b in w.encode()) for w in re.findall(r"\s?\S+|\s+", CORPUS))
    merges = train(words, 700)
    user = ["camelCase"]
    tokens = list(dict.fromkeys(SPECIALS + user + list(chars.values()) + [a + b for a, b in merges]))
    types = [3] * 4 + [4] + [1] * (len(tokens) - 5)
    write(path, "gpt2", tokens, types, pre=pre, merges=[" ".join(m) for m in merges], ids=dict(bos=1, eos=2))


def spm(path, prefix):
    words = collections.Counter(tuple(w.replace(" ", "▁")) for w in re.findall(r"\s?\S+", CORPUS))
    merges = train(words, 600)
    pieces = list(dict.fromkeys(a + b for a, b in merges))
    chars = sorted({c for w in words for c in w if ord(c) < 0x2600 and c.isprintable()} - {"日", "ö"})
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + ["<start_of_turn>", "kebab-case"]
    tokens = list(dict.fromkeys(tokens + pieces + chars))
    types = [2, 3, 3] + [6] * 256 + [3, 4] + [1] * (len(tokens) - 261)
    scores = [0.0] * 261 + [float(-i) for i in range(len(tokens) - 261)]
    write(path, "llama", tokens, types, scores=scores, ids=dict(bos=1, eos=2, unknown=0), flags=dict(add_space_prefix=prefix))


def rwkv(path):
    def escape(b):
        return "".join({9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\", 39: "\\'"}.get(x) or (chr(x) if 32 <= x < 127 else f"\\x{x:02x}") for x in b)
    found = collections.Counter(w for w in re.findall(r"\s?\w+|\s?[^\w\s]+|\s+", CORPUS))
    words = [w.encode() for w, _ in found.most_common(400)]
    pieces = [bytes([b]) for b in range(256)] + sorted({w[:n] for w in words for n in (2, 3, 4, len(w)) if len(w[:n]) > 1})
    tokens = list(dict.fromkeys(["<s>"] + [escape(p) for p in pieces]))
    write(path, "rwkv", tokens, [3] + [1] * (len(tokens) - 1), ids=dict(bos=0, eos=0, unknown=0))


def ids(path, texts):
    model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    plain = [model.tokenize(t.encode(), add_bos=True, special=False) for t in texts]
    special = [model.tokenize(t.encode(), add_bos=False, special=True) for t in texts]
    model.close()
    return {"plain": plain, "special": special}


def main():
    texts = strings()
    if len(sys.argv) == 3:
        pathlib.Path(sys.argv[2]).write_text(json.dumps({"strings": texts, **ids(sys.argv[1], texts)}))
        return
    golden = {"strings": texts}
    with tempfile.TemporaryDirectory() as folder:
        for pre in PRES:
            path = pathlib.Path(folder, pre + ".gguf")
            bpe(path, pre)
            golden["bpe/" + pre] = ids(path, texts)
        for pre in MORE:
            path = pathlib.Path(folder, pre + ".gguf")
            bpe(path, pre)
            golden["bpe/" + pre] = {"plain": ids(path, BASE)["plain"]}
    bpe(HERE / "bpe.vocab", "gpt-2")
    for name, make in (("spm", lambda p: spm(p, True)), ("spm-bare", lambda p: spm(p, False)), ("rwkv", rwkv)):
        make(HERE / (name + ".vocab"))
        golden[name] = ids(HERE / (name + ".vocab"), texts)
    (HERE / "tokens.json").write_text(json.dumps(golden, ensure_ascii=True, separators=(",", ":")))


main()
