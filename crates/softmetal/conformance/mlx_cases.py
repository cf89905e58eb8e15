"""Kernels of MLX with arguments, how MLX instantiates them from its headers, and what NumPy says of them."""
import math
from dataclasses import dataclass, field
import numpy as np
from harness import Args

rng = np.random.default_rng(11)

# MLX's name of a type, MSL's, NumPy's, and bits of its mantissa.
TYPES = {"float32": ("float", np.float32, 24), "float16": ("half", np.float16, 11), "bfloat16": ("bfloat16_t", "bf16", 8)}
INTEGERS = {"int32": ("int32_t", np.int32), "uint32": ("uint32_t", np.uint32), "int64": ("int64_t", np.int64), "int16": ("int16_t", np.int16), "uint8": ("uint8_t", np.uint8)}


def stored(values, kind):
    """An array in a type of MLX; bfloat16 as its bits."""
    if kind != "bfloat16":
        return np.ascontiguousarray(values, dtype=(TYPES.get(kind) or INTEGERS[kind])[1])
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def loaded(array, kind):
    """What an array of a type of MLX holds, in double precision."""
    if kind == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def spread(low, high, *shape):
    return rng.uniform(low, high, shape)


@dataclass
class Case:
    name: str
    family: str
    args: dict
    out: int
    kind: str
    threads: tuple
    grid: tuple = None
    groups: tuple = None
    # Template and arguments, and the headers that have it; none where the wheel has no source.
    instance: str = None
    headers: tuple = ()
    want: np.ndarray = None
    # Allowed error in units of the type's precision, relative to the largest expected value.
    ulps: float = 8
    constants: tuple = ()
    threadgroup: dict = field(default_factory=dict)
    # Units in which source and bitcode may differ, where compilers may order sums differently.
    pair_ulps: int = 0


UNARY = {
    "Abs": (np.abs, -3, 3), "ArcCos": (np.arccos, -0.9, 0.9), "ArcCosh": (np.arccosh, 1.1, 4), "ArcSin": (np.arcsin, -0.9, 0.9),
    "ArcSinh": (np.arcsinh, -3, 3), "ArcTan": (np.arctan, -3, 3), "ArcTanh": (np.arctanh, -0.9, 0.9), "Ceil": (np.ceil, -3, 3),
    "Cos": (np.cos, -3, 3), "Cosh": (np.cosh, -2, 2), "Erf": (np.vectorize(math.erf), -2, 2), "Exp": (np.exp, -3, 3),
    "Expm1": (np.expm1, -1, 1), "Floor": (np.floor, -3, 3), "Log": (np.log, 0.1, 5), "Log10": (np.log10, 0.1, 5),
    "Log1p": (np.log1p, 0.1, 5), "Log2": (np.log2, 0.1, 5), "Negative": (np.negative, -3, 3), "Round": (np.rint, -3, 3),
    "Rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 5), "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -3, 3), "Sign": (np.sign, -3, 3),
    "Sin": (np.sin, -3, 3), "Sinh": (np.sinh, -2, 2), "Sqrt": (np.sqrt, 0.1, 5), "Square": (np.square, -3, 3), "Tan": (np.tan, -1, 1), "Tanh": (np.tanh, -3, 3),
}  # fmt: skip
BINARY = {
    "Add": np.add, "Subtract": np.subtract, "Multiply": np.multiply, "Divide": np.divide, "Maximum": np.maximum, "Minimum": np.minimum,
    "Power": lambda a, b: np.power(np.abs(a) + 0.1, b), "LogAddExp": np.logaddexp, "ArcTan2": np.arctan2, "Remainder": np.mod,
}  # fmt: skip


def unary():
    n = 1003
    for kind, (metal, _, _) in TYPES.items():
        for op, (reference, low, high) in UNARY.items():
            x = stored(spread(low, high, n), kind)
            want = reference(loaded(x, kind))
            # MLX computes expm1 by a polynomial of its own.
            ulps = 64 if op == "Expm1" else 16
            yield Case(f"v_{op}{kind}{kind}", "unary", {0: x, 1: stored(np.zeros(n), kind), 2: ("u32", n)}, 1, kind, (64,), grid=(n,),
                       instance=f"unary_v, {metal}, {metal}, {op}", headers=("unary_ops.h", "unary.h"), want=want, ulps=ulps)


