"""Vignettes about the user's own data.

What is written, what it needs, and that it can be built again.
"""

from __future__ import annotations

import ast
import base64
import gzip
import html
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairstats as fs
from fairstats.cli.app import app
from fairstats.report.report import AuditReport
from fairstats.report.vignettes.build import build_vignettes
from fairstats.report.vignettes.by_r import lacking_for_r
from fairstats.report.vignettes.own import write_vignette
from fairstats.report.vignettes.source import faults, find_vignette, read_vignette
from tests.report.conftest import made_up

pytest.importorskip("jinja2")
OPTIONS = ("--group", "region", "--y-true", "repaid", "--y-pred", "granted", "--pos-label", "yes")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    made_up(300).to_csv(path, index=False)
    return path


def new(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["vignettes", "new", *map(str, arguments)])


@pytest.mark.parametrize("suffix", [".Rmd", ".qmd"])
def test_the_command_writes_what_both_renderers_read(
    tmp_path: Path, people: Path, suffix: str
) -> None:
    path = tmp_path / f"audit{suffix}"
    done = new(
        path,
        "--data",
        people,
        *OPTIONS,
        "--pos-label-pred",
        1,
        "--score",
        "score",
        "--group",
        "sex",
    )
    assert done.exit_code == 0, done.output
    vignette = read_vignette(find_vignette(str(path)))
    assert faults(vignette) == []
    assert vignette.parameters({}) == {"data": str(people.resolve())}
    labels = {chunk.label for chunk in vignette.chunks}
    assert {
        "data",
        "data-r",
        "rates-1",
        "madd-2",
        "um-3",
        "power-1",
        "crosscheck",
        "limits",
    } <= labels
    assert not any(label.startswith(("hfm", "ecd")) for label in labels)
    code = next(chunk.code for chunk in vignette.chunks if chunk.label == "data")
    assert "sensitive_features=['region', 'sex']" in code
    assert "confidence_level" not in code  # a default is not written out


def test_prose_holds_no_number_of_the_data(tmp_path: Path, people: Path) -> None:
    """Whatever the data say is computed where it stands.

    Of mirrored data the same file is written.
    """
    other = people.with_name("people2.csv")
    frame = pd.read_csv(people)
    frame.assign(granted=1 - frame["granted"]).to_csv(other, index=False)
    asked = {"y_true": "repaid", "y_pred": "granted", "sensitive_features": "region"}
    texts = [
        write_vignette(tmp_path / f"v{k}.Rmd", data, asked)
        .read_text(encoding="utf-8")
        .replace(f"v{k}", "v")
        for k, data in enumerate((people, other))
    ]
    assert texts[0] == texts[1].replace("people2.csv", "people.csv")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("audit.txt", "--data", "people.csv", *OPTIONS), ".Rmd or .qmd"),
        (("audit.Rmd", *OPTIONS), "--data"),
        (("audit.Rmd", "--data", "people.csv"), "--group"),
        (("audit.Rmd", "--data", "nowhere.csv", *OPTIONS), "nowhere.csv"),
        (("audit.Rmd", "--data", "people.csv", *OPTIONS, "--score", "nothing"), "nothing"),
        (("no/audit.Rmd", "--data", "people.csv", *OPTIONS), "cannot be written"),
        (("there.Rmd", "--data", "people.csv", *OPTIONS), "is there already"),
    ],
)
def test_bad_requests(
    tmp_path: Path,
    people: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(people.parent)
    (tmp_path / "there.Rmd").write_text("mine", encoding="utf-8")
    done = new(*arguments)
    assert done.exit_code == 2
    assert says in done.output
    assert (tmp_path / "there.Rmd").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "audit.Rmd").exists()


def test_hostile_columns_stay_text(tmp_path: Path) -> None:
    name = "a`{r}` <b>\n# x"
    frame = made_up(60).rename(columns={"region": name})
    frame.to_csv(tmp_path / "p.csv", index=False)
    asked = {"y_pred": "granted", "sensitive_features": [name, "sex"], "title": 'a "title"\nb: c'}
    vignette = read_vignette(write_vignette(tmp_path / "v.Rmd", tmp_path / "p.csv", asked))
    assert faults(vignette) == []
    assert "<b>" not in re.sub(r"```.*?```", "", vignette.text, flags=re.DOTALL).replace(
        r"\<b\>", ""
    )


