"""Intervals and tests by the standardised signed root: tables, ends, laws, coverage."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import genpareto

from fairstats.ground.errors import InputError
from fairstats.numerics.evt import (
    EvtFit,
    fit_gev,
    fit_gpd,
    fit_point_process,
    intervals,
    tail_type,
    threshold_stability,
)
from fairstats.numerics.evt.contour import (
    ROOT_KNOTS,
    ROOT_MEAN,
    ROOT_VARIANCE,
    root_moments,
    standardised_ends,
)

from ...calibration import roots
from ...calibration.evt import _endpoint, _gpd_level, _gpd_shape
from .conftest import gpd_series

TWIN = Path(__file__).resolve().parents[3] / "r" / "R" / "tails.R"
Z = 1.959963984540054


def fitted(k: int, shape: float, seed: int, move: float = 0.0, stretch: float = 1.0) -> EvtFit:
    x = move + stretch * genpareto.rvs(shape, size=20 * k, random_state=np.random.default_rng(seed))
    return fit_gpd(x, float(np.sort(x)[-k - 1]), backend="scipy")


SOME = [(15, 0.3, 1), (30, -0.2, 2), (30, 0.1, 3), (60, -0.3, 4), (400, 0.0, 5)]


def test_the_tables_are_those_of_r() -> None:
    source = TWIN.read_text(encoding="utf-8")
    for name, table in (("KNOTS", ROOT_KNOTS), ("MEAN", ROOT_MEAN), ("VARIANCE", ROOT_VARIANCE)):
        block = re.search(rf"ROOT_{name} <- (.*?)\n(?=ROOT|\n)", source, re.DOTALL)
        assert block is not None
        np.testing.assert_array_equal(
            [float(x) for x in re.findall(r"-?\d+\.?\d*", block[1])], np.ravel(table)
        )


def test_moments_by_hand() -> None:
    """Half way between two knots, and beyond the last.

    25 excesses of shape 0.2, and beyond the shapes.
    """
    mean, sd = root_moments(0.2, 1.1, 25)
    low = 0.41 - 0.88 * 0.2 + 0.54 * 0.04, 0.6 - 0.9 * 0.2 + 1.0 * 0.04
    high = -0.13 - 0.97 * 0.2 + 0.67 * 0.04, 4.4 - 6.1 * 0.2 + 5.3 * 0.04
    assert mean == pytest.approx((low[0] + high[0]) / 2 / 5, rel=1e-12)
    assert sd == pytest.approx(np.sqrt(1 + (low[1] + high[1]) / 2 / 25), rel=1e-12)
    assert root_moments(-0.9, np.inf, 30) == root_moments(-0.5, 8.0, 30)


def test_ends_of_a_root_with_known_moments() -> None:
    """Witness: `brentq`. The signed root is (x − 2)/3, its mean .3 + .1·x/√k and its standard
    deviation 1 − .02x at an end x: a fixed point, which secants find in a few steps. An end known
    already is left; one that does not answer to its critical value (a jump) stands still."""
    asked: list[int] = []

    def ends(goal: np.ndarray, which: np.ndarray) -> np.ndarray:
        asked.append(which.size)
        return np.where(which == 2, 7.5, 2 + 3 * side[which] * np.sqrt(goal[which]))

    def moments(found: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 0.3 + 0.1 * found / 5, 1 - 0.02 * found

    side = np.array([-1.0, 1.0, 1.0, -1.0])
    z = np.array([Z, Z, Z, 1.0])
    given = np.array([np.nan, np.nan, np.nan, -3.25])
    found = standardised_ends(ends, moments, given, np.full(4, 2.0), side, z, 0.1, 2.0, 25)

    def off(x: float, sign: float) -> float:
        return (x - 2) / 3 - sign * Z * (1 - 0.02 * x) + 0.3 + 0.1 * x / 5

    wanted = [brentq(off, -40, 40, args=(sign,)) for sign in (-1.0, 1.0)]
    np.testing.assert_allclose(found, [*wanted, 7.5, -3.25], atol=1e-4)
    assert asked[0] == 3
    assert len(asked) <= 4
    # a mean above z asks for a negative root: the interval ends at the estimate
    high = standardised_ends(
        lambda goal, which: np.sqrt(goal),
        lambda found, which: (np.full(1, 5.0), np.ones(1)),
        np.full(1, np.nan),
        np.zeros(1),
        np.ones(1),
        np.ones(1),
        0.1,
        2.0,
        25,
    )
    assert high[0] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("shape", [-0.35, 0.05, 0.5])
def test_the_table_is_what_the_study_simulates(shape: float) -> None:
    """3,000 samples of 40 excesses.

    4 Monte Carlo errors, and what a quadratic leaves (.02 and .04).
    """
    found = roots._moments(np.random.default_rng(1), 40, shape, 3000)
    for s in ROOT_KNOTS:
        mean, sd = root_moments(shape, s, 40)
        assert found[f"level {s:g}"][0] == pytest.approx(float(mean), abs=0.02 + 4 / np.sqrt(3000))
        assert found[f"level {s:g}"][1] == pytest.approx(
            float(sd) ** 2, abs=0.04 + 4 * np.sqrt(2 / 3000)
        )
    assert found["shape"][0] == pytest.approx(float(root_moments(shape, np.inf, 40)[0]), abs=0.1)


@pytest.mark.parametrize(("k", "shape", "seed"), SOME)
def test_the_shape_by_another_optimiser(k: int, shape: float, seed: int) -> None:
    """Witness: the profile by SciPy's bounded search over σ, the ends by `brentq`."""
    fit = fitted(k, shape, seed)
    y = fit.sample - fit.origin

    def nll(xi: float) -> float:
        least = -xi * y.max() * (1 + 1e-9) if xi < 0 else 1e-3 * y.mean()

        def fall(log_scale: float) -> float:
            return -float(genpareto.logpdf(y, xi, scale=np.exp(log_scale)).sum())

        ends = np.log(least), np.log(50 * y.max())
        grid = np.linspace(*ends, 60)[1:]
        near = grid[np.argmin([fall(g) for g in grid])]
        step = grid[1] - grid[0]
        around = max(near - step, ends[0]), near + step
        return float(
            minimize_scalar(fall, bounds=around, method="bounded", options={"xatol": 1e-9}).fun
        )

    def beyond(xi: float, side: float) -> float:
        mean, sd = root_moments(xi, np.inf, k)
        return float((side * np.sqrt(max(2 * (nll(xi) - fit.nll), 0.0)) + mean) * side - sd * Z)

    low, high = fit.interval("shape")
    if low > -1:
        below = brentq(lambda xi: beyond(xi, -1.0), max(fit.shape - 1.5, -0.999), fit.shape)
        assert low == pytest.approx(below, abs=1e-5)
    above = brentq(lambda xi: beyond(xi, 1.0), fit.shape, fit.shape + 4)
    assert high == pytest.approx(above, abs=1e-5)


