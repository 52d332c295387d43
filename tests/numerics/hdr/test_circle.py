"""Circular quantities: the wrapped kernel, regions across the cut, both back ends.

Witnesses: kernels summed one by one over the turns; the line, where the cut is far from the draws;
the von Mises law of SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, vonmises

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.numerics.hdr.bandwidth import Spectrum, hdr_bandwidth, hdr_bandwidth_circular
from fairstats.numerics.hdr.region import hdr

TURNS = np.arange(-6, 7)


@pytest.fixture
def hours() -> np.ndarray:
    """Hours around midnight."""
    return np.random.default_rng(1).normal(24.0, 1.0, 400)


def wrapped(at: np.ndarray, x: np.ndarray, h: float, period: float) -> np.ndarray:
    """Kernels of each draw at each place, shape (places, draws), summed over the turns."""
    gaps = at[:, None, None] - x[None, :, None] - period * TURNS
    return np.asarray(norm.pdf(gaps, scale=h).sum(axis=2))


@pytest.mark.parametrize("h", [0.3, 2.0, 11.0])
def test_the_density_is_that_of_the_wrapped_kernel(hours: np.ndarray, h: float) -> None:
    """R's rule for densities is high by up to 1/(2·1024)."""
    grid, values = hdr(hours, 0.5, bandwidth=h, period=24, backend="scipy").density
    assert (grid[0], grid[-1]) == (0.0, 24.0)
    assert values[0] == values[-1]
    expected = wrapped(grid, hours, h, 24.0).mean(axis=1)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-3 * expected.max())


@pytest.mark.parametrize("h", [0.3, 3.0])
def test_the_level_is_the_quantile_of_the_others_densities(hours: np.ndarray, h: float) -> None:
    kernels = wrapped(hours, hours, h, 24.0)
    at_all = kernels.mean(axis=1)
    others = (kernels.sum(axis=1) - np.diag(kernels)) / (hours.size - 1)
    found = hdr(hours, 0.9, bandwidth=h, period=24, backend="scipy")
    assert found.falpha == pytest.approx(np.quantile(others, 0.1), rel=2e-3)
    counted = hdr(hours, 0.9, bandwidth=h, period=24, backend="scipy", level="in_sample")
    assert counted.falpha == pytest.approx(np.quantile(at_all, 0.1), rel=2e-3)


def test_a_region_across_the_cut_is_one_interval(hours: np.ndarray) -> None:
    """Witness: the same draws on the line at the same bandwidth, where nothing is cut."""
    circle = hdr(hours, [0.5, 0.9], period=24, backend="scipy")
    line = hdr(hours, [0.5, 0.9], bandwidth=circle.bandwidth, backend="scipy")
    for ours, theirs in zip(circle.intervals, line.intervals, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-3)
        assert ours[0, 0] < 24 < ours[0, 1]
    for ours, theirs in zip(circle.errors, line.errors, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.05)
    assert (circle.mode - line.mode + 12) % 24 == pytest.approx(12, abs=0.05)
    assert circle.mass == line.mass
    places = np.array([23.0, 0.0, 24.0, -1.0, 47.5, 12.0, 3.5])
    assert circle.contains(places, 0.9).tolist() == [True, True, True, True, True, False, False]
    ((low, high),) = circle.intervals[1]
    np.testing.assert_array_equal(circle.pieces(0.9), [[0.0, high - 24.0], [low, 24.0]])
    row = circle.to_frame().iloc[1]
    assert row["ci_high"] > 24.0
    assert row["mass"] == pytest.approx(0.9, abs=0.005)
    assert "On a circle of the period 24" in circle.summary()


@pytest.mark.parametrize("turn", [5.0, 12.3, -30.0])
def test_turning_the_circle_turns_the_region(hours: np.ndarray, turn: float) -> None:
    """Two modes, six hours apart: one interval crosses the cut, or none does."""
    x = np.concatenate([hours, hours / 2 - 6.0])
    still, turned = (hdr(x + by, 0.8, period=24, backend="scipy") for by in (0.0, turn))
    assert turned.bandwidth == pytest.approx(still.bandwidth, rel=1e-3)
    starts = np.sort((still.intervals[:, 0] + turn) % 24)
    np.testing.assert_allclose(np.sort(turned.intervals[:, 0]), starts, rtol=0, atol=0.01)
    lengths = [np.sort(np.diff(found.intervals, axis=1).ravel()) for found in (still, turned)]
    np.testing.assert_allclose(lengths[1], lengths[0], rtol=0, atol=0.01)
    np.testing.assert_allclose(
        np.sort(turned.modes), np.sort((still.modes + turn) % 24), rtol=0, atol=0.05
    )
    assert ((turned.intervals[:, 0] >= 0) & (turned.intervals[:, 0] < 24)).all()


def test_bandwidth_far_from_the_cut_is_that_of_the_line(hours: np.ndarray) -> None:
    found = hdr_bandwidth_circular(hours % 24, 0.9, 24.0)
    assert found == pytest.approx(hdr_bandwidth(hours, 0.9), rel=1e-3)


