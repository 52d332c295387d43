"""Subgroups as a section of an audit.

Witness: `fs.subgroups` of the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.report.report import AuditReport


def draw_rows(n: int = 1_500) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "region": rng.choice(["a", "b", "c"], n),
        }
    )
    hidden = (rows["sex"] == "f") & (rows["age"] >= 60)
    rows["hired"] = (rng.random(n) < np.where(hidden, 0.15, 0.45)).astype(int)
    rows["fit"] = rng.integers(0, 2, n)
    return rows


ASKED = {"sex": None, "age": [40, 60], "region": None}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return draw_rows()


@pytest.fixture(scope="module")
def report(rows: pd.DataFrame) -> AuditReport:
    return fs.audit(
        rows,
        y_true="fit",
        y_pred="hired",
        sensitive_features="sex",
        subgroups=ASKED,
        rng=3,
    )


def section_of(report: AuditReport) -> list:
    (section,) = [one for one in report.sections if one.key == "subgroups" and one.results]
    return list(section.results)


def test_a_section_holds_what_fs_subgroups_finds(rows: pd.DataFrame, report: AuditReport) -> None:
    found = section_of(report)
    metrics = ["demographic_parity_difference", "equal_opportunity_difference", "fpr_difference"]
    assert [result.metric for result in found] == metrics
    for metric, result in zip(metrics, found, strict=True):
        alone = fs.subgroups(
            rows,
            attributes=list(ASKED),
            y_true="fit",
            y_pred="hired",
            metric=metric,
            cuts={"age": [40, 60]},
            rng=3,
        )
        pd.testing.assert_frame_equal(result.to_frame(), alone.to_frame())
        assert result.settings == alone.settings


def test_it_is_a_family_of_its_own(rows: pd.DataFrame, report: AuditReport) -> None:
    """What holds over the whole audit is what holds without it."""
    without = fs.audit(rows, y_true="fit", y_pred="hired", sensitive_features="sex", rng=3)
    columns = ["metric", "group", "reference", "pvalue_audit", "real_over_audit", "verdict"]
    frame = report.to_frame()
    others = frame[frame["section"] != "subgroups"][columns]
    pd.testing.assert_frame_equal(others, without.to_frame()[columns])
    assert report.verdicts == without.verdicts


def test_page_terminal_and_screen_show_it(report: AuditReport, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    part = report.part("subgroups", "sex")
    assert "sex = f & age = 60 or more" in part.lead
    assert len(part.tables[0].rows) <= 50
    assert part.figures
    assert "Subgroups by sex, age, region:" in report.summary()
    assert "subgroups against the rest" in report.summary(full=True)
    page = report.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Who is hidden in the averages" in page
    assert "Who is hidden in the averages" not in fs.audit(
        draw_rows(), y_pred="hired", sensitive_features="sex"
    ).to_html(tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "limits that hold together" in page
    methods = " ".join(statement.text for statement in report.methods)
    assert "Fisher's exact test" in methods


def test_it_survives_json(report: AuditReport, tmp_path: Path) -> None:
    again = AuditReport.from_json(report.to_json(tmp_path / "report.json"))
    pd.testing.assert_frame_equal(again.to_frame(), report.to_frame())
    assert again.columns.subgroups == ("sex", "age", "region")


def test_a_result_that_is_there_already_is_shown(rows: pd.DataFrame) -> None:
    leaves = fs.subgroups(rows, attributes=["sex", "age"], y_pred="hired", search="tree", rng=1)
    made = fs.audit(rows, y_pred="hired", sensitive_features="sex", subgroups=leaves)
    (result,) = section_of(made)
    assert result is leaves
    assert "honest splitting" in " ".join(statement.text for statement in made.methods)


def test_outcomes_alone_and_tallies_have_them(rows: pd.DataFrame) -> None:
    of_labels = fs.audit(
        rows, y_true="fit", sensitive_features="sex", subgroups=["sex", "region"], rng=1
    )
    (result,) = section_of(of_labels)
    share = rows["fit"][rows["region"] == "a"].mean()
    rates = {comparison.group: comparison.rate for comparison in result.comparisons}
    assert rates["region = a"] == pytest.approx(share)
    counted = fs.tally(rows, y_pred="hired", sensitive_features=["sex", "region"])
    of_tally = fs.audit(counted, subgroups=["sex", "region"], rng=1)
    assert len(section_of(of_tally)) == 1
    with pytest.raises(fs.InputError, match="cuts of region for a Tally"):
        fs.audit(counted, subgroups={"sex": None, "region": 2})


def test_a_file_is_read_by_what_the_columns_are(rows: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    of_file = fs.audit(
        path, y_pred="hired", sensitive_features="sex", subgroups={"sex": None, "age": 3}, rng=1
    )
    of_rows = fs.audit(
        rows, y_pred="hired", sensitive_features="sex", subgroups={"sex": None, "age": 3}, rng=1
    )
    pd.testing.assert_frame_equal(of_file.to_frame(), of_rows.to_frame())


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_lazy_tables_have_the_same(kind: str, rows: pd.DataFrame, tmp_path: Path) -> None:
    """Of numbers that are cut, and of a tree."""
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    library: Any = pytest.importorskip(kind)
    lazy = library.scan_csv(path) if kind == "polars" else library.sql(f"from read_csv('{path}')")
    asked: dict[str, Any] = {"y_pred": "hired", "sensitive_features": "sex", "rng": 1}
    (result,) = section_of(fs.audit(lazy, subgroups=ASKED, **asked))
    (expected,) = section_of(fs.audit(rows, subgroups=ASKED, **asked))
    pd.testing.assert_frame_equal(result.to_frame(), expected.to_frame())
    of_tree: dict[str, Any] = {"attributes": ["sex", "age"], "y_pred": "hired", "rng": 1}
    leaves = fs.subgroups(lazy, search="tree", **of_tree)
    again = fs.subgroups(rows, search="tree", **of_tree)
    pd.testing.assert_frame_equal(leaves.to_frame(), again.to_frame())


def test_missing_values_of_a_column_of_subgroups_follow_the_policy() -> None:
    rows = draw_rows()
    rows["region"] = rows["region"].where(np.arange(len(rows)) % 10 > 0, None)
    made = fs.audit(
        rows,
        y_pred="hired",
        sensitive_features="sex",
        subgroups=["sex", "region"],
        missing="drop",
        rng=1,
    )
    (result,) = section_of(made)
    assert result.n_rows == 1_350
    assert made.tables[0].n == 1_500


@pytest.mark.parametrize("asked", [5, [], "sex", {1: None}, [None]])
def test_what_is_no_choice_of_columns_is_refused(rows: pd.DataFrame, asked: object) -> None:
    with pytest.raises(fs.InputError, match="`subgroups`"):
        fs.audit(rows, y_pred="hired", sensitive_features="sex", subgroups=asked)


def test_weights_are_refused(rows: pd.DataFrame) -> None:
    with pytest.raises(fs.InputError, match="weighted or clustered"):
        fs.audit(
            rows.assign(w=1.5),
            y_pred="hired",
            sensitive_features="sex",
            sample_weight="w",
            subgroups=["sex", "region"],
        )


@pytest.mark.r
def test_r_computes_the_section_once_more(rows: pd.DataFrame) -> None:
    made = fs.audit(
        rows, y_pred="hired", sensitive_features="sex", subgroups=["sex", "region"], rng=1
    )
    table = fs.crosscheck(made).to_frame()
    checked = table[table["group"].astype(str).str.contains("region = ")]
    compared = checked[checked["verdict"] != "not recomputed"]
    assert len(compared) > 50
    assert compared["verdict"].isin(["agrees", "within Monte Carlo error"]).all()


def test_the_command_line_asks_for_them(rows: pd.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from fairstats.cli.app import app

    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    target = tmp_path / "report.json"
    done = CliRunner().invoke(
        app,
        [
            *("audit", str(path), "--group", "sex", "--y-pred", "hired", "--json", str(target)),
            *("--subgroups", "sex", "--subgroups", "age=40,60", "--subgroups", "region"),
        ],
    )
    assert done.exit_code == 0, done.output
    (result,) = section_of(AuditReport.from_json(target))
    alone = fs.subgroups(
        rows, attributes=list(ASKED), y_pred="hired", cuts={"age": [40, 60]}, rng=1
    )
    pd.testing.assert_frame_equal(result.to_frame(), alone.to_frame())
    wrong = CliRunner().invoke(
        app,
        [*("audit", str(path), "--group", "sex", "--y-pred", "hired"), "--subgroups", "age=old"],
    )
    assert wrong.exit_code == 2
    assert "COLUMN=25,40,60" in wrong.output
