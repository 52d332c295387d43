"""Rates of several classes. Witnesses: the same question of two labels (`pos_label=`), which has
its own; scikit-learn's averages; counts by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import fairstats as fs
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.ground.serialise import decode, encode
from fairstats.results import ClassCounts, ClassDifferenceResult, ClassRatioResult, RatioResult
from tests.methods.rates.classes.conftest import CLASSES, Rows

FIELDS = ("estimate", "std_error", "statistic", "pvalue", "rate", "rate_reference", "n")
METRICS = (
    "selection_rate_ratio",
    "base_rate_ratio",
    "tpr_difference",
    "ppv_ratio",
    "f1_difference",
    "average_odds_difference",
    "tpr_odds_ratio",
)


def design(rows: Rows, kind: str) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if "weights" in kind:
        columns["sample_weight"] = rows.weight
    if "clusters" in kind:
        columns["cluster"] = rows.cluster
    return columns


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["plain", "weights", "clusters"])
def test_one_class_is_the_metric_with_that_class_favourable(
    metric: str, kind: str, rows: Rows
) -> None:
    """One class against the rest, as `pos_label` asks; whole weights, whose sums do not round."""
    columns = {"metric": metric, "sensitive_features": rows.group, "adjust": "none"}
    columns |= design(rows, kind)
    result = fs.group_metric(rows.y_true, rows.y_pred, classes="one-vs-rest", **columns)
    for label in CLASSES:
        of_two = fs.group_metric(rows.y_true, rows.y_pred, pos_label=label, **columns)
        for ours, theirs in zip(result.of_class(label), of_two.comparisons, strict=True):
            for field in FIELDS:
                wanted = getattr(theirs, field)
                assert getattr(ours, field) == pytest.approx(wanted, rel=1e-12, nan_ok=True), field


@pytest.mark.parametrize("classes", ["one-vs-rest", "ordered"])
@pytest.mark.parametrize("kind", ["plain", "weights", "clusters", "weights and clusters"])
def test_two_classes_are_todays_numbers(classes: str, kind: str, rows: Rows) -> None:
    y, hat = (np.where(column == "high", "yes", "no") for column in (rows.y_true, rows.y_pred))
    columns = {"sensitive_features": rows.group, "pos_label": "yes", **design(rows, kind)}
    for function in (
        fs.disparate_impact,
        fs.conditional_accuracy,
        fs.equalized_odds_difference,
        fs.average_odds_difference,
    ):
        labels = (hat,) if function is fs.disparate_impact else (y, hat)
        result = function(*labels, classes=classes, **columns)
        today = function(*labels, **columns)
        assert type(result) is type(today)
        pd.testing.assert_frame_equal(result.to_frame(), today.to_frame(), check_exact=True)


@pytest.mark.parametrize("favourable", ["no", "yes"])
def test_favourable_one_of_two(favourable: str) -> None:
    hat = ["no", "yes", "yes", "no", "yes", "no", "no", "yes"] * 5
    options = {"sensitive_features": list("aabbaabb") * 5, "pos_label": favourable}
    result = fs.disparate_impact(hat, classes="one-vs-rest", **options)
    assert float(result) == float(fs.disparate_impact(hat, **options))


def test_mean_over_two_classes_is_balanced_accuracy(rows: Rows) -> None:
    y, hat = (np.where(column == "high", 1, 0) for column in (rows.y_true, rows.y_pred))
    options = {"sensitive_features": rows.group}
    for contrast in ("difference", "ratio", "gap"):
        ours = fs.group_metric(
            y, hat, metric="tpr", contrast=contrast, classes="macro", **options
        ).to_frame()
        today = fs.group_metric(
            y, hat, metric="balanced_accuracy", contrast=contrast, **options
        ).to_frame()
        columns = ["estimate", "std_error", "ci_low", "ci_high", "pvalue", "verdict"]
        pd.testing.assert_frame_equal(ours[columns], today[columns], rtol=1e-9)


@pytest.mark.parametrize(
    ("metric", "average"),
    [
        ("tpr", lambda y, hat: metrics.recall_score(y, hat, average="macro")),
        ("ppv", lambda y, hat: metrics.precision_score(y, hat, average="macro")),
        ("f1", lambda y, hat: metrics.f1_score(y, hat, average="macro")),
        ("accuracy", metrics.accuracy_score),
        ("balanced_accuracy", None),
    ],
)
def test_means_as_scikit_learn(metric: str, average: Any, rows: Rows) -> None:
    result = fs.group_metric(
        rows.y_true,
        rows.y_pred,
        metric=metric,
        sensitive_features=rows.group,
        reference="a",
        classes="macro",
    )
    for comparison in result.comparisons:
        for name, value in (("a", comparison.rate_reference), (comparison.group, comparison.rate)):
            chosen = rows.group == name
            y, hat = rows.y_true[chosen], rows.y_pred[chosen]
            if average is not None:
                assert value == pytest.approx(average(y, hat), rel=1e-12)
            else:
                of_classes = []
                for label in CLASSES:
                    of_classes.append(metrics.balanced_accuracy_score(y == label, hat == label))
                assert value == pytest.approx(np.mean(of_classes), rel=1e-12)


def test_cuts_by_hand(rows: Rows) -> None:
    result = fs.conditional_accuracy(
        rows.y_true,
        rows.y_pred,
        sensitive_features=rows.group,
        reference="a",
        classes="ordered",
        label_values=CLASSES,
    )
    assert [c.label for c in result.comparisons] == ["from medium on"] * 2 + ["from high on"] * 2
    places = {name: place for place, name in enumerate(CLASSES)}
    y, hat = (np.array([places[name] for name in c]) for c in (rows.y_true, rows.y_pred))
    for comparison, cut in zip(result.comparisons, (1, 1, 2, 2), strict=True):
        cases = (rows.group == comparison.group) & (y >= cut)
        assert comparison.rate == (hat[cases] >= cut).mean()


def test_the_best_end_of_the_order_may_be_the_first() -> None:
    stars = [1, 2, 3, 1, 2, 3, 1, 1] * 10
    group = list("aaaabbbb") * 10
    options = {"sensitive_features": group, "classes": "ordered", "reference": "a"}
    upwards = fs.disparate_impact(stars, **options)
    downwards = fs.disparate_impact(stars, pos_label=1, **options)
    assert [c.label for c in downwards.comparisons] == ["from 2 on", "from 1 on"]
    assert [c.label for c in upwards.comparisons] == ["from 2 on", "from 3 on"]
    of_one = fs.disparate_impact(stars, pos_label=1, sensitive_features=group, reference="a")
    assert downwards.comparisons[1].estimate == of_one.comparisons[0].estimate


def test_all_classes_and_groups_are_one_family(rows: Rows) -> None:
    result = fs.disparate_impact(
        rows.y_pred, sensitive_features=rows.group, classes="one-vs-rest", adjust="bonferroni"
    )
    raw = np.array([c.pvalue for c in result.comparisons])
    adjusted = np.array([c.pvalue_adjusted for c in result.comparisons])
    assert len(raw) == 6
    np.testing.assert_allclose(adjusted, np.minimum(6 * raw, 1), rtol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "clusters"])
def test_simultaneous_limits_lie_between_single_and_bonferroni(kind: str, rows: Rows) -> None:
    widths = {}
    for simultaneous in (None, "max-z", "bonferroni"):
        result = fs.equal_opportunity_difference(
            rows.y_true,
            rows.y_pred,
            sensitive_features=rows.group,
            classes="one-vs-rest",
            simultaneous=simultaneous,
            **design(rows, kind),
        )
        widths[simultaneous] = np.array([c.confidence_interval.width for c in result.comparisons])
    assert (widths[None] < widths["max-z"]).all()
    assert (widths["max-z"] <= widths["bonferroni"] + 1e-9).all()


def test_the_law_of_all_classes_knows_that_their_shares_add_up_to_one() -> None:
    """Shares of two of three classes that vary say all about the third: the critical value of all
    three is that of a singular normal law, below that of independent ones."""
    tables = {"a": [500, 300, 200], "b": [450, 350, 200]}
    counts = ClassCounts.from_tables(tables, classes=CLASSES)
    options = {"counts": counts, "classes": "one-vs-rest", "comparisons": "all"}
    result = fs.demographic_parity_difference(**options, simultaneous="max-z")
    single = fs.demographic_parity_difference(**options)
    stretched = [
        ours.confidence_interval.width / theirs.confidence_interval.width
        for ours, theirs in zip(result.comparisons, single.comparisons, strict=True)
    ]
    # quantile of the largest of three |z| with correlations of a multinomial, by simulation
    rng = np.random.default_rng(1)
    p = np.array([0.475, 0.325, 0.2])
    root = np.linalg.cholesky(np.diag(p) - np.outer(p, p) + 1e-12 * np.eye(3))
    z = rng.standard_normal((400_000, 3)) @ root.T / np.sqrt(p * (1 - p))
    wanted = np.quantile(np.abs(z).max(axis=1), 0.95) / 1.95996
    np.testing.assert_allclose(stretched, wanted, rtol=0.01)


def test_largest_gap_over_classes_and_groups(rows: Rows) -> None:
    options = {"sensitive_features": rows.group}
    result = fs.equal_opportunity_difference(
        rows.y_true, rows.y_pred, agg="max", classes="one-vs-rest", **options
    )
    gaps = {}
    for label in CLASSES:
        of_two = fs.equal_opportunity_difference(
            rows.y_true, rows.y_pred, agg="max", pos_label=label, **options
        )
        gaps[label] = float(of_two)
    assert float(result) == pytest.approx(max(gaps.values()), rel=1e-12)
    assert result.attained_by == f"tpr of {max(gaps, key=gaps.__getitem__)}"
    low, high = result.confidence_interval
    assert low <= float(result) <= high
    assert len(result.components) == 9


def test_of_classes_nobody_is_said_to_be_at_a_disadvantage() -> None:
    tables = {"a": [300, 300, 400], "b": [600, 300, 100]}
    result = fs.disparate_impact(
        counts=ClassCounts.from_tables(tables, classes=CLASSES), classes="one-vs-rest"
    )
    text = " ".join(result.sentences())
    assert "low: b against a: 60.0% against 30.0%" in text
    assert "has the lower value" in text
    assert "disadvantage" not in text


def test_round_trips(rows: Rows) -> None:
    result = fs.disparate_impact(rows.y_pred, sensitive_features=rows.group, classes="one-vs-rest")
    again = ClassRatioResult.from_dict(json.loads(json.dumps(result.to_dict())))
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    counts = decode(json.loads(json.dumps(encode(result.class_counts))))
    assert counts.classes == result.class_counts.classes
    assert "class" in str(result).splitlines()[1]


def test_a_class_that_a_group_lacks_is_no_fair_one() -> None:
    tables = {
        "a": [[30, 5, 5], [4, 20, 6], [1, 9, 10]],
        "b": [[30, 5, 0], [4, 20, 0], [0, 0, 0]],
    }
    counts = ClassCounts.from_tables(tables, classes=CLASSES)
    with pytest.warns(InsufficientEvidenceWarning, match="no rows with the label high"):
        result = fs.equal_opportunity_difference(counts=counts, classes="one-vs-rest")
    assert result.of_class("high")[0].verdict == "insufficient evidence"
    with pytest.warns(InsufficientEvidenceWarning):
        mean = fs.group_metric(metric="tpr", counts=counts, classes="macro")
    assert mean.verdict == "insufficient evidence"
    with pytest.warns(DataWarning, match="leaves the interval open up to 1"):
        gap = fs.group_metric(metric="tpr_max", counts=counts, classes="one-vs-rest")
    assert gap.confidence_interval.high == 1


def test_means_of_functions_need_ten_rows_of_every_class() -> None:
    table = np.array([[90, 5, 5], [4, 60, 6], [1, 3, 5]])
    counts = ClassCounts.from_tables({"a": 10 * table, "b": table}, classes=CLASSES)
    with pytest.warns(InsufficientEvidenceWarning, match="b: 9 rows of one class"):
        result = fs.group_metric(metric="f1", counts=counts, classes="macro")
    assert result.verdict == "insufficient evidence"
    table[2, 2] += 1
    counts = ClassCounts.from_tables({"a": 10 * table, "b": table}, classes=CLASSES)
    assert fs.group_metric(metric="f1", counts=counts, classes="macro").verdict


def test_a_function_of_the_cells(rows: Rows) -> None:
    def jaccard(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        return tp / (tp + fp + fn)

    options = {"metric": jaccard, "sensitive_features": rows.group, "reference": "a"}
    result = fs.group_metric(rows.y_true, rows.y_pred, classes="one-vs-rest", **options)
    for label in CLASSES:
        of_two = fs.group_metric(rows.y_true, rows.y_pred, pos_label=label, **options)
        for ours, theirs in zip(result.of_class(label), of_two.comparisons, strict=True):
            assert ours.estimate == theirs.estimate
    mean = fs.group_metric(rows.y_true, rows.y_pred, classes="macro", **options)
    assert isinstance(mean, ClassDifferenceResult)
    chosen = rows.group == "b"
    wanted = metrics.jaccard_score(rows.y_true[chosen], rows.y_pred[chosen], average="macro")
    assert mean["b"].rate == pytest.approx(wanted, rel=1e-12)


def test_against_the_rest(rows: Rows) -> None:
    options = {"sensitive_features": rows.group, "comparisons": "rest"}
    result = fs.disparate_impact(rows.y_pred, classes="one-vs-rest", **options)
    of_two = fs.disparate_impact(rows.y_pred, pos_label="high", **options)
    assert [c.estimate for c in result.of_class("high")] == of_two.estimate.tolist()


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "another word": ({"classes": "micro"}, "one-vs-rest"),
    "no order": ({"classes": "ordered"}, "whose order is not known"),
    "a class as favourable one": (
        {"classes": "one-vs-rest", "pos_label": "high"},
        "leave out classes=",
    ),
    "the middle as an end": (
        {"classes": "ordered", "label_values": CLASSES, "pos_label": "medium"},
        "either end",
    ),
    "strata of a mean": ({"classes": "macro", "strata": "y"}, "one-vs-rest"),
    "every look": (
        {"classes": "one-vs-rest", "method": "anytime", "planned": 600, "reference": "a"},
        "leave out method=",
    ),
    "the highest": ({"classes": "one-vs-rest", "reference": "highest"}, "by name"),
    "an undeclared label": (
        {"classes": "one-vs-rest", "label_values": ["low", "high"]},
        "medium",
    ),
    "means of shares": ({"classes": "macro"}, "1/3 in every group"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_asked(name: str, rows: Rows) -> None:
    options, words = BAD[name]
    if "strata" in options:
        options = {**options, "strata": rows.y_true}
    with pytest.raises(fs.InputError, match=words):
        fs.disparate_impact(rows.y_pred, sensitive_features=rows.group, **options)


def test_many_values_are_no_classes(rows: Rows) -> None:
    numbers = np.arange(len(rows.group)).tolist()
    with pytest.raises(fs.InputError, match="two to 20 classes"):
        fs.disparate_impact(numbers, sensitive_features=rows.group, classes="one-vs-rest")


def test_labels_of_two_kinds(rows: Rows) -> None:
    y = np.where(rows.y_true == "high", 1, 0)
    with pytest.raises(fs.InputError, match="the same classes in both columns"):
        fs.equal_opportunity_difference(
            y, rows.y_pred, sensitive_features=rows.group, classes="one-vs-rest"
        )


def test_without_classes_the_refusal_stays(rows: Rows) -> None:
    with pytest.raises(fs.InputError, match="pass pos_label="):
        fs.disparate_impact(rows.y_pred, sensitive_features=rows.group)


def test_tables_of_counts() -> None:
    tables = {"a": [[30, 5], [4, 20]], "b": [[30, 5], [4, 25]]}
    result = fs.conditional_accuracy(counts=tables, classes="one-vs-rest", label_values=[0, 1])
    today = fs.conditional_accuracy(counts={"a": (20, 5, 4, 30), "b": (25, 5, 4, 30)})
    assert isinstance(result, RatioResult)
    assert float(result) == float(today)
    for bad in ({"a": [[1, 2], [3]]}, {"a": [[1.5, 2], [3, 4]]}, {"a": [3]}, [1, 2], {}):
        with pytest.raises(fs.InputError):
            ClassCounts.from_tables(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(
    ("metric", "contrast"),
    [
        ("tpr", "ratio"),
        ("tpr", "difference"),
        ("tpr", "odds_ratio"),
        ("f1", "ratio"),
        ("f1", "difference"),
    ],
)
def test_each_class_beside_everybody_is_one_of_two_labels(
    metric: str, contrast: str, weights: bool
) -> None:
    rng = np.random.default_rng(9)
    names = np.array(["low", "medium", "high"])
    group = rng.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2])
    label = rng.choice(names, 400)
    hat = np.where(rng.random(400) < 0.7, label, rng.choice(names, 400))
    options: dict[str, Any] = {"sensitive_features": group, "comparisons": "overall"}
    if weights:
        options["sample_weight"] = rng.lognormal(0, 0.5, 400)
    found = fs.group_metric(
        label, hat, metric=metric, contrast=contrast, classes="one-vs-rest", **options
    )
    for name in names:
        two = fs.group_metric(
            label == name, hat == name, metric=metric, contrast=contrast, pos_label=True, **options
        )
        for of_class, of_two in zip(found.of_class(name), two.comparisons, strict=True):
            for field in ("estimate", "std_error", "rate_reference", "pvalue"):
                wanted = getattr(of_two, field)
                assert getattr(of_class, field) == pytest.approx(wanted, rel=1e-9), field
            assert tuple(of_class.confidence_interval) == pytest.approx(
                tuple(of_two.confidence_interval), rel=1e-7
            )


def test_means_over_classes_beside_everybody() -> None:
    """The mean of the classes' own differences, and limits that lie around it."""
    rng = np.random.default_rng(9)
    names = np.array(["low", "medium", "high"])
    group = rng.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2])
    label = rng.choice(names, 400)
    hat = np.where(rng.random(400) < 0.7, label, rng.choice(names, 400))
    options: dict[str, Any] = {"sensitive_features": group, "comparisons": "overall"}
    for metric in ("tpr", "f1"):
        mean = fs.group_metric(label, hat, metric=metric, classes="macro", **options)
        by_class = fs.group_metric(label, hat, metric=metric, classes="one-vs-rest", **options)
        for comparison in mean.comparisons:
            of_classes = []
            for row in by_class.comparisons:
                if row.group == comparison.group:
                    of_classes.append(row.estimate)
            assert comparison.estimate == pytest.approx(np.mean(of_classes), rel=1e-9)
            assert comparison.estimate in comparison.confidence_interval
    again = fs.results.Result.from_dict(mean.to_dict())
    assert again.to_dict() == mean.to_dict()
