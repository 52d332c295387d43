"""Amplification. Witnesses: the two ratios by fs.disparate_impact, labels and predictions as two
models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.methods.rates.models.compare import amplification
from fairstats.methods.rates.setup import RateArguments, make_settings

COUNTS = {"men": (80, 30, 20, 70), "women": (25, 5, 35, 135), "others": (30, 20, 12, 60)}
SETTINGS = make_settings("ratio", RateArguments())


def of(counts: Any, **options: Any) -> fs.results.AmplificationResult:
    return amplification(
        fs.ConfusionCounts.from_counts(counts), options.get("reference", "men"), SETTINGS
    )


def test_the_ratio_of_two_ratios() -> None:
    result = of(COUNTS)
    selected = {g: (tp + fp, fn + tn) for g, (tp, fp, fn, tn) in COUNTS.items()}
    favourable = {g: (tp + fn, fp + tn) for g, (tp, fp, fn, tn) in COUNTS.items()}
    for c in result.comparisons:
        before = fs.disparate_impact(counts=favourable, reference="men")[c.group].estimate
        after = fs.disparate_impact(counts=selected, reference="men")[c.group].estimate
        assert (c.before, c.after) == pytest.approx((before, after))
        assert c.estimate == pytest.approx(after / before)
    assert result["women"].verdict == "amplified"
    assert "further from parity than the labels" in result.sentences()[0]


def test_labels_and_predictions_are_two_models() -> None:
    cells = [(1, 1), (0, 1), (1, 0), (0, 0)]
    rows = [
        (y, p, g)
        for g, n in COUNTS.items()
        for (y, p), k in zip(cells, n, strict=True)
        for _ in range(k)
    ]
    y, p, g = (np.array(column) for column in zip(*rows, strict=True))
    models = fs.compare_models(
        y, {"labels": y, "predictions": p}, sensitive_features=g, reference="men"
    )
    for c in of(COUNTS).comparisons:
        same = models[c.group]
        assert (c.estimate, c.pvalue) == pytest.approx((same.estimate, same.pvalue), rel=1e-12)
        assert tuple(c.confidence_interval) == pytest.approx(
            tuple(same.confidence_interval), rel=1e-12
        )


def test_predictions_that_are_the_labels_amplify_nothing() -> None:
    result = of({"men": (80, 0, 0, 70), "women": (25, 0, 0, 135)})
    low, high = result.confidence_interval
    assert result.estimate == 1
    assert low < 1 < high
    assert result.verdict == "undecided"


def test_the_highest_reference_is_that_of_the_predictions() -> None:
    """Labels favour one group, predictions another."""
    result = of({"a": (10, 60, 60, 70), "b": (60, 50, 0, 90)}, reference="highest")
    assert result.reference == "b"


def test_a_change_across_parity_is_open_and_the_plain_text_says_why() -> None:
    """.85 and 1.15 of 1,000 each: the ratio is not 1, but which is closer to 1 is open."""
    result = of({"men": (500, 0, 0, 500), "women": (425, 150, 0, 425)})
    assert result.verdict == "undecided"
    assert result.confidence_interval.low > 1
    why = (
        "The interval leaves out 1, so that there is a change; but the values may lie on different"
        " sides"
    )
    assert why in result.sentences()[0]
    assert f"women against men: {why}" in " ".join(result.summary().split())
    assert "leaves out" not in of({"men": (80, 0, 0, 70), "women": (25, 0, 0, 135)}).summary()


@pytest.mark.parametrize(
    ("women", "verdict", "told"),
    [
        ((25, 5, 35, 135), "amplified", "the predictions are further from parity than the labels."),
        ((40, 50, 5, 105), "reduced", "the predictions are closer to parity than the labels."),
        (
            (55, 8, 10, 127),
            "undecided",
            "the data do not settle whether the predictions are closer to parity than the labels.",
        ),
    ],
)
def test_amplification_is_told_whole(women: tuple[int, ...], verdict: str, told: str) -> None:
    """Both ratios counted by hand, their quotient with the row's interval, and the verdict in
    words.
    """
    result = of({"men": (80, 30, 20, 70), "women": women})
    (c,), (tp, fp, fn, _) = result.comparisons, women
    n = sum(women)
    before = (tp + fn) / n / 0.5
    after = (tp + fp) / n / 0.55
    low, high = c.confidence_interval
    assert c.verdict == verdict
    assert result.sentences() == [
        f"women against men: disparate impact {before:.3f} of the labels, {after:.3f} of the"
        f" predictions, ratio {after / before:.3f} (95% interval {low:.3f} to {high:.3f}):"
        f" {verdict}; {told}"
    ]
    assert result.notes() == [
        "The estimate is the ratio of both; its interval uses that they are of the same people."
    ]
