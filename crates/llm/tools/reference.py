"""Networks in NumPy with floats of 64 bits, written from their papers, to tell which of two programs is off (needs gguf and numpy).

`logits(path, tokens)` gives the logits of every position, and how close the closest choice of an expert was there: the least gap
between the score of the last expert that was chosen and of the first that was not, as a part of the former. Where it is smaller than
what rounding changes, two programs may choose different experts. `parity.py --reference` uses it.

Families: deepseek2, gemma4, granitehybrid, qwen35moe, rwkv7.

    reference.py TOKEN,TOKEN,… MODEL.gguf…

writes the logits of models as floats of 32 bits, one model after another, to stdout; the tests read them.
"""
import sys

import numpy as np
from gguf import GGUFReader, quants


class File:
    def __init__(self, path):
        reader = GGUFReader(path)
        self.keys = {name: field.contents() for name, field in reader.fields.items()}
        self.family = self.keys["general.architecture"]
        self.tensors = {t.name: t for t in reader.tensors}

    def number(self, key, default=None):
        return self.keys.get(f"{self.family}.{key}", default)

    def has(self, name):
        return name in self.tensors

    def __getitem__(self, name):
        t = self.tensors[name]
        shape = [int(extent) for extent in reversed(t.shape)]
        return quants.dequantize(t.data, t.tensor_type).reshape(shape).astype(np.float64)


class Layer:
    """The tensors of one layer, read once."""

    def __init__(self, file, index):
        prefix = f"blk.{index}."
        self.own = {name[len(prefix):]: file[name] for name in file.tensors if name.startswith(prefix)}
        self.file = file

    def __getitem__(self, name):
        return self.own[name if name in self.own else name + ".weight"]

    def has(self, name):
        return name in self.own or name + ".weight" in self.own