@pytest.mark.parametrize(("k", "shape", "seed"), SOME)
def test_tests_reject_where_intervals_end(k: int, shape: float, seed: int) -> None:
    fit = fitted(k, shape, seed)
    for end in fit.interval("shape"):
        if end > -0.5:
            assert fit.test_shape(end).pvalue == pytest.approx(0.05, abs=1e-6)
    for m in (40.0, 1000.0):
        level = fit.return_level(m, method="signed_root").confidence_interval
        for end in level:
            assert fit.test_return_level(m, end).pvalue == pytest.approx(0.05, abs=1e-5)
        if level.low > fit.origin:  # the other way round: as rare as one of m
            found = [fit.exceedance_probability(end).confidence_interval for end in level]
            assert found[0].low == pytest.approx(1 / m, rel=1e-4)
            assert found[1].high == pytest.approx(1 / m, rel=1e-4)
    if not fit.by_power:
        no_end = fit.interval("shape").high >= 0
        assert np.isinf(fit.endpoint().confidence_interval.high) == no_end


@pytest.mark.parametrize(("k", "shape", "seed"), SOME)
@pytest.mark.parametrize("level", [0.2, 0.8, 0.95, 0.999])
def test_ends_are_ordered_around_the_estimate(
    k: int, shape: float, seed: int, level: float
) -> None:
    fit = fitted(k, shape, seed)
    for m in (25.0, 500.0):
        found = fit.return_level(m, method="signed_root", confidence_level=level)
        assert found.confidence_interval.low < found.estimate < found.confidence_interval.high
        wider = fit.return_level(m, method="signed_root", confidence_level=level + 0.0009)
        slack = 1e-6 * found.confidence_interval.width  # at low levels an end stays at the estimate
        assert wider.confidence_interval.low < found.confidence_interval.low + slack
        assert wider.confidence_interval.high > found.confidence_interval.high - slack
    low, high = fit.interval("shape", level)
    assert -1 <= low < fit.shape < high
    end = fit.endpoint(confidence_level=level).confidence_interval
    assert fit.sample[-1] <= end.low <= end.high
    assert np.isinf(end.low) == (low >= 0) or fit.by_power


