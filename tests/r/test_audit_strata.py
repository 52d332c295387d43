"""`fs_audit(strata=)` of R beside `fs.audit(strata=)`.

Rows, numbers, verdicts and sentences, live.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import RBackendError
from fairstats.ground.rsession import call
from fairstats.report.contents import headline
from fairstats.report.report import AuditReport
from tests.report.test_strata import BERKELEY

pytestmark = pytest.mark.r("jsonlite")

#: Quantities in which comparisons within strata are compared beside those of any row.
OF_STRATA = {"crude", "crude_verdict", "n_strata", "pvalue_homogeneity"}


def rows_of_counts(cells: list[tuple[str, str, int, int]]) -> pd.DataFrame:
    """One row per person, of (group, stratum, selected, not selected)."""
    rows = [
        {"group": group, "stratum": stratum, "selected": selected}
        for group, stratum, *numbers in cells
        for selected, number in zip((1, 0), numbers, strict=True)
        for _ in range(number)
    ]
    return pd.DataFrame(rows)


def berkeley() -> pd.DataFrame:
    """Admissions of 1973 (Bickel, Hammel, O'Connell 1975), which R has as UCBAdmissions."""
    cells = [
        (sex, department, *numbers)
        for department, both in BERKELEY.items()
        for sex, numbers in zip(("women", "men"), both, strict=True)
    ]
    return rows_of_counts(cells)


def odd() -> pd.DataFrame:
    """Zeros, strata of one person, a stratum of one group, a group of a stratum of its own, rows
    without a stratum.

    Groups are large enough for crude comparisons without exact tests, which take R minutes.
    """
    frame = rows_of_counts(
        [
            ("a", "x", 2400, 1600),
            ("b", "x", 0, 4000),
            ("a", "y", 1200, 2800),
            ("b", "y", 0, 2000),
            ("a", "z", 1, 0),
            ("b", "z", 0, 1),
            ("a", "only a", 800, 120),
            ("d", "only d", 600, 4200),
            ("e", "x", 3000, 800),
            ("e", "y", 10, 9),
        ]
    )
    frame.loc[frame.index[::40], "stratum"] = None
    return frame


def audited(frame: pd.DataFrame, path: Path, **options: Any) -> AuditReport:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        report = fs.audit(
            frame, y_pred="selected", sensitive_features="group", strata="stratum", rng=1, **options
        )
    report.to_json(path)
    return report


def compared(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """What fs_compare says of the report and R's audit of the same rows.

    Empty text is missing, as None is.
    """
    data = {name: column.fillna("").tolist() for name, column in frame.items()}
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "R: .*rows left out for missing values", fs.FairstatsWarning
        )
        found = call("fs_compare", str(path), data, rng=3)
    return pd.DataFrame({name: np.atleast_1d(values) for name, values in found.items()})


def assert_same(report: AuditReport, found: pd.DataFrame) -> None:
    wrong = found[~found["agree"].astype(bool)]
    assert wrong.empty, wrong.to_string()
    within = {metric for metric in report.to_frame()["metric"] if metric.endswith("_stratified")}
    of_strata = found[found["metric"].isin(within)]
    assert set(of_strata["metric"]) == within
    assert set(of_strata["quantity"]) >= OF_STRATA
    said = sum("Crude and adjusted disagree" in note for note in report.notes)
    assert (found["quantity"] == "sentence").sum() >= said


def test_berkeley(tmp_path: Path) -> None:
    """Crude .68 "violated", by department 1.06 "satisfied": both say it, in the same words."""
    frame = berkeley()
    report = audited(frame, tmp_path / "report.json")
    found = compared(frame, tmp_path / "report.json")
    assert_same(report, found)
    # of the whole audit, and of both comparisons
    assert (found["quantity"] == "sentence").sum() == 3
    claims, strata = call("fs_read_report", str(tmp_path / "report.json"))["head"]
    assert claims.startswith("Over the whole audit (2 facts, Holm, error 5%)")
    assert strata.startswith(
        "Strata change the answer for 2 of 2 comparisons: women against men: crude ratio 0.682"
    )
    assert f"{claims} {strata}" in headline(report)


@pytest.mark.parametrize("options", [{}, {"threshold": 1.0, "simultaneous": "bonferroni"}])
def test_an_odd_table(options: dict[str, Any], tmp_path: Path) -> None:
    frame = odd()
    report = audited(frame, tmp_path / "report.json", reference="a", missing="drop", **options)
    assert_same(report, compared(frame, tmp_path / "report.json"))
    of_d = report.to_frame().query("metric == 'disparate_impact_stratified' and group == 'd'")
    assert of_d["n_strata"].tolist() == [0.0]
    assert of_d["verdict"].tolist() == ["insufficient evidence"]


def test_outcomes_and_means_of_rates(tmp_path: Path) -> None:
    """Ratios of labels, differences of means of rates, families of several rates."""
    rng = np.random.default_rng(3)
    n = 9_000
    frame = pd.DataFrame(
        {"group": rng.choice(["a", "b"], n), "stratum": rng.choice([1.0, 2.5, 10.0], n)}
    )
    frame.loc[frame.index[:7], "stratum"] = 99.0
    frame["passed"] = (rng.random(n) < 0.3 + 0.05 * frame["stratum"].clip(upper=9)).astype(int)
    frame["selected"] = (
        rng.random(n) < 0.3 + 0.3 * frame["passed"] * (frame["group"] != "b")
    ).astype(int)
    report = audited(frame, tmp_path / "report.json", y_true="passed")
    found = compared(frame, tmp_path / "report.json")
    assert_same(report, found)
    within = {metric for metric in found["metric"] if metric.endswith("_stratified")}
    assert {"disparate_impact_labels_stratified", "average_odds_difference_stratified"} <= within


def test_labels_beside_the_favourable_one(tmp_path: Path) -> None:
    """Counted by hand: 1,200 and 800 rows; both reports name them, and R's with the same words."""
    frame = pd.DataFrame(
        {
            "risk": np.repeat(["Low", "Medium", "High"], [3_000, 1_200, 800]),
            "sex": np.tile(["f", "m"], 2_500),
        }
    )
    report = fs.audit(frame, y_pred="risk", sensitive_features="sex", pos_label="Low", rng=1)
    report.to_json(tmp_path / "report.json")
    sentence = "risk: counted as not favourable: Medium 1,200 rows, High 800."
    assert sentence in headline(report)
    assert call("fs_read_report", str(tmp_path / "report.json"))["head"][1] == sentence
    found = compared(frame, tmp_path / "report.json")
    assert found["agree"].astype(bool).all()
    said = found[found["metric"] == "labels"]
    assert said["quantity"].tolist() == ["sentence"]


def test_strata_that_cannot_be_used_are_refused() -> None:
    frame = berkeley()
    data = {name: column.tolist() for name, column in frame.items()}
    columns = {"y_pred": "selected", "sensitive_features": "group", "strata": "stratum"}
    with pytest.raises(RBackendError, match="no column of `data`"):
        call("fs_audit", data, **{**columns, "strata": "nothing"})
    data["stratum"] = ["", *data["stratum"][1:]]
    with pytest.raises(RBackendError, match="`strata`: got missing values"):
        call("fs_audit", data, **columns)
