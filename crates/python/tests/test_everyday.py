"""The programs of bench/everyday.py give NumPy's values."""

import importlib.util
import pathlib

import numpy as np
import pytest

import wootz as wz

PATH = pathlib.Path(__file__).parents[3] / "bench" / "everyday.py"
_spec = importlib.util.spec_from_file_location("everyday", PATH)
everyday = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(everyday)


def test_there_are_thirty():
    assert len(everyday.PROGRAMS) >= 30


@pytest.mark.parametrize("name", sorted(everyday.PROGRAMS))
def test_values_are_those_of_numpy(name):
    ours, theirs = everyday.runner(wz, name)(), everyday.runner(np, name)()
    if not isinstance(theirs, tuple):
        ours, theirs = (ours,), (theirs,)
    for a, b in zip(ours, theirs, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype.kind == b.dtype.kind
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3) if b.dtype.kind == "f" else np.testing.assert_array_equal(a, b)
