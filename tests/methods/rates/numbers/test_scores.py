"""AUC, losses, balance and calibration by group.

Witnesses: scikit-learn's metrics, statsmodels' GLM, DeLong's variance from all pairs written out,
and R (base R twins and `glm`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.numerics.means.logistic import calibration_slope
from fairstats.numerics.means.ranks import Areas, area_limits, area_of_counts
from tests.calibration.means import delong
from tests.test_consistency import of_row

METRICS = (
    "auc",
    "brier_score",
    "log_loss",
    "balance_positive",
    "balance_negative",
    "calibration_in_the_large",
)


def risks(n: tuple[int, ...] = (300, 150, 80), seed: int = 1) -> tuple[Any, Any, Any]:
    """Labels, risks and groups: calibrated in the first group."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b", "c"][: len(n)], n)
    score = rng.uniform(0.03, 0.97, group.size).round(2)
    y = (rng.random(group.size) < np.where(group == "a", score, 0.2 + 0.6 * score)).astype(int)
    return y, score, group


def test_values_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    y, score, group = risks()
    functions = {
        "auc": metrics.roc_auc_score,
        "brier_score": metrics.brier_score_loss,
        "log_loss": metrics.log_loss,
    }
    for metric, function in functions.items():
        result = fs.scores(y, score, sensitive_features=group, metric=metric)
        for row in result.comparisons:
            inside = group == row.group
            assert row.rate == pytest.approx(function(y[inside], score[inside]), rel=1e-12)
            assert row.value_interval.low < row.rate < row.value_interval.high


def test_means_of_numbers_per_row() -> None:
    """Losses, balance and calibration in the large are `means` of what they say."""
    y, score, group = risks()
    numbers = {
        "brier_score": ((y - score) ** 2, np.full(y.size, True)),
        "balance_positive": (score, y == 1),
        "balance_negative": (score, y == 0),
        "calibration_in_the_large": (y - score, np.full(y.size, True)),
    }
    for metric, (number, used) in numbers.items():
        result = fs.scores(y, score, sensitive_features=group, metric=metric)  # type: ignore[arg-type]
        expected = fs.means(number[used], sensitive_features=group[used], reference="a")
        np.testing.assert_allclose(result.estimate, expected.estimate, rtol=1e-10)
        np.testing.assert_allclose(result.pvalue, expected.pvalue, rtol=1e-8)


def test_variance_of_an_area_is_delongs() -> None:
    """From all pairs of a positive and a negative row, without ties; and ties count half."""
    rng = np.random.default_rng(2)
    positives, negatives = rng.normal(1, 2, (1, 14)), rng.normal(0, 1, (1, 23))
    values = np.sort(np.concatenate([positives[0], negatives[0]]))
    counted = area_of_counts(
        np.isin(values, negatives).astype(int), np.isin(values, positives).astype(int)
    )
    pairs = delong(positives, negatives)
    assert counted.area == pytest.approx(float(pairs.area[0]))
    assert counted.variance == pytest.approx(float(pairs.variance[0]))
    tied = area_of_counts(np.array([3, 3]), np.array([2, 4]))
    assert tied.area == pytest.approx((2 * 1.5 + 4 * 4.5) / 36)


def test_scores_that_separate_the_labels_leave_a_width() -> None:
    """Newcombe's limit of an area of 1 from 10 and 10 rows: the root of (1 − a)² = z²V(a)."""
    counted = area_of_counts(np.array([10, 0]), np.array([0, 10]))
    low, high = area_limits(counted, 1.959964)
    assert high == 1
    assert 0.7 < low < 0.9
    spread = 1 + 9 * (1 - low) / (2 - low) + 9 * low / (1 + low)
    assert (1 - low) ** 2 == pytest.approx(1.959964**2 * low * (1 - low) * spread / 100)
    # and of an area of 0, the same from the other side
    reversed_labels = area_of_counts(np.array([0, 10]), np.array([10, 0]))
    assert area_limits(reversed_labels, 1.959964) == pytest.approx((0.0, 1 - low))


