"""Permutation tests and stability ranges.

Every resample by brute force, size and power by simulation.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import fairstats as fs
from fairstats.methods.hfm import resampling
from fairstats.methods.hfm.encoding import Scene, make_scene
from fairstats.methods.hfm.nearest import nearest_rows
from fairstats.methods.hfm.resampling import (
    NeighbourLists,
    harmonics,
    label_exchange,
    label_permutation,
    make_distances,
    subsample_distances,
    upper_pvalue,
)

from .conftest import KINDS, Array, brute, make_pair

STATISTICS = st.sampled_from(["max", "mean", 0.8])


def scene_of(kind: str, n: int, d: int, seed: int, n_labels: int = 2, share: float = 0.5) -> Scene:
    rng = np.random.default_rng(seed)
    group = rng.random(n) < share
    group[:2] = [True, False]
    return make_scene(
        KINDS[kind](rng, n, d),
        rng.integers(0, n_labels, n),
        rng.integers(0, n_labels, n),
        sensitive_features=group,
        scale="minmax",
        reference_data=None,
        intersections=False,
    )


@example(kind="one outlier", n=19, d=27, share=0.3, seed=63, statistic=0.8)
@example(kind="one outlier", n=10, d=29, share=0.02, seed=64, statistic=0.8)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(2, 90),
    d=st.integers(1, 30),
    share=st.sampled_from([0.02, 0.3, 0.5]),
    seed=st.integers(0, 2**32 - 1),
    statistic=STATISTICS,
)
@hypothesis_settings(max_examples=50)
def test_distances_from_neighbour_lists(
    kind: str, n: int, d: int, share: float, seed: int, statistic: str | float
) -> None:
    """Also of subsamples, and with lists so short that rows are left to the exact methods."""
    rng = np.random.default_rng(seed)
    rows = KINDS[kind](rng, n, d)
    first = rng.random(n) < share
    first[rng.permutation(n)[:2]] = [True, False]
    present = rng.random(n) < 0.6
    present[np.flatnonzero(first)[:1]] = present[np.flatnonzero(~first)[:1]] = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "_LISTED_NEIGHBOURS", 7)
        patch.setattr(resampling, "_ROWS_OF_RACE", 20)
        lists = NeighbourLists(rows)
    found = lists.distance(first, statistic)
    assert found == pytest.approx(brute(rows[first], rows[~first], statistic), rel=1e-9, abs=1e-300)
    found = lists.distance(first, statistic, present)
    plain = brute(rows[first & present], rows[~first & present], statistic)
    assert found == pytest.approx(plain, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("d", [3, 12])
@pytest.mark.parametrize("same", [True, False])
def test_nearest_rows(d: int, same: bool) -> None:
    """Witness: all pairs, sorted."""
    a, b = make_pair("normal", "independent", 150, 120, d, 3)
    b = a if same else b
    pairs = cdist(a, b, "sqeuclidean")
    if same:
        np.fill_diagonal(pairs, np.inf)
    squared, index = nearest_rows(a, b, 9, same=same)
    assert np.allclose(squared, np.sort(pairs, axis=1)[:, :9], rtol=1e-12)
    assert np.allclose(np.take_along_axis(pairs, index.astype(int), axis=1), squared, rtol=1e-12)


def test_more_equal_rows_than_are_listed() -> None:
    rows = np.repeat([[0.0], [1.0]], [60, 5], axis=0)
    lists = NeighbourLists(rows)
    first = np.arange(65) < 59
    assert lists.distance(first, "max") == 1.0
    assert (lists.index != np.arange(65)).all()


def exchanged_by_hand(
    scene: Scene, swap: np.ndarray, statistic: str | float
) -> tuple[float, float]:
    true = np.where(swap[:, None], scene.pred, scene.true)
    pred = np.where(swap[:, None], scene.true, scene.pred)
    first = scene.sides[0].rows
    pair = (np.hstack([scene.features.values, y]) for y in (true, pred))
    d, d_f = (brute(z[first], z[~first], statistic) for z in pair)
    return d, d_f


@given(
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(2, 60),
    d=st.integers(1, 20),
    n_labels=st.sampled_from([1, 2, 4]),
    seed=st.integers(0, 2**32 - 1),
    statistic=STATISTICS,
)
@hypothesis_settings(max_examples=40)
def test_exchange_by_brute_force(
    kind: str, n: int, d: int, n_labels: int, seed: int, statistic: str | float
) -> None:
    scene = scene_of(kind, n, d, seed, n_labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "_LISTED_CHANGING", 3)
        patch.setattr(resampling, "_ROWS_OF_RACE", 20)
        patch.setattr(resampling, "_MOST_ROWS", 0)
        drawn = label_exchange(scene, statistic, 4, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    for b in range(4):
        plain = exchanged_by_hand(scene, rng.random(n) < 0.5, statistic)
        assert drawn[:, b, 0] == pytest.approx(plain, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("statistic", ["max", "mean"])
def test_permutation_by_brute_force(statistic: str) -> None:
    scene = scene_of("normal", 70, 4, 5)
    lists = make_distances(scene, statistic)
    drawn = label_permutation(scene, lists, statistic, 20, np.random.default_rng(6))
    rng = np.random.default_rng(6)
    for b in range(20):
        first = scene.sides[0].rows[rng.permutation(scene.n)]
        for which, z in enumerate((scene.with_true, scene.with_pred)):
            assert drawn[which, b, 0] == pytest.approx(
                brute(z[first], z[~first], statistic), rel=1e-9
            )


def test_subsamples_by_brute_force() -> None:
    scene = scene_of("uniform", 80, 3, 7)
    lists = make_distances(scene, "max")
    drawn = subsample_distances(scene, lists, "max", 0.4, 15, np.random.default_rng(8))
    rng = np.random.default_rng(8)
    first = scene.sides[0].rows
    for b in range(15):
        rows = np.zeros(80, dtype=bool)
        rows[rng.choice(80, size=32, replace=False)] = True
        z = scene.with_true
        assert drawn[0, b, 0] == pytest.approx(brute(z[first & rows], z[~first & rows]), rel=1e-9)


@given(
    n=st.integers(6, 60),
    groups=st.integers(2, 6),
    n_labels=st.sampled_from([2, 4]),
    statistic=STATISTICS,
    seed=st.integers(0, 2**32 - 1),
)
@hypothesis_settings(max_examples=15)
def test_all_pairs_are_the_neighbour_lists(
    n: int, groups: int, n_labels: int, statistic: str | float, seed: int
) -> None:
    """All resamples of several attributes and of their crossing, with either.

    Ties and empty groups too.
    """
    rng = np.random.default_rng(seed)
    sensitive = {"a": rng.integers(0, groups, n), "b": np.arange(n) % 2, "c": np.arange(n) % 3}
    sensitive["a"][:2] = (0, 1)
    scene = make_scene(
        np.round(rng.random((n, 2)), 1),
        rng.integers(0, n_labels, n),
        rng.integers(0, n_labels, n),
        sensitive_features=sensitive,
        scale="none",
        reference_data=None,
        intersections=True,
    )
    found = []
    for most in (0, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(resampling, "_MOST_ROWS", most)
            lists = make_distances(scene, statistic)
            assert isinstance(lists[0], resampling.AllPairs) == bool(most)
            draw = np.random.default_rng(seed)
            found.append(
                (
                    label_permutation(scene, lists, statistic, 5, draw),
                    label_exchange(scene, statistic, 5, draw),
                    subsample_distances(scene, lists, statistic, 0.3, 5, draw),
                )
            )
    for plain, fast in zip(*found, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=1e-12)


def test_all_pairs_are_for_few_rows_or_many_values() -> None:
    def of(n: int, groups: int, statistic: str = "mean") -> bool:
        rows = np.arange(n)
        y = rows % 2
        values = rows % groups
        scene = make_scene(
            rows[:, None],
            y,
            y,
            sensitive_features=values,
            scale="none",
            reference_data=None,
            intersections=False,
        )
        return resampling.worthwhile(scene, statistic)

    assert [of(300, 2), of(400, 2), of(1_990, 40), of(1_990, 20), of(2_100, 50)] == [
        True,
        False,
        True,
        False,
        False,
    ]
    # largest distances of few values are found of all draws together
    assert [of(700, 2, "max"), of(701, 2, "max"), of(700, 2, "mean")] == [True, False, False]


def test_upper_pvalue() -> None:
    """(1 + #{≥})/(1 + B) by hand; ties count, also infinite ones."""
    assert upper_pvalue(1.0, np.array([0.5, 1.0 - 1e-12, 2.0, 0.9])) == 3 / 5
    assert upper_pvalue(np.inf, np.array([1.0, np.inf])) == 2 / 3


def data(
    seed: int, n: int, shift: float, add: float
) -> tuple[Array, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 2)) + shift * group[:, None]
    y = rng.integers(0, 2, n)
    flip = rng.random(n) < 0.3
    y_pred = np.where(flip, 1 - y, y)
    if add:
        y_pred = np.where(rng.random(n) < add, group, y_pred)
    return x, y, y_pred, group


