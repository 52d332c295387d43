"""Reports of other versions.

Read with a warning that names both, or refused with a message that does.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from fairstats._version import __version__
from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.ground.serialise import unknown_parts
from fairstats.report.packed import unpack
from fairstats.report.report import AuditReport

OTHER = "0.0.7"


def changed(report: AuditReport, path: Path, change: Any = None) -> Path:
    """The report's file, as the other version would have written it."""
    whole = unpack(json.loads(report.to_json(path).read_text(encoding="utf-8")))
    whole["versions"]["mapping"]["fairstats"] = OTHER
    if change is not None:
        change(whole)
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def test_a_report_of_this_version_is_read_in_silence(report: AuditReport, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = AuditReport.from_json(report.to_json(tmp_path / "r.json"))
    assert back.to_frame().equals(report.to_frame())


def test_another_version_is_named(report: AuditReport, tmp_path: Path) -> None:
    path = changed(report, tmp_path / "r.json")
    with pytest.warns(
        FairstatsWarning, match=rf"written by fairstats {OTHER}.*read by {__version__}"
    ):
        back = AuditReport.from_json(path)
    assert back.to_frame().equals(report.to_frame())
    assert back.versions["fairstats"] == OTHER


def test_a_field_that_is_not_there_yet_takes_its_default(
    report: AuditReport, tmp_path: Path
) -> None:
    def older(whole: dict[str, Any]) -> None:
        for section in whole["sections"]:
            del section["warnings"]

    path = changed(report, tmp_path / "r.json", older)
    with pytest.warns(FairstatsWarning, match=OTHER):
        assert AuditReport.from_json(path).sections[0].warnings == ()


def rename_class(whole: dict[str, Any]) -> None:
    whole["sections"][0]["results"][0]["class"] = "NovelResult"


def add_field(whole: dict[str, Any]) -> None:
    whole["sections"][0]["results"][0]["settings"]["novelty"] = 1


def remove_field(whole: dict[str, Any]) -> None:
    del whole["sections"][0]["results"][0]["comparisons"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (rename_class, "the class 'NovelResult'"),
        (add_field, "the field 'novelty' of Inference"),
        (remove_field, "RatioResult with the fields"),
    ],
)
def test_what_cannot_be_read_names_both_versions_and_the_cure(
    report: AuditReport, tmp_path: Path, change: Any, named: str
) -> None:
    path = changed(report, tmp_path / "r.json", change)
    with pytest.raises(InputError) as caught:
        AuditReport.from_json(path)
    message = str(caught.value)
    for part in (OTHER, __version__, named, f"fairstats=={OTHER}"):
        assert part in message


def test_unknown_parts_are_each_named_once(report: AuditReport) -> None:
    assert unknown_parts(report.to_dict()) == []
    novel = {"class": "Interval", "low": 0, "colour": 1}
    assert unknown_parts([novel, novel, {"a": {"class": "X"}}]) == [
        "the field 'colour' of Interval",
        "the class 'X'",
    ]
