"""Sections that need more columns: HFM with features, ECD with counterfactual scores."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs

N = 600


def frame() -> pd.DataFrame:
    """Scores with a known effect of sex; rows labelled by names that no report may hold."""
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], N, p=[0.4, 0.6])
    age = rng.normal(40, 10, N)
    z = (age - 40) / 10
    score = 1 / (1 + np.exp(-z - 0.3 * (sex == "m") * z))
    changed = 1 / (1 + np.exp(-z - 0.3 * (sex == "f") * z))
    return pd.DataFrame(
        {
            "sex": sex,
            "region": rng.choice(["n", "s", "w"], N),
            "age": age,
            "paid": (rng.random(N) < score).astype(int),
            "granted": (score > 0.5).astype(int),
            "score": score,
            "score_if_other": changed,
        },
        index=[f"person-{i}" for i in range(N)],
    )


def audit(data: Any = None, **change: Any) -> fs.results.AuditReport:
    given: dict[str, Any] = {
        "y_true": "paid",
        "y_pred": "granted",
        "score": "score",
        "sensitive_features": "sex",
        "features": ["age", "region"],
        "counterfactual_score": "score_if_other",
        "rng": 1,
        **change,
    }
    return fs.audit(frame() if data is None else data, **given)


@pytest.fixture(scope="module")
def report() -> fs.results.AuditReport:
    return audit()


def results(report: fs.results.AuditReport, key: str) -> list[Any]:
    return [r for s in report.sections if s.key == key for r in s.results]


def test_hfm_is_that_of_the_function(report: fs.results.AuditReport) -> None:
    (found,) = results(report, "hfm")
    data = frame().reset_index(drop=True)
    wanted = fs.hfm(
        data[["age", "region"]],
        data["paid"],
        data["granted"],
        sensitive_features=data["sex"],
        rng=1,
    )
    assert (found.d, found.d_f, found.hfm) == (wanted.d, wanted.d_f, wanted.hfm)


def test_ecd_is_that_of_the_function(report: fs.results.AuditReport) -> None:
    sample, found = results(report, "ecd")
    data = frame()
    cd = data["score_if_other"] - data["score"]
    for sex in "fm":
        np.testing.assert_allclose(sample[sex].cd, cd[data["sex"] == sex])
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", fs.FairstatsWarning
        )  # so bounded a tail reaches its end point
        wanted = fs.ecd(sample, privileged="m", unprivileged="f", rng=1)
    assert found.estimate == wanted.estimate
    assert list(found.confidence_interval) == list(wanted.confidence_interval)
    assert sample.groups[0].group == "m"  # the reference, the largest group, comes first


def test_every_view_shows_them(report: fs.results.AuditReport, tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    text = report.summary(full=True)
    html = report.to_html(tmp_path / "r.html").read_text(encoding="utf-8")
    for view in (text, html):
        assert "what a classifier adds" in view
        assert "Extreme counterfactual discrimination" in view
    stored = report.to_json(tmp_path / "r.json").read_text(encoding="utf-8")
    assert "person-" not in stored
    back = fs.results.AuditReport.from_json(tmp_path / "r.json")
    pd.testing.assert_frame_equal(back.to_frame(), report.to_frame())
    assert json.loads(stored)
    assert any("Hausdorff" in m.text for m in report.methods)
    assert any("return levels of CD" in m.text for m in report.methods)


def test_rows_left_out_are_left_out_of_both() -> None:
    data = frame()
    data.loc[data.index[:50], "paid"] = np.nan
    with pytest.warns(fs.FairstatsWarning):
        dropped = audit(data, missing="drop")
    sample = results(dropped, "ecd")[0]
    assert sum(g.n for g in sample.groups) == N - 50
    kept = data.iloc[50:].reset_index(drop=True)
    np.testing.assert_allclose(
        np.sort(sample["f"].cd),
        np.sort((kept["score_if_other"] - kept["score"])[kept["sex"] == "f"]),
    )
    assert results(dropped, "hfm")[0].n == N - 50


def test_neither_without_its_columns() -> None:
    plain = audit(features=(), counterfactual_score=None)
    assert results(plain, "hfm") == []
    assert results(plain, "ecd") == []
    crossed = audit(
        features=(),
        sensitive_features=["sex", "region"],
        counterfactual_score={"sex": "score_if_other"},
    )
    assert [s.attributes for s in crossed.sections if s.key == "ecd" and s.results] == [("sex",)]


def test_weighted_rows_are_thinned() -> None:
    """The section is that of the rows that `counterfactual_discrimination` keeps of them, and says
    so.
    """
    data = frame().assign(w=1.0 + np.arange(N) % 3)
    sample, found = results(audit(data, sample_weight="w", features=()), "ecd")
    scores = data[["score", "score_if_other"]].to_numpy()
    other = fs.counterfactual_discrimination(
        lambda x: np.where(x["turned"] == data["sex"], *scores.T),
        data.assign(turned=data["sex"]),
        sensitive_features="turned",
        sample_weight=data["w"],
        rng=1,
        values=["f", "m"],
    )
    for sex in "fm":
        assert 0.5 * N / 3 < sample[sex].n < (data["sex"] == sex).sum()
        np.testing.assert_allclose(sample[sex].cd, other[sex].cd, atol=1e-12)
    assert sample.note == other.note
    assert "were kept, each with probability weight / largest weight" in sample.note
    assert {t.group: t.n_real for t in found.tails} == {g.group: g.n for g in sample.groups}


def test_a_tally_of_weighted_rows_says_what_it_lacks() -> None:
    data = frame().assign(w=1.0 + np.arange(N) % 3)
    counted = fs.tally(
        data,
        y_true="paid",
        y_pred="granted",
        score="score",
        counterfactual_score="score_if_other",
        sensitive_features="sex",
        sample_weight="w",
        pos_label=1,
    )
    report = fs.audit(counted, rng=1)
    assert results(report, "ecd") == []
    assert (
        sum("ECD of weighted rows is not computed from a tally" in note for note in report.notes)
        == 1
    )


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"score": None}, "without score"),
        ({"sensitive_features": ["sex", "region"]}, "mapping"),
        ({"counterfactual_score": {"age": "score_if_other"}}, "counterfactual_score"),
        ({"counterfactual_score": "nothing"}, "no column 'nothing'"),
        ({"features": ["age", "shoe"]}, "no column 'shoe'"),
        ({"features": [3]}, "features"),
        ({"counterfactual_score": "age"}, r"\[0, 1\]"),
    ],
)
def test_bad_input(change: dict[str, Any], match: str) -> None:
    with pytest.raises(fs.InputError, match=match):
        audit(**change)


def test_missing_counterfactual_scores_are_refused() -> None:
    with pytest.raises(fs.InputError, match="1 missing values"):
        audit(frame().assign(score_if_other=[np.nan, *frame()["score_if_other"][1:]]))


def test_rows_without_a_counterfactual_score_are_dropped_where_that_is_asked() -> None:
    data = frame().assign(score_if_other=[np.nan, np.nan, *frame()["score_if_other"][2:]])
    with pytest.warns(fs.FairstatsWarning, match="2"):
        report = audit(data, missing="drop")
    kept = data.iloc[2:]
    sample = results(report, "ecd")[0]
    for sex in "fm":
        here = kept[kept["sex"] == sex]
        np.testing.assert_allclose(sample[sex].cd, here["score_if_other"] - here["score"])