@pytest.mark.parametrize("z", [0.0, 0.3, 1.959964, 8.0])
def test_limits_of_one_area_are_those_of_an_array(z: float) -> None:
    # one root is found without arrays: the array's are its witness
    rng = np.random.default_rng(3)
    for _ in range(20):
        counts = rng.integers(0, 9, (2, 12)) + np.eye(2, 12, dtype=np.int64) * 2
        one = area_of_counts(*counts)
        alone = Areas(
            area=np.array([one.area]),
            variance=np.array([one.variance]),
            positives=np.array([one.positives]),
            negatives=np.array([one.negatives]),
        )
        of_array = area_limits(alone, z)
        assert area_limits(one, z) == (of_array[0][0], of_array[1][0])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_rows_say_one_thing(metric: Any, contrast: Any) -> None:
    if metric == "calibration_in_the_large" and contrast == "ratio":
        pytest.skip("it has both signs")
    for seed in range(3):
        y, score, group = risks(seed=seed)
        result = fs.scores(
            y,
            score,
            sensitive_features=group,
            metric=metric,
            contrast=contrast,
            comparisons="all",
            margin=0.02 * seed,
            threshold=0.9,
        )
        for row, sentence in zip(result.comparisons, result.sentences(), strict=True):
            assert list(of_row(result, row, sentence)) == []


@pytest.mark.parametrize("metric", ["slope", "intercept"])
def test_coefficients_are_those_of_a_glm(metric: Any) -> None:
    sm = pytest.importorskip("statsmodels.api")
    y, score, group = risks()
    result = fs.calibration(y, score, sensitive_features=group, metric=metric, reference="a")
    for row in result.comparisons:
        errors = []
        estimates = []
        for name in (row.group, row.reference):
            inside = group == name
            x = logit(score[inside])
            if metric == "slope":
                model = sm.GLM(y[inside], sm.add_constant(x), family=sm.families.Binomial())
            else:
                model = sm.GLM(y[inside], np.ones(x.size), family=sm.families.Binomial(), offset=x)
            fitted = model.fit(tol=1e-14)
            estimates.append(fitted.params[-1])
            errors.append(fitted.bse[-1])
        assert row.rate == pytest.approx(estimates[0], rel=1e-8)
        assert row.estimate == pytest.approx(estimates[0] - estimates[1], rel=1e-7)
        assert row.std_error == pytest.approx(math.hypot(*errors), rel=1e-7)
        assert row.statistic == pytest.approx(row.estimate / row.std_error, rel=1e-7)


def test_separated_labels_have_no_slope() -> None:
    found = calibration_slope(np.array([0.2, 0.4, 0.6, 0.8]), [5, 5, 0, 0], [0, 0, 5, 5])
    assert math.isnan(found.estimate)
    one_score = calibration_slope(np.array([0.4]), [5], [5])
    assert math.isnan(one_score.estimate)


def test_few_rows_of_a_label_are_refused_and_not_many_more_remarked_on() -> None:
    y, score, group = risks((300, 60))
    y[300:309] = 1
    y[309:] = 0
    with pytest.warns(InsufficientEvidenceWarning, match="b has 51 and 9 rows of the two labels"):
        result = fs.scores(y, score, sensitive_features=group)
    assert result["b"].verdict == "insufficient evidence"
    y[309] = 1
    answered = fs.scores(y, score, sensitive_features=group)
    assert any("fewer than 30 rows of a label" in note for note in answered.notes())


def test_what_cannot_be_used_is_said() -> None:
    y, score, group = risks()
    score[0] = 0.0
    y[0] = 1
    with pytest.raises(fs.InputError, match="1 rows whose label had the probability 0"):
        fs.scores(y, score, sensitive_features=group, metric="log_loss")
    with pytest.raises(fs.InputError, match="logit is infinite"):
        fs.calibration(y, score, sensitive_features=group)
    with pytest.raises(fs.InputError, match="both signs"):
        fs.scores(
            y, score, sensitive_features=group, metric="calibration_in_the_large", contrast="ratio"
        )
    frame = pd.DataFrame({"y": y, "s": score, "g": group})
    counted = fs.tally(frame, y_true="y", score="s", sensitive_features="g")
    with pytest.warns(fs.FairstatsWarning, match="scores are merged"):
        merged = fs.Tally.from_json(counted.to_json())
    with pytest.raises(fs.InputError, match="merged to intervals"):
        fs.scores(counts=merged)
    exact = fs.Tally.from_json(counted.to_json(exact=True))
    direct = fs.scores(y, score, sensitive_features=group)
    assert fs.scores(counts=exact).to_dict() == direct.to_dict()