@pytest.mark.slow
def test_size_of_the_tests_under_the_null() -> None:
    """Exact tests: P(p ≤ 0.1) ≤ 0.1.

    200 data sets: standard error at 0.1 is 0.021; allowed 0.1 + 3·0.021.

    Under the null the groups are drawn from one distribution, and ŷ differs from y symmetrically,
    so that the rows' y and ŷ are exchangeable."""
    rejected = np.zeros(3)
    for seed in range(200):
        x, y, y_pred, group = data(seed, 60, 0.0, 0.0)
        result = fs.hfm(
            x, y, y_pred, sensitive_features=group, n_resamples=59, n_subsamples=0, rng=seed
        )
        rejected += [test.pvalue <= 0.1 for test in result.overall.tests]
    assert (rejected / 200 <= 0.163).all()


def test_power() -> None:
    """Groups that lie apart are found.

    So is a classifier that predicts the group where labels do not.
    """
    x, y, y_pred, group = data(1, 150, 2.0, 0.0)
    apart = fs.hfm(x, y, y_pred, sensitive_features=group, n_resamples=199, n_subsamples=0, rng=1)
    assert apart.overall.tests[0].pvalue == 1 / 200
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 300)
    x = rng.random((300, 2))
    y = rng.integers(0, 2, 300)
    y_pred = group
    added = fs.hfm(
        x,
        y,
        y_pred,
        sensitive_features=group,
        statistic="mean",
        n_resamples=199,
        n_subsamples=0,
        rng=1,
    )
    assert added.overall.tests[2].pvalue == 1 / 200
    assert added.overall.tests[2].null == "the classifier adds no distance"


