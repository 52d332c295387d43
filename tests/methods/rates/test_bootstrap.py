"""BCa on cell counts; the witness is `scipy.stats.bootstrap(method="BCa")` on the rows
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap, norm

import fairstats as fs
from fairstats.methods.rates.limits import BcaDistribution, bca_distribution

TABLE = (18, 60, 33, 70)


def by_rows(table: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Success and group of every row."""
    k0, n0, k1, n1 = table
    success = np.concatenate([np.arange(n0) < k0, np.arange(n1) < k1]).astype(float)
    return success, np.repeat([0.0, 1.0], [n0, n1])


def statistic(contrast: str) -> Callable[..., Any]:
    def value(success: np.ndarray, group: np.ndarray, axis: int = -1) -> np.ndarray:
        rate0 = (success * (group == 0)).sum(axis) / (group == 0).sum(axis)
        rate1 = (success * (group == 1)).sum(axis) / (group == 1).sum(axis)
        return rate0 / rate1 if contrast == "ratio" else rate0 - rate1

    return value


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
@pytest.mark.parametrize("table", [TABLE, (8, 25, 30, 50)], ids=str)
def test_as_scipy_on_rows(table: tuple[int, int, int, int], contrast: str) -> None:
    """Both with 40,000 resamples.

    The tolerance is five Monte Carlo standard errors of a 2.5% quantile.

    That error is √(α(1−α)/B)/f(q) with f(q) ≈ φ(1.96)/s: 0.0134·s at B = 40,000, √2 of it for the
    difference of two runs, hence 0.095·s.
    """
    wanted = bootstrap(
        by_rows(table),
        statistic(contrast),
        paired=True,
        vectorized=True,
        n_resamples=40_000,
        batch=2_000,
        method="BCa",
        rng=np.random.default_rng(1),
    )
    ours = bca_distribution(
        *table, contrast=contrast, n_resamples=40_000, rng=np.random.default_rng(2)
    )  # type: ignore[arg-type]
    assert ours.interval(0.95) == pytest.approx(
        tuple(wanted.confidence_interval), abs=0.095 * wanted.standard_error
    )
    assert np.std(ours.replicates) == pytest.approx(wanted.standard_error, rel=0.02)


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_the_acceleration_is_that_of_a_jackknife_over_rows(contrast: str) -> None:
    """Leave each row out in turn; a = Σd³ / (6 (Σd²)^1.5)."""
    success, group = by_rows(TABLE)
    value = statistic(contrast)
    left_out = np.array(
        [value(np.delete(success, i), np.delete(group, i)) for i in range(success.size)]
    )
    d = left_out.mean() - left_out
    wanted = np.sum(d**3) / (6 * np.sum(d**2) ** 1.5)
    ours = bca_distribution(
        *TABLE, contrast=contrast, n_resamples=200, rng=np.random.default_rng(1)
    )  # type: ignore[arg-type]
    assert ours.acceleration == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
def test_the_statistic_inverts_the_interval(contrast: str, level: float) -> None:
    """z at an end of the interval is the quantile of the level: tests and intervals never disagree.

    The replicates are discrete: at 20,001 of them a tie spans a few thousandths of probability,
    hence 0.05."""
    ours = bca_distribution(
        *TABLE, contrast=contrast, n_resamples=20_001, rng=np.random.default_rng(3)
    )  # type: ignore[arg-type]
    low, high = ours.interval(level)
    z = norm.ppf((1 + level) / 2)
    assert ours.statistic(low) == pytest.approx(z, abs=0.05)
    assert ours.statistic(high) == pytest.approx(-z, abs=0.05)


@pytest.mark.parametrize(
    "replicates",
    [
        (0.2, 0.5, 0.5, 0.9, 1.3, 1.3, 1.3, 2.0, 3.1),
        (0.2, 0.5, 0.5, 0.9, 1.3, 1.3, 2.0, np.inf, np.inf),
        (0.5, 0.5, 0.5, 0.9, 1.0, 1.4, 2.0, 2.5, 2.5),
        (0.5, 0.5, 0.5, 0.5, 0.5, 0.9, 1.0, 1.4, 2.0, np.inf),
        (0.5, 0.9, 1.0, 1.4, 1.4),
        (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9, 1.4),
        (0.5, 0.9, 0.9, np.inf, np.inf, np.inf, np.inf, np.inf),
    ],
    ids=str,
)
def test_the_statistic_is_where_the_interval_begins_to_exclude(
    replicates: tuple[float, ...],
) -> None:
    """The witness is a search by halves over levels for the widest interval without the value.

    Few replicates, so that every place among them counts: ties, gaps, both ends, infinite ones. A
    value that every interval leaves out has the statistic of the share (1 − 1/3)/(n + 1/3) below
    all replicates (the least that a quantile interpolates), and of 1 − 1/(2n) above them."""
    bias = 0.15
    acceleration = -0.04
    n = len(replicates)
    ours = BcaDistribution(np.array(replicates), bias, acceleration)

    def side(critical: float, null: float) -> int:
        low, high = ours.interval(2 * norm.cdf(critical) - 1)
        return int(null < low) - int(null > high)

    def beyond(share: float) -> float:
        shifted = norm.ppf(share) - bias
        return float(bias - shifted / (1 + acceleration * shifted))

    nulls = sorted({*replicates, 0.1, 0.35, 0.7, 0.95, 1.15, 1.6, 2.2, 5.0} - {np.inf})
    for null in nulls:
        direction = side(1e-9, null)
        low = 0.0
        high = 5.0
        if side(high, null) == direction != 0:
            wanted = beyond((2 / 3) / (n + 1 / 3) if direction > 0 else 1 - 0.5 / n)
        else:
            for _ in range(50):
                middle = (low + high) / 2
                low, high = (
                    (middle, high) if side(middle, null) == direction != 0 else (low, middle)
                )
            wanted = direction * low
        assert ours.statistic(null) == pytest.approx(wanted, abs=1e-10), null


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
@pytest.mark.parametrize("table", [(2, 5, 3, 6), (1, 4, 1, 3), (5, 6, 1, 9)], ids=str)
def test_the_bias_is_where_the_estimate_lies_among_the_replicates(
    table: tuple[int, int, int, int], contrast: str
) -> None:
    """Φ⁻¹ of the share below plus half of the ties (Efron 1987), among replicates with a value, not
    0/0.
    """
    k0, n0, k1, n1 = table
    estimate = k0 / n0 / (k1 / n1) if contrast == "ratio" else k0 / n0 - k1 / n1
    ours = bca_distribution(
        *table, contrast=contrast, n_resamples=4_000, rng=np.random.default_rng(4)
    )  # type: ignore[arg-type]
    replicates = ours.replicates
    assert not np.isnan(replicates).any()
    assert (np.diff(replicates[np.isfinite(replicates)]) >= 0).all()
    share = np.mean(replicates < estimate) + np.mean(replicates == estimate) / 2
    assert ours.bias == pytest.approx(norm.ppf(share), abs=1e-12)
    assert (replicates == estimate).sum() > 20
    shares = set()
    for seed in range(20):  # of two replicates, both may lie on one side: then ±Φ⁻¹(3/4)
        two = bca_distribution(
            *table, contrast=contrast, n_resamples=2, rng=np.random.default_rng(seed)
        )  # type: ignore[arg-type]
        share = float(np.mean(two.replicates < estimate) + np.mean(two.replicates == estimate) / 2)
        least = 0.5 / two.replicates.size
        shares.add(share)
        assert two.bias == pytest.approx(norm.ppf(np.clip(share, least, 1 - least)), abs=1e-12)
    assert {0.0, 1.0} <= shares


