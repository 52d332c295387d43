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
    with pytest.raises(fs.InputError, match="strata with the largest gap"):
        compared(FRAME["label"], FRAME["hat"], classes="macro", metric="tpr_max", contrast=None)
    with pytest.raises(fs.InputError, match="odds_ratio"):
        compared(FRAME["label"], FRAME["hat"], classes="macro", contrast="odds_ratio")


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


def rate_by_hand(rows: pd.DataFrame, label: str, metric: str) -> tuple[float, int]:
    """True, or false, positive rate of a class, and its cases."""
    cases = rows[(rows["label"] == label) == (metric == "tpr")]
    return float((cases["hat"] == label).mean()), len(cases)


@pytest.mark.parametrize(("metric", "contrast"), [("fpr", "difference"), ("tpr", "ratio")])
def test_means_that_share_cases_and_ratios_are_of_mantel_haenszel_rates(
    metric: str, contrast: str
) -> None:
    """Each class by the weights of its own cases, as means of true positive rates are."""
    options = {"metric": metric, "contrast": contrast, "reference": "b"}
    result = compared(FRAME["label"], FRAME["hat"], classes="macro", **options).stratified
    (found,) = result.comparisons
    means = np.zeros(2)
    for label in CLASSES:
        rates = []
        weights = []
        for _, rows in FRAME.groupby("stratum"):
            own, n = rate_by_hand(rows[rows["group"] == "a"], label, metric)
            others, m = rate_by_hand(rows[rows["group"] == "b"], label, metric)
            rates.append((own, others))
            weights.append(n * m / (n + m))
        means += np.average(rates, axis=0, weights=weights) / len(CLASSES)
    assert (found.rate, found.rate_reference) == pytest.approx(tuple(means), rel=1e-12)
    wanted = means[0] - means[1] if contrast == "difference" else means[0] / means[1]
    assert found.estimate == pytest.approx(wanted, rel=1e-12)
    assert found.method == ("delta" if contrast == "difference" else "fieller")
    again = fs.results.Result.from_dict(result.to_dict())
    table = result.by_stratum()
    assert_frame_equal(again.by_stratum(), table)
    assert len(table) == 3
    # of one stratum: the rates of its rows
    first = FRAME[FRAME["stratum"] == table["stratum"][0]]
    of_group = [rate_by_hand(first[first["group"] == "a"], name, metric)[0] for name in CLASSES]
    assert table["rate"][0] == pytest.approx(np.mean(of_group), rel=1e-12)


@pytest.mark.parametrize("design", list(DESIGNS))
@pytest.mark.parametrize("metric", ["fpr", "f1", "npv", "balanced_accuracy"])
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_means_by_the_delta_method_of_one_stratum_are_the_crude_ones(
    contrast: str, metric: str, design: str
) -> None:
    columns = {name: FRAME[column] for name, column in DESIGNS[design].items()}
    for comparisons in ("reference", "rest", "overall"):
        result = fs.group_metric(
            FRAME["label"],
            FRAME["hat"],
            metric=metric,
            contrast=contrast,
            sensitive_features=FRAME["group"],
            strata=np.zeros(ROWS, dtype=int),
            classes="macro",
            comparisons=comparisons,
            **columns,
        )
        for crude, within in zip(result.comparisons, result.stratified.comparisons, strict=True):
            # the derivatives are differences with steps of their own
            for name in ("estimate", "std_error", "statistic", "pvalue", "rate", "rate_reference"):
                wanted = getattr(crude, name)
                assert getattr(within, name) == pytest.approx(wanted, rel=1e-8, abs=1e-10), name
            limits = tuple(within.confidence_interval)
            assert limits == pytest.approx(tuple(crude.confidence_interval), rel=1e-8)
            assert within.verdict == crude.verdict


@pytest.mark.parametrize("kind", ["one-vs-rest", "macro"])
def test_functions_of_the_user_of_classes_within_strata(kind: str) -> None:
    """As the F1 that is known by its name."""

    def own_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        return 2 * tp / (2 * tp + fp + fn)

    options: dict[str, Any] = {"classes": kind, "contrast": "difference", "reference": "b"}
    own = compared(FRAME["label"], FRAME["hat"], metric=own_f1, **options).stratified
    named = compared(FRAME["label"], FRAME["hat"], metric="f1", **options).stratified
    for mine, known in zip(own.comparisons, named.comparisons, strict=True):
        for name in ("estimate", "std_error", "pvalue", "label", "verdict"):
            assert getattr(mine, name) == getattr(known, name)
    with pytest.raises(fs.InputError, match="which results do not keep"):
        own.by_stratum()
    assert len(named.by_stratum()) == 3 * len(named.comparisons)


def test_turned_classes_are_the_same_classes() -> None:
    """With the favourable end first the cells of the tally stand in another order."""
    tally = fs.tally(
        FRAME,
        y_true="label",
        y_pred="hat",
        sensitive_features="group",
        strata="stratum",
        classes=True,
        label_values=CLASSES,
    )
    options = {"counts": tally, "metric": "fpr", "classes": "macro", "reference": "b"}
    plain = fs.group_metric(**options).stratified.comparisons[0]
    turned = fs.group_metric(**options, label_values=CLASSES[::-1]).stratified.comparisons[0]
    assert turned.estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert turned.std_error == pytest.approx(plain.std_error, rel=1e-12)


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
@pytest.mark.parametrize("design", list(DESIGNS))
@pytest.mark.parametrize(
    ("metric", "kind"),
    [("fpr_difference", "macro"), ("tpr_ratio", "macro"), ("f1_difference", "one-vs-rest")],
)
def test_r_has_the_same_by_the_delta_method(metric: str, kind: str, design: str) -> None:
    """The function of R from rows, and the twin of the cross-check from counts."""
    name, _, contrast = metric.rpartition("_")
    options = {"metric": name, "contrast": contrast, "classes": kind, "reference": "b"}
    result = compared(FRAME["label"], FRAME["hat"], design, **options)
    data = {column: values.tolist() for column, values in FRAME.items()}
    theirs = call(
        "fs_group_metric",
        data,
        metric,
        "label",
        "hat",
        "group",
        classes=kind,
        reference="b",
        strata="stratum",
        **DESIGNS[design],
    )
    ours = result.to_frame()
    for column in ("adjusted", "adjusted_ci_low", "adjusted_ci_high", "adjusted_pvalue"):
        wanted = np.atleast_1d(theirs[column])
        assert ours[column].to_numpy() == pytest.approx(wanted, rel=1e-6, abs=1e-9), column
    assert ours["adjusted_verdict"].tolist() == np.atleast_1d(theirs["adjusted_verdict"]).tolist()
    checks = fs.crosscheck(result.stratified).to_frame()
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
