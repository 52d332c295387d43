"""Size of the ECD test and coverage of its interval: `python -m tests.calibration ecd`.

Tails are exactly generalised Pareto, groups of different sizes, k exceedances each. Only the k + 1 largest
values of a sample matter, which are drawn by Rényi's representation of exponential order statistics. The
deviances are those of `LevelContrast`, which `fs.ecd` calls; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import betaincinv, expit, ndtri, stdtrit

from fairstats.methods.ecd.level_contrast import _deviances, _Side, simulated_roots
from fairstats.numerics.evt.distributions import power_ratio
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.likelihood import Samples
from tests.calibration.study import Cell, Counts

M = 1000.0
SIZES = (3_000, 25_000)
CHI2 = 3.841458820694124


class Top(NamedTuple):
    """Largest values of `replicates` samples: excesses (descending) and thresholds."""

    excesses: np.ndarray
    threshold: np.ndarray


def largest(rng: np.random.Generator, replicates: int, n: int, k: int, shape: float, scale: float) -> Top:
    """k + 1 largest of n generalised Pareto values: E₍ⱼ₎ from the smallest of them upwards.

    The (k + 1)-th largest of n exponentials is −log of a Beta(k + 1, n − k) variable; those above it are that
    plus k exponentials.
    """
    base = -np.log(rng.beta(k + 1, n - k, replicates))
    above = np.sort(rng.standard_exponential((replicates, k)), axis=1)[:, ::-1]
    xi = np.asarray(shape)
    threshold = scale * power_ratio(base, xi)
    values = scale * power_ratio(base[:, None] + above, xi)
    return Top(values - threshold[:, None], threshold)


def side(top: Top, n: int) -> Any:
    """The likelihoods of all samples, as `LevelContrast` holds them."""
    replicates, k = top.excesses.shape
    samples = Samples.from_excesses(top.excesses, np.full(replicates, float(k)))
    likelihood = GpdLikelihood.from_samples(samples, np.full(replicates, float(n)), "binomial")
    return _Side(likelihood, top.threshold, float(np.log(M)), None)  # type: ignore[arg-type]


def delta_errors(one: Any) -> np.ndarray:
    """Delta-method standard error of RL(m), rate estimated; NaN where the fit is not regular."""
    from fairstats.numerics.evt.gpd import fit_gpd_samples
    from fairstats.numerics.evt.return_levels import excess_level_error

    fits = fit_gpd_samples(one.standard.samples, covariance=True)
    n, total = one.standard.samples.n, one.standard.total
    rate = n / total
    with np.errstate(all="ignore"):
        errors = [
            float(excess_level_error(s, x, c, np.asarray(r), np.asarray(r * (1 - r) / t), M)) if x > -0.5 else np.nan
            for s, x, c, r, t in zip(fits.scale, fits.shape, fits.covariance, rate, total, strict=True)
        ]
    return np.array(errors)


def own_location(one: Any) -> np.ndarray:
    """The paper's location: the level of e exceedances in each group's own block."""
    theta, nu = one.standard.fits.theta, one.standard.fits.nu
    s = np.ones_like(theta)
    flat = np.abs(theta) < 1e-12
    grown = np.where(flat, s / nu, np.expm1(s * theta / nu) / np.where(flat, 1.0, theta))
    return np.asarray(one.origin + one.unit * grown)


def deviances(first: Any, second: Any, difference: float) -> np.ndarray:
    """Of one difference in every pair of samples."""
    rows = np.arange(first.unit.size)
    return np.asarray(_deviances(first, second, (rows, rows), np.full(rows.size, difference))[0])


def standardised(sides: list[Any], replicates: int, rng: np.random.Generator, chunk: int = 50) -> np.ndarray:
    """(root − mean)/sd of equal levels, each sample with its own simulation, as `fs.ecd` has it."""
    deviance = deviances(*sides, 0.0)
    root = np.copysign(np.sqrt(deviance), sides[0].estimate() - sides[1].estimate())
    moments = [
        (drawn.mean(axis=1), drawn.std(axis=1, ddof=1))
        for i in range(0, root.size, chunk)
        for drawn in [simulated_roots(*(part(s, i, i + chunk) for s in sides), replicates, rng)]
    ]
    mean, sd = (np.concatenate(values) for values in zip(*moments, strict=True))
    return (root - mean) / sd


def part(one: Any, start: int, stop: int) -> Any:
    """Some of the samples."""
    samples, rows = one.standard.samples, np.arange(one.unit.size)[start:stop]
    some = Samples(*(getattr(samples, f.name)[rows] for f in fields(samples)))
    standard = GpdLikelihood.from_samples(some, one.standard.total[rows], one.standard.rate_term)
    return _Side(standard, one.origin[rows], one.log_period, None)  # type: ignore[arg-type]


def squared_t(p: float, k: int) -> float:
    """Student's t with k − 3 degrees of freedom, squared: what `fs.ecd(calibrated=False)` compares with."""
    return float(stdtrit(k - 3, p) ** 2)


