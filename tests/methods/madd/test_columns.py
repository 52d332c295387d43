"""MADD of several columns of scores: one column at a time, and all of them by whole rows.

Witnesses: `fs.madd` of a single column; two columns that mirror each other, whose MADDs are one;
all label permutations of eight rows, counted; the size of the test by simulation.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.madd.permutation import ColumnSides, Sides, largest_test_of_columns
from fairstats.methods.madd.scores import Sample

SIZES = (120, 180)
GROUP = np.repeat(["a", "b"], SIZES)


def shares(seed: int = 2) -> np.ndarray:
    """Probabilities of three classes; the third is larger in group b."""
    rng = np.random.default_rng(seed)
    return np.vstack([rng.dirichlet([2, 3, 4], SIZES[0]), rng.dirichlet([2, 3, 7], SIZES[1])])


def test_each_column_is_what_it_is_by_itself() -> None:
    values = shares()
    result = fs.madd(values, sensitive_features=GROUP, rng=1)
    assert len(result.comparisons) == 3
    for column in range(3):
        alone = fs.madd(values[:, column], sensitive_features=GROUP, rng=1)
        own = result[f"a, {column}", f"b, {column}"]
        assert own.estimate == alone.estimate
        assert own.null_mean == pytest.approx(alone.null_mean, rel=1e-12)
        assert own.headline == pytest.approx(alone.headline, rel=1e-12)
        assert np.array_equal(own.edges, alone.edges)
    assert result.largest is not None
    assert result.largest.estimate == max(result.estimate)
    assert result.largest.n == sum(SIZES)


def test_columns_of_a_frame_name_the_groups() -> None:
    table = pd.DataFrame(shares(), columns=["low", "middle", "high"])
    result = fs.madd(table, sensitive_features=GROUP, rng=1)
    assert result.comparisons[2].group == "b, high"
    assert "low, middle, high" in result.summary()
    assert list(result.to_frame()["metric"]) == ["madd"] * 3 + ["madd_max"]
    plain = fs.madd(shares(), sensitive_features=GROUP, rng=1)
    assert result.largest.pvalue == plain.largest.pvalue


def test_p_values_are_adjusted_over_the_columns() -> None:
    result = fs.madd(shares(), sensitive_features=GROUP, rng=1)
    ordered = np.sort(result.pvalue)
    holm = np.maximum.accumulate(ordered * np.array([3, 2, 1]))
    adjusted = [comparison.pvalue_adjusted for comparison in result.comparisons]
    assert np.sort(adjusted) == pytest.approx(np.minimum(holm, 1))


def test_several_numeric_outcomes_are_ranked_column_by_column() -> None:
    values = shares()
    outcomes = np.column_stack([np.exp(5 * values[:, 0]), 1e6 * values[:, 1] - 3])
    ranked = fs.madd(outcomes, sensitive_features=GROUP, scale="rank", rng=1)
    plain = fs.madd(values[:, :2], sensitive_features=GROUP, rng=1)
    assert ranked.estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert ranked.largest.pvalue == plain.largest.pvalue


def test_a_mirrored_column_costs_nothing() -> None:
    """Of p and 1 − p every permutation has the same pair of distances: the p-value of one."""
    rng = np.random.default_rng(3)
    score = (np.arange(160) + 0.5) / 160
    score = rng.permutation(score)
    group = np.repeat(["a", "b"], 80)
    both = fs.madd(np.column_stack([score, 1 - score]), sensitive_features=group, rng=1, n_bins=8)
    first, second = both.estimate
    assert first == pytest.approx(second, abs=1e-12)
    assert both.largest.pvalue == pytest.approx(both.comparisons[0].pvalue, abs=0.06)
    assert both.largest.null_mean == pytest.approx(both.comparisons[0].null_mean, rel=0.05)


def test_the_law_is_that_of_all_permutations_of_whole_rows() -> None:
    """Eight rows, 56 splits into three and five, counted; two bins a column."""
    rng = np.random.default_rng(4)
    values = rng.random((8, 2))
    group = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    edges = 0.5
    above = values >= edges

    def distances(first: np.ndarray) -> np.ndarray:
        return 2 * np.abs(above[first].mean(axis=0) - above[~first].mean(axis=0))

    every = []
    for chosen in combinations(range(8), 3):
        first = np.zeros(8, dtype=bool)
        first[list(chosen)] = True
        every.append(distances(first))
    law = np.array(every)
    centre = law.mean(axis=0)
    spread = law.std(axis=0)
    standard = ((law - centre) / spread).max(axis=1)
    observed = ((distances(group == 0) - centre) / spread).max()
    exact = (standard >= observed - 1e-9).mean()
    samples = [[Sample(np.sort(values[group == g, column])) for g in (0, 1)] for column in (0, 1)]
    test = largest_test_of_columns(
        values,
        samples,
        group,
        None,
        [ColumnSides(column, Sides((0,), (1,), 2)) for column in (0, 1)],
        20_000,
        np.random.default_rng(5),
        equal_width=True,
    )
    assert test is not None
    assert test.statistic == pytest.approx(observed, rel=1e-9)
    assert test.pvalue == pytest.approx(exact, abs=5 * 0.5 / 20_000**0.5)
    assert test.null_mean == pytest.approx(law.max(axis=1).mean(), rel=0.02)


def test_three_groups_and_a_reference() -> None:
    rng = np.random.default_rng(6)
    values = rng.dirichlet([2, 2, 2], 300)
    group = np.repeat(["a", "b", "c"], 100)
    result = fs.madd(values, sensitive_features=group, reference="b", n_resamples=199, rng=1)
    assert len(result.comparisons) == 6
    assert {c.reference for c in result.comparisons} == {"b, 0", "b, 1", "b, 2"}
    assert "same law" not in result.summary()
    assert 0 < result.largest.pvalue <= 1


def test_clusters_are_permuted_whole_and_weights_are_not() -> None:
    rng = np.random.default_rng(7)
    person = np.repeat(np.arange(60), 5)
    group = np.where(person < 25, "a", "b")
    values = np.clip(rng.random((60, 2))[person] + 0.01 * rng.normal(size=(300, 2)), 0, 1)
    result = fs.madd(values, sensitive_features=group, cluster=person, n_resamples=499, rng=1)
    assert "whole clusters" in result.largest.method
    # thirty rows would be few; five copies of each are no evidence
    assert result.largest.pvalue > 0.01
    weighted = fs.madd(
        values, sensitive_features=group, sample_weight=rng.random(300), n_resamples=199, rng=1
    )
    assert "Bonferroni" in weighted.largest.method


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.MissingValuesWarning")
def test_a_row_that_lacks_a_column_lacks_all() -> None:
    values = shares()
    values[::11, 1] = np.nan
    kept = ~np.isnan(values).any(axis=1)
    with_gaps = fs.madd(values, sensitive_features=GROUP, missing="drop", rng=1)
    without = fs.madd(values[kept], sensitive_features=GROUP[kept], rng=1)
    assert with_gaps.estimate == pytest.approx(without.estimate, rel=1e-12)
    assert with_gaps.largest.pvalue == without.largest.pvalue


def test_bad_input() -> None:
    values = shares()
    with pytest.raises(InputError, match="comparisons"):
        fs.madd(values, sensitive_features=GROUP, comparisons="rest")
    with pytest.raises(InputError, match="permutations"):
        fs.madd(values, sensitive_features=GROUP, permutations="search")
    with pytest.raises(InputError, match="scale"):
        fs.madd(values, sensitive_features=GROUP, scale="class")
    with pytest.raises(InputError, match="name"):
        fs.madd(
            pd.DataFrame(values, columns=["a", "a", "b"]).set_axis(["a", "a", "b"], axis=1),
            sensitive_features=GROUP,
        )
    with pytest.raises(InputError, match="score"):
        fs.madd(2 * values, sensitive_features=GROUP)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(30, 40), (25, 400)])
def test_size_of_the_test_of_all_columns(sizes: tuple[int, int]) -> None:
    """Alike groups: P(p ≤ α) ≤ α, within Monte Carlo error, 2,000 samples of four classes."""
    rng = np.random.default_rng(11)
    group = np.repeat([0, 1], sizes)
    pvalues = []
    for _ in range(2_000):
        values = rng.dirichlet([0.5, 1, 1, 4], sum(sizes)).round(2)
        samples = [
            [Sample(np.sort(values[group == g, column])) for g in (0, 1)] for column in range(4)
        ]
        pairs = [ColumnSides(column, Sides((0,), (1,), 4)) for column in range(4)]
        test = largest_test_of_columns(values, samples, group, None, pairs, 99, rng)
        pvalues.append(test.pvalue)
    for level in (0.05, 0.2):
        error = (level * (1 - level) / 2_000) ** 0.5
        share = np.mean(np.array(pvalues) <= level)
        assert share <= level + 3 * error
        assert share >= level - 4 * error
