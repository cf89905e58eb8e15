"""MLX as a peer of `wootz bench`: on the GPU of a Mac, on the CPU elsewhere."""

import pathlib
import sys

# This folder has the library's name, so it must not be on the path; the one above has the protocol.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
import mlx.core as mx  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from protocol import serve  # noqa: E402


def hundred_ops(x, y):
    for _ in range(50):
        x = x * 0.5 + y
    return x


OPS = {
    "add": lambda x, y: x + y,
    "exp": mx.exp,
    "cast_f16": lambda x: x.astype(mx.float16),
    "transpose": lambda x: mx.contiguous(x.T),
    "chain": lambda x, y: mx.exp(-(x * x + y * y)) * x / (1 + mx.abs(y)),
    "sum": lambda x: x.sum(),
    "sum_0": lambda x: x.sum(0),
    "sum_1": lambda x: x.sum(1),
    "argmax": lambda x: x.argmax(-1),
    "softmax": lambda x, *_: mx.softmax(x, -1),
    "rms_norm": lambda x, w, _: mx.fast.rms_norm(x, w, 1e-5),
    "layer_norm": lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5),
    "attention": lambda q, k, v: mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5),
    "sort": mx.sort,
    "matmul": lambda x, y: x @ y,
    "ten_ops": lambda x, y: mx.abs((mx.maximum(((x + y) * x - y) / 2.0, x) + 1.0) * y - x) + y,
    "hundred_ops": hundred_ops,
}


def prepare(op, inputs, _):
    if op not in OPS:
        return None
    arrays = [mx.array(np.load(path)) for path in inputs]
    if any(a.dtype == mx.float64 for a in arrays) or (inputs and np.load(inputs[0], mmap_mode="r").dtype == np.float64):
        return None  # MLX narrows doubles
    mx.eval(arrays)
    return lambda: mx.eval(OPS[op](*arrays))


serve(f"MLX {mx.__version__} on the {mx.default_device().type.name}", prepare)
