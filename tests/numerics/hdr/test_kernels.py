"""Kernels of the regions on cases that are counted by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from fairstats.numerics.hdr import bandwidth, grids, line, plane, result, scipy_backend, space
from fairstats.numerics.hdr.grids import Axis, Curve, Surface

TRIANGLE = Curve(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]))
TWO_PEAKS = Curve(np.arange(5.0), np.array([0.0, 1.0, 0.0, 0.5, 0.0]))
UNIT = np.array([0.0, 1.0])
RAMP = plane.triangles(Surface(UNIT, UNIT, np.array([[0.0, 0.0], [2.0, 2.0]])))
CORNER = Surface(UNIT, UNIT, np.array([[0.0, 0.0], [0.0, 1.0]]))

BY_HAND: dict[str, tuple[Any, Any]] = {
    "crossings": (line.superlevel_intervals(TWO_PEAKS, 0.25), [[0.25, 1.75], [2.5, 3.5]]),
    "masses": (line.mass_between(TRIANGLE, np.array([[0.0, 0.5], [0.5, 9.0]])), [0.125, 0.875]),
    "level of a mass": (line.level_of_mass(TRIANGLE, 0.75), 0.5),
    "area above": (plane.area_above(RAMP, 0.5), 0.75),
    "mass above": (plane.mass_above(RAMP, 0.5), 0.9375),
    "bilinear": (CORNER.at(np.array([[0.5, 0.5], [2.0, 0.0]])), [0.25, 0.0]),
    "empty stretches": (
        grids.without_empty_stretches(Curve(np.arange(6.0), np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))).grid,
        [0.0, 3.0, 4.0, 5.0],
    ),
    "mirrored": (
        grids.fold(np.array([1.0, 2.0, 4.0, 8.0]), Axis(-1.0, 2.0, 4, mirrored_low=1)),
        [4.0, 5.0, 8.0],
    ),
    "quantile of a density": (
        scipy_backend.levels(TRIANGLE, np.array([0.25, 0.5, 1.0, 1.25, 1.5]), np.array([0.5])).falpha,
        [0.5],
    ),
    "binned": (scipy_backend.bin_line(np.array([0.25, 2.0]), 0.0, 2.0, 3), [0.75, 0.25, 1.0]),
    "binned on a plane": (
        scipy_backend.bin_plane(np.array([[0.5, 0.0]]), np.zeros(2), np.ones(2), (2, 2)),
        [[0.5, 0.0], [0.5, 0.0]],
    ),
    "most frequent": (space.least_mass(np.array([0.1, 0.4, 0.3, 0.2]), 0.8), 0.2),
    "runs": (space.runs(np.arange(4.0), np.array([True, True, False, True])), [[0.0, 1.0], [3.0, 3.0]]),
}


@pytest.mark.parametrize("what", BY_HAND)
def test_by_hand(what: str) -> None:
    found, wanted = BY_HAND[what]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_the_grid_reaches_beyond_the_samples() -> None:
    axis = grids.plan_axis(np.array([0.0, 1.0]), 0.1, 0.3, 17, (-math.inf, math.inf), 1000)
    assert axis == Axis(low=-0.3, high=1.3, size=17)


def test_densities_of_one_kernel_and_of_two() -> None:
    """Two kernels to half a percent, by linear binning as in R; one at its peak."""
    curve = scipy_backend.density_1d(np.array([-1.0, 1.0]), 0.5, -3.0, 3.0, 7)
    wanted = [0.5 * scipy_backend.gaussian(curve.grid[[1, 2, 3]] - c, 0.5) for c in (-1.0, 1.0)]
    np.testing.assert_allclose(curve.values[[1, 2, 3]], sum(wanted), rtol=6e-3)
    surface = scipy_backend.density_2d(np.zeros((1, 2)), np.ones(2), -np.ones(2), np.ones(2), (3, 3))
    assert surface.values[1, 1] == pytest.approx(1 / (2 * np.pi))


def test_error_of_a_level_is_half_the_distance_of_quantiles() -> None:
    """√(.25/401) either way of the median of 0…400: 9.99."""
    assert result.level_error(np.arange(401.0), 0.5) == pytest.approx(400 * math.sqrt(0.25 / 401))


def test_bandwidths_of_the_normal_density() -> None:
    """.143 at n = 5,000 by the normal's own derivatives; n^(−1/6) on the plane."""
    normal = ndtri((np.arange(5000) + 0.5) / 5000)
    assert bandwidth.hdr_bandwidth(normal, 0.95) == pytest.approx(0.143, rel=0.02)
    points = np.random.default_rng(1).standard_normal((4096, 2))
    np.testing.assert_allclose(bandwidth.plug_in_2d(points), 4096 ** (-1 / 6), rtol=0.1)
