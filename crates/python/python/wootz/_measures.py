"""Statistics beyond the standard: order statistics, histograms, moments, and reductions that ignore NaN."""

import builtins as _builtins

from . import _native
from ._manipulation import _axis, _is_integer, concat, moveaxis
from ._native import asarray
from ._statistics import _off, std, var
from .errors import ArgumentError, DTypeError, ShapeError

__all__ = [
    "average", "bincount", "corrcoef", "cov", "cumprod", "cumsum", "digitize", "histogram", "histogram_bin_edges", "median",
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile",
    "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "percentile", "ptp", "quantile",
]


def cumsum(x, /, axis=None, dtype=None):
    """The cumulative sum along an axis, or of the flattened array."""
    return asarray(x).cumsum(axis, dtype)


def cumprod(x, /, axis=None, dtype=None):
    """The cumulative product along an axis, or of the flattened array."""
    return asarray(x).cumprod(axis, dtype)


def ptp(x, /, axis=None, keepdims=False):
    """The range: maximum minus minimum."""
    x = asarray(x)
    return x.max(axis, keepdims) - x.min(axis, keepdims)


def average(x, /, axis=None, weights=None, returned=False, *, keepdims=False):
    """The weighted mean."""
    x = asarray(x)
    if weights is None:
        mean = x.mean(axis, keepdims)
        return (mean, mean * 0 + x.size / _builtins.max(mean.size, 1)) if returned else mean
    weights = asarray(weights, device=x.device)
    if weights.shape != x.shape:
        if axis is None or not _is_integer(axis) or weights.ndim != 1:
            raise ShapeError(f"average: weights of shape {weights.shape} for {x.shape} need a single axis")
        place = [1] * x.ndim
        place[axis] = weights.size
        weights = weights.reshape(tuple(place)).broadcast_to(x.shape)
    weights = weights.astype(x.dtype if x.dtype.kind == "f" else "float32")
    total = weights.sum(axis, None, keepdims)
    mean = (x * weights).sum(axis, None, keepdims) / total
    return (mean, total) if returned else mean


