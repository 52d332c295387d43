"""The audit of rows whose groups are inferred, and its command line.

Witnesses: the rate functions and `um_posterior` on the same columns, the text of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.report.report import AuditReport
from fairstats.results import InferredResult, UmPosterior

PROBABILITIES = {"f": "prob_f", "m": "prob_m"}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    p = rng.beta(0.2, 0.2, 1_500)
    woman = rng.random(1_500) < p
    frame = pd.DataFrame({"prob_f": p, "prob_m": 1 - p, "sex": np.where(woman, "f", "m")})
    frame["able"] = rng.integers(0, 2, 1_500)
    frame["hired"] = (rng.random(1_500) < np.where(woman, 0.3, 0.55)).astype(int)
    frame.loc[frame.index % 4 > 0, "sex"] = None
    return frame


@pytest.fixture(scope="module")
def report(people: pd.DataFrame) -> AuditReport:
    return fs.audit(
        people,
        y_true="able",
        y_pred="hired",
        sensitive_probabilities=PROBABILITIES,
        reference="m",
        rng=1,
    )


def test_an_audit_has_what_the_rate_functions_have(
    report: AuditReport, people: pd.DataFrame
) -> None:
    by_metric = {}
    for result in report.results:
        if isinstance(result, InferredResult):
            by_metric[result.metric] = result
    assert {"disparate_impact", "equal_opportunity_difference", "equalized_odds_difference"} <= set(
        by_metric
    )
    assert "average_odds_difference" not in by_metric
    alone = fs.equal_opportunity_difference(
        people["able"],
        people["hired"],
        sensitive_probabilities={"f": people["prob_f"], "m": people["prob_m"]},
        reference="m",
        rng=1,
    )
    own = by_metric["equal_opportunity_difference"].to_frame()
    pd.testing.assert_frame_equal(own, alone.to_frame())
    posterior = next(result for result in report.results if isinstance(result, UmPosterior))
    assert posterior.n_unknown == (people[["prob_f", "prob_m"]].max(axis=1) < 1).sum()
    assert set(report.to_frame()["section"]) == {"inferred", "um"}


def test_the_head_says_that_groups_are_inferred(report: AuditReport, tmp_path: Path) -> None:
    words = "Groups are inferred from probabilities, not recorded"
    lines = report.summary().splitlines()
    assert "groups inferred" in lines[0]
    assert words in lines[2]
    assert report.statements[0].title == "Groups"
    assert words in report.statements[0].text
    assert "weighted estimate is right if" in report.statements[0].text
    path = tmp_path / "report.html"
    report.to_html(path)
    page = path.read_text(encoding="utf-8")
    assert 0 < page.index(words) < page.index("Statements")
    assert "Fréchet" in page
    assert any("Kallus" in reference for reference in report.references)


def test_a_report_survives_json(report: AuditReport, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    report.to_json(path)
    again = AuditReport.from_json(path)
    pd.testing.assert_frame_equal(again.to_frame(), report.to_frame())
    assert again.columns.sensitive_probabilities == PROBABILITIES


def test_true_groups_of_some_rows_decide(people: pd.DataFrame) -> None:
    audited = fs.audit(
        people,
        y_pred="hired",
        sensitive_probabilities=PROBABILITIES,
        sensitive_features="sex",
        reference="m",
        rng=1,
    )
    assert audited.verdicts["violated"] == 2
    assert "375 rows have a true group" in audited.summary()
    result = audited.results[0]
    assert isinstance(result, InferredResult)
    assert result.comparisons[0].n_audited == 375


def test_an_audit_takes_weights_and_clusters(people: pd.DataFrame, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    table = people.assign(weight=rng.exponential(size=1_500), home=rng.integers(0, 300, 1_500))
    asked = {"sensitive_probabilities": PROBABILITIES, "reference": "m", "rng": 1}
    weighted = fs.audit(
        table, y_true="able", y_pred="hired", sample_weight="weight", cluster="home", **asked
    )
    alone = fs.equal_opportunity_difference(
        table["able"],
        table["hired"],
        sensitive_probabilities={"f": table["prob_f"], "m": table["prob_m"]},
        sample_weight=table["weight"],
        cluster=table["home"],
        reference="m",
        rng=1,
    )
    by_metric = {result.metric: result for result in weighted.results}
    own = by_metric["equal_opportunity_difference"].to_frame()
    pd.testing.assert_frame_equal(own, alone.to_frame())
    assert set(weighted.to_frame()["section"]) == {"inferred"}
    text = weighted.statements[0].text
    assert "By weights and clusters the cases of the groups are worth" in text
    assert "The posterior takes rows to be independent and of one weight" in text
    path = tmp_path / "report.json"
    weighted.to_json(path)
    again = AuditReport.from_json(path)
    pd.testing.assert_frame_equal(again.to_frame(), weighted.to_frame())
    rows = tmp_path / "people.csv"
    table.to_csv(rows, index=False)
    written = tmp_path / "written.json"
    done = run(rows, *ASKED, "--weight", "weight", "--cluster", "home", "--json", written)
    assert done.exit_code == 0, done.output
    found = AuditReport.from_json(written).to_frame()
    expected = fs.audit(table, y_pred="hired", sample_weight="weight", cluster="home", **asked)
    assert found["estimate"].tolist() == pytest.approx(expected.to_frame()["estimate"].tolist())


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"score": "able"}, "score"),
        ({"features": ["able"]}, "features"),
        ({"cluster": "nothing"}, "frame"),
        ({"strata": "able"}, "strata"),
        ({"sensitive_probabilities": ["prob_f"]}, "sensitive_probabilities"),
        ({"sensitive_probabilities": {"f": "nothing", "m": "prob_m"}}, "frame"),
        ({"sensitive_features": ["sex", "able"]}, "sensitive_features"),
        ({"y_pred": None}, "y_pred"),
    ],
)
def test_what_does_not_go_with_probabilities_is_named(
    people: pd.DataFrame, options: dict[str, Any], argument: str
) -> None:
    given = {"y_pred": "hired", "sensitive_probabilities": PROBABILITIES, **options}
    with pytest.raises(InputError) as raised:
        fs.audit(people, **given)
    assert argument in str(raised.value)


# ------------------------------------------------------------------ command line


def run(*arguments: Any) -> Any:
    testing = pytest.importorskip("typer.testing")
    from fairstats.cli.app import app

    return testing.CliRunner().invoke(app, ["audit", *(str(argument) for argument in arguments)])


ASKED = (
    "--y-pred",
    "hired",
    "--probability",
    "f=prob_f",
    "--probability",
    "m=prob_m",
    "--reference",
    "m",
)


def test_the_command_line_does_the_same(people: pd.DataFrame, tmp_path: Path) -> None:
    rows = tmp_path / "people.csv"
    people.to_csv(rows, index=False)
    written = tmp_path / "report.json"
    done = run(rows, *ASKED, "--json", written)
    assert done.exit_code == 0, done.output
    assert "Groups are inferred from probabilities" in done.output
    found = AuditReport.from_json(written)
    expected = fs.audit(
        people, y_pred="hired", sensitive_probabilities=PROBABILITIES, reference="m", rng=1
    )
    own = found.to_frame()
    assert own["estimate"].tolist() == pytest.approx(expected.to_frame()["estimate"].tolist())

    audited = run(rows, *ASKED, "--group", "sex", "--fail-on", "violated")
    assert audited.exit_code == 1
    assert "375 rows have a true group" in audited.output


def test_a_calibration_file_corrects(people: pd.DataFrame, tmp_path: Path) -> None:
    rows = tmp_path / "people.csv"
    people.drop(columns="sex").to_csv(rows, index=False)
    sample = tmp_path / "known.csv"
    people.dropna(subset="sex").to_csv(sample, index=False)
    written = tmp_path / "report.json"
    done = run(rows, *ASKED, "--group", "sex", "--calibration", sample, "--json", written)
    assert done.exit_code == 0, done.output
    report = json.loads(written.read_text(encoding="utf-8"))
    assert "375 rows of a calibration sample" in json.dumps(report)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--y-pred", "hired", "--probability", "f"), "--probability"),
        (("--y-pred", "hired", "--group", "sex", "--calibration", "x.csv"), "--probability"),
        ((*ASKED, "--calibration", "x.csv"), "--group"),
        ((*ASKED, "--group", "sex", "--group", "able"), "--group"),
    ],
)
def test_wrong_use_is_exit_code_2(
    people: pd.DataFrame, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    rows = tmp_path / "people.csv"
    people.to_csv(rows, index=False)
    done = run(rows, *arguments)
    assert done.exit_code == 2
    assert words in done.output
