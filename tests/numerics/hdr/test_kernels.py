"""Kernels of the regions on cases that are counted by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import multivariate_normal, norm

from fairstats.ground.errors import DataWarning, InputError
from fairstats.numerics.hdr import bandwidth, grids, line, plane, result, scipy_backend, space
from fairstats.numerics.hdr.grids import Axis, Curve, Surface
from fairstats.numerics.hdr.region import hdr

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
        grids.without_empty_stretches(
            Curve(np.arange(6.0), np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
        ).grid,
        [0.0, 3.0, 4.0, 5.0],
    ),
    "mirrored": (
        grids.fold(np.array([1.0, 2.0, 4.0, 8.0]), Axis(-1.0, 2.0, 4, mirrored_low=1)),
        [4.0, 5.0, 8.0],
    ),
    "quantile of a density": (
        scipy_backend.levels(
            TRIANGLE, np.array([0.25, 0.5, 1.0, 1.25, 1.5]), np.array([0.5])
        ).falpha,
        [0.5],
    ),
    "binned": (scipy_backend.bin_line(np.array([0.25, 2.0]), 0.0, 2.0, 3), [0.75, 0.25, 1.0]),
    "binned on a plane": (
        scipy_backend.bin_plane(np.array([[0.5, 0.0]]), np.zeros(2), np.ones(2), (2, 2)),
        [[0.5, 0.0], [0.5, 0.0]],
    ),
    "most frequent": (space.least_mass(np.array([0.1, 0.4, 0.3, 0.2]), 0.8), 0.2),
    "runs": (
        space.runs(np.arange(4.0), np.array([True, True, False, True])),
        [[0.0, 1.0], [3.0, 3.0]],
    ),
}


HALF = Axis(0.0, 3.0, 4, mirrored_high=1)
FOUR = np.array([1.0, 2.0, 4.0, 8.0])
BY_HAND |= {
    "mirrored above": (grids.fold(FOUR, HALF), [1.0, 10.0, 8.0]),
    "mirrored on both sides": (
        grids.fold(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), Axis(-1.0, 3.0, 5, 1, 1)),
        [4.0, 21.0, 16.0],
    ),
    "mirrored columns": (
        grids.fold(
            np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]]),
            Axis(-1.0, 1.0, 3, mirrored_low=1),
            along=1,
        ),
        [[4.0, 5.0], [10.0, 10.0]],
    ),
    "not mirrored": (grids.fold(FOUR, Axis(0.0, 3.0, 4)), FOUR),
    "inside": (
        grids.bounded(np.arange(5.0) + 0.01, Axis(-1.0, 3.0, 5, 1, 1), (0.9, 3.2)),
        [0.9, 2.01, 3.2],
    ),
    "all inside": (grids.bounded(np.arange(3.0), Axis(0.0, 2.0, 3), (-9.0, 9.0)), [0.0, 1.0, 2.0]),
    "slopes": (
        line.slopes(TWO_PEAKS, np.array([0.5, 1.0, 1.5, 3.0, 3.5])),
        [1.0, 1.0, -1.0, 0.5, -0.5],
    ),
    "outside the grid": (
        Curve(UNIT, np.ones(2)).at(np.array([-0.1, 0.0, 0.5, 1.0, 1.1])),
        [0, 1, 1, 1, 0],
    ),
    "mass": (TWO_PEAKS.mass, 1.5),
    "mass on a plane": (CORNER.mass, 0.25),
    "touching": (line.superlevel_intervals(TRIANGLE, 1.0), [[1.0, 1.0]]),
    "highest maxima first": (
        line.local_maxima(Curve(np.arange(5.0), np.array([3.0, 1.0, 2.0, 0.0, 4.0])), 2.0),
        [4.0, 0.0, 2.0],
    ),
    "maxima above a level": (line.local_maxima(TWO_PEAKS, 0.6), [1.0]),
    "nearest ends": (
        line._nearest_ends(
            np.array([[0.0, 5.0], [9.0, 12.0]]), np.array([[1.0, 4.0], [6.0, 13.0]])
        ),
        [[1.0, 4.0], [6.0, 13.0]],
    ),
    "an atom": (line.find_atom(np.r_[np.zeros(5), np.arange(1.0, 46.0)]), (0.0, 0.1)),
    "most frequent but one": (space.least_mass(np.array([0.1, 0.4, 0.3, 0.2]), 0.7), 0.3),
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
    surface = scipy_backend.density_2d(
        np.zeros((1, 2)), np.ones(2), -np.ones(2), np.ones(2), (3, 3)
    )
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


def test_what_is_no_atom() -> None:
    """Four of forty, and five of fifty-one: at least five draws, and a tenth."""
    assert line.find_atom(np.r_[np.zeros(4), np.arange(1.0, 37.0)]) is None
    assert line.find_atom(np.r_[np.zeros(5), np.arange(1.0, 47.0)]) is None


FREE = (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("samples", "size", "support", "largest", "wanted"),
    [
        ([0.0, 1.0], 17, (-0.3, math.inf), 1000, Axis(-0.8, 1.3, 22, 5)),
        ([0.0, 1.0], 17, (-0.31, math.inf), 1000, Axis(-0.3, 1.3, 17)),
        ([0.0, 1.0], 17, (-0.3, 1.3), 1000, Axis(-0.8, 1.8, 27, 5, 5)),
        ([0.0, 1.0], 17, (0.0, 1.0), 1000, Axis(-0.5, 1.5, 33, 8, 8)),
        ([0.2, 1.0], 11, (-math.inf, 1.1), 1000, Axis(-0.1, 1.7, 16, 0, 5)),
        ([0.0, 2.4], 21, FREE, 1000, Axis(-0.3, 2.7, 21)),
        ([0.0, 2.4], 20, FREE, 1000, Axis(-0.3, 2.7, 61)),
        ([0.0, 2.4], 20, FREE, 40, Axis(-0.3, 2.7, 40)),
    ],
)
def test_axes_by_hand(samples: Any, size: int, support: Any, largest: int, wanted: Axis) -> None:
    """Bandwidth .1, .3 beyond the draws; at a bound 5 bandwidths of mirrored points; steps of more
    than 1.5 bandwidths are refined to half of one, as far as there may be points."""
    found = grids.plan_axis(np.array(samples), 0.1, 0.3, size, support, largest)
    assert (found.size, found.mirrored_low, found.mirrored_high) == (
        wanted.size,
        wanted.mirrored_low,
        wanted.mirrored_high,
    )
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_an_axis_that_cannot_be_had() -> None:
    with pytest.raises(InputError, match="span 30 bandwidths; allowed: a span of at most 28"):
        grids.plan_axis(np.array([0.0, 2.4]), 0.1, 0.3, 20, FREE, 20)
    assert grids.plan_axis(np.array([0.0, 2.25]), 0.1, 0.3, 20, FREE, 20).size == 20


def test_errors_of_ends_are_those_of_the_influence_of_each_draw() -> None:
    """Witness: the formulas of the module, draw by draw, with the kernel mirrored at the bound."""
    rng = np.random.default_rng(4)
    x = np.abs(rng.standard_normal(50))
    h = 0.3
    level = 0.35
    ends = np.array([0.2, 0.7, 1.4])
    rise = np.array([0.5, -0.4, -0.3])
    inside = (x < 0.7) | (x > 1.4)
    errors, of_level = line.displacement_errors(x, inside, ends, rise, level, h, [-x])
    steep = np.abs(rise)
    kernel = np.array([[norm.pdf(e, v, h) + norm.pdf(e, -v, h) for e in ends] for v in x])
    centred = kernel - kernel.mean(axis=0)
    moved = np.array(
        [
            ((i - inside.mean()) / level + (k / steep).sum()) / (1 / steep).sum()
            for i, k in zip(inside, centred, strict=True)
        ]
    )
    each = (centred - moved[:, None]) / steep
    np.testing.assert_allclose(errors, each.std(axis=0) / math.sqrt(50), rtol=1e-12)
    assert of_level == pytest.approx(moved.std() / math.sqrt(50), rel=1e-12)
    flat = line.displacement_errors(x, inside, ends, np.array([0.5, 1e-7, 0.3]), level, h, [])
    assert np.isinf(flat[0]).all()
    assert flat[1] == math.inf
    assert line.displacement_errors(x, inside, ends[:0], rise[:0], level, h, [])[1] == math.inf
    assert np.isfinite(
        line.displacement_errors(x, inside, ends, 1.2e-6 * rise / steep, level, h, [])[1]
    )


def test_a_density_in_space_against_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Witness: `multivariate_normal` around each centre, H_ij = h_i·h_j·ρ_ij.

    A draw by the others.
    """
    x = np.random.default_rng(3).standard_normal((30, 3)) @ np.array(
        [[2.0, 0.5, 0.0], [0, 1, 0.3], [0, 0, 4]]
    )
    h = np.array([0.8, 0.5, 1.5])
    points = np.random.default_rng(4).standard_normal((7, 3))
    covariance = np.corrcoef(x.T) * np.outer(h, h)

    def summed(at: np.ndarray, centres: np.ndarray) -> np.ndarray:
        return np.sum([multivariate_normal(c, covariance).pdf(at) for c in centres], axis=0)

    density = space.PointDensity.of(x, h)
    np.testing.assert_allclose(density.at(points), summed(points, x) / 30, rtol=1e-9)
    others = [summed(x[i], np.delete(x, i, axis=0)) / 29 for i in range(30)]
    np.testing.assert_allclose(density.of_others(x), others, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(
        space.normal_reference_bandwidth(x),
        x.std(axis=0, ddof=1) * (4 / 5 / 30) ** (1 / 7),
        rtol=1e-12,
    )
    # with ten centres every third row in lexicographic order has a kernel; blocks of a few points
    # at a time
    monkeypatch.setattr(space, "MOST_CENTRES", 10)
    monkeypatch.setattr(space, "BLOCK", 25)
    few = space.PointDensity.of(x, h)
    chosen = np.lexsort((x[:, 2], x[:, 1], x[:, 0]))[::3]
    np.testing.assert_allclose(few.at(points), summed(points, x[chosen]) / 10, rtol=1e-9)
    own = [summed(x[i], x[chosen[chosen != i]]) / (9 if i in chosen else 10) for i in range(30)]
    np.testing.assert_allclose(few.of_others(x), own, rtol=1e-6, atol=1e-12)
    assert space.normal_reference_bandwidth(x)[0] == pytest.approx(
        x[:, 0].std(ddof=1) * (4 / 5 / 10) ** (1 / 7)
    )


@pytest.mark.parametrize(
    ("values", "times", "discrete"),
    [(25, 5, True), (26, 5, False), (25, 4, False), (2, 5, True), (12, 30, True)],
)
def test_which_draws_are_discrete(values: int, times: int, discrete: bool) -> None:
    """At most 25 values, each five times on average; pairs count as pairs.

    (None is a whole number.)
    """
    x = np.repeat(np.arange(float(values)) + 0.5, times)
    assert space.is_discrete(x[:, None]) == discrete
    assert not space.is_discrete(np.append(x, [0.25] * 3)[:, None]) or values < 25
    both = np.column_stack([np.tile(x, 6), np.repeat(np.arange(6.0), x.size)])
    assert space.is_discrete(both) == (discrete and 6 * values <= 25)


def test_counts_are_discrete_however_many_values_they_have() -> None:
    """Poisson(12): a density gave [5.6, 18.4] and [18.9, 19.0].

    Whole numbers that hardly repeat have a density.
    """
    draws = np.random.default_rng(1).poisson(12, 20_000)
    with pytest.warns(DataWarning, match="taken as discrete"):
        found = hdr(draws, 0.95)
    assert found.kind == "discrete"
    values = found.axes[0][found.values >= found.falpha].ravel()
    assert sorted(values.tolist()) == list(range(6, 20))
    assert not space.is_discrete(np.random.default_rng(1).normal(5e4, 1e4, 500).round()[:, None])


def test_constant_draws() -> None:
    """Up to eight units in the last place of the largest."""
    one = np.full((20, 2), 3.0)
    assert space.is_constant(one)
    near = one + np.where(np.arange(20) == 4, 7 * np.spacing(2.0), 0.0)[:, None]
    assert space.is_constant(near)
    assert not space.is_constant(
        one + np.where(np.arange(20) == 4, 20 * np.spacing(2.0), 0.0)[:, None]
    )
    assert not space.is_constant(np.column_stack([one[:, 0], np.arange(20.0)]))
    assert space.frequencies(near)[1].tolist() == [1.0]


def test_more_kernels_by_hand() -> None:
    """√(p(1 − p)/n)/f; infinite at density 0; quantiles are cut at 0 and 1."""
    assert result.size_error(0.9, 400, 0.25) == pytest.approx(0.015 / 0.25)
    assert result.size_error(0.9, 400, 0.0) == math.inf
    assert result.level_error(np.array([1.0, 3.0]), 0.99) == pytest.approx(
        (1 + 2 * (0.01 + math.sqrt(0.0099 / 2)) - 1) / 2
    )
