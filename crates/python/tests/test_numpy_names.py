"""Functions that NumPy has beyond the array API standard: the values of each beside NumPy's, and the page that lists them."""

import numpy as np
import pytest

import wootz as wz
from test_generated import tool

F = np.random.default_rng(7).normal(size=(4, 6)).astype(np.float32)
G = np.random.default_rng(8).normal(size=(4, 6)).astype(np.float32)
V = np.random.default_rng(9).normal(size=9).astype(np.float32)
N = F.copy()
N[1, 2] = N[3, 0] = np.nan
I = np.random.default_rng(3).integers(-9, 9, (4, 6))
C = np.random.default_rng(4).integers(0, 5, 20)
B = I > 0
T = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
S = np.sort(V)

#: For each name: calls, as functions of the module and of what makes an array there.
CASES = {
    "allclose": [lambda m, a: m.allclose(a(F), a(F + 1e-7)), lambda m, a: m.allclose(a(F), a(G)), lambda m, a: m.allclose(a(N), a(N), equal_nan=True)],
    "isclose": [lambda m, a: m.isclose(a(F), a(F * 1.00001)), lambda m, a: m.isclose(a([np.inf, 1, np.nan]), a([np.inf, np.inf, np.nan])), lambda m, a: m.isclose(a(I), a(I + 1))],
    "array_equal": [lambda m, a: m.array_equal(a(F), a(F)), lambda m, a: m.array_equal(a(F), a(V)), lambda m, a: m.array_equal(a(N), a(N)), lambda m, a: m.array_equal(a(N), a(N), equal_nan=True)],
    "array_equiv": [lambda m, a: m.array_equiv(a([1, 2]), a([[1, 2], [1, 2]])), lambda m, a: m.array_equiv(a([1, 2]), a([1, 2, 3]))],
    "isin": [lambda m, a: m.isin(a(I), a([1, 2, -3])), lambda m, a: m.isin(a(I), a([1, 2]), invert=True), lambda m, a: m.isin(a(B), a([True]))],
    "isposinf": [lambda m, a: m.isposinf(a([np.inf, -np.inf, 1.0, np.nan]))],
    "isneginf": [lambda m, a: m.isneginf(a([np.inf, -np.inf, 1.0, np.nan]))],
    "isreal": [lambda m, a: m.isreal(a(V))],
    "isscalar": [lambda m, a: m.isscalar(3.0), lambda m, a: m.isscalar(a(V)), lambda m, a: m.isscalar(np.float32(3))],
    "unique": [
        lambda m, a: m.unique(a(C)), lambda m, a: m.unique(a(C), return_index=True, return_inverse=True, return_counts=True),
        lambda m, a: m.unique(a(I[:, :2] % 2), axis=0), lambda m, a: m.unique(a(I % 2), axis=1, return_counts=True),
    ],
    "union1d": [lambda m, a: m.union1d(a(C), a(I))],
    "intersect1d": [lambda m, a: m.intersect1d(a(C), a(I)), lambda m, a: m.intersect1d(a(C), a(I.ravel()), return_indices=True)],
    "setdiff1d": [lambda m, a: m.setdiff1d(a(I), a(C))],
    "setxor1d": [lambda m, a: m.setxor1d(a(I), a(C))],
    "ravel": [lambda m, a: m.ravel(a(T))],
    "swapaxes": [lambda m, a: m.swapaxes(a(T), 0, -1)],
    "rollaxis": [lambda m, a: m.rollaxis(a(T), 2), lambda m, a: m.rollaxis(a(T), 0, 3)],
    "atleast_1d": [lambda m, a: m.atleast_1d(a(3.0)), lambda m, a: m.atleast_1d(a(V), a(2.0))],
    "atleast_2d": [lambda m, a: m.atleast_2d(a(V))],
    "atleast_3d": [lambda m, a: m.atleast_3d(a(V)), lambda m, a: m.atleast_3d(a(F)), lambda m, a: m.atleast_3d(a(2.0))],
    "hstack": [lambda m, a: m.hstack([a(V), a(V)]), lambda m, a: m.hstack((a(F), a(G)))],
    "vstack": [lambda m, a: m.vstack([a(V), a(V)]), lambda m, a: m.vstack((a(F), a(G)))],
    "dstack": [lambda m, a: m.dstack([a(V), a(V)]), lambda m, a: m.dstack((a(F), a(G)))],
    "column_stack": [lambda m, a: m.column_stack([a(V), a(V * 2)])],
    "block": [lambda m, a: m.block([[a(F), a(G)], [a(G), a(F)]]), lambda m, a: m.block([a(V), a(V)])],
    "split": [lambda m, a: m.split(a(F), 2), lambda m, a: m.split(a(V), [2, 5]), lambda m, a: m.split(a(F), 3, 1)],
    "array_split": [lambda m, a: m.array_split(a(V), 4)],
    "hsplit": [lambda m, a: m.hsplit(a(F), 2)],
    "vsplit": [lambda m, a: m.vsplit(a(F), 2)],
    "dsplit": [lambda m, a: m.dsplit(a(T), 2)],
    "fliplr": [lambda m, a: m.fliplr(a(F))],
    "flipud": [lambda m, a: m.flipud(a(F))],
    "rot90": [lambda m, a, k=k: m.rot90(a(F), k) for k in range(-1, 5)] + [lambda m, a: m.rot90(a(T), 1, (1, 2))],
    "append": [lambda m, a: m.append(a(F), a(V)), lambda m, a: m.append(a(F), a(G), 0)],
    "delete": [lambda m, a: m.delete(a(V), 2), lambda m, a: m.delete(a(F), [0, -1], 1), lambda m, a: m.delete(a(V), slice(1, 7, 2))],
    "insert": [lambda m, a: m.insert(a(V), 2, 5.0), lambda m, a: m.insert(a(F), 1, 7.0, axis=1), lambda m, a: m.insert(a(V), [1, 1, 8], a([1.0, 2.0, 3.0])), lambda m, a: m.insert(a(F), 2, a(F[0]), axis=0)],
    "resize": [lambda m, a: m.resize(a(V), (3, 7)), lambda m, a: m.resize(a(F), (2, 2))],
    "trim_zeros": [lambda m, a: m.trim_zeros(a([0, 0, 1, 0, 2, 0])), lambda m, a: m.trim_zeros(a([0, 1, 0]), "b")],
    "diag": [lambda m, a: m.diag(a(V), 2), lambda m, a: m.diag(a(V), -1), lambda m, a: m.diag(a(F), 1)],
    "diagflat": [lambda m, a: m.diagflat(a(F[:2, :2]))],
    "diagonal": [lambda m, a: m.diagonal(a(F), 1), lambda m, a: m.diagonal(a(T), 0, 1, 2)],
    "trace": [lambda m, a: m.trace(a(F)), lambda m, a: m.trace(a(I), 1)],
    "tri": [lambda m, a: m.tri(3, 5, 1)],
    "vander": [lambda m, a: m.vander(a(V), 3), lambda m, a: m.vander(a(V), 3, increasing=True)],
    "kron": [lambda m, a: m.kron(a(F[:2, :2]), a(G[:2, :3])), lambda m, a: m.kron(a(V[:3]), a(F[:2]))],
    "cumsum": [lambda m, a: m.cumsum(a(F)), lambda m, a: m.cumsum(a(I), 1), lambda m, a: m.cumsum(a(B))],
    "cumprod": [lambda m, a: m.cumprod(a(F)), lambda m, a: m.cumprod(a(F), 0)],
    "ptp": [lambda m, a: m.ptp(a(F)), lambda m, a: m.ptp(a(I), 1)],
    "average": [lambda m, a: m.average(a(F), 0), lambda m, a: m.average(a(F), 1, a([1.0, 2, 3, 4, 5, 6])), lambda m, a: m.average(a(F), weights=a(abs(G)), returned=True)],
    "median": [lambda m, a: m.median(a(F)), lambda m, a: m.median(a(F), 1), lambda m, a: m.median(a(I), (0, 1), keepdims=True), lambda m, a: m.median(a(N), 0)],
    "percentile": [lambda m, a: m.percentile(a(F), 30), lambda m, a: m.percentile(a(F), [0, 50, 99], 0)],
    "quantile": [lambda m, a: m.quantile(a(F), 0.3, 1)] + [lambda m, a, k=k: m.quantile(a(F), 0.37, 0, method=k) for k in ("lower", "higher", "midpoint", "nearest")],
    "bincount": [lambda m, a: m.bincount(a(C)), lambda m, a: m.bincount(a(C), minlength=9), lambda m, a: m.bincount(a(C), a(np.arange(20.0, dtype=np.float32)))],
    "histogram": [lambda m, a: m.histogram(a(V)), lambda m, a: m.histogram(a(F), 4, (-1, 1)), lambda m, a: m.histogram(a(F), a([-1.0, 0.0, 2.0])), lambda m, a: m.histogram(a(V), 3, density=True)],
    "histogram_bin_edges": [lambda m, a: m.histogram_bin_edges(a(V), 5)],
    "digitize": [lambda m, a: m.digitize(a(V), a([-1.0, 0.0, 1.0])), lambda m, a: m.digitize(a(V), a([1.0, 0.0, -1.0])), lambda m, a: m.digitize(a([0.0, 1.0]), a([0.0, 1.0]), right=True)],
    "cov": [lambda m, a: m.cov(a(F)), lambda m, a: m.cov(a(V)), lambda m, a: m.cov(a(F), rowvar=False)],
    "corrcoef": [lambda m, a: m.corrcoef(a(F))],
    **{f"nan{k}": [lambda m, a, k=k: getattr(m, f"nan{k}")(a(N)), lambda m, a, k=k: getattr(m, f"nan{k}")(a(N), 1)] for k in "sum prod max min mean var std median cumsum cumprod argmax argmin".split()},
    "nanquantile": [lambda m, a: m.nanquantile(a(N), 0.3, 1)],
    "nanpercentile": [lambda m, a: m.nanpercentile(a(N), [10, 60], 0)],
    "angle": [lambda m, a: m.angle(a(V)), lambda m, a: m.angle(a(V), deg=True)],
    "cbrt": [lambda m, a: m.cbrt(a(V)), lambda m, a: m.cbrt(a(np.float32([0.0, -8.0, 27.0, np.inf, np.nan])))],
    "convolve": [lambda m, a, k=k: m.convolve(a(V), a(S[:4]), k) for k in ("full", "same", "valid")] + [lambda m, a: m.convolve(a([1, 2]), a([1, 2, 3]))],
    "correlate": [lambda m, a, k=k: m.correlate(a(V), a(S[:4]), k) for k in ("full", "same", "valid")],
    "cross": [lambda m, a: m.cross(a(F[:, :3]), a(G[:, :3]))],
    "degrees": [lambda m, a: m.degrees(a(V))],
    "radians": [lambda m, a: m.radians(a(V))],
    "divmod": [lambda m, a: m.divmod(a(I), a(np.full((4, 6), 4))), lambda m, a: m.divmod(a(V), a(np.float32(0.7)))],
    "dot": [lambda m, a: m.dot(a(F), a(G.T)), lambda m, a: m.dot(a(V), a(V)), lambda m, a: m.dot(a(T), a(F.T[:4]))],
    "ediff1d": [lambda m, a: m.ediff1d(a(F)), lambda m, a: m.ediff1d(a(V), to_end=a(np.float32([1.0])))],
    "fabs": [lambda m, a: m.fabs(a(V))],
    "fix": [lambda m, a: m.fix(a(V * 3))],
    "float_power": [lambda m, a: m.float_power(a(abs(V)), 1.5)],
    "fmax": [lambda m, a: m.fmax(a(N), a(F)), lambda m, a: m.fmax(a(F), a(N))],
    "fmin": [lambda m, a: m.fmin(a(N), a(F))],
    "fmod": [lambda m, a: m.fmod(a(I), a(np.full((4, 6), 4))), lambda m, a: m.fmod(a(V), a(np.float32(-0.3)))],
    "gcd": [lambda m, a: m.gcd(a(I), a(I.T.reshape(4, 6) * 2))],
    "lcm": [lambda m, a: m.lcm(a(C), a(C[::-1] + 1))],
    "gradient": [lambda m, a: m.gradient(a(V)), lambda m, a: m.gradient(a(F)), lambda m, a: m.gradient(a(F), 2.0, axis=1), lambda m, a: m.gradient(a(V), a(np.cumsum(abs(V) + 1)))],
    "heaviside": [lambda m, a: m.heaviside(a([-1.0, 0.0, 2.0]), a([0.5, 0.5, 0.5]))],
    "inner": [lambda m, a: m.inner(a(F), a(G)), lambda m, a: m.inner(a(V), a(V))],
    "interp": [lambda m, a: m.interp(a(np.linspace(-3, 3, 11).astype(np.float32)), a(S), a(V)), lambda m, a: m.interp(a(np.float32([-9, 9])), a(S), a(V), left=-1.0, right=1.0)],
    "ldexp": [lambda m, a: m.ldexp(a(V), a(np.arange(9)))],
    "logaddexp2": [lambda m, a: m.logaddexp2(a(F), a(G))],
    "modf": [lambda m, a: m.modf(a(V * 3))],
    "nan_to_num": [lambda m, a: m.nan_to_num(a(N)), lambda m, a: m.nan_to_num(a(np.float32([np.inf, -np.inf, np.nan])), nan=1.0, posinf=2.0, neginf=3.0), lambda m, a: m.nan_to_num(a(np.float32([np.inf, -np.inf])))],
    "outer": [lambda m, a: m.outer(a(V), a(F))],
    "polyval": [lambda m, a: m.polyval(a([1.0, -2.0, 3.0]), a(V))],
    "rint": [lambda m, a: m.rint(a(V * 5))],
    "round": [lambda m, a: m.round(a(V), 2), lambda m, a: m.round(a(V)), lambda m, a: m.round(a(I * 37), -1), lambda m, a: m.round(a(V * 100), -1)],
    "sinc": [lambda m, a: m.sinc(a(V)), lambda m, a: m.sinc(a([0.0, 0.5]))],
    "spacing": [lambda m, a: m.spacing(a(V)), lambda m, a: m.spacing(a(np.float32([1.0, 2.0, 1023.0])))],
    "trapezoid": [lambda m, a: m.trapezoid(a(V)), lambda m, a: m.trapezoid(a(F), dx=0.5, axis=0), lambda m, a: m.trapezoid(a(V), a(S))],
    "unwrap": [lambda m, a: m.unwrap(a(V * 5)), lambda m, a: m.unwrap(a(F * 6), axis=0)],
    "vdot": [lambda m, a: m.vdot(a(F), a(G))],
    "argpartition": [lambda m, a: m.take_along_axis(a(F), m.argpartition(a(F), 2), -1)[:, 2]],
    "partition": [lambda m, a: m.partition(a(F), 2)[:, 2]],
    "argwhere": [lambda m, a: m.argwhere(a(B))],
    "flatnonzero": [lambda m, a: m.flatnonzero(a(B))],
    "lexsort": [lambda m, a: m.lexsort((a(C), a(C[::-1] % 3)))],
    "compress": [lambda m, a: m.compress(a([True, False, True, True]), a(F), 0), lambda m, a: m.compress(a([True, False, True]), a(F))],
    "extract": [lambda m, a: m.extract(a(B), a(F))],
    "select": [lambda m, a: m.select([a(I > 3), a(I < -3)], [a(F), a(G)], -1.0)],
    "choose": [lambda m, a: m.choose(a([0, 1, 1, 0]), [a([1, 2, 3, 4]), a([5, 6, 7, 8])]), lambda m, a: m.choose(a([0, 3]), [a([1, 2]), a([5, 6])], mode="wrap")],
    "piecewise": [lambda m, a: m.piecewise(a(V), [a(V < 0), a(V >= 0)], [lambda x: -x, lambda x: x * 2])],
    "indices": [lambda m, a: m.indices((2, 3))],
    "fromfunction": [lambda m, a: m.fromfunction(lambda i, j: i * 2 + j, (2, 3), dtype=np.float32)],
    "ix_": [lambda m, a: a(F)[m.ix_(a([0, 2]), a([1, 3, 5]))]],
    "tril_indices": [lambda m, a: m.tril_indices(4, -1), lambda m, a: m.tril_indices(3, 0, 5)],
    "triu_indices": [lambda m, a: m.triu_indices(4, 1)],
    "tril_indices_from": [lambda m, a: m.tril_indices_from(a(F))],
    "triu_indices_from": [lambda m, a: m.triu_indices_from(a(F))],
    "diag_indices": [lambda m, a: m.diag_indices(3)],
    "diag_indices_from": [lambda m, a: m.diag_indices_from(a(F[:4, :4]))],
    "unravel_index": [lambda m, a: m.unravel_index(a([3, 11]), (3, 4))],
    "ravel_multi_index": [lambda m, a: m.ravel_multi_index((a([0, 2]), a([3, 1])), (3, 4)), lambda m, a: m.ravel_multi_index((a([5]), a([-1])), (3, 4), mode="wrap")],
    "identity": [lambda m, a: m.identity(3)],
    "logspace": [lambda m, a: m.logspace(0, 2, 5), lambda m, a: m.logspace(0, 3, 4, endpoint=False, base=2.0)],
    "geomspace": [lambda m, a: m.geomspace(1, 256, 9), lambda m, a: m.geomspace(-1, -8, 4)],
    "ndim": [lambda m, a: m.ndim(a(T))],
    "shape": [lambda m, a: m.shape(a(T))],
    "size": [lambda m, a: m.size(a(T)), lambda m, a: m.size(a(T), 1)],
    "copy": [lambda m, a: m.copy(a(F))],
    "iterable": [lambda m, a: m.iterable(a(V)), lambda m, a: m.iterable(3)],
    "apply_along_axis": [lambda m, a: m.apply_along_axis(lambda v: v[0] + v[-1], 1, a(F)), lambda m, a: m.apply_along_axis(lambda v: v * 2, 0, a(F))],
    "fromiter": [lambda m, a: m.fromiter((i * i for i in range(5)), np.int64)],
    "frombuffer": [lambda m, a: m.frombuffer(V.tobytes(), np.float32), lambda m, a: m.frombuffer(V.tobytes(), np.uint8, 4, 2)],
    "pad": [lambda m, a, k=k: m.pad(a(F), ((2, 3), (1, 4)), k) for k in ("constant", "edge", "reflect", "symmetric", "wrap")] + [lambda m, a: m.pad(a(V), 12, "reflect"), lambda m, a: m.pad(a(V), (0, 2), constant_values=5)],
    "take": [lambda m, a: m.take(a(F), a([1, 7, -1])), lambda m, a: m.take(a(F), [0, 2], 1)],
    "squeeze": [lambda m, a: m.squeeze(a(F[None, :, None]))],
    "array_repr": [lambda m, a: m.array_repr(a(V))],
    "array_str": [lambda m, a: m.array_str(a(V))],
}

