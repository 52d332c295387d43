"""Smallest ratios and means of extremes.

Witnesses: fairlearn for the estimates; the formulas of the limits from those of the pairs by the
public functions; coverage by simulation (`tests/calibration/contrasts.py`); R's twin.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairstats as fs
from fairstats.ground.errors import DataWarning

fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

#: fairlearn's own warnings about pandas; ours and everybody else's stay errors.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:fairlearn"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:fairlearn"),
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning:fairlearn")
    if hasattr(pd.errors, "Pandas4Warning")
    else pytest.mark.filterwarnings("ignore::FutureWarning:fairlearn"),
    pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning"),
]
COUNTS = {"a": (400, 120, 100, 380), "b": (300, 100, 200, 400), "c": (180, 90, 130, 120)}


def rows(seed: int, n: int = 90) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, predictions and groups, every cell with a row."""
    rng = np.random.default_rng(seed)
    every = np.array([(y, p, g) for y in (0, 1) for p in (0, 1) for g in (0, 1, 2)])
    y = np.append(every[:, 0], rng.integers(0, 2, n))
    p = np.append(every[:, 1], rng.integers(0, 2, n))
    return y, p, np.append(every[:, 2], rng.integers(0, 3, n))


@given(seed=st.integers(0, 10_000))
def test_as_fairlearn(seed: int) -> None:
    y, p, g = rows(seed)
    ours = {
        "mean gap": fs.equalized_odds_difference(y, p, sensitive_features=g, agg="mean"),
        "min": fs.group_metric(
            y, p, metric="equalized_odds_ratio", agg="min", sensitive_features=g
        ),
        "mean": fs.group_metric(
            y, p, metric="equalized_odds", contrast="ratio", agg="mean", sensitive_features=g
        ),
        "selection": fs.group_metric(
            y, p, metric="selection_rate_ratio", agg="min", sensitive_features=g
        ),
        "largest": fs.group_metric(y, p, metric="equalized_odds", agg="max", sensitive_features=g),
    }
    theirs = {
        "mean gap": fairlearn.equalized_odds_difference(y, p, sensitive_features=g, agg="mean"),
        "min": fairlearn.equalized_odds_ratio(y, p, sensitive_features=g),
        "mean": fairlearn.equalized_odds_ratio(y, p, sensitive_features=g, agg="mean"),
        "selection": fairlearn.demographic_parity_ratio(y, p, sensitive_features=g),
        "largest": fairlearn.equalized_odds_difference(y, p, sensitive_features=g),
    }
    for name, result in ours.items():
        assert float(result) == pytest.approx(theirs[name], abs=1e-12), name
        assert result.estimate in result.confidence_interval


def test_limits_are_those_of_all_pairs() -> None:
    large = {name: tuple(10 * cell for cell in cells) for name, cells in COUNTS.items()}
    result = fs.group_metric(metric="equalized_odds_ratio", agg="min", counts=large)
    ends: dict[str, list[float]] = {"low": [], "high": []}
    for rate in ("tpr", "fpr"):
        for first, second in combinations(COUNTS, 2):
            pair = {name: large[name] for name in (first, second)}
            # each limit of a pair at half the error: alone on the far side, one of six on the near
            for end, error in (("low", 0.025), ("high", 0.025 / 12)):
                one = fs.group_metric(
                    metric=rate,
                    contrast="ratio",
                    counts=pair,
                    reference=second,
                    confidence_level=1 - 2 * error,
                    method="score",
                )
                low, high = one.confidence_interval
                if end == "low":
                    ends["low"].append(min(low, 1 / high))
                else:
                    ends["high"].append(1 / low if low > 1 else min(high, 1))
    assert tuple(result.confidence_interval) == pytest.approx(
        (min(ends["low"]), min(ends["high"])), rel=1e-7
    )


@pytest.mark.parametrize("agg", ["min", "mean"])
def test_verdict_p_value_and_limits_agree(agg: Any) -> None:
    for threshold in (0.3, 0.6, 0.75, 0.95):
        result = fs.group_metric(
            metric="equalized_odds_ratio", agg=agg, counts=COUNTS, threshold=threshold
        )
        (row,) = result.comparisons
        expected = "undecided"
        if row.bounds.high < threshold:
            expected = "violated"
        if row.bounds.low > threshold:
            expected = "satisfied"
        assert row.verdict == expected
        assert (row.pvalue_verdict <= 0.05) == (expected != "undecided")
        assert (row.pvalue <= 0.05) == (row.confidence_interval.high < 1)
    gap = fs.equalized_odds_difference(counts=COUNTS, agg="mean", margin=0.02)
    (row,) = gap.comparisons
    assert row.verdict == "violated"
    assert row.bounds.low > 0.02
    assert row.direction == "above"


