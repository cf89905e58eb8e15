"""Recomputes conformance cases with NumPy and compares the results with those of the reference evaluator.

Input: a file with one case per line, as JSON (see oracle.rs). Floats of every dtype are computed in float64 and rounded
once to the result's dtype, as the reference does; integers are computed in their own dtype.
"""

import json
import math
import sys

import numpy as np

INTEGERS = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
}
# Digits after the leading one, exponent of the smallest normal number, largest number.
FLOATS = {
    "f16": (10, -14, 65504.0),
    "bf16": (7, -126, float(2**128 - 2**120)),
    "f32": (23, -126, float(np.finfo(np.float32).max)),
    "f64": (52, -1022, float(np.finfo(np.float64).max)),
}


def read(tensor):
    """A tensor of the file as an array; floats as float64."""
    raw = bytes.fromhex(tensor["bytes"])
    dtype, shape = tensor["dtype"], tensor["shape"]
    if dtype == "bool":
        flat = np.frombuffer(raw, np.uint8) != 0
    elif dtype in INTEGERS:
        flat = np.frombuffer(raw, INTEGERS[dtype])
    elif dtype == "bf16":
        wide = np.frombuffer(raw, np.uint16).astype(np.uint32) << 16
        flat = wide.view(np.float32).astype(np.float64)
    else:
        kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype]
        flat = np.frombuffer(raw, kind).astype(np.float64)
    return flat.reshape(shape)


def spacing(values, dtype):
    """The distance between neighbouring numbers of a dtype at each value."""
    digits, lowest, largest = FLOATS[dtype]
    _, exponent = np.frexp(np.minimum(np.abs(np.nan_to_num(values, posinf=largest, neginf=largest)), largest))
    return np.ldexp(1.0, np.maximum(exponent - 1, lowest) - digits)


def rounded(values, dtype):
    """float64 values rounded to a dtype, ties to even."""
    if dtype == "f64":
        return values
    if dtype == "f32":
        return values.astype(np.float32).astype(np.float64)
    if dtype == "f16":
        return values.astype(np.float16).astype(np.float64)
    unit = spacing(values, dtype)
    result = np.rint(values / unit) * unit
    result = np.where(np.abs(result) > FLOATS[dtype][2], np.copysign(np.inf, values), result)
    return np.where(np.isfinite(values), result, values)


def rounded_integer(value, dtype):
    """A Python integer rounded to a dtype, ties to even, in integer arithmetic."""
    digits, _, largest = FLOATS[dtype]
    magnitude = abs(int(value))
    drop = max(magnitude.bit_length() - digits - 1, 0)
    kept, rest, half = magnitude >> drop, magnitude & ((1 << drop) - 1), (1 << drop) >> 1
    kept += drop > 0 and (rest > half or (rest == half and kept & 1))
    result = float(kept << drop)
    return math.copysign(result if result <= largest else math.inf, int(value) if value else 1)


def np_cast(a, dtype):
    a = np.asarray(a)
    if dtype == "bool":
        return a != 0
    if dtype in FLOATS:
        if a.dtype.kind == "f":
            return rounded(a, dtype)
        return np.array([rounded_integer(v, dtype) for v in a.ravel().tolist()], np.float64).reshape(a.shape)
    kind = INTEGERS[dtype]
    if a.dtype.kind != "f":
        return a.astype(kind)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max

    def one(v):
        if math.isnan(v):
            return 0
        if math.isinf(v):
            return high if v > 0 else low
        return min(max(int(v), low), high)

    return np.array([one(v) for v in a.ravel().tolist()], dtype=kind).reshape(a.shape)


np_erf = np.vectorize(math.erf, otypes=[np.float64])


def np_philox(low, high, key):
    """Philox 2x32, ten rounds, by the paper: the first word of the result."""
    low, high, key = (x.astype(np.uint64) for x in np.broadcast_arrays(low, high, key))
    mask = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        product = low * np.uint64(0xD256D193)
        low, high = (product >> np.uint64(32)) ^ key ^ high, product & mask
        key = (key + np.uint64(0x9E3779B9)) & mask
    return low.astype(np.uint32)


def np_sort(a, axis, falling, count):
    result = np.sort(a, axis=axis, kind="stable")
    result = np.flip(result, axis) if falling else result
    return result if count is None else np.take(result, range(count), axis)


def np_argsort(a, axis, falling, count):
    if falling:
        backwards = np.argsort(np.flip(a, axis), axis=axis, kind="stable")
        result = a.shape[axis] - 1 - np.flip(backwards, axis)
    else:
        result = np.argsort(a, axis=axis, kind="stable")
    return result if count is None else np.take(result, range(count), axis)


