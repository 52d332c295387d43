"""What an audit computes from which columns, for which groups, and what it says about it."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

import fairstats as fs
from fairstats.ground.errors import (
    DataWarning,
    InputError,
    InsufficientEvidenceWarning,
    MissingValuesWarning,
)
from fairstats.report.audit import audit
from fairstats.report.report import AuditReport

RATIOS = {
    "disparate_impact",
    "disparate_impact_labels",
    "conditional_accuracy_1",
    "conditional_accuracy_0",
    "conditional_use_accuracy_1",
    "conditional_use_accuracy_0",
}
DIFFERENCES = {
    "demographic_parity_difference",
    "equal_opportunity_difference",
    "predictive_parity_difference",
    "average_odds_difference",
    "tpr_difference",
    "fpr_difference",
}
MAXIMA = {"demographic_parity_max", "equalized_odds_max"}


def metrics(report: AuditReport) -> set[str]:
    return set(report.to_frame()["metric"])


def audit_all(frame: Any, **options: Any) -> AuditReport:
    """The made-up rows with every column, one attribute, quick resampling."""
    return audit(
        frame,
        **{
            "y_true": "repaid",
            "y_pred": "granted",
            "sensitive_features": "region",
            "favorable_label": {"y_true": "yes", "y_pred": 1},
            "n_resamples": 200,
            "rng": 1,
            **options,
        },
    )


# ---------------------------------------------------------------- which methods run


def test_predictions_only(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", sensitive_features="region")
    assert metrics(report) == {"disparate_impact", "demographic_parity_difference", "demographic_parity_max"}


def test_outcomes_only(frame: pd.DataFrame) -> None:
    report = audit(frame, y_true="repaid", sensitive_features="region", favorable_label="yes")
    assert metrics(report) == {"disparate_impact_labels", "demographic_parity_difference_labels"}
    share = frame["repaid"].eq("yes").groupby(frame["region"]).mean()
    row = report.to_frame().query("metric == 'disparate_impact_labels' and group == 'south'").iloc[0]
    assert row["estimate"] == pytest.approx(share["south"] / share["north"], rel=1e-12)


def test_predictions_and_outcomes(frame: pd.DataFrame) -> None:
    assert metrics(audit_all(frame)) == RATIOS | DIFFERENCES | MAXIMA


def test_score_adds_abroca(frame: pd.DataFrame) -> None:
    assert metrics(audit_all(frame, score="score")) == RATIOS | DIFFERENCES | MAXIMA | {"abroca"}


def test_score_without_outcomes_is_said(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", score="score", sensitive_features="region")
    assert "abroca" not in metrics(report)
    assert any("ABROCA needs the outcomes" in note for note in report.notes)


def test_values_are_those_of_the_functions(frame: pd.DataFrame) -> None:
    table = audit_all(frame, reference="north").to_frame().set_index(["metric", "group"])
    columns: dict[str, Any] = {
        "sensitive_features": frame["region"],
        "reference": "north",
        "pos_label": {"y_true": "yes", "y_pred": 1},
    }
    y_true, y_pred = frame["repaid"], frame["granted"]
    for result in (
        fs.conditional_accuracy(y_true, y_pred, label=0, **columns),
        fs.predictive_parity_difference(y_true, y_pred, **columns),
        fs.equalized_odds_difference(y_true, y_pred, agg="max", **columns),
    ):
        for row in result.rows():
            mine = table.loc[(row["metric"], row["group"])]
            for key in ("estimate", "ci_low", "ci_high", "pvalue"):
                assert mine[key] == pytest.approx(row[key], rel=1e-12)


@pytest.mark.parametrize(
    ("method", "ratio", "difference"),
    [
        ("score", "score", "score"),
        ("koopman", "koopman", "mee"),
        ("delta", "delta", "delta"),
        ("log", "log", "score"),
    ],
)
def test_method_goes_to_ratios_and_differences(
    frame: pd.DataFrame, method: Any, ratio: str, difference: str
) -> None:
    table = audit(frame, y_pred="granted", sensitive_features="region", method=method).to_frame()
    used = table.groupby("metric")["method"].first()
    assert (used["disparate_impact"], used["demographic_parity_difference"]) == (ratio, difference)


def test_bootstrap_runs_where_it_can(frame: pd.DataFrame) -> None:
    used = audit_all(frame, method="bootstrap").to_frame().groupby("metric")["method"].first()
    assert "bootstrap" in used["disparate_impact"]
    assert "bootstrap" not in used["average_odds_difference"]


def test_same_seed_same_numbers(frame: pd.DataFrame) -> None:
    first, second = (audit_all(frame, score="score", method="bootstrap", rng=5) for _ in range(2))
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())
    assert first.settings.seed == 5


def test_seed_is_reported_when_none_was_given(frame: pd.DataFrame) -> None:
    report = audit_all(frame, score="score", rng=None)
    again = audit_all(frame, score="score", rng=report.settings.seed)
    pd.testing.assert_frame_equal(report.to_frame(), again.to_frame())


# ---------------------------------------------------------------- groups


def test_each_attribute_and_their_intersection(report: AuditReport) -> None:
    sets = list(dict.fromkeys(report.to_frame()["sensitive_features"]))
    assert sets == ["region", "sex", "region & sex"]
    assert [table.attributes for table in report.tables] == [("region",), ("sex",), ("region", "sex")]
    crossed = report.to_frame().query("sensitive_features == 'region & sex' and metric == 'disparate_impact'")
    assert set(crossed["reference"]) == {"north & m"}
    assert len(crossed) == 5


def test_intersections_can_be_left_out(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", sensitive_features=["region", "sex"], intersections=False)
    assert set(report.to_frame()["sensitive_features"]) == {"region", "sex"}


def test_reference_of_an_intersection_by_name(frame: pd.DataFrame) -> None:
    report = audit(
        frame,
        y_pred="granted",
        sensitive_features=["region", "sex"],
        reference={"sex": "f", "region & sex": "west & f"},
    )
    table = (
        report.to_frame()
        .query("metric == 'disparate_impact'")
        .groupby("sensitive_features")["reference"]
        .first()
    )
    assert table.to_dict() == {"region": "north", "sex": "f", "region & sex": "west & f"}
    assert "region: north (the largest group)" in statement(report, "Reference groups")


def test_all_pairs(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", sensitive_features="region", comparisons="all")
    assert len(report.to_frame().query("metric == 'disparate_impact'")) == 3
    assert statement(report, "Reference groups") == "All pairs of groups are compared with each other."


def test_highest_reference_is_said(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", sensitive_features="region", reference="highest")
    assert "chosen by the data" in statement(report, "Reference groups")


@pytest.mark.parametrize("kind", ["polars", "polars lazy", "pyarrow"])
def test_any_frame(frame: pd.DataFrame, kind: str) -> None:
    if kind == "pyarrow":
        other: Any = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    else:
        polars = pytest.importorskip("polars")
        other = polars.DataFrame(frame.to_dict("list"))
        other = other.lazy() if "lazy" in kind else other
    pd.testing.assert_frame_equal(audit_all(other).to_frame(), audit_all(frame).to_frame())


# ---------------------------------------------------------------- families


def test_family_audit_is_holm_over_all(frame: pd.DataFrame) -> None:
    table = audit_all(frame, family="audit").to_frame()
    judged = table[np.isfinite(table["pvalue"])]
    expected = multipletests(judged["pvalue"], method="holm")[1]
    np.testing.assert_allclose(judged["pvalue_adjusted"], expected, rtol=1e-12)


def test_family_audit_with_a_chosen_reference_counts_what_could_be_chosen(frame: pd.DataFrame) -> None:
    table = audit(
        frame, y_pred="granted", sensitive_features="region", reference="highest", family="audit"
    ).to_frame()
    row = table[table["metric"] == "disparate_impact"].iloc[0]
    assert row["pvalue_adjusted"] == pytest.approx(min(1.0, row["pvalue"] * 1.5 * len(table)), rel=1e-12)


def test_family_is_said(frame: pd.DataFrame) -> None:
    assert "Holm over all p-values" in statement(audit_all(frame, family="audit"), "p-values")
    assert "within one metric" in statement(audit_all(frame), "p-values")


# ---------------------------------------------------------------- statements


def statement(report: AuditReport, title: str) -> str:
    return {s.title: s.text for s in report.statements}[title]


@pytest.mark.parametrize(
    ("evaluated_on", "said"),
    [
        (None, "was not stated whether"),
        ("training", "were used to train the model"),
        ("held-out", "were not used to train"),
    ],
)
def test_rows_used_in_training_are_said(frame: pd.DataFrame, evaluated_on: Any, said: str) -> None:
    assert said in statement(audit_all(frame, evaluated_on=evaluated_on), "Rows used in training")


def test_inference_is_conditional_and_the_verdict_rule_is_said(report: AuditReport) -> None:
    assert "conditional on the fitted model" in statement(report, "Conditional on the model")
    rule = statement(report, "Verdicts")
    assert "one-sided 5% bound" in rule
    assert "90% interval" in rule


def test_confidence_level_is_honoured_everywhere(frame: pd.DataFrame) -> None:
    report = audit_all(frame, score="score", confidence_level=0.9)
    assert set(report.to_frame()["confidence_level"]) == {0.9}
    assert "one-sided 10% bound" in statement(report, "Verdicts")
    assert "80% interval" in statement(report, "Verdicts")


def test_methods_name_papers(report: AuditReport) -> None:
    said = " ".join(m.text for m in report.methods)
    assert "Theorem 3.1" in said
    assert any("1807.06362" in reference for reference in report.references)
    assert not any("Binder" in reference for reference in report.references)


# ---------------------------------------------------------------- missing values, weights, clusters


@pytest.fixture
def holes(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with some missing predictions and groups."""
    full = frame.astype({"granted": float})
    full.loc[full.index[:7], "granted"] = np.nan
    full.loc[full.index[20:25], "region"] = None
    return full