@pytest.mark.parametrize("table", [(4, 9, 1, 7), (1, 12, 1, 5), (5, 6, 1, 9)], ids=str)
def test_without_a_jackknife_the_acceleration_is_of_influence_values(
    table: tuple[int, int, int, int],
) -> None:
    """Leaving the reference's one success out has no ratio.

    Slopes of log T in the weight of each row.

    By central differences of step 1e-5, exact to 1e-8; a = Σd³ / (6 (Σd²)^1.5) over rows.
    """
    success, group = by_rows(table)

    def log_ratio(weight: np.ndarray) -> float:
        r0, r1 = (
            np.sum(weight * success * (group == g)) / np.sum(weight * (group == g)) for g in (0, 1)
        )
        return float(np.log(r0 / r1))

    step = 1e-5 * np.eye(success.size)
    d = np.array([log_ratio(1 + row) - log_ratio(1 - row) for row in step]) / 2e-5
    wanted = np.sum(d**3) / (6 * np.sum(d**2) ** 1.5)
    ours = bca_distribution(*table, contrast="ratio", n_resamples=200, rng=np.random.default_rng(1))
    assert ours.acceleration == pytest.approx(wanted, abs=1e-7)


def test_p_value_and_interval_agree_through_the_public_function() -> None:
    counts = {"a": (18, 42), "b": (33, 37)}
    for level in (0.9, 0.95, 0.98, 0.99):
        result = fs.disparate_impact(
            counts=counts, reference="b", method="bootstrap", confidence_level=level, rng=11
        )
        assert (result.pvalue < 1 - level) == (1.0 not in result.confidence_interval)


def test_a_seed_repeats_and_is_reported() -> None:
    counts = {"a": (18, 42), "b": (33, 37)}
    first = fs.disparate_impact(counts=counts, method="bootstrap", rng=5)
    again = fs.disparate_impact(counts=counts, method="bootstrap", rng=5)
    other = fs.disparate_impact(counts=counts, method="bootstrap", rng=6)
    assert first.confidence_interval == again.confidence_interval != other.confidence_interval
    assert first.settings.seed == 5
    drawn = fs.disparate_impact(counts=counts, method="bootstrap")
    repeated = fs.disparate_impact(counts=counts, method="bootstrap", rng=drawn.settings.seed)
    assert drawn.confidence_interval == repeated.confidence_interval


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
@pytest.mark.parametrize(
    "counts",
    [
        {"a": (5, 5), "b": (1, 9)},
        {"a": (5, 5), "b": (2, 8)},
        {"a": (50, 50), "b": (2, 90)},
        {"a": (1, 30), "b": (1, 30)},
        {"a": (9, 1), "b": (9, 1)},
        {"a": (1, 1), "b": (1, 1)},
    ],
    ids=str,
)
def test_cells_that_many_resamples_empty(counts: dict[str, Any]) -> None:
    """Infinite ratios among the replicates, or in the jackknife, never give NaN, silence or
    somebody else's error."""
    result = fs.disparate_impact(counts=counts, reference="b", method="bootstrap", rng=1)
    low, high = result.confidence_interval
    assert low < result.estimate < high
    assert 0 <= result.pvalue <= 1
    assert not result.tests()["pvalue"].isna().any()
    assert result.verdict != "insufficient evidence"


@pytest.mark.parametrize("n_resamples", [0, 99, -5, None, "many"], ids=repr)
def test_too_few_resamples(n_resamples: Any) -> None:
    with pytest.raises(fs.InputError, match="`n_resamples`: got"):
        fs.disparate_impact(
            counts={"a": (5, 5), "b": (5, 5)}, method="bootstrap", n_resamples=n_resamples
        )
