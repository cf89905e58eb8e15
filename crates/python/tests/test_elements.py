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