def binary():
    n = 777
    for kind, (metal, _, _) in TYPES.items():
        for op, reference in BINARY.items():
            if op == "ArcTan2" and kind == "bfloat16":
                continue
            a, b = spread(-3, 3, n), spread(0.5, 3, n)
            a = stored(np.abs(a) + 0.1 if op == "Power" else a, kind)
            b = stored(b, kind)
            wide = (loaded(a, kind), loaded(b, kind))
            want = np.power(*wide) if op == "Power" else reference(*wide)
            yield Case(f"vv_{op}{kind}", "binary", {0: a, 1: b, 2: stored(np.zeros(n), kind), 3: ("u32", n)}, 2, kind, (64,), grid=(n,),
                       instance=f"binary_vv, {metal}, {metal}, {op}", headers=("binary_ops.h", "binary.h"), want=want, ulps=64)
    for kind, (metal, numpy) in INTEGERS.items():
        for op, reference in (("Add", np.add), ("Multiply", np.multiply), ("Maximum", np.maximum)):
            a, b = (rng.integers(0, 100, 300).astype(numpy) for _ in range(2))
            yield Case(f"vv_{op}{kind}", "binary", {0: a, 1: b, 2: np.zeros(300, numpy), 3: ("u32", 300)}, 2, kind, (64,), grid=(300,),
                       instance=f"binary_vv, {metal}, {metal}, {op}", headers=("binary_ops.h", "binary.h"), want=reference(a, b), ulps=0)
    a, b = stored(spread(-3, 3, 6, 5), "float32"), stored(spread(-3, 3, 5, 6), "float32")
    yield Case("g2_Addfloat32", "binary, strided", {0: a, 1: b, 2: np.zeros((6, 5), np.float32), 3: np.array([5, 1]), 4: np.array([1, 6])}, 2, "float32", (5, 6), grid=(5, 6),
               instance="binary_g_nd2, float, float, Add, int", headers=("binary_ops.h", "binary.h"), want=a + b.T, ulps=1)


def ternary_and_copies():
    n = 500
    for kind, (metal, _, _) in TYPES.items():
        pick, a, b = rng.integers(0, 2, n).astype(np.bool_), stored(spread(-3, 3, n), kind), stored(spread(-3, 3, n), kind)
        yield Case(f"v_Select{kind}", "ternary", {0: pick, 1: a, 2: b, 3: stored(np.zeros(n), kind), 4: ("u32", n)}, 3, kind, (64,), grid=(n,),
                   instance=f"ternary_v, {metal}, Select, false, false", headers=("ternary_ops.h", "ternary.h"), want=np.where(pick, loaded(a, kind), loaded(b, kind)), ulps=0)
        for to, (other, _, _) in TYPES.items():
            x = stored(spread(-3, 3, n), kind)
            yield Case(f"v_copy{kind}{to}", "copy", {0: x, 1: stored(np.zeros(n), to), 2: ("u32", n)}, 1, to, (64,), grid=(n,),
                       instance=f"copy_v, {metal}, {other}", headers=("copy.h",), want=loaded(x, kind), ulps=1)
    x = stored(spread(-3, 3, 7, 9), "float32")
    yield Case("g2_copyfloat32float32", "copy", {0: x, 1: np.zeros((9, 7), np.float32), 3: np.array([1, 9])}, 1, "float32", (7, 9), grid=(7, 9),
               instance="copy_g_nd2, float, float, int", headers=("copy.h",), want=x.T, ulps=0)
    yield Case("arangefloat32", "arange", {0: ("f32", 2.0), 1: ("f32", 0.5), 2: np.zeros(100, np.float32)}, 2, "float32", (50,), grid=(100,),
               instance="arange, float", headers=("arange.h",), want=2 + 0.5 * np.arange(100), ulps=1)
    a, b = stored(spread(-9, 9, n), "float32"), stored(spread(1, 3, n), "float32")
    yield Case("vv_DivModfloat32", "binary, two results", {0: a, 1: b, 2: np.zeros(n, np.float32), 3: np.zeros(n, np.float32), 4: ("u32", n)}, 3, "float32", (64,), grid=(n,),
               instance="binary_vv, float, float, DivMod", headers=("binary_ops.h", "binary_two.h"), want=np.mod(a.astype(np.float64), b.astype(np.float64)), ulps=2)


