"""A draw is judged by the density of the others.

The errors beside an atom are those of resamples.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fairstats.ground.errors import DataWarning
from fairstats.numerics.hdr import line, scipy_backend
from fairstats.numerics.hdr.grids import Axis, own_kernels
from fairstats.numerics.hdr.region import hdr

FREE = (-math.inf, math.inf)


def test_without_its_kernel_a_draw_has_the_density_of_the_others() -> None:
    """Witness: the density estimated without that draw. On a plane binning is exact in it, also
    where the grid is as coarse as the kernel."""
    x = np.random.default_rng(1).standard_normal((40, 2))
    for size in (15, 61):
        h = np.array([0.4, 0.7])
        low = np.full(2, -5.0)
        high = np.full(2, 5.0)
        axis = Axis(-5.0, 5.0, size)
        own = own_kernels(x[:, 0], 0.4, axis, []) * own_kernels(x[:, 1], 0.7, axis, [])
        at = scipy_backend.density_2d(x, h, low, high, (size, size)).at(x)
        for i in range(0, 40, 7):
            others = scipy_backend.density_2d(np.delete(x, i, axis=0), h, low, high, (size, size))
            assert (40 * at[i] - own[i]) / 39 == pytest.approx(others.at(x[i : i + 1])[0], rel=1e-9)


def test_without_its_counts_a_draw_has_the_shifted_histogram_of_the_others() -> None:
    """Witness: the histogram of all draws but that one, on the same cells."""
    x = np.random.default_rng(7).standard_normal((50, 2))
    low = np.full(2, -4.0)
    high = np.full(2, 4.5)
    at = scipy_backend.shifted_histogram(x, low, high).at(x)
    own = scipy_backend.own_shifts(x, low, high)
    for i in range(0, 50, 7):
        others = scipy_backend.shifted_histogram(np.delete(x, i, axis=0), low, high)
        assert (50 * at[i] - own[i]) / 49 == pytest.approx(others.at(x[i : i + 1])[0], abs=1e-12)


@pytest.mark.parametrize("support", [FREE, (0.0, 1.0), (0.0, math.inf)])
def test_the_level_is_the_quantile_of_the_others_densities(support: tuple[float, float]) -> None:
    """Witness: kernels summed one by one, mirrored at the bounds; R's rule is off by 1/(2·1024)."""
    x = np.random.default_rng(2).beta(1.2, 4.0, size=60)
    h = 0.08
    gaps = x[:, None] - x[None, :]
    kernels = scipy_backend.gaussian(gaps, h)
    for bound in support:
        if math.isfinite(bound):
            kernels += scipy_backend.gaussian(2 * bound - x[:, None] - x[None, :], h)
    np.fill_diagonal(kernels, 0.0)
    wanted = np.quantile(kernels.sum(axis=1) / 59, 0.1)
    found = hdr(x, 0.9, bandwidth=h, support=support, backend="scipy")
    assert found.falpha == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize(("dimension", "n", "runs"), [(1, 100, 250), (2, 300, 60), (3, 300, 30)])
def test_regions_hold_of_new_draws_what_they_state(dimension: int, n: int, runs: int) -> None:
    """95 ± 1 points, and 3 Monte Carlo errors.

    Counting their own kernels they held 93.4 and 93.1.
    """
    rng = np.random.default_rng([dimension, n])
    root = np.linalg.cholesky(0.6 * np.ones((dimension, dimension)) + 0.4 * np.eye(dimension))
    new = rng.standard_normal((5_000, dimension)) @ root.T
    held = [
        hdr(rng.standard_normal((n, dimension)) @ root.T, 0.95, backend="scipy")
        .contains(new)
        .mean()
        for _ in range(runs)
    ]
    assert abs(np.mean(held) - 0.95) < 0.01 + 3 * np.std(held) / math.sqrt(runs)


def test_errors_beside_an_atom_are_those_of_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with a bandwidth of its own, and the nearest end on the same side."""
    monkeypatch.setattr(line, "RESAMPLES", 6)
    rng = np.random.default_rng(3)
    x = np.where(rng.random(300) < 0.2, 2.0, rng.standard_normal(300))
    with pytest.warns(DataWarning, match="of the draws equal 2"):
        found = hdr(x, 0.5, backend="scipy")
    assert "spike as wide as the bandwidth" in " ".join(found.notes())
    rows = np.random.default_rng(0).integers(0, 300, (6, 300))
    again = [hdr(x[r], 0.5, backend="scipy", discrete=False) for r in rows]
    for k, ends in enumerate(found.intervals):
        for side in (0, 1):
            nearest = [min(a.intervals[:, side], key=lambda e: abs(e - ends[side])) for a in again]
            assert found.errors[k, side] == pytest.approx(np.std(nearest, ddof=1), rel=1e-9)
    assert found.regions[0].falpha_error == pytest.approx(np.std([a.falpha for a in again], ddof=1))


@pytest.mark.slow
@pytest.mark.parametrize(("atom", "prob"), [(2.0, 0.5), (2.0, 0.9), (0.5, 0.95)])
def test_stated_errors_beside_an_atom(atom: float, prob: float) -> None:
    """Within a factor 1.7 of the spread over samples.

    The influence functions stated .25 to .5 of it.
    """
    rng = np.random.default_rng([1, int(10 * atom), int(100 * prob)])

    def one() -> Any:
        x = np.where(rng.random(1000) < 0.2, atom, rng.standard_normal(1000))
        return hdr(x, prob, backend="scipy", discrete=False)

    found = [one() for _ in range(40)]
    for side, place in ((0, 0), (1, -1)):
        actual = np.std([f.intervals[place, side] for f in found])
        assert 0.6 < np.sqrt(np.mean([f.errors[place, side] ** 2 for f in found])) / actual < 1.7