def test_the_same_limits_as_the_other_way_round() -> None:
    """One pair of one rate: the smallest ratio is the ratio of the lower to the higher."""
    counts = {"a": (300, 700), "b": (450, 550)}
    result = fs.group_metric(metric="disparate_impact", agg="min", counts=counts)
    ratio = fs.disparate_impact(counts=counts, reference="b", method="koopman")
    assert result.estimate == pytest.approx(ratio.estimate)
    assert result.confidence_interval.low == pytest.approx(ratio.confidence_interval.low, rel=0.01)
    assert "a to b" in result.sentences()[0]


def test_groups_without_cases_leave_it_open() -> None:
    counts = {"a": (30, 10, 10, 30), "b": (20, 5, 20, 35), "c": (0, 4, 0, 6)}
    with pytest.warns(DataWarning, match="c: no"):
        result = fs.group_metric(metric="equalized_odds_ratio", agg="min", counts=counts)
    assert "c: no rows with a favourable label." in result.comparisons[0].note
    assert result.confidence_interval.low == 0
    assert result.verdict != "satisfied"
    nobody = {"a": (0, 0, 10, 30), "b": (0, 0, 20, 35)}
    result = fs.group_metric(metric="disparate_impact", agg="min", counts=nobody)
    assert result.verdict == "insufficient evidence"


def test_weights_clusters_json_and_words() -> None:
    rng = np.random.default_rng(3)
    y, p, g = rows(1, 600)
    weight = rng.gamma(2, size=y.size)
    result = fs.equalized_odds_difference(
        y, p, sensitive_features=g, sample_weight=weight, agg="mean"
    )
    expected = fairlearn.equalized_odds_difference(
        y, p, sensitive_features=g, sample_weight=weight, agg="mean"
    )
    plain = fs.equalized_odds_difference(y, p, sensitive_features=g, agg="mean")
    assert result.estimate == pytest.approx(expected)
    assert result.confidence_interval.width > plain.confidence_interval.width
    assert fs.results.Result.from_dict(result.to_dict()).to_dict() == result.to_dict()
    assert "all 6 pairs" in result.notes()[0]


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: fs.group_metric(metric="f1_ratio", agg="min", counts=COUNTS), "agg"),
        (lambda: fs.group_metric(metric="tpr", agg="min", counts=COUNTS), "agg"),
        (lambda: fs.group_metric(metric="tpr_ratio", agg="max", counts=COUNTS), "agg"),
        (
            lambda: fs.group_metric(metric="tpr_ratio", agg="min", reference="a", counts=COUNTS),
            "reference",
        ),
        (
            lambda: fs.equal_opportunity_difference(agg="mean", counts=COUNTS),  # type: ignore[arg-type]
            "agg",
        ),
        (
            lambda: fs.equalized_odds_difference(agg="mean", method="delta", counts=COUNTS),
            "method",
        ),
        (
            lambda: fs.group_metric([1, 0], [1, 0], metric=lambda y_true, y_pred: 0.0, agg="min"),
            "agg",
        ),
    ],
)
def test_what_it_is_not_of(call: Any, argument: str) -> None:
    with pytest.raises(fs.InputError, match=argument):
        call()


@pytest.mark.r
def test_every_number_is_recomputed_in_r() -> None:
    rng = np.random.default_rng(3)
    y, p, g = rows(1, 400)
    few = {"a": (12, 3, 2, 20), "b": (40, 20, 10, 60), "c": (9, 2, 6, 8)}
    for result in (
        fs.equalized_odds_difference(counts=few, agg="mean"),
        fs.group_metric(metric="equalized_odds_ratio", agg="min", counts=few),
        fs.group_metric(
            y,
            p,
            metric="equalized_odds_ratio",
            agg="mean",
            sensitive_features=g,
            sample_weight=rng.gamma(2, size=y.size),
        ),
    ):
        table = fs.crosscheck(result).to_frame()
        assert len(table) >= 9
        assert set(table["verdict"]) == {"agrees"}
