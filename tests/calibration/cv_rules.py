"""How often the rules of Algorithm 1 pass, once and repeated.

Exact generalised Pareto values; a first look at 2,000 of them, then one after each further 2,000,
as `sample_tail` makes them. Only the 51 largest values of a batch can matter; they are drawn by
Rényi's representation. Coefficients and critical values are those of `exponentiality_test`; a test
holds the two together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairstats.numerics.evt.diagnostics import _exponential_top, coefficients_of_variation
from tests.calibration.ecd import largest
from tests.calibration.study import Cell, Counts

K = np.arange(10, 51)
BATCH = 2_000
LOOKS = 20
MANY_LOOKS = 50
ALPHA = 0.05
_NULL = 400_000


class Null(NamedTuple):
    """The coefficients and the statistic of exponential tails."""

    mean: np.ndarray
    sd: np.ndarray
    maxima: np.ndarray

    def critical(self, level: float) -> float:
        """Critical value of the statistic."""
        return float(np.quantile(self.maxima, 1.0 - level))


def null_law(rng: np.random.Generator, replicates: int = _NULL) -> Null:
    """Simulated in parts: 400,000 samples give the critical value at 5%/20 within .02."""
    parts = [
        coefficients_of_variation(_exponential_top(rng, size, int(K[-1])), K)
        for size in np.diff(np.linspace(0, replicates, 21).astype(int))
    ]
    cv = np.concatenate(parts)
    mean = cv.mean(axis=0)
    sd = cv.std(axis=0, ddof=1)
    return Null(mean, sd, np.sort(((cv - mean) / sd).max(axis=1)))


def growing_tops(
    rng: np.random.Generator, replicates: int, shape: float, looks: int, batch: int = BATCH
):
    """Yield the 51 largest values, descending, after each batch; shape (replicates, 51)."""
    k = int(K[-1])
    kept = np.empty((replicates, 0))
    for _ in range(looks):
        top = largest(rng, replicates, batch, k, shape, 1.0)
        new = np.concatenate(
            [top.excesses + top.threshold[:, None], top.threshold[:, None]], axis=1
        )
        kept = np.sort(np.concatenate([kept, new], axis=1), axis=1)[:, : -(k + 2) : -1]
        yield kept


def decisions(top: np.ndarray, null: Null) -> dict[str, np.ndarray]:
    """Statistic of the default test, and whether each of the paper's rules passes.

    Shape (replicates,).
    """
    bound = 1.0 + 0.25 / K
    cv = coefficients_of_variation(top, K)
    return {
        "statistic": ((cv - null.mean) / null.sd).max(axis=1),
        "paper_excess": (cv < bound).all(axis=1),
        "paper_raw": (coefficients_of_variation(top, K, raw=True) < bound).all(axis=1),
    }


def one_shape(
    rng: np.random.Generator, replicates: int, shape: float, null: Null
) -> dict[str, float]:
    """Shares of passes at one look and over 20 or 50 of them."""
    found = [decisions(top, null) for top in growing_tops(rng, replicates, shape, MANY_LOOKS)]
    raw, excess, statistic = (
        np.array([look[name] for look in found])
        for name in ("paper_raw", "paper_excess", "statistic")
    )
    statistic = statistic[:LOOKS]
    unspent, spent = (statistic <= null.critical(ALPHA / share) for share in (1, LOOKS))
    return {
        "shape": shape,
        "raw": raw[0].mean(),
        "raw_20": raw[:LOOKS].any(axis=0).mean(),
        "excess": excess[0].mean(),
        "excess_20": excess[:LOOKS].any(axis=0).mean(),
        "excess_50": excess.any(axis=0).mean(),
        "max_cv": unspent[0].mean(),
        "max_cv_all_20_unspent": unspent.all(axis=0).mean(),
        "max_cv_all_20": spent.all(axis=0).mean(),
        "max_cv_first_pass_20": spent.any(axis=0).mean(),
    }


# ---------------------------------------------------------------- cells of the published table


def _rejects(looks: int) -> Callable[[np.random.Generator, int], Counts]:
    """The default test on an exponential tail.

    Rejected at any of its looks, each at α over their number.
    """

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        null = null_law(rng, 40_000 if looks == 1 else 100_000)
        critical = null.critical(ALPHA / looks)
        rejected = np.zeros(runs, dtype=bool)
        for top in growing_tops(rng, runs, 0.0, looks):
            rejected |= decisions(top, null)["statistic"] > critical
        return {"size": (int(rejected.sum()), runs)}

    return simulate


def _passes(rule: str, shape: float, looks: int) -> Callable[[np.random.Generator, int], Counts]:
    """How often a rule of the paper never passes in so many looks: it has no level to hold."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        null = Null(np.ones(K.size), np.ones(K.size), np.ones(1))
        passed = np.zeros(runs, dtype=bool)
        for top in growing_tops(rng, runs, shape, looks):
            passed |= decisions(top, null)[rule]
        return {"power": (int((~passed).sum()), runs)}

    return simulate


def _power(shape: float) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        null = null_law(rng, 40_000)
        (top,) = growing_tops(rng, runs, shape, 1)
        return {
            "power": (int((decisions(top, null)["statistic"] > null.critical(ALPHA)).sum()), runs)
        }

    return simulate


_RULE = {
    "claim": "fails",
    "remark": (
        "a rule of the paper, selectable: how often it says “too heavy”; 1/(4k) is no critical"
        " value"
    ),
}
CELLS = [
    *(
        Cell(
            "evt",
            f"exponentiality_test(max_looks={n})",
            "exponential tail, 2,000 values a look",
            _rejects(n),
            claim="valid" if n == 1 else "conservative",
        )
        for n in (1, 5, 20)
    ),
    *(
        Cell(
            "evt",
            "exponentiality_test(max_looks=1)",
            f"ξ = {shape:g}, 2,000 values",
            _power(shape),
            4_000,
        )
        for shape in (-0.4, 0.1, 0.3, 0.5)
    ),
    *(
        Cell(
            "evt",
            f"exponentiality_test(rule={rule!r})",
            f"ξ = {shape:g}, {looks} looks of 2,000 values",
            _passes(rule, shape, looks),
            2_000,
            **_RULE,
        )
        for rule in ("paper_raw", "paper_excess")
        for shape in (0.0, 0.3, 0.5)
        for looks in (1, 20)
    ),
]
