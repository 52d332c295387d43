"""ApproxDist, as the paper prints it (Algorithms 1 and 2), and the m1 and m2 that a wanted probability takes.

A row's nearest row t is missed along a random line only if m2 rows v that are too far (beyond α·D) project between the
row and t. One v does with probability at most arcsin(|t|/|v|)/π: Lemma 1, for the side on which t lies. So a row with
K rows too far is missed with probability 0 if K < m2, and at most Σ arcsin(|t|/|v|)/(π·m2) by Markov's inequality:
Eq. (15). A projection fails if it misses some row. Why not Eq. (10): vignettes/hfm-approximation.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil, log10
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from fairstats.ground.checks import Floats, as_generator, check_number, check_share, check_whole
from fairstats.ground.errors import InputError
from fairstats.ground.tally import Tally
from fairstats.methods.hfm.rows import Indices, Rows, portions
from fairstats.methods.hfm.set_distance import SetDistance, in_range, labelled, two_sets

#: Numbers held in one portion of rows.
_CELLS = 1 << 16
#: Distances held at a time.
_PAIRS = 1 << 20
#: Rows along a projection, their places on it, and which rows they are.
_Sorted: TypeAlias = tuple[Floats, Floats, Indices]


def approx_set_distance(
    a: Any = None,
    b: Any = None,
    *,
    m1: int | None = None,
    m2: int | None = None,
    probability: float | None = None,
    factor: float = 1.5,
    rng: Any = None,
    counts: Tally | None = None,
) -> SetDistance:
    """The paper's approximation of the distance between two sets; it is never too small.

    Parameters
    ----------
    a, b, counts
        As in `set_distance`.
    m1 : int, optional
        Random projections; default 25, or what `probability` asks for.
    m2 : int, optional
        Neighbours in the projection, on either side, that a row is compared with; default ⌈2·log₁₀(n0 + n1)⌉,
        or what `probability` asks for.
    probability : float in (0, 1), optional
        Choose m1 and m2 (those given are kept) so that the value is at most `factor` times the exact distance at least
        this often. It takes all pairs of rows, and often m2 near their number; `set_distance` is cheaper.
    factor : float, at least 1, default 1.5
        The α of Proposition 2; used with `probability` only.
    rng : None, int or numpy.random.Generator
        Of the projections.

    Returns
    -------
    SetDistance
        `value` is the smallest of `per_projection`; both directions and witnesses are those of the projection
        that attains it. `exact` is False; `probability` is the one guaranteed, and `m1`, `m2` what it took.

    Raises
    ------
    InputError
        As `set_distance`; for m1 or m2 below 1, and where those given cannot reach the probability.

    Notes
    -----
    Weights are uniform on the sphere Σ|w_i| = 1. Each row is compared with at most m2 rows of the other set whose
    projection is not larger and with m2 whose projection is not smaller; the maximum over rows of the smallest distance
    found, the minimum over projections: at or above the exact distance, and equal to it once m2 reaches the size of the
    larger set. `set_distance` has the exact distance, in less time.

    With `probability` directions are uniform on the Euclidean sphere, as Lemma 1 has them; for uniform weights on
    Σ|w_i| = 1 its upper bound does not hold. The guarantee is Eq. (15) of the proof of Proposition 2, summed over all
    rows: the probability that a projection fails is at most Σ over rows with m2 or more rows beyond factor·D of
    min(1, Σ arcsin(|t|/|v|)/(π·m2)), t the nearest row and v those beyond; to the power of m1. Eq. (10) is no bound.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), Does machine bring in extra bias in learning? Algorithms 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> import fairstats as fs
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.random((300, 6)), rng.random((200, 6))
    >>> approximate = fs.approx_set_distance(a, b, rng=1)
    >>> approximate.value >= fs.set_distance(a, b).value
    True
    >>> approximate.m2, len(approximate.per_projection)
    (6, 25)
    >>> sure = fs.approx_set_distance(a, b, probability=0.95, factor=3, rng=1)
    >>> sure.m1, sure.m2, sure.probability
    (1, 4, 1.0)
    """
    both = (("m1", m1), ("m2", m2))
    m1, m2 = (v if v is None else check_whole(name, v, low=1, cure=f"{name}=25") for name, v in both)
    first, second = two_sets(a, b, counts)
    generator, seed = as_generator(rng)
    if probability is None:
        return approximate(first, second, m1=25 if m1 is None else m1, m2=m2, rng=generator, seed=seed)
    share = check_share("probability", probability)
    alpha = check_number("factor", factor, low=1, allowed="a number of at least 1", cure="1.5")
    m1, m2, reached = choose(*in_range(first.values, second.values)[:2], share, alpha, m1, m2)
    found = approximate(first, second, m1=m1, m2=m2, rng=generator, seed=seed, weights=isotropic_weights)
    return replace(found, probability=reached, factor=alpha)


def approximate(
    first: Rows, second: Rows, *, m1: int, m2: int | None, rng: np.random.Generator, seed: int | None,
    weights: Callable[[int, np.random.Generator], Floats] | None = None,
) -> SetDistance:  # fmt: skip
    """ApproxDist (Algorithm 1) of validated rows; `weights` draws a projection, default `random_weights`."""
    start = time.perf_counter()
    a, b, unit = in_range(first.values, second.values)
    neighbours = default_m2(len(a) + len(b)) if m2 is None else m2
    found = [acceleration(a, b, (weights or random_weights)(a.shape[1], rng), neighbours) for _ in range(m1)]
    values = tuple(unit * max(ab[0], ba[0]) for ab, ba, _ in found)
    ab, ba, _ = found[int(np.argmin(values))]
    return SetDistance(
        value=min(values), statistic="max", a_to_b=labelled(ab, unit, first, second),
        b_to_a=labelled(ba, unit, second, first), exact=False, seconds=time.perf_counter() - start,
        n_distances=sum(count for *_, count in found), n_tree_queries=0, n_a=len(a), n_b=len(b),
        dimension=a.shape[1], per_projection=values, m1=m1, m2=neighbours, seed=seed,
    )  # fmt: skip


def default_m2(n: int) -> int:
    """m2 = ⌈2·log₁₀ n⌉, at least 1."""
    return max(ceil(2 * log10(n)), 1)


def random_weights(d: int, rng: np.random.Generator) -> Floats:
    """Weights uniform on Σ|w_i| = 1, shape (d,)."""
    magnitudes = rng.standard_exponential(d)
    return np.asarray(magnitudes * rng.choice([-1.0, 1.0], size=d) / magnitudes.sum())


def isotropic_weights(d: int, rng: np.random.Generator) -> Floats:
    """Weights of Σ|w_i| = 1 whose direction is uniform on the Euclidean sphere, shape (d,)."""
    direction = rng.standard_normal(d)
    return np.asarray(direction / np.abs(direction).sum())


def acceleration(
    a: Floats, b: Floats, w: Floats, m2: int
) -> tuple[tuple[float, int, int], tuple[float, int, int], int]:
    """AcceleDist (Algorithm 2): (distance, row, nearest found) of both directions, and the distances evaluated."""
    sets = []
    for rows in (a, b):
        along = rows @ w
        order = np.argsort(along, kind="stable")
        sets.append((rows[order], along[order], order))
    a_to_b, count_ab = _directed(sets[0], sets[1], m2)
    b_to_a, count_ba = _directed(sets[1], sets[0], m2)
    return a_to_b, b_to_a, count_ab + count_ba


def _directed(first: _Sorted, second: _Sorted, m2: int) -> tuple[tuple[float, int, int], int]:
    """Largest of the smallest distances found: value, row, nearest; evaluations."""
    (own, along_own, rows_own), (other, along_other, rows_other) = first, second
    n, m = len(own), len(other)
    first_above = np.searchsorted(along_other, along_own, side="left")  # g(x') ≥ g(x) from here on
    last_below = np.searchsorted(along_other, along_own, side="right")  # g(x') ≤ g(x) before here
    low, high = np.maximum(last_below - m2, 0), np.minimum(first_above + m2, m)
    farthest, row, nearest, count = -1.0, 0, 0, 0
    for rows in portions(n, max(_CELLS // own.shape[1], 1)):
        best = np.full(rows.stop - rows.start, np.inf)
        place = np.zeros(best.size, dtype=np.intp)
        for start, stop in ((low[rows], last_below[rows]), (first_above[rows], high[rows])):
            for offset in range(int((stop - start).max(initial=0))):
                candidates = start + offset
                inside = candidates < stop
                count += int(np.count_nonzero(inside))
                candidates = np.minimum(candidates, m - 1)
                difference = own[rows] - other[candidates]
                squared = np.einsum("ij,ij->i", difference, difference)
                nearer = inside & (squared < best)
                best[nearer], place[nearer] = squared[nearer], candidates[nearer]
        k = int(best.argmax())
        if best[k] > farthest:
            farthest, row, nearest = float(best[k]), rows.start + k, int(place[k])
    return (float(np.sqrt(farthest)), int(rows_own[row]), int(rows_other[nearest])), count


def choose(
    a: Floats, b: Floats, probability: float, factor: float, m1: int | None, m2: int | None
) -> tuple[int, int, float]:
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
        got = f"{probability:g}, which m1 = {m1} and m2 = {m2} do not guarantee"
        allowed = f"what they guarantee within {factor:g} times the distance"
        cure = "leave one or both out, and they are chosen; or allow a larger factor"
        raise InputError("probability", got=got, allowed=allowed, cure=cure)
    chosen = int(repeats[best]) if m1 is None else m1
    return chosen, int(asked[best]) if m2 is None else m2, float(1 - failing[best] ** chosen)


def failure_bound(a: Floats, b: Floats, factor: float) -> Floats:
    """Bound of the probability that one isotropic projection gives more than factor·D, for m2 = 1, 2, … until 0."""
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


def _from(levels: Indices, values: Floats, m2: Indices) -> Floats:
    """For every m2 the sum of the values whose level is m2 or more."""
    return np.asarray(np.bincount(levels, values, m2.size + 1)[::-1].cumsum()[::-1][m2])


def _blocks(a: Floats, b: Floats) -> Iterator[tuple[slice, Floats]]:
    """Distances of some rows of `a` to all of `b`."""
    for rows in portions(len(a), max(_PAIRS // len(b), 1)):
        yield rows, cdist(a[rows], b)
