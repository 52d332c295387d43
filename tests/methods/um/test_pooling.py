"""Partial pooling of one rate: the grid, its draws, and what becomes of metrics.

Witnesses: a plain sum over a rectangle, beta laws where the integral has a closed form, and the
posterior without pooling.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, expit, log_expit

import fairstats as fs
from fairstats.numerics.rates.pooling import POINTS_MEAN, RatePosterior, pool_rate

from .conftest import cells

CONCENTRATION = (5.0, 1.5)


def means_of(pooled: RatePosterior) -> np.ndarray:
    """The values of m on the grid, shape (K, M)."""
    steps = np.linspace(0.0, 1.0, POINTS_MEAN)
    return np.asarray(expit(pooled.low[:, None] + (pooled.high - pooled.low)[:, None] * steps))


@pytest.mark.parametrize(
    ("successes", "trials"),
    [([3, 10, 0, 7], [5, 12, 4, 7]), ([0, 0, 0], [5, 9, 20]), ([1.5, 2.2, 0.3], [3.7, 2.2, 9.0])],
)
def test_the_grid_against_a_plain_sum(successes: list[float], trials: list[float]) -> None:
    """A rectangle of 1,801 × 601 points, without any narrowing."""
    x = np.array(successes, dtype=float)
    n = np.array(trials, dtype=float)
    logit = np.linspace(-50.0, 30.0, 1_801)
    log_kappa = np.linspace(-6.5, 9.7, 601)[:, None]
    log_m = log_expit(logit)
    log_rest = log_expit(-logit)
    kappa = np.exp(log_kappa)
    shapes = kappa * np.exp(log_m), kappa * np.exp(log_rest)
    density = 0.5 * (log_m + log_rest) + stats.norm(
        np.log(CONCENTRATION[0]), CONCENTRATION[1]
    ).logpdf(log_kappa)
    for hits, misses in zip(x, n - x, strict=True):
        density = density + betaln(hits + shapes[0], misses + shapes[1]) - betaln(*shapes)
    weights = np.exp(density - density.max())
    weights /= weights.sum()
    pooled = pool_rate(x, n, CONCENTRATION)
    for mine, theirs in (
        (means_of(pooled), np.exp(log_m)),
        (means_of(pooled) ** 2, np.exp(2 * log_m)),
        (pooled.log_kappa[:, None], log_kappa),
    ):
        assert (pooled.weights * mine).sum() == pytest.approx((weights * theirs).sum(), rel=2e-5)


def test_one_trial_tells_of_the_mean_alone() -> None:
    """p(1 | m, κ) = m: the mean is Beta(3/2, 1/2) and κ has its prior."""
    pooled = pool_rate(np.array([1.0]), np.array([1.0]), CONCENTRATION)
    law = stats.beta(1.5, 0.5)
    m = means_of(pooled)
    assert (pooled.weights * m).sum() == pytest.approx(law.mean(), rel=1e-6)
    assert (pooled.weights * m**2).sum() == pytest.approx(law.moment(2), rel=1e-6)
    by_kappa = pooled.weights.sum(axis=1)
    centre = (by_kappa * pooled.log_kappa).sum()
    assert centre == pytest.approx(np.log(5.0), abs=1e-6)
    assert np.sqrt((by_kappa * (pooled.log_kappa - centre) ** 2).sum()) == pytest.approx(
        1.5, rel=1e-6
    )


def test_draws_are_those_of_the_grid() -> None:
    """With κ held at 5 the rate of a group with x of n is a mixture of Beta(5m + x, 5(1 − m) + n −
    x).
    """
    x = np.array([1.0, 0.0, 0.0])
    n = np.array([1.0, 0.0, 3.0])
    m, kappa, rates = pool_rate(x, n, (5.0, 1e-3)).draw(100_000, np.random.default_rng(1))
    assert np.abs(np.log(kappa / 5.0)).max() < 0.01
    given = (5.0 * m[:, None] + x) / (5.0 + n)
    spread = rates.std(axis=0) / np.sqrt(100_000)
    np.testing.assert_array_less(np.abs(rates.mean(axis=0) - given.mean(axis=0)), 5 * spread)
    # a group without trials has the law of a new one: its mean is that of m
    assert rates[:, 1].mean() == pytest.approx(m.mean(), abs=5 * spread[1])
    assert ((rates >= 0) & (rates <= 1)).all()


@pytest.mark.parametrize(
    ("successes", "trials"),
    [
        (np.zeros(5), np.full(5, 1e5)),
        (np.full(40, 3e4), np.full(40, 1e5)),
        (np.zeros(3), np.zeros(3)),
    ],
)
def test_extremes_stay_finite(successes: np.ndarray, trials: np.ndarray) -> None:
    _, kappa, rates = pool_rate(successes, trials, CONCENTRATION).draw(
        2_000, np.random.default_rng(2)
    )
    assert np.isfinite(rates).all()
    assert np.isfinite(kappa).all()
    if trials.any():
        assert np.abs(rates.mean(axis=0) - successes / trials).max() < 0.001


def test_each_rate_is_pooled_by_itself() -> None:
    """Groups that differ in the true positive rate alone keep it, and share the false positive rate
    (D22).
    """
    counts = {f"g{k}": cells(5 + 10 * k, 80, 20, 45 - 10 * k) for k in range(5)}
    pooled = fs.um_hierarchical(counts, rng=1)
    apart = fs.um_posterior(counts=counts, rng=1)

    def spread(result: fs.results.UmPosterior, name: str) -> np.ndarray:
        return np.asarray(result.metric(name, by_group=True).std(axis=0))

    assert (spread(pooled, "fpr") < 0.9 * spread(apart, "fpr")).all()
    assert (spread(pooled, "tpr") > 0.9 * spread(apart, "tpr")).all()
    gaps = pooled.metric("tpr", by_group=True).mean(axis=0)
    assert np.diff(gaps).min() > 0.15


def test_the_result_says_how_and_survives_a_file() -> None:
    counts = {g: cells(20 + k, 15, 5, 4) for k, g in enumerate("abc")}
    pooled = fs.um_hierarchical(counts, draws=400, rng=1, reference="b")
    assert pooled.backend == "partial pooling of each rate, integrated over a grid"
    assert "400 draws by partial pooling of each rate" in " ".join(pooled.notes())
    assert pooled.diagnostics is None
    again = fs.um_hierarchical(counts, draws=400, rng=1, reference="b")
    np.testing.assert_array_equal(again.metric("mcc"), pooled.metric("mcc"))
    back = fs.results.UmPosterior.from_dict(pooled.to_dict())
    np.testing.assert_array_equal(
        back.metric("equal_opportunity"), pooled.metric("equal_opportunity")
    )
    wider = fs.um_hierarchical(counts, draws=4_000, rng=1, reference="b", target="predictive")
    assert wider.metric("tpr").std() > 1.2 * pooled.metric("tpr").std()


@pytest.mark.slow
def test_twenty_groups_of_which_one_rate_varies_are_covered() -> None:
    """D22: intervals of true positive rates covered .87; 300 samples of 20 groups, error .003."""
    from tests.calibration.um import pooled

    found = pooled(np.random.default_rng(22), 300, groups=20, varying=("tpr",), metric="tpr")
    covered, samples = found["coverage"]
    assert covered / samples > 0.93