def test_missing_raises_by_default(holes: pd.DataFrame) -> None:
    with pytest.raises(InputError, match=r'missing="drop"'):
        audit_all(holes)


def test_missing_rows_are_dropped_counted_and_bounded(holes: pd.DataFrame) -> None:
    with pytest.warns(MissingValuesWarning, match="12 of 900 rows"):
        report = audit_all(holes, missing="drop")
    said = statement(report, "Missing values")
    assert "12 of 900 rows left out" in said
    assert "Worst-case bounds" in said
    table = report.to_frame().set_index(["metric", "group"])
    bounds = table.loc[("worst_case_disparate_impact", "south")]
    estimate = table.loc[("disparate_impact", "south"), "estimate"]
    assert bounds["bound_low"] < estimate < bounds["bound_high"]


def test_worst_case_bounds_of_outcomes_hold_for_every_completion() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 40).astype(float)
    y[:4] = np.nan
    frame = pd.DataFrame({"y": y, "s": np.tile(["a", "b"], 20)})
    with pytest.warns(MissingValuesWarning):
        report = audit(frame, y_true="y", sensitive_features="s", reference="a", missing="drop")
    table = report.to_frame().set_index("metric")
    low, high = table.loc["worst_case_disparate_impact_labels", ["bound_low", "bound_high"]]
    found = []
    for code in range(16):
        full = frame.copy()
        full.loc[:3, "y"] = [code >> i & 1 for i in range(4)]
        share = full.groupby("s")["y"].mean()
        found.append(share["b"] / share["a"])
    assert (low, high) == pytest.approx((min(found), max(found)), rel=1e-12)


