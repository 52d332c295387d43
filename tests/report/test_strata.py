"""`audit(strata=…)`: crude and adjusted side by side, and a sentence at the head where they
disagree.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairstats as fs
from fairstats.cli.app import app
from fairstats.ground.rsession import call
from fairstats.report.contents import headline
from fairstats.report.report import AuditReport

#: Admitted and refused by department: women, men (Bickel, Hammel, O'Connell 1975; R's
#: UCBAdmissions).
BERKELEY = {
    "A": ((89, 19), (512, 313)),
    "B": ((17, 8), (353, 207)),
    "C": ((202, 391), (120, 205)),
    "D": ((131, 244), (138, 279)),
    "E": ((94, 299), (53, 138)),
    "F": ((24, 317), (22, 351)),
}
RATIO = "disparate_impact_stratified"


@pytest.fixture(scope="module")
def berkeley() -> pd.DataFrame:
    rows = [
        (sex, dept, admitted)
        for dept, cells in BERKELEY.items()
        for sex, numbers in zip(("women", "men"), cells, strict=True)
        for admitted, number in zip((1, 0), numbers, strict=True)
        for _ in range(number)
    ]
    return pd.DataFrame(rows, columns=["sex", "dept", "admitted"])


@pytest.fixture(scope="module")
def report(berkeley: pd.DataFrame) -> AuditReport:
    return fs.audit(berkeley, y_pred="admitted", sensitive_features="sex", strata="dept", rng=1)


def test_crude_and_adjusted_side_by_side(report: AuditReport) -> None:
    """Crude .68, by department 1.06 (statsmodels' riskratio_pooled 1.058307)."""
    table = report.to_frame().set_index("metric")
    row = table.loc[RATIO]
    assert (row["crude"], row["crude_verdict"]) == (
        table.loc["disparate_impact", "estimate"],
        "violated",
    )
    assert row["estimate"] == pytest.approx(1.058307, abs=1e-6)
    assert row["verdict"] == "satisfied"
    assert row["pvalue"] == pytest.approx(0.2169, abs=5e-5)
    difference = table.loc["demographic_parity_difference_stratified"]
    assert difference["estimate"] == pytest.approx(0.018425, abs=1e-6)


def test_the_head_says_that_strata_change_the_answer(report: AuditReport, tmp_path: Path) -> None:
    said = headline(report)
    assert "Strata change the answer for 2 of 2 comparisons" in said
    assert "crude ratio 0.682 (violated), within 6 strata of dept 1.058" in said
    assert "Strata differ (p = 0.011)" in said
    page = tmp_path / "report.html"
    report.to_html(page)
    for text in (str(report), report.summary(), page.read_text(encoding="utf-8")):
        assert "Strata change the answer" in text
    assert any("Crude and adjusted disagree" in note for note in report.notes)
    assert "women: crude 0.682, violated" in report.summary(full=True)


def test_without_disagreement_the_head_says_nothing() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 4_000), "s": rng.choice(["x", "y"], 4_000)})
    frame["p"] = (rng.random(4_000) < 0.5).astype(int)
    report = fs.audit(frame, y_pred="p", sensitive_features="g", strata="s", rng=1)
    assert "Strata" not in headline(report)
    assert RATIO in set(report.to_frame()["metric"])


def test_tally_engine_and_json_give_the_same(
    berkeley: pd.DataFrame, report: AuditReport, tmp_path: Path
) -> None:
    counted = fs.tally(berkeley, y_pred="admitted", sensitive_features="sex", strata="dept")
    of_tally = fs.audit(fs.Tally.from_json(counted.to_json()), rng=1)
    of_engine = fs.audit(
        berkeley, y_pred="admitted", sensitive_features="sex", strata="dept", engine="polars", rng=1
    )
    rows = tmp_path / "rows.csv"
    berkeley.to_csv(rows, index=False)
    of_file = fs.audit(rows, y_pred="admitted", sensitive_features="sex", strata="dept", rng=1)
    pd.testing.assert_frame_equal(of_file.to_frame(), report.to_frame())
    path = tmp_path / "report.json"
    report.to_json(path)
    for other in (of_tally, of_engine, AuditReport.from_json(path)):
        pd.testing.assert_frame_equal(other.to_frame(), report.to_frame())
        assert headline(other) == headline(report)


