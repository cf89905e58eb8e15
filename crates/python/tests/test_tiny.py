"""Arrays of up to 64 bytes are computed without a graph, and behave like all others."""

import numpy as np
import pytest

import wootz as wz
from oracle import check

A, B = np.arange(5, dtype=np.float32) - 1, np.full(5, 0.3, np.float32)


def pair():
    return wz.asarray(A.copy(), device="cpu"), wz.asarray(B.copy(), device="cpu")


@pytest.mark.parametrize("op", ["__add__", "__sub__", "__mul__", "__truediv__", "__radd__", "__rsub__"])
def test_ops_of_two_tiny_arrays_are_lazy_and_right(op):
    a, b = pair()
    result = getattr(a, op)(b)
    assert not result.is_evaluated and "cpu" in result.explain()
    assert result.eval() is result and result.is_evaluated
    check(result, getattr(A, op)(B))
    assert result.shape == (5,) and result.dtype == wz.float32 and result.device == "cpu"


def test_they_are_operands_of_everything_before_and_after():
    a, b = pair()
    lazy, done = a + b, (a + b).eval()
    check(lazy * lazy + done, (A + B) * (A + B) + (A + B))
    check(wz.concat([lazy, done]), np.concatenate([A + B, A + B]))
    check(done[1:4], (A + B)[1:4])
    assert np.array_equal(np.asarray(done), A + B) and lazy.tolist() == (A + B).tolist()
    assert repr(lazy) == repr(done) and len(done) == 5
    done[2] = 9
    assert done.tolist()[2] == 9.0 and lazy.tolist()[2] == pytest.approx(1.3)


def test_what_is_assigned_later_is_not_seen():
    a, b = wz.ones(4, device="cpu").eval(), wz.ones(4, device="cpu").eval()
    total = a + b
    a[0] = 5
    b += 1
    assert total.eval().tolist() == [2.0] * 4 and a.tolist() == [5.0, 1.0, 1.0, 1.0]


def test_other_pairs_take_the_usual_way():
    a, b = pair()
    check(a + wz.asarray(A[:1].copy()), A + A[:1])
    with pytest.raises(wz.ShapeError):
        a + wz.ones(4)
    i = wz.asarray([7, 8], dtype="int32", device="cpu")
    assert (i / i).dtype == wz.float32 and (i + i).tolist() == [14, 16]
    with pytest.raises(wz.DivisionByZeroError):
        (i // (i - i)).eval()


def test_compiled_functions_take_them():
    a, b = pair()
    double = wz.compile(lambda x: x + x)
    check(double(a + b), (A + B) * 2)
    check(double((a + b).eval()), (A + B) * 2)
    kept = (a + b).eval()
    check(wz.compile(lambda x: x + kept)(a), A + (A + B))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_, np.float16])
def test_elements_are_arrays_without_axes(dtype):
    values = np.asarray([0, 1, 3], dtype)
    x = wz.asarray(values, device="cpu").eval()
    for i in (0, 2, -1):
        assert x[i].shape == () and x[i].dtype == x.dtype and x[i].is_evaluated
        assert x[i].item() == values[i].item()
    assert [v.item() for v in x] == [v.item() for v in values]
    if dtype is not np.bool_:
        check(x[1] + x[2], values[1] + values[2])
    with pytest.raises(IndexError):
        x[3]
    with pytest.raises(IndexError):
        x[0][0]
