"""RWKV-7 against its formulas in NumPy, token after token in float64."""

import pathlib
import shutil

import numpy as np
import pytest

from wootz import llm

gguf = pytest.importorskip("gguf")

GOLDEN = pathlib.Path(__file__).parents[2] / "llm" / "tests" / "golden"
COUNT = 300


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normalize(x, epsilon):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + epsilon)


class Network:
    """A model file as matrices, and the state of a sequence."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.weights = {t.name: np.asarray(t.data, np.float64) for t in reader.tensors}
        self.head = int(reader.fields["rwkv7.wkv.head_size"].contents())
        self.layers = int(reader.fields["rwkv7.block_count"].contents())
        self.width = self["token_embd"].shape[1]
        self.state = np.zeros((self.layers, self.width // self.head, self.head, self.head))
        self.before = np.zeros((self.layers, 2, self.width))

    def __getitem__(self, name):
        return self.weights[name + ".weight"]

    def norm(self, name, x):
        return normalize(x, 1e-5) * self[name] + self.weights[name + ".bias"]

    def shift(self, layer, part, x):
        """How far each value was from what it was one token before."""
        change = self.before[layer, part] - x
        self.before[layer, part] = x
        return change

    def time_mix(self, layer, x, first):
        def weight(part):
            return self[f"blk.{layer}.time_mix_{part}"]

        def low_rank(part, x, inner=lambda x: x):
            return weight(part + "2") @ inner(weight(part + "1") @ x)

        change = self.shift(layer, 0, x)
        r, w, k, v, a, g = x + change * weight("lerp_fused").reshape(6, -1)
        r, k = weight("receptance") @ r, weight("key") @ k
        decay = np.exp(-np.exp(-0.5) * sigmoid(weight("w0") + low_rank("w", w, np.tanh)))
        value = weight("value") @ v
        if first is None:
            first = value
        else:
            value = value + (first - value) * sigmoid(weight("v0") + low_rank("v", v))
        a = sigmoid(weight("a0") + low_rank("a", a))
        g = low_rank("g", g, sigmoid)
        removal = (k * weight("k_k")).reshape(-1, self.head)
        removal /= np.maximum(np.linalg.norm(removal, axis=-1, keepdims=True), 1e-12)
        key = k * (1 + (a - 1) * weight("k_a"))
        r, decay, key, v, a = (y.reshape(-1, self.head) for y in (r, decay, key, value, a))
        s = self.state[layer]
        removed = np.einsum("hij,hj->hi", s, -removal)
        s = s * decay[:, None, :] + removed[:, :, None] * (removal * a)[:, None, :] + v[:, :, None] * key[:, None, :]
        self.state[layer] = s
        out = normalize(np.einsum("hij,hj->hi", s, r), 64e-5).reshape(-1)
        out = out * weight("ln") + self.weights[f"blk.{layer}.time_mix_ln.bias"]
        bonus = (r * key * weight("r_k").reshape(-1, self.head)).sum(-1, keepdims=True) * v
        return weight("output") @ ((out + bonus.reshape(-1)) * g), first

    def channel_mix(self, layer, x):
        change = self.shift(layer, 1, x)
        k = self[f"blk.{layer}.channel_mix_key"] @ (x + change * self[f"blk.{layer}.channel_mix_lerp_k"].reshape(-1))
        return self[f"blk.{layer}.channel_mix_value"] @ np.maximum(k, 0) ** 2

    def advance(self, token):
        x = self.norm("token_embd_norm", self["token_embd"][token])
        first = None
        for layer in range(self.layers):
            out, first = self.time_mix(layer, self.norm(f"blk.{layer}.attn_norm", x), first)
            x = x + out
            x = x + self.channel_mix(layer, self.norm(f"blk.{layer}.attn_norm_2", x))
        return self["output"] @ self.norm("output_norm", x)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The tiny model, said to be made for more tokens."""
    path = tmp_path_factory.mktemp("rwkv7") / "tiny.gguf"
    shutil.copy(GOLDEN / "tiny-rwkv7.model", path)
    field = gguf.GGUFReader(path, "r+").fields["rwkv7.context_length"]
    field.parts[field.data[0]][0] = 512
    return path


def test_logits_are_those_of_the_formulas_over_300_tokens(path):
    network = Network(path)
    tokens = [(i * i * 7 + 13 * i + 3) % len(network["token_embd"]) for i in range(COUNT)]
    expected = np.array([network.advance(token) for token in tokens])
    spread = np.abs(expected).max()
    model = llm.load(path, device="cpu", cache="float32")
    in_chunks = model.logits(tokens, every=True).numpy()
    assert np.abs(in_chunks - expected).max() < 1e-4 * spread
    one_by_one = np.array([model.logits(tokens[: i + 1]).numpy() for i in range(COUNT)])
    assert np.abs(one_by_one - expected).max() < 1e-4 * spread
