"""Size of the ECD test and coverage of its interval: `python -m tests.calibration ecd`.

Tails are exactly generalised Pareto, groups of different sizes, k exceedances each. Only the k + 1 largest
values of a sample matter, which are drawn by Rényi's representation of exponential order statistics. The
deviances are those of `LevelContrast`, which `fs.ecd` calls; a test holds the two together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from fairstats.numerics.evt.gpd import GpdSamples
from fairstats.numerics.evt.gpd_surface import GpdSurface
from fairstats.numerics.evt.level_contrast import _deviance, _Side
from fairstats.numerics.evt.profile import level_profile
from fairstats.numerics.evt.stretch import power_ratio

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
    samples = GpdSamples.from_excesses(top.excesses, np.full(replicates, float(k)))
    surface = GpdSurface.from_samples(samples, np.full(replicates, float(n)), "poisson")
    return _Side(surface, top.threshold, float(np.log(M)), None)  # type: ignore[arg-type]


def delta_errors(one: Any) -> np.ndarray:
    """Delta-method standard error of RL(m), rate estimated; NaN where the fit is not regular."""
    from fairstats.numerics.evt.delta import excess_level_error
    from fairstats.numerics.evt.gpd import fit_gpd_samples

    fits = fit_gpd_samples(one.surface.samples, covariance=True)
    n, total = one.surface.n, one.surface.total
    rate = n / total
    with np.errstate(all="ignore"):
        errors = [
            float(excess_level_error(s, x, c, np.asarray(r), np.asarray(r / t), M)) if x > -0.5 else np.nan
            for s, x, c, r, t in zip(fits.scale, fits.shape, fits.covariance, rate, total, strict=True)
        ]
    return np.array(errors)


def own_location(one: Any) -> np.ndarray:
    """The paper's location: the level of e exceedances in each group's own block."""
    theta, nu = one.surface.theta, one.surface.nu
    s = np.ones_like(theta)
    flat = np.abs(theta) < 1e-12
    grown = np.where(flat, s / nu, np.expm1(s * theta / nu) / np.where(flat, 1.0, theta))
    return np.asarray(one.origin + one.unit * grown)


def parameters_at(one: Any, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rate, scale and shape that are most likely at each sample's level: `_Side.parameters_at` for all."""
    distance = (levels - one.origin) / one.unit
    period = np.full(levels.size, one.log_period)
    points = level_profile(one.surface, np.arange(levels.size), distance, period)
    theta, nu = points.theta, points.nu
    flat = np.abs(theta) < 1e-12
    stretched = np.where(flat, distance, np.log1p(theta * distance) / np.where(flat, 1.0, theta))
    return np.minimum(np.exp(nu * stretched - one.log_period), 1.0), one.unit / nu, theta / nu


def resampled(one: Any, n: int, levels: np.ndarray, rng: np.random.Generator) -> Any:
    """One sample from each sample's most likely model with the given level."""
    rate, scale, shape = parameters_at(one, levels)
    count = np.maximum(rng.poisson(n * rate), 5).astype(float)
    grown = rng.standard_exponential((levels.size, int(count.max())))
    excesses = scale[:, None] * power_ratio(grown, np.broadcast_to(shape[:, None], grown.shape))
    excesses[np.arange(excesses.shape[1]) >= count[:, None]] = 0.0
    samples = GpdSamples.from_excesses(excesses, count)
    surface = GpdSurface.from_samples(samples, np.full(levels.size, float(n)), "poisson")
    return _Side(surface, one.origin, one.log_period, None)  # type: ignore[arg-type]


def squared_t(p: float, k: int) -> float:
    """What `fs.ecd` compares the likelihood ratio with: Student's t, k − 3 degrees of freedom, squared."""
    return float(stdtrit(k - 3, p) ** 2)


def size_study(replicates: int = 2_000, seed: int = 1) -> pd.DataFrame:
    """Equal tails, unequal groups: rejection rates of the likelihood ratio and of the delta z-test.

    `calibrated` and `bartlett` take the law of the simulated likelihood ratio and its mean from one resample
    of each sample, all pooled (the warp-speed bootstrap of Giacomini, Politis & White 2013).
    """
    rows = []
    for k in (50, 200):
        for shape in (-0.4, -0.2, 0.0, 0.2):
            rng = np.random.default_rng([seed, k, int(100 * shape) % 997])
            tops = [largest(rng, replicates, n, k, shape, 0.05) for n in SIZES]
            sides = [side(top, n) for top, n in zip(tops, SIZES, strict=True)]
            deviance, common = _deviance(*sides, np.zeros(replicates))
            again = [resampled(s, n, common, rng) for s, n in zip(sides, SIZES, strict=True)]
            simulated, _ = _deviance(*again, np.zeros(replicates))
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
                    "calibrated": (deviance > np.quantile(simulated, 0.95)).mean(),
                    "bartlett": (deviance > CHI2 * simulated.mean()).mean(),
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
        for shapes, scales in (
            ((-0.2, -0.2), (0.08, 0.05)),
            ((0.0, -0.3), (0.05, 0.05)),
            ((0.2, 0.0), (0.04, 0.05)),
        ):
            rng = np.random.default_rng([seed, k, int(100 * shapes[0]) % 997])
            sides = [
                side(largest(rng, replicates, n, k, x, s), n)
                for n, x, s in zip(SIZES, shapes, scales, strict=True)
            ]
            true = [
                float(s * power_ratio(np.log(M), np.asarray(x))) for x, s in zip(shapes, scales, strict=True)
            ]
            deviance, _ = _deviance(*sides, np.full(replicates, true[0] - true[1]))
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
