"""The report of what is watched.

Witness: the state itself, and its drift."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.report.report import AuditReport
from fairstats.results import MonitorResult, MonitorSettings


def confused(seed: int, high: float) -> fs.Tally:
    """A month of 600 rows, in which women with a favourable outcome are selected at a rate."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], 600)
    outcome = rng.random(600) < 0.5
    chance = np.where(outcome, np.where(sex == "f", high, 0.8), 0.2)
    rows = pd.DataFrame({"sex": sex, "y": outcome.astype(int)})
    rows["hat"] = (rng.random(600) < chance).astype(int)
    return fs.tally(rows, y_true="y", y_pred="hat", sensitive_features="sex")


@pytest.fixture(scope="module")
def watched() -> MonitorResult:
    settings = MonitorSettings(
        planned=3_000, sensitive_features=("sex",), y_true="y", y_pred="hat", reference="m"
    )
    state = MonitorResult(settings=settings)
    for month, high in enumerate((0.8, 0.05, 0.05, 0.05)):
        state = state.add(f"month {month}", str(month), confused(month, high))
    return state


@pytest.fixture(scope="module")
def report(watched: MonitorResult) -> AuditReport:
    return fs.audit(watched)


def test_the_last_look_and_the_path_stand_in_it(
    watched: MonitorResult, report: AuditReport
) -> None:
    held = [section for section in report.sections if section.results]
    assert [section.key for section in held] == ["rates", "monitor"]
    assert held[0].results[0].confidence_interval == watched.confidence_interval
    parts = report.parts()["sex"]
    assert watched.alarm in ("month 2", "month 3")
    assert f"A violation was first shown after {watched.alarm}." in parts["monitor"].lead
    assert len(parts["monitor"].tables[0].rows) == 4
    assert "power" not in parts  # that of a single look
    ((_, (picture,)),) = parts["monitor"].figures
    lines = [one for one in picture.marks if one.kind == "line"]
    assert lines[0].x.tolist() == [600.0, 1_200.0, 1_800.0, 2_400.0]


def test_the_last_look_counts_once(report: AuditReport) -> None:
    assert sum(report.verdicts.values()) == 1
    frame = report.to_frame()
    assert frame["real_over_audit"].notna().sum() == 1


def test_the_change_is_split(watched: MonitorResult, report: AuditReport) -> None:
    part = report.part("drift")
    drift = watched.drift()
    assert len(part.tables[0].rows) == len(drift)
    gap = drift[(drift["reference"] == "m") & (drift["quantity"] == "treatment")]
    assert f"{gap['estimate'].iloc[0]:+.3f}".replace("-", "−") in part.lead


def test_screen_page_and_json(report: AuditReport, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    assert "Of 4 looks a violation was first shown after month" in " ".join(
        report.summary().split()
    )
    page = report.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What the change since the first file is made of" in page
    again = AuditReport.from_json(report.to_json(tmp_path / "page.json"))
    pd.testing.assert_frame_equal(again.to_frame(), report.to_frame())
    assert again.parts()["sex"]["monitor"].lead == report.parts()["sex"]["monitor"].lead


@pytest.mark.r
@pytest.mark.parametrize("clustered", [False, True])
def test_r_computes_the_last_look_once_more(clustered: bool, watched: MonitorResult) -> None:
    """Of clusters from their totals and the scatter of these."""
    made = fs.audit(watched)
    if clustered:
        rng = np.random.default_rng(3)
        settings = MonitorSettings(
            planned=900, sensitive_features=("sex",), y_pred="hat", reference="m", cluster="person"
        )
        state = MonitorResult(settings=settings)
        for month in range(2):
            person = np.repeat(np.arange(150) + 150 * month, 3)
            rows = pd.DataFrame({"person": person, "sex": np.where(person % 2, "f", "m")})
            own = rng.beta(2, 3, 300)[person]
            rows["hat"] = (rng.random(450) < own).astype(int)
            counts = fs.tally(rows, y_pred="hat", sensitive_features="sex", cluster="person")
            state = state.add(str(month), str(month), counts, clusters=person)
        made = fs.audit(state)
    table = fs.crosscheck(made).to_frame()
    compared = table[table["verdict"] != "not recomputed"]
    assert len(compared) > 15
    assert (compared["verdict"] == "agrees").all()


def test_selections_alone_have_no_drift_and_no_file_is_no_report(watched: MonitorResult) -> None:
    rows = pd.DataFrame({"sex": ["f", "m"] * 100, "hat": [0, 1, 1, 1] * 50})
    counts = fs.tally(rows, y_pred="hat", sensitive_features="sex")
    settings = MonitorSettings(planned=400, sensitive_features=("sex",), y_pred="hat")
    made = fs.audit(MonitorResult(settings=settings).add("january", "1", counts))
    assert "drift" not in made.parts()["sex"]
    with pytest.raises(fs.InputError, match="counted no file"):
        fs.audit(MonitorResult(settings=settings))
