"""Several classes within strata: each class is that class as one of two labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.rsession import call
from fairstats.methods.rates.strata.result import sums_of_units, tables_of

CLASSES = ["low", "medium", "high"]
ROWS = 500


def people() -> pd.DataFrame:
    rng = np.random.default_rng(12)
    group = rng.choice(["a", "b"], ROWS, p=[0.4, 0.6])
    label = rng.choice(CLASSES, ROWS, p=[0.4, 0.35, 0.25])
    right = rng.random(ROWS) < np.where(group == "a", 0.55, 0.7)
    return pd.DataFrame(
        {
            "group": group,
            "label": label,
            "hat": np.where(right, label, rng.choice(CLASSES, ROWS)),
            "stratum": rng.choice(["x", "y", "z"], ROWS),
            "weight": rng.lognormal(0, 0.6, ROWS),
            "unit": rng.integers(0, 90, ROWS),
        }
    )


FRAME = people()
DESIGNS: dict[str, dict[str, str]] = {
    "plain": {},
    "weights": {"sample_weight": "weight"},
    "clusters": {"cluster": "unit"},
}


def compared(y_true: Any, y_pred: Any, design: str = "plain", **options: Any) -> Any:
    columns = {name: FRAME[column] for name, column in DESIGNS[design].items()}
    return fs.group_metric(
        y_true,
        y_pred,
        sensitive_features=FRAME["group"],
        strata=FRAME["stratum"],
        **{"metric": "tpr", "contrast": "ratio", **options},
        **columns,
    )


@pytest.mark.parametrize("design", list(DESIGNS))
@pytest.mark.parametrize("contrast", ["ratio", "difference", "odds_ratio"])
def test_each_class_is_one_of_two_labels(contrast: str, design: str) -> None:
    found = compared(
        FRAME["label"], FRAME["hat"], design, classes="one-vs-rest", contrast=contrast
    ).stratified
    pvalues = []
    for comparison in found.comparisons:
        two = compared(
            FRAME["label"] == comparison.label,
            FRAME["hat"] == comparison.label,
            design,
            contrast=contrast,
            pos_label=True,
        ).stratified
        (alone,) = two.comparisons
        for name in ("estimate", "std_error", "pvalue", "pvalue_homogeneity", "n"):
            wanted = getattr(alone, name)
            assert getattr(comparison, name) == pytest.approx(wanted, rel=1e-12, nan_ok=True)
        assert comparison.metric == f"{found.metric}[{comparison.label}]"
        pvalues.append(comparison.pvalue)
    adjusted = [comparison.pvalue_adjusted for comparison in found.comparisons]
    assert adjusted == pytest.approx(adjust_pvalues(pvalues, "holm"), rel=1e-12)


def test_cuts_files_and_strata() -> None:
    found = compared(
        None, FRAME["hat"], classes="ordered", metric="selection_rate", label_values=CLASSES
    )
    names = [comparison.label for comparison in found.stratified.comparisons]
    assert names == ["from medium on", "from high on"]
    two = compared(None, FRAME["hat"] != "low", metric="selection_rate", pos_label=True)
    assert found.stratified.comparisons[0].estimate == two.stratified.estimate
    again = fs.results.Result.from_dict(found.to_dict())
    assert_frame_equal(again.stratified.by_stratum(), found.stratified.by_stratum())
    table = found.stratified.by_stratum()
    assert len(table) == 2 * 3
    assert table["successes"].sum() > 0


def test_two_classes_are_two_labels() -> None:
    label = np.where(FRAME["label"] == "low", "low", "high")
    hat = np.where(FRAME["hat"] == "low", "low", "high")
    options = {"label_values": ["low", "high"], "pos_label": "high"}
    classes = compared(label, hat, "weights", classes="one-vs-rest", **options)
    labels = compared(label, hat, "weights", **options)
    assert_frame_equal(classes.stratified.to_frame(), labels.stratified.to_frame())


def test_what_has_no_strata() -> None:
    with pytest.raises(fs.InputError, match="'macro' of fpr_difference with strata"):
        compared(FRAME["label"], FRAME["hat"], classes="macro", metric="fpr", contrast="difference")
    with pytest.raises(fs.InputError, match="'macro' of tpr_ratio with strata"):
        compared(FRAME["label"], FRAME["hat"], classes="macro")
    with pytest.raises(fs.InputError, match="strata with f1"):
        compared(FRAME["label"], FRAME["hat"], classes="one-vs-rest", metric="f1")


def difference_within_strata(label: str) -> tuple[float, float]:
    """Of true positive rates by hand, Σw(r₁ − r₀) with w = n₁n₀/N, and Σw."""
    weighted = 0.0
    weights = 0.0
    for _, rows in FRAME[FRAME["label"] == label].groupby("stratum"):
        right = rows["hat"] == label
        own = right[rows["group"] == "a"]
        others = right[rows["group"] == "b"]
        weight = len(own) * len(others) / len(rows)
        weighted += weight * (own.mean() - others.mean())
        weights += weight
    return weighted, weights


def mean_over_classes(design: str = "plain", **options: Any) -> Any:
    columns = {"classes": "macro", "contrast": "difference", "reference": "b"}
    return compared(FRAME["label"], FRAME["hat"], design, **columns, **options)


def test_a_mean_over_classes_is_that_of_mantel_haenszel_differences() -> None:
    (found,) = mean_over_classes().stratified.comparisons
    by_hand = []
    for label in CLASSES:
        weighted, weights = difference_within_strata(label)
        by_hand.append(weighted / weights)
    assert found.estimate == pytest.approx(np.mean(by_hand), rel=1e-12)
    assert found.metric == "tpr_difference_stratified[mean over classes]"
    assert found.label == ""
    # MOVER: squared distances of the classes' own limits, each class as one of two labels
    one_by_one = compared(
        FRAME["label"],
        FRAME["hat"],
        classes="one-vs-rest",
        contrast="difference",
        reference="b",
    ).stratified
    below = []
    errors = []
    for comparison in one_by_one.comparisons:
        below.append(comparison.estimate - comparison.confidence_interval.low)
        errors.append(comparison.std_error)
    low = found.estimate - np.sqrt(np.sum(np.square(below))) / 3
    assert found.confidence_interval.low == pytest.approx(low, abs=1e-7)
    assert found.std_error == pytest.approx(np.sqrt(np.sum(np.square(errors))) / 3, rel=1e-12)


@pytest.mark.parametrize("design", list(DESIGNS))
def test_the_mean_over_two_classes_is_balanced_accuracy_within_strata(design: str) -> None:
    label = np.where(FRAME["label"] == "low", "low", "high")
    hat = np.where(FRAME["hat"] == "low", "low", "high")
    options = {"contrast": "difference", "pos_label": "high", "reference": "b"}
    mean = compared(label, hat, design, classes="macro", **options).stratified.comparisons[0]
    two = compared(label, hat, design, metric="balanced_accuracy", **options)
    (wanted,) = two.stratified.comparisons
    for name in ("estimate", "std_error", "pvalue", "n"):
        assert getattr(mean, name) == pytest.approx(getattr(wanted, name), rel=1e-9)
    assert mean.verdict == wanted.verdict
    assert tuple(mean.confidence_interval)[:2] == pytest.approx(
        tuple(wanted.confidence_interval)[:2], abs=1e-9
    )


@pytest.mark.parametrize("contrast", ["ratio", "difference", "odds_ratio"])
def test_the_share_of_right_predictions_is_one_rate_within_strata(contrast: str) -> None:
    mean = compared(
        FRAME["label"], FRAME["hat"], classes="macro", metric="accuracy", contrast=contrast
    )
    right = FRAME["label"] == FRAME["hat"]
    alone = compared(
        None, right, metric="selection_rate", contrast=contrast, pos_label=True
    ).stratified.comparisons[0]
    (found,) = mean.stratified.comparisons
    for name in ("estimate", "std_error", "pvalue", "pvalue_homogeneity", "n", "verdict"):
        assert getattr(found, name) == getattr(alone, name)


def test_means_over_classes_of_tallies_and_files() -> None:
    rows = mean_over_classes()
    tally = fs.tally(
        FRAME,
        y_true="label",
        y_pred="hat",
        sensitive_features="group",
        strata="stratum",
        classes=True,
    )
    counted = fs.group_metric(counts=tally, metric="tpr_difference", classes="macro", reference="b")
    (of_tally,) = counted.stratified.comparisons
    assert of_tally.estimate == rows.stratified.comparisons[0].estimate
    assert of_tally.pvalue == rows.stratified.comparisons[0].pvalue
    again = fs.results.Result.from_dict(rows.to_dict())
    table = rows.stratified.by_stratum()
    assert_frame_equal(again.stratified.by_stratum(), table)
    assert len(table) == 3 * 3
    assert table["n"].sum() == rows.stratified.comparisons[0].n


def test_a_class_without_rows_of_both_has_no_mean() -> None:
    kept = (FRAME["label"] != "high") | (FRAME["group"] == "b")
    with pytest.warns(InsufficientEvidenceWarning, match="no (rows of every class|stratum)"):
        result = fs.group_metric(
            FRAME["label"][kept],
            FRAME["hat"][kept],
            sensitive_features=FRAME["group"][kept],
            strata=FRAME["stratum"][kept],
            metric="tpr_difference",
            classes="macro",
            reference="b",
        )
    (found,) = result.stratified.comparisons
    assert np.isnan(found.estimate)
    assert found.verdict == "insufficient evidence"
    assert "no stratum has cases of both" in found.note


@pytest.mark.r
@pytest.mark.parametrize("design", list(DESIGNS))
def test_r_has_the_same_means_over_classes(design: str) -> None:
    """The function of R from rows, and the twin of the cross-check from counts."""
    ours = mean_over_classes(design).stratified
    (comparison,) = ours.comparisons
    data = {name: column.tolist() for name, column in FRAME.items()}
    theirs = call(
        "fs_group_metric",
        data,
        "tpr_difference",
        "label",
        "hat",
        "group",
        classes="macro",
        reference="b",
        strata="stratum",
        **DESIGNS[design],
    )
    low, high = comparison.confidence_interval.low, comparison.confidence_interval.high
    assert theirs["adjusted"] == pytest.approx(comparison.estimate, rel=1e-9)
    assert theirs["adjusted_pvalue"] == pytest.approx(comparison.pvalue, rel=1e-6)
    assert theirs["adjusted_ci_low"] == pytest.approx(low, rel=1e-6)
    assert theirs["adjusted_ci_high"] == pytest.approx(high, rel=1e-6)
    assert theirs["adjusted_verdict"] == comparison.verdict
    checks = fs.crosscheck(ours).to_frame()
    assert len(checks) > 10
    assert set(checks["verdict"]) == {"agrees"}


@pytest.mark.r
@pytest.mark.parametrize("design", ["plain", "weights"])
def test_r_has_the_same_numbers(design: str) -> None:
    """The function of R from rows, and the twin of the cross-check from counts."""
    ours = compared(
        FRAME["label"],
        FRAME["hat"],
        design,
        classes="one-vs-rest",
        label_values=CLASSES,
        reference="b",
    ).stratified
    data = {name: column.tolist() for name, column in FRAME.items()}
    theirs = call(
        "fs_group_metric",
        data,
        "tpr_ratio",
        "label",
        "hat",
        "group",
        classes="one-vs-rest",
        label_values=CLASSES,
        reference="b",
        strata="stratum",
        **DESIGNS[design],
    )
    for place, comparison in enumerate(ours.comparisons):
        assert theirs["adjusted"][place] == pytest.approx(comparison.estimate, rel=1e-9)
        assert theirs["adjusted_pvalue"][place] == pytest.approx(comparison.pvalue, rel=1e-7)
        low = comparison.confidence_interval.low
        assert theirs["adjusted_ci_low"][place] == pytest.approx(low, rel=1e-7)
        sums = sums_of_units(ours, comparison)
        if sums is None:
            (columns,) = tables_of(ours, comparison)
            answer = call(
                "crosscheck_strata", *(c.tolist() for c in columns), 1, "ratio", 0.95, 0.8
            )
        else:
            answer = call(
                "crosscheck_designed_strata", *sums, contrast="ratio", level=0.95, threshold=0.8
            )
        assert answer["estimate"] == pytest.approx(comparison.estimate, rel=1e-9)
