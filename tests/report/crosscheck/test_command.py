"""``fairstats crosscheck``: what it prints and writes, its exit codes.

The section of the HTML report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fairstats as fs
from fairstats.report.crosscheck import check as door_module
from fairstats.report.crosscheck.check import Place
from fairstats.report.crosscheck.table import Crosscheck

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from fairstats.cli.app import app


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def stored(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A report, and its rows."""
    folder = tmp_path_factory.mktemp("crosscheck")
    report = fs.audit(
        frame, y_pred="granted", score="score", sensitive_features="sex", n_resamples=199, rng=1
    )
    frame.to_csv(folder / "rows.csv", index=False)
    return report.to_json(folder / "r.json"), folder / "rows.csv"


@pytest.mark.r
def test_prints_the_table_and_the_count(stored: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    out = tmp_path / "r.html"
    done = run("crosscheck", stored[0], "--data", stored[1], "--out", out)
    assert done.exit_code == 0, done.output
    last = done.stdout.splitlines()[-1]
    number = last.split()[0]
    assert last == f"{number} of {number} agree"
    assert int(number) >= 60
    for text in ("abs. diff.", "tolerance", "stats::prop.test (R ", "stable bandwidth, least"):
        assert text in done.stdout
    html = out.read_text(encoding="utf-8")
    assert 'id="crosscheck"' in html
    assert f"{last}</b>" in html
    brief = run("crosscheck", stored[0], "--brief")
    assert len(brief.stdout) < len(done.stdout) / 3
    assert "needs --data" in brief.stdout


@pytest.mark.rpy2
@pytest.mark.r
def test_disagreement_is_exit_code_1(stored: tuple[Path, Path], perturbed: Any) -> None:
    with perturbed("score_z", "function(...) original(...) * 1.001"):
        done = run("crosscheck", stored[0])
    assert done.exit_code == 1
    assert "disagrees" in done.stdout
    agree, of, checked, _ = done.stdout.splitlines()[-1].split()
    assert of == "of"
    assert int(agree) < int(checked)
    assert run("crosscheck", stored[0], "--tolerance", "1e-18").exit_code == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no JSON", "cannot be read as JSON"),
        ("{}", "results written by fairstats"),
        ("[1]", "with a list"),
    ],
)
def test_what_cannot_be_used_is_exit_code_2(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(content, encoding="utf-8")
    done = run("crosscheck", path)
    assert done.exit_code == 2
    assert said in done.stderr
    assert run("crosscheck", tmp_path / "none.json").exit_code == 2


def test_without_r_is_exit_code_3_with_cause_and_cure(
    stored: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairstats.ground.rprobe import RProbe

    lacking = RProbe("missing", cause="R is not on PATH", cure="install R")
    monkeypatch.setattr(door_module, "probe_r", lambda: lacking)
    monkeypatch.setattr(door_module, "probe_rscript", lambda: lacking)
    done = run("crosscheck", stored[0])
    assert done.exit_code == 3
    assert "To fix: install R (rpy2 is not needed)" in done.stderr


@pytest.mark.r
def test_other_rows_and_a_report_without_numbers_are_exit_code_2(
    stored: tuple[Path, Path], frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame.iloc[:100].to_csv(tmp_path / "other.csv", index=False)
    done = run("crosscheck", stored[0], "--data", tmp_path / "other.csv")
    assert done.exit_code == 2
    assert "not those of the report" in done.stderr
    whole = json.loads(stored[0].read_text(encoding="utf-8"))
    whole["sections"] = []
    (tmp_path / "empty.json").write_text(json.dumps(whole), encoding="utf-8")
    done = run("crosscheck", tmp_path / "empty.json")
    assert done.exit_code == 2
    assert "without a number" in done.stderr


@pytest.mark.r
@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    """COMPAS: everything agrees, with and without the rows."""
    path = tmp_path / "r.json"
    assert run("demo", "--out", tmp_path / "r.html", "--json", path).exit_code == 0
    done = run("crosscheck", path)
    assert done.exit_code == 0, done.stdout[-3000:]
    number = done.stdout.splitlines()[-1].split()[0]
    assert done.stdout.splitlines()[-1] == f"{number} of {number} agree"
    assert int(number) >= 60


# ---------------------------------------------------------------- the HTML report


@pytest.fixture(scope="module")
def many() -> Crosscheck:
    """Checks of every verdict at places with hostile names."""
    checks = []
    for group in ("W" * 120, "<script>alert('x')</script>", "קבוצה א", "plain"):
        place = Place(
            "disparate_impact_of_a_very_long_name_without_spaces" * 2, group, "reference " * 12
        )
        checks += [
            place.compare(
                "interval, lower end (score (MOVER))", 1.23456789012, 1.23456789013, "f (R 4.2.2)"
            ),
            place.compare(
                "p-value", 1e-300, 1.0, "crosscheck_comparisons (fairstats 0.1.0, base R 4.2.2)"
            ),
            place.compare("critical value", 2.4, 2.401, "g" * 90, error=0.01),
            place.needs_data("set distance", 1.5, "a distance between sets of rows " * 4),
            place.left_out("goodness of fit", float("inf"), "of a bootstrap"),
        ]
    return Crosscheck(tuple(checks), "title", "4.2.2", "0.1.0")


def test_section_is_there_only_when_asked(
    report: fs.results.AuditReport, many: Crosscheck, tmp_path: Path
) -> None:
    pytest.importorskip("jinja2")
    without = report.to_html(tmp_path / "a.html").read_text(encoding="utf-8")
    text = report.to_html(tmp_path / "b.html", crosscheck=many).read_text(encoding="utf-8")
    assert 'id="crosscheck"' not in without
    assert text.count('id="crosscheck"') == 1
    assert "<script>alert('x')</script>" not in text


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_section_does_not_overflow(
    report: fs.results.AuditReport, many: Crosscheck, browser: Any, width: int, tmp_path: Path
) -> None:
    pytest.importorskip("jinja2")
    browser.open(report.to_html(tmp_path / "r.html", crosscheck=many), width=width)
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    beyond = browser.evaluate(
        "[...document.querySelectorAll('.crosscheck *')].filter(e => { const b ="
        " e.getBoundingClientRect(); return b.width > 0 && (b.right > innerWidth + 0.5 || b.left <"
        " -0.5) }).map(e => e.textContent)"
    )
    assert beyond == []
    assert browser.complaints() == []