def _rows(x, axis):
    """Moves the elements to sort to the last axis; also returns the result shape for ``keepdims``."""
    if axis is None:
        return x.flatten(), (1,) * x.ndim
    axes = [_axis("quantile", each, x.ndim) for each in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    kept = [each for each in range(x.ndim) if each not in axes]
    moved = x.transpose(tuple(kept + axes)) if x.ndim else x
    shape = tuple(1 if each in axes else x.shape[each] for each in range(x.ndim))
    return moved.reshape(tuple(x.shape[each] for each in kept) + (-1,)), shape


def _between(ordered, place, method, last):
    """Interpolates at fractional positions of sorted rows; positions are numbers or one per row."""
    low = _native.floor(place)
    if method == "linear":
        share = place - low
    elif method == "midpoint":
        share = _native.where(place == low, place * 0, place * 0 + 0.5)
    elif method in ("lower", "higher", "nearest"):
        pick = {"lower": _native.floor, "higher": _native.ceil, "nearest": _native.round}[method]
        low, share = pick(place), None
    else:
        raise ArgumentError(f"quantile: method must be linear, lower, higher, midpoint or nearest, not {method!r}")
    at = low.astype("int64")
    first = ordered.take_along_axis(at.expand_dims(-1), axis=-1).squeeze(-1)
    if share is None:
        return first
    second = ordered.take_along_axis(_native.minimum(at + 1, last).expand_dims(-1), axis=-1).squeeze(-1)
    share = share.astype(ordered.dtype)
    return first + _native.where(share == 0, share * 0, (second - first) * share)


def _quantiles(what, x, q, axis, method, keepdims, skip_nan):
    x = asarray(x)
    if x.dtype.kind == "b":
        raise DTypeError(f"{what}: bool is not numeric")
    x = x if x.dtype.kind == "f" else x.astype("float32")
    rows, shape = _rows(x, axis)
    if rows.shape[-1] == 0:
        raise ArgumentError(f"{what}: the array is empty")
    ordered = rows.sort(-1)
    if skip_nan:
        last = (rows == rows).sum(-1) - 1
    else:
        last = _native.full(rows.shape[:-1], rows.shape[-1] - 1, device=x.device)
    ranked = last.astype("float64" if x.device.refuses("float64") is None else "float32")
    results = []
    for each in q:
        if not 0 <= each <= 1:
            raise ArgumentError(f"{what}: {each} is not between 0 and 1")
        place = _native.maximum(ranked, 0) * each
        value = _between(ordered, place, method, _native.maximum(last, 0))
        if skip_nan:
            value = _native.where(last < 0, value * float("nan"), value)
        else:
            # NaN sorts last: if there is one, the result is NaN.
            value = _native.where(ordered[..., -1] != ordered[..., -1], ordered[..., -1], value)
        results.append(value.reshape(shape) if keepdims else value)
    return results


def _quantile(what, x, q, axis, method, keepdims, skip_nan=False, scale=1.0):
    if isinstance(q, (int, float)):
        return _quantiles(what, x, [q / scale], axis, method, keepdims, skip_nan)[0]
    from ._manipulation import stack

    q = asarray(q)
    found = _quantiles(what, x, [each / scale for each in q.flatten().tolist()], axis, method, keepdims, skip_nan)
    joined = stack(found, axis=0)
    return joined.reshape(q.shape + joined.shape[1:])


def quantile(x, /, q, axis=None, *, method="linear", keepdims=False):
    """The quantiles of an array; ``q`` from 0 to 1."""
    return _quantile("quantile", x, q, axis, method, keepdims)


def percentile(x, /, q, axis=None, *, method="linear", keepdims=False):
    """The percentiles of an array; ``q`` from 0 to 100."""
    return _quantile("percentile", x, q, axis, method, keepdims, scale=100.0)


def median(x, /, axis=None, keepdims=False):
    """The median."""
    return _quantile("median", x, 0.5, axis, "linear", keepdims)


def nanquantile(x, /, q, axis=None, *, method="linear", keepdims=False):
    """:func:`quantile`, ignoring NaN."""
    return _quantile("nanquantile", x, q, axis, method, keepdims, True)


def nanpercentile(x, /, q, axis=None, *, method="linear", keepdims=False):
    """:func:`percentile`, ignoring NaN."""
    return _quantile("nanpercentile", x, q, axis, method, keepdims, True, 100.0)


def nanmedian(x, /, axis=None, keepdims=False):
    """:func:`median`, ignoring NaN."""
    return _quantile("nanmedian", x, 0.5, axis, "linear", keepdims, True)


def _without_nan(x, value):
    x = asarray(x)
    return x if x.dtype.kind != "f" else _native.where(x == x, x, value)


def nansum(x, /, axis=None, dtype=None, keepdims=False):
    """The sum, ignoring NaN."""
    return _without_nan(x, 0).sum(axis, dtype, keepdims)


def nanprod(x, /, axis=None, dtype=None, keepdims=False):
    """The product, ignoring NaN."""
    return _without_nan(x, 1).prod(axis, dtype, keepdims)


def nancumsum(x, /, axis=None, dtype=None):
    """The cumulative sum, treating NaN as 0."""
    return _without_nan(x, 0).cumsum(axis, dtype)


def nancumprod(x, /, axis=None, dtype=None):
    """The cumulative product, treating NaN as 1."""
    return _without_nan(x, 1).cumprod(axis, dtype)


def _extreme(x, axis, keepdims, name, worst):
    x = asarray(x)
    if x.dtype.kind != "f":
        return getattr(x, name)(axis, keepdims)
    found = getattr(_without_nan(x, worst), name)(axis, keepdims)
    return _native.where((x == x).any(axis, keepdims), found, float("nan"))


def nanmax(x, /, axis=None, keepdims=False):
    """The maximum, ignoring NaN; NaN if there is no other element."""
    return _extreme(x, axis, keepdims, "max", float("-inf"))


def nanmin(x, /, axis=None, keepdims=False):
    """The minimum, ignoring NaN; NaN if there is no other element."""
    return _extreme(x, axis, keepdims, "min", float("inf"))


def nanargmax(x, /, axis=None, keepdims=False):
    """The position of the maximum, ignoring NaN."""
    return _without_nan(x, float("-inf")).argmax(axis, keepdims)


def nanargmin(x, /, axis=None, keepdims=False):
    """The position of the minimum, ignoring NaN."""
    return _without_nan(x, float("inf")).argmin(axis, keepdims)


def nanmean(x, /, axis=None, keepdims=False):
    """The mean, ignoring NaN."""
    x = asarray(x)
    if x.dtype.kind != "f":
        return x.mean(axis, keepdims)
    return nansum(x, axis, None, keepdims) / (x == x).sum(axis, None, keepdims).astype(x.dtype)


def nanvar(x, /, axis=None, correction=0.0, keepdims=False, *, ddof=None):
    """The variance, ignoring NaN."""
    x = asarray(x)
    if x.dtype.kind != "f":
        return var(x, axis, correction, keepdims, ddof=ddof)
    from_mean = _without_nan(x - nanmean(x, axis, True), 0)
    count = (x == x).sum(axis, None, keepdims).astype(x.dtype) - _off(correction, ddof)
    total = (from_mean * from_mean).sum(axis, None, keepdims)
    return _native.where(count > 0, total / count, float("nan"))


def nanstd(x, /, axis=None, correction=0.0, keepdims=False, *, ddof=None):
    """The standard deviation, ignoring NaN."""
    return _native.sqrt(nanvar(x, axis, correction, keepdims, ddof=ddof))


def bincount(x, /, weights=None, minlength=0):
    """Counts the occurrences of each integer from 0 on, or sums their weights. Evaluates the array."""
    x = asarray(x)
    if x.ndim != 1 or x.dtype.kind not in "iu":
        raise ArgumentError(f"bincount: expected a vector of integers, not {x.dtype} of shape {x.shape}")
    if x.size and x.min().item() < 0:
        raise ArgumentError("bincount: expected non-negative integers")
    count = _builtins.max(minlength, x.max().item() + 1 if x.size else 0)
    if weights is None:
        weights = _native.full(x.shape, 1, dtype="int64", device=x.device)
    weights = asarray(weights, device=x.device)
    return _native.full((count,), 0, dtype=weights.dtype, device=x.device).scatter_add(x.astype("int64"), weights, axis=0)


def histogram_bin_edges(x, /, bins=10, range=None):
    """The bin edges: equal widths over the range of the elements, or those given."""
    if not _is_integer(bins):
        return asarray(bins)
    if bins <= 0:
        raise ArgumentError(f"histogram: invalid number of bins: {bins}")
    x = asarray(x)
    if range is None:
        low, high = (x.min().item(), x.max().item()) if x.size else (0.0, 1.0)
    else:
        low, high = range
    if not low <= high:
        raise ArgumentError(f"histogram: invalid range from {low} to {high}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    dtype = x.dtype if x.dtype.kind == "f" else "float32"
    return _native.linspace(float(low), float(high), bins + 1, dtype=dtype, device=x.device)


def _even_bin(x, edges, count):
    """The bin of each element among bins of equal width: by division, corrected by one bin where rounding was off."""
    low, high = edges[0], edges[-1]
    guess = _native.floor((x - low) * (count / (high - low)))
    inside = _native.logical_and(x >= low, x <= high)
    place = _native.where(inside, guess, 0).astype("int64").clip(0, count - 1)
    place = place - (x < edges.take(place, axis=0)).astype("int64")
    place = place + (x >= edges.take((place + 1).clip(0, count), axis=0)).astype("int64")
    return _native.where(inside, place, -1)


def histogram(x, /, bins=10, range=None, density=False, weights=None):
    """The number of elements in each bin, and the bin edges. The last bin includes both of its edges."""
    from ._searching import searchsorted

    x = asarray(x)
    edges = histogram_bin_edges(x, bins, range)
    flat = x.flatten()
    dtype = edges.dtype.promote(flat.dtype) or edges.dtype
    flat, edges_ = flat.astype(dtype), edges.astype(dtype)
    count = edges.size - 1
    if _is_integer(bins):
        place = _even_bin(flat, edges_, count)
    else:
        place = searchsorted(edges_, flat, side="right") - 1
    place = _native.where(flat == edges_[-1], count - 1, place)
    inside = _native.logical_and(place >= 0, place < count)
    if weights is None:
        weights = inside.astype("int64")
    else:
        weights = asarray(weights, device=x.device).flatten()
        weights = _native.where(inside, weights, 0)
    place = place.clip(0, count - 1)
    found = _native.full((count,), 0, dtype=weights.dtype, device=x.device).scatter_add(place, weights, axis=0)
    if density:
        found = found.astype(edges.dtype) / ((edges[1:] - edges[:-1]) * found.sum().astype(edges.dtype))
    return found, edges


def digitize(x, /, bins, right=False):
    """The index of the bin that each element falls into; ``bins`` are monotonic."""
    from ._searching import searchsorted

    x, bins = asarray(x), asarray(bins)
    side = "left" if right else "right"
    if bins.size > 1 and (bins[0] > bins[-1]).item():
        return bins.size - searchsorted(bins[::-1], x, side="left" if side == "right" else "right")
    return searchsorted(bins, x, side=side)


def cov(x, y=None, /, rowvar=True, bias=False, ddof=None):
    """The covariance matrix; variables are rows unless ``rowvar`` is False."""
    x = asarray(x)
    x = x.astype("float32") if x.dtype.kind != "f" else x
    single = x.ndim < 2 and y is None
    x = x.reshape((1, -1)) if x.ndim < 2 else x if rowvar else x.T
    if y is not None:
        y = asarray(y).astype(x.dtype)
        y = y.reshape((1, -1)) if y.ndim < 2 else y if rowvar else y.T
        x = concat([x, y], axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    x = x - x.mean(1, True)
    found = (x @ x.T) / (x.shape[1] - ddof)
    return found.reshape(()) if single else found


def corrcoef(x, y=None, /, rowvar=True):
    """The correlation matrix."""
    found = cov(x, y, rowvar)
    if found.ndim == 0:
        return found / found
    spread = _native.sqrt(found._diagonal())
    return (found / spread.expand_dims(1) / spread).clip(-1, 1)
