"""Bins and distances: against sums written out, and what a distance must satisfy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairstats.ground.errors import InputError
from fairstats.methods.madd.permutation import mean_deviation
from fairstats.methods.madd.scores import (
    below,
    bin_edges,
    check_bins,
    distances_from_below,
    farey_grid,
    histogram,
    histogram_distance,
)

scores = arrays(np.float64, st.integers(1, 60), elements=st.floats(0, 1)).map(np.sort)
counts = arrays(np.int64, 6, elements=st.integers(0, 50)).filter(lambda c: c.sum() > 0)


def by_comparison(x: np.ndarray, n_bins: int) -> np.ndarray:
    """Rows per bin, one comparison after the other."""
    ends = [k / n_bins for k in range(n_bins + 1)]
    found = [((x >= low) & (x < high)).sum() for low, high in pairwise(ends)]
    found[-1] += (x == 1).sum()
    return np.array(found)


@given(scores, st.integers(1, 40))
def test_histogram_is_what_the_paper_defines(x: np.ndarray, n_bins: int) -> None:
    assert np.array_equal(histogram(x, bin_edges(n_bins)), by_comparison(x, n_bins))


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 49, 93, 99, 105, 117, 123, 1000])
def test_an_edge_belongs_to_the_bin_above_it(n_bins: int) -> None:
    """One score at every k/m: one row per bin, two in the last.

    floor(1/h) and k·h go wrong here.
    """
    x = np.arange(n_bins + 1) / n_bins
    expected = np.ones(n_bins, dtype=int)
    expected[-1] = 2
    assert np.array_equal(histogram(x, bin_edges(n_bins)), expected)


@given(scores, st.integers(1, 200))
def test_both_ways_to_count_agree(x: np.ndarray, n_bins: int) -> None:
    """Scores looked up among edges, and edges among scores."""
    edges = bin_edges(n_bins)
    assert np.array_equal(below(x, edges), [(x < e).sum() for e in edges])
    weights = np.linspace(0.5, 2, x.size)
    assert np.allclose(below(x, edges, weights), [weights[x < e].sum() for e in edges])


@given(counts, counts)
def test_a_distance(a: np.ndarray, b: np.ndarray) -> None:
    d = float(histogram_distance(a, b))
    assert 0 <= d <= 2
    assert d == float(histogram_distance(b, a))
    assert float(histogram_distance(a, 3 * a)) == 0
    assert d == pytest.approx(np.abs(a / a.sum() - b / b.sum()).sum())


@given(counts, counts, counts)
def test_triangle_inequality(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    d = histogram_distance
    assert float(d(a, c)) <= float(d(a, b)) + float(d(b, c)) + 1e-12


@given(counts, counts)
def test_coarser_bins_never_lie_further_apart(a: np.ndarray, b: np.ndarray) -> None:
    coarse = [x.reshape(3, 2).sum(axis=1) for x in (a, b)]
    assert float(histogram_distance(*coarse)) <= float(histogram_distance(a, b)) + 1e-12


@given(counts, counts)
def test_half_of_it_bounds_every_difference_of_selection_rates(
    a: np.ndarray, b: np.ndarray
) -> None:
    above = [np.cumsum(x[::-1]) / x.sum() for x in (a, b)]
    assert np.abs(above[0] - above[1]).max() <= float(histogram_distance(a, b)) / 2 + 1e-12


@pytest.mark.parametrize("value", [0, -1, 1.5, "ten", True, None, 10**9])
def test_numbers_of_bins_that_are_none(value: object) -> None:
    with pytest.raises(InputError, match="a whole number"):
        check_bins("n_bins", value)


def test_more_rows_than_whole_products_hold() -> None:
    """Two groups of 5·10⁹ rows: crossed counts are beyond 2⁶³. Witness: whole numbers of Python."""
    first, second = (np.array(c) * 10**9 for c in ([1, 3, 1], [2, 1, 2]))
    wanted = sum(abs(int(a) * 5 - int(b) * 5) for a, b in zip(first, second, strict=True)) / (
        25 * 10**9
    )
    assert histogram_distance(first, second) == pytest.approx(wanted, rel=1e-15)
    grid = farey_grid(4)
    below0, below1 = (
        np.cumsum(np.repeat(c / 2, [2, 2, 1]).astype(np.int64)) for c in (first, second)
    )
    found = distances_from_below(grid, below0, below1, 5e9, 5e9)
    plain = distances_from_below(grid, below0 // 10**6, below1 // 10**6, 5e3, 5e3)
    np.testing.assert_allclose(found, plain, rtol=1e-13, atol=1e-15)
    # a normal variable with the hypergeometric variance; logarithms of 7·10⁹ are known to 10⁻⁶
    # each, of six
    normal = np.sqrt(2 / np.pi * 1e9 * 0.25 * 0.9)
    assert mean_deviation(np.array([10**9]), 5 * 10**9, 5 * 10**9)[0] == pytest.approx(
        normal, rel=1e-4
    )