def test_a_report_writes_one_with_its_rows_or_without(
    report: AuditReport, frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame.to_csv(tmp_path / "rows.csv", index=False)
    vignette = read_vignette(report.to_vignette(tmp_path / "a.Rmd", tmp_path / "rows.csv"))
    (code,) = (chunk.code for chunk in vignette.chunks if chunk.label == "data")
    scope: dict[str, Any] = {
        "fs": fs,
        "read_table": lambda path, columns: frame[columns],
        "asked": vignette.parameters({}),
    }
    exec(code, scope)  # noqa: S102 - the chunk that was written
    assert scope["report"].to_frame().equals(report.to_frame())
    alone = read_vignette(report.to_vignette(tmp_path / "b.Rmd"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.Rmd", "b.Rmd", "rows.csv"]
    (stored,) = (chunk.code for chunk in alone.chunks if chunk.label == "stored-report")
    scope = {"fs": fs, "json": json, "gzip": gzip, "base64": base64}
    exec(stored, scope)  # noqa: S102
    assert scope["report"].to_frame().equals(report.to_frame())
    # R only lays down where what chunks hand to each other is kept: there are no rows that it could
    # read
    assert [chunk.label for chunk in alone.chunks if chunk.language == "r"] == ["folder"]
    assert all(chunk.language in ("python", "r") for chunk in alone.chunks)
    text = (tmp_path / "b.Rmd").read_text(encoding="utf-8")
    asked = {
        ast.literal_eval(f"({call},)")
        for call in re.findall(r"^report\.part\((.+)\)$", text, re.MULTILINE)
    }
    once = ("summary", "limits", "references")  # of the whole report
    wanted = {
        (key, name) for name, parts in report.parts().items() for key in parts if key not in once
    }
    assert asked == wanted | {(key,) for key in once}


def test_parameters_of_the_head(tmp_path: Path, people: Path) -> None:
    vignette = read_vignette(
        write_vignette(
            tmp_path / "v.Rmd", people, {"y_pred": "granted", "sensitive_features": "sex"}
        )
    )
    july = tmp_path / "july.csv"
    july.write_text("x", encoding="utf-8")
    assert vignette.parameters({"data": str(july)}) == {"data": str(july.resolve())}
    with pytest.raises(fs.InputError, match="--param"):
        vignette.parameters({"month": "july"})


@pytest.mark.slow
def test_parts_show_themselves(report: AuditReport) -> None:
    part = report.part("madd", "region & sex")
    assert str(part).endswith(part.lead)
    page = part._repr_html_()
    assert page.count('<figure class="picture">') == sum(len(row) for _, row in part.figures)
    assert "\n\n" not in page  # an empty line would end HTML within Markdown
    assert report.part("summary").lead.endswith(".")
    assert report.part("references").tables[0].notes
    with pytest.raises(fs.InputError, match="key"):
        report.part("nothing")
    with pytest.raises(fs.InputError, match="sensitive_features"):
        report.part("rates", "nothing")


def test_latex_is_escaped_and_complete(report: AuditReport) -> None:
    result = fs.disparate_impact(
        counts={"a_1 & 50%": (40, 60), "b": (25, 75)}, reference="a_1 & 50%"
    )
    text = result.to_latex()
    assert r"a\_1 \& 50\%" in text
    assert text.count(r"\\") == 2  # heading and one row
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")
    rows = report.part("rates", "region").to_latex()
    assert rows.count(r"\begin{table}") == 1
    assert len(re.findall(r"(?<!\\)&", rows.splitlines()[3])) == 6


def strange(rows: int = 160) -> pd.DataFrame:
    """Signs in the names, numbers as groups, one of them without positive outcomes, booleans,
    weights.
    """
    rng = np.random.default_rng(18)
    group = rng.choice([1.5, 2.0, 100000.0], rows, p=[0.5, 0.35, 0.15])
    return pd.DataFrame(
        {
            'Herkunft "alt" d\'été': group,
            "zurück?": (rng.random(rows) < 0.5) & (group < 9),
            "1 hat %": rng.random(rows) < 0.4 + 0.2 * (group == 2),
            "w": rng.gamma(2, 1, rows).round(3),
            "site": rng.integers(0, 30, rows),
        }
    )


STRANGE = {
    "sensitive_features": 'Herkunft "alt" d\'été',
    "y_true": "zurück?",
    "y_pred": "1 hat %",
    "sample_weight": "w",
    "cluster": "site",
    "title": 'Über "alles" <b>',
}


@pytest.mark.slow
@pytest.mark.parametrize(("always", "left"), [(0, ()), (1, ("cluster",)), (1, ("sample_weight",))])
def test_every_part_that_was_promised_is_there(
    always: int, left: tuple[str, ...], tmp_path: Path
) -> None:
    """Next month everybody, or nobody, may be selected; weights and clusters leave parts out."""
    rng = np.random.default_rng(2)
    frame = strange().assign(
        **{"1 hat %": always, "s": rng.random(160).round(3), "cf": rng.random(160).round(3)}
    )
    frame.to_csv(tmp_path / "p.csv", index=False)
    asked = {
        key: value
        for key, value in STRANGE.items()
        if key not in ("sample_weight", "cluster") or key in left
    }
    asked |= {"score": "s", "counterfactual_score": "cf", "n_resamples": 100}
    text = write_vignette(tmp_path / "v.Rmd", tmp_path / "p.csv", asked).read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        report = fs.audit(frame, rng=1, **asked)
    keys = re.findall(r'report\.part\("(\w+)"', text)
    assert {"summary", "rates", "madd", "limits"} <= set(keys)
    assert {"power", "um"}.isdisjoint(keys) == bool(left)
    assert ("ecd" in keys) == ("sample_weight" not in left)
    assert all(report.part(key)._repr_html_() for key in keys)


def test_a_vignette_without_outcomes_and_predictions_is_refused(tmp_path: Path) -> None:
    made_up(60).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(fs.InputError, match="y_pred"):
        write_vignette(
            tmp_path / "v.Rmd", tmp_path / "p.csv", {"sensitive_features": "sex", "score": "score"}
        )


@pytest.mark.slow
@pytest.mark.parametrize("renderer", ["python", "r"])
def test_a_strange_table_from_parquet(tmp_path: Path, renderer: str) -> None:
    """R reads what Python read: as many numbers agree as there are, of booleans and odd names,
    too.
    """
    if why := lacking_for_r():
        pytest.skip(why)
    strange().to_parquet(tmp_path / "people.parquet")
    path = write_vignette(tmp_path / "audit.Rmd", tmp_path / "people.parquet", STRANGE)
    (built,) = build_vignettes([str(path)], out=tmp_path / "out", renderer=renderer)
    page = built.path.read_text(encoding="utf-8")
    agree = re.search(r"(\d+) of (\d+) agree", page)
    assert agree is not None
    assert agree[1] == agree[2]
    assert int(agree[1]) > 100
    assert "Warning" not in re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    title = re.search("<title>(.*?)</title>", page, re.DOTALL)
    assert title is not None
    assert (
        html.unescape(title[1]).translate(dict.fromkeys(map(ord, "“”"), '"')) == 'Über "alles" <b>'
    )


@pytest.mark.slow
@pytest.mark.parametrize("renderer", ["python", "r"])
def test_both_renderers_build_it_and_numbers_agree(
    tmp_path: Path, people: Path, renderer: str
) -> None:
    why = lacking_for_r()
    if renderer == "r" and why:
        pytest.skip(why)
    asked = {
        "y_true": "repaid",
        "y_pred": "granted",
        "sensitive_features": "region",
        "pos_label": {"y_true": "yes", "y_pred": 1},
    }
    path = write_vignette(tmp_path / "audit.Rmd", people, asked)
    (built,) = build_vignettes([str(path)], out=tmp_path / "out", renderer=renderer)
    page = built.path.read_text(encoding="utf-8")
    assert page.count('<figure class="picture">') >= 3
    agree = re.search(r"(\d+) of (\d+) agree", page)
    if why is None:
        assert agree is not None
        assert agree[1] == agree[2]
