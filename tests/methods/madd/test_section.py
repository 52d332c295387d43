"""The section of an audit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

import fairstats as fs
from fairstats.methods.madd.result import MaddResult
from fairstats.report.inputs import AuditColumns, AuditInput, AuditSettings, build_input
from fairstats.report.methods import ANSWERS
from fairstats.report.methods.madd import run_madd


def inputs(
    *, score: str | None = "score", reference: object = None, **settings: object
) -> AuditInput:
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b", "c"], [300, 200, 100])
    frame = pd.DataFrame(
        {
            "group": group,
            "score": rng.random(600) * np.where(group == "c", 0.6, 1),
            "hired": rng.integers(0, 2, 600),
            "weight": rng.gamma(2, 1, 600),
        }
    )
    weight = settings.pop("sample_weight", None)
    columns = AuditColumns(None, "hired", score, ("group",), sample_weight=weight)
    chosen = AuditSettings(seed=1, **settings)
    return build_input(frame, ("group",), columns, chosen, pos_label=None, reference=reference)


def test_nothing_without_a_score() -> None:
    assert run_madd(inputs(score=None)) == []


def test_each_group_against_the_reference() -> None:
    (result,) = run_madd(inputs(margin=0.15))
    assert isinstance(result, MaddResult)
    assert {c.reference for c in result.comparisons} == {"a"}
    assert result.settings.margin == 0.3
    assert result.settings.seed == 1
    assert result["c", "a"].verdict == "violated"
    again = run_madd(inputs(margin=0.15))[0]
    assert again.to_frame().equals(result.to_frame())


def test_all_pairs() -> None:
    for options in ({"comparisons": "all"}, {"reference": "highest"}):
        (result,) = run_madd(inputs(**options))
        assert len(result.comparisons) == 3


def test_weights() -> None:
    (result,) = run_madd(inputs(sample_weight="weight"))
    assert result.comparisons[0].tests[0].method == "multiplier bootstrap"


def test_every_metric_and_method_has_words() -> None:
    (result,) = run_madd(inputs())
    frame = result.to_frame()
    answer = ANSWERS["madd"]
    assert set(frame["metric"]) <= set(answer.words)
    assert "directional delta" in answer.intervals


@pytest.mark.parametrize("n_resamples", [None, 500])
def test_resamples(n_resamples: int | None) -> None:
    (result,) = run_madd(inputs(n_resamples=n_resamples))
    assert result.settings.n_resamples == (n_resamples or 1999)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Scores with two sensitive columns, one of them with hostile names; c scores lower."""
    rng = np.random.default_rng(2)
    n = 900
    unit = rng.choice(["a & b", "<script>alert(1)</script>", "c"], n, p=[0.5, 0.3, 0.2])
    score = rng.random(n) * np.where(unit == "c", 0.6, 1)
    made = pd.DataFrame({"score": score, "sex": rng.choice(["f", "m"], n), "unit": unit})
    made["hired"] = (made["score"] > 0.5).astype(int)
    made["weight"], made["site"] = rng.gamma(2, 1, n), rng.integers(0, 60, n)
    return made


@pytest.fixture(scope="module")
def report(frame: pd.DataFrame) -> fs.results.AuditReport:
    return fs.audit(
        frame,
        y_pred="hired",
        score="score",
        sensitive_features=["sex", "unit"],
        reference={"unit": "a & b"},
        intersections=False,
        rng=1,
    )


def test_an_audit_with_a_score_has_the_numbers_of_the_function(
    frame: pd.DataFrame, report: fs.results.AuditReport
) -> None:
    table = report.to_frame().query("section == 'madd' and sensitive_features == 'unit'")
    assert table["metric"].tolist() == ["madd"] * 2 + ["madd_max"]
    alone = fs.madd(
        frame["score"],
        sensitive_features=frame["unit"],
        comparisons="reference",
        reference="a & b",
        rng=report.settings.seed,
    ).to_frame()
    for column in ("estimate", "ci_low", "ci_high", "pvalue"):
        assert np.array_equal(table[column].to_numpy(), alone[column].to_numpy(), equal_nan=True), (
            column
        )
    assert table["verdict"].tolist()[1] == "violated"
    assert report.verdicts == {
        **report.verdicts,
        **report.to_frame()["verdict"].value_counts().to_dict(),
    }


def test_an_audit_says_it_in_every_view(report: fs.results.AuditReport) -> None:
    text = report.summary(full=True)
    for said in ("MADD: distance between score distributions", "MADD: the largest", "✗ violated"):
        assert said in text
    assert "MADD 0.2)" in " ".join(text.split())
    assert any("Verger" in reference for reference in report.references)
    assert any("by permutation of the labels, exactly" in said.text for said in report.methods)
    again = fs.results.AuditReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again.to_frame().equals(report.to_frame())
    kept = next(r for r in again.results if isinstance(r, MaddResult))
    assert (
        kept.comparisons[0].curve is None
    )  # a thousand numbers per comparison would be as long as data
    with pytest.raises(fs.InputError, match="an audit"):
        kept.plot(kind="curve")


def test_html_draws_it_and_escapes_names(report: fs.results.AuditReport, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    page = report.to_html(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Distances between score distributions against 0.2" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert re.search(r"where they differ: MADD 0\.\d{3} of 2", page)


def test_the_command_line_shows_it(frame: pd.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    from typer.testing import CliRunner

    from fairstats.cli.app import app

    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    options = ["--y-pred", "hired", "--score", "score", "--group", "sex", "--full"]
    done = CliRunner().invoke(app, ["audit", str(path), *options])
    assert done.exit_code == 0, done.output
    assert "MADD: distance between score distributions" in done.stdout


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"sample_weight": "weight"}, "Weighted rows cannot be permuted"),
        ({"cluster": "site"}, "clusters lie in several groups and cannot be permuted"),
        ({"cluster": "own_site"}, "by permutation of the labels of whole clusters"),
    ],
)
def test_weights_and_clusters_in_an_audit(
    frame: pd.DataFrame, columns: dict[str, str], said: str
) -> None:
    frame = frame.assign(own_site=frame["sex"] + frame["site"].astype(str))
    report = fs.audit(
        frame, y_pred="hired", score="score", sensitive_features="sex", rng=1, **columns
    )
    text = " ".join([*report.notes, *(s.text for s in report.methods)])
    assert said in text
    assert (
        "ABROCA needs the outcomes (y_true): the score score was used for MADD only."
        in report.notes
    )


def test_one_family_for_the_whole_audit(frame: pd.DataFrame) -> None:
    options = {"y_pred": "hired", "score": "score", "sensitive_features": "unit", "rng": 1}
    whole = fs.audit(frame, family="audit", **options).to_frame()
    known = whole["pvalue"].notna()
    assert whole["pvalue_adjusted"].notna().equals(known)
    expected = multipletests(whole.loc[known, "pvalue"], method="holm")[1]
    assert np.allclose(whole.loc[known, "pvalue_adjusted"], expected)


def test_a_reference_chosen_by_its_rate(frame: pd.DataFrame) -> None:
    report = fs.audit(
        frame, y_pred="hired", score="score", sensitive_features="unit", reference="highest", rng=1
    )
    said = next(s.text for s in report.statements if s.title == "Reference groups")
    assert "chosen by the data" in said
    assert "score distributions: all pairs of groups" in said
