"""GGUF block formats: random blocks, and what they mean, in NumPy."""
import numpy as np

SIZES = {"q4_0": (32, 18), "q4_1": (32, 20), "q5_0": (32, 22), "q5_1": (32, 24), "q8_0": (32, 34), "q2_K": (256, 84), "q3_K": (256, 110),
         "q4_K": (256, 144), "q5_K": (256, 176), "q6_K": (256, 210), "iq4_nl": (32, 18), "iq4_xs": (256, 136)}
# Where the half scales lie in a block.
SCALES = {"q4_0": [0], "q4_1": [0, 2], "q5_0": [0], "q5_1": [0, 2], "q8_0": [0], "q2_K": [80, 82], "q3_K": [108], "q4_K": [0, 2], "q5_K": [0, 2],
          "q6_K": [208], "iq4_nl": [0], "iq4_xs": [0]}
NL = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], dtype=np.float32)


def random(rng, kind, rows, columns):
    """Raw bytes of a matrix, shape (rows, bytes per row), with scales of moderate size."""
    n, size = SIZES[kind]
    raw = rng.integers(0, 256, (rows, columns // n, size), dtype=np.uint8)
    for at in SCALES[kind]:
        raw[:, :, at:at + 2] = (rng.random((rows, columns // n, 1)) * 0.02 + 0.001).astype(np.float16).view(np.uint8)
    return raw.reshape(rows, -1)


def half(b, at):
    return np.ascontiguousarray(b[:, at:at + 2]).view(np.float16).astype(np.float32)


def nibbles(q):
    return np.concatenate([q & 15, q >> 4], axis=1).astype(np.float32)


def scale_min_k4(s):
    """The eight 6-bit scales and minima of q4_K and q5_K."""
    low, high = s[:, 0:4], s[:, 4:8]
    scale = np.concatenate([low & 63, (s[:, 8:12] & 15) | ((low >> 6) << 4)], axis=1)
    minimum = np.concatenate([high & 63, (s[:, 8:12] >> 4) | ((high >> 6) << 4)], axis=1)
    return scale.astype(np.float32), minimum.astype(np.float32)


def bits32(b, at):
    qh = np.ascontiguousarray(b[:, at:at + 4]).view(np.uint32)
    return ((qh >> np.arange(32, dtype=np.uint32)) & 1).astype(np.float32) * 16


def values(kind, b):
    """Blocks (n, size) to values (n, elements)."""
    if kind == "q4_0": return half(b, 0) * (nibbles(b[:, 2:]) - 8)
    if kind == "q4_1": return half(b, 0) * nibbles(b[:, 4:]) + half(b, 2)
    if kind == "q5_0": return half(b, 0) * (nibbles(b[:, 6:]) + bits32(b, 2) - 16)
    if kind == "q5_1": return half(b, 0) * (nibbles(b[:, 8:]) + bits32(b, 4)) + half(b, 2)
    if kind == "q8_0": return half(b, 0) * b[:, 2:].view(np.int8).astype(np.float32)
    if kind == "iq4_nl": return half(b, 0) * NL[nibbles(b[:, 2:]).astype(int)]
    if kind == "q2_K":
        sc, qs = b[:, :16], b[:, 16:80]
        q = np.stack([(qs[:, 32 * (i // 4):32 * (i // 4) + 32] >> (2 * (i % 4))) & 3 for i in range(8)], axis=1).reshape(len(b), 16, 16).astype(np.float32)
        return ((half(b, 80) * (sc & 15))[:, :, None] * q - (half(b, 82) * (sc >> 4))[:, :, None]).reshape(len(b), 256)
    if kind == "q3_K":
        hm, qs, s = b[:, :32], b[:, 32:96], b[:, 96:108]
        low = np.concatenate([s[:, :8] & 15, s[:, :8] >> 4], axis=1)
        high = np.concatenate([(s[:, 8:12] >> (2 * k)) & 3 for k in range(4)], axis=1)
        scale = (low | (high << 4)).astype(np.float32) - 32
        q = np.stack([(qs[:, 32 * (i // 4):32 * (i // 4) + 32] >> (2 * (i % 4))) & 3 for i in range(8)], axis=1).astype(np.float32)
        h = np.stack([(hm >> i) & 1 for i in range(8)], axis=1).astype(np.float32)
        return (half(b, 108)[:, :, None] * scale[:, :, None] * (q + 4 * h - 4).reshape(len(b), 16, 16)).reshape(len(b), 256)
    if kind in ("q4_K", "q5_K"):
        scale, minimum = scale_min_k4(b[:, 4:16])
        qs = b[:, 48:] if kind == "q5_K" else b[:, 16:]
        q = np.stack([(qs[:, 32 * (i // 2):32 * (i // 2) + 32] >> (4 * (i % 2))) & 15 for i in range(8)], axis=1).astype(np.float32)
        if kind == "q5_K":
            q += np.stack([(b[:, 16:48] >> i) & 1 for i in range(8)], axis=1).astype(np.float32) * 16
        return ((half(b, 0) * scale)[:, :, None] * q - (half(b, 2) * minimum)[:, :, None]).reshape(len(b), 256)
    if kind == "q6_K":
        ql, qh, sc = b[:, :128], b[:, 128:192], b[:, 192:208].view(np.int8).astype(np.float32)
        parts = []
        for n in range(2):
            l, h = ql[:, 64 * n:64 * n + 64], qh[:, 32 * n:32 * n + 32]
            for k in range(4):
                low = (l[:, 32 * (k % 2):32 * (k % 2) + 32] >> (4 * (k // 2))) & 15
                parts.append((low | (((h >> (2 * k)) & 3) << 4)).astype(np.float32) - 32)
        q = np.concatenate(parts, axis=1).reshape(len(b), 16, 16)
        return (half(b, 208)[:, :, None] * sc[:, :, None] * q).reshape(len(b), 256)
    if kind == "iq4_xs":
        sh = np.ascontiguousarray(b[:, 2:4]).view(np.uint16).astype(np.uint32)
        sl = b[:, 4:8]
        scale = np.stack([((sl[:, i // 2] >> (4 * (i % 2))) & 15) | (((sh[:, 0] >> (2 * i)) & 3) << 4) for i in range(8)], axis=1).astype(np.float32) - 32
        q = NL[np.stack([nibbles(b[:, 8 + 16 * i:24 + 16 * i]) for i in range(8)], axis=1).astype(int)]
        return ((half(b, 0) * scale)[:, :, None] * q).reshape(len(b), 256)
    raise KeyError(kind)


def matrix(kind, raw):
    n, size = SIZES[kind]
    return values(kind, raw.reshape(-1, size)).reshape(raw.shape[0], -1)
