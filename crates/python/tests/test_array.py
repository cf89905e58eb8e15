"""The array object: creation, attributes, operators, printing, pickling."""

import copy
import operator
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import wootz
from oracle import ALL, NUMERIC, arrays, check, pairs


def test_a_chain_of_operators_is_lazy_and_right():
    x = wootz.arange(6, dtype=wootz.float32).reshape(2, 3)
    y = (x * 2 + 1).exp().sum(axis=1)
    assert not y.is_evaluated
    np.testing.assert_allclose(y.numpy(), np.exp(np.arange(6, dtype=np.float32).reshape(2, 3) * 2 + 1).sum(1), rtol=1e-6)
    assert y.is_evaluated


def test_attributes():
    x = wootz.zeros((2, 3, 4), dtype="int16")
    assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize) == ((2, 3, 4), 3, 24, 48, 2)
    assert x.dtype == wootz.int16 and x.dtype == np.int16 and x.dtype == "int16" and x.dtype != wootz.int32
    assert x.mT.shape == (2, 4, 3) and len(x) == 2
    assert wootz.ones((2, 3)).T.shape == (3, 2)
    assert x.device == wootz.default_device() and x.device == str(x.device)
    with pytest.raises(wootz.ShapeError):
        x.T


def test_dtypes_are_named_by_many_things_and_hash_like_their_names():
    for name in ALL:
        dtype = getattr(wootz, name)
        assert wootz.DType(name) == wootz.DType(np.dtype(name)) == wootz.DType(getattr(np, name)) == dtype
        assert hash(dtype) == hash(name) and {dtype: 1}[dtype] == 1 and pickle.loads(pickle.dumps(dtype)) == dtype
    assert (wootz.DType(float), wootz.DType(int), wootz.DType(bool)) == (wootz.float32, wootz.int64, wootz.bool)
    for wrong in ("float31", object(), complex, np.complex64, None):
        with pytest.raises(TypeError):
            wootz.DType(wrong)


@pytest.mark.parametrize(
    "value, dtype, shape",
    [
        (True, "bool", ()),
        (3, "int64", ()),
        (2**63, "uint64", ()),
        (1.5, "float32", ()),
        ([[1, 2], [3, 4]], "int64", (2, 2)),
        ([True, 2, 3.5], "float32", (3,)),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        (((1,), (2,)), "int64", (2, 1)),
        (b"abc", "uint8", (3,)),
    ],
)
def test_objects_become_arrays(value, dtype, shape):
    x = wootz.asarray(value)
    assert (x.dtype.name, x.shape) == (dtype, shape)
    expected = list(value) if isinstance(value, bytes) else np.asarray(value).tolist()
    assert x.tolist() == expected


def test_sequences_of_arrays_are_stacked():
    rows = [wootz.asarray([1, 2]), np.array([3, 4]), [5, 6]]
    assert wootz.asarray(rows).tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("wrong", [[1, [2]], [[1, 2], [3]], "text", [["a"]], {1: 2}, object(), 2**70, 1j, [1j]])
def test_what_is_no_array_is_refused(wrong):
    with pytest.raises((TypeError, ValueError)) as caught:
        wootz.asarray(wrong)
    assert isinstance(caught.value, wootz.Error)


def test_integers_must_fit():
    for value, dtype in [(300, "uint8"), (-1, "uint64"), (2**31, "int32")]:
        with pytest.raises(ValueError):
            wootz.asarray(value, dtype=dtype)
        with pytest.raises(ValueError):
            wootz.zeros(2, dtype=dtype) + value


OPERATORS = {
    "+": (operator.add, NUMERIC),
    "-": (operator.sub, NUMERIC),
    "*": (operator.mul, NUMERIC),
    "==": (operator.eq, ALL),
    "!=": (operator.ne, ALL),
    "<": (operator.lt, NUMERIC),
    "<=": (operator.le, NUMERIC),
    ">": (operator.gt, NUMERIC),
    ">=": (operator.ge, NUMERIC),
}


