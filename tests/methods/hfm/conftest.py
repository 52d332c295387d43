"""Brute force over all pairs, and kinds of data that are hard for one method or another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]


def brute(a: Array, b: Array, statistic: str | float = "max") -> float:
    """The distance by its definition: all pairs, by SciPy's direct differences."""
    pairs = cdist(a, b)

    def directed(minima: Array) -> float:
        if statistic == "max":
            return float(minima.max())
        if statistic == "mean":
            return float(minima.mean())
        return float(np.quantile(minima, float(statistic), method="inverted_cdf"))

    return max(directed(pairs.min(axis=1)), directed(pairs.min(axis=0)))


def _normal(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.normal(size=(n, d))


def _uniform(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.random((n, d))


def _binary(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.integers(0, 2, size=(n, d)).astype(float)


def _integers(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.integers(-3, 9, size=(n, d)).astype(float)


def _duplicates(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.normal(size=(max(n // 4, 1), d))[rng.integers(0, max(n // 4, 1), size=n)]


def _offset(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.normal(size=(n, d)) + 1e8


def _heavy(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_t(0.7, size=(n, d))


def _sheet(rng: np.random.Generator, n: int, d: int) -> Array:
    """Two directions carry nearly all of it."""
    return np.asarray(
        rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 1e-4 * rng.normal(size=(n, d))
    )


def _one_outlier(rng: np.random.Generator, n: int, d: int) -> Array:
    rows = rng.random((n, d))
    rows[0] += 1e8
    return rows


def _one_hot(rng: np.random.Generator, n: int, d: int) -> Array:
    rows = np.eye(d)[rng.integers(0, d, size=n)]
    rows[:, 0] = rng.random(n)
    return rows


KINDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "normal": _normal,
    "uniform": _uniform,
    "binary": _binary,
    "integers": _integers,
    "duplicates": _duplicates,
    "offset 1e8": _offset,
    "heavy tails": _heavy,
    "sheet": _sheet,
    "one outlier": _one_outlier,
    "one-hot": _one_hot,
}
#: How the second set relates to the first.
PAIRS = (
    "independent",
    "the same rows",
    "the same rows but few",
    "slightly moved",
    "far away",
    "subset",
)


def make_pair(kind: str, relation: str, n: int, m: int, d: int, seed: int) -> tuple[Array, Array]:
    """Two sets of rows of one kind."""
    rng = np.random.default_rng(seed)
    a = KINDS[kind](rng, n, d)
    if relation == "independent":
        return a, KINDS[kind](rng, m, d)
    if relation == "far away":
        return a, KINDS[kind](rng, m, d) + 50.0
    b = a[rng.integers(0, n, size=m)] if relation == "subset" else a[rng.permutation(n)]
    if relation == "the same rows but few":
        b[: max(n // 20, 1)] += rng.normal(size=(max(n // 20, 1), d))
    if relation == "slightly moved":
        b = b + 1e-5 * rng.normal(size=b.shape)
    return a, b
