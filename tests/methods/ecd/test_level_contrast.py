"""Likelihood ratio of a difference of return levels.

Against plain minimisers, by symmetry, by its law.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import binom, genpareto

from fairstats.methods.ecd.level_contrast import LevelContrast, _deviance_at_edge, _find_deviances
from fairstats.numerics.evt import EvtFit, fit_gpd, fit_point_process

M = 1000.0
BOTH = np.array([-1.0, 1.0])
ROOT = np.full(2, np.sqrt(3.84))


def tail(seed: int, n: int, shape: float = 0.0, k: int = 50, *, process: bool = False) -> EvtFit:
    x = genpareto.rvs(shape, size=n, random_state=np.random.default_rng(seed))
    u = float(np.sort(x)[-k - 1])
    if process:
        return fit_point_process(x, u, 500, backend="scipy")
    return fit_gpd(x, u, backend="scipy")


def plain_nll(fit: EvtFit, level: float, scale: float, shape: float) -> float:
    """Binomial and generalised Pareto likelihood with the rate that makes RL(M) = level, by
    SciPy.
    """
    reach = 1 + shape * (level - fit.origin) / scale
    if scale <= 0 or reach <= 0:
        return np.inf
    rate = reach ** (1 / shape) / M
    if not 0 < rate < 1:
        return np.inf
    excess = genpareto.logpdf(fit.sample - fit.origin, shape, scale=scale).sum()
    return -float(excess + binom.logpmf(fit.n_exceedances, fit.n_total, rate))


@pytest.mark.parametrize("difference", [0.0, 0.8, -0.5])
def test_against_a_plain_minimiser(difference: float) -> None:
    """All five free parameters by Nelder–Mead on SciPy's densities.

    1e-5 is what its simplex reaches.
    """
    a = tail(1, 3000)
    b = tail(2, 25_000)

    def total(p: np.ndarray) -> float:
        return plain_nll(a, p[0] + difference, p[1], p[2]) + plain_nll(b, p[0], p[3], p[4])

    start = [
        b.return_level(M, method="delta").estimate,
        a.scale,
        a.shape + 1e-3,
        b.scale,
        b.shape + 1e-3,
    ]
    options = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-11}
    best = min(
        minimize(total, np.array(start) * s, method="Nelder-Mead", options=options).fun
        for s in (1, 1.02, 0.98)
    )
    free = sum(
        -genpareto.logpdf(f.sample - f.origin, f.shape, scale=f.scale).sum()
        - binom.logpmf(f.n_exceedances, f.n_total, f.rate)
        for f in (a, b)
    )
    found = LevelContrast.of(a, b, M).deviance(np.array([difference]))[0]
    assert found == pytest.approx(2 * (best - free), abs=1e-5)


@pytest.mark.parametrize(
    ("shape", "process"),
    [
        (-0.6, False),
        (-0.2, True),
        (0.3, False),
        *(
            pytest.param(*o, marks=pytest.mark.slow)
            for o in ((-0.6, True), (-0.2, False), (0.3, True))
        ),
    ],
)
def test_against_the_sum_of_the_profiles(shape: float, process: bool) -> None:
    """min over r of the two published profiles, by SciPy's bounded minimiser on a grid of
    starts.
    """
    a = tail(3, 3000, shape, process=process)
    b = tail(4, 25_000, shape, process=process)
    contrast = LevelContrast.of(a, b, M)
    first = a._profile_likelihood()
    second = b._profile_likelihood()
    tau = np.log(M)
    for difference in (0.0, contrast.estimate, 1.5 * contrast.estimate + 0.1):
        ends = sorted([second.level(tau), first.level(tau) - difference])

        def total(r: float, difference: float = difference) -> float:
            levels = np.array([r + difference]), np.array([r])
            return float(
                first.level_deviance(tau, levels[0])[0] + second.level_deviance(tau, levels[1])[0]
            )

        cuts = np.linspace(ends[0] - 1e-9, ends[1] + 1e-9, 6)
        wanted = min(
            minimize_scalar(total, bounds=c, method="bounded", options={"xatol": 1e-10}).fun
            for c in pairwise(cuts)
        )
        assert contrast.deviance(np.array([difference]))[0] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("shape", [-0.6, -0.2, 0.0, 0.3])
@pytest.mark.parametrize("widths", [-4, -1.5, 1.5, 4])
def test_differences_far_from_the_estimate(shape: float, widths: float) -> None:
    """Widths of the interval away, where the equations do not settle from the estimate.

    Witness of the values: ever finer grids of the published profiles; of the slope, the quotient of
    differences 1e-5 widths apart.
    """
    a = tail(3, 3000, shape)
    b = tail(4, 25_000, shape)
    contrast = LevelContrast.of(a, b, M)
    low, high = contrast.ends(BOTH, ROOT)
    difference = contrast.estimate + widths * (high - low)
    step = 1e-5 * (high - low)
    first = a._profile_likelihood()
    second = b._profile_likelihood()
    tau = np.log(M)
    ends = sorted([second.level(tau), first.level(tau) - difference])
    levels = np.linspace(*ends, 101)
    for _ in range(5):
        total = first.level_deviance(tau, levels + difference) + second.level_deviance(tau, levels)
        near = np.clip(np.argmin(total) + np.array([-2, 2]), 0, 100)
        levels = np.linspace(*levels[near], 101)
    rows = np.zeros(3, dtype=np.intp)
    three = difference + step * np.array([-1.0, 0.0, 1.0])
    (below, found, above), slope = _find_deviances(
        contrast.first, contrast.second, (rows, rows), three
    )
    assert found == pytest.approx(total.min(), rel=1e-8)
    assert slope[1] == pytest.approx((above - below) / (2 * step), rel=1e-3)


def test_the_edge_of_shape_minus_one_by_hand() -> None:
    """There the density is one over the largest excess.

    The deviance of the side where that costs less.
    """
    fits = tail(3, 3000, -0.6), tail(4, 25_000, -0.2)
    contrast = LevelContrast.of(*fits, M)
    rows = np.zeros(1, dtype=np.intp)
    costs = [
        2 * (e.size * np.log(e.max()) + genpareto.logpdf(e, fit.shape, scale=fit.scale).sum())
        for fit, e in ((fit, fit.sample - fit.origin) for fit in fits)
    ]
    assert costs[0] < costs[1]
    assert _deviance_at_edge(contrast.first, contrast.second, (rows, rows)) == pytest.approx(
        [costs[0]], rel=1e-8
    )
    assert _deviance_at_edge(contrast.second, contrast.first, (rows, rows)) == pytest.approx(
        [costs[0]], rel=1e-8
    )


def test_the_estimate_has_deviance_0_and_the_ends_the_target() -> None:
    contrast = LevelContrast.of(tail(5, 3000), tail(6, 25_000, 0.1), M)
    assert contrast.deviance(np.array([contrast.estimate]))[0] == pytest.approx(0, abs=1e-9)
    low, high = contrast.ends(BOTH, ROOT)
    assert low < contrast.estimate < high
    np.testing.assert_allclose(contrast.deviance(np.array([low, high])), 3.84, rtol=1e-9)


def test_swapping_the_groups_turns_the_sign() -> None:
    a = tail(7, 3000, -0.2)
    b = tail(8, 10_000, -0.2)
    there = LevelContrast.of(a, b, M)
    back = LevelContrast.of(b, a, M)
    np.testing.assert_allclose(there.ends(BOTH, ROOT), -back.ends(BOTH, ROOT)[::-1], rtol=1e-9)


def test_the_estimate_is_the_difference_of_the_return_levels() -> None:
    a = tail(9, 3000, 0.2)
    b = tail(10, 5000, -0.3)
    wanted = np.subtract(*(fit.return_level(M, method="profile").estimate for fit in (a, b)))
    assert LevelContrast.of(a, b, M).estimate == pytest.approx(wanted, abs=1e-12)
