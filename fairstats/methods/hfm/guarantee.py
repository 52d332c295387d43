"""m1 and m2 of ApproxDist for a wanted probability: Lemma 1 and Proposition 2, repaired.

A row's nearest row t is missed along a random line only if m2 rows v that are too far (beyond α·D) project
between the row and t. One v does with probability (angle at v in the triangle row, t, v)/π, at most
arcsin(|t|/|v|)/π: Lemma 1, for the side on which t lies. So a row with K rows too far is missed with
probability 0 if K < m2, and at most Σ arcsin(|t|/|v|)/(π·m2) by Markov's inequality, which is Eq. (15);
a projection fails if it misses some row: at most the sum over all rows. The paper's Eq. (10) is not used:
its proof stops at the one row that attains D, shrinks Lemma 1 by a factor that nothing gives, and rests on a
density, Eq. (9), that is 0 for every finite set (vignettes/hfm-approximation.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from fairstats.ground.errors import InputError
from fairstats.methods.hfm.rows import portions

#: Distances held at a time.
_CELLS = 1 << 20


def choose(
    a: NDArray[np.float64], b: NDArray[np.float64], probability: float, factor: float, m1: int | None,
    m2: int | None,
) -> tuple[int, int, float]:  # fmt: skip
    """m1 and m2 of least m1·m2 that reach the probability, those given kept, and the one guaranteed."""
    failing = failure_bound(a, b, factor)
    with np.errstate(divide="ignore"):
        repeats = np.ceil(np.log1p(-probability) / np.log(np.minimum(failing, 1.0)) - 1e-12)
    repeats = np.where(failing < 1, np.maximum(repeats, 1.0), np.inf)
    asked = np.arange(1, failing.size + 1)
    if m2 is not None:
        place = min(m2, failing.size) - 1  # more neighbours than the last leave nothing to fail
        asked, repeats, failing = asked[[place]], repeats[[place]], failing[[place]]
    cost = asked * (repeats if m1 is None else np.where(repeats <= m1, m1, np.inf))
    best = int(np.argmin(cost))
    if not np.isfinite(cost[best]):
        raise InputError(
            "probability",
            got=f"{probability:g}, which m1 = {m1} and m2 = {m2} do not guarantee",
            allowed=f"what they guarantee within {factor:g} times the distance",
            cure="leave one or both out, and they are chosen; or allow a larger factor",
        )
    chosen = int(repeats[best]) if m1 is None else m1
    return chosen, int(asked[best]) if m2 is None else m2, float(1 - failing[best] ** chosen)


def failure_bound(a: NDArray[np.float64], b: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """Bound of the probability that one projection gives more than factor·D, for m2 = 1, 2, … until it is 0.

    Along directions uniform on the sphere. It looks at all pairs of rows, twice.
    """
    if a.shape[1] == 1:
        return np.zeros(1)  # on a line neighbours are the nearest
    near_a, near_b = np.empty(len(a)), np.full(len(b), np.inf)
    for rows, cells in _blocks(a, b):
        near_a[rows] = cells.min(axis=1)
        np.minimum(near_b, cells.min(axis=0), out=near_b)
    limit = factor * max(near_a.max(), near_b.max()) * (1 + 1e-12)
    expected, beyond = np.zeros(len(a) + len(b)), np.zeros(len(a) + len(b))
    for rows, cells in _blocks(a, b):
        i, j = np.nonzero(cells > limit)
        far, i = cells[i, j], i + rows.start
        for near, row, offset in ((near_a, i, 0), (near_b, j, len(a))):
            shares = np.arcsin(near[row] / far) / np.pi
            expected += np.bincount(row + offset, shares, expected.size)
            beyond += np.bincount(row + offset, minlength=expected.size)
    m2 = np.arange(1, int(beyond.max()) + 2)
    whole = np.floor(expected).astype(int)  # a row's own bound is cut at 1
    uncut = _from(beyond.astype(int), expected, m2) - _from(whole, expected, m2)
    return _from(whole, np.ones(expected.size), m2) + uncut.clip(min=0) / m2


def _from(levels: NDArray[np.intp], values: NDArray[np.float64], m2: NDArray[np.intp]) -> NDArray[np.float64]:
    """For every m2 the sum of the values whose level is m2 or more."""
    return np.asarray(np.bincount(levels, values, m2.size + 1)[::-1].cumsum()[::-1][m2])


def _blocks(a: NDArray[np.float64], b: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Distances of some rows of `a` to all of `b`."""
    for rows in portions(len(a), max(_CELLS // len(b), 1)):
        yield rows, cdist(a[rows], b)