def test_roughness_on_a_circle_is_that_of_all_pairs() -> None:
    """Witness: ∫f² = Σ_ij K(x_i − x_j)/n², the kernel wrapped, of draws on points of the grid."""
    grid = np.linspace(0.0, 5.0, 129)
    place = np.random.default_rng(2).integers(0, 128, 60)
    counts = np.bincount(place, minlength=129).astype(float)
    spectrum = Spectrum(grid, counts, 60, circular=True)
    x = grid[place]
    pairs = wrapped(x, x, 0.6, 5.0).mean()
    assert spectrum.roughness(0, 0.6) == pytest.approx(pairs, rel=1e-9)
    density = spectrum.derivative(0, 0.6)
    np.testing.assert_allclose(density, wrapped(grid, x, 0.6, 5.0).mean(axis=1), rtol=1e-9)


def test_draws_without_direction_fill_the_circle() -> None:
    x = np.random.default_rng(3).uniform(0, 360, 3_000)
    found = hdr(x, 0.9999, period=360, backend="scipy")
    assert np.diff(found.intervals, axis=1).sum() > 300
    whole = hdr(x, 0.9999, bandwidth=180.0, period=360, backend="scipy")
    assert np.diff(whole.intervals, axis=1).sum() == pytest.approx(360, abs=40)


def test_discrete_values_meet_across_the_cut() -> None:
    x = np.repeat([22, 23, 0, 1, 12, 47], [4, 5, 9, 4, 2, 4])
    found = hdr(x, 0.9, discrete=True, period=24)
    np.testing.assert_array_equal(found.intervals, [[22.0, 25.0]])
    np.testing.assert_array_equal(found.pieces(), [[0.0, 1.0], [22.0, 24.0]])
    assert found.contains([22, 23, 24, 25, 12, 2]).tolist() == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]
    assert found.mass == pytest.approx(26 / 28)
    split = hdr(np.repeat([20, 21, 22, 3], [9, 9, 9, 3]), 0.8, discrete=True, period=24)
    np.testing.assert_array_equal(split.intervals, [[20.0, 22.0]])


def test_tiny_units_are_those_of_the_draws(hours: np.ndarray) -> None:
    large = hdr(hours, 0.9, period=24.0, backend="scipy")
    small = hdr(hours * 2.0**-200, 0.9, period=24.0 * 2.0**-200, backend="scipy")
    np.testing.assert_allclose(small.intervals * 2.0**200, large.intervals, rtol=1e-9)
    assert small.period == 24.0 * 2.0**-200
    again = fs.results.HdrResult.from_dict(large.to_dict())
    assert again.period == 24.0
    np.testing.assert_array_equal(again.intervals, large.intervals)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"period": 0}, "period"),
        ({"period": -1.0}, "period"),
        ({"period": math.nan}, "period"),
        ({"period": "day"}, "period"),
        ({"period": 24, "support": (0, 24)}, "support"),
        ({"period": 24, "bandwidth": 13.0}, "bandwidth"),
        ({"period": 24, "samples": np.random.default_rng(1).normal(size=(50, 2))}, "period"),
        ({"period": 24, "density": (np.linspace(0, 24, 50), np.ones(50) / 24)}, "period"),
        ({"period": 1e12}, "samples"),
    ],
)
def test_what_is_refused(hours: np.ndarray, options: dict[str, Any], argument: str) -> None:
    arguments = {"samples": hours, **options}
    with pytest.raises(InputError) as problem:
        hdr(**arguments)
    assert problem.value.argument == argument


def test_a_region_of_von_mises_draws_holds_what_it_says() -> None:
    """Law with its mean at the cut; the mean of 40 masses has a standard error of .003 at most."""
    rng = np.random.default_rng(6)
    law = vonmises(2.0)
    held = []
    for _ in range(40):
        found = hdr(law.rvs(500, random_state=rng), 0.9, period=2 * math.pi, backend="scipy")
        held.append(float(np.diff(law.cdf(found.intervals), axis=1).sum()))
    assert np.mean(held) == pytest.approx(0.9, abs=0.009)


def test_the_plot_stays_on_the_circle(hours: np.ndarray) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    import matplotlib.pyplot as plt

    axes = hdr(hours, 0.9, period=24, backend="scipy").plot()
    spans = [
        (path.vertices[:, 0].min(), path.vertices[:, 0].max())
        for c in axes.collections
        for path in c.get_paths()
    ]
    assert len([span for span in spans if span[1] > span[0]]) >= 2
    assert all(low >= 0.0 and high <= 24.0 for low, high in spans[:2])
    plt.close("all")


@pytest.mark.rpy2
@pytest.mark.r_extra("hdrcde")
@pytest.mark.parametrize("level", ["leave_one_out", "in_sample"])
def test_both_back_ends_give_one_answer(hours: np.ndarray, level: str) -> None:
    theirs, ours = (
        hdr(hours, [0.5, 0.95], period=24, level=level, backend=b) for b in ("r", "scipy")
    )
    assert theirs.backend.startswith("r: hdrcde")
    np.testing.assert_allclose(theirs.falpha, ours.falpha, rtol=1e-9)
    for mine, other in zip(ours.intervals, theirs.intervals, strict=True):
        np.testing.assert_allclose(other, mine, rtol=0, atol=1e-9)


@pytest.mark.r
@pytest.mark.parametrize("level", ["leave_one_out", "in_sample"])
def test_the_cross_check_recomputes_a_circle(hours: np.ndarray, level: str) -> None:
    result = hdr(hours, [0.5, 0.95], period=24, level=level, backend="scipy")
    found = fs.crosscheck(result, data={"samples": hours})
    assert found.disagreements == ()
    assert found.n_agree == found.n_checked >= 10
