"""The section of an audit on gaps given circumstances.

Witnesses: `fs.decompose` of the same rows, and R's twin by the cross-check.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairstats as fs
from fairstats.cli.app import app
from fairstats.ground.errors import InputError


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sex = np.repeat(["m", "f", "d"], [200, 150, 90])
    years = rng.gamma(4, np.where(sex == "m", 3.0, 2.0))
    wage = 15 + 0.8 * years - (sex == "f") + rng.exponential(2, sex.size)
    town = rng.choice(["x", "y"], sex.size)
    table = pd.DataFrame({"sex": sex, "years": years, "town": town, "wage": wage})
    return table.assign(high=(wage + rng.normal(0, 8, sex.size) > 24).astype(int))


def audit_of(table: pd.DataFrame, **options: Any) -> Any:
    columns = {"y_pred": "high", "sensitive_features": "sex"}
    return fs.audit(table, **{**columns, "circumstances": ["years", "town"], "rng": 1, **options})


def rows_of(report: Any) -> pd.DataFrame:
    table = report.to_frame()
    return table[table["section"] == "circumstances"].reset_index(drop=True)


@pytest.mark.parametrize("comparisons", ["reference", "all", "rest"])
@pytest.mark.parametrize("outcome", [None, "wage"])
def test_rows_are_those_of_decompose(comparisons: Any, outcome: str | None) -> None:
    table = people()
    shown = rows_of(audit_of(table, comparisons=comparisons, outcome=outcome))
    alone = fs.decompose(
        table[outcome or "high"],
        sensitive_features=table["sex"],
        circumstances=table[["years", "town"]],
        comparisons=comparisons,
        margin=0.1 if outcome is None else 0.0,
    ).to_frame()
    for column in ("metric", "group", "reference", "verdict"):
        assert shown[column].tolist() == alone[column].tolist()
    for column in ("estimate", "std_error", "ci_low", "ci_high", "pvalue_adjusted"):
        np.testing.assert_allclose(shown[column], alone[column], rtol=1e-12)


def test_it_is_shown_and_changes_nothing_else(tmp_path: Path) -> None:
    table = people()
    report = audit_of(table, outcome="wage")
    plain = audit_of(table, outcome="wage", circumstances=None).to_frame()
    others = report.to_frame()
    others = others[others["section"] != "circumstances"][list(plain.columns)]
    pd.testing.assert_frame_equal(others.reset_index(drop=True), plain, check_dtype=False)
    part = report.part("circumstances")
    assert "not explained" in part.lead
    assert part.figures
    report.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Not explained by circumstances" in page
    report.to_json(tmp_path / "report.json")
    again = fs.results.AuditReport.from_json(tmp_path / "report.json")
    pd.testing.assert_frame_equal(again.to_frame(), report.to_frame())


def test_the_picture_has_both_parts_of_every_gap() -> None:
    (figure,) = audit_of(people()).part("circumstances").figures
    text = repr(figure)
    assert "explained" in text
    assert "f against m" in text


@pytest.mark.r
def test_r_computes_the_same() -> None:
    table = people()
    found = fs.crosscheck(audit_of(table, outcome="wage"), data=table).to_frame()
    found = found[found["section"] == "circumstances"]
    assert len(found) > 60
    assert set(found["verdict"]) == {"agrees"}


def test_what_has_no_meaning_is_refused_by_name() -> None:
    table = people()
    with pytest.raises(InputError, match="`circumstances`"):
        audit_of(table, reference="highest")
    with pytest.raises(InputError, match="`circumstances`"):
        audit_of(table, circumstances=["years", "years"])
    tally = fs.tally(table, y_pred="high", sensitive_features="sex")
    with pytest.raises(InputError, match="regression"):
        fs.audit(tally, circumstances=["years"])


def test_the_command_line_has_it(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    out = tmp_path / "report.json"
    columns = ["--y-pred", "high", "--group", "sex", "--circumstance", "years"]
    arguments = ["audit", str(tmp_path / "people.csv"), *columns, "--json", str(out)]
    assert CliRunner().invoke(app, arguments).exit_code in (0, 1)
    assert len(rows_of(fs.results.AuditReport.from_json(out))) == 6