def sigmoid(x):
    return 0.5 * (1 + np.tanh(x / 2))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softplus(x):
    return np.logaddexp(0, x)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rms_norm(x, weight=1.0, epsilon=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def layer_norm(x, weight=1.0, bias=0.0, epsilon=1e-5):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight + bias


def rotate(x, frequencies, neighbours=False):
    """`x [t, heads, n]` with its first pairs turned by position times frequency."""
    n = 2 * len(frequencies)
    angle = np.arange(len(x))[:, None, None] * frequencies
    cos, sin = np.cos(angle), np.sin(angle)
    a, b = (x[..., 0:n:2], x[..., 1:n:2]) if neighbours else (x[..., : n // 2], x[..., n // 2 : n])
    turned = np.stack([a * cos - b * sin, a * sin + b * cos], -1 if neighbours else -2).reshape(*x.shape[:-1], n)
    return np.concatenate([turned, x[..., n:]], -1)


def plain(base, n):
    return base ** (-np.arange(0, n, 2) / n)


def attend(q, k, v, scale, window=None):
    """Causal attention of `q [t, heads, n]` to `k [t, kv heads, n]` and `v`, `[t, heads · m]`."""
    t, shared = len(q), q.shape[1] // k.shape[1]
    k, v = np.repeat(k, shared, 1), np.repeat(v, shared, 1)
    scores = np.einsum("qhn,khn->hqk", q, k) * scale
    back = np.arange(t)[:, None] - np.arange(t)
    hidden = (back < 0) if window is None else (back < 0) | (back >= window)
    return np.einsum("hqk,khm->qhm", softmax(np.where(hidden, -np.inf, scores)), v).reshape(t, -1)


def gated(x, gate, up, down, activation=silu):
    return (activation(x @ gate.T) * (x @ up.T)) @ down.T


class Router:
    """Chooses experts, and remembers the closest choice at every position."""

    def __init__(self, tokens):
        self.margins = np.full(tokens, np.inf)

    def choose(self, judged, count):
        order = np.argsort(-judged, -1, kind="stable")
        ordered = np.take_along_axis(judged, order, -1)
        last = ordered[:, count - 1]
        if count < judged.shape[-1]:
            self.margins = np.minimum(self.margins, (last - ordered[:, count]) / np.abs(last))
        return order[:, :count]


def experts(x, layer, router, scores, used, activation=silu, judged=None, normalised=True, scale=1.0):
    """The sum of each token's experts, weighted by their scores."""
    chosen = router.choose(scores if judged is None else judged, used)
    weights = np.take_along_axis(scores, chosen, -1)
    if normalised:
        weights = weights / weights.sum(-1, keepdims=True)
    if layer.has("ffn_down_exps.scale"):
        weights = weights * layer["ffn_down_exps.scale"][chosen]
    if layer.has("ffn_gate_up_exps"):
        gates, ups = np.split(layer["ffn_gate_up_exps"], 2, axis=1)
    else:
        gates, ups = layer["ffn_gate_exps"], layer["ffn_up_exps"]
    down, out = layer["ffn_down_exps"], np.zeros_like(x)
    for t in range(len(x)):
        for expert, weight in zip(chosen[t], weights[t]):
            out[t] += scale * weight * gated(x[t], gates[expert], ups[expert], down[expert], activation)
    return out


def shared_expert(x, layer):
    return gated(x, layer["ffn_gate_shexp"], layer["ffn_up_shexp"], layer["ffn_down_shexp"])


def convolve(x, weights, bias=0.0):
    """Each channel's own causal convolution, `weights [channels, kernel]`."""
    kernel = weights.shape[1]
    padded = np.concatenate([np.zeros((kernel - 1, x.shape[1])), x])
    return sum(padded[i : i + len(x)] * weights[:, i] for i in range(kernel)) + bias


def deepseek2(file, tokens, router):
    n = file.number
    heads, rope, rank = n("attention.head_count"), n("rope.dimension_count"), n("attention.kv_lora_rank")
    key, value = n("attention.key_length_mla"), n("attention.value_length_mla")
    factor, epsilon = n("rope.scaling.factor"), n("attention.layer_norm_rms_epsilon")
    # YaRN (Peng et al., 2023): slow pairs are interpolated, fast ones are not.
    fast = plain(n("rope.freq_base"), rope)
    at = lambda turns: rope * np.log(n("rope.scaling.original_context_length") / (turns * 2 * np.pi)) / (2 * np.log(n("rope.freq_base")))
    low, high = max(np.floor(at(32)), 0), min(np.ceil(at(1)), rope - 1)
    ramp = 1 - np.clip((np.arange(rope // 2) - low) / max(high - low, 0.001), 0, 1)
    frequencies = fast / factor * (1 - ramp) + fast * ramp
    scale = (1 + n("rope.scaling.yarn_log_multiplier") * np.log(factor)) ** 2 / np.sqrt(key)
    x = file["token_embd.weight"][tokens]
    for i in range(n("block_count")):
        layer, t = Layer(file, i), len(tokens)
        h = rms_norm(x, layer["attn_norm"], epsilon)
        q = rms_norm(h @ layer["attn_q_a"].T, layer["attn_q_a_norm"], epsilon) @ layer["attn_q_b"].T
        q = q.reshape(t, heads, key)
        latent = h @ layer["attn_kv_a_mqa"].T
        c = rms_norm(latent[:, :rank], layer["attn_kv_a_norm"], epsilon)
        # Keys and values of every head, as the paper has them; `attn_k_b` is transposed.
        k = np.einsum("tr,hrn->thn", c, layer["attn_k_b"])
        v = np.einsum("tr,hvr->thv", c, layer["attn_v_b"])
        turned = rotate(latent[:, None, rank:], frequencies, True)
        k = np.concatenate([k, np.repeat(turned, heads, 1)], -1)
        q = np.concatenate([q[..., : key - rope], rotate(q[..., key - rope :], frequencies, True)], -1)
        x = x + attend(q, k, v, scale) @ layer["attn_output"].T
        h = rms_norm(x, layer["ffn_norm"], epsilon)
        if i < n("leading_dense_block_count"):
            x = x + gated(h, layer["ffn_gate"], layer["ffn_up"], layer["ffn_down"])
            continue
        scores = sigmoid(h @ layer["ffn_gate_inp"].T)
        groups, taken = n("expert_group_count"), n("expert_group_used_count")
        grouped = (scores + layer["exp_probs_b.bias"]).reshape(t, groups, -1)
        best = router.choose(np.sort(grouped, -1)[..., -2:].sum(-1), taken)
        is_best = np.zeros((t, groups, 1), bool)
        np.put_along_axis(is_best[..., 0], best, True, -1)
        judged = np.where(is_best, grouped, -np.inf).reshape(t, -1)
        routed = experts(h, layer, router, scores, n("expert_used_count"), judged=judged, scale=n("expert_weights_scale"))
        x = x + routed + shared_expert(h, layer)
    return rms_norm(x, file["output_norm.weight"], epsilon) @ file["token_embd.weight"].T


def gemma4(file, tokens, router):
    n, t = file.number, len(tokens)
    heads, epsilon, layers = n("attention.head_count"), n("attention.layer_norm_rms_epsilon"), n("block_count")
    embedding = file["token_embd.weight"]
    width = embedding.shape[1]
    x = embedding[tokens] * np.sqrt(width)
    own = n("embedding_length_per_layer_input")
    rows = file["per_layer_token_embd.weight"][tokens].reshape(t, layers, own) * np.sqrt(own)
    projected = (x @ file["per_layer_model_proj.weight"].T / np.sqrt(width)).reshape(t, layers, own)
    per_layer = (rms_norm(projected, file["per_layer_proj_norm.weight"], epsilon) + rows) / np.sqrt(2)
    kept = {}
    for i in range(layers):
        layer, is_local = Layer(file, i), bool(n("attention.sliding_window_pattern")[i])
        base = n("rope.freq_base_swa") if is_local else n("rope.freq_base")
        head = n("attention.key_length_swa") if is_local else n("attention.key_length")
        frequencies = plain(base, head) / (1.0 if is_local else file["rope_freqs.weight"])
        h = rms_norm(x, layer["attn_norm"], epsilon)
        q = rms_norm((h @ layer["attn_q"].T).reshape(t, heads, head), layer["attn_q_norm"], epsilon)
        if layer.has("attn_k"):
            k = (h @ layer["attn_k"].T).reshape(t, -1, head)
            v = (h @ layer["attn_v"].T).reshape(t, -1, head) if layer.has("attn_v") else k
            kept[is_local] = rotate(rms_norm(k, layer["attn_k_norm"], epsilon), frequencies), rms_norm(v, 1.0, epsilon)
        # The last layers share the keys of the last layer of their kind that has some.
        k, v = kept[is_local]
        window = n("attention.sliding_window") if is_local else None
        mixed = attend(rotate(q, frequencies), k, v, 1.0, window) @ layer["attn_output"].T
        x = x + rms_norm(mixed, layer["post_attention_norm"], epsilon)
        h = gated(rms_norm(x, layer["ffn_norm"], epsilon), layer["ffn_gate"], layer["ffn_up"], layer["ffn_down"], gelu)
        if layer.has("ffn_gate_inp"):
            judged = rms_norm(x, layer["ffn_gate_inp.scale"], epsilon) / np.sqrt(width)
            scores = softmax(judged @ layer["ffn_gate_inp.weight"].T)
            beside = rms_norm(x, layer["pre_ffw_norm_2"], epsilon)
            beside = experts(beside, layer, router, scores, n("expert_used_count"), gelu)
            h = rms_norm(h, layer["post_ffw_norm_1"], epsilon) + rms_norm(beside, layer["post_ffw_norm_2"], epsilon)
        x = x + rms_norm(h, layer["post_ffw_norm"], epsilon)
        h = gelu(x @ layer["inp_gate"].T) * per_layer[:, i]
        x = x + rms_norm(h @ layer["proj"].T, layer["post_norm"], epsilon)
        x = x * layer["layer_output_scale"]
    cap = n("final_logit_softcapping")
    return cap * np.tanh(rms_norm(x, file["output_norm.weight"], epsilon) @ embedding.T / cap)


def granitehybrid(file, tokens, router):
    n, t = file.number, len(tokens)
    inner, state, groups = n("ssm.inner_size"), n("ssm.state_size"), n("ssm.group_count")
    steps, epsilon = n("ssm.time_step_rank"), n("attention.layer_norm_rms_epsilon")
    x = file["token_embd.weight"][tokens] * n("embedding_scale")
    for i in range(n("block_count")):
        layer = Layer(file, i)
        h = rms_norm(x, layer["attn_norm"], epsilon)
        if layer.has("attn_q"):
            kv, head = n("attention.head_count_kv")[i], x.shape[1] // n("attention.head_count")
            q, k, v = (h @ layer["attn_" + part].T for part in "qkv")
            mixed = attend(q.reshape(t, -1, head), k.reshape(t, kv, head), v.reshape(t, kv, head), n("attention.scale"))
            mixed = mixed @ layer["attn_output"].T
        else:
            mixed = state_space(h @ layer["ssm_in"].T, layer, (inner, state, groups, steps), epsilon)
        x = x + n("residual_scale") * mixed
        h = rms_norm(x, layer["ffn_norm"], epsilon)
        scores = softmax(h @ layer["ffn_gate_inp"].T)
        routed = experts(h, layer, router, scores, n("expert_used_count"))
        x = x + n("residual_scale") * (routed + shared_expert(h, layer))
    return rms_norm(x, file["output_norm.weight"], epsilon) @ file["token_embd.weight"].T / n("logit_scale")


def state_space(projected, layer, sizes, epsilon):
    """Mamba 2 (Dao and Gu, 2024), one token after another."""
    inner, state, groups, heads = sizes
    gate, inputs, steps = np.split(projected, [inner, projected.shape[1] - heads], axis=1)
    mixed = silu(convolve(inputs, layer["ssm_conv1d"], layer["ssm_conv1d.bias"]))
    t, head = len(mixed), inner // heads
    x = mixed[:, :inner].reshape(t, heads, head)
    b, c = np.repeat(mixed[:, inner:].reshape(t, 2, groups, state), heads // groups, 2).swapaxes(0, 1)
    steps = softplus(steps + layer["ssm_dt.bias"])
    decay = np.exp(steps * layer["ssm_a"].reshape(-1))
    memory, out = np.zeros((heads, head, state)), np.zeros((t, heads, head))
    for s in range(t):
        learnt = (steps[s][:, None] * x[s])[:, :, None] * b[s][:, None, :]
        memory = decay[s][:, None, None] * memory + learnt
        out[s] = np.einsum("hvs,hs->hv", memory, c[s]) + layer["ssm_d"].reshape(-1, 1) * x[s]
    out = (out.reshape(t, inner) * silu(gate)).reshape(t, groups, -1)
    return rms_norm(out, layer["ssm_norm"], epsilon).reshape(t, inner) @ layer["ssm_out"].T


def qwen35moe(file, tokens, router):
    n, t = file.number, len(tokens)
    head, kv, rope = n("attention.key_length"), n("attention.head_count_kv"), n("rope.dimension_count")
    epsilon, frequencies = n("attention.layer_norm_rms_epsilon"), plain(n("rope.freq_base"), rope)
    x = file["token_embd.weight"][tokens]
    for i in range(n("block_count")):
        layer = Layer(file, i)
        h = rms_norm(x, layer["attn_norm"], epsilon)
        if layer.has("attn_q"):
            q = (h @ layer["attn_q"].T).reshape(t, -1, 2 * head)
            q, gate = q[..., :head], q[..., head:].reshape(t, -1)
            k, v = ((h @ layer["attn_" + part].T).reshape(t, kv, head) for part in "kv")
            q = rotate(rms_norm(q, layer["attn_q_norm"], epsilon), frequencies)
            k = rotate(rms_norm(k, layer["attn_k_norm"], epsilon), frequencies)
            mixed = (attend(q, k, v, head**-0.5) * sigmoid(gate)) @ layer["attn_output"].T
        else:
            mixed = delta_net(h, layer, n, epsilon)
        x = x + mixed
        h = rms_norm(x, layer["post_attention_norm"], epsilon)
        scores = softmax(h @ layer["ffn_gate_inp"].T)
        beside = sigmoid(h @ layer["ffn_gate_inp_shexp"])[:, None] * shared_expert(h, layer)
        x = x + experts(h, layer, router, scores, n("expert_used_count")) + beside
    return rms_norm(x, file["output_norm.weight"], epsilon) @ file["token_embd.weight"].T


def delta_net(h, layer, n, epsilon):
    """A gated delta net (Yang et al., 2024), one token after another."""
    heads, groups, state = n("ssm.time_step_rank"), n("ssm.group_count"), n("ssm.state_size")
    t, value = len(h), n("ssm.inner_size") // heads
    mixed = silu(convolve(h @ layer["attn_qkv"].T, layer["ssm_conv1d"]))
    q, k, v = np.split(mixed, [groups * state, 2 * groups * state], axis=1)
    unit = lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True) + epsilon)
    q, k = (np.tile(unit(x.reshape(t, groups, state)), (1, heads // groups, 1)) for x in (q, k))
    v, memory, out = v.reshape(t, heads, value), np.zeros((heads, value, state)), np.zeros((t, heads, value))
    beta = sigmoid(h @ layer["ssm_beta"].T)
    decay = np.exp(softplus(h @ layer["ssm_alpha"].T + layer["ssm_dt.bias"]) * layer["ssm_a"])
    for s in range(t):
        memory = decay[s][:, None, None] * memory
        wrong = v[s] - np.einsum("hvk,hk->hv", memory, k[s])
        memory = memory + (beta[s][:, None] * wrong)[:, :, None] * k[s][:, None, :]
        out[s] = np.einsum("hvk,hk->hv", memory, q[s]) / np.sqrt(state)
    gate = silu(h @ layer["attn_gate"].T).reshape(t, heads, value)
    return (rms_norm(out, layer["ssm_norm"], epsilon) * gate).reshape(t, -1) @ layer["ssm_out"].T


def rwkv7(file, tokens, _):
    """RWKV-7 (Peng et al., 2025)."""
    n, t = file.number, len(tokens)
    head, epsilon = n("wkv.head_size"), n("attention.layer_norm_epsilon")
    norm = lambda x, w, name: layer_norm(x, w[name + ".weight"], w[name + ".bias"], epsilon)
    before = lambda x: np.concatenate([np.zeros_like(x[:1]), x[:-1]])
    x = norm(file["token_embd.weight"][tokens], file, "token_embd_norm")
    first = None
    for i in range(n("block_count")):
        w = Layer(file, i)
        h = norm(x, w, "attn_norm")
        lerp = w["time_mix_lerp_fused"].reshape(6, -1)
        xr, xw, xk, xv, xa, xg = (h + (before(h) - h) * part for part in lerp)
        low = lambda part, x, f=lambda x: x: f(x @ w[f"time_mix_{part}1"].T) @ w[f"time_mix_{part}2"].T
        r, k, v = (x @ w["time_mix_" + part].T for part, x in (("receptance", xr), ("key", xk), ("value", xv)))
        decay = np.exp(-np.exp(-0.5) * sigmoid(low("w", xw, np.tanh) + w["time_mix_w0"]))
        if first is None:
            first = v
        else:
            v = v + (first - v) * sigmoid(low("v", xv) + w["time_mix_v0"])
        gate, rate = low("g", xg, sigmoid), sigmoid(low("a", xa) + w["time_mix_a0"])
        by_head = lambda x: x.reshape(t, -1, head)
        along = by_head(k * w["time_mix_k_k"])
        along = along / np.maximum(np.sqrt((along**2).sum(-1, keepdims=True)), 1e-12)
        k = k * (1 + (rate - 1) * w["time_mix_k_a"])
        r, decay, k, v_heads, rate = map(by_head, (r, decay, k, v, rate))
        memory, out = np.zeros((r.shape[1], head, head)), np.zeros_like(r)
        for s in range(t):
            removed = np.einsum("hvk,hk->hv", memory, -along[s])[:, :, None] * (along[s] * rate[s])[:, None, :]
            memory = memory * decay[s][:, None, :] + removed + v_heads[s][:, :, None] * k[s][:, None, :]
            out[s] = np.einsum("hvk,hk->hv", memory, r[s])
        out = layer_norm(out, epsilon=64e-5).reshape(t, -1) * w["time_mix_ln"] + w["time_mix_ln.bias"]
        bonus = (r * k * w["time_mix_r_k"].reshape(-1, head)).sum(-1, keepdims=True) * v_heads
        x = x + ((out + bonus.reshape(t, -1)) * gate) @ w["time_mix_output"].T
        h = norm(x, w, "attn_norm_2")
        h = h + (before(h) - h) * w["channel_mix_lerp_k"].reshape(-1)
        x = x + np.maximum(h @ w["channel_mix_key"].T, 0) ** 2 @ w["channel_mix_value"].T
    return norm(x, file, "output_norm") @ file["output.weight"].T


FAMILIES = {f.__name__: f for f in (deepseek2, gemma4, granitehybrid, qwen35moe, rwkv7)}


def logits(path, tokens):
    """Logits `[t, vocabulary]`, and at every position the closest choice of an expert."""
    file, router = File(path), Router(len(tokens))
    return FAMILIES[file.family](file, np.asarray(tokens), router), router.margins


if __name__ == "__main__":
    ids = [int(token) for token in sys.argv[1].split(",")]
    for path in sys.argv[2:]:
        logits(path, ids)[0].astype(np.float32).tofile(sys.stdout.buffer)
