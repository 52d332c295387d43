"""The report object: one table, JSON without loss and without rows, text, terminal, notebook."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.results import TIDY_COLUMNS
from fairstats.report.audit import audit
from fairstats.report.render import render_terminal, show
from fairstats.report.report import AuditReport


def test_to_frame_is_the_results_one_below_the_other(report: AuditReport) -> None:
    table = report.to_frame()
    assert list(table.columns[: len(TIDY_COLUMNS) + 2]) == ["section", "sensitive_features", *TIDY_COLUMNS]
    assert len(table) == sum(len(result.to_frame()) for result in report.results)
    assert {"rates", "madd"} <= set(table["section"])


def test_verdicts_are_those_of_the_table(report: AuditReport) -> None:
    """Those of amplification are of no threshold: they say what changes, and are not counted."""
    table = report.to_frame()
    change = table["metric"] == "disparate_impact_amplification"
    words = {"amplified", "reduced", "undecided", "insufficient evidence"}
    assert 0 < change.sum() == table.loc[change, "verdict"].isin(words).sum()
    counted = table.loc[~change, "verdict"].value_counts()
    assert {k: v for k, v in report.verdicts.items() if v} == counted.to_dict()
    assert report.violated is bool(counted.get("violated", 0))


def test_json_is_lossless(report: AuditReport, tmp_path: Path) -> None:
    path = report.to_json(tmp_path / "report.json")
    back = AuditReport.from_json(path)
    assert back.to_dict() == report.to_dict()
    pd.testing.assert_frame_equal(back.to_frame(), report.to_frame())
    assert back.summary() == report.summary()
    assert back.settings == report.settings
    assert back.columns == report.columns


def test_json_holds_the_sufficient_statistics(report: AuditReport, tmp_path: Path) -> None:
    back = AuditReport.from_json(report.to_json(tmp_path / "report.json"))
    counts = back.tables[0]
    again = fs.conditional_accuracy(counts=counts, reference="north")
    stored = next(r for r in back.results if getattr(r, "metric", "") == "conditional_accuracy_1")
    np.testing.assert_array_equal(again.estimate, stored.estimate)  # type: ignore[attr-defined]


def test_json_holds_no_rows(frame: pd.DataFrame, tmp_path: Path) -> None:
    """No list is as long as the data, and no identifying value comes through."""
    many = pd.concat([frame] * 4, ignore_index=True)
    many["person"] = [f"person-{i}" for i in range(len(many))]
    report = audit(
        many,
        y_true="repaid",
        y_pred="granted",
        score="score",
        sensitive_features="region",
        pos_label={"y_true": "yes", "y_pred": 1},
        cluster=None,
        n_resamples=100,
        rng=1,
    )
    clustered = audit(
        many, y_pred="granted", sensitive_features="region", cluster="person", sample_weight="weight"
    )
    for made in (report, clustered):
        text = made.to_json(tmp_path / "report.json").read_text(encoding="utf-8")
        assert "person-" not in text
        assert max(len(found) for found in _lists(json.loads(text))) < len(frame) / 2


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
        for part in value:
            yield from _lists(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _lists(part)


def test_json_is_strict(report: AuditReport, tmp_path: Path) -> None:
    def refuse(name: str) -> None:
        raise ValueError(name)

    json.loads(report.to_json(tmp_path / "r.json").read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"class": "Nonsense"}', '"text"'])
def test_from_json_refuses_other_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        AuditReport.from_json(path)


def test_from_json_refuses_a_single_result(report: AuditReport, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(report.results[0].to_dict()), encoding="utf-8")
    with pytest.raises(InputError, match=r"AuditReport\.to_dict"):
        AuditReport.from_json(path)


def test_from_json_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        AuditReport.from_json(tmp_path / "none.json")


@pytest.mark.parametrize("write", ["to_json", "to_html"])
def test_a_place_that_cannot_be_written(report: AuditReport, tmp_path: Path, write: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        getattr(report, write)(tmp_path / "no" / "such" / "folder" / "r")


# ---------------------------------------------------------------- text


def test_text_says_everything(report: AuditReport) -> None:
    text = str(report)
    assert text == report.summary()
    for statement in report.statements:
        assert statement.title in text
    for table in report.tables:
        for group in table.groups:
            assert group in text
    assert "seed 1" in text


def test_short_text_leaves_out_what_is_satisfied_in_intersections(report: AuditReport) -> None:
    assert "are not shown here" in report.summary(full=False)
    assert "are not shown here" not in report.summary()


def test_terminal_view_shows_every_verdict(report: AuditReport) -> None:
    out = io.StringIO()
    show(report, full=True, stream=out)
    shown = out.getvalue()
    for verdict, count in report.verdicts.items():
        assert shown.count(f" {verdict}") >= count


def test_terminal_view_is_plain_without_rich(report: AuditReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    out = io.StringIO()
    show(report, full=True, stream=out)
    assert out.getvalue() == report.summary() + "\n"


def test_rich_knows_the_report(report: AuditReport) -> None:
    console = pytest.importorskip("rich.console").Console(width=120, file=io.StringIO())
    console.print(report)
    assert "disparate impact" in console.file.getvalue().lower()


def test_terminal_views_send_no_control_characters_and_read_no_markup() -> None:
    frame = pd.DataFrame({"y": [1, 0, 0, 1] * 30, "s": ["\x1b[31m[red]x[/red]", "b\u202e", "c\x07"] * 40})
    report = audit(frame, y_pred="y", sensitive_features="s", title="t\x1b[2J")
    rich_view = io.StringIO()
    console = pytest.importorskip("rich.console").Console(width=150, file=rich_view)
    console.print(render_terminal(report, full=True))
    for text in (report.summary(), rich_view.getvalue()):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert "[red]x[/red]" in text


def test_notebook_view_escapes() -> None:
    frame = pd.DataFrame({"y": [1, 0, 0] * 20, "s": ["<script>alert(1)</script>", "b"] * 30})
    text = audit(frame, y_pred="y", sensitive_features="s")._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_html_without_jinja2(report: AuditReport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=r"fairstats\[report\]"):
        report.to_html(tmp_path / "r.html")