#: Calls that change an array in place: what it is afterwards.
IN_PLACE = {
    "put": [lambda m, x, a: m.put(x, a([0, 7, -1]), a(np.float32([1, 2])))],
    "put_along_axis": [lambda m, x, a: m.put_along_axis(x, a([[0], [1], [2], [3]]), np.float32(9), 1)],
    "putmask": [lambda m, x, a: m.putmask(x, a(B), a(G)), lambda m, x, a: m.putmask(x, a(B), a(np.float32([1, 2, 3])))],
    "place": [lambda m, x, a: m.place(x, a(B), a(np.float32([1, 2, 3])))],
    "copyto": [lambda m, x, a: m.copyto(x, a(G)), lambda m, x, a: m.copyto(x, a(np.float32(2)), where=a(B))],
    "fill_diagonal": [lambda m, x, a: m.fill_diagonal(x, 5.0), lambda m, x, a: m.fill_diagonal(x, a(np.float32([1, 2, 3, 4])))],
}


def compare(actual, expected):
    if isinstance(expected, (tuple, list)) and not isinstance(actual, wz.Array):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected):
            compare(a, e)
        return
    if isinstance(expected, str):
        assert actual == expected
        return
    expected = np.asarray(expected)
    assert tuple(np.shape(actual)) == expected.shape, f"shape {np.shape(actual)}, not {expected.shape}"
    values = np.asarray(actual)
    assert values.dtype.kind == expected.dtype.kind, f"{values.dtype}, not {expected.dtype}"
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(values, expected, rtol=3e-5, atol=2e-5)
    else:
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.filterwarnings("ignore")
def test_values_are_those_of_numpy(name):
    for case in CASES[name]:
        compare(case(wz, wz.asarray), case(np, np.asarray))