def test_holm_over_values_only() -> None:
    """Witness: statsmodels' Holm of the p-values of the three values."""
    from statsmodels.stats.multitest import multipletests

    x, y, y_pred, _ = data(3, 120, 0.0, 0.0)
    race = np.random.default_rng(4).integers(0, 3, 120)
    result = fs.hfm(x, y, y_pred, sensitive_features=race, n_resamples=99, n_subsamples=0, rng=1)
    for k in range(3):
        plain = [e.tests[k].pvalue for e in result.entries[:3]]
        adjusted = [e.pvalues_adjusted[k] for e in result.entries[:3]]
        assert adjusted == pytest.approx(multipletests(plain, method="holm")[1])
        assert result.overall.pvalues_adjusted[k] == result.overall.tests[k].pvalue


def test_stability_ranges() -> None:
    x, y, y_pred, group = data(5, 150, 1.0, 0.0)
    result = fs.hfm(x, y, y_pred, sensitive_features=group, n_resamples=0, n_subsamples=60, rng=1)
    frame = result.stability()
    assert list(frame["quantity"]) == ["D", "D_f", "HFM"] * 2
    assert list(frame["share"]) == [0.8] * 3 + [0.4] * 3
    assert (frame["low"] <= frame["median"]).all()
    assert (frame["median"] <= frame["high"]).all()
    values = np.array([result.d, result.d_f, result.hfm] * 2)
    assert np.allclose(frame["drift"], frame["median"] - values)
    spread = (frame["high"] - frame["low"]).to_numpy()
    assert spread[3] > spread[0]  # smaller subsamples vary more