@pytest.mark.parametrize("name", OPERATORS)
@given(st.data())
def test_operators_are_numpys(name, data):
    op, dtypes = OPERATORS[name]
    a, b = data.draw(pairs(dtypes))
    with np.errstate(all="ignore"):
        check(op(wootz.asarray(a), wootz.asarray(b)), op(a, b))
        # NumPy's arrays on either side.
        check(op(a, wootz.asarray(b)), op(a, b))
        check(op(wootz.asarray(a), b), op(a, b))


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("scalar", [0, 1, 2, 1.5, True])
def test_python_numbers_yield_to_the_dtype(dtype, scalar):
    x = np.array([0, 1, 2, 100], dtype)
    ours = wootz.asarray(x)
    for op in (operator.add, operator.sub, operator.mul, operator.eq, operator.lt):
        for result, expected in ((op(ours, scalar), op(x, scalar)), (op(scalar, ours), op(scalar, x))):
            if isinstance(scalar, float) and np.dtype(dtype).kind in "iu" and expected.dtype.kind == "f":
                # NumPy gives float64 here; the default float of this library is float32.
                expected = expected.astype(np.float32)
            check(result, expected)


def test_promotion_follows_the_standard():
    table = {("int8", "uint8"): "int16", ("uint32", "int32"): "int64", ("float16", "float32"): "float32", ("int8", "int64"): "int64"}
    for (a, b), want in table.items():
        assert (wootz.ones(2, dtype=a) + wootz.ones(2, dtype=b)).dtype.name == want
        assert wootz.result_type(getattr(wootz, a), getattr(wootz, b)).name == want
    with pytest.raises(TypeError, match="uint64|u64"):
        wootz.ones(2, dtype="uint64") + wootz.ones(2, dtype="int8")


def test_assignment_in_place_keeps_dtype_and_shape():
    x = wootz.asarray([1, 2, 3])
    same = x
    x += 1
    x *= np.array([1, 2, 3])
    assert same is x and x.tolist() == [2, 6, 12]
    with pytest.raises(TypeError):
        x += 0.5
    with pytest.raises(ValueError):
        x += wootz.ones((2, 3), dtype="int64")
    with pytest.raises(TypeError):
        x += "text"


def test_other_objects_get_their_turn_in_operators():
    class Other:
        def __radd__(self, other):
            return "mine"

    assert wootz.ones(2) + Other() == "mine"
    with pytest.raises(TypeError):
        wootz.ones(2) + None
    assert (wootz.ones(2) == None) is False  # noqa: E711


def test_numbers_out_of_arrays():
    assert float(wootz.asarray(1.5)) == 1.5 and int(wootz.asarray([[7]])) == 7 and bool(wootz.asarray(1))
    assert complex(wootz.asarray(2.0)) == 2 and [10, 20][wootz.asarray(1)] == 20
    assert wootz.asarray(2**64 - 1, dtype="uint64").item() == 2**64 - 1
    for wrong in (lambda: float(wootz.ones(2)), lambda: bool(wootz.ones(2)), lambda: [1][wootz.asarray(0.0)], lambda: len(wootz.asarray(1))):
        with pytest.raises((TypeError, ValueError)):
            wrong()


@given(arrays(ALL))
def test_pickles_copies_and_lists_keep_values(x):
    ours = wootz.asarray(x)
    for twin in (pickle.loads(pickle.dumps(ours)), copy.copy(ours), copy.deepcopy(ours), wootz.asarray(x, copy=True)):
        check(twin, x)
    np.testing.assert_array_equal(np.array(ours.tolist(), x.dtype).reshape(x.shape), x)
    assert ours.tobytes() == np.ascontiguousarray(x).tobytes()


def test_printing():
    x = wootz.asarray([[1.0, 2.5], [-3.0, 4.0]])
    assert "2.5" in str(x) and repr(x).startswith("array([[") and repr(x).endswith("dtype=float32)")
    assert "..." in str(wootz.arange(5000)) or "…" in str(wootz.arange(5000))
    assert f"{wootz.asarray(1.25):.1f}" == "1.2" and repr(wootz.zeros((0, 3)))


@given(arrays(ALL), st.sampled_from(ALL))
def test_astype_within_range_is_numpys(x, dtype):
    x = np.clip(np.nan_to_num(x.astype(np.float64), nan=0, posinf=100, neginf=0), 0, 100).astype(x.dtype)
    check(wootz.asarray(x).astype(dtype), x.astype(dtype))


def test_bfloat16_exists_beyond_numpy():
    x = wootz.asarray([1.0, 1.0 + 2**-9, 3.0], dtype=wootz.bfloat16)
    assert x.tolist() == [1.0, 1.0, 3.0] and (x + x).dtype == wootz.bfloat16
    with pytest.raises(TypeError):
        memoryview(x)
