"""What every region must be: equivariant, nested, inside its support, and as wide as the truth."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from fairstats.ground.errors import DataWarning, InputError
from fairstats.numerics.hdr.bandwidth import hdr_bandwidth, hdr_bandwidth_2d
from fairstats.numerics.hdr.grids import Surface
from fairstats.numerics.hdr.region import hdr

BASE = np.random.default_rng(7).gamma(3.0, size=400)
MIXTURE = np.concatenate(
    [np.random.default_rng(8).normal(-2, 0.7, 600), np.random.default_rng(9).normal(2, 1, 400)]
)
PLANE = np.random.default_rng(10).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 400)
SPACE = np.random.default_rng(11).standard_normal((300, 3))

factors = st.floats(-9, 9).map(lambda power: 10.0**power)
shifts = st.floats(-5, 5)


@settings(max_examples=40)
@given(factors, shifts, st.sampled_from([BASE, MIXTURE]))
def test_scale_and_shift_on_a_line(factor: float, shift: float, draws: np.ndarray) -> None:
    plain = hdr(draws, [0.5, 0.95])
    moved = hdr((draws + shift) * factor, [0.5, 0.95])
    assert moved.bandwidth == pytest.approx(factor * plain.bandwidth, rel=1e-8)
    for one, other in zip(plain.regions, moved.regions, strict=True):
        assert one.intervals is not None
        assert one.errors is not None
        span = factor * np.ptp(draws)
        np.testing.assert_allclose(
            other.intervals, factor * (one.intervals + shift), rtol=0, atol=1e-8 * span
        )
        np.testing.assert_allclose(other.errors, factor * one.errors, rtol=1e-6)
        assert other.falpha == pytest.approx(one.falpha / factor, rel=1e-8)


@settings(max_examples=15)
@given(factors, shifts)
def test_scale_and_shift_on_a_plane(factor: float, shift: float) -> None:
    plain = hdr(PLANE)
    moved = hdr((PLANE + shift) * factor)
    np.testing.assert_allclose(moved.bandwidth, factor * plain.bandwidth, rtol=1e-8)
    assert moved.area == pytest.approx(factor**2 * plain.area, rel=1e-8)
    assert moved.falpha == pytest.approx(plain.falpha / factor**2, rel=1e-8)


def test_units_of_the_axes_matter_little() -> None:
    """As in ks a kernel ends at four times the larger bandwidth on both axes.

    1e-4, not rounding.
    """
    plain = hdr(PLANE)
    moved = hdr(PLANE * [1.0, 1000.0])
    np.testing.assert_allclose(moved.bandwidth, plain.bandwidth * [1.0, 1000.0], rtol=1e-8)
    assert moved.area == pytest.approx(1000 * plain.area, rel=1e-4)


@settings(max_examples=5)
@given(factors)
def test_scale_in_space(factor: float) -> None:
    plain = hdr(SPACE)
    moved = hdr(SPACE * factor)
    assert moved.falpha == pytest.approx(plain.falpha / factor**3, rel=1e-8)


@pytest.mark.parametrize("draws", [BASE, MIXTURE, PLANE, SPACE, np.round(BASE)])
def test_order_does_not_matter(draws: np.ndarray, rng: np.random.Generator) -> None:
    one, other = (hdr(x, discrete=False) for x in (draws, rng.permutation(draws)))
    assert other.falpha == pytest.approx(one.falpha, rel=1e-12)
    np.testing.assert_allclose(other.bandwidth, one.bandwidth, rtol=1e-12)


@pytest.mark.parametrize("draws", [BASE, MIXTURE, PLANE, SPACE])
@pytest.mark.parametrize("prob", [0.05, 0.5, 0.95, 0.99])
def test_the_share_of_the_draws_is_the_probability(draws: np.ndarray, prob: float) -> None:
    result = hdr(draws, prob)
    assert result.mass == pytest.approx(prob, abs=1.01 / len(draws))
    if result.dimension == 1:
        assert result.regions[0].interval_masses.sum() == pytest.approx(result.mass)
        # a draw's own kernel, which `mass` leaves out, keeps some more of them in
        assert 0 <= result.contains(draws).mean() - result.mass + 1e-12 < 0.05


@given(st.lists(st.floats(0.02, 0.98), min_size=2, max_size=5, unique=True))
@settings(max_examples=20)
def test_regions_are_nested(probs: list[float]) -> None:
    result = hdr(MIXTURE, probs)
    x = np.linspace(-5, 5, 500)
    order = np.argsort(probs)
    inside = [result.contains(x, prob=probs[k]) for k in order]
    for small, large in pairwise(inside):
        assert (large | ~small).all()


def test_two_modes_give_two_intervals() -> None:
    """Witness: the density 0.6·N(−2, 0.7²) + 0.4·N(2, 1) itself, within four Monte Carlo errors."""
    grid = np.linspace(-7, 8, 30_001)
    truth = 0.6 / 0.7 * np.exp(-0.5 * ((grid + 2) / 0.7) ** 2) + 0.4 * np.exp(
        -0.5 * (grid - 2) ** 2
    )
    exact = hdr(density=(grid, truth / np.sqrt(2 * np.pi)), prob=0.9)
    found = hdr(MIXTURE, 0.9)
    assert np.shape(found.intervals) == np.shape(exact.intervals) == (2, 2)
    assert (np.abs(found.intervals - exact.intervals) < 4 * found.errors).all()
    assert found.modes[:2] == pytest.approx([-2, 2], abs=0.4)


# ---------------------------------------------------------------- support


@pytest.mark.parametrize("prob", [0.5, 0.9, 0.99])
def test_bounds_stay_inside_the_support(rng: np.random.Generator, prob: float) -> None:
    for draws, support in (
        (np.abs(rng.standard_normal(2000)), (0, None)),
        (-rng.exponential(size=2000), (-np.inf, 0.0)),
        (rng.beta(0.7, 1.5, 2000), (0, 1)),
        (rng.random(2000), (0, 1)),
    ):
        low = -np.inf if support[0] is None else support[0]
        high = np.inf if support[1] is None else support[1]
        result = hdr(draws, prob, support=support)
        assert low <= result.intervals.min()
        assert result.intervals.max() <= high
        grid, values = result.density
        assert trapezoid(values, grid) == pytest.approx(1.0, abs=2e-3)


def test_half_normal_reaches_its_bound(rng: np.random.Generator) -> None:
    """True 90% region of |N(0, 1)|: [0, 1.645].

    Without the support it starts above 0 or reaches below it.
    """
    draws = np.abs(rng.standard_normal(20_000))
    result = hdr(draws, 0.9, support=(0, None))
    assert result.intervals[0, 0] == 0.0
    assert result.errors[0, 0] == 0.0
    assert abs(result.intervals[0, 1] - 1.6449) < 4 * result.errors[0, 1]
    assert hdr(draws, 0.9).intervals[0, 0] != 0.0


def test_both_bounds(rng: np.random.Generator) -> None:
    """Beta(½, ½) is highest at both ends: two intervals, each at a bound."""
    result = hdr(rng.beta(0.5, 0.5, 20_000), 0.5, support=(0, 1))
    assert result.intervals[0, 0] == 0.0
    assert result.intervals[-1, -1] == 1.0
    assert result.intervals[0, 1] == pytest.approx(0.146, abs=0.02)


def test_a_far_bound_changes_nothing() -> None:
    near = hdr(BASE)
    far = hdr(BASE, support=(-1000, 1000), bandwidth=hdr(BASE).bandwidth)
    np.testing.assert_allclose(far.intervals, near.intervals, rtol=1e-12)


def test_support_on_the_plane(rng: np.random.Generator) -> None:
    """Rates near 1 and gaps near 0.

    The region reaches both bounds, keeps its mass, and ends there.
    """
    draws = np.column_stack(
        [1 - np.abs(0.1 * rng.standard_normal(4000)), np.abs(rng.standard_normal(4000))]
    )
    result = hdr(draws, 0.9, support=((0, 1), (0, None)))
    x, y, values = result.density
    assert x[-1] == 1.0
    assert y[0] == 0.0
    mass = trapezoid(trapezoid(values, y, axis=1), x)
    assert mass == pytest.approx(1.0, abs=2e-3)
    assert result.contains([[0.999, 0.001]]).all()
    assert not result.contains([[1.001, 0.5], [0.9, -0.001]]).any()
    assert result.area == pytest.approx(0.1 * -2 * np.pi * np.log(0.1) / 4, rel=0.08)


@pytest.mark.parametrize(("plateau", "told"), [(0.953, False), (0.957, True)])
def test_a_flat_density_is_told_from_half_a_percent_on(plateau: float, told: bool) -> None:
    """By hand: height p on [0, 1] and 1 − p on [1, 2] hold p on the plateau, to half a grid
    step.
    """
    x = np.linspace(0, 2, 2001)
    density = (x, np.where(x <= 1, plateau, 1 - plateau))
    flat = pytest.warns(
        DataWarning, match="flat at its 0.95 level: the region {f ≥ falpha} holds 0.956"
    )
    with flat if told else contextlib.nullcontext():
        assert hdr(density=density, prob=0.95).mass == pytest.approx(plateau, abs=5e-4)


# ---------------------------------------------------------------- discrete draws


def test_counts_are_taken_as_discrete(rng: np.random.Generator) -> None:
    draws = rng.binomial(8, 0.5, 2000)
    with pytest.warns(DataWarning, match="few distinct values"):
        result = hdr(draws, 0.7)
    np.testing.assert_array_equal(result.intervals, [[3.0, 5.0]])
    assert result.mode == 4.0
    assert result.mass == pytest.approx(np.isin(draws, [3, 4, 5]).mean())
    np.testing.assert_array_equal(result.contains([3, 3.5, 6]), [True, False, False])
    assert hdr(draws, 0.7, discrete=True).falpha == result.falpha
    assert hdr(draws, 0.7, discrete=False).kind == "density"


def test_discrete_draws_may_have_several_runs() -> None:
    draws = np.repeat([0, 1, 2, 3, 4], [30, 30, 1, 9, 30])
    result = hdr(draws, 0.85, discrete=True)
    np.testing.assert_array_equal(result.intervals, [[0, 1], [4, 4]])
    np.testing.assert_allclose(result.regions[0].interval_masses, [0.6, 0.3])
    assert result.regions[0].falpha_error == pytest.approx(
        np.sqrt(0.3 * 0.7 / 100), rel=1e-12
    )  # of a share


def test_few_pairs_of_values(rng: np.random.Generator) -> None:
    draws = rng.integers(0, 3, (500, 2))
    with pytest.warns(DataWarning, match="few distinct values"):
        result = hdr(draws, 0.5)
    assert 0.5 <= result.mass < 0.75
    assert result.contains(draws).mean() == pytest.approx(result.mass)


def test_rounded_draws_stay_continuous(rng: np.random.Generator) -> None:
    """N(0, 1) to one decimal has about 65 distinct values.

    A density, as in the recorded case with ties.
    """
    assert hdr(np.round(rng.standard_normal(2000), 1)).kind == "density"


# ---------------------------------------------------------------- the plane and beyond


def test_regions_of_the_normal_on_the_plane(rng: np.random.Generator) -> None:
    draws = rng.standard_normal((20_000, 2))
    result = hdr(draws, [0.5, 0.95])
    for region in result.regions:
        assert region.size == pytest.approx(-2 * np.pi * np.log(1 - region.prob), rel=0.05)
        assert region.size_error == pytest.approx(
            np.sqrt(region.prob * (1 - region.prob) / 20_000) / region.falpha
        )
    assert np.hypot(*result.mode) < 0.7
    assert len(result.modes) >= 1


def test_estimators_agree_on_the_plane() -> None:
    areas = [hdr(PLANE, 0.8, estimator=name).area for name in ("kde", "ash")]
    assert areas[1] == pytest.approx(areas[0], rel=0.15)


def test_grid_density_on_the_plane_alone() -> None:
    x = np.linspace(-5, 5, 151)
    y = np.linspace(-6, 6, 161)
    values = np.exp(-0.5 * (x[:, None] ** 2 + y[None, :] ** 2)) / (2 * np.pi)
    result = hdr(density=(x, y, values), prob=[0.95, 0.5])
    np.testing.assert_allclose(result.falpha, np.array([0.05, 0.5]) / (2 * np.pi), rtol=5e-3)
    np.testing.assert_allclose(result.mass, [0.95, 0.5], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.mode, [0.0, y[80]])
    assert result.backend == "exact"


@pytest.mark.parametrize("dimension", [3, 5])
def test_new_draws_fall_inside_in_higher_dimensions(
    rng: np.random.Generator, dimension: int
) -> None:
    """Without its own kernel a draw is like a new one.

    The share of new draws is prob, within 4 errors.
    """
    draws = rng.standard_normal((2000, dimension))
    new = rng.standard_normal((4000, dimension))
    result = hdr(draws, 0.9)
    assert result.contains(new).mean() == pytest.approx(
        0.9, abs=4 * np.sqrt(0.09 * (1 / 2000 + 1 / 4000))
    )


def test_many_draws_in_three_dimensions(rng: np.random.Generator) -> None:
    draws = rng.standard_normal((6000, 3)) @ np.array([[1.0, 0.9, 0], [0, 0.5, 0], [0, 0, 3]])
    result = hdr(draws, 0.9)
    assert result.mass == pytest.approx(0.9, abs=1e-3)
    assert np.shape(result.bandwidth) == (3,)
    assert hdr(draws[::-1], 0.9).falpha == pytest.approx(result.falpha, rel=1e-10)


# ---------------------------------------------------------------- Monte Carlo errors


@pytest.mark.parametrize(
    ("draw", "options"),
    [
        (lambda rng: rng.standard_normal(1000), {}),
        (lambda rng: np.abs(rng.standard_normal(1000)), {"support": (0, None)}),
        (lambda rng: np.append(rng.normal(-2, 0.7, 600), rng.normal(2, 1, 400)), {}),
    ],
    ids=["normal", "half-normal", "mixture"],
)
def test_errors_are_the_spread_over_replicates(
    rng: np.random.Generator, draw: Any, options: Any
) -> None:
    """300 replicates give the spread to 4%; the formula is right to first order: 15%."""
    ends = []
    errors = []
    levels = []
    level_errors = []
    sizes = []
    size_errors = []
    for _ in range(300):
        region = hdr(draw(rng), 0.9, bandwidth=0.25, **options).regions[0]
        if ends and np.shape(region.intervals) != np.shape(ends[0]):
            continue
        ends.append(region.intervals)
        errors.append(region.errors)
        levels.append(region.falpha)
        level_errors.append(region.falpha_error)
        sizes.append(region.size)
        size_errors.append(region.size_error)
    np.testing.assert_allclose(np.mean(errors, axis=0), np.std(ends, axis=0), rtol=0.15, atol=1e-12)
    assert np.mean(level_errors) == pytest.approx(np.std(levels), rel=0.15)
    assert np.mean(size_errors) == pytest.approx(np.std(sizes), rel=0.15)


def test_error_of_an_area(rng: np.random.Generator) -> None:
    """100 replicates: 7%, and the formula leaves out second-order terms: 25%."""
    regions = [
        hdr(rng.standard_normal((2000, 2)), 0.9, bandwidth=0.3).regions[0] for _ in range(100)
    ]
    spread = np.std([region.size for region in regions])
    assert np.mean([region.size_error for region in regions]) == pytest.approx(spread, rel=0.25)


def test_no_draws_no_error() -> None:
    grid = np.linspace(0, 1, 101)
    region = hdr(density=(grid, 2 * grid)).regions[0]
    assert region.falpha_error == region.size_error == 0.0
    assert not region.errors.any()


def test_what_a_density_may_miss_of_1() -> None:
    """4.9% is taken as it is, 5.1% is told; values below 0 by rounding are 0, others refused."""
    x = np.linspace(-1, 1, 201)
    triangle = 1 - np.abs(x)
    assert hdr(density=(x, 1.049 * triangle)).mass == pytest.approx(0.95, abs=1e-9)
    for off in (1.051, 0.949):
        with pytest.warns(DataWarning, match="integrates to"):
            hdr(density=(x, off * triangle))
    rounded = np.where(x == 0.5, -0.9e-9, triangle)
    assert hdr(density=(x, rounded)).density[1].min() == 0
    with pytest.raises(InputError, match="density"):
        hdr(density=(x, np.where(x == 0.5, -1.1e-9, triangle)))


def test_the_fewest_draws_and_points_of_a_grid(rng: np.random.Generator) -> None:
    """Ten, and five of each quantity; sixteen points."""
    assert hdr(rng.standard_normal(10)).n == 10
    assert hdr(rng.standard_normal((15, 3))).n == 15
    with pytest.raises(InputError, match="at least 15 draws"):
        hdr(rng.standard_normal((14, 3)))
    assert hdr(rng.standard_normal(50), gridsize=16).density[0].size >= 16
    with pytest.raises(InputError, match="gridsize"):
        hdr(rng.standard_normal(50), gridsize=15)


def test_the_bandwidth_is_that_of_the_mean_probability(rng: np.random.Generator) -> None:
    """Witness: `hdr_bandwidth` at it; on a plane 1.3 times the plug-in.

    In space the normal reference.
    """
    x = rng.standard_normal(300)
    assert hdr(x, [0.5, 0.9]).bandwidth == hdr_bandwidth(x, 0.7)
    assert hdr(x, 0.5, support=(-9, 9)).bandwidth == hdr_bandwidth(x, 0.5, (-9.0, 9.0))
    pair = rng.standard_normal((200, 2))
    np.testing.assert_array_equal(hdr(pair).bandwidth, hdr_bandwidth_2d(pair))
    given = hdr(pair, bandwidth=[0.2, 0.6])
    assert given.bandwidth.tolist() == [0.2, 0.6]
    assert hdr(pair, bandwidth=0.3).bandwidth.tolist() == [0.3, 0.3]


def test_regions_of_a_plane_by_counting(rng: np.random.Generator) -> None:
    """Witnesses: the share of draws at or above the level, and fine Riemann sums of the density."""
    x = rng.standard_normal((400, 2)) * [1.0, 2.0]
    found = hdr(x, [0.5, 0.9], support=((-9, 9), (-9, 9)))
    a, b, values = found.density
    assert a[0] <= x[:, 0].min() - 0.15 * np.ptp(x[:, 0]) + 1e-9
    assert values.shape == (a.size, b.size)
    assert (a.size, b.size) == (151, 151)
    fine = Surface(a, b, values)
    axes = (np.linspace(axis[0], axis[-1], 601) for axis in (a, b))
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    height = fine.at(grid.reshape(-1, 2))
    cell = (a[-1] - a[0]) * (b[-1] - b[0]) / 600**2
    for region in found.regions:
        inside = height >= region.falpha
        assert region.size == pytest.approx(inside.sum() * cell, rel=0.01)
        assert region.density_mass == pytest.approx(height[inside].sum() / height.sum(), rel=0.01)
        assert region.mass == pytest.approx(region.prob, abs=1 / 400)
        assert found.contains(x, region.prob).mean() <= region.mass + 0.05
    assert tuple(found.mode) in {tuple(row) for row in x}
