"""Several classes within strata: each class is that class as one of two labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import fairstats as fs
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
    with pytest.raises(fs.InputError, match="'macro' with strata"):
        compared(FRAME["label"], FRAME["hat"], classes="macro")
    with pytest.raises(fs.InputError, match="strata with f1"):
        compared(FRAME["label"], FRAME["hat"], classes="one-vs-rest", metric="f1")


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
