"""An audit by base R alone beside the report that Python writes.

fs_audit, fs_read_report, fs_compare, live.

fs_compare holds what is not random to `tolerance` (relative), the rest to five Monte Carlo errors.
"""

from __future__ import annotations

import json
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

pytestmark = pytest.mark.r("jsonlite")

ORIGIN: dict[str, Any] = {"sensitive_features": "origin"}


def people(seed: int, n: int = 900) -> pd.DataFrame:
    """Two sexes, three origins of which one is rare; scores with ties; weights; clusters of six."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    origin = rng.choice(["north", "south", "isles"], n, p=[0.6, 0.35, 0.05])
    y = rng.binomial(1, 0.5, n)
    score = np.clip(0.35 + 0.3 * y + 0.1 * (origin == "north") + rng.normal(0, 0.2, n), 0, 1).round(
        2
    )
    return pd.DataFrame(
        {
            "sex": sex,
            "origin": origin,
            "qualified": np.where(y == 1, "yes", "no"),
            "hired": (score > 0.5).astype(int),
            "score": score,
            "weight": rng.gamma(3, 0.5, n) + 0.05,
            "site": np.arange(n) // 6,
        }
    )


def audited(frame: pd.DataFrame, path: Path, **options: Any) -> Any:
    given: dict[str, Any] = {
        "y_true": "qualified",
        "y_pred": "hired",
        "sensitive_features": ["sex", "origin"],
        "pos_label": {"y_true": "yes", "y_pred": 1},
        "rng": 7,
        **options,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        report = fs.audit(frame, **{k: v for k, v in given.items() if v is not None})
    report.to_json(path)
    return report


def compared(path: Path, frame: pd.DataFrame, **options: Any) -> dict[str, Any]:
    data = {name: column.tolist() for name, column in frame.items()}
    return call("fs_compare", str(path), data, rng=3, **options)  # type: ignore[no-any-return]


def assert_all_agree(found: dict[str, Any], at_least: int) -> None:
    agree = np.asarray(found["agree"], dtype=bool)
    wrong = [
        {
            name: found[name][k]
            for name in ("metric", "group", "quantity", "python", "r", "tolerance")
        }
        for k in np.flatnonzero(~agree)
    ]
    assert not wrong
    assert agree.size >= at_least


@pytest.mark.parametrize(
    ("name", "options", "at_least"),
    [
        pytest.param("scores", {"score": "score", **ORIGIN}, 400, marks=pytest.mark.slow),
        (
            "named",
            {"reference": {"origin": "south"}, "sensitive_features": ["origin"], "threshold": 0.9},
            300,
        ),
        pytest.param(
            "all pairs",
            {"comparisons": "all", "confidence_level": 0.9, "adjust": "hommel", **ORIGIN},
            400,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "max-z",
            {"simultaneous": "max-z", "adjust": "fdr_bh", **ORIGIN},
            300,
            marks=pytest.mark.slow,
        ),
        ("Bonferroni, delta", {"simultaneous": "bonferroni", "method": "delta", **ORIGIN}, 300),
        pytest.param(
            "Koopman", {"method": "koopman", "margin": 0.05, **ORIGIN}, 300, marks=pytest.mark.slow
        ),
        ("predictions alone", {"y_true": None, "pos_label": 1, "sensitive_features": "sex"}, 40),
        ("outcomes alone", {"y_pred": None, "pos_label": "yes", "sensitive_features": "sex"}, 30),
        ("weights", {"sample_weight": "weight", **ORIGIN}, 200),
        ("clusters", {"cluster": "site", **ORIGIN}, 200),
        ("both", {"sample_weight": "weight", "cluster": "site", "sensitive_features": "sex"}, 100),
        pytest.param(
            "all others",
            {"comparisons": "rest", "score": "score", **ORIGIN},
            600,
            marks=pytest.mark.slow,
        ),
        ("everybody", {"comparisons": "overall", "sample_weight": "weight", **ORIGIN}, 400),
    ],
)
def test_every_number_is_met_by_base_r(
    name: str, options: dict[str, Any], at_least: int, tmp_path: Path
) -> None:
    frame = people(seed=11)
    audited(frame, tmp_path / "report.json", **options)
    assert_all_agree(compared(tmp_path / "report.json", frame), at_least)


@pytest.mark.slow
def test_several_classes_against_all_others_are_met_by_base_r(tmp_path: Path) -> None:
    frame = people(seed=12)
    rng = np.random.default_rng(1)
    for name in ("grade", "forecast"):
        frame[name] = rng.choice(["low", "middle", "high"], len(frame))
    audited(
        frame,
        tmp_path / "report.json",
        y_true="grade",
        y_pred="forecast",
        pos_label=None,
        comparisons="rest",
        **ORIGIN,
    )
    assert_all_agree(compared(tmp_path / "report.json", frame), 400)


def test_what_holds_over_the_whole_audit_is_said_alike(tmp_path: Path) -> None:
    """Facts, Holm over them, what is real and what holds, and the sentence at the head.

    None of it is random here.
    """
    frame = people(seed=11)
    report = audited(frame, tmp_path / "report.json", cluster="site", margin=0.02, **ORIGIN)
    found = compared(tmp_path / "report.json", frame)
    assert_all_agree(found, 500)
    quantities = list(found["quantity"])
    table = report.to_frame()
    assert quantities.count("pvalue_audit") == table["pvalue_audit"].notna().sum()
    assert quantities.count("real_over_audit") == table["real_over_audit"].notna().sum()
    assert quantities.count("pvalue_verdict_audit") == table["pvalue_verdict_audit"].notna().sum()
    assert quantities.count("holds_over_audit") == table["holds_over_audit"].notna().sum()
    claims = [
        m
        for m, q in zip(found["metric"], quantities, strict=True)
        if (m, q) == ("claims", "sentence")
    ]
    assert len(claims) == 1
    said = call("fs_read_report", str(tmp_path / "report.json"))["claims"]
    assert said in headline(report)
    assert "these violations hold" in said
    assert "for their metric alone" in said
    assert "(largest gap)" in said


def test_rows_with_missing_values_are_left_out_alike(tmp_path: Path) -> None:
    frame = people(seed=12)
    frame["hired"] = frame["hired"].where(np.arange(len(frame)) % 50 > 0)
    audited(frame, tmp_path / "report.json", missing="drop", sensitive_features="sex")
    assert_all_agree(compared(tmp_path / "report.json", frame), 100)


def test_another_frame_disagrees(tmp_path: Path) -> None:
    frame = people(seed=13)
    audited(frame, tmp_path / "report.json", sensitive_features="sex")
    frame.loc[frame.index[:3], "hired"] = 1 - frame["hired"].iloc[:3]
    found = compared(tmp_path / "report.json", frame)
    assert not np.asarray(found["agree"], dtype=bool).all()


def test_the_table_that_r_reads_is_to_frame(tmp_path: Path) -> None:
    report = audited(
        people(seed=14), tmp_path / "report.json", score="score", sensitive_features="sex"
    )
    table = call("fs_read_report", str(tmp_path / "report.json"))["table"]
    expected = report.to_frame()
    assert list(table) == expected.columns.tolist()
    for name in ("estimate", "ci_low", "pvalue", "h_low", "p_rope"):
        np.testing.assert_array_equal(
            np.asarray(table[name], dtype=float), expected[name].to_numpy(dtype=float), err_msg=name
        )


def test_a_report_without_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    report = audited(people(seed=15), path, sensitive_features="sex")
    path.write_text(json.dumps(report.to_dict()), encoding="utf-8")
    with pytest.raises(RBackendError, match="without `table`"):
        call("fs_read_report", str(path))