def test_labels_differences_of_means_and_several_columns() -> None:
    rng = np.random.default_rng(3)
    n = 3_000
    frame = pd.DataFrame(
        {"g": rng.choice(["a", "b"], n), "h": rng.choice(["u", "v"], n), "s": rng.integers(0, 3, n)}
    )
    frame["y"] = (rng.random(n) < 0.5).astype(int)
    frame["p"] = (rng.random(n) < 0.3 + 0.3 * frame["y"]).astype(int)
    report = fs.audit(
        frame, y_true="y", y_pred="p", sensitive_features=["g", "h"], strata="s", rng=1
    )
    table = report.to_frame()
    within = table[table["metric"].str.endswith("_stratified")]
    assert {"g", "h", "g & h"} == set(within["sensitive_features"])
    assert "average_odds_difference_stratified" in set(within["metric"])
    assert not any(name.startswith(("accuracy_max", "mcc")) for name in within["metric"])
    assert within["pvalue"].notna().all()


def test_ratios_of_labels_are_those_of_the_labels() -> None:
    """By hand, Mantel and Haenszel.

    Labels 20/40 beside 10/40, predictions 15/40 beside 20/40 in both strata.
    """
    rows = [
        (group, stratum, label, prediction)
        for stratum in ("x", "y")
        for group, cells in (("a", (10, 10, 5, 15)), ("b", (5, 5, 15, 15)))
        for (label, prediction), number in zip(((1, 1), (1, 0), (0, 1), (0, 0)), cells, strict=True)
        for _ in range(number)
    ]
    frame = pd.DataFrame(rows, columns=["g", "s", "y", "p"])
    assert frame.groupby("g")[["y", "p"]].mean().to_numpy().tolist() == [[0.5, 0.375], [0.25, 0.5]]
    options = {"sensitive_features": "g", "reference": "b"}
    table = (
        fs.audit(frame, y_true="y", y_pred="p", strata="s", **options, rng=1)
        .to_frame()
        .set_index("metric")
    )
    assert table.loc["disparate_impact_labels_stratified", "estimate"] == pytest.approx(
        2, rel=1e-12
    )
    assert table.loc[RATIO, "estimate"] == pytest.approx(0.75, rel=1e-12)
    counted = fs.tally(frame, y_true="y", y_pred="p", sensitive_features="g", strata="s")
    of_tally = fs.group_metric(metric="disparate_impact_labels", counts=counted, reference="b")
    assert (of_tally.estimate, of_tally.stratified.estimate) == pytest.approx((2, 2), rel=1e-12)


def test_weights_and_clusters_of_rows_tallies_and_engines(berkeley: pd.DataFrame) -> None:
    """One audit in four ways, and weights of 1 say nothing."""
    rng = np.random.default_rng(2)
    frame = berkeley.assign(
        w=rng.lognormal(0, 0.4, len(berkeley)),
        one=1.0,
        unit=rng.integers(0, 900, len(berkeley)),
        wage=rng.normal(30, 5, len(berkeley)),
    )
    columns = {"y_pred": "admitted", "sensitive_features": "sex", "strata": "dept"}
    weighted = {**columns, "sample_weight": "w"}
    rows = fs.audit(frame, **weighted, outcome="wage", rng=1)
    table = rows.to_frame().set_index("metric")
    assert table.loc[RATIO, "method"] == "stratified score (effective rows)"
    assert table.loc["mean_stratified", "n_strata"] == 6
    assert "Strata change the answer" in headline(rows)
    engine = fs.audit(frame, **weighted, outcome="wage", rng=1, engine="polars")
    counted = fs.tally(frame, **weighted, outcome="wage")
    of_tally = fs.audit(counted, rng=1)
    for other in (engine, of_tally):
        again = other.to_frame().set_index("metric")
        for metric in (RATIO, "demographic_parity_difference_stratified", "mean_stratified"):
            for name in ("estimate", "ci_low", "ci_high", "pvalue_verdict"):
                assert again.loc[metric, name] == pytest.approx(table.loc[metric, name], rel=1e-8)
    clustered = fs.audit(frame, **columns, cluster="unit", rng=1).to_frame().set_index("metric")
    assert clustered.loc[RATIO, "method"] == "stratified score (effective clusters)"
    plain = fs.audit(frame, **columns, rng=1).to_frame().set_index("metric")
    even = fs.audit(frame, **columns, sample_weight="one", rng=1).to_frame().set_index("metric")
    for name in ("estimate", "ci_low", "ci_high", "pvalue_verdict", "pvalue_homogeneity"):
        assert even.loc[RATIO, name] == plain.loc[RATIO, name]