def np_softmax(a, axis):
    a = np.asarray(a, np.float64)
    if a.shape[axis] == 0:
        return a
    e = np.exp(a - np.max(a, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def np_log_softmax(a, axis):
    if a.shape[axis] == 0:
        return a
    shifted = a - np.max(a, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def np_rms_norm(a, weight=1.0):
    return a / np.sqrt(np.mean(np.square(a), axis=-1, keepdims=True) + 1e-5) * weight


def np_layer_norm(a, weight=1.0, bias=0.0):
    return (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5) * weight + bias


def np_rope(x, positions, frequencies, style):
    n = frequencies.shape[0]
    angles = positions[:, None] * frequencies[None, :]
    turn = np.exp(1j * angles)
    out = x.copy()
    first, second = (slice(0, n), slice(n, 2 * n)) if style == "half" else (slice(0, 2 * n, 2), slice(1, 2 * n, 2))
    turned = (x[..., first] + 1j * x[..., second]) * turn
    out[..., first], out[..., second] = turned.real, turned.imag
    return out


def np_attention(q, k, v, mask, position, window, softcap, sinks):
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = np.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[3])
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if position is not None:
        last = position + np.arange(q.shape[2])[:, None]
        keys = np.arange(k.shape[2])[None, :]
        visible = keys <= last
        if window is not None:
            visible &= keys > last - window
        scores = np.where(visible, scores, -np.inf)
    if sinks is not None:
        scores = np.concatenate([scores, np.broadcast_to(sinks[None, :, None, None], (*scores.shape[:3], 1))], axis=3)
    weights = np.nan_to_num(np_softmax(scores, 3), nan=0.0)[..., : k.shape[2]]
    return np.einsum("bhts,bhse->bhte", weights, v)


def np_wkv7(r, w, k, v, a, b, state):
    outputs = []
    for t in range(r.shape[0]):
        removed = np.einsum("hij,hj->hi", state, a[t])
        state = state * w[t][:, None, :] + removed[:, :, None] * b[t][:, None, :] + v[t][:, :, None] * k[t][:, None, :]
        outputs.append(np.einsum("hij,hj->hi", state, r[t]))
    return np.concatenate([np.ravel(outputs), state.ravel()])


def np_scatter(a, index, values, axis):
    out = a.copy()
    np.put_along_axis(out, index, values, axis)
    return out


def np_scatter_add(a, index, values, axis):
    out = a.copy()
    grid = list(np.indices(index.shape))
    grid[axis] = index
    np.add.at(out, tuple(grid), values)
    return out


def np_write_at(a, rows, start, axis):
    out = a.copy()
    place = [slice(None)] * a.ndim
    place[axis] = slice(start, start + rows.shape[axis])
    out[tuple(place)] = rows
    return out


def np_update(a, place, values):
    out = a.copy()
    out[place] = values
    return out


HELPERS = {name: value for name, value in globals().items() if name.startswith("np")}


def compute(case):
    leaves = [read(leaf) for leaf in case["leaves"]]
    if case["operands"]:
        condition = case["op"] == "where"
        leaves = [x if condition and i == 0 else np_cast(x, case["operands"]) for i, x in enumerate(leaves)]
    names = dict(zip("abcdefg", leaves))
    return eval(case["expression"], {**HELPERS, **names})


def wrong(case, expected, got):
    """Positions where the reference (`got`) is not what NumPy says."""
    dtype = case["output"]["dtype"]
    if dtype not in FLOATS:
        return np.flatnonzero(expected.ravel() != got.ravel())
    expected, got = expected.ravel(), got.ravel()
    both_nan = np.isnan(expected) & np.isnan(got)
    bound = np.zeros(expected.shape)
    exact = case["exact"] or case["op"] == "cast"
    if not exact:
        # Both sides are float64 rounded to the dtype: a last digit apart where that is close; in float64 itself, as
        # far apart as two good libraries are.
        bound = spacing(expected, dtype) * (max(4, case["ulps"]) if dtype == "f64" else 1)
        if "magnitude" in case:
            # Literals of scalar code have the precision of the type that it computes in.
            relative = case["relative"] if case["op"].startswith("gelu") else 1e-13
            bound = bound + relative * np.abs(read(case["magnitude"]).ravel())
        elif dtype == "f64":
            bound = bound + case["relative"] * np.abs(expected)
        if case["absolute"]:
            bound = bound + 1e-11
    close = np.abs(expected - got) <= bound
    edge = np.isinf(expected) ^ np.isinf(got)
    close |= edge & (not exact) & (np.abs(np.where(np.isinf(got), expected, got)) == FLOATS[dtype][2])
    ok = both_nan | (expected == got) | close
    if case["signed_zeros"]:
        ok &= (expected != 0) | (got != 0) | (np.signbit(expected) == np.signbit(got))
    return np.flatnonzero(~ok)


def check(case):
    got = read(case["output"])
    dtype = case["output"]["dtype"]
    expected = np.asarray(compute(case))
    if dtype in FLOATS:
        expected = rounded(expected.astype(np.float64), dtype)
    else:
        expected = expected.astype(got.dtype)
    if expected.shape != got.shape:
        return f"shape {got.shape}, NumPy has {expected.shape}"
    at = wrong(case, expected, got)
    if at.size == 0:
        return None
    i = int(at[0])
    inputs = [read(leaf) for leaf in case["leaves"]]
    shown = [x.ravel()[i] for x in inputs if x.shape == got.shape]
    return f"{at.size} of {got.size} differ; at {i}: {got.ravel()[i]!r}, NumPy has {expected.ravel()[i]!r} {shown}"


def main():
    np.seterr(all="ignore")
    passed, failures = 0, []
    with open(sys.argv[1]) as lines:
        for line in lines:
            case = json.loads(line)
            try:
                problem = check(case)
            except Exception as error:  # a case that NumPy cannot compute is a failure of the case
                problem = f"{type(error).__name__}: {error}"
            if problem is None:
                passed += 1
            else:
                failures.append(f"{case['name']} ({case['expression']}): {problem}")
    for failure in failures[:60]:
        print(failure)
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(1 if failures or passed == 0 else 0)


main()
