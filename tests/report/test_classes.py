"""Audits of labels with several values. Witnesses: the public functions, and the same rows by
engines and as a tally."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.rsession import call
from fairstats.report.report import AuditReport
from fairstats.results import ClassCounts, ClassMaximumResult

CLASSES = ["low", "medium", "high"]
COLUMNS: dict[str, Any] = {"y_true": "y", "y_pred": "hat", "sensitive_features": "g"}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Predictions in which the class "high" is half as frequent in group b as in group a."""
    rng = np.random.default_rng(35)
    n = 3_000
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1])
    y = rng.choice(CLASSES, n, p=[0.4, 0.3, 0.3])
    hat = np.where(rng.random(n) < 0.8, y, rng.choice(CLASSES, n))
    hat = np.where((group == "b") & (hat == "high") & (rng.random(n) < 0.5), "medium", hat)
    score = rng.random(n).round(2)
    return pd.DataFrame(
        {"y": y, "hat": hat, "g": group, "h": rng.choice(["u", "v"], n), "s": score}
    )


def audited(frame: Any, **options: Any) -> AuditReport:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fs.audit(frame, rng=1, **options)


@pytest.fixture(scope="module")
def report(frame: pd.DataFrame) -> AuditReport:
    return audited(frame, **COLUMNS, label_values=CLASSES, reference="a")


def test_rows_are_those_of_the_public_functions(frame: pd.DataFrame, report: AuditReport) -> None:
    table = report.to_frame()
    options = {"sensitive_features": frame["g"], "reference": "a", "label_values": CLASSES}
    for result in (
        fs.disparate_impact(frame["hat"], classes="one-vs-rest", **options),
        fs.disparate_impact(frame["hat"], classes="ordered", **options),
        fs.conditional_accuracy(frame["y"], frame["hat"], classes="one-vs-rest", **options),
        fs.equal_opportunity_difference(frame["y"], frame["hat"], classes="macro", **options),
        fs.group_metric(frame["y"], frame["hat"], metric="accuracy", classes="macro", **options),
    ):
        wanted = result.to_frame()
        found = table[table["metric"].isin(wanted["metric"])]
        for column in ("metric", "class", "group", "estimate", "ci_low", "pvalue", "verdict"):
            assert found[column].tolist() == wanted[column].tolist(), column


def test_what_is_found_is_said_first(report: AuditReport) -> None:
    text = str(report)
    assert "selection rate, high: " in text.partition("Also beyond a limit")[0].lower()
    assert "these violations hold: Disparate impact (medium), b against a" in " ".join(
        report.summary(full=True).split()
    )
    assert "disadvantage" not in text
    assert "fares worse" not in text
    verdicts = report.to_frame().set_index(["metric", "group"])["verdict"]
    assert verdicts["disparate_impact[high]", "b"] == "violated"
    assert verdicts["demographic_parity_max[all classes]", "a"] == "violated"


def test_groups_have_the_shares_of_their_classes(frame: pd.DataFrame, report: AuditReport) -> None:
    (table,) = report.tables
    assert isinstance(table, ClassCounts)
    text = str(report)
    for heading in (*CLASSES, "Right"):
        assert heading in text
    share = (frame.loc[frame["g"] == "b", "hat"] == "high").mean()
    assert f"{100 * share:.1f}%" in text


def test_the_page_and_its_pictures(report: AuditReport, tmp_path: Path) -> None:
    path = report.to_html(tmp_path / "report.html")
    page = Path(path).read_text(encoding="utf-8")
    assert "Share of the class high by group" in page
    assert "each class against all others" in page
    pytest.importorskip("matplotlib")
    axes = report.sections[1].results[0].plot()
    assert axes is not None


def test_json_and_back(report: AuditReport, tmp_path: Path) -> None:
    path = report.to_json(tmp_path / "report.json")
    again = AuditReport.from_json(path)
    pd.testing.assert_frame_equal(again.to_frame(), report.to_frame())
    assert str(again) == str(report)
    (largest,) = (
        result
        for result in again.sections[1].results
        if isinstance(result, ClassMaximumResult) and result.metric == "demographic_parity_max"
    )
    assert largest.attained_by == "selection_rate of medium"


@pytest.mark.parametrize("source", ["polars", "duckdb", "tally"])
def test_engines_and_tallies_say_the_same(
    source: str, frame: pd.DataFrame, report: AuditReport
) -> None:
    if source == "tally":
        counted = fs.tally(frame, **COLUMNS, label_values=CLASSES, classes=True)
        other = audited(fs.Tally.from_json(counted.to_json()), reference="a")
    else:
        pytest.importorskip(source)
        other = audited(frame, **COLUMNS, label_values=CLASSES, reference="a", engine=source)
    pd.testing.assert_frame_equal(other.to_frame(), report.to_frame())


def test_pos_label_keeps_its_meaning(frame: pd.DataFrame) -> None:
    of_one = audited(frame, **COLUMNS, pos_label="high")
    assert not any(name.endswith("]") for name in of_one.to_frame()["metric"])
    assert "counted as not favourable" in str(of_one)


