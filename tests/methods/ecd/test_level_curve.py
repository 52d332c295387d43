"""Profiles of two levels against `LevelContrast`, whose own witness is a plain minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import genpareto

from fairstats.methods.ecd.level_contrast import LevelContrast
from fairstats.methods.ecd.level_curve import CurveContrast
from fairstats.numerics.evt import EvtFit, fit_gpd

M = 1000.0
#: Shape, exceedances of the first (of 1,500 values) and of the second (of 20,000).
PAIRS = [(-0.3, 30, 400), (0.0, 50, 50), (0.1, 30, 400), (-0.7, 40, 400)]


def tail(seed: int, n: int, shape: float, k: int) -> EvtFit:
    x = 0.03 * genpareto.rvs(shape, size=n, random_state=np.random.default_rng(seed))
    return fit_gpd(x, float(np.sort(x)[-k - 1]), backend="scipy")


def pair(shape: float, k: int, many: int) -> tuple[EvtFit, EvtFit]:
    return tail(3, 1_500, shape, k), tail(4, 20_000, shape, many)


@pytest.mark.parametrize(("shape", "k", "many"), PAIRS)
def test_against_the_exact_likelihood_ratio(shape: float, k: int, many: int) -> None:
    """Estimate, ends to 1e-4 of the width; deviances to 1e-6, near the estimate, too, where a root of
    .1 belongs to a deviance of .01.
    """
    fits = pair(shape, k, many)
    exact = LevelContrast.of(*fits, M)
    quick = CurveContrast.of_fits(*fits, M)
    assert quick.estimate == pytest.approx(exact.estimate, abs=1e-12)
    sides = np.array([-1.0, 1.0, -1.0, 1.0])
    roots = np.array([1.2, 1.2, 2.2, 2.2])
    wanted = exact.ends(sides, roots)
    width = wanted[3] - wanted[2]
    np.testing.assert_allclose(quick.ends(sides, roots, 2.0), wanted, atol=1e-4 * width)
    near = exact.estimate + np.array([-0.02, 0.02]) * width
    differences = np.concatenate([np.linspace(wanted[2], wanted[3], 7), near])
    np.testing.assert_allclose(
        quick.deviance(differences), exact.deviance(differences), rtol=1e-5, atol=1e-6
    )


@pytest.mark.filterwarnings("ignore:the likelihood has no maximum")
def test_the_edge_is_no_obstacle() -> None:
    """ξ̂ = −1: against grids of both profiles, edge included, as the brute force."""
    fits = pair(-0.9, 30, 400)
    assert fits[0].at_boundary
    quick = CurveContrast.of_fits(*fits, M)
    exact = LevelContrast.of(*fits, M)
    rows = np.zeros(1, dtype=np.intp)
    for difference in quick.ends(np.array([-1.0, 1.0]), np.full(2, 2.0), 2.0):
        level = np.linspace(quick.second.estimate, quick.first.estimate - difference, 2_001)
        both = exact.first.at(np.repeat(rows, level.size), level + difference).value
        both = both + exact.second.at(np.repeat(rows, level.size), level).value
        found = quick.deviance(np.array([difference]))[0]
        assert found == pytest.approx(2.0 * both.min(), abs=0.02 * (1.0 + 2.0 * both.min()))


def test_ends_beyond_what_a_difference_can_be() -> None:
    fits = pair(0.3, 30, 300)
    quick = CurveContrast.of_fits(*fits, M)
    low, high = quick.ends(np.array([-1.0, 1.0]), np.full(2, 40.0), farthest=0.5)
    assert (low, high) == pytest.approx((-0.5, 0.5))
    assert quick.ends(np.array([1.0]), np.zeros(1), farthest=0.5)[0] == quick.estimate


def test_levels_of_roots_are_those_of_the_interval() -> None:
    """At ±1.96 the ends of the level's own 95% interval, by the standardised signed root."""
    fit = tail(5, 3_000, 0.1, 60)
    curve = CurveContrast.of_fits(fit, fit, M).first
    ends = fit.return_level(M, confidence_level=0.95).confidence_interval
    found = curve.levels_of_root(np.array([-1.959964, 0.0, 1.959964]))
    assert found[[0, 2]] == pytest.approx([ends.low, ends.high], rel=2e-3)
    assert curve.levels_of_root(np.array([99.0])) == curve.levels[-1]