@pytest.mark.parametrize("comparisons", ["rest", "overall"])
@pytest.mark.parametrize("metric", METRICS[1:])
def test_means_of_scores_are_compared_with_pooled_groups_as_means_are(
    metric: Any, comparisons: Any
) -> None:
    y, score, group = risks()
    result = fs.scores(
        y, score, sensitive_features=group, metric=metric, comparisons=comparisons, margin=0.02
    )
    numbers = {
        "brier_score": (y - score) ** 2,
        "log_loss": -np.log(np.where(y == 1, score, 1 - score)),
        "calibration_in_the_large": y - score,
    }.get(metric, score)
    kept = np.ones(y.size, dtype=bool)
    if metric.startswith("balance"):
        kept = y == (1 if metric == "balance_positive" else 0)
    plain = fs.means(
        numbers[kept], sensitive_features=group[kept], comparisons=comparisons, margin=0.02
    )
    for one, other in zip(result, plain, strict=True):
        assert one.reference == other.reference
        assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
        assert one.pvalue == pytest.approx(other.pvalue, abs=1e-9)
        assert one.verdict == other.verdict
        assert tuple(one.confidence_interval) == pytest.approx(tuple(other.confidence_interval))


@pytest.mark.parametrize("metric", ["slope", "intercept", "isotonic", "miscalibration"])
def test_everybody_is_a_reference_of_every_metric(metric: Any) -> None:
    """Limits hold the estimate, and each group is compared with all rows."""
    y, score, group = risks()
    columns: dict[str, Any] = {"sensitive_features": group, "comparisons": "overall"}
    if metric == "miscalibration":
        result = fs.scores(y, score, metric=metric, **columns)
    else:
        result = fs.calibration(y, score, metric=metric, **columns)
    assert {row.reference for row in result.comparisons} == {"all"}
    for row in result.comparisons:
        low, high = row.confidence_interval
        assert low <= row.estimate <= high


@pytest.mark.r
@pytest.mark.parametrize(
    ("metric", "comparisons"),
    [("brier_score", "rest"), ("log_loss", "overall"), ("tpr", "rest")],
)
def test_comparisons_with_pooled_groups_are_recomputed_in_r(metric: Any, comparisons: Any) -> None:
    y, score, group = risks()
    data = {"y_true": y, "score": score, "sensitive_features": group}
    cutoffs = [0.3, 0.6] if metric == "tpr" else None
    result = fs.scores(**data, metric=metric, comparisons=comparisons, cutoffs=cutoffs)
    table = fs.crosscheck(result, data=data).to_frame()
    assert len(table) >= 60
    assert set(table["verdict"]) == {"agrees"}


@pytest.mark.r
@pytest.mark.parametrize("metric", METRICS)
def test_every_number_is_recomputed_in_r(metric: Any) -> None:
    y, score, group = risks()
    data = {"y_true": y, "score": score, "sensitive_features": group}
    for contrast in ("difference", "ratio")[: 1 if metric == "calibration_in_the_large" else 2]:
        result = fs.scores(
            **data,
            metric=metric,
            contrast=contrast,  # type: ignore[arg-type]
            margin=0.02,
            threshold=0.9,
        )
        table = fs.crosscheck(result, data=data).to_frame()
        assert len(table) >= 40
        assert set(table["verdict"]) == {"agrees"}


@pytest.mark.r
@pytest.mark.parametrize("metric", ["slope", "intercept"])
def test_calibration_is_recomputed_by_rs_glm(metric: Any) -> None:
    y, score, group = risks()
    data = {"y_true": y, "score": score, "sensitive_features": group}
    result = fs.calibration(**data, metric=metric, margin=0.2)
    assert set(fs.crosscheck(result, data=data).to_frame()["verdict"]) == {"agrees"}