REDUCE = ("atomic.h", "reduction/ops.h", "reduce.h")


def reductions():
    for kind, (metal, _, _) in TYPES.items():
        wide = "float" if kind == "float32" else metal
        for op, name, reference in (("sum", "Sum", np.sum), ("prod", "Prod", np.prod), ("max", "Max", np.max), ("min", "Min", np.min)):
            # Whole groups: the last one of a ragged grid does some rows twice, and leaves threads out of a barrier.
            rows, size = 8, 384
            x = stored(spread(0.98, 1.02, rows, size), kind)
            want = reference(loaded(x, kind), axis=1)
            yield Case(f"row_reduce_simple_{op}{kind}", "reduce rows", {0: x, 1: stored(np.zeros(rows), kind), 2: ("u64", size), 3: ("i64", rows)}, 1, kind, (96, 1, 1), groups=(1, 2, 1),
                       instance=f"row_reduce_simple, {metal}, {wide}, {name}<{wide}>", headers=REDUCE, want=want, ulps=600, pair_ulps=0)
            yield Case(f"all_reduce_{op}{kind}", "reduce all", {0: x, 1: stored(np.zeros(1), kind), 2: ("u64", x.size), 3: ("u64", x.size)}, 1, kind, (256, 1, 1), groups=(1, 1, 1),
                       instance=f"all_reduce, {metal}, {wide}, {name}<{wide}>", headers=REDUCE, want=[reference(loaded(x, kind))], ulps=2000)
            columns = {0: x, 1: stored(np.zeros(size), kind), 2: ("u64", rows), 3: ("i64", size), 4: np.array([size], np.int32), 5: np.array([1]), 6: ("i32", 1),
                       7: np.array([rows], np.int32), 8: np.array([size]), 9: ("i32", 1), 10: ("u64", 1)}
            yield Case(f"col_reduce_small_1_reduce_{op}{kind}", "reduce columns", columns, 1, kind, (32, 4, 1), groups=(3, 1, 1),
                       instance=f"col_reduce_small, {metal}, {wide}, {name}<{wide}>, int, 1", headers=REDUCE, want=reference(loaded(x, kind), axis=0), ulps=16)
    x = stored(spread(-5, 5, 4, 100), "float32")
    for name, reference in (("argmax", np.argmax), ("argmin", np.argmin)):
        yield Case(f"{name}_float32", "arg reduce", {0: x, 1: np.zeros(4, np.uint32), 2: np.array([4], np.int32), 3: np.array([100]), 4: np.array([1]), 5: ("u64", 1), 6: ("i64", 1), 7: ("u64", 100)}, 1, "uint32", (32, 1, 1), grid=(32, 4, 1),
                   want=reference(x, axis=1), ulps=0)


