"""Exact distance between two sets of rows, and the rows that attain it."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from fairstats.ground.checks import Floats, check_number
from fairstats.ground.progress import under_way
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.hfm.blocks import Targets, Work, one_blas_thread, squared_pairs
from fairstats.methods.hfm.encoding import pair_of_groups
from fairstats.methods.hfm.nearest import (
    DIRECT_DIMENSIONS,
    FEW_PAIRS,
    farthest_row,
    row_minima,
)
from fairstats.methods.hfm.rows import Indices, Rows, as_pair, find_common_rows

Statistic = str | float


@serialisable()
class DirectedDistance:
    """How far the rows of one set are from the other.

    Attributes
    ----------
    value : float
        Maximum, mean or quantile over the rows of this set of the distance to the nearest row of
        the other.
    row, nearest : hashable or None
        Labels of the row that attains it, and of its nearest row in the other set; None for the
        mean.
    """

    value: float
    row: Hashable | None
    nearest: Hashable | None


@serialisable()
class SetDistance(Result):
    """Distance between two sets of rows.

    Attributes
    ----------
    value : float
        The larger of the two directions: with "max" the symmetric Hausdorff distance D(S0, S1).
    statistic : "max", "mean" or float
        What is taken over the row minima.
    a_to_b, b_to_a : DirectedDistance
        Both directions, each with the rows that attain it.
    exact : bool
        False for ApproxDist, which may only be too large.
    seconds : float
        Time taken; not part of comparisons.
    n_distances, n_tree_queries : int
        Distances evaluated, in blocks of BLAS and directly; rows put to a k-d tree, whose distances
        are not counted.
    n_loop_queries : int
        Rows put to SciPy's loop, which leaves a row at its first near target; its distances are not
        counted either.
    n_a, n_b, dimension : int
        Rows of the sets and columns.
    per_projection : tuple of float
        The value of every projection, for ApproxDist.
    m1, m2, seed : int or None
        Its projections, the neighbours compared on either side, and the seed.
    probability, factor : float or None
        With at least this probability, over projections, the value is at most `factor` times the
        exact one.
    """

    title: ClassVar[str] = "Distance between two sets"
    backend: ClassVar[str] = "numpy"
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": (
            "the distance of samples does not estimate that of populations; "
            "fs.hfm(...).stability() shows how far it moves when rows are left out"
        ),
        "std_error": "a maximum over rows has none",
        "pvalue": "nothing is tested here; fs.hfm permutes the groups",
        "verdict": "nothing is judged",
        "comparisons": "there is one pair of sets; .a_to_b and .b_to_a are its two directions",
        "__getitem__": "there is one pair of sets",
        "plot": "there is one number; .witnesses names the rows that attain it",
    }

    value: float
    statistic: str | float
    a_to_b: DirectedDistance
    b_to_a: DirectedDistance
    exact: bool
    seconds: float
    n_distances: int
    n_tree_queries: int
    n_a: int
    n_b: int
    dimension: int
    per_projection: tuple[float, ...] = ()
    m1: int | None = None
    m2: int | None = None
    seed: int | None = None
    probability: float | None = None
    factor: float | None = None
    n_loop_queries: int = 0

    @property
    def witnesses(self) -> tuple[Hashable, Hashable] | None:
        """Labels (row of a, row of b) of the pair that attains `value`; None for the mean."""
        first_direction = self.a_to_b
        second_direction = self.b_to_a
        if first_direction.row is None:
            return None
        if first_direction.value >= second_direction.value:
            return (first_direction.row, first_direction.nearest)
        return (second_direction.nearest, second_direction.row)

    @property
    def estimate(self) -> float:
        """The distance."""
        return self.value

    @property
    def method(self) -> str:
        """What was computed."""
        if self.exact:
            return "exact"
        return f"ApproxDist, m1 = {self.m1}, m2 = {self.m2}"

    def rows(self) -> list[dict[str, Any]]:
        """One row: the value, the pair that attains it, both directions."""
        attaining_pair = self.witnesses or (None, None)
        return [
            {
                "metric": f"set distance ({self.statistic})",
                "group": "a",
                "reference": "b",
                "estimate": self.value,
                "n": self.n_a + self.n_b,
                "method": self.method,
                "backend": self.backend,
                "row_a": attaining_pair[0],
                "row_b": attaining_pair[1],
                "a_to_b": self.a_to_b.value,
                "b_to_a": self.b_to_a.value,
            }
        ]

    def sentences(self) -> list[str]:
        """The distance, and the rows that attain it."""
        if self.witnesses is None:
            pair_words = ""
        else:
            pair_words = ", attained by rows {!r} and {!r}".format(*self.witnesses)
        set_words = f"{self.n_a:,} and {self.n_b:,} rows"
        sentences = [
            f"The distance ({self.statistic}) between {set_words} is {self.value:.4g}{pair_words}."
        ]
        if self.probability is not None:
            if self.probability == 1:
                probability_words = "Always"
            else:
                probability_words = f"With probability {self.probability:.4g} or more"
            projection_words = (
                f"over m1 = {self.m1} random projections with m2 = {self.m2} neighbours"
            )
            sentences.append(
                f"{probability_words}, {projection_words}, it is at most {self.factor:g} times the exact distance."
            )
        return sentences

    def notes(self) -> list[str]:
        """What was computed and at which cost."""
        if self.n_tree_queries:
            tree_words = f", {self.n_tree_queries:,} queries of a tree"
        else:
            tree_words = ""
        if self.n_loop_queries:
            loop_words = f", {self.n_loop_queries:,} rows in a loop"
        else:
            loop_words = ""
        work_words = (
            f"{self.n_distances:,} of {2 * self.n_a * self.n_b:,} distances"
            f" evaluated{tree_words}{loop_words};"
            f" {self.seconds:.2g} s."
        )
        cost_sentence = (
            f"{self.n_a:,} and {self.n_b:,} rows in {self.dimension} dimensions: {work_words}"
        )
        if self.exact:
            return [cost_sentence]
        return [
            cost_sentence,
            "ApproxDist never lies below the exact distance, and may lie above it.",
            *self.sentences()[1:],
        ]


def set_distance(
    a: Any = None,
    b: Any = None,
    *,
    statistic: Statistic = "max",
    counts: Tally | None = None,
) -> SetDistance:
    """Exact distance between two sets of rows.

    Parameters
    ----------
    a, b : array-like or data frame of numbers, shape (n, d), (m, d)
        Finite rows with the same columns. Any frame that narwhals reads; text has to be encoded
        first.
    statistic : {"max", "mean"} or float in (0, 1], default "max"
        What is taken over the rows' distances to the nearest row of the other set: the maximum is
        the paper's D (the Hausdorff distance); the mean, or a quantile (the smallest distance that
        at least this share of the rows do not exceed), is less sensitive to single rows. The larger
        of the two directions counts.
    counts : Tally, optional
        Features of two groups counted by `fs.tally` in place of `a` and `b`: numbers as they are,
        categories one-hot.

    Returns
    -------
    SetDistance
        Value, the rows that attain it in both directions, time and number of distances evaluated.

    Raises
    ------
    InputError
        For NaN, text, an empty set, different columns, an unknown statistic.

    Notes
    -----
    Exact: the value is computed from differences in double precision, and equals the direct
    computation of all pairs to about 10⁻¹¹ of it. "max" leaves out nearly all pairs: rows that both
    sets hold, and rows that have a neighbour nearer than the farthest row found so far [2]_. "mean" and
    quantiles need the minimum of *every* row: a query of a tree in few dimensions, all n·m pairs
    (in blocks; 2–6 ns each) in many. Memory is a few blocks, never n × m.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), Does machine bring in extra bias in learning? Eq. (1) and
       (2).
    .. [2] Taha, A. A. and Hanbury, A. (2015), An efficient algorithm for calculating the exact
       Hausdorff distance. IEEE Trans. PAMI 37(11), 2153-2163.

    Examples
    --------
    >>> import fairstats as fs
    >>> found = fs.set_distance([[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [1.0, 2.0]])
    >>> found.value, found.witnesses
    (2.0, (1, 1))
    >>> fs.set_distance([[0.0], [1.0]], [[0.0], [4.0]], statistic="mean").value
    1.5
    """
    checked_statistic = check_statistic(statistic)
    return measure(*two_sets(a, b, counts), checked_statistic)


def two_sets(a: Any, b: Any, counts: Tally | None) -> tuple[Rows, Rows]:
    """The rows of two sets that were given, or counted."""
    rows_are_counted = counts_or_rows(counts, needs="a, b", a=a, b=b)
    return pair_of_groups(counts) if rows_are_counted else as_pair(a, b)  # type: ignore[arg-type]


def check_statistic(statistic: Any) -> Statistic:
    """The statistic, or raise unless it is "max", "mean" or a share in (0, 1]."""
    if isinstance(statistic, str) and statistic in ("max", "mean"):
        return statistic
    allowed = '"max", "mean" or a quantile in (0, 1]'
    suggestion = "0.95 for the 95% quantile of the rows' distances"
    return check_number(
        "statistic",
        statistic,
        low=0,
        high=1,
        open_low=True,
        allowed=allowed,
        cure=suggestion,
    )


@under_way("distance of two sets")
def measure(first: Rows, second: Rows, statistic: Statistic) -> SetDistance:
    """The exact distance of validated rows."""
    start_time = time.perf_counter()
    a, b, common_unit = in_range(first.values, second.values)
    work_done = Work()
    with one_blas_thread():
        from_a_to_b, from_b_to_a = (
            _largest_minima(a, b, work_done)
            if statistic == "max"
            else _over_all(a, b, work_done, statistic)
        )
    return SetDistance(
        value=max(from_a_to_b[0], from_b_to_a[0]) * common_unit,
        statistic=statistic,
        a_to_b=labelled(from_a_to_b, common_unit, first, second),
        b_to_a=labelled(from_b_to_a, common_unit, second, first),
        exact=True,
        seconds=time.perf_counter() - start_time,
        n_distances=work_done.distances,
        n_tree_queries=work_done.tree_queries,
        n_loop_queries=work_done.loop_rows,
        n_a=len(a),
        n_b=len(b),
        dimension=a.shape[1],
    )


def labelled(
    found: tuple[float, int, int],
    unit: float,
    own: Rows,
    other: Rows,
) -> DirectedDistance:
    """A distance, its row and the nearest one by their labels; none where the row is negative."""
    distance, row_number, nearest = found
    if row_number >= 0:
        labels = (own.label(row_number), other.label(nearest))
    else:
        labels = (None, None)
    return DirectedDistance(distance * unit, *labels)


def in_range(a: Floats, b: Floats) -> tuple[Floats, Floats, float]:
    """The rows in a unit (a power of two) in which squares neither overflow nor vanish, and the
    unit.
    """
    widest = max(float(a.max()), -float(a.min()), float(b.max()), -float(b.min()))
    if widest == 0 or 1e-100 < widest < 1e100:
        return a, b, 1.0
    common_unit = float(2.0 ** np.clip(np.floor(np.log2(widest)), -1000, 1000))
    return a / common_unit, b / common_unit, common_unit


def _largest_minima(a: Floats, b: Floats, work_done: Work) -> list[tuple[float, int, int]]:
    """Largest row minimum in both directions, its row and its nearest target."""
    if 1 < a.shape[1] <= DIRECT_DIMENSIONS and len(a) * len(b) <= FEW_PAIRS:
        return _largest_of_table(a, b, work_done)
    common = cache(lambda: find_common_rows(a, b))
    a_to_b = farthest_row(a, Targets(b, a, work_done), lambda: common().only_a)
    b_to_a = farthest_row(b, Targets(a, b, work_done), lambda: common().only_b)
    largest_minima: list[tuple[float, int, int]] = []
    for farthest in (a_to_b, b_to_a):
        largest_minima.append((float(np.sqrt(farthest.squared)), farthest.query, farthest.target))
    return largest_minima


def _largest_of_table(a: Floats, b: Floats, work_done: Work) -> list[tuple[float, int, int]]:
    """The same of few pairs, from one table of them."""
    squared = cdist(a, b, "sqeuclidean")
    work_done.distances += squared.size
    largest_minima: list[tuple[float, int, int]] = []
    for axis, (queries, targets) in enumerate(((a, b), (b, a))):
        rows = np.array([squared.min(axis=1 - axis).argmax()])
        nearest = np.array([squared.take(rows[0], axis=axis).argmin()])
        (least,) = squared_pairs(queries, rows, targets, nearest)
        largest_minima.append((float(np.sqrt(least)), int(rows[0]), int(nearest[0])))
    return largest_minima


def _over_all(
    a: Floats,
    b: Floats,
    work_done: Work,
    statistic: Statistic,
) -> list[tuple[float, int, int]]:
    """Mean or quantile of the row minima in both directions, every row counted as often as it
    occurs.
    """
    shared = find_common_rows(a, b)
    first_a = shared.distinct_a[shared.inverse_a]
    first_b = shared.distinct_b[shared.inverse_b]
    directed = [
        _statistic_of(a, b, shared.only_a, first_a, shared.distinct_b, work_done, statistic),
        _statistic_of(b, a, shared.only_b, first_b, shared.distinct_a, work_done, statistic),
    ]
    if statistic != "mean" and shared.common is not None:
        common_pairs = (shared.common, shared.common[::-1])
        directed = [
            statistic_found if statistic_found[1] >= 0 else (0.0, *common_pairs[direction])
            for direction, statistic_found in enumerate(directed)
        ]
    return directed


def _statistic_of(
    queries: Floats,
    targets: Floats,
    row_numbers: Indices,
    first_equal: Indices,
    distinct: Indices,
    work_done: Work,
    statistic: Statistic,
) -> tuple[float, int, int]:
    """Statistic over the rows, its row and its nearest target; −1 for none.

    `first_equal` of the rows that equal each.
    """
    minima = np.zeros(len(queries))
    nearest = np.full(len(queries), -1, dtype=np.intp)
    if row_numbers.size:
        query_rows = queries[row_numbers]
        squared, target_numbers = row_minima(
            query_rows, Targets(targets[distinct], query_rows, work_done)
        )
        minima[row_numbers] = np.sqrt(squared)
        nearest[row_numbers] = distinct[target_numbers]
    minima = minima[first_equal]
    nearest = nearest[first_equal]
    if statistic == "mean":
        return float(minima.mean()), -1, -1
    attaining_row = int(
        np.argsort(minima, kind="stable")[_place_of_quantile(statistic, minima.size)]
    )
    if nearest[attaining_row] >= 0:
        return (float(minima[attaining_row]), attaining_row, int(nearest[attaining_row]))
    return (0.0, -1, -1)


def _place_of_quantile(statistic: Statistic, n: int) -> int:
    """Position of a quantile among n sorted values: the first that this share does not exceed."""
    return max(int(np.ceil(float(statistic) * n * (1 - 1e-15))) - 1, 0)


def over_minima(minima: Floats, statistic: Statistic) -> float:
    """Maximum, mean or quantile of row minima."""
    if statistic in ("max", "mean"):
        return float(minima.max() if statistic == "max" else minima.mean())
    position = _place_of_quantile(statistic, minima.size)
    return float(np.partition(minima, position)[position])