def test_a_group_too_small_for_the_subsamples() -> None:
    x, y, y_pred, _ = data(6, 40, 0.0, 0.0)
    group = np.arange(40) == 7
    result = fs.hfm(x, y, y_pred, sensitive_features=group, n_resamples=9, n_subsamples=50, rng=1)
    assert (result.stability()["n_subsamples"] < 50).all()


def test_same_seed_same_numbers() -> None:
    x, y, y_pred, group = data(7, 80, 0.5, 0.2)
    first, second = (
        fs.hfm(
            x, y, y_pred, sensitive_features=group, n_resamples=49, n_subsamples=20, rng=3
        ).to_frame()
        for _ in range(2)
    )
    assert first.equals(second)


def test_large_data_are_not_tested_unasked() -> None:
    rng = np.random.default_rng(8)
    x = rng.random((20_001, 3))
    group = rng.integers(0, 2, 20_001)
    y = rng.integers(0, 2, 20_001)
    result = fs.hfm(x, y, y, sensitive_features=group)
    assert (result.n_resamples, result.n_subsamples, result.seed) == (0, 0, None)


@pytest.mark.parametrize(
    ("statistic", "n_resamples", "said"), [("max", 19, 1), ("mean", 19, 0), ("max", 0, 0)]
)
def test_the_test_of_a_maximum_says_that_it_has_no_power(
    statistic: str, n_resamples: int, said: int
) -> None:
    """0 of 471 rejections in a study.

    The result says so where that test was made, of the maximum only.
    """
    x, y, y_pred, group = data(9, 60, 0.0, 0.0)
    asked = {"statistic": statistic, "n_resamples": n_resamples, "n_subsamples": 0, "rng": 1}
    notes = fs.hfm(x, y, y_pred, sensitive_features=group, **asked).notes()
    told = (
        "The test of HFM is valid and, of the maximum, nearly without power: a large p-value is no"
        " evidence"
    )
    assert sum(told in note for note in notes) == said


def test_fewer_resamples_where_many_comparisons_are_made() -> None:
    x, y, y_pred, group = data(9, 60, 0.0, 0.0)
    result = fs.hfm(x, y, y_pred, sensitive_features=group, rng=1)
    assert (result.n_resamples, result.n_subsamples) == (999, 200)
    rng = np.random.default_rng(9)
    x = rng.random((5_100, 2))
    y = rng.integers(0, 2, 5_100)
    group = rng.integers(0, 4, 5_100)
    result = fs.hfm(x, y, y, sensitive_features=group, n_resamples=0, rng=1)
    assert (result.n_resamples, result.n_subsamples) == (0, 50)


def test_hfm_of_sets_without_distance() -> None:
    """0/0 is 0 (no harm where the sets are the same), x/0 infinite, an unknown distance unknown."""
    d = np.array([0.0, 0.0, 0.5, np.nan])
    d_f = np.array([0.0, 0.1, 0.25, 0.2])
    np.testing.assert_array_equal(harmonics(d, d_f), [0.0, np.inf, -0.5, np.nan])
