"""ApproxDist, as the paper prints it (Algorithms 1 and 2), and the m1 and m2 that a wanted
probability takes.

A row's nearest row t is missed along a random line only if m2 rows v that are too far (beyond α·D)
project between the row and t. One v does with probability at most arcsin(|t|/|v|)/π: Lemma 1, for
the side on which t lies. So a row with K rows too far is missed with probability 0 if K < m2, and
at most Σ arcsin(|t|/|v|)/(π·m2) by Markov's inequality: Eq. (15). A projection fails if it misses
some row. Why not Eq. (10): vignettes/hfm-approximation.md.
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
from fairstats.ground.progress import each_of
from fairstats.ground.tally import Tally
from fairstats.methods.hfm.rows import Indices, Rows, portions
from fairstats.methods.hfm.set_distance import SetDistance, in_range, labelled, two_sets

#: Numbers held in one portion of rows.
_NUMBERS_AT_ONCE = 1 << 16
#: Distances held at a time.
_DISTANCES_AT_ONCE = 1 << 20
#: Rows along a projection, their places on it, and which rows they are.
_SortedRows: TypeAlias = tuple[Floats, Floats, Indices]


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
        Neighbours in the projection, on either side, that a row is compared with; default
        ⌈2·log₁₀(n0 + n1)⌉, or what `probability` asks for.
    probability : float in (0, 1), optional
        Choose m1 and m2 (those given are kept) so that the value is at most `factor` times the
        exact distance at least this often. It takes all pairs of rows, and often m2 near their
        number; `set_distance` is cheaper.
    factor : float, at least 1, default 1.5
        The α of Proposition 2; used with `probability` only.
    rng : None, int or numpy.random.Generator
        Of the projections.

    Returns
    -------
    SetDistance
        `value` is the smallest of `per_projection`; both directions and witnesses are those of the
        projection that attains it. `exact` is False; `probability` is the one guaranteed, and `m1`,
        `m2` what it took.

    Raises
    ------
    InputError
        As `set_distance`; for m1 or m2 below 1, and where those given cannot reach the probability.

    Notes
    -----
    Weights are uniform on the sphere Σ|w_i| = 1. Each row is compared with at most m2 rows of the
    other set whose projection is not larger and with m2 whose projection is not smaller; the
    maximum over rows of the smallest distance found, the minimum over projections: at or above the
    exact distance, and equal to it once m2 reaches the size of the larger set. `set_distance` has
    the exact distance, in less time.

    With `probability` directions are uniform on the Euclidean sphere, as Lemma 1 has them; for
    uniform weights on Σ|w_i| = 1 its upper bound does not hold. The guarantee is Eq. (15) of the
    proof of Proposition 2, summed over all rows: the probability that a projection fails is at most
    Σ over rows with m2 or more rows beyond factor·D of min(1, Σ arcsin(|t|/|v|)/(π·m2)), t the
    nearest row and v those beyond; to the power of m1. Eq. (10) is no bound.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), Does machine bring in extra bias in learning? Algorithms 1
       and 2.

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
    neighbour_numbers = (("m1", m1), ("m2", m2))
    m1, m2 = (
        value
        if value is None
        else check_whole(argument_name, value, low=1, cure=f"{argument_name}=25")
        for argument_name, value in neighbour_numbers
    )
    first_rows, second_rows = two_sets(a, b, counts)
    generator, seed = as_generator(rng)
    if probability is None:
        return approximate(
            first_rows,
            second_rows,
            m1=25 if m1 is None else m1,
            m2=m2,
            rng=generator,
            seed=seed,
        )
    wanted_probability = check_share("probability", probability)
    alpha = check_number("factor", factor, low=1, allowed="a number of at least 1", cure="1.5")
    m1, m2, reached = choose(
        *in_range(first_rows.values, second_rows.values)[:2], wanted_probability, alpha, m1, m2
    )
    approximation = approximate(
        first_rows,
        second_rows,
        m1=m1,
        m2=m2,
        rng=generator,
        seed=seed,
        weights=isotropic_weights,
    )
    return replace(approximation, probability=reached, factor=alpha)


def approximate(
    first: Rows,
    second: Rows,
    *,
    m1: int,
    m2: int | None,
    rng: np.random.Generator,
    seed: int | None,
    weights: Callable[[int, np.random.Generator], Floats] | None = None,
) -> SetDistance:
    """ApproxDist (Algorithm 1) of validated rows.

    `weights` draws a projection, default `random_weights`.
    """
    start_time = time.perf_counter()
    a, b, common_unit = in_range(first.values, second.values)
    if m2 is None:
        neighbours = default_m2(len(a) + len(b))
    else:
        neighbours = m2
    per_projection = []
    for _ in each_of(range(m1), "projections"):
        per_projection.append(
            acceleration(a, b, (weights or random_weights)(a.shape[1], rng), neighbours)
        )
    values = tuple(
        common_unit * max(from_a_to_b[0], from_b_to_a[0])
        for from_a_to_b, from_b_to_a, _ in per_projection
    )
    from_a_to_b, from_b_to_a, _ = per_projection[int(np.argmin(values))]
    return SetDistance(
        value=min(values),
        statistic="max",
        a_to_b=labelled(from_a_to_b, common_unit, first, second),
        b_to_a=labelled(from_b_to_a, common_unit, second, first),
        exact=False,
        seconds=time.perf_counter() - start_time,
        n_distances=sum(n_evaluated for *_, n_evaluated in per_projection),
        n_tree_queries=0,
        n_a=len(a),
        n_b=len(b),
        dimension=a.shape[1],
        per_projection=values,
        m1=m1,
        m2=neighbours,
        seed=seed,
    )


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
    a: Floats,
    b: Floats,
    w: Floats,
    m2: int,
) -> tuple[tuple[float, int, int], tuple[float, int, int], int]:
    """AcceleDist (Algorithm 2): (distance, row, nearest found) of both directions, and the
    distances evaluated.
    """
    sorted_sets = []
    for set_rows in (a, b):
        projected = set_rows @ w
        sorted_order = np.argsort(projected, kind="stable")
        sorted_sets.append((set_rows[sorted_order], projected[sorted_order], sorted_order))
    a_to_b, count_ab = _directed_distance(sorted_sets[0], sorted_sets[1], m2)
    b_to_a, count_ba = _directed_distance(sorted_sets[1], sorted_sets[0], m2)
    return a_to_b, b_to_a, count_ab + count_ba


def _directed_distance(
    first: _SortedRows, second: _SortedRows, m2: int
) -> tuple[tuple[float, int, int], int]:
    """Largest of the smallest distances found: value, row, nearest; evaluations."""
    own_rows, along_own, rows_own = first
    other_rows, along_other, rows_other = second
    n_own = len(own_rows)
    n_other = len(other_rows)
    first_above = np.searchsorted(along_other, along_own, side="left")  # g(x') ≥ g(x) from here on
    last_below = np.searchsorted(along_other, along_own, side="right")  # g(x') ≤ g(x) before here
    lowest_places = np.maximum(last_below - m2, 0)
    highest_places = np.minimum(first_above + m2, n_other)
    farthest = -1.0
    farthest_row = 0
    nearest = 0
    n_evaluated = 0
    for portion in portions(n_own, max(_NUMBERS_AT_ONCE // own_rows.shape[1], 1)):
        best_squared = np.full(portion.stop - portion.start, np.inf)
        best_places = np.zeros(best_squared.size, dtype=np.intp)
        for start_places, stop_places in (
            (lowest_places[portion], last_below[portion]),
            (first_above[portion], highest_places[portion]),
        ):
            for offset in range(int((stop_places - start_places).max(initial=0))):
                candidates = start_places + offset
                inside = candidates < stop_places
                n_evaluated += int(np.count_nonzero(inside))
                candidates = np.minimum(candidates, n_other - 1)
                difference = own_rows[portion] - other_rows[candidates]
                squared = np.einsum("ij,ij->i", difference, difference)
                nearer = inside & (squared < best_squared)
                best_squared[nearer] = squared[nearer]
                best_places[nearer] = candidates[nearer]
        farthest_place = int(best_squared.argmax())
        if best_squared[farthest_place] > farthest:
            farthest = float(best_squared[farthest_place])
            farthest_row = portion.start + farthest_place
            nearest = int(best_places[farthest_place])
    return (
        float(np.sqrt(farthest)),
        int(rows_own[farthest_row]),
        int(rows_other[nearest]),
    ), n_evaluated


def choose(
    a: Floats,
    b: Floats,
    probability: float,
    factor: float,
    m1: int | None,
    m2: int | None,
) -> tuple[int, int, float]:
    """m1 and m2 of least m1·m2 that reach the probability, those given kept, and the one
    guaranteed.
    """
    failing = failure_bound(a, b, factor)
    with np.errstate(divide="ignore"):
        repeats = np.ceil(np.log1p(-probability) / np.log(np.minimum(failing, 1.0)) - 1e-12)
    repeats = np.where(failing < 1, np.maximum(repeats, 1.0), np.inf)
    neighbours = np.arange(1, failing.size + 1)
    if m2 is not None:
        position = min(m2, failing.size) - 1  # more neighbours than the last leave nothing to fail
        neighbours = neighbours[[position]]
        repeats = repeats[[position]]
        failing = failing[[position]]
    costs = neighbours * (repeats if m1 is None else np.where(repeats <= m1, m1, np.inf))
    cheapest = int(np.argmin(costs))
    if not np.isfinite(costs[cheapest]):
        received = f"{probability:g}, which m1 = {m1} and m2 = {m2} do not guarantee"
        allowed = f"what they guarantee within {factor:g} times the distance"
        suggestion = "leave one or both out, and they are chosen; or allow a larger factor"
        raise InputError("probability", got=received, allowed=allowed, cure=suggestion)
    chosen = int(repeats[cheapest]) if m1 is None else m1
    return (
        chosen,
        int(neighbours[cheapest]) if m2 is None else m2,
        float(1 - failing[cheapest] ** chosen),
    )


def failure_bound(a: Floats, b: Floats, factor: float) -> Floats:
    """Bound of the probability that one isotropic projection gives more than factor·D, for m2 = 1,
    2, … until 0.
    """
    if a.shape[1] == 1:
        return np.zeros(1)  # on a line neighbours are the nearest
    near_a = np.empty(len(a))
    near_b = np.full(len(b), np.inf)
    for portion, distances in _distance_blocks(a, b):
        near_a[portion] = distances.min(axis=1)
        np.minimum(near_b, distances.min(axis=0), out=near_b)
    distance_limit = factor * max(near_a.max(), near_b.max()) * (1 + 1e-12)
    expected = np.zeros(len(a) + len(b))
    beyond = np.zeros(len(a) + len(b))
    for portion, distances in _distance_blocks(a, b):
        rows_a, rows_b = np.nonzero(distances > distance_limit)
        far_distances = distances[rows_a, rows_b]
        rows_a = rows_a + portion.start
        for nearest_distances, row_numbers, offset in (
            (near_a, rows_a, 0),
            (near_b, rows_b, len(a)),
        ):
            shares = np.arcsin(nearest_distances[row_numbers] / far_distances) / np.pi
            expected += np.bincount(row_numbers + offset, shares, expected.size)
            beyond += np.bincount(row_numbers + offset, minlength=expected.size)
    m2 = np.arange(1, int(beyond.max()) + 2)
    whole_levels = np.floor(expected).astype(int)  # a row's own bound is cut at 1
    uncut_sums = _sums_from_level(beyond.astype(int), expected, m2) - _sums_from_level(
        whole_levels, expected, m2
    )
    return _sums_from_level(whole_levels, np.ones(expected.size), m2) + uncut_sums.clip(min=0) / m2


def _sums_from_level(levels: Indices, values: Floats, m2: Indices) -> Floats:
    """For every m2 the sum of the values whose level is m2 or more."""
    return np.asarray(np.bincount(levels, values, m2.size + 1)[::-1].cumsum()[::-1][m2])


def _distance_blocks(a: Floats, b: Floats) -> Iterator[tuple[slice, Floats]]:
    """Distances of some rows of `a` to all of `b`."""
    for portion in portions(len(a), max(_DISTANCES_AT_ONCE // len(b), 1)):
        yield portion, cdist(a[portion], b)
