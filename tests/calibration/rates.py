"""Two groups enumerated: exact coverage, both misses, and size of the one-sided tests and of equality.

The probability of every table times what the library makes of it; tables that together have less than 1e-10
of the probability are left out. The methods are those of the public functions, log and delta without an
answer where a cell is empty. `tests/methods/rates/test_calibration.py` holds the vectorised copy here against
the public functions, table by table; verdicts are simulated (`public_rates`), as are more groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from fairstats.numerics.rates.score import difference_score_statistic, ratio_score_statistic
from tests.calibration.study import Cell, Counts

_IGNORED = 1e-10
#: Below this smallest expected cell the score's tests have no size of their own: verdicts are exact.
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


# ---------------------------------------------------------------- the methods, for many tables at once


def statistic(method: str, contrast: str, at: Tables, null: float) -> np.ndarray:
    """z of H0: contrast = null as the public functions compute it; NaN where log or delta do not answer."""
    if method in {"score", "koopman", "mee"}:
        return score(contrast, at, null, correction=method == "score")
    r0, r1 = at.k0 / at.n0, at.k1 / at.n1
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


def rejects(method: str, contrast: str, at: Tables, null: float, alternative: str, alpha: float = 0.05) -> np.ndarray:
    """Whether the test of the public functions has p ≤ α; a p-value that is NaN rejects nothing."""
    z = statistic(method, contrast, at, null)
    zero = (at.k0 == 0) & (at.k1 == 0) if contrast == "ratio" else np.zeros(z.shape, bool)  # no test for 0/0
    pvalue = {"less": ndtr(z), "greater": ndtr(-z), "two-sided": 2 * ndtr(-np.abs(z))}[alternative]
    return (pvalue <= alpha) & ~zero


# ---------------------------------------------------------------- cells of the published table


def enumerated(
    rng: object, runs: int, *, method: str, contrast: str, sizes: tuple[int, int], rate: float, truth: float
) -> Counts:
    """Exact shares in place of counts; the reference has `sizes[0]` rows and this rate.

    Size: of equality where the truth is that, else of either one-sided test at the truth, the larger one;
    not below ten expected cases, where the tests are others (`exact_unconditional_pvalue`).
    """
    own = rate * truth if contrast == "ratio" else rate + truth
    at = tables(sizes[1], own, sizes[0], rate)
    z = statistic(method, contrast, at, truth)
    there = at.probability * ~np.isnan(z)
    answered, critical = float(there.sum()), ndtri(0.975)
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
#: Below so many expected successes or failures nothing is claimed of an interval alone.
FEWEST = 5


def _cell(function: str, method: str, contrast: str, sizes: tuple[int, int], rate: float, truth: float) -> Cell:
    few = least_expected(sizes[1], rate * truth if contrast == "ratio" else rate + truth, sizes[0], rate)
    asked = "" if method == "score" else f"method={method!r}"
    words = f"{sizes[0]:,} and {sizes[1]} rows, rate {rate:g}, {contrast} {truth:g}"
    known = {"claim": "valid", "remark": ""}
    if method in ("log", "delta"):
        known = {"claim": "fails", "remark": "asked for by name, obeyed, with a warning where it is bad"}
    elif few < FEWEST:
        known = {
            "claim": "fails",
            "remark": "below five expected successes or failures: coverage jumps with the rate; verdicts and "
            "their p-values are by exact tests there, or “insufficient evidence”",
        }
    simulate = partial(enumerated, method=method, contrast=contrast, sizes=sizes, rate=rate, truth=truth)
    return Cell("rates", f"{function}({asked}): interval and tests", words, simulate, 1, exact=True, **known)


def _cells() -> Iterator[Cell]:
    for sizes, rate in product(SIZES, RATES):
        for truth in (0.8, 1.0) if rate in (0.05, 0.5) else (0.8,):
            yield _cell("disparate_impact", "score", "ratio", sizes, rate, truth)
        for truth in (-0.1, 0.0) if rate > 0.1 else (0.0,):
            yield _cell("demographic_parity_difference", "score", "difference", sizes, rate, truth)
    for sizes in ((100, 100), (2_000, 40)):
        for method, truth in product(("log", "delta", "koopman"), (0.8, 0.9, 0.95)):
            yield _cell("disparate_impact", method, "ratio", sizes, 0.5, truth)
        for method, rate in product(("delta", "mee"), (0.2, 0.95)):
            yield _cell("demographic_parity_difference", method, "difference", sizes, rate, -0.1)
    for truth in (0.9, 0.95):
        for sizes in SIZES[2:]:
            yield _cell("disparate_impact", "score", "ratio", sizes, 0.5, truth)


CELLS = tuple(_cells())