def scans():
    for kind, (metal, _, _) in TYPES.items():
        for op, name, reference in (("sum", "CumSum", np.cumsum), ("prod", "CumProd", np.cumprod), ("max", "CumMax", np.maximum.accumulate)):
            for way, inclusive in (("inclusive", True), ("exclusive", False)):
                if op == "max" and not inclusive:
                    continue
                x = stored(spread(0.99, 1.01, 3, 200), kind)
                want = reference(loaded(x, kind), axis=1)
                if not inclusive:
                    want = np.concatenate([np.full((3, 1), 1.0 if op == "prod" else 0.0), want[:, :-1]], axis=1)
                yield Case(f"contig_scan_{way}_{op}_{kind}_{kind}", "scan", {0: x, 1: stored(np.zeros((3, 200)), kind), 2: ("u64", 200)}, 1, kind, (1024, 1, 1), groups=(1, 3, 1),
                           instance=f"contiguous_scan, {metal}, {metal}, {name}<{metal}>, 4, {str(inclusive).lower()}, false", headers=("binary_ops.h", "scan.h"), want=want, ulps=400)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def rows():
    for kind, (metal, _, _) in TYPES.items():
        x = stored(spread(-4, 4, 3, 250), kind)
        wide = loaded(x, kind)
        empty = stored(np.zeros((3, 250)), kind)
        # Looped kernels read what all 32 simdgroups of a full threadgroup wrote.
        for prefix, function, threads in (("block", "softmax_single_row", 64), ("looped", "softmax_looped", 1024)):
            yield Case(f"{prefix}_softmax_{kind}", "softmax", {0: x, 1: empty, 2: ("i32", 250)}, 1, kind, (threads, 1, 1), groups=(3, 1, 1),
                       instance=f"{function}, {metal}", headers=("softmax.h",), want=softmax(wide), ulps=64)
        if kind != "float32":
            yield Case(f"block_softmax_precise_{kind}", "softmax", {0: x, 1: empty, 2: ("i32", 250)}, 1, kind, (64, 1, 1), groups=(3, 1, 1),
                       instance=f"softmax_single_row, {metal}, float", headers=("softmax.h",), want=softmax(wide), ulps=4)
        want = np.log(np.exp(wide).sum(axis=1))
        for prefix, function, threads in (("block", "logsumexp", 64), ("looped", "logsumexp_looped", 1024)):
            yield Case(f"{prefix}_logsumexp_{kind}", "logsumexp", {0: x, 1: stored(np.zeros(3), kind), 2: ("i32", 250)}, 1, kind, (threads, 1, 1), groups=(3, 1, 1),
                       instance=f"{function}, {metal}", headers=("logsumexp.h",), want=want, ulps=8)
        w, b = stored(spread(0.5, 1.5, 250), kind), stored(spread(-1, 1, 250), kind)
        centred = wide - wide.mean(axis=1, keepdims=True)
        norm = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
        yield Case(f"layer_norm{kind}", "layer norm", {0: x, 1: w, 2: b, 3: empty, 4: ("f32", 1e-5), 5: ("u32", 250), 6: ("u32", 1), 7: ("u32", 1)}, 3, kind, (32, 1, 1), groups=(3, 1, 1),
                   want=norm * loaded(w, kind) + loaded(b, kind), ulps=16)
        root = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5)
        yield Case(f"rms{kind}", "RMS norm", {0: x, 1: w, 2: empty, 3: ("f32", 1e-5), 4: ("u32", 250), 5: ("u32", 1)}, 2, kind, (64, 1, 1), groups=(3, 1, 1),
                   constants=("20=bool:1",), want=root * loaded(w, kind), ulps=16)


def sorting():
    for kind, (metal, _, _) in TYPES.items():
        if kind == "bfloat16":
            continue
        x = stored(rng.permutation(120).reshape(1, 120) / 7, kind)
        strides = {2: ("i32", 120), 3: ("i32", 1), 4: ("i32", 1), 5: ("i32", 120), 6: ("i32", 120)}
        yield Case(f"c_block_sort_{kind}_{kind}_bn32_tn4", "sort", {0: x, 1: np.zeros_like(x), **strides}, 1, kind, (32, 1, 1), groups=(1, 1, 1),
                   instance=f"block_sort, {metal}, {metal}, false, 32, 4", headers=("sort.h",), want=np.sort(x), ulps=0)
        yield Case(f"carg_block_sort_{kind}_uint32_bn32_tn4", "sort", {0: x, 1: np.zeros((1, 120), np.uint32), **strides}, 1, "uint32", (32, 1, 1), groups=(1, 1, 1),
                   instance=f"block_sort, {metal}, uint32_t, true, 32, 4", headers=("sort.h",), want=np.argsort(x, kind="stable"), ulps=0)
    a, v = np.sort(spread(-3, 3, 64)).astype(np.float32), stored(spread(-3, 3, 40), "float32")
    for side, right in (("left", "false"), ("right", "true")):
        yield Case(f"searchsorted_float32_{side}", "search", {0: a, 1: v, 2: np.zeros(40, np.uint32), 3: ("u32", 64), 4: ("i64", 1)}, 2, "uint32", (40, 1, 1), grid=(40, 1, 1),
                   instance=f"searchsorted, float, {right}", headers=("sort.h", "searchsorted.h"), want=np.searchsorted(a, v, side), ulps=0)


# Constants that other kernels of the same header use; the metallib's own kernels ignore them.
WIDE = ("0=bool:false", "1=bool:false")