def test_command_line(berkeley: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "berkeley.csv"
    berkeley.to_csv(path, index=False)
    run = CliRunner().invoke(
        app, ["audit", str(path), "--group", "sex", "--y-pred", "admitted", "--strata", "dept"]
    )
    assert run.exit_code == 0, run.output
    assert "Strata change the answer for 2 of 2" in " ".join(run.output.replace("│", " ").split())


@pytest.fixture(scope="module")
def risks() -> pd.DataFrame:
    """Scores and labels whose law depends on the branch, as the share of the groups does."""
    rng = np.random.default_rng(35)
    n = 600
    branch = rng.choice(["x", "y"], n)
    group = np.where(rng.random(n) < np.where(branch == "x", 0.3, 0.6), "a", "b")
    score = np.clip(rng.beta(np.where(branch == "x", 2, 3), 3), 0.02, 0.98).round(1)
    label = (rng.random(n) < score).astype(int)
    return pd.DataFrame(
        {
            "g": group,
            "s": branch,
            "score": score,
            "y": label,
            "p": (score > 0.4).astype(int),
            "w": rng.lognormal(0, 0.4, n),
        }
    )


RISKS = {"y_true": "y", "score": "score", "sensitive_features": "g", "strata": "s"}


@pytest.mark.parametrize("weights", [{}, {"sample_weight": "w"}])
def test_risks_within_strata_are_those_of_the_public_function(
    risks: pd.DataFrame, weights: dict[str, str], tmp_path: Path
) -> None:
    report = fs.audit(risks, **RISKS, **weights, risks=True, rng=1)
    table = report.to_frame()
    columns = {name: risks[column] for name, column in weights.items()}
    for metric, name in (("net_benefit", "net_benefit"), ("tpr", "tpr_difference_by_cutoff")):
        wanted = fs.scores(
            risks["y"],
            risks["score"],
            sensitive_features=risks["g"],
            metric=metric,
            strata=risks["s"],
            margin=0.1,
            **columns,
        ).stratified.to_frame()
        found = table[table["metric"] == f"{name}_stratified"]
        for column in ("cutoff", "estimate", "ci_low", "pvalue_adjusted", "verdict", "crude"):
            np.testing.assert_array_equal(found[column], wanted[column], err_msg=column)
    page = tmp_path / "report.html"
    report.to_html(page)
    assert "Along cut-offs within strata" in page.read_text(encoding="utf-8")
    if weights:
        return
    counted = fs.tally(risks, **RISKS)
    of_tally = fs.audit(fs.Tally.from_json(counted.to_json(exact=True)), risks=True, rng=1)
    pd.testing.assert_frame_equal(of_tally.to_frame(), table)


@pytest.mark.r
@pytest.mark.parametrize("comparisons", ["rest", "overall"])
def test_strata_beside_the_rest_and_everybody(
    risks: pd.DataFrame, comparisons: str, tmp_path: Path
) -> None:
    """The public function, R's audit and the command line say the same."""
    few = risks.head(250)
    columns = {"y_true": "y", "y_pred": "p", "sensitive_features": "g", "strata": "s"}
    report = fs.audit(few, **columns, comparisons=comparisons, rng=1)
    table = report.to_frame()
    within = table[table["metric"].str.endswith("_stratified")]
    wanted = fs.disparate_impact(
        few["p"], sensitive_features=few["g"], strata=few["s"], comparisons=comparisons
    ).stratified.to_frame()
    found = within[within["metric"] == RATIO]
    for column in ("reference", "estimate", "ci_low", "pvalue", "verdict"):
        assert found[column].tolist() == wanted[column].tolist()
    data = {name: column.tolist() for name, column in few.items()}
    theirs = pd.DataFrame(dict(call("fs_audit", data, **columns, comparisons=comparisons, draws=0)))
    both = within.merge(theirs, on=["metric", "group", "reference"], suffixes=("", "_r"))
    assert len(both) == len(within) == 2 * 14
    for name in ("estimate", "ci_low", "ci_high", "pvalue", "pvalue_audit", "crude"):
        np.testing.assert_allclose(both[name], both[f"{name}_r"], rtol=1e-6, err_msg=name)
    rows = tmp_path / "rows.csv"
    few.to_csv(rows, index=False)
    out = tmp_path / "report.json"
    asked = f"audit {rows} --y-true y --y-pred p --group g --strata s --comparisons {comparisons}"
    done = CliRunner().invoke(app, [*asked.split(), "--json", str(out)])
    assert done.exit_code in (0, 1), done.output
    pd.testing.assert_frame_equal(AuditReport.from_json(out).to_frame(), table)
