"""What the scripts that write tiny random models have in common (needs gguf, numpy and llama-cpp-python)."""
import pathlib
import sys

import llama_cpp
import numpy as np
from gguf import GGUFReader, GGUFWriter

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] != "." else HERE
WIDTH, FFN, HEADS = (64, 96, 4) if FOLDER == HERE else (256, 512, 4)
CONTEXT = 128 if FOLDER == HERE else 512
FLOAT = np.float16 if FOLDER == HERE else np.float32
TOKENS = [(i * i * 7 + 3 * i + 11) % 900 for i in range(40)]
TEXTS = ["the cat.", "a", "The quick brown fox jumps over it. Then he sat"]
VOCAB = 256  # of the byte-level vocabulary's tokens, enough for a valid file


def add_vocabulary(w):
    vocabulary = GGUFReader(HERE / "bpe.vocab")
    texts = vocabulary.fields["tokenizer.ggml.tokens"].contents()[:VOCAB]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(texts)
    w.add_token_types(vocabulary.fields["tokenizer.ggml.token_type"].contents()[:VOCAB])
    w.add_token_merges(["a b"])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)


class Writer(GGUFWriter):
    """A model file whose tensors are random."""

    folder = FOLDER
    decoded = False  # whether matrices are floats of 32 bits with the values that they have with 16

    def __init__(self, family):
        super().__init__(self.folder / f"tiny-{family}.model", family)
        self.rng = np.random.default_rng(sum(map(ord, family)))

    def number(self, key, value):
        self.add_uint32(f"{self.arch}.{key}", value)

    def matrix(self, name, *shape, scale=1.5):
        values = (self.rng.standard_normal(shape) * scale / np.sqrt(shape[-1])).astype(FLOAT)
        self.add_tensor(name + ".weight", values.astype(np.float32) if self.decoded else values)

    def vector(self, name, *shape, kind="weight", low=0.5, high=1.5):
        name = f"{name}.{kind}" if kind else name
        self.add_tensor(name, self.rng.uniform(low, high, shape).astype(np.float32))

    def finish(self):
        self.write_header_to_file()
        self.write_kv_data_to_file()
        self.write_tensors_to_file()
        self.close()


def logits(family, folder=HERE):
    model = llama_cpp.Llama(str(folder / f"tiny-{family}.model"), n_ctx=128, n_threads=1, logits_all=True, verbose=False,
                            type_k=0, type_v=0, flash_attn=False)
    tokens = [t % VOCAB for t in TOKENS]
    model.eval(tokens)
    scores = np.array(model.scores[: len(tokens)], np.float32)
    model.close()
    # Every fifth position: the file stays small, and late ones depend on all before.
    scores[4::5].tofile(HERE / f"tiny-{family}.logits")


def embeddings(family, folder=HERE, ranks=False):
    """Writes llama.cpp's embeddings of a few texts, or their scores."""
    model = llama_cpp.Llama(str(folder / f"tiny-{family}.model"), n_ctx=64, n_threads=1, embedding=True, verbose=False)
    rows = [model.embed(text, normalize=not ranks)[: 1 if ranks else None] for text in TEXTS]
    model.close()
    np.array(rows, np.float32).tofile(HERE / f"tiny-{family}.embeddings")