@pytest.mark.parametrize("name", sorted(IN_PLACE))
def test_changes_in_place_are_those_of_numpy(name):
    for case in IN_PLACE[name]:
        ours, theirs = wz.array(F), F.copy()
        case(wz, ours, wz.asarray)
        case(np, theirs, np.asarray)
        compare(ours, theirs)


@pytest.mark.parametrize("name, own", sorted(wz._habits.ALIASES.items()))
def test_other_names_are_the_same_functions(name, own):
    assert getattr(wz, name) is getattr(wz, own) and hasattr(np, name)


def test_every_public_name_of_numpy_is_decided():
    page = tool("numpy_page")
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "stale: run python crates/python/tools/numpy_page.py"
    rows = page.rows()
    undecided = [name for name, (status, _) in rows.items() if status is None]
    assert not undecided, undecided
    both = [name for name in page.AGAINST_BY_NAME if hasattr(wz, name)]
    assert not both, both


def test_every_name_here_has_a_test_of_values():
    page = tool("numpy_page")
    here = {name for name, (status, _) in page.rows().items() if status == "here"}
    standard = {name for names in tool("coverage").STANDARD.values() for name in names.split()}
    other = {
        # Tested elsewhere: ops of the table, files, printing, dtypes, and what the standard names otherwise.
        *(name for name, _, _ in wz._native._op_table()), *wz._elementwise.ALIASES, *wz._habits.ALIASES, "array", "dtype", "einsum",
        "concatenate", "get_printoptions", "load", "printoptions", "save", "savez", "set_printoptions", "transpose", "broadcast_shapes",
        "float16", "matrix_transpose", "row_stack",
    }
    missing = here - set(CASES) - set(IN_PLACE) - standard - other
    assert not missing, sorted(missing)
