"""Reports as Word and PDF: the files are what their names say, and what is missing is said."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

import fairstats as fs
from fairstats.report import pages
from fairstats.report.report import AuditReport

pytest.importorskip("jinja2")


@pytest.mark.slow
def test_a_report_as_word(report: AuditReport, tmp_path: Path) -> None:
    if shutil.which("pandoc") is None:
        pytest.skip("pandoc is not on PATH")
    with zipfile.ZipFile(report.to_document(tmp_path / "r.docx")) as held:
        text = held.read("word/document.xml").decode("utf-8")
        images = [held.read(name) for name in held.namelist() if name.startswith("word/media/")]
    shown = [
        p
        for parts in report.parts().values()
        for part in parts.values()
        for _, row in part.figures
        for p in row
    ]
    assert len(images) >= len({p.title for p in shown}) > 0
    assert all(image.startswith(b"\x89PNG") for image in images)
    assert shown[0].title in text
    assert report.part("rates").lead.split(":")[0] in text
    assert "<svg" not in text
    assert "base64" not in text


@pytest.mark.browser
def test_a_report_as_pdf(report: AuditReport, chromium: str, tmp_path: Path) -> None:
    assert report.to_document(tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")


def test_other_endings_and_missing_tools(
    report: AuditReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(fs.InputError, match=r"\.docx or \.pdf"):
        report.to_document(tmp_path / "r.odt")
    monkeypatch.setattr(pages.shutil, "which", lambda name: None)
    with pytest.raises(fs.InputError, match="apt-get install pandoc"):
        report.to_document(tmp_path / "r.docx")
    with pytest.raises(fs.InputError, match="apt-get install chromium"):
        report.to_document(tmp_path / "r.pdf")


def test_nested_drawings_go() -> None:
    page = "<p>a<svg><svg><path/></svg><text>b</text></svg>c</p>"
    assert pages._without_drawings(page) == "<p>ac</p>"
    figure = f'<figure class="picture">{page[4:-5]}<figcaption>d</figcaption></figure>'
    said = "<p><i>The drawing is in the HTML page.</i></p>"
    assert (
        pages._without_drawings(figure)
        == f'<figure class="picture">{said}<figcaption>d</figcaption></figure>'
    )
