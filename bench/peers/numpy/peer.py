"""NumPy as a peer of `wootz bench`."""

import pathlib
import sys

import numpy as np

# This folder has the library's name, so it must not be on the path; the one above has the protocol.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from protocol import serve  # noqa: E402


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rms_norm(x, w, _):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w


def layer_norm(x, w, b):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * w + b


def attention(q, k, v):
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    return softmax(q @ k.transpose(0, 1, 3, 2) * (1 / np.sqrt(q.shape[-1]))) @ v


def hundred_ops(x, y):
    for _ in range(50):
        x = x * 0.5 + y
    return x


OPS = {
    "add": lambda x, y: x + y,
    "exp": np.exp,
    "cast_f16": lambda x: x.astype(np.float16),
    "transpose": lambda x: np.ascontiguousarray(x.T),
    "chain": lambda x, y: np.exp(-(x * x + y * y)) * x / (1 + np.abs(y)),
    "sum": lambda x: x.sum(),
    "sum_0": lambda x: x.sum(0),
    "sum_1": lambda x: x.sum(1),
    "argmax": lambda x: x.argmax(-1),
    "softmax": lambda x, *_: softmax(x),
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "attention": attention,
    "sort": lambda x: np.sort(x),
    "matmul": lambda x, y: x @ y,
    "ten_ops": lambda x, y: np.abs((np.maximum(((x + y) * x - y) / 2.0, x) + 1.0) * y - x) + y,
    "hundred_ops": hundred_ops,
}


def prepare(op, inputs, _):
    if op not in OPS:
        return None
    arrays = [np.load(path) for path in inputs]
    if op == "matmul" and arrays[0].dtype == np.float16:
        return None  # NumPy has no product of halves but a plain loop
    return lambda: OPS[op](*arrays)


serve(f"NumPy {np.__version__}", prepare)
