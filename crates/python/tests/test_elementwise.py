"""Every elementwise function of the standard against array-api-strict, special values included."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import wootz
from oracle import FLOATS, INTS, KINDS, NUMERIC, arrays, check, pairs, reference

# Name → kind of dtypes, and options for elements.
UNARY = {
    "abs": ("numeric", {}), "acos": ("float", {}), "acosh": ("float", {}), "asin": ("float", {}), "asinh": ("float", {}),
    "atan": ("float", {}), "atanh": ("float", {}), "bitwise_invert": ("bitwise", {}), "ceil": ("numeric", {}),
    "cos": ("float", {"high": 1e3}), "cosh": ("float", {"high": 10}), "exp": ("float", {"high": 10}),
    "expm1": ("float", {"high": 10}), "floor": ("numeric", {}), "isfinite": ("numeric", {}), "isinf": ("numeric", {}),
    "isnan": ("numeric", {}), "log": ("float", {}), "log10": ("float", {}), "log1p": ("float", {}), "log2": ("float", {}),
    "logical_not": ("bool", {}), "negative": ("numeric", {}), "positive": ("numeric", {}), "reciprocal": ("float", {}),
    "round": ("numeric", {}), "sign": ("numeric", {}), "signbit": ("float", {}), "sin": ("float", {"high": 1e3}),
    "sinh": ("float", {"high": 10}), "sqrt": ("float", {}), "square": ("numeric", {}), "tan": ("float", {"high": 100}),
    "tanh": ("float", {}), "trunc": ("numeric", {}),
}

BINARY = {
    "add": ("numeric", {}), "atan2": ("float", {}), "bitwise_and": ("bitwise", {}),
    "bitwise_left_shift": ("int", {"low": 0, "high": 7}), "bitwise_or": ("bitwise", {}),
    "bitwise_right_shift": ("int", {"low": 0, "high": 7}), "bitwise_xor": ("bitwise", {}), "copysign": ("float", {}),
    "divide": ("float", {}), "equal": ("all", {}), "floor_divide": ("float", {"high": 1e4}), "greater": ("numeric", {}),
    "greater_equal": ("numeric", {}), "hypot": ("float", {}), "less": ("numeric", {}), "less_equal": ("numeric", {}),
    "logaddexp": ("float", {"high": 100}), "logical_and": ("bool", {}), "logical_or": ("bool", {}), "logical_xor": ("bool", {}),
    "maximum": ("numeric", {}), "minimum": ("numeric", {}), "multiply": ("numeric", {}), "not_equal": ("all", {}),
    "pow": ("float", {"low": 0, "high": 8}), "remainder": ("float", {"high": 1e4}), "subtract": ("numeric", {}),
}


@pytest.mark.parametrize("name", UNARY)
@given(st.data())
def test_unary(name, data):
    kind, options = UNARY[name]
    x = data.draw(arrays(KINDS[kind], **options))
    check(getattr(wootz, name)(wootz.asarray(x)), reference(name, x))


@pytest.mark.parametrize("name", BINARY)
@given(st.data())
def test_binary(name, data):
    kind, options = BINARY[name]
    a, b = data.draw(pairs(KINDS[kind], **options))
    check(getattr(wootz, name)(wootz.asarray(a), wootz.asarray(b)), reference(name, a, b))


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@given(pairs(INTS), st.data())
def test_integer_division_away_from_zero(name, operands, data):
    a, b = operands
    b = np.where(b == 0, np.ones((), b.dtype), b)
    # The lowest integer by −1 overflows.
    b = np.where(b == np.array(-1).astype(b.dtype), np.full((), 3, b.dtype), b) if b.dtype.kind == "i" else b
    check(getattr(wootz, name)(wootz.asarray(a), wootz.asarray(b)), getattr(np, name)(a, b))


@given(pairs(INTS, low=0, high=5))
def test_integer_powers(operands):
    a, b = operands
    check(wootz.pow(wootz.asarray(a), wootz.asarray(b)), np.power(a, b))


def test_integer_faults_are_exceptions():
    x = wootz.asarray([1, 0])
    with pytest.raises(ZeroDivisionError):
        (1 // x).eval()
    with pytest.raises(ZeroDivisionError):
        (1 % x).eval()
    with pytest.raises(ValueError):
        (wootz.asarray([2]) ** -1).eval()
    assert (x + 1).tolist() == [2, 1]


@given(arrays(NUMERIC), st.data())
def test_clip(x, data):
    low, high = sorted(data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5))))
    ours = wootz.asarray(x)
    dtype = x.dtype.type
    check(wootz.clip(ours, low, high), np.clip(x, dtype(low), dtype(high)))
    check(wootz.clip(ours, min=low), np.maximum(x, dtype(low)))
    check(ours.clip(max=high), np.minimum(x, dtype(high)))
    check(wootz.clip(ours), x)


@given(pairs(KINDS["all"]), st.data())
def test_where(operands, data):
    a, b = operands
    condition = np.arange(np.broadcast(a, b).size).reshape(np.broadcast(a, b).shape) % 2 == 0
    check(wootz.where(wootz.asarray(condition), wootz.asarray(a), wootz.asarray(b)), np.where(condition, a, b))


def test_where_and_binary_functions_take_numbers():
    x = wootz.asarray([1.0, -2.0])
    assert wootz.where(x > 0, x, 0).tolist() == [1.0, 0.0] and wootz.where(x > 0, 1, 0).dtype == wootz.int64
    assert wootz.add(1, x).tolist() == [2.0, -1.0] and wootz.maximum(x, 0).tolist() == [1.0, 0.0]
    assert wootz.exp([0.0]).tolist() == [1.0] and wootz.sqrt(4.0).item() == 2.0


@given(arrays(NUMERIC))
def test_complex_parts_of_real_numbers(x):
    ours = wootz.asarray(x)
    check(wootz.conj(ours), x)
    check(wootz.real(ours), x)
    check(wootz.imag(ours), np.zeros_like(x))


EXTRA = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp2": np.exp2,
    "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg,
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("name", EXTRA)
@given(arrays(["float32", "float64"], finite=True, high=8))
def test_functions_beyond_the_standard(name, x):
    with np.errstate(all="ignore"):
        expected = EXTRA[name](x).astype(x.dtype)
    check(getattr(wootz, name)(wootz.asarray(x)), expected, atol=1e-5 if x.dtype == np.float32 else 1e-12)


def test_every_op_of_the_table_is_a_function_and_a_method():
    for name, arity, doc in wootz._native._op_table():
        function = getattr(wootz, name)
        assert callable(function) and doc.endswith(".")
        if arity < 3:
            assert hasattr(wootz.Array, name), name


def test_dtype_rules_are_the_standards():
    with pytest.raises(TypeError):
        wootz.add(wootz.asarray([True]), wootz.asarray([True]))
    with pytest.raises(TypeError):
        wootz.bitwise_and(wootz.asarray([1.0]), wootz.asarray([1.0]))
    assert wootz.divide(wootz.asarray([1]), wootz.asarray([2])).dtype == wootz.float32
    assert all(wootz.exp(wootz.ones(2, dtype=each)).dtype == each for each in FLOATS)
