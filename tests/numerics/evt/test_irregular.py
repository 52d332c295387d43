"""Intervals where the likelihood is not regular.

Small samples, ξ near −1, the edge of the parameter space.

No formula helps there, so the likelihood region itself is sampled: no likely parameter may lie
outside the interval, and some must lie near its ends."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from fairstats.numerics.evt import EvtFit, fit_gpd
from fairstats.numerics.evt.distributions import power_ratio

from .conftest import gpd_series

CRITICAL = 3.841458820694124
CASES = [
    (10, -1.2, 100.0),
    (10, 0.0, 2.0),
    (15, -0.7, 1.1),
    (30, -0.95, 10.0),
    (60, -0.7, 10.0),
    (30, -0.4, 50.0),
]


def fitted(seed: int, n: int, shape: float) -> EvtFit:
    y = gpd_series(np.random.default_rng(seed), shape, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have no maximum with ξ > −1
        return fit_gpd(np.r_[y, np.full(19 * n, -1.0)], 0.0)


def edge_and_interior(rng: np.random.Generator, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Random (θ, ν) with ξ = θ/ν ≥ −1: many near the end point, many with ξ = −1."""
    n = y.size
    top = y.max()
    theta = np.expm1(rng.uniform(-14, 3 * np.log(n), 4000)) / top
    d = np.log1p(np.outer(theta, y)).mean(axis=1) / theta
    nu = np.maximum(-theta, 1 / d)[:, None] * np.exp(rng.normal(0, 2.4 / np.sqrt(n), (4000, 120)))
    return theta, np.maximum(nu, -theta[:, None])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_return_level_region(case: tuple[int, float, float], seed: int) -> None:
    n, shape, m_lambda = case
    fit = fitted(seed, n, shape)
    m = 20.0 * m_lambda
    total = 20.0 * n
    low, high = fit.return_level(m, method="profile").confidence_interval
    y = fit.sample
    rng = np.random.default_rng(3)
    theta, nu = edge_and_interior(rng, y)
    d = np.log1p(np.outer(theta, y)).mean(axis=1) / theta
    log_rate = np.log(n / total) + rng.normal(0, 2 / np.sqrt(n), nu.shape)
    possible = log_rate < 0
    rate = np.exp(np.minimum(log_rate, -1e-12))
    count = -n * log_rate - (total - n) * np.log1p(-rate)
    nll = n * ((theta[:, None] + nu) * d[:, None] - np.log(nu)) + count
    best = fit.nll - n * np.log(n / total) - (total - n) * np.log1p(-n / total)
    likely = possible & (2 * (nll - best) <= CRITICAL)
    levels = power_ratio((log_rate + np.log(m)) / nu, theta[:, None])[likely]
    width = high - low
    assert levels.min() > low - 1e-6 * width
    assert levels.max() < high + 1e-6 * width
    assert levels.min() < low + 0.1 * width
    scaled = np.arcsinh([low, levels.max(), high])
    assert scaled[1] > scaled[2] - 0.25 * (scaled[2] - scaled[0])


@pytest.mark.parametrize("shape", [-1.2, -0.95, -0.7, -0.4, 0.0, 0.3])
@pytest.mark.parametrize("n", [10, 25, 60])
def test_end_point_region(n: int, shape: float) -> None:
    """Against a dense grid of end points, the scale eliminated and ξ ≥ −1."""
    fit = fitted(4, n, shape)
    y = fit.sample
    low, high = fit.endpoint(method="profile").confidence_interval
    end = y.max() * (1 + np.logspace(-8, 6, 4000))
    mean_log = np.log1p(np.outer(-1 / end, y)).mean(axis=1)
    with np.errstate(invalid="ignore"):
        nll = n * np.where(mean_log < -1, np.log(end), np.log(-mean_log * end) + mean_log + 1)
    likely = np.r_[2 * (n * np.log(y.max()) - fit.nll) <= CRITICAL, 2 * (nll - fit.nll) <= CRITICAL]
    ends = np.r_[y.max(), end][likely]
    if not ends.size:  # ξ is clearly positive
        assert low == high == np.inf or low > 1e5 * y.max()
        return
    assert low == pytest.approx(ends[0], rel=0.01)
    if likely[-1]:
        assert high > 1e5 * y.max()
    else:
        assert high == pytest.approx(ends[-1], rel=0.01)


@pytest.mark.parametrize("shape", [-1.2, -0.9, -0.6])
def test_shape_interval_at_the_edge(shape: float) -> None:
    """Where ξ = −1 is likely the interval of ξ begins there, and its upper end has the critical
    deviance.
    """
    fit = fitted(5, 25, shape)
    y = fit.sample
    n = 25
    low, high = fit.interval("shape", method="profile")
    at_edge = 2 * (n * np.log(y.max()) - fit.nll)
    assert (low == -1.0) == (at_edge <= CRITICAL)
    cap = 1 / (-high * y.max()) if high < 0 else 50 / y.mean()
    nu = np.linspace(1e-3, 1 - 1e-9, 20_001) * cap
    nll = [n * (-np.log(v) + (1 + 1 / high) * np.log1p(high * v * y).mean()) for v in nu]
    assert 2 * (min(nll) - fit.nll) == pytest.approx(CRITICAL, abs=1e-3)
