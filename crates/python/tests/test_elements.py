"""Elements and rows that are written and read one by one: in place where nobody can tell, and never where somebody could."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wootz as wz
from oracle import check

ROWS, COLUMNS = 4, 30
PLACES = st.tuples(st.integers(-ROWS, ROWS - 1), st.integers(-COLUMNS, COLUMNS - 1))
NUMBERS = st.integers(-100, 100)
STEPS = st.one_of(
    st.tuples(st.just("number"), PLACES, NUMBERS),
    st.tuples(st.just("element"), PLACES, PLACES),
    st.tuples(st.just("add"), PLACES, NUMBERS),
    st.tuples(st.just("row of a number"), st.integers(-ROWS, ROWS - 1), NUMBERS),
    st.tuples(st.just("row"), st.integers(-ROWS, ROWS - 1), st.integers(-ROWS, ROWS - 1)),
    st.tuples(st.just("list"), st.integers(-ROWS, ROWS - 1), NUMBERS),
    st.tuples(st.just("copy"), st.just(None), st.just(None)),
    st.tuples(st.just("lazy"), st.just(None), st.just(None)),
    st.tuples(st.just("view"), st.just(None), st.just(None)),
    st.tuples(st.just("numpy"), st.just(None), st.just(None)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=25), st.sampled_from(["float32", "int16", "float64", "bfloat16"]))
def test_writes_change_the_object_and_nothing_else(steps, dtype):
    want = np.arange(ROWS * COLUMNS, dtype=np.float64).reshape(ROWS, COLUMNS)
    x = wz.asarray(want.astype(np.float32)).astype(dtype) + 0
    kept = []
    for kind, place, value in steps:
        if kind == "number":
            x[place] = value
            want[place] = value
        elif kind == "element":
            x[place] = x[value]
            want[place] = want[value]
        elif kind == "add":
            x[place] += 1
            want[place] += 1
        elif kind == "row of a number":
            x[place] = value
            want[place] = value
        elif kind == "row":
            x[place] = x[value]
            want[place] = want[value]
        elif kind == "list":
            x[place] = [value] * COLUMNS
            want[place] = value
        else:
            made = {"copy": lambda: x.copy(), "lazy": lambda: x * 1, "view": lambda: x[1:3], "numpy": lambda: np.asarray(x.astype("float32"))}[kind]()
            kept.append((made, want[1:3].copy() if kind == "view" else want.copy()))
        assert x[0, 0].item() == want[0, 0] and x.shape == want.shape
    kept.append((x, want))
    for ours, theirs in kept:
        assert np.array_equal(np.asarray(wz.asarray(ours).astype("float64")), theirs)


SLICES = st.builds(slice, *[st.none() | st.integers(-7, 7)] * 2, st.none() | st.sampled_from([1, 2, 3, -1, -2]))
PARTS = st.one_of(
    SLICES, st.just(...), st.tuples(SLICES, SLICES), st.tuples(st.integers(-4, 3), SLICES), st.tuples(SLICES, st.integers(-5, 4)), st.tuples(SLICES, st.just(...), SLICES),
    st.tuples(st.just(...), st.integers(-2, 1)), st.tuples(SLICES, SLICES, SLICES), st.tuples(st.integers(-4, 3), SLICES, st.integers(-2, 1)), st.tuples(st.integers(-4, 3), st.integers(-5, 4)),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(PARTS, st.sampled_from(["number", "exact", "row", "numpy", "list", "wide", "scalar"])), min_size=1, max_size=6), st.sampled_from(["float32", "int16"]))
def test_parts_are_written_as_in_numpy(steps, dtype):
    want = np.arange(40).reshape(4, 5, 2).astype(dtype)
    x = wz.asarray(want) + 0
    x[0, 0, 0] = 0
    want = want.copy()
    for i, (key, kind) in enumerate(steps):
        target = want[key]
        # An empty list does not say along which axis it is empty.
        kind = "number" if kind == "list" and not target.size else kind
        values = (np.arange(max(target.size, 1)) + 100 * i)[: target.size].reshape(target.shape).astype(dtype)
        if kind in ("row", "list") and target.ndim:
            values = values[:1].reshape(target.shape[1:]) if target.shape[0] else np.zeros(target.shape[1:], dtype)
        value = {
            "number": lambda: i, "exact": lambda: wz.asarray(values), "row": lambda: wz.asarray(values) + 0, "numpy": lambda: values, "list": lambda: values.tolist(),
            "wide": lambda: wz.asarray(values.astype(np.int64)), "scalar": lambda: wz.asarray(i, dtype=dtype),
        }[kind]()
        x[key] = value
        want[key] = i if kind in ("number", "scalar") else values
        check(x, want)


def test_parts_of_lazy_arrays_and_overlaps():
    x = wz.arange(10) * 2
    y = x + 1
    x[2:4] = [7, 8]
    x[5:] = x[:5]
    x[::-3] = wz.asarray([1, 2, 3, 4])
    want = np.arange(10) * 2
    want[2:4] = [7, 8]
    want[5:] = want[:5].copy()
    want[::-3] = [1, 2, 3, 4]
    check(x, want)
    check(y, np.arange(10) * 2 + 1)
    for wrong in (lambda: x.__setitem__(slice(0, 3), [1, 2]), lambda: x.__setitem__(slice(0, 3), wz.zeros((2, 3), dtype=int))):
        with pytest.raises(wz.ShapeError):
            wrong()
    f = wz.compile(lambda a: a + x)
    first = f(x)
    x[1:3] = 50
    check(f(x), want * 0 + np.asarray(x) * 2)
    check(first, want * 2)


def test_memory_that_others_see_is_not_written():
    theirs = np.zeros(100, np.float32)
    x = wz.asarray(theirs)
    x[3] = 5.0
    assert theirs[3] == 0 and x[3].item() == 5
    y = wz.zeros(100) + 1
    y[0] = 2.0
    shown = y.numpy()
    y[0] = 3.0
    assert shown[0] == 2 and y[0].item() == 3


def test_wrong_elements_and_places_are_refused():
    x = wz.zeros((3, 4), dtype="int8") + 1
    x[0, 0] = 7
    for key in (3, -4, (0, 4), (0, -5), (3, 0)):
        with pytest.raises(wz.OutOfRangeError, match="out of range for axis"):
            x[key] = 1
        with pytest.raises(wz.OutOfRangeError):
            x[key]
    with pytest.raises(wz.OutOfRangeError, match="too many"):
        x[0, 0, 0] = 1
    for value in (300, -129, [300, 1, 2, 3], (1, 2, 3, 300), [[300] * 4]):
        with pytest.raises(wz.ArgumentError, match="does not fit int8"):
            x[0] = value
    with pytest.raises(wz.ShapeError):
        x[0] = wz.zeros(3, dtype="int8")
    x[1] = wz.asarray([1.5, 2.5, -3.5, 0.0])
    x[2] = x[0]
    assert x.tolist() == [[7, 1, 1, 1], [1, 2, -3, 0], [7, 1, 1, 1]]


def test_an_array_assigned_to_itself():
    x = wz.asarray([[1.0, 2.0]]) + 0
    x[0] = x[0]
    x[0, 1] = x[0, 0]
    with pytest.raises(wz.ShapeError):
        x[0] = wz.zeros((2, 2, 2))
    y = wz.asarray(5.0) + 0
    y[()] = y
    y[()] = 6
    assert x.tolist() == [[1.0, 1.0]] and y.item() == 6
    z = wz.arange(40) + 0
    z[3] = 7
    z[...] = z
    check(z[2:5], np.array([2, 7, 4]))


def test_compiled_functions_see_single_writes():
    weights = wz.ones(100) + 0
    weights[0] = 5.0
    f = wz.compile(lambda x: x * weights)
    assert f(wz.ones(100))[0].item() == 5
    for value in (6.0, 7.0):
        weights[0] = value
        assert f(wz.ones(100))[0].item() == value and weights[0].item() == value


@pytest.mark.parametrize("key", [lambda i: i, lambda i: (i, 2), lambda i: (-1, i)])
def test_a_loop_over_elements_computes_an_array_once(key):
    x = wz.arange(16).reshape(4, 4) * 2
    first = x[key(0)]
    assert not x.is_evaluated and not first.is_evaluated
    second = x[key(1)]
    assert x.is_evaluated
    want = np.arange(16).reshape(4, 4) * 2
    check(first, want[key(0)])
    check(second, want[key(1)])

    @wz.compile
    def traced(y):
        z = y * 2
        return z[key(0)] + z[key(1)] + z[key(2)]

    check(traced(wz.asarray(want)), 2 * (want[key(0)] + want[key(1)] + want[key(2)]))
