"""The map (F_s^λ)⁻¹(F_s(p)): order, range, ends, and counts without mapping a score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairstats.methods.madd.mitigation import (
    GroupCdf,
    LabelledSample,
    MixtureCdfs,
    error_losses,
    fairness_losses,
    log_loss,
)
from fairstats.methods.madd.scores import bin_edges, histogram, histogram_distance

from .densities import draw

#: Decimals: many ties, and values at 0 and 1.
decimals = arrays(np.int64, st.integers(1, 30), elements=st.integers(0, 20)).map(
    lambda k: np.sort(k / 20)
)
anything = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1))
lambdas = st.sampled_from([0.0, 0.1, 0.5, 0.97, 1.0])


@given(decimals)
def test_mid_distribution_function(x: np.ndarray) -> None:
    cdf = GroupCdf.fit(x)
    assert (np.diff(cdf.values) > 0).all()
    assert (np.diff(cdf.heights) > 0).all()
    for v in np.unique(x):
        assert cdf(np.array([v]))[0] == pytest.approx((x < v).mean() + (x == v).mean() / 2)


@given(decimals, decimals, anything, lambdas)
def test_order_and_range(a: np.ndarray, b: np.ndarray, new: np.ndarray, lambda_: float) -> None:
    """Fitted or not, in range or beyond it.

    Order within the group is kept, values stay in [0, 1].
    """
    maps = MixtureCdfs.fit([a, b])
    for group in (0, 1):
        ordered = np.sort(new)
        mapped = maps.map(ordered, group, lambda_)
        assert (mapped >= 0).all()
        assert (mapped <= 1).all()
        assert (np.diff(mapped) >= 0).all()
        same = np.diff(ordered) == 0
        assert (np.diff(mapped)[same] == 0).all()  # ties stay ties: an atom is not split


@given(decimals, decimals, anything)
def test_lambda_0_changes_nothing(a: np.ndarray, b: np.ndarray, new: np.ndarray) -> None:
    maps = MixtureCdfs.fit([a, b])
    assert np.array_equal(maps.map(new, 0, 0.0), new)
    tiny = maps.map(new, 0, 1e-12)
    assert np.allclose(tiny, new, atol=1e-6)


@given(decimals, decimals)
def test_the_distribution_of_all_is_kept(a: np.ndarray, b: np.ndarray) -> None:
    """Σ_s (n_s/n)·F_s^λ = F for every λ: nobody's gain is not somebody's loss."""
    maps = MixtureCdfs.fit([a, b])
    x = np.linspace(0, 1, 41)
    for lambda_ in (0.0, 0.3, 1.0):
        mixed = sum(
            w * maps.towards(g, np.array([lambda_]), x)[0] for g, w in enumerate(maps.shares)
        )
        assert np.allclose(mixed, maps.pooled(x))


@settings(max_examples=60)
@given(decimals, decimals, lambdas, st.integers(1, 12))
def test_mapped_scores_solve_the_equation(
    a: np.ndarray, b: np.ndarray, lambda_: float, k: int
) -> None:
    maps = MixtureCdfs.fit([a, b])
    p = np.linspace(0, 1, k + 2)[1:-1]
    x = maps.map(p, 0, lambda_)
    inside = (x > 0) & (x < 1)
    solved = maps.towards(0, np.array([lambda_]), x)[0]
    assert np.allclose(solved[inside], maps.cdfs[0](p)[inside], atol=1e-9)


def test_one_group_alone_is_not_moved() -> None:
    x = np.array([0.2, 0.2, 0.7])
    maps = MixtureCdfs.fit([x, x])
    assert np.allclose(
        maps.map(np.array([0.0, 0.2, 0.5, 0.7, 1.0]), 0, 1.0), [0.0, 0.2, 0.5, 0.7, 1.0]
    )


def test_clamped_where_the_target_has_no_such_rank() -> None:
    """Group 0 has no zeros, the others have: its lowest ranks go to 0, not below."""
    maps = MixtureCdfs.fit([np.linspace(0.5, 0.9, 20), np.zeros(20)])
    mapped = maps.map(np.array([0.0, 0.01, 0.5, 1.0]), 0, 1.0)
    assert mapped[0] == 0
    assert (np.diff(mapped) >= 0).all()
    assert mapped[-1] == 1


def labelled_pair(seed: int, n: int = 700) -> list[LabelledSample]:
    rng = np.random.default_rng(seed)
    found = []
    for x in draw(n, n - 200, rng):
        x = np.sort(x)
        found.append(LabelledSample(x, (rng.random(x.size) < x).astype(np.uint8)))
    return found


@pytest.mark.parametrize("n_bins", [1, 7, 25])
def test_losses_without_mapping_a_score(n_bins: int) -> None:
    """Counts at the edges against mapping every score.

    A score within rounding of an edge may differ.
    """
    samples = labelled_pair(1)
    maps = MixtureCdfs.fit([s.scores for s in samples])
    grid = np.linspace(0, 1, 21)
    fairness = fairness_losses([(maps, samples)], grid, n_bins)
    errors = error_losses([(maps, samples)], grid, 0.5)
    for k, lambda_ in enumerate(grid):
        mapped = [maps.map(s.scores, g, lambda_) for g, s in enumerate(samples)]
        madd = float(
            histogram_distance(*(histogram(np.sort(x), bin_edges(n_bins)) for x in mapped))
        )
        assert fairness[k] == pytest.approx(madd / 2, abs=2 / 500)
        wrong = np.concatenate(
            [(x >= 0.5) != s.labels for x, s in zip(mapped, samples, strict=True)]
        )
        assert errors[k] == pytest.approx(wrong.mean(), abs=2 / 1200)
    assert errors[0] == np.mean(np.concatenate([(s.scores >= 0.5) != s.labels for s in samples]))


def test_ties_at_the_threshold_are_predicted_1() -> None:
    scores = np.array([0.25, 0.5, 0.5, 0.75])
    samples = [LabelledSample(scores, np.array([0, 1, 1, 1], dtype=np.uint8)) for _ in range(2)]
    maps = MixtureCdfs.fit([scores, scores])
    assert error_losses([(maps, samples)], np.array([0.0]), 0.5)[0] == 0


def test_largest_pair_counts_with_three_groups() -> None:
    samples = labelled_pair(2)
    third = LabelledSample(samples[0].scores, samples[0].labels)
    two = fairness_losses(
        [(MixtureCdfs.fit([s.scores for s in samples]), samples)], np.array([0.0]), 10
    )
    three = [*samples, third]
    maps = MixtureCdfs.fit([s.scores for s in three])
    assert fairness_losses([(maps, three)], np.array([0.0]), 10)[0] == two[0]


def test_log_loss_is_that_of_scikit_learn(rng: np.random.Generator) -> None:
    from sklearn.metrics import log_loss as reference

    y = rng.integers(0, 2, 200)
    p = rng.random(200)
    assert log_loss(y.astype(np.uint8), p) == pytest.approx(reference(y, p), rel=1e-12)
    assert np.isfinite(log_loss(np.array([1, 0], dtype=np.uint8), np.array([0.0, 1.0])))