def test_missing_groups_form_a_group(frame: pd.DataFrame) -> None:
    frame = frame.copy()
    frame.loc[frame.index[:50], "region"] = None
    report = audit_all(frame, missing="group")
    assert "(missing)" in set(report.to_frame()["group"])
    assert "group of their own" in statement(report, "Missing values")


def test_weights_and_clusters(frame: pd.DataFrame) -> None:
    report = audit_all(frame, score="score", sample_weight="weight", cluster="branch")
    assert "abroca" not in metrics(report)
    assert any("neither weights nor clusters" in note for note in report.notes)
    assert "40 clusters (branch)" in statement(report, "Sampling")
    assert any("Binder" in reference for reference in report.references)
    direct = fs.disparate_impact(
        frame["granted"],
        sensitive_features=frame["region"],
        sample_weight=frame["weight"],
        cluster=frame["branch"],
    )
    mine = report.to_frame().query("metric == 'disparate_impact'")
    np.testing.assert_allclose(mine["std_error"], direct.std_error, rtol=1e-12)


# ---------------------------------------------------------------- what is warned of


def test_small_groups_are_warned_of_once_and_noted() -> None:
    frame = pd.DataFrame(
        {
            "hired": [1, 0] * 30 + [0, 0, 1],
            "good": [1, 0, 0] * 21,
            "s": ["a"] * 60 + ["b"] * 3,
        }
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = audit(frame, y_true="good", y_pred="hired", sensitive_features="s")
    kinds = [w.category for w in caught]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) <= {DataWarning, InsufficientEvidenceWarning}
    assert report.notes
    assert all(w.filename == __file__ for w in caught)


