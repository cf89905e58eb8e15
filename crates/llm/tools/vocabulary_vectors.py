"""Token ids of difficult texts by llama.cpp, for `cargo run --example vocabularies`.

vocabulary_vectors.py FROM TO

FROM is a folder of GGUF files with vocabularies (`vendor/llama.cpp/models` of the source package `llama-cpp-python`). TO gets
a link to each, and beside it `.inp` and `.out` in the format of that folder. Needs llama-cpp-python.
"""
import pathlib
import random
import sys

import llama_cpp

SEPARATOR = "\n__ggml_vocab_test__\n"

FIXED = [
    "", " ", "  ", "\t", "\n", "\r", "\r\n", "\n\n\n", " \n ", "\t\t\n", "a\r\nb", " a", "a ", "  a  b   c    d ", "\u00a0", "\u3000x",
    "\u200b\u200c\u200d", "\ufeff", "can't won't I'LL you'Re 'tis 'S", "''''", "\"'`´", "don\u2019t", "1 12 123 1234 12345 1234567890",
    "3.14e-10", "0x1F", "٣٤٥", "१२३", "Ⅷ ½ ² ₃", "ÀÉÎõü", "A\u0301e\u0308", "ﬁ ﬂ", "ǅ ß ẞ İ ı", "Привет, мир", "Ωμέγα", "שָׁלוֹם", "السلام عليكم", "नमस्ते", "สวัสดี",
    "你好，世界。", "日本語テキスト", "한국어 텍스트", "👨\u200d👩\u200d👧\u200d👦", "🇩🇪🇫🇷", "🏳️\u200d🌈", "e\u0301\u0301\u0301", "<s>", "</s>", "<|im_start|>", "<unk>", "[CLS] [SEP] [MASK]",
    "<0x0A>", "▁", "▁▁a", "Ġ", "Ċ", "\x00", "a\x00b", "\x01\x02\x7f\x80\x9f", "\ud7ff\ue000\uffff", "\U0010ffff", "\U0001f600" * 9,
    "if (x == 0) {\n\treturn;\n}\n", "def f(a, b=1):\n    return a**b  # comment", "https://example.org/a?b=c&d=%20#e", "user@example.org", "C:\\dir\\file.txt",
    "\\n\\t\\u0041", "$100,000.00 €5 £3", "== != <= >= -> => ::", "....", "----", "____", "####", "****", "a" * 300, " " * 100, "\n" * 50, "ab" * 200, "0" * 100,
    "Ⅰⅱ①②", "ﷺ", "\u0378", "ｆｕｌｌｗｉｄｔｈ", "x\u0305", "\u0300abc", "camelCaseWordsHTTPServer", "ÄÖÜäöü ÄöÜ", "word\u00adbreak",
]

POOLS = [
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", " ", " \t\n\r", "'\".,;:!?-_()[]{}<>/\\|@#$%^&*+=~`",
    "äöüßéèñçåøžšđ", "абвгдежзийклмнопрст", "αβγδεζηθ", "一二三四五六七八九十的是不", "あいうえおカキクケコ", "가나다라마바사", "אבגדה", "ابتثج", "कखगघङािी",
    "\u0300\u0301\u0308\u20dd", "😀😃🚀🎉👍🏽", "\u200b\u200d\u2028\u00a0\u3000", "½²³ⅧⅨ٠١٢", "'s't're'll",
]


def texts():
    rng = random.Random(7)
    for _ in range(260):
        pools = rng.sample(POOLS, rng.randint(1, 5))
        runs = ("".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 8))) for _ in range(rng.randint(1, 12)))
        yield rng.choice(["", " "]).join(runs)


def ids(model, text):
    vocab, data = llama_cpp.llama_model_get_vocab(model), text.encode("utf-8", "surrogatepass")
    room = 4 * len(data) + 16
    out = (llama_cpp.llama_token * room)()
    count = llama_cpp.llama_tokenize(vocab, data, len(data), out, room, False, False)
    assert count >= 0, text
    return list(out[:count])


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    target.mkdir(parents=True, exist_ok=True)
    all_texts = [t for t in [*FIXED, *texts()] if not any("\ud800" <= c <= "\udfff" for c in t)]
    llama_cpp.llama_backend_init()
    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = True
    for path in sorted(source.glob("*.gguf")):
        model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
        if not model:
            print(f"{path.name}: llama.cpp does not load it")
            continue
        lines = [" ".join(map(str, ids(model, text))) for text in all_texts]
        link = target / path.name
        link.unlink(missing_ok=True)
        link.symlink_to(path.resolve())
        (target / (path.name + ".inp")).write_bytes(SEPARATOR.join(all_texts).encode())
        (target / (path.name + ".out")).write_text("\n".join(lines) + "\n")
        print(f"{path.name}: {len(lines)} texts")
        llama_cpp.llama_model_free(model)


main()
