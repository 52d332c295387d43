"""Ends by Newton's method in all parameters at once, against the Lagrange conditions on the contour
(the same equations by another route) and against the definition: an end of an interval is where the
standardised signed root of the profile likelihood, found by a bracketed search, is ±z."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairstats.numerics.evt import contour, fit_gpd, quick_ends, tail_type
from fairstats.numerics.evt.contour import root_moments
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.intervals import TailLikelihood
from fairstats.numerics.evt.likelihood import Samples, level_profile, shape_profile

Z = 1.959963984540054
LAWS = {
    "beta": lambda rng, n: rng.beta(2, 8, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 0.6, n),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "pareto": lambda rng, n: rng.pareto(2.5, n),
}


def tail_of(law: str, k: int, rows: int = 1500) -> TailLikelihood:
    x = LAWS[law](np.random.default_rng(k), rows)
    return fit_gpd(x, np.sort(x)[-k - 1], backend="scipy")._profile_likelihood()


def problem_of(tail: TailLikelihood, m: list[float]) -> tuple[Any, ...]:
    periods = np.tile(np.log(m), 2)
    sides = np.repeat([-1.0, 1.0], len(m))
    unit = np.maximum(np.abs(tail._standard_levels(periods)), 1.0 / tail.standard.fits.nu)
    return tail.standard, periods, unit, sides, np.full(periods.size, Z)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("k", [30, 150])
def test_levels_are_those_of_the_lagrange_conditions(law: str, k: int) -> None:
    standard, periods, unit, sides, z = problem_of(tail_of(law, k), [100.0, 500.0, 1000.0, 5000.0])
    quick, deviance = quick_ends.find_level_ends(standard, periods, unit, sides, z)
    slow, at_slow = contour.standardised_extremes(
        standard,
        np.zeros(z.size, dtype=np.intp),
        contour.return_level_interest(periods, unit),
        sides,
        z,
        periods + standard.log_rate[0],
    )
    assert np.isfinite(quick).all(), "all of them settle"
    np.testing.assert_allclose(quick, unit * np.sinh(slow), rtol=1e-8)
    np.testing.assert_allclose(deviance, at_slow, rtol=1e-7)


@pytest.mark.parametrize(("law", "m"), [("beta", 60.0), ("t3", 1000.0), ("pareto", 20_000.0)])
def test_a_level_is_where_its_root_is_z(law: str, m: float) -> None:
    """By the definition; the profile is searched anew from a grid. m·λ = 1.2 is near the threshold."""
    standard, periods, unit, sides, z = problem_of(tail_of(law, 30), [m])
    ends, _ = quick_ends.find_level_ends(standard, periods, unit, sides, z)
    rows = np.zeros(2, dtype=np.intp)
    profile = level_profile(standard, rows, ends, periods)
    deviance = 2.0 * (profile.value - standard.minimum()[0])
    shape = profile.theta / profile.nu
    mean, deviation = root_moments(shape, periods + standard.log_rate[0], 30.0)
    # the root falls in the level: it is positive at the lower end
    np.testing.assert_allclose(
        (-sides * np.sqrt(deviance) - mean) / deviation, -sides * Z, atol=1e-6
    )


@pytest.mark.parametrize("law", LAWS)
def test_shapes_of_several_samples_are_those_of_the_lagrange_conditions(law: str) -> None:
    rng = np.random.default_rng(3)
    excesses = np.stack([np.sort(LAWS[law](rng, 900))[-61:] for _ in range(5)])
    samples = Samples.from_excesses(excesses[:, 1:] - excesses[:, :1])
    likelihood = GpdLikelihood.from_samples(samples, np.full(5, 900.0), "fixed")
    sides = np.repeat([-1.0, 1.0], 5)
    z = np.full(10, Z)
    edge = 2.0 * (likelihood.boundary() - likelihood.minimum())
    fits = likelihood.fits
    quick = quick_ends.find_shape_ends(samples, fits.theta, fits.nu, edge, sides, z)
    slow, _ = contour.standardised_extremes(
        likelihood, np.tile(np.arange(5), 2), contour.shape_interest(), sides, z, np.inf
    )
    np.testing.assert_allclose(quick, slow, atol=1e-8)


def test_the_edge_is_an_end_where_it_is_likely() -> None:
    """Excesses with ξ = −.8: of forty, ξ = −1 is likely, with the largest value as end point."""
    y = 1.0 - np.random.default_rng(3).random(40) ** 0.8
    samples = Samples.from_excesses(y[None, :])
    likelihood = GpdLikelihood.from_samples(samples, np.array([400.0]), "binomial")
    fits = likelihood.fits
    edge = 2.0 * (likelihood.boundary() - likelihood.minimum())
    shapes = quick_ends.find_shape_ends(
        samples, fits.theta, fits.nu, edge, np.array([-1.0, 1.0]), np.full(2, Z)
    )
    assert fits.shape[0] > -1.0
    assert edge[0] < Z**2
    assert shapes[0] == -1.0
    # the upper end by the definition, from the profile of the shape
    at_end = shape_profile(likelihood, np.zeros(1, dtype=np.intp), shapes[1:], fits.nu)
    root = -np.sqrt(2.0 * (at_end.value[0] - likelihood.minimum()[0]))
    mean, deviation = root_moments(shapes[1], np.inf, 40.0)
    assert (root - mean) / deviation == pytest.approx(-Z, abs=1e-6)
    ends = quick_ends.find_end_points(samples, float(fits.theta[0]), float(edge[0]), Z)
    assert ends[0] == samples.upper[0]
    assert ends[1] > ends[0]


@pytest.mark.parametrize("law", LAWS)
def test_profiles_from_near_tails_are_those_from_a_grid(law: str) -> None:
    tail = tail_of(law, 150)
    standard = tail.standard
    estimate = tail._standard_levels(np.log([1000.0]))[0]
    d = estimate * np.linspace(0.8, 1.6, 9)
    start = np.full(9, standard.fits.theta[0]), np.full(9, standard.log_rate[0])
    quick = quick_ends.profile_from(standard, d, np.log(1000.0), *start)
    rows = np.zeros(9, dtype=np.intp)
    slow = level_profile(standard, rows, d, np.full(9, np.log(1000.0)))
    np.testing.assert_allclose(quick.value, slow.value, atol=1e-9)
    np.testing.assert_allclose(quick.slope, slow.slope, atol=1e-5)
    np.testing.assert_allclose(quick.theta / quick.nu, slow.theta / slow.nu, atol=1e-5)


def test_what_does_not_settle_is_nan_and_found_by_the_contour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(5).exponential(size=2000)

    def answers() -> list[float]:
        fit = fit_gpd(x, 3.0, backend="scipy")
        kind = tail_type(fit)
        return [*kind.confidence_interval, kind.horizon, *fit.endpoint().confidence_interval]

    quick = answers()
    monkeypatch.setattr(quick_ends, "_ITERATIONS", 1)
    np.testing.assert_allclose(answers(), quick, rtol=1e-6)
