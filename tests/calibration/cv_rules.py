"""How often the rules of Algorithm 1 pass, once and repeated: `python -m tests.calibration cv_rules`.

Exact generalised Pareto values; a first look at 2,000 of them, then one after each further 2,000, as
`sample_tail` makes them. Only the 51 largest values of a batch can matter; they are drawn by Rényi's
representation. Coefficients and critical values are those of `exponentiality_test`; a test holds the two
together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from fairstats.numerics.evt.exponentiality import (
    _exponential_top,
    coefficients_of_variation,
    raw_coefficients_of_variation,
)
from tests.calibration.ecd import largest

K = np.arange(10, 51)
#: −1 is a uniform law; METHODS.md has figures at ξ = 0, .1, .3 and .5.
SHAPES = (-1.0, -0.4, -0.2, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
BATCH, LOOKS, MANY_LOOKS, ALPHA = 2_000, 20, 50, 0.05
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
    mean, sd = cv.mean(axis=0), cv.std(axis=0, ddof=1)
    return Null(mean, sd, np.sort(((cv - mean) / sd).max(axis=1)))


def growing_tops(rng: np.random.Generator, replicates: int, shape: float, looks: int, batch: int = BATCH):
    """Yield the 51 largest values, descending, after each batch; shape (replicates, 51)."""
    k = int(K[-1])
    kept = np.empty((replicates, 0))
    for _ in range(looks):
        top = largest(rng, replicates, batch, k, shape, 1.0)
        new = np.concatenate([top.excesses + top.threshold[:, None], top.threshold[:, None]], axis=1)
        kept = np.sort(np.concatenate([kept, new], axis=1), axis=1)[:, : -(k + 2) : -1]
        yield kept


def decisions(top: np.ndarray, null: Null) -> dict[str, np.ndarray]:
    """Statistic of the default test, and whether each of the paper's rules passes; shape (replicates,)."""
    bound = 1.0 + 0.25 / K
    cv = coefficients_of_variation(top, K)
    return {
        "statistic": ((cv - null.mean) / null.sd).max(axis=1),
        "paper_excess": (cv < bound).all(axis=1),
        "paper_raw": (raw_coefficients_of_variation(top, K) < bound).all(axis=1),
    }


def one_shape(rng: np.random.Generator, replicates: int, shape: float, null: Null) -> dict[str, float]:
    """Shares of passes at one look and over 20 or 50 of them."""
    found = [decisions(top, null) for top in growing_tops(rng, replicates, shape, MANY_LOOKS)]
    raw, excess, statistic = (
        np.array([look[name] for look in found]) for name in ("paper_raw", "paper_excess", "statistic")
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


def run(*, replicates: int = 10_000, seed: int = 1) -> pd.DataFrame:
    """Share of passes: each rule at one look, repeated until it passes, and with α spent over all looks."""
    null = null_law(np.random.default_rng([seed, 0]))
    rows = [
        one_shape(np.random.default_rng([seed, 1 + j]), replicates, shape, null)
        for j, shape in enumerate(SHAPES)
    ]
    return pd.DataFrame(rows).assign(
        critical_once=null.critical(ALPHA), critical_spent=null.critical(ALPHA / LOOKS), replicates=replicates
    )
