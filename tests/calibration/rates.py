"""Calibration of the rates: coverage, size of the tests, maxima, ABROCA, power.

Two groups are enumerated: the probability of every table times what the library makes of it, which is
exact. Tables that together have less than 1e-10 of the probability are left out. The methods are those of
the public functions, with what takes their place where a cell is empty;
`tests/methods/rates/test_calibration.py` holds the vectorised copy here against the public functions, table
by table. Maxima, simultaneous intervals and ABROCA are simulated (`rates_simulated`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri
from scipy.stats import binom

import fairstats as fs
from fairstats.methods.rates.exact import exact_unconditional_pvalue
from fairstats.methods.rates.score import difference_score_statistic, ratio_score_statistic
from tests.calibration.rates_simulated import abroca_study, maxima_study, simultaneous_study

SIZES = (30, 100, 1000)
RATES = (0.02, 0.1, 0.5, 0.9)
RATIOS = (0.5, 0.8, 1.0)
RATIO_METHODS = ("log", "delta", "score", "koopman")
DIFFERENCE_METHODS = ("delta", "score", "mee")
#: Below this count in a cell tests and verdict are by score.
SMALL_CELL = 5
_IGNORED = 1e-10


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
    """z of H0: contrast = null as the public functions compute it; ±∞ and NaN as they come."""
    if method in {"score", "koopman", "mee"}:
        return score(contrast, at, null, correction=method == "score")
    r0, r1 = at.k0 / at.n0, at.k1 / at.n1
    empty = (at.k0 == 0) | (at.k0 == at.n0) | (at.k1 == 0) | (at.k1 == at.n1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_error = np.sqrt((1 - r0) / at.k0 + (1 - r1) / at.k1)
        if method == "log":
            z, give_way = np.log(r0 / r1 / null) / log_error, empty
        elif contrast == "ratio":
            z, give_way = (r0 / r1 - null) / (r0 / r1 * log_error), (at.k0 == 0) | (at.k1 == 0)
        else:
            z = (r0 - r1 - null) / np.sqrt(r0 * (1 - r0) / at.n0 + r1 * (1 - r1) / at.n1)
            give_way = np.zeros_like(empty)
    return np.where(give_way, score(contrast, at, null, correction=True), z)


def score(contrast: str, at: Tables, null: float, *, correction: bool) -> np.ndarray:
    """Score statistic; 0 for 0/0, whose ratio can be anything."""
    function = ratio_score_statistic if contrast == "ratio" else difference_score_statistic
    return function(at.k0, at.n0, at.k1, at.n1, null, correction=correction)


def covers(method: str, contrast: str, at: Tables, truth: float, level: float = 0.95) -> np.ndarray:
    """Whether the two-sided interval holds the true value. An interval of width 0 holds what it sits on."""
    z = statistic(method, contrast, at, truth)
    return (np.abs(z) <= ndtri((1 + level) / 2)) | np.isnan(z)


def coverage(method: str, contrast: str, at: Tables, truth: float, level: float = 0.95) -> float:
    """Exact coverage probability."""
    return float((at.probability * covers(method, contrast, at, truth, level)).sum())


def rejects(
    method: str, contrast: str, at: Tables, null: float, alternative: str, alpha: float = 0.05
) -> np.ndarray:
    """Whether the test of the public functions has p ≤ α; a p-value that is NaN rejects nothing."""
    z = statistic(method, contrast, at, null)
    if method in ("log", "delta"):  # with a small cell the tests are by score
        smallest = np.minimum.reduce([at.k0, at.n0 - at.k0, at.k1, at.n1 - at.k1])
        z = np.where(smallest < SMALL_CELL, score(contrast, at, null, correction=True), z)
    zero = (at.k0 == 0) & (at.k1 == 0) if contrast == "ratio" else np.zeros(z.shape, bool)  # no test for 0/0
    pvalue = {"less": ndtr(z), "greater": ndtr(-z), "two-sided": 2 * ndtr(-np.abs(z))}[alternative]
    return (pvalue <= alpha) & ~zero


def crosses(
    method: str, contrast: str, at: Tables, null: float, side: str, alpha: float = 0.05
) -> np.ndarray:
    """Whether the one-sided bound that the verdict rests on lies beyond `null`: score bounds where a cell is
    small.
    """
    smallest = np.minimum.reduce([at.k0, at.n0 - at.k0, at.k1, at.n1 - at.k1])
    by_score = statistic(
        "koopman" if method == "koopman" else "mee" if method == "mee" else "score", contrast, at, null
    )
    z = np.where(smallest < SMALL_CELL, by_score, statistic(method, contrast, at, null))
    zero = (at.k0 == 0) & (at.k1 == 0) if contrast == "ratio" else np.zeros(z.shape, bool)
    return ((z < -ndtri(1 - alpha)) if side == "below" else (z > ndtri(1 - alpha))) & ~zero


# ---------------------------------------------------------------- enumerated studies


def settings() -> Iterator[tuple[int, float, float]]:
    """n per group, rate of the reference, ratio."""
    return product(SIZES, RATES, RATIOS)


def coverage_study() -> pd.DataFrame:
    """Exact coverage of nominal 95%, one row per setting, a column per method and contrast."""
    rows = []
    for n, rate, ratio in settings():
        at = tables(n, rate * ratio, n, rate)
        row: dict[str, Any] = {
            "n": n,
            "rate": rate,
            "ratio": ratio,
            "least_expected": least_expected(n, rate * ratio, n, rate),
        }
        for method in RATIO_METHODS:
            row[f"ratio_{method}"] = coverage(method, "ratio", at, ratio)
        for method in DIFFERENCE_METHODS:
            row[f"difference_{method}"] = coverage(method, "difference", at, rate * ratio - rate)
        rows.append(row)
    return pd.DataFrame(rows)


def size_study(alpha: float = 0.05) -> pd.DataFrame:
    """Exact probability of rejecting a true null hypothesis on its boundary.

    Ratio: both one-sided tests at 0.8, equality at 1, and wrong verdicts ("violated" or "satisfied" at
    exactly 0.8).
    Difference: both one-sided tests at −0.1 ("greater" there is half of the equivalence test) and equality
    at 0.
    """
    rows = []
    for contrast, methods in (("ratio", RATIO_METHODS), ("difference", DIFFERENCE_METHODS)):
        for n, rate, method in product(SIZES, RATES, methods):
            null, equal = (0.8, 1.0) if contrast == "ratio" else (-0.1, 0.0)
            edge = rate * 0.8 if contrast == "ratio" else rate - 0.1
            row: dict[str, Any] = {"contrast": contrast, "method": method, "n": n, "rate": rate}
            row["least_expected"] = least_expected(n, max(edge, 0.0), n, rate)
            if edge >= 0:
                at = tables(n, edge, n, rate)
                for alternative in ("less", "greater"):
                    hits = rejects(method, contrast, at, null, alternative, alpha)
                    row[alternative] = float((at.probability * hits).sum())
                for side, verdict in (
                    ("below", "violated"),
                    ("above", "satisfied" if contrast == "ratio" else "inside"),
                ):
                    hits = crosses(method, contrast, at, null, side, alpha)
                    row[f"wrongly_{verdict}"] = float((at.probability * hits).sum())
            at = tables(n, rate, n, rate)
            row["equality"] = float(
                (at.probability * rejects(method, contrast, at, equal, "two-sided", alpha)).sum()
            )
            rows.append(row)
    return pd.DataFrame(rows)


def outside(frame: pd.DataFrame, least: float = 5.0, low: float = 0.94, high: float = 0.96) -> pd.DataFrame:
    """Settings with every expected count ≥ `least` in which a method leaves [low, high]."""
    columns = [c for c in frame.columns if c.startswith(("ratio_", "difference_"))]
    long = frame[frame["least_expected"] >= least].melt(
        ["n", "rate", "ratio", "least_expected"], columns, var_name="method", value_name="coverage"
    )
    return long[(long["coverage"] < low) | (long["coverage"] > high)]


def power_study(alpha: float = 0.05) -> pd.DataFrame:
    """The planning formula against the enumerated power of the log test."""
    rows = []
    for (n, rate, ratio), alternative in product(
        product((50, 200, 1000), (0.1, 0.3, 0.6), (0.5, 0.65, 0.95)), ("less", "greater", "two-sided")
    ):
        null = 1.0 if alternative == "two-sided" else 0.8
        if (alternative == "less" and ratio >= null) or (alternative == "greater" and ratio <= null):
            continue
        at = tables(n, rate * ratio, n, rate)
        rows.append(
            {
                "n": n,
                "rate": rate,
                "ratio": ratio,
                "alternative": alternative,
                "least_expected": least_expected(n, rate * ratio, n, rate),
                "formula": fs.power_ratio(rate, ratio, n=n, alternative=alternative).power,  # type: ignore[arg-type]
                "exact": float(
                    (at.probability * rejects("log", "ratio", at, null, alternative, alpha)).sum()
                ),
            }
        )
    return pd.DataFrame(rows)


def every_table(n: int) -> Iterator[tuple[int, int]]:
    """Counts of two groups of n."""
    return product(range(n + 1), repeat=2)


def bootstrap_study(n: int = 30, n_resamples: int = 1_999, seed: int = 1) -> pd.DataFrame:
    """Coverage of BCa: one bootstrap for every table, then exact probabilities. NaN and errors cover
    nothing.
    """
    low, high = np.full((n + 1, n + 1), np.nan), np.full((n + 1, n + 1), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k0, k1 in every_table(n):
            counts = {"a": (k0, n - k0), "b": (k1, n - k1)}
            try:
                result = fs.disparate_impact(
                    counts=counts, reference="b", method="bootstrap", n_resamples=n_resamples, rng=seed
                )
            except ValueError:
                continue
            low[k0, k1], high[k0, k1] = result.confidence_interval
    rows = []
    for rate, ratio in product(RATES, RATIOS):
        at = tables(n, rate * ratio, n, rate)
        covered = (low[at.k0, at.k1] <= ratio + 1e-12) & (ratio - 1e-12 <= high[at.k0, at.k1])
        rows.append(
            {
                "n": n,
                "rate": rate,
                "ratio": ratio,
                "least_expected": least_expected(n, rate * ratio, n, rate),
                "coverage": float((at.probability * covered).sum()),
                "not_a_number": float((at.probability * np.isnan(low + high)[at.k0, at.k1]).sum()),
            }
        )
    return pd.DataFrame(rows)


def exact_study(n: int = 20, alpha: float = 0.05) -> pd.DataFrame:
    """Size of the exact unconditional tests at their boundary: never above α."""
    rows = []
    for null, alternative in ((0.8, "less"), (0.8, "greater"), (1.0, "two-sided")):
        p = np.empty((n + 1, n + 1))
        for k0, k1 in every_table(n):
            p[k0, k1] = exact_unconditional_pvalue(k0, n, k1, n, null=null, alternative=alternative)[1]  # type: ignore[arg-type]
        for rate in RATES:
            at = tables(n, rate * null, n, rate)
            size = float((at.probability * (p <= alpha)[at.k0, at.k1]).sum())
            rows.append({"n": n, "rate": rate, "null": null, "alternative": alternative, "size": size})
    return pd.DataFrame(rows)


def run(*, replicates: int = 2_000, seed: int = 1) -> pd.DataFrame:
    """Every study, one below the other; `study` says which."""
    parts = {
        "coverage": coverage_study(),
        "size": size_study(),
        "power": power_study(),
        "bootstrap": bootstrap_study(seed=seed),
        "exact": exact_study(),
        "maxima": maxima_study(replicates, seed),
        "simultaneous": simultaneous_study(replicates, seed),
        "abroca": abroca_study(replicates, seed),
    }
    return pd.concat([frame.assign(study=name) for name, frame in parts.items()], ignore_index=True).pipe(
        lambda whole: whole[["study", *(c for c in whole.columns if c != "study")]]
    )
