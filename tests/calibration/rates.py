"""Two groups enumerated: exact coverage, both misses, false verdicts, and size of the tests.

And families of groups.

The probability of every table times what the library makes of it. The default, which is exact where
it must be, is enumerated by `enumeration`; methods by name by the vectorised copy here, which
leaves out tables that together have less than 1e-10 of the probability: log and delta without an
answer where a cell is empty. `tests/methods/rates/test_calibration.py` holds both against the
public functions, table by table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from fairstats.ground.verdict import fair_range
from fairstats.numerics.rates.score import (
    Contrast,
    difference_score_statistic,
    ratio_score_statistic,
)
from fairstats.numerics.rates.switch import needs_exact
from tests.calibration.enumeration import Design, any_of
from tests.calibration.study import Cell, Counts

_IGNORED = 1e-10
#: A truth this near an end of the fair range is at it: reciprocals are rounded.
_SAME = 1e-9
#: Of the procedure: 2 has exact tests by size, expected cells and adjusted level, for interval and
#: p-values too.
VERSION = "2"
#: Koopman's and Mee's tests, which no exact test replaces, are not looked at below so many expected
#: cases.
EXACT_BELOW = 10


class Tables(NamedTuple):
    """Pairs of counts with their probability; all arrays have one shape."""

    k0: np.ndarray
    n0: int
    k1: np.ndarray
    n1: int
    probability: np.ndarray


def tables(n0: int, p0: float, n1: int, p1: float) -> Tables:
    """All tables but those that have, together, less than 1e-10 of the probability."""

    def likely(n: int, p: float) -> np.ndarray:
        low, high = binom.ppf([_IGNORED / 4, 1 - _IGNORED / 4], n, p)
        return np.arange(int(max(low, 0)), int(high) + 1)

    k0, k1 = np.meshgrid(likely(n0, p0), likely(n1, p1), indexing="ij")
    return Tables(k0, n0, k1, n1, binom.pmf(k0, n0, p0) * binom.pmf(k1, n1, p1))


def least_expected(n0: int, p0: float, n1: int, p1: float) -> float:
    """Least expected count of successes and failures of both groups."""
    return min(n0 * p0, n0 * (1 - p0), n1 * p1, n1 * (1 - p1))


# ---------------------------------------------------------------- the methods, for many tables at
# once


def statistic(method: str, contrast: str, at: Tables, null: float) -> np.ndarray:
    """z of H0: contrast = null as the public functions compute it.

    NaN where log or delta do not answer.
    """
    if method in {"score", "koopman", "mee"}:
        return score(contrast, at, null, correction=method == "score")
    r0 = at.k0 / at.n0
    r1 = at.k1 / at.n1
    empty = (at.k0 == 0) | (at.k0 == at.n0) | (at.k1 == 0) | (at.k1 == at.n1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_error = np.sqrt((1 - r0) / at.k0 + (1 - r1) / at.k1)
        if method == "log":
            z = np.log(r0 / r1 / null) / log_error
        elif contrast == "ratio":
            z = (r0 / r1 - null) / (r0 / r1 * log_error)
        else:
            z = (r0 - r1 - null) / np.sqrt(r0 * (1 - r0) / at.n0 + r1 * (1 - r1) / at.n1)
    any_ratio = (at.k0 == 0) & (at.k1 == 0) & (contrast == "ratio")  # 0/0 has the interval [0, ∞]
    return np.where(any_ratio, 0.0, np.where(empty, np.nan, z))


def score(contrast: str, at: Tables, null: float, *, correction: bool) -> np.ndarray:
    """Score statistic; 0 for 0/0, whose ratio can be anything."""
    function = ratio_score_statistic if contrast == "ratio" else difference_score_statistic
    return function(at.k0, at.n0, at.k1, at.n1, null, correction=correction)


def covers(method: str, contrast: str, at: Tables, truth: float, level: float = 0.95) -> np.ndarray:
    """Whether there is a two-sided interval and it holds the true value."""
    return np.abs(statistic(method, contrast, at, truth)) <= ndtri((1 + level) / 2)


def coverage(method: str, contrast: str, at: Tables, truth: float, level: float = 0.95) -> float:
    """Exact coverage probability, among the tables for which the method answers."""
    answered = at.probability * ~np.isnan(statistic(method, contrast, at, truth))
    return float((answered * covers(method, contrast, at, truth, level)).sum() / answered.sum())


def rejects(
    method: str, contrast: str, at: Tables, null: float, alternative: str, alpha: float = 0.05
) -> np.ndarray:
    """Whether the test of the public functions has p ≤ α; a p-value that is NaN rejects nothing."""
    z = statistic(method, contrast, at, null)
    zero = (
        (at.k0 == 0) & (at.k1 == 0) if contrast == "ratio" else np.zeros(z.shape, bool)
    )  # no test for 0/0
    pvalue = {"less": ndtr(z), "greater": ndtr(-z), "two-sided": 2 * ndtr(-np.abs(z))}[alternative]
    return (pvalue <= alpha) & ~zero


# ---------------------------------------------------------------- cells of the published table


def decided(rng: object, runs: int, *, design: Design, size: float) -> Counts:
    """Exact shares of two groups by the default.

    Interval at the truth, false verdicts, equality where it holds.

    `size`: of the fair range, θ or the margin.
    """
    design = replace(design)  # its arrays go when the cell is done
    excluded = design.excluded(design.truth)
    estimates = _estimates(design)
    above, below = (
        design.probability(excluded & at)
        for at in (estimates > design.truth, estimates < design.truth)
    )
    found = {"coverage": 1 - above - below, "above": above, "below": below, "answered": 1.0}
    low, high = fair_range(design.contrast, size)
    if low - _SAME <= design.truth <= high + _SAME:
        found["false violated"] = design.probability(design.violated(size))
    if not low + _SAME < design.truth < high - _SAME:
        found["false satisfied"] = design.probability(design.satisfied(size))
    if design.truth == (1 if design.contrast == "ratio" else 0):
        found["size"] = design.probability(excluded)
    return {name: (value, 1) for name, value in found.items()}


def _estimates(design: Design) -> np.ndarray:
    """Ratio or difference of every table; 0/0 is the truth."""
    k, k0 = design.grid
    if design.contrast == "difference":
        return np.asarray(k / design.n - k0 / design.n0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (k / design.n) / (k0 / design.n0)
    return np.where(np.isnan(ratio), design.truth, ratio)


def family(
    rng: object,
    runs: int,
    *,
    sizes: Sequence[int],
    n0: int,
    rate0: float,
    contrast: Contrast,
    truth: float,
    size: float,
) -> Counts:
    """Exact shares of families beside one reference.

    Any false verdict of a kind, any equality rejected.

    Each kind at the first step of Holm, where the family's error is made.
    """
    error = 0.05 / len(sizes)
    rate = rate0 * truth if contrast == "ratio" else rate0 + truth
    designs = [Design(n, rate, n0, rate0, contrast, error) for n in sizes]
    low, high = fair_range(contrast, size)
    neutral = 1 if contrast == "ratio" else 0
    found = {"answered": 1.0}
    if low - _SAME <= truth <= high + _SAME and truth != neutral:
        found["false violated"] = any_of(designs, lambda one: one.violated(size))
    if not low + _SAME < truth < high - _SAME:
        found["false satisfied"] = any_of(designs, lambda one: one.satisfied(size))
    if truth == neutral:
        found["size"] = any_of(designs, lambda one: one.excluded(neutral))
    return {name: (value, 1) for name, value in found.items()}


def pair_cell(
    method: str,
    n0: int,
    n: int,
    rate0: float,
    truth: float,
    contrast: Contrast,
    size: float,
    words: str,
) -> Cell:
    """A cell of two binomials by the default; exact tests are conservative."""
    rate = rate0 * truth if contrast == "ratio" else rate0 + truth
    pooled = (n * rate + n0 * rate0) / (n + n0)
    expected = min(n, n0) * min(pooled, 1 - pooled)
    claim = "conservative" if needs_exact(n, n0, expected, 0.05) else "valid"
    simulate = partial(decided, design=Design(n, rate, n0, rate0, contrast), size=size)
    return Cell("rates", method, words, simulate, 1, claim, exact=True, version=VERSION)


def family_cell(
    method: str,
    sizes: Sequence[int],
    n0: int,
    rate0: float,
    truth: float,
    contrast: Contrast,
    size: float,
    words: str,
) -> Cell:
    """A cell of several groups beside one reference, all with one true contrast."""
    simulate = partial(
        family, sizes=tuple(sizes), n0=n0, rate0=rate0, contrast=contrast, truth=truth, size=size
    )
    return Cell("rates", method, words, simulate, 1, "conservative", exact=True, version=VERSION)


def enumerated(
    rng: object,
    runs: int,
    *,
    method: str,
    contrast: str,
    sizes: tuple[int, int],
    rate: float,
    truth: float,
) -> Counts:
    """Exact shares of a method by name; the reference has `sizes[0]` rows and this rate.

    Size: of equality where the truth is that, else of either one-sided test at the truth, the
    larger one."""
    own = rate * truth if contrast == "ratio" else rate + truth
    at = tables(sizes[1], own, sizes[0], rate)
    z = statistic(method, contrast, at, truth)
    there = at.probability * ~np.isnan(z)
    answered = float(there.sum())
    critical = ndtri(0.975)
    shares = {
        "coverage": there[np.abs(z) <= critical].sum(),
        "above": there[z > critical].sum(),
        "below": there[z < -critical].sum(),
    }
    equal = truth == (1 if contrast == "ratio" else 0)
    tests = ("two-sided",) if equal else ("less", "greater")
    size = max((at.probability * rejects(method, contrast, at, truth, a)).sum() for a in tests)
    found: dict[str, tuple[float, int]] = {k: (float(v) / answered, 1) for k, v in shares.items()}
    if least_expected(sizes[1], own, sizes[0], rate) >= EXACT_BELOW or method in ("log", "delta"):
        found["size"] = (float(size), 1)
    return {**found, "answered": (answered, 1)}


#: Rows of the reference and of the group: alike, and 1 to 10, 20, 50 and 100.
SIZES = ((100, 100), (30, 30), (1_000, 100), (2_000, 100), (2_000, 40), (10_000, 100))
RATES = (0.005, 0.05, 0.2, 0.5, 0.8, 0.95)
#: Below so many expected successes or failures nothing is claimed of an interval by name.
FEWEST = 5


def _default_cell(
    function: str, contrast: Contrast, sizes: tuple[int, int], rate: float, truth: float
) -> Cell:
    """The default; the fair range ends at the truth, but for equality."""
    words = f"{sizes[0]:,} and {sizes[1]} rows, rate {rate:g}, {contrast} {truth:g}"
    size = 0.8 if contrast == "ratio" else 0.1
    if truth not in (0.0, 1.0):
        size = truth if contrast == "ratio" else abs(truth)
    return pair_cell(
        f"{function}(): interval and tests", sizes[0], sizes[1], rate, truth, contrast, size, words
    )


def _named_cell(
    function: str,
    method: str,
    contrast: Contrast,
    sizes: tuple[int, int],
    rate: float,
    truth: float,
) -> Cell:
    few = least_expected(
        sizes[1], rate * truth if contrast == "ratio" else rate + truth, sizes[0], rate
    )
    words = f"{sizes[0]:,} and {sizes[1]} rows, rate {rate:g}, {contrast} {truth:g}"
    known = {"claim": "valid", "remark": ""}
    if method in ("log", "delta"):
        known = {
            "claim": "fails",
            "remark": "asked for by name, obeyed, with a warning where it is bad",
        }
    elif few < FEWEST:
        known = {
            "claim": "fails",
            "remark": (
                "below five expected successes or failures, by name: coverage jumps with the rate"
            ),
        }
    simulate = partial(
        enumerated, method=method, contrast=contrast, sizes=sizes, rate=rate, truth=truth
    )
    name = f"{function}(method={method!r}): interval and tests"
    return Cell("rates", name, words, simulate, 1, exact=True, **known)


def _cells() -> Iterator[Cell]:
    for sizes, rate in product(SIZES, RATES):
        for truth in (0.8, 1.0) if rate in (0.05, 0.5) else (0.8,):
            yield _default_cell("disparate_impact", "ratio", sizes, rate, truth)
        for truth in (-0.1, 0.0) if rate > 0.1 else (0.0,):
            yield _default_cell("demographic_parity_difference", "difference", sizes, rate, truth)
    for sizes in ((100, 100), (2_000, 40)):
        for method, truth in product(("log", "delta", "koopman"), (0.8, 0.9, 0.95)):
            yield _named_cell("disparate_impact", method, "ratio", sizes, 0.5, truth)
        for method, rate in product(("delta", "mee"), (0.2, 0.95)):
            yield _named_cell(
                "demographic_parity_difference", method, "difference", sizes, rate, -0.1
            )
    for truth in (0.9, 0.95):
        for sizes in SIZES[2:]:
            yield _default_cell("disparate_impact", "ratio", sizes, 0.5, truth)
    yield from _former_failures()
    yield from _families_that_failed()


def _former_failures() -> Iterator[Cell]:
    """Pairs of groups at which earlier versions erred, named by what they did."""
    ratio = "disparate_impact()"
    difference = "demographic_parity_difference()"
    # the log method beside larger groups; the score where few are expected
    for n, n0, rate0, size in (
        (40, 2_000, 0.95, 0.8),
        (15, 400, 0.95, 0.8),
        (15, 3_000, 0.95, 0.8),
        (80, 640, 0.95, 0.8),
        (1_000, 20_000, 0.95, 0.9),
        (40, 2_000, 0.05, 0.8),
        (40, 2_000, 0.02, 0.8),
        (40, 2_000, 0.005, 0.8),
        (52, 5_000, 0.985, 0.85),
    ):
        for truth in (size, 1 / size) if rate0 / size < 1 else (size,):
            words = (
                f"formerly wrong: {n:,} beside {n0:,}, rate of the reference {rate0:g}, ratio"
                f" {truth:.4g}, θ {size:g}"
            )
            yield pair_cell(ratio, n0, n, rate0, truth, "ratio", size, words)
    for n, n0, rate0, size in (
        (52, 5_000, 0.985, 0.1),
        (18, 5_000, 0.5, 0.02),
        (18, 5_000, 0.28, 0.02),
    ):
        for truth in (-size, size) if rate0 + size < 1 else (-size,):
            beside = f"formerly wrong: {n} beside {n0:,}, rate of the reference {rate0:g}"
            words = f"{beside}, difference {truth:g}, margin {size:g}"
            yield pair_cell(difference, n0, n, rate0, truth, "difference", size, words)
            if size == 0.02:  # the gap of two groups is their difference
                yield pair_cell(
                    "demographic_parity_difference(agg='max')",
                    n0,
                    n,
                    rate0,
                    truth,
                    "difference",
                    size,
                    words,
                )
    # one, two and three persons beside many, whose p-values of equality were 1e-67
    for n, n0, rate0 in (
        (1, 300, 0.0033),
        (1, 300, 0.05),
        (2, 400, 0.005),
        (2, 400, 0.1),
        (3, 400, 0.95),
    ):
        words = f"equality, {n} beside {n0}, rate {rate0:g}"
        yield pair_cell(ratio, n0, n, rate0, 1.0, "ratio", 0.8, words)


def _families_that_failed() -> Iterator[Cell]:
    """Families at whose adjusted level the score erred, and equality over groups of 1 to 30."""
    ratio = "disparate_impact()"
    difference = "demographic_parity_difference()"
    twelve = np.linspace(25, 450, 12).astype(int).tolist()
    twenty = np.linspace(25, 450, 20).astype(int).tolist()
    for sizes in (twelve, twenty):
        beside = f"{len(sizes)} groups of 25 to 450 beside 20,000, rate of the reference 0.9"
        for truth, size in ((0.9, 0.9), (0.8, 0.8)):
            words = f"{beside}, all ratios {truth:g}, θ {size:g}"
            yield family_cell(ratio, sizes, 20_000, 0.9, truth, "ratio", size, words)
        words = f"{beside}, all differences -0.1, margin 0.1"
        yield family_cell(difference, sizes, 20_000, 0.9, -0.1, "difference", 0.1, words)
    for groups, n, n0, rate0 in (
        (4, 1_500, 20_000, 0.8),
        (8, 1_500, 20_000, 0.8),
        (10, 5_000, 20_000, 0.05),
    ):
        for truth in (0.85, 1 / 0.85):
            beside = f"{groups} groups of {n:,} beside {n0:,}, rate of the reference {rate0:g}"
            words = f"{beside}, all ratios {truth:.4g}, θ 0.85"
            yield family_cell(ratio, [n] * groups, n0, rate0, truth, "ratio", 0.85, words)
    for rate0 in (0.02, 0.1, 0.5):
        words = f"equality, 30 groups of 1 to 30 beside 300, rate {rate0:g}"
        yield family_cell(ratio, range(1, 31), 300, rate0, 1.0, "ratio", 0.8, words)


CELLS = tuple(_cells())