def matrix_vector():
    for kind, (metal, _, _) in TYPES.items():
        m, k = 32, 256
        w, x = stored(spread(-1, 1, m, k), kind), stored(spread(-1, 1, k), kind)
        want = loaded(w, kind) @ loaded(x, kind)
        shared = {2: x, 3: stored(np.zeros(m), kind), 4: ("i32", k), 5: ("i32", m), 6: ("i32", k), 7: ("f32", 1.0), 8: ("f32", 0.0), 9: ("i32", 1), 10: np.array([1], np.int32), 11: np.array([0]), 12: np.array([0]), 13: np.array([0]), 14: ("i32", 1)}
        yield Case(f"gemv_{kind}_bm4_bn1_sm1_sn32_tm4_tn4_nc0_axpby0", "gemv", {0: w, 1: x, **shared}, 3, kind, (32, 1, 4), groups=(2, 1, 1),
                   instance=f"gemv, {metal}, 4, 1, 1, 32, 4, 4, false, false", headers=("gemv.h",), want=want, ulps=64, constants=WIDE)
        wt = stored(loaded(w, kind).T, kind)
        yield Case(f"gemv_t_{kind}_bm1_bn2_sm8_sn4_tm4_tn1_nc0_axpby0", "gemv", {0: wt, 1: x, **shared, 6: ("i32", m)}, 3, kind, (32, 2, 1), groups=(4, 1, 1),
                   instance=f"gemv_t, {metal}, 1, 2, 8, 4, 4, 1, false, false", headers=("gemv.h",), want=want, ulps=64, constants=WIDE)


GEMM = ("steel/gemm/gemm.h", "steel/gemm/kernels/steel_gemm_fused.h")


