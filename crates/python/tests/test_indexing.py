"""Indexing and assignment, against NumPy."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import wootz
from oracle import check


def numbered(shape):
    return np.arange(np.prod(shape), dtype=np.int64).reshape(shape)


@given(st.data())
def test_basic_indices(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    x = numbered(shape)
    check(wootz.asarray(x)[key], x[key])


@st.composite
def mixed_keys(draw, shape):
    """Integers, slices, index arrays and lists for some leading and, after an ellipsis, some trailing axes."""
    arrays_shape = draw(st.sampled_from([(), (3,), (2, 1), (2, 3)]))
    count = draw(st.integers(1, len(shape)))
    lead = draw(st.integers(0, count)) if draw(st.booleans()) else count
    extents = shape[:lead] + shape[len(shape) - (count - lead) :]
    key = []
    for extent in extents:
        kind = draw(st.sampled_from(["int", "slice", "array", "array", "list"]))
        position = st.integers(-extent, extent - 1)
        if kind == "int":
            key.append(draw(position))
        elif kind == "slice":
            key.append(draw(st.slices(extent)))
        elif kind == "array":
            key.append(draw(hnp.arrays(np.int64, arrays_shape, elements=position)))
        else:
            key.append(draw(st.lists(position, min_size=1, max_size=1)))
    if lead < count or draw(st.booleans()):
        key.insert(lead, ...)
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), None)
    return tuple(key)


def ours(key):
    """A key with our arrays in place of NumPy's."""
    return tuple(wootz.asarray(each) if isinstance(each, np.ndarray) else each for each in key)


@given(st.data())
def test_arrays_and_basic_indices_mix(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    key = data.draw(mixed_keys(shape))
    x = numbered(shape)
    check(wootz.asarray(x)[ours(key)], x[key])
    check(wootz.asarray(x)[key], x[key])


@given(st.data())
def test_assignment(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    key = data.draw(st.one_of(mixed_keys(shape), hnp.basic_indices(shape, allow_newaxis=True)))
    x = numbered(shape)
    target = x[key]
    # Where a position is named twice, the order of writing decides: give all writes one value then.
    flat = target.ravel()
    unique = len(np.unique(flat)) == flat.size
    value = -1 - np.arange(target.size).reshape(target.shape) if unique and data.draw(st.booleans()) else -7
    array = wootz.asarray(x, copy=True)
    before = array + 0
    expected = x.copy()
    expected[key] = value
    array[ours(key) if isinstance(key, tuple) else key] = value if isinstance(value, int) else wootz.asarray(value)
    check(array, expected)
    check(before, x)


@given(st.data())
def test_masks(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    lead = data.draw(st.integers(1, len(shape)))
    mask = data.draw(hnp.arrays(bool, shape[:lead]))
    x = numbered(shape)
    check(wootz.asarray(x)[wootz.asarray(mask)], x[mask])
    expected = x.copy()
    array = wootz.asarray(x, copy=True)
    expected[mask] = 5
    array[wootz.asarray(mask)] = 5
    check(array, expected)
    chosen = (int(mask.sum()),) + shape[lead:]
    values = np.arange(np.prod(chosen, dtype=int)).reshape(chosen)
    expected[mask] = values
    array[mask] = values
    check(array, expected)


def test_masks_mix_with_other_indices():
    x = numbered((3, 4, 2))
    mask = np.array([True, False, True])
    columns = np.array([1, 2])
    check(wootz.asarray(x)[wootz.asarray(mask), wootz.asarray(columns)], x[mask, columns])
    check(wootz.asarray(x)[wootz.asarray(mask), ..., 0], x[mask, ..., 0])
    check(wootz.asarray(x)[True], x[True])
    check(wootz.asarray(x)[False], x[False])
    check(wootz.asarray(5)[wootz.asarray(True)], np.asarray(5)[np.asarray(True)])


def test_iteration_and_membership():
    x = wootz.asarray([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and 3 in x and 7 not in x
    with pytest.raises(TypeError):
        iter(wootz.asarray(1))


@pytest.mark.parametrize("key", [3, -4, (0, 0, 0), (..., ...), "a", 1.0, [0.5], slice(None, None, 0)])
def test_bad_indices_say_what_was_wrong(key):
    x = wootz.zeros((3, 2))
    with pytest.raises((IndexError, ValueError)) as caught:
        x[key].eval()
    assert isinstance(caught.value, wootz.Error)
    with pytest.raises((IndexError, ValueError)):
        x[key] = 1
        x.eval()


def test_an_index_array_out_of_range_is_found_when_it_runs():
    x = wootz.zeros((3, 2))
    with pytest.raises(IndexError):
        x[wootz.asarray([0, 3])].eval()
    with pytest.raises(IndexError):
        x[wootz.asarray([0]), wootz.asarray([2])].eval()
    with pytest.raises(IndexError):
        x[wootz.asarray([True, False])]
    assert x[wootz.asarray([2])].tolist() == [[0.0, 0.0]]