@pytest.mark.parametrize(("k", "shape", "seed"), SOME)
def test_units_do_not_matter(k: int, shape: float, seed: int) -> None:
    fit = fitted(k, shape, seed)
    moved = fitted(k, shape, seed, -7.0, 1e-3)
    np.testing.assert_allclose([*moved.interval("shape")], [*fit.interval("shape")], atol=2e-6)
    ends = np.array([*fit.return_level(500, method="signed_root").confidence_interval])
    there = np.array([*moved.return_level(500, method="signed_root").confidence_interval])
    np.testing.assert_allclose((there + 7.0) / 1e-3, ends, rtol=1e-5, atol=1e-5)


def test_the_same_interval_everywhere() -> None:
    """A fit, its type, the stability of its threshold and its point process say the same of ξ."""
    x = gpd_series(np.random.default_rng(5), 0.1, 1200)
    u = float(np.sort(x)[-61])
    fit = fit_gpd(x, u, backend="scipy")
    interval = fit.interval("shape")
    assert interval.method == "standardised signed root"
    assert tail_type(fit).confidence_interval == interval
    found = threshold_stability(x, [u])
    assert (found.shape_low[0], found.shape_high[0]) == pytest.approx([*interval], abs=1e-6)
    process = fit_point_process(x, u, 100.0, backend="scipy")
    assert [*process.interval("shape")] == pytest.approx([*interval], abs=1e-6)
    location = process.return_level(100.0).confidence_interval
    assert [*process.interval("location")] == pytest.approx([*location], abs=1e-8)


def test_it_comes_to_the_chi2_interval() -> None:
    """The correction falls as 1/√k.

    At 20,000 excesses it is below 2% of the width, at 30 more than 10%.
    """
    for k, least, most in ((20_000, 0.0, 0.02), (30, 0.1, 2.0)):
        fit = fitted(k, 0.1, 6)
        ours, theirs = (np.array([*fit.interval("shape", method=m)]) for m in ("auto", "profile"))
        assert least < np.abs(ours - theirs).max() / np.ptp(theirs) < most