def size_study(replicates: int = 2_000, seed: int = 1) -> pd.DataFrame:
    """Equal tails, unequal groups: rejection rates of the likelihood ratio and of the delta z-test."""
    rows = []
    for k in (50, 200):
        for shape in (-0.4, -0.2, 0.0, 0.2):
            rng = np.random.default_rng([seed, k, int(100 * shape) % 997])
            tops = [largest(rng, replicates, n, k, shape, 0.05) for n in SIZES]
            sides = [side(top, n) for top, n in zip(tops, SIZES, strict=True)]
            deviance = deviances(*sides, 0.0)
            difference = sides[0].estimate() - sides[1].estimate()
            one_sided = deviance > squared_t(0.95, k)
            errors = np.hypot(*(delta_errors(s) for s in sides))
            z = difference / errors
            regular = np.isfinite(z)
            own = own_location(sides[0]) - own_location(sides[1])
            rows.append(
                {
                    "k": k,
                    "shape": shape,
                    "two_sided": (deviance > squared_t(0.975, k)).mean(),
                    "greater": (one_sided & (difference > 0)).mean(),
                    "less": (one_sided & (difference < 0)).mean(),
                    "chi2": (deviance > CHI2).mean(),
                    "mean": deviance.mean(),
                    "delta_two_sided": (np.abs(z[regular]) > ndtri(0.975)).mean(),
                    "delta_refused": 1 - regular.mean(),
                    "own_thresholds": (np.abs(own / errors)[regular] > ndtri(0.975)).mean(),
                    "mc_error": np.sqrt(0.05 * 0.95 / replicates),
                    "replicates": replicates,
                }
            )
    return pd.DataFrame(rows)


def coverage_study(replicates: int = 2_000, seed: int = 2) -> pd.DataFrame:
    """Unequal tails: coverage of the interval of ECD by the deviance at the true difference."""
    rows = []
    for k in (50, 200):
        for shapes, scales in (((-0.2, -0.2), (0.08, 0.05)), ((0.0, -0.3), (0.05, 0.05)), ((0.2, 0.0), (0.04, 0.05))):
            rng = np.random.default_rng([seed, k, int(100 * shapes[0]) % 997])
            sides = [
                side(largest(rng, replicates, n, k, x, s), n) for n, x, s in zip(SIZES, shapes, scales, strict=True)
            ]
            true = [float(s * power_ratio(np.log(M), np.asarray(x))) for x, s in zip(shapes, scales, strict=True)]
            deviance = deviances(*sides, true[0] - true[1])
            rows.append(
                {
                    "k": k,
                    "shapes": f"{shapes[0]:g}, {shapes[1]:g}",
                    "true_ecd": true[0] - true[1],
                    "coverage": (deviance <= squared_t(0.975, k)).mean(),
                    "replicates": replicates,
                }
            )
    return pd.DataFrame(rows)


