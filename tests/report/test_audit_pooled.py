"""An audit of each group against all others, or against everybody.

Witnesses: the public functions with the same `comparisons`, and R's twins by the cross-check.
"""

from __future__ import annotations

import json
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
    rng = np.random.default_rng(3)
    group = np.repeat(["a", "b", "c"], [900, 600, 450])
    score = np.round(np.clip(rng.normal(0.5 - 0.12 * (group == "b"), 0.2), 0, 1), 2)
    y = (rng.random(1_950) < score).astype(int)
    wage = rng.lognormal(3, 0.4, 1_950)
    return pd.DataFrame({"group": group, "score": score, "y": y, "p": score >= 0.5, "wage": wage})


def audit_of(kind: Any, **options: Any) -> Any:
    return fs.audit(
        people(),
        y_true="y",
        y_pred="p",
        score="score",
        outcome="wage",
        sensitive_features="group",
        comparisons=kind,
        n_resamples=199,
        rng=1,
        **options,
    )


@pytest.fixture(scope="module", params=["rest", "overall"])
def kind_and_report(request: Any) -> tuple[str, Any]:
    return request.param, audit_of(request.param)


def test_rows_are_those_of_the_functions(kind_and_report: Any) -> None:
    kind, report = kind_and_report
    rows = report.to_frame()
    table = people()
    expected = {
        "disparate_impact": fs.disparate_impact(
            table["p"], sensitive_features=table["group"], comparisons=kind
        ),
        "equal_opportunity_difference": fs.equal_opportunity_difference(
            table["y"], table["p"], sensitive_features=table["group"], comparisons=kind
        ),
        "mean": fs.means(
            table["wage"], sensitive_features=table["group"], comparisons=kind, contrast="ratio"
        ),
    }
    for metric, alone in expected.items():
        shown = rows[rows["metric"] == metric].set_index("group")
        assert len(shown) == 3
        for row in alone:
            assert shown.loc[row.group, "estimate"] == pytest.approx(row.estimate, rel=1e-12)
            assert shown.loc[row.group, "ci_low"] == pytest.approx(
                row.confidence_interval.low, rel=1e-9
            )
            assert shown.loc[row.group, "reference"] == row.reference


def test_the_report_says_what_each_group_is_compared_with(kind_and_report: Any) -> None:
    kind, report = kind_and_report
    text = " ".join(report.summary(full=True).split())
    words = {"rest": "all other rows together", "overall": "its own among them"}[kind]
    assert f"Each group is compared with {'all rows, ' * (kind == 'overall')}{words}" in text
    assert "What has no such comparison is compared with one group" in text
    first = " ".join(report.summary().split())
    assert "fares worse: " in first or "fares better: " in first
    assert "all fares" not in first
    assert "rows of all " not in first


def test_it_goes_through_json(kind_and_report: Any, tmp_path: Path) -> None:
    kind, report = kind_and_report
    path = tmp_path / "report.json"
    report.to_json(path)
    again = fs.results.AuditReport.from_json(path)
    assert again.settings.comparisons == kind
    pd.testing.assert_frame_equal(again.to_frame(), report.to_frame())
    report.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert {"rest": "each group with all others", "overall": "each group with everybody"}[
        kind
    ] in page


@pytest.mark.r
def test_r_computes_the_same(kind_and_report: Any) -> None:
    _, report = kind_and_report
    verdicts = set(fs.crosscheck(report).to_frame()["verdict"])
    assert verdicts <= {"agrees", "within Monte Carlo error", "needs --data"}


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"reference": "a"}, "reference"),
        ({"simultaneous": "max-z"}, "simultaneous"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(options: Any, argument: str) -> None:
    with pytest.raises(InputError, match=f"`{argument}`"):
        audit_of("rest", **options)
    with pytest.raises(InputError, match="`method`"):
        audit_of("overall", method="log")
    with pytest.raises(InputError, match="`comparisons`"):
        audit_of("everyone")


def test_the_command_line_has_it(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    out = tmp_path / "report.json"
    table = str(tmp_path / "people.csv")
    columns = ["--y-pred", "p", "--group", "group", "--comparisons", "rest"]
    done = CliRunner().invoke(app, ["audit", table, *columns, "--json", str(out)])
    assert done.exit_code in (0, 1)
    assert json.loads(out.read_text(encoding="utf-8"))["settings"]["comparisons"] == "rest"
