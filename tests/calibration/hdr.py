"""Does a highest density region hold the probability that it states?

Regions are estimated from n draws of a known law; their probability under that law is computed
exactly (1-D) or from further draws (2-D, 3-D; the same for all replicates). The mean over
replicates should be the nominal probability within half a point at n = 5,000."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import gammaln

from fairstats.ground.backends import use_backend
from fairstats.numerics.hdr import line
from fairstats.numerics.hdr.region import hdr
from fairstats.numerics.hdr.result import HdrResult
from tests.calibration.study import Cell, Counts

__all__ = ["CASES", "CELLS", "Case", "masses"]

FURTHER_DRAWS = 20_000

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


def _von_mises(x: np.ndarray) -> np.ndarray:
    """Its distribution function goes on beyond one turn."""
    from scipy.stats import vonmises

    return np.asarray(vonmises(2.0).cdf(x))


def _two_times(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.4, rng.normal(11, 1, n), rng.normal(23, 2, n))


def _wrapped(x: np.ndarray) -> np.ndarray:
    """Distribution function of the same times, summed over the turns.

    Differences within a turn are masses.
    """
    turns = 24.0 * np.arange(-4, 5)
    at = np.asarray(x)[..., None] - turns
    return np.asarray((0.4 * _phi(at - 11) + 0.6 * _phi((at - 23) / 2)).sum(axis=-1))


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
        lambda rng, n: rng.exponential(size=n),
        lambda x: -np.expm1(-np.maximum(x, 0)),
        {"support": (0, None)},
    ),
    "half-normal on [0, ∞)": Case(
        lambda rng, n: np.abs(rng.standard_normal(n)),
        lambda x: 2 * _phi(np.maximum(x, 0)) - 1,
        {"support": (0, None)},
    ),
    "von Mises, κ = 2, its mean at the cut": Case(
        lambda rng, n: rng.vonmises(0.0, 2.0, n), _von_mises, {"period": 2 * np.pi}
    ),
    "two wrapped normals, 11 and 23 of 24 hours": Case(_two_times, _wrapped, {"period": 24.0}),
    "2-D normal, correlation 0.6": Case(_tilted(2, 0.6)),
    "2-D two clouds": Case(_two_clouds),
    "3-D normal, correlation 0.6": Case(_tilted(3, 0.6)),
}


def masses(
    name: str, n: int, prob: float, runs: int, rng: np.random.Generator, **options: Any
) -> np.ndarray:
    """Probability under its law of each of `runs` regions from n draws of a case."""
    case = SCALED[name]
    further = None if case.cdf is not None else case.draw(rng, FURTHER_DRAWS)
    # errors beside atoms, from resamples, are not asked for here
    with use_backend("scipy"), patch.object(line, "RESAMPLES", 2):
        how = {**case.options, **options}
        return np.array(
            [_mass(hdr(case.draw(rng, n), prob, **how), case, further) for _ in range(runs)]
        )


def _mass(result: HdrResult, case: Case, further: np.ndarray | None) -> float:
    if case.cdf is not None:
        return float(np.diff(case.cdf(result.intervals)).sum())
    if further is None:
        raise ValueError("a case without distribution function needs further draws")
    if result.dimension == 1:
        return float(result.contains(further).mean())
    few = further if result.dimension == 2 else further[:5_000]  # kernels at points are slow
    return float(result.contains(few).mean())


# ---------------------------------------------------------------- cells of the published table


def _atom(dimension: int) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.standard_normal((n, dimension))
        x[rng.random(n) < 0.2] = 0.5
        return x[:, 0] if dimension == 1 else x

    return draw


SCALED = {
    **CASES,
    "normal with a fifth of the draws at .5": Case(_atom(1), None, {"discrete": False}),
    "2-D normal with a fifth of the draws at one point": Case(_atom(2)),
    "3-D normal with a fifth of the draws at one point": Case(_atom(3)),
}


def _held(
    name: str, n: int, prob: float, **options: Any
) -> Callable[[np.random.Generator, int], Counts]:
    """How often a new draw lies in the region, over samples."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        return {"coverage": (float(masses(name, n, prob, runs, rng, **options).sum()), runs)}

    return simulate


def _held_counts(n: int, prob: float) -> Callable[[np.random.Generator, int], Counts]:
    """The same of whole numbers, by Poisson's probabilities of those in the region."""
    values = np.arange(60)
    masses_of_values = np.exp(values * np.log(6.0) - 6.0 - gammaln(values + 1.0))

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        held = 0.0
        for _ in range(runs):
            found = hdr(rng.poisson(6.0, n), prob, discrete=True, backend="scipy")
            held += float(masses_of_values[found.contains(values)].sum())
        return {"coverage": (held, runs)}

    return simulate


CELLS = (
    [
        Cell(
            "hdr",
            "hdr: 95% region holds a new draw",
            f"{n:,} draws, {name}",
            _held(name, n, 0.95),
            runs=1_000 if n < 1_000 else 400,
        )
        for name in SCALED
        for n in (200, 2_000)
    ]
    + [
        Cell(
            "hdr",
            "hdr(level='in_sample'): 95% region holds a new draw",
            f"200 draws, {name}",
            _held(name, 200, 0.95, level="in_sample"),
            runs=1_000,
            claim="fails",
            remark="hdrcde's way: the kernel that each draw put on itself is counted",
        )
        for name in (
            "normal",
            "2-D normal, correlation 0.6",
            "von Mises, κ = 2, its mean at the cut",
        )
    ]
    + [
        Cell(
            "hdr",
            "hdr(discrete=True): 95% region holds a new draw",
            f"{n:,} draws, Poisson with mean 6",
            _held_counts(n, 0.95),
            runs=1_000,
            claim="conservative",
        )
        for n in (200, 2_000)
    ]
)