def test_no_evidence_is_a_verdict_not_a_silent_nan() -> None:
    categories = pd.Categorical(["a", "b"] * 20, categories=["a", "b", "empty"])
    frame = pd.DataFrame({"hired": [1, 0, 0, 1] * 10, "s": categories})
    with pytest.warns(InsufficientEvidenceWarning), pytest.warns(DataWarning):
        report = audit(frame, y_pred="hired", sensitive_features="s")
    assert report.verdicts["insufficient evidence"] == 2
    assert any("empty" in note for note in report.notes)


# ---------------------------------------------------------------- bad input


BAD = {
    "no outcome": ({"y_true": None, "y_pred": None}, "None for both"),
    "an array for a name": ({"y_pred": np.array([1, 0])}, "the name of a column"),
    "unknown column": ({"y_pred": "grnated"}, "'granted'"),
    "no attribute": ({"sensitive_features": []}, "list of names"),
    "attribute twice": ({"sensitive_features": ["sex", "sex"]}, "each column once"),
    "unknown reference": ({"reference": "Martian"}, "Martian"),
    "one reference for several": ({"sensitive_features": ["region", "sex"], "reference": "m"}, "a mapping"),
    "reference of an unknown column": (
        {"sensitive_features": ["region", "sex"], "reference": {"rgion": "north"}},
        "'rgion'",
    ),
    "three classes without a favourable one": ({"y_pred": "branch", "favorable_label": None}, "pos_label"),
    "favourable value that does not occur": ({"favorable_label": "maybe"}, "does not occur"),
    "unknown key of the favourable label": ({"favorable_label": {"y": 1}}, "'y_true' and 'y_pred'"),
    "score outside [0, 1]": ({"score": "branch"}, r"scores in \[0, 1\]"),
    "threshold above 1": ({"threshold": 1.25}, "tolerance="),
    "tolerance of 2": ({"tolerance": 2}, "threshold"),
    "level of 95": ({"confidence_level": 95}, "between 0 and 1"),
    "level of a half": ({"confidence_level": 0.5}, "more than 0.5"),
    "unknown method": ({"method": "bayes"}, "'koopman'"),
    "unknown family": ({"family": "all"}, "'audit'"),
    "unknown policy": ({"missing": "ignore"}, "'drop'"),
    "unknown training": ({"evaluated_on": "test"}, "'held-out'"),
    "one group": ({"sensitive_features": "one"}, "in 'one'"),
    "score method with clusters": ({"cluster": "branch", "method": "score"}, "clusters"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(frame: pd.DataFrame, case: str) -> None:
    options, said = BAD[case]
    with pytest.raises(InputError, match=said):
        audit_all(frame.assign(one="x"), **options)


def test_no_rows(frame: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="0 rows"):
        audit_all(frame.iloc[:0])


def test_not_a_frame() -> None:
    with pytest.raises(InputError, match="data frame"):
        audit([1, 2], y_pred="a", sensitive_features="b")


def test_importing_the_audit_loads_no_view() -> None:
    code = (
        "import sys, fairstats.report.audit\n"
        "bad = {'jinja2', 'rich', 'typer', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(', '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
