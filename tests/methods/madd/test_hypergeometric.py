"""The permutation law: against enumeration and SciPy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import hypergeom

from fairstats.methods.madd.permutation import mean_deviation, null_mean, permuted_counts
from fairstats.methods.madd.scores import histogram_distance


@pytest.mark.parametrize(("n0", "n1"), [(1, 1), (1, 9), (2, 2), (5, 50), (50, 50), (200, 30)])
def test_mean_deviation_is_the_sum_over_the_range(n0: int, n1: int) -> None:
    n = n0 + n1
    x = np.arange(n0 + 1)
    for count in range(n + 1):
        expected = float(np.abs(x - count * n0 / n) @ hypergeom(n, count, n0).pmf(x))
        assert mean_deviation(np.array([count]), n0, n1)[0] == pytest.approx(expected, abs=1e-11)


def test_null_mean_is_the_mean_over_all_splits() -> None:
    bins = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    values = []
    for rows in combinations(range(8), 3):
        first = np.bincount(bins[list(rows)], minlength=3)
        values.append(float(histogram_distance(first, np.array([3, 2, 3]) - first)))
    assert null_mean(np.array([3, 2, 3]), 3, 5) == pytest.approx(np.mean(values), rel=1e-12)


def test_null_mean_stays_below_2_where_the_normal_formula_does_not() -> None:
    """50 + 50 rows in 200 bins: the normal formula gives 2.25."""
    pooled = np.bincount(np.random.default_rng(1).integers(0, 200, 100), minlength=200)
    p = pooled / 100
    normal = float(np.sqrt(2 / np.pi * (1 / 200) * (1 - 1 / 200) * (1 / 50 + 1 / 50)) * 200)
    assert normal > 2.2
    assert 1.0 < null_mean(pooled, 50, 50) < 2
    large = pooled * 1000
    approximate = float(np.sqrt(2 / np.pi * p * (1 - p) * (2 / 50_000)).sum())
    assert null_mean(large, 50_000, 50_000) == pytest.approx(approximate, rel=2e-3)


@pytest.mark.parametrize("sizes", [(30, 70), (20, 30, 50), (5, 5, 5, 85)])
def test_permuted_counts_keep_both_margins_and_have_the_right_mean(
    sizes: tuple[int, ...], rng: np.random.Generator
) -> None:
    pooled = np.array([10, 0, 25, 40, 25])
    drawn = permuted_counts(pooled, sizes, 4000, rng)
    assert drawn.shape == (len(sizes), 4000, 5)
    assert (drawn.sum(axis=0) == pooled).all()
    assert (drawn.sum(axis=2) == np.array(sizes)[:, None]).all()
    for g, size in enumerate(sizes):
        mean = size * pooled / 100
        variance = mean * (1 - pooled / 100) * (100 - size) / 99
        assert (
            np.abs(drawn[g].mean(axis=0) - mean) <= 4.5 * np.sqrt(variance / 4000) + 1e-12
        ).all()
        full = pooled > 0
        excess = hypergeom(100, pooled[full], size).stats("k")
        error = np.sqrt((excess + 2) / 4000)  # of a variance of 4,000 draws, relative
        found = drawn[g].var(axis=0)
        assert (np.abs(found[full] / variance[full] - 1) <= 4.5 * error).all()
        assert (found[~full] == 0).all()
