"""The kernels that are run, each with a NumPy reference."""
import numpy as np
import blocks
from harness import Args, Failure, close, run

rng = np.random.default_rng(7)


def f32(*shape):
    return (rng.random(shape, dtype=np.float32) - 0.5).astype(np.float32)


def dims(*ne):
    return list(ne) + [1] * (4 - len(ne))


def strides(ne, size):
    out, s = [], size
    for n in ne:
        out.append(s)
        s *= n
    return out


def mul_mv(src, kind, nr0, shmem=0):
    # The kernels read whole tiles of rows; with fewer rows they read past the matrix, which the checker reports.
    n, k, cols = 32, 512, 2
    w, x = blocks.random(rng, kind, n, k), f32(cols, k)
    row = w.shape[1]
    a = Args().i32(k, n, 1).i64(1, row, row * n, row * n).i32(k, cols, 1).i64(4, 4 * k, 4 * k * cols, 4 * k * cols).i32(n, cols).i16(1, 1)
    got = run(src, f"kernel_mul_mv_{kind}_f32", [-(-n // (nr0 * 2)), cols, 1], [32, 2, 1], [a, w, x, np.zeros((cols, n), np.float32)], 3, [shmem] if shmem else [], FLAGS)
    close(got, x @ blocks.matrix(kind, w).T, 2e-3)


def mul_mm(src, kind):
    m, n, k = 80, 40, 256
    x = f32(n, k)
    if kind in blocks.SIZES:
        w = blocks.random(rng, kind, m, k)
        # The kernel keeps weights in half.
        dense, row = blocks.matrix(kind, w).astype(np.float16).astype(np.float32), w.shape[1]
    else:
        w = f32(m, k).astype({"f32": np.float32, "f16": np.float16}[kind])
        dense, row = w.astype(np.float32), w.itemsize * k
    a = Args().i32(k, 1).i64(row, row * m, row * m).i32(1).i64(4, 4 * k, 4 * k * n, 4 * k * n).i32(m, n).i16(1, 1)
    got = run(src, f"kernel_mul_mm_{kind}_f32", [-(-n // 32), -(-m // 64), 1], [128], [a, w, x, np.zeros((n, m), np.float32)], 3, [8192], FLAGS)
    close(got, x @ dense.T, 5e-3)


def get_rows(src, kind):
    rows, k, ids = 9, 512, np.array([3, 0, 8, 3], np.int32)
    if kind in blocks.SIZES:
        w = blocks.random(rng, kind, rows, k)
        dense, row = blocks.matrix(kind, w), w.shape[1]
    else:
        w = f32(rows, k).astype({"f32": np.float32, "f16": np.float16}[kind])
        dense, row = w.astype(np.float32), w.itemsize * k
    a = Args().i64(k, row, row * rows, len(ids), 4, 4 * len(ids), 4 * k, 4 * k * len(ids))
    got = run(src, f"kernel_get_rows_{kind}", [len(ids), 1, 1], [32], [w, ids, np.zeros((len(ids), k), np.float32), a], 2, [], FLAGS)
    close(got, dense[ids], 1e-5)


def cpy(src, a_kind, b_kind):
    rows, k = 5, 128
    np_of = {"f32": np.float32, "f16": np.float16}
    x = blocks.random(rng, a_kind, rows, k) if a_kind in blocks.SIZES else f32(rows, k).astype(np_of[a_kind])
    want = blocks.matrix(a_kind, x) if a_kind in blocks.SIZES else x.astype(np.float32)
    size = x.shape[1] if a_kind in blocks.SIZES else x.itemsize * k
    element = blocks.SIZES[a_kind][1] if a_kind in blocks.SIZES else x.itemsize
    if b_kind in blocks.SIZES:
        n, bs = blocks.SIZES[b_kind]
        out, nb = np.zeros((rows, k // n * bs), np.uint8), bs
    else:
        out, nb = np.zeros((rows, k), np_of[b_kind]), np.dtype(np_of[b_kind]).itemsize
    row = out.nbytes // rows
    a = Args().i64(k, rows, 1, 1, element, size, size * rows, size * rows, k, rows, 1, 1, nb, row, row * rows, row * rows)
    got = run(src, f"kernel_cpy_{a_kind}_{b_kind}", [rows, 1, 1], [min(k, 32)], [a, x, out], 2, [], FLAGS)
    if b_kind in blocks.SIZES:
        got = [g if isinstance(g, Failure) else blocks.matrix(b_kind, g) for g in got]
    close(got, want, {"q8_0": 4e-3, "q4_0": 6e-2, "q5_1": 3e-2}.get(b_kind, 1e-3))


def binary(src, op, f):
    a, b = f32(3, 70), f32(1, 70) + 2
    ne0, ne1 = dims(70, 3), dims(70, 1)
    s = Args().i32(*ne0).i64(*strides(ne0, 4)).i32(*ne1).i64(*strides(ne1, 4)).i32(*ne0).i64(*strides(ne0, 4)).i64(0)
    close(run(src, f"kernel_{op}", [3, 1, 1], [32], [s, a, b, np.zeros_like(a)], 3, [], FLAGS), f(a, b), 1e-6)


def unary(src, op, f, tolerance=1e-5):
    x = f32(96) * 6
    close(run(src, f"kernel_{op}", [96, 1, 1], [1], [x, np.zeros_like(x)], 1, [], FLAGS), f(x.astype(np.float64)), tolerance)


def soft_max(src, name, step, masked):
    rows, k = 6, 200
    x, mask = f32(2, 3, k) * 8, f32(3, k)
    a = Args().i64(k, 3, 2).f32(0.5, 0.0, 1.0, 1.0).add("I", 1)
    got = run(src, name, [rows, 1, 1], [64], [x, mask, np.zeros_like(x), a], 2, [128], FLAGS)
    z = x.astype(np.float64) * 0.5 + mask
    e = np.exp(z - z.max(-1, keepdims=True))
    close(got, e / e.sum(-1, keepdims=True), 1e-5)


def row_norm(src, op, f):
    x = f32(4, 192)
    a = Args().i32(192, 48).i64(192 * 4).f32(1e-5)
    close(run(src, f"kernel_{op}", [4, 1, 1], [64], [a, x, np.zeros_like(x)], 2, [128], FLAGS), f(x.astype(np.float64)), 1e-5)


def group_norm(src):
    x = f32(8, 5, 6)
    a = Args().i64(6, 5, 8, 4, 24, 120).i32(4).f32(1e-5)
    y = x.astype(np.float64).reshape(4, -1)
    want = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-5)
    close(run(src, "kernel_group_norm", [4, 1, 1], [64], [x, np.zeros_like(x), a, None], 1, [128], FLAGS), want, 1e-5)


def rope(src, kind):
    heads, tokens, d = 2, 3, 64
    x, pos = f32(tokens, heads, d), np.array([0, 5, 11], np.int32)
    ne = dims(d, heads, tokens)
    a = Args().i32(*ne).i64(*strides(ne, 4)).i32(*ne).i64(*strides(ne, 4)).i32(0, d, 4096).f32(10000.0, 1.0, 0.0, 1.0, 32.0, 1.0)
    freq = np.ones(d // 2, np.float32) * 2
    got = run(src, f"kernel_rope_{kind}_f32", [heads, tokens, 1], [32], [a, x, pos, freq, np.zeros_like(x)], 4, [], FLAGS)
    angle = pos[:, None, None] * 10000.0 ** (-np.arange(0, d, 2) / d) / 2
    c, s = np.cos(angle), np.sin(angle)
    want = np.empty(x.shape)
    p, q = (x[..., 0::2], x[..., 1::2]) if kind == "norm" else (x[..., :d // 2], x[..., d // 2:])
    u, v = p * c - q * s, p * s + q * c
    if kind == "norm":
        want[..., 0::2], want[..., 1::2] = u, v
    else:
        want[..., :d // 2], want[..., d // 2:] = u, v
    close(got, want, 1e-4)


def im2col(src):
    n, ic, ih, iw, kh, kw = 2, 3, 6, 7, 3, 3
    x = f32(n, ic, ih, iw)
    a = Args().i64(ic * ih * iw, ih * iw).i32(iw, ih, ic * kh * kw, 1, 1, 1, 1, 1, 1, n, kh, kw, kh * kw)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    want = np.stack([padded[:, :, i:i + kh, j:j + kw].reshape(n, -1) for i in range(ih) for j in range(iw)], axis=1)
    close(run(src, "kernel_im2col_f32", [ic, ih, iw], [n, kh, kw], [x, np.zeros(want.shape, np.float32), a], 1, [], FLAGS), want, 0)


def argsort(src, order):
    x = f32(3, 50)
    a = Args().i64(50, 64)
    want = np.argsort(x if order == "asc" else -x, axis=1)
    close(run(src, f"kernel_argsort_f32_i32_{order}", [1, 3, 1], [64], [x, np.zeros((3, 50), np.int32), a], 1, [256], FLAGS), want, 0)


def argmax(src):
    x = f32(4, 150)
    got = run(src, "kernel_argmax", [4, 1, 1], [64], [x, np.zeros(4, np.int32), ("i64", 150), ("u64", 600)], 1, [128, 128], FLAGS)
    close(got, x.argmax(1), 0)


def sum_rows(src):
    x = f32(5, 33)
    ne, out = dims(33, 5), dims(1, 5)
    a = Args().i64(*ne, *strides(ne, 4), *ne, *strides(ne, 4), *out, *strides(out, 4))
    close(run(src, "kernel_sum_rows", [5, 1, 1], [1], [x, np.zeros(5, np.float32), a], 1, [], FLAGS), x.astype(np.float64).sum(1), 1e-5)


def concat(src):
    x, y = f32(3, 10), f32(3, 7)
    n0, n1, n = dims(10, 3), dims(7, 3), dims(17, 3)
    a = Args().i32(*n0).i64(*strides(n0, 4)).i32(*n1).i64(*strides(n1, 4)).i32(*n).i64(*strides(n, 4)).i32(0)
    close(run(src, "kernel_concat", [3, 1, 1], [17], [a, x, y, np.zeros((3, 17), np.float32)], 3, [], FLAGS), np.concatenate([x, y], 1), 0)


def pool(src, kind, f):
    x = f32(2, 8, 6)
    a = Args().i32(2, 2, 2, 2, 0, 0).i64(8, 6, 4, 3, 24)
    want = f(x.reshape(2, 4, 2, 3, 2), (2, 4))
    close(run(src, f"kernel_pool_2d_{kind}_f32", [24, 1, 1], [1], [x, np.zeros((2, 4, 3), np.float32), a], 1, [], FLAGS), want, 1e-6)


def attention(src, vec):
    d, heads, kv_heads, tokens, context = (128, 4, 2, 1, 96) if vec else (64, 2, 1, 11, 96)
    q = f32(heads, tokens, d)
    k, v = (f32(kv_heads, context, d).astype(np.float16) for _ in range(2))
    mask = np.zeros((-(-tokens // 8) * 8, context), np.float16)
    mask[:, 90:] = -np.inf
    scale = 1 / np.sqrt(d)
    nb = [2 * d, 2 * d * context, 2 * d * context * kv_heads]
    a = (Args().i32(tokens, heads, 1).i64(4 * d, 4 * d * tokens, 4 * d * tokens * heads).i32(context, kv_heads, 1).i64(*nb, *nb, 2 * context)
         .i32(heads, tokens).f32(scale, 0.0, 1.0, 1.0).add("H", 1).f32(0.0))
    nsg = 2 if vec else 4
    if vec:
        memory = (d + 4 * 32 * nsg + d * nsg) * 2
    else:
        memory = (8 * (d + 2 * (2 * 32 + 8) * nsg) + 16 * 32 * nsg) * 2
    name = f"kernel_flash_attn_ext_vec_f16_h{d}" if vec else f"kernel_flash_attn_ext_f16_h{d}"
    groups = [tokens if vec else -(-tokens // 8), heads, 1]
    got = run(src, name, groups, [32, nsg, 1], [a, q, k, v, mask, np.zeros((tokens, heads, d), np.float32)], 5, [-(-memory // 16) * 16], FLAGS)
    r = heads // kv_heads
    kk, vv = (np.repeat(t.astype(np.float64), r, 0) for t in (k, v))
    s = np.einsum("htd,hcd->htc", q, kk) * scale + mask[:tokens].astype(np.float64)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    close(got, np.einsum("htc,hcd->thd", p, vv), 1e-2)


def finds(case, words):
    """A kernel with a bug of its own: the plain result is right, and the checker must find it."""
    try:
        case()
    except Failure as e:
        if str(e).startswith("checker: ") and words in str(e):
            return
        raise
    raise Failure(f"the checker did not report: {words}")


FLAGS = ()


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * x * (1 + 0.044715 * x * x)))


def ggml_cases(src, flags):
    """Name and function of each case."""
    global FLAGS
    FLAGS = flags
    rows = {"q4_0": 4, "q4_1": 4, "q5_0": 4, "q5_1": 4, "q8_0": 4, "q2_K": 4, "q3_K": 2, "q4_K": 4, "q5_K": 2, "q6_K": 1, "iq4_nl": 2, "iq4_xs": 2}
    for kind, nr0 in rows.items():
        yield f"mul_mv {kind}", lambda kind=kind, nr0=nr0: mul_mv(src, kind, nr0, 128 if kind.startswith("iq4") else 0)
    for kind in ("f32", "f16", "q4_0", "q4_1", "q5_0", "q8_0", "q4_K", "q6_K", "iq4_xs"):
        yield f"mul_mm {kind}", lambda kind=kind: mul_mm(src, kind)
    for kind in ("f32", "f16", "q4_0", "q5_1", "q4_K", "q6_K"):
        yield f"get_rows {kind}", lambda kind=kind: get_rows(src, kind)
    for a, b in (("f32", "f32"), ("f32", "f16"), ("f16", "f32"), ("f32", "q8_0"), ("f32", "q4_0"), ("q8_0", "f32"), ("q5_1", "f32")):
        yield f"cpy {a} {b}", lambda a=a, b=b: cpy(src, a, b)
    for op, f in (("add", np.add), ("mul", np.multiply), ("div", np.divide)):
        yield op, lambda op=op, f=f: binary(src, op, f)
    for op, f in (("gelu", gelu), ("silu", lambda x: x / (1 + np.exp(-x))), ("sigmoid", lambda x: 1 / (1 + np.exp(-x))), ("tanh", np.tanh), ("sin", np.sin)):
        yield op, lambda op=op, f=f: unary(src, op, f)
    yield "soft_max f32", lambda: soft_max(src, "kernel_soft_max_f32", 1, True)
    yield "soft_max f32_4", lambda: soft_max(src, "kernel_soft_max_f32_4", 4, True)
    yield "norm", lambda: row_norm(src, "norm", lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5))
    yield "rms_norm", lambda: row_norm(src, "rms_norm", lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5))
    yield "l2_norm", lambda: row_norm(src, "l2_norm", lambda x: x / np.maximum(np.sqrt((x * x).sum(1, keepdims=True)), 1e-5))
    yield "group_norm (has a race)", lambda: finds(lambda: group_norm(src), "threadgroup race")
    yield "rope norm", lambda: rope(src, "norm")
    yield "rope neox", lambda: rope(src, "neox")
    yield "im2col", lambda: im2col(src)
    yield "argsort asc", lambda: argsort(src, "asc")
    yield "argsort desc", lambda: argsort(src, "desc")
    yield "argmax", lambda: argmax(src)
    yield "sum_rows", lambda: sum_rows(src)
    yield "concat", lambda: concat(src)
    yield "pool_2d max", lambda: pool(src, "max", np.max)
    yield "pool_2d avg", lambda: pool(src, "avg", np.mean)
    yield "flash_attn f16 h64", lambda: attention(src, False)
    # It stores from one lane what others have just read, relying on lanes in step without a barrier.
    yield "flash_attn vec f16 h128 (has a race)", lambda: finds(lambda: attention(src, True), "threadgroup race")