def run(*, replicates: int = 2_000, seed: int = 1) -> pd.DataFrame:
    """Both studies, one below the other."""
    return pd.concat(
        [
            size_study(replicates, seed).assign(study="size"),
            coverage_study(replicates, seed + 1).assign(study="coverage"),
        ],
        ignore_index=True,
    )


# ---------------------------------------------------------------- cells of the published table


class Law(NamedTuple):
    """A law of CD by its inverse survival function, and whether its tail is generalised Pareto."""

    name: str
    isf: Callable[[np.ndarray], np.ndarray]
    exact: bool


def _pareto(shape: float) -> Law:
    return Law(f"generalised Pareto, ξ = {shape:g}", lambda s: 0.05 * power_ratio(-np.log(s), np.asarray(shape)), True)


LAWS = (
    *(_pareto(x) for x in (-0.4, -0.1, 0.1, 0.3)),
    Law("½·Beta(2, 8)", lambda s: 0.5 * betaincinv(2.0, 8.0, 1.0 - s), False),
    Law("normal, sd .1", lambda s: -0.1 * ndtri(s), False),
    Law("logistic scores", lambda s: 0.4 / (1.0 + np.exp(2.0 + 1.2 * ndtri(s))), False),
)
#: Further laws, at one setting only; that of t has no end point, so that its scale keeps the level below 1.
FURTHER_LAWS = (
    Law("t₅, scale .05", lambda s: -0.05 * stdtrit(5.0, s), False),
    Law("lognormal, log sd .5", lambda s: 0.05 * np.exp(-0.5 * ndtri(s)), False),
    Law("difference of logit-normal scores", lambda s: expit(-1.0 - 1.5 * ndtri(s)) - expit(-1.0), False),
)


def of_law(rng: np.random.Generator, runs: int, n: int, k: int, law: Law) -> Top:
    """The k + 1 largest of n values of a law, from uniform order statistics."""
    base = rng.beta(k + 1, n - k, runs)
    above = np.sort(rng.random((runs, k)), axis=1) * base[:, None]
    threshold = law.isf(base)
    return Top(law.isf(above) - threshold[:, None], threshold)


def _equal(
    sizes: tuple[int, int], k: int, law: Law, *, one_sided: bool
) -> Callable[[np.random.Generator, int], Counts]:
    """Equal laws, so that the true difference is 0: the 95% interval, or both one-sided limits (each 5%).

    m = 1,000 is within reach of every setting, so that no threshold is lowered.
    """

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        sides = [side(of_law(rng, runs, n, k, law), n) for n in sizes]
        z = standardised(sides, 200, rng)
        above, below = (float(ndtri(0.95 if one_sided else 0.975)) < side * z for side in (1.0, -1.0))
        counts: dict[str, tuple[float, int]] = {"above": (int(above.sum()), runs), "below": (int(below.sum()), runs)}
        return counts if one_sided else {"coverage": (int((~(above | below)).sum()), runs), **counts}

    return simulate


def _regime(sizes: tuple[int, int], k: int, law: Law) -> str:
    shares = " and ".join(f"{k / n:.1%}" for n in sizes)
    return f"{sizes[0]:,} and {sizes[1]:,} rows, k = {k} ({shares}), {law.name}"


_SETTINGS = (
    ((3_000, 25_000), 50),
    ((2_000, 2_000), 50),
    ((5_000, 25_000), 120),
    ((20_000, 20_000), 200),
    ((2_000, 20_000), 200),
)
CELLS = [
    Cell(
        "ecd",
        "ecd: one-sided limits" if one_sided else "ecd: interval",
        _regime(sizes, k, law),
        _equal(sizes, k, law, one_sided=one_sided),
        runs=2_000,
    )
    for i, (sizes, k) in enumerate(_SETTINGS)
    for law in (LAWS if i else (*LAWS, *FURTHER_LAWS))
    for one_sided in (False, True)
]