def test_predictions_alone_several_columns_and_scores(frame: pd.DataFrame) -> None:
    of_two = {"y_pred": "hat", "sensitive_features": ["g", "h"], "score": "s"}
    found = audited(frame, **of_two)
    metrics = {name.partition("[")[0] for name in found.to_frame()["metric"]}
    assert {"disparate_impact", "demographic_parity_max", "madd"} <= metrics
    assert "conditional_accuracy_1" not in metrics
    labels = audited(frame, y_true="y", sensitive_features="g")
    metrics = {name.partition("[")[0] for name in labels.to_frame()["metric"]}
    assert metrics == {"disparate_impact_labels"}


def test_clusters_and_weights(frame: pd.DataFrame) -> None:
    rng = np.random.default_rng(1)
    designed = frame.assign(w=rng.random(len(frame)) + 0.5, c=np.arange(len(frame)) // 4)
    found = audited(designed, **COLUMNS, sample_weight="w", cluster="c").to_frame()
    assert found["method"].str.contains("effective clusters").any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"y_pred": "number"}, "pass pos_label="),
        ({"y_true": "binary", "y_pred": "hat"}, "pass pos_label="),
        ({"y_true": "y", "y_pred": "hat", "reference": "highest"}, "by name"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str, frame: pd.DataFrame) -> None:
    spoiled = frame.assign(number=np.arange(len(frame)), binary=frame["y"] == "high")
    with pytest.raises(fs.InputError, match=words):
        audited(spoiled, sensitive_features="g", **options)


def test_each_class_within_strata(frame: pd.DataFrame, tmp_path: Path) -> None:
    """As the public functions have it, from rows and from a tally, said at the head."""
    options = {"label_values": CLASSES, "strata": "h"}
    report = audited(frame, **COLUMNS, **options, reference="a")
    table = report.to_frame()
    wanted = fs.conditional_accuracy(
        frame["y"],
        frame["hat"],
        sensitive_features=frame["g"],
        classes="ordered",
        label_values=CLASSES,
        strata=frame["h"],
        reference="a",
    ).stratified.to_frame()
    found = table[table["metric"].isin(wanted["metric"])]
    for column in ("metric", "class", "estimate", "ci_low", "pvalue", "verdict", "crude"):
        assert found[column].tolist() == wanted[column].tolist(), column
    assert "Within strata, where like is compared with like: ratio" in " ".join(str(report).split())
    assert "Disparate impact within strata, high" in report.summary(full=True)
    counted = fs.tally(frame, **COLUMNS, **options, classes=True)
    of_tally = audited(fs.Tally.from_json(counted.to_json()), reference="a")
    pd.testing.assert_frame_equal(of_tally.to_frame(), table)
    asked = fs.group_metric(
        metric="conditional_accuracy_1", counts=counted, classes="ordered", reference="a"
    )
    pd.testing.assert_frame_equal(asked.stratified.to_frame(), wanted)
    of_labels = {"sensitive_features": frame["g"], "label_values": CLASSES, "reference": "a"}
    for mean in ("equal_opportunity_difference", "accuracy_difference"):
        alone = fs.group_metric(
            frame["y"], frame["hat"], metric=mean, classes="macro", strata=frame["h"], **of_labels
        )
        shown = table[table["metric"] == f"{mean}_stratified[mean over classes]"]
        for column in ("estimate", "ci_low", "ci_high", "pvalue", "crude", "n_strata"):
            assert shown[column].tolist() == alone.stratified.to_frame()[column].tolist(), column
    page = report.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "limits by MOVER from the stratified scores of all classes" in " ".join(page.split())
    rest = audited(frame, **COLUMNS, **options, comparisons="rest").to_frame()
    of_rest = rest[rest["metric"] == "disparate_impact_stratified[high]"]
    assert of_rest["reference"].tolist() == ["all but a", "all but b", "all but c"]


@pytest.mark.r
@pytest.mark.parametrize("comparisons", ["reference", "rest"])
def test_classes_within_strata_in_r(comparisons: str, frame: pd.DataFrame) -> None:
    """R's audit, which counts and computes by itself."""
    few = frame.head(500)
    options = {"label_values": CLASSES, "strata": "h", "comparisons": comparisons}
    # of one column R's audit takes a tenth of the time
    columns = {"y_pred": "hat", "sensitive_features": "g"}
    if comparisons == "reference":
        # with labels, means over classes as well, of two groups
        columns = {"y_true": "y", **columns}
        few = few[few["g"] != "c"]
    table = audited(few, **columns, **options).to_frame()
    within = table[table["metric"].str.contains("_stratified")]
    data = {name: column.tolist() for name, column in few.items()}
    theirs = pd.DataFrame(dict(call("fs_audit", data, **columns, **options)))
    both = within.merge(theirs, on=["metric", "group", "reference"], suffixes=("", "_r"))
    assert len(both) == len(within) >= 10
    for name in ("estimate", "ci_low", "ci_high", "pvalue", "pvalue_audit", "crude"):
        np.testing.assert_allclose(both[name], both[f"{name}_r"], rtol=1e-6, err_msg=name)
    assert both["verdict"].tolist() == both["verdict_r"].tolist()


@pytest.mark.r
def test_every_number_again_in_r(report: AuditReport) -> None:
    """Within the same run by R's own code, and by `prop.test`."""
    checks = fs.crosscheck(report).to_frame()
    assert len(checks) > 300
    assert set(checks["verdict"]) <= {"agrees", "within Monte Carlo error"}
