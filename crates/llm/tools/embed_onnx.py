"""Embeddings of Wootz against ONNX Runtime on a real model (needs numpy, onnx, onnxruntime, safetensors and tokenizers).

embed_onnx.py WOOTZ FOLDER

WOOTZ is the `wootz` command, FOLDER a BERT model as in embed_parity.py. The model is written as an ONNX graph of standard operators, which
ONNX Runtime computes in batches with padding, as its users do. Prints the least cosine between the vectors of 256 texts, embedded
together and one by one, and those of ONNX Runtime; fails below 0.99999. Then the time of both for all texts.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LEAST = 0.99999
program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
config = json.loads((folder / "config.json").read_text())
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_truncation()
tokenizer.enable_padding()
heads, width = config["num_attention_heads"], config["hidden_size"]

WORDS = "The river Grüße naïve 你好 x=1; don't wait, sells seashells by shore Überraschung 42 🙂 e-mail@host.org café".split()
TEXTS = [" ".join(WORDS[(i * 7 + j * j * 3) % len(WORDS)] for j in range(1 + i % 23)) for i in range(256)]


class Graph:
    """An ONNX graph that grows by one operator after another."""

    def __init__(self, weights):
        self.nodes, self.constants, self.weights = [], {}, weights

    def constant(self, value, kind=np.float32):
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(value, kind), name)
        return name

    def weight(self, name, transposed=False):
        value = self.weights[name]
        return self.constant(value.T.copy() if transposed else value)

    def op(self, kind, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def linear(self, name, x):
        return self.op("Add", self.op("MatMul", x, self.weight(name + ".weight", True)), self.weight(name + ".bias"))

    def norm(self, name, x):
        weights = self.weight(name + ".weight"), self.weight(name + ".bias")
        return self.op("LayerNormalization", x, *weights, axis=-1, epsilon=config["layer_norm_eps"])


def session():
    g = Graph(load_file(folder / "model.safetensors"))
    e = "embeddings."
    words = g.op("Gather", g.weight(e + "word_embeddings.weight"), "ids")
    places = g.op("Gather", g.weight(e + "position_embeddings.weight"), "positions")
    kind = g.constant(g.weights[e + "token_type_embeddings.weight"][0])
    x = g.norm(e + "LayerNorm", g.op("Add", g.op("Add", words, places), kind))
    # Scores of padding are as good as -inf.
    mask = g.op("Cast", "mask", to=TensorProto.FLOAT)
    hidden = g.op("Unsqueeze", g.op("Mul", g.op("Sub", mask, g.constant(1.0)), g.constant(1e9)), g.constant([1, 2], np.int64))
    by_head, flat = g.constant([0, 0, heads, width // heads], np.int64), g.constant([0, 0, width], np.int64)
    for i in range(config["num_hidden_layers"]):
        b = f"encoder.layer.{i}."
        q, k, v = (g.op("Reshape", g.linear(b + "attention.self." + part, x), by_head) for part in ("query", "key", "value"))
        q, v = (g.op("Transpose", part, perm=[0, 2, 1, 3]) for part in (q, v))
        scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 2, 3, 1]))
        scores = g.op("Add", g.op("Mul", scores, g.constant((width // heads) ** -0.5)), hidden)
        mixed = g.op("Transpose", g.op("MatMul", g.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        mixed = g.linear(b + "attention.output.dense", g.op("Reshape", mixed, flat))
        x = g.norm(b + "attention.output.LayerNorm", g.op("Add", x, mixed))
        h = g.op("Gelu", g.linear(b + "intermediate.dense", x))
        x = g.norm(b + "output.LayerNorm", g.op("Add", x, g.linear(b + "output.dense", h)))
    weight = g.op("Unsqueeze", mask, g.constant([-1], np.int64))
    total = g.op("ReduceSum", g.op("Mul", x, weight), g.constant([1], np.int64), keepdims=0)
    mean = g.op("Div", total, g.op("ReduceSum", weight, g.constant([1], np.int64), keepdims=0))
    g.nodes.append(helper.make_node("LpNormalization", [mean], ["vectors"], axis=-1, p=2))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape)
              for name, shape in (("ids", ["b", "t"]), ("positions", ["t"]), ("mask", ["b", "t"]))]
    output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["b", width])
    graph = helper.make_graph(g.nodes, "bert", inputs, [output], list(g.constants.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def theirs(network, texts, batch=32):
    rows = []
    for start in range(0, len(texts), batch):
        encoded = tokenizer.encode_batch(texts[start : start + batch])
        ids, mask = (np.array([getattr(e, part) for e in encoded], np.int64) for part in ("ids", "attention_mask"))
        rows.append(network.run(None, dict(ids=ids, positions=np.arange(ids.shape[1]), mask=mask))[0])
    return np.concatenate(rows).astype(np.float64)


def ours(texts):
    with tempfile.NamedTemporaryFile(suffix=".npy") as out:
        command = [program, "embed", "-m", str(folder), "--device", "cpu", "--out", out.name]
        done = subprocess.run(command, check=True, input="\n".join(texts), text=True, capture_output=True)
        return np.load(out.name).astype(np.float64), done.stderr.strip()


network = session()
expected = theirs(network, TEXTS)
together, said = ours(TEXTS)
sample = range(0, len(TEXTS), 16)
alone = np.concatenate([ours([TEXTS[i]])[0] for i in sample])
of_one = np.concatenate([theirs(network, [TEXTS[i]]) for i in sample])
least = (together * expected).sum(-1).min()
single = (alone * of_one).sum(-1).min()
same = (together[list(sample)] * alone).sum(-1).min()
print(f"{len(TEXTS)} texts: least cosine with ONNX Runtime {onnxruntime.__version__}: {least:.8f} in a batch, {single:.8f} one by one;"
      f" of batch {len(TEXTS)} with batch 1: {same:.8f}")
times = []
for _ in range(3):
    begin = time.perf_counter()
    theirs(network, TEXTS)
    times.append(time.perf_counter() - begin)
print(f"ONNX Runtime: {min(times):.2f} s; wootz: {said}")
sys.exit(min(least, single, same) < LEAST)
