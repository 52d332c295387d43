"""Does a highest density region hold the probability that it states?

Regions are estimated from n draws of a known law; their probability under that law is computed exactly
(1-D) or from a million further draws (2-D, 3-D; the same for all replicates). The mean over replicates
should be the nominal probability within half a point at n = 5,000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fairstats.ground.backends import use_backend
from fairstats.numerics.hdr.region import hdr
from fairstats.numerics.hdr.result import HdrResult

__all__ = ["CASES", "Case", "run"]

PROBS = (0.5, 0.8, 0.95)
FURTHER_DRAWS = 1_000_000

Draw = Callable[[np.random.Generator, int], np.ndarray]
Cdf = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Case:
    """A law to draw from, its distribution function where there is one, and what `hdr` is told."""

    draw: Draw
    cdf: Cdf | None = None
    options: dict[str, Any] = field(default_factory=dict)


def _phi(x: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return np.asarray(ndtr(x))


def _beta(x: np.ndarray) -> np.ndarray:
    from scipy.special import betainc

    return np.asarray(betainc(2.0, 8.0, np.clip(x, 0, 1)))


def _student(x: np.ndarray) -> np.ndarray:
    from scipy.special import stdtr

    return np.asarray(stdtr(3.0, x))


def _two_normals(rng: np.random.Generator, n: int) -> np.ndarray:
    first = rng.random(n) < 0.6
    return np.where(first, rng.normal(-2, 0.7, n), rng.normal(2, 1, n))


def _two_clouds(rng: np.random.Generator, n: int) -> np.ndarray:
    first = rng.random((n, 1)) < 0.6
    return np.where(first, [-1.5, -1.0], [2.0, 1.2]) + rng.standard_normal((n, 2)) * [0.8, 0.6]


def _tilted(dimension: int, correlation: float) -> Draw:
    root = np.linalg.cholesky(
        np.full((dimension, dimension), correlation) + (1 - correlation) * np.eye(dimension)
    )
    return lambda rng, n: rng.standard_normal((n, dimension)) @ root.T


CASES: dict[str, Case] = {
    "normal": Case(lambda rng, n: rng.standard_normal(n), _phi),
    "two normals": Case(_two_normals, lambda x: 0.6 * _phi((x + 2) / 0.7) + 0.4 * _phi(x - 2)),
    "Beta(2, 8) on [0, 1]": Case(lambda rng, n: rng.beta(2, 8, n), _beta, {"support": (0, 1)}),
    "t with 3 df": Case(lambda rng, n: rng.standard_t(3, n), _student),
    "exponential on [0, ∞)": Case(
        lambda rng, n: rng.exponential(size=n), lambda x: -np.expm1(-np.maximum(x, 0)), {"support": (0, None)}
    ),
    "half-normal on [0, ∞)": Case(
        lambda rng, n: np.abs(rng.standard_normal(n)),
        lambda x: 2 * _phi(np.maximum(x, 0)) - 1,
        {"support": (0, None)},
    ),
    "2-D normal, correlation 0.6": Case(_tilted(2, 0.6)),
    "2-D two clouds": Case(_two_clouds),
    "3-D normal, correlation 0.6": Case(_tilted(3, 0.6)),
}


def run(
    *,
    replicates: int = 400,
    seed: int = 20240607,
    n: int = 5000,
    cases: tuple[str, ...] | None = None,
    probs: tuple[float, ...] = PROBS,
) -> pd.DataFrame:
    """Mean probability of regions under the law that the draws came from.

    Parameters
    ----------
    replicates : int
        Samples per case.
    seed : int
        Each case and replicate has its own stream, so that one case alone gives the same numbers.
    n : int
        Draws per sample.
    cases : tuple of str, optional
        Names in `CASES`; default all.
    probs : tuple of float
        Nominal probabilities, each a call of its own with its own default bandwidth.

    Returns
    -------
    DataFrame
        case, prob, n, replicates, mean_mass, mc_error (of the mean), spread (standard deviation over
        replicates), off (mean_mass − prob, in points), within_half_a_point.
    """
    rows = []
    with use_backend("scipy"):
        for name in CASES if cases is None else cases:
            case, key = CASES[name], list(CASES).index(name)
            further = None
            if case.cdf is None:
                further = case.draw(np.random.default_rng([seed, key]), FURTHER_DRAWS)
            for prob in probs:
                masses = np.empty(replicates)
                for k in range(replicates):
                    draws = case.draw(np.random.default_rng([seed, key, k]), n)
                    masses[k] = _mass(hdr(draws, prob, **case.options), case, further)
                mean, spread = float(masses.mean()), float(masses.std(ddof=1))
                off = 100 * (mean - prob)
                rows.append(
                    {
                        "case": name,
                        "prob": prob,
                        "n": n,
                        "replicates": replicates,
                        "mean_mass": mean,
                        "mc_error": spread / np.sqrt(replicates),
                        "spread": spread,
                        "off": off,
                        "within_half_a_point": abs(off) <= 0.5,
                    }
                )
    return pd.DataFrame(rows)


def _mass(result: HdrResult, case: Case, further: np.ndarray | None) -> float:
    if case.cdf is not None:
        return float(np.diff(case.cdf(result.intervals)).sum())
    if further is None:
        raise ValueError("a case without distribution function needs further draws")
    few = further if result.dimension == 2 else further[:20_000]  # kernels at points are slow
    return float(result.contains(few).mean())
