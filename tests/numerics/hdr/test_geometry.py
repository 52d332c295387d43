"""Crossings, masses and levels of given densities, against closed forms and fine Riemann sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.interpolate import RegularGridInterpolator

from fairstats.numerics.hdr import line, plane
from fairstats.numerics.hdr.grids import Curve, Surface


def mass_above(curve: Curve, level: float) -> float:
    """Integral of the density over the points where it is at least `level`."""
    return float(line.mass_between(curve, line.superlevel_intervals(curve, level)).sum())


def curve_of(values: np.ndarray) -> Curve:
    return Curve(np.cumsum(np.linspace(0.5, 1.5, values.size)), values)


heights = arrays(np.float64, st.integers(2, 30), elements=st.integers(0, 8).map(float)).filter(
    np.any
)


@given(heights, st.floats(0.01, 0.99))
def test_the_level_holds_the_mass(values: np.ndarray, prob: float) -> None:
    """{f ≥ level} holds at least prob, {f > level} at most: so also on plateaus."""
    curve = curve_of(values)
    total = mass_above(curve, 0.0)
    level = line.level_of_mass(curve, prob)
    assert mass_above(curve, level * (1 - 1e-12)) >= prob * total * (1 - 1e-9)
    assert mass_above(curve, level * (1 + 1e-12)) <= prob * total * (1 + 1e-9)


@given(heights, st.floats(0.05, 7.95))
def test_intervals_are_the_superlevel_set(values: np.ndarray, level: float) -> None:
    curve = curve_of(values)
    if level > values.max():
        return
    intervals = line.superlevel_intervals(curve, level)
    x = np.linspace(curve.grid[0], curve.grid[-1], 2001)
    inside = ((x[:, None] >= intervals[:, 0]) & (x[:, None] <= intervals[:, 1])).any(axis=1)
    height = np.interp(x, curve.grid, values)
    clear = np.abs(height - level) > 1e-9
    np.testing.assert_array_equal(inside[clear], height[clear] >= level)
    assert (intervals[1:, 0] > intervals[:-1, 1]).all()


def test_a_narrow_spike_is_not_missed() -> None:
    grid = np.linspace(0, 1, 100_001)
    curve = Curve(grid, np.exp(-0.5 * ((grid - 0.3) / 0.2) ** 2) + 50 * (grid == 0.9))
    assert len(line.superlevel_intervals(curve, 0.95)) == 2


def test_plateau_above_two_humps() -> None:
    curve = Curve(np.arange(7.0), np.array([0.0, 2.0, 2.0, 1.0, 3.0, 0.0, 0.0]))
    np.testing.assert_array_equal(line.local_maxima(curve, 0.5), [4.0, 1.0])
    np.testing.assert_array_equal(line.superlevel_intervals(curve, 1.0), [[0.5, 4 + 2 / 3]])


def disc(size: int = 201) -> Surface:
    x = np.linspace(-4, 4, size)
    y = np.linspace(-5, 5, size + 20)
    return Surface(x, y, np.exp(-0.5 * (x[:, None] ** 2 + y[None, :] ** 2)) / (2 * np.pi))


@pytest.mark.parametrize("prob", [0.3, 0.8, 0.95])
def test_normal_density_on_the_plane(prob: float) -> None:
    """The region of N(0, I) is a disc of area −2π·log(1 − prob), its level (1 − prob)/2π."""
    pieces = plane.triangles(disc())
    level = plane.level_of_mass(pieces, prob)
    assert level == pytest.approx((1 - prob) / (2 * np.pi), rel=2e-3)
    assert plane.area_above(pieces, level) == pytest.approx(-2 * np.pi * np.log(1 - prob), rel=2e-3)
    assert plane.mass_above(pieces, level) == pytest.approx(prob * pieces.mass, rel=1e-12)


def test_area_and_mass_against_riemann_sums(rng: np.random.Generator) -> None:
    """The triangles follow the bilinear surface to second order.

    2% here, where cells are random.
    """
    random = Surface(np.arange(12.0), np.arange(9.0), rng.random((12, 9)))
    pieces = plane.triangles(random)
    x, y = (np.arange(0.005, last, 0.01) for last in (11.0, 8.0))
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    height = random.at(points)
    for level in (0.2, 0.5, 0.7):
        assert plane.area_above(pieces, level) == pytest.approx(
            (height >= level).sum() * 1e-4, rel=0.02
        )
        mass = height[height >= level].sum() * 1e-4
        assert plane.mass_above(pieces, level) == pytest.approx(mass, rel=0.02)
    assert pieces.mass == pytest.approx(height.sum() * 1e-4, rel=1e-4)


def test_bilinear_values_against_scipy(rng: np.random.Generator) -> None:
    """Witness: `RegularGridInterpolator`, on even and uneven grids, at grid points and outside."""
    for x, y in (
        (np.linspace(-1, 2, 31), np.linspace(0, 1e-6, 17)),
        (np.sort(rng.random(31)), np.cumsum(rng.random(17)) + 5),
    ):
        values = rng.random((31, 17))
        points = np.column_stack([rng.uniform(x[0], x[-1], 500), rng.uniform(y[0], y[-1], 500)])
        points = np.vstack([points, np.column_stack([x[:17], y]), [[x[-1], y[-1]]]])
        expected = RegularGridInterpolator((x, y), values)(points)
        np.testing.assert_allclose(Surface(x, y, values).at(points), expected, rtol=1e-9)
        outside = np.array([[x[0] - 1, y[0]], [x[0], y[-1] * 1.5]])
        np.testing.assert_array_equal(Surface(x, y, values).at(outside), [0, 0])


def test_local_maxima_on_the_plane() -> None:
    values = np.zeros((5, 6))
    values[1, 1], values[3, 4], values[3, 3] = 2.0, 3.0, 3.0
    found = plane.local_maxima(Surface(np.arange(5.0), np.arange(6.0), values), 1.0)
    np.testing.assert_array_equal(found, [[3, 3], [1, 1]])
