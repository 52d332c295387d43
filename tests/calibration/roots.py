"""The law of the signed root, by which likelihood intervals of tails are standardised.

r(ψ) = sign(ψ̂ − ψ)·√D(ψ) of shape, scale, return levels and end point has not quite mean 0 and
variance 1. Both are simulated at the truth, for exact generalised Pareto excesses over a fixed
threshold (N = 20k values, k of which exceed it on average), and their expansions mean = a(ξ)/√k,
variance = 1 + b(ξ)/k are fitted by quadratics in ξ: the tables `ROOT_MEAN` and `ROOT_VARIANCE` of
`fairstats.numerics.evt.contour`, and those of `r/R/tails.R` (their last knot has the mean of the
level with s = 8 and the variance of the shape). With 10,000 samples a setting (four minutes)
``python -m tests.calibration.roots`` prints them again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairstats.numerics.evt.contour import ROOT_KNOTS
from fairstats.numerics.evt.distributions import power_ratio, random_samples
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.likelihood import Samples, level_profile, scale_profile, shape_profile

EXCEEDANCES = (20, 30, 50, 80)
SHAPES = (-0.45, -0.35, -0.25, -0.15, -0.05, 0.05, 0.15, 0.3, 0.5, 0.8)
SEED = 77
REPLICATES = 10_000
#: Samples of fewer exceedances are drawn with so many.
_LEAST = 8


@dataclass(frozen=True)
class Setting:
    """Mean and variance of the signed root of each parameter, for k exceedances of shape ξ."""

    k: int
    shape: float
    moments: dict[str, tuple[float, float]]


def simulate(
    replicates: int, seed: int = SEED, exceedances: tuple[int, ...] = EXCEEDANCES
) -> Iterator[Setting]:
    """Every setting of the study, all from one stream."""
    rng = np.random.default_rng(seed)
    for k in exceedances:
        for shape in SHAPES:
            yield Setting(k, shape, _moments(rng, k, shape, replicates))


def _moments(
    rng: np.random.Generator, k: int, shape: float, replicates: int
) -> dict[str, tuple[float, float]]:
    total = 20 * k
    rows = np.arange(replicates)
    n = np.maximum(rng.binomial(total, k / total, size=replicates), _LEAST)
    excesses, sizes = random_samples(rng, n, np.float64(1.0), np.float64(shape))[:2]
    samples = Samples.from_excesses(excesses, sizes)
    likelihood = GpdLikelihood.from_samples(samples, np.full(replicates, float(total)), "binomial")
    fits = likelihood.fits
    lowest = likelihood.minimum()

    def of(
        estimate: np.ndarray, truth: np.ndarray | float, value: np.ndarray
    ) -> tuple[float, float]:
        root = np.sign(estimate - truth) * np.sqrt(np.maximum(2.0 * (value - lowest), 0.0))
        root = root[np.isfinite(root)]
        return float(root.mean()), float(root.var())

    given = np.full(replicates, shape)
    found = {
        "shape": of(
            fits.theta / fits.nu, shape, shape_profile(likelihood, rows, given, fits.nu).value
        )
    }
    scale = scale_profile(likelihood, rows, samples.unit, fits.theta).value  # at the true scale, 1
    found["scale"] = of(samples.unit / fits.nu, 1.0, scale)
    for s in ROOT_KNOTS:
        period = s - np.log(k / total)
        d = float(power_ratio(np.asarray(s), np.asarray(shape))) / samples.unit
        points = level_profile(likelihood, rows, d, np.full(replicates, period))
        estimate = power_ratio((likelihood.log_rate + period) / fits.nu, fits.theta)
        found[f"level {s:g}"] = of(estimate, d, points.value)
    return found


def coefficients(settings: list[Setting], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Quadratics in ξ of √k·mean and of k·(variance − 1), by least squares weighted by their
    precision.
    """
    k, shape = (
        np.array([getattr(s, field) for s in settings], dtype=float) for field in ("k", "shape")
    )
    mean, variance = np.array([s.moments[name] for s in settings]).T
    design = np.stack([np.ones_like(shape), shape, shape**2], -1)
    in_mean = np.linalg.lstsq(design / np.sqrt(k)[:, None], mean, rcond=None)[0]
    in_variance = np.linalg.lstsq(design / k[:, None], variance - 1.0, rcond=None)[0]
    return in_mean, in_variance


if __name__ == "__main__":
    done = list(simulate(int(sys.argv[1]) if len(sys.argv) > 1 else REPLICATES))
    for name in done[0].moments:
        mean, variance = coefficients(done, name)
        sys.stdout.write(
            f"{name}: mean {mean.round(2).tolist()}, variance {variance.round(1).tolist()}\n"
        )