def gemm():
    for kind, (metal, _, _) in TYPES.items():
        for ta, tb in ((False, False), (False, True), (True, False), (True, True)):
            for m, n, k in ((64, 64, 32), (40, 50, 24)):
                a, b = stored(spread(-1, 1, m, k), kind), stored(spread(-1, 1, k, n), kind)
                want = loaded(a, kind) @ loaded(b, kind)
                params = Args().i32(m, n, k, m if ta else k, k if tb else n, n, -(-n // 32), -(-m // 32)).i64(0, 0, 0).i32(0, k // 16, 0)
                left = stored(loaded(a, kind).T, kind) if ta else a
                right = stored(loaded(b, kind).T, kind) if tb else b
                aligned = ("true" if v else "false" for v in (m % 32 == 0, n % 32 == 0, k % 16 == 0))
                constants = ("10=bool:false", "100=bool:false", "110=bool:false", *(f"{200 + i}=bool:{v}" for i, v in enumerate(aligned)))
                name = f"steel_gemm_fused_{'t' if ta else 'n'}{'t' if tb else 'n'}_{kind}_{kind}_bm32_bn32_bk16_wm2_wn2"
                yield Case(name, "GEMM", {0: left, 1: right, 3: stored(np.zeros((m, n)), kind), 4: params}, 3, kind, (32, 2, 2), groups=(-(-n // 32), -(-m // 32), 1),
                           instance=f"gemm, {metal}, 32, 32, 16, 2, 2, {str(ta).lower()}, {str(tb).lower()}, float", headers=GEMM, want=want, ulps=64, constants=constants)


def quantised():
    for metal, kind in (("float", "float32"), ("float16_t", "float16"), ("bfloat16_t", "bfloat16")):
        for bits in (2, 4, 8):
            n, k, group = 64, 512, 64
            codes = rng.integers(0, 2**bits, (n, k))
            per = 32 // bits
            packed = (codes.reshape(n, k // per, per).astype(np.uint64) << (bits * np.arange(per, dtype=np.uint64))).sum(axis=2).astype(np.uint32)
            scales, biases = stored(spread(0.01, 0.1, n, k // group), kind), stored(spread(-0.5, 0.5, n, k // group), kind)
            w = codes * np.repeat(loaded(scales, kind), group, axis=1) + np.repeat(loaded(biases, kind), group, axis=1)
            x = stored(spread(-1, 1, k), kind)
            vector = {0: packed, 1: scales, 2: biases, 3: x, 4: stored(np.zeros(n), kind), 5: ("i32", k), 6: ("i32", n), 7: ("i32", 0), 8: np.zeros(1, np.int32), 9: np.zeros(1, np.int64), 10: ("i32", 0), 11: np.zeros(1, np.int32), 12: np.zeros(1, np.int64), 13: np.zeros(1, np.int64), 14: np.zeros(1, np.int64)}
            inside = metal.replace("float16_t", "half") if metal == "float16_t" else metal
            yield Case(f"affine_qmv_fast_{metal}_gs_{group}_b_{bits}_batch_0_pr_0_hgs_0_r_4", "quantised", vector, 4, kind, (32, 2, 1), groups=(1, n // 8, 1),
                       instance=f"affine_qmv_fast, {inside}, {group}, {bits}, false", headers=("steel/gemm/gemm.h", "quantized_utils.h", "quantized.h"), want=w @ loaded(x, kind), ulps=256, pair_ulps=4)
            yield Case(f"affine_dequantize_{metal}_gs_{group}_b_{bits}", "quantised", {0: packed.view(np.uint8), 1: scales, 2: biases, 3: stored(np.zeros((n, k)), kind)}, 3, kind, (64, 1), grid=(k * bits // 8 if bits != 4 else k // 2, n) if bits == 8 else (n * k * bits // 8, 1),
                       instance=f"affine_dequantize, {inside}, {group}, {bits}", headers=("steel/gemm/gemm.h", "quantized_utils.h", "quantized.h"), want=w, ulps=4)


def attention():
    for metal, kind in (("float", "float32"), ("float16_t", "float16"), ("bfloat16_t", "bfloat16")):
        heads, length, size = 2, 40, 64
        q, k, v = stored(spread(-1, 1, heads, size), kind), stored(spread(-1, 1, heads, length, size), kind), stored(spread(-1, 1, heads, length, size), kind)
        scores = np.einsum("hd,hnd->hn", loaded(q, kind), loaded(k, kind)) * 0.125
        want = np.einsum("hn,hnd->hd", softmax(scores), loaded(v, kind))
        args = {0: q, 1: k, 2: v, 3: stored(np.zeros((heads, size)), kind), 4: ("i32", 1), 5: ("i32", length), 6: ("u64", length * size), 7: ("u64", size), 8: ("u64", length * size), 9: ("u64", size), 10: ("f32", 0.125)}
        inside = "half" if metal == "float16_t" else metal
        constants = tuple(f"{i}=bool:false" for i in range(20, 26))
        yield Case(f"sdpa_vector_{metal}_64_64", "attention", args, 3, kind, (1024, 1, 1), groups=(heads, 1, 1), constants=constants,
                   instance=f"sdpa_vector, {inside}, 64, 64", headers=("sdpa_vector.h",), want=want, ulps=64, pair_ulps=4)


def randoms():
    # Threefry of counters under one key, as JAX and MLX define it.
    def threefry(key, x):
        rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
        ks = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA]
        x = [(x[0] + ks[0]) & 0xFFFFFFFF, (x[1] + ks[1]) & 0xFFFFFFFF]
        for i in range(5):
            for r in rotations[i % 2]:
                x[0] = (x[0] + x[1]) & 0xFFFFFFFF
                x[1] = ((x[1] << r) | (x[1] >> (32 - r))) & 0xFFFFFFFF
                x[1] ^= x[0]
            x = [(x[0] + ks[(i + 1) % 3]) & 0xFFFFFFFF, (x[1] + ks[(i + 2) % 3] + i + 1) & 0xFFFFFFFF]
        return x

    half = 16
    want = np.zeros(2 * half, np.uint32)
    for i in range(half):
        want[i], want[i + half] = threefry((7, 42), (i, i + half))
    yield Case("rbitsc", "random", {0: np.array([7, 42], np.uint32), 1: np.zeros(2 * half, np.uint32), 2: ("bool", "false"), 3: ("u64", 8 * half)}, 1, "uint32", (1, 16), grid=(1, half), want=want, ulps=0)


def rope():
    heads, size = 3, 64
    x = stored(spread(-1, 1, heads, size), "float32")
    angle = 5 * 10000.0 ** -(np.arange(size // 2) / (size // 2))
    a, b = x[:, : size // 2].astype(np.float64), x[:, size // 2 :].astype(np.float64)
    want = np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=1)
    args = {0: x, 1: np.zeros_like(x), 2: ("i32", 5), 3: ("f32", 1.0), 4: ("i64", size), 10: ("f32", float(np.log2(10000.0)))}
    yield Case("rope_single_float32", "rope", args, 1, "float32", (32, 1), grid=(size // 2, heads), constants=("1=bool:true", "2=bool:false", "3=bool:false"), want=want, ulps=64)


def all_cases():
    for make in (unary, binary, ternary_and_copies, reductions, scans, rows, sorting, matrix_vector, gemm, quantised, attention, randoms, rope):
        yield from make()