def test_where_it_is_not_known() -> None:
    maxima = np.random.default_rng(1).gumbel(size=60)
    gev = fit_gev(maxima, backend="scipy")
    assert gev.return_level(50).confidence_interval.method == "profile likelihood"
    assert (
        gev.interval("shape").method
        == gev.endpoint().confidence_interval.method
        == "profile likelihood"
    )
    fit = fitted(30, 0.1, 3)
    for wrong in (
        lambda: gev.return_level(50, method="signed_root"),
        lambda: fit.return_level(500, method="signed_root", rate="fixed"),
    ):
        with pytest.raises(InputError, match="signed_root"):
            wrong()
    assert (
        fit.return_level(500, rate="fixed").confidence_interval.method
        == "profile likelihood, rate fixed"
    )
    assert any("88–93%" in note for note in fit.return_level(500, method="profile").notes())
    assert not any("too narrow" in note for note in fit.return_level(500).notes())


@pytest.mark.parametrize("shape", [-0.1, 0.3])
def test_coverage_at_30(shape: float) -> None:
    """4,000 samples (shape), 400 (levels).

    .93 and errors of .04 at the most, less 2 Monte Carlo errors.
    """
    for simulate, runs in ((_gpd_shape(30, shape), 4000), (_gpd_level(30, shape, 20.0), 400)):
        found = simulate(np.random.default_rng(11), runs)
        assert found["coverage"][0] / runs > 0.93 - 2 * np.sqrt(0.07 / runs)
        assert max(found["above"][0], found["below"][0]) / runs < 0.04 + 2 * np.sqrt(0.04 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("k", [20, 50])
@pytest.mark.parametrize("shape", [-0.4, 0.4])
def test_coverage(k: int, shape: float) -> None:
    """As users get them, with the power tail below ξ̂ = −1/2.

    The calibration page has more settings.
    """
    runs = 200
    studies = [_gpd_shape(k, shape), *(_gpd_level(k, shape, m) for m in (2.0, 200.0))]
    studies += [_endpoint(k, shape)] if shape < 0 else []
    for simulate in studies:
        found = simulate(np.random.default_rng(12), runs)
        assert found["coverage"][0] / runs > 0.93 - 2 * np.sqrt(0.07 / runs)
        assert max(found["above"][0], found["below"][0]) / runs < 0.045 + 2 * np.sqrt(0.045 / runs)


@pytest.mark.parametrize("seed", [1, 5, 11])
@pytest.mark.parametrize("m", [1e5, 1e9])
def test_lower_ends_do_not_depend_on_how_far_the_upper_end_lies(m: float, seed: int) -> None:
    """The test at each end: 12 exceedances bound these levels by 10¹⁰ and more.

    Lower ends stopped early.
    """
    fit = fitted(12, 0.3, seed)
    for end in fit.return_level(m, method="signed_root").confidence_interval:
        assert fit.test_return_level(m, end).pvalue == pytest.approx(0.05, abs=1e-5)


@pytest.mark.parametrize(("k", "shape", "seed"), SOME)
def test_newton_one_contour_and_secants_find_the_same_ends(
    k: int, shape: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secants leave 1e-8 of the root's slope: 1e-6 of the distance from the estimate."""
    fit = fitted(k, shape, seed)

    def ends() -> list[float]:
        levels = fit.return_level([40.0, 1000.0], method="signed_root").levels
        return [
            *fit.interval("shape"),
            *(end for level in levels for end in level.confidence_interval),
        ]

    found = ends()
    for name in ("find_shape_ends", "find_end_points"):
        monkeypatch.setattr(intervals, name, lambda *given: np.full(2, np.nan))
    monkeypatch.setattr(
        intervals, "find_level_ends", lambda *given: (np.full(given[4].size, np.nan),) * 2
    )
    contours = ends()
    np.testing.assert_allclose(contours, found, rtol=1e-7, atol=1e-9)
    monkeypatch.setattr(
        intervals, "standardised_extremes", lambda *given: (np.full(given[4].size, np.nan),) * 2
    )
    about = np.repeat([fit.shape, *(fit.return_level(m).estimate for m in (40.0, 1000.0))], 2)
    np.testing.assert_array_less(
        np.abs(np.array(ends()) - found), 1e-6 * np.abs(found - about) + 1e-12
    )
