"""Parts of the Brier score within strata.

Witnesses: the crude comparison of one stratum (equal to the last digits), parts of each stratum by
themselves summed by hand, a share within strata in closed form, files, and our twin in base R.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.ground.serialise import decode
from fairstats.numerics.means.isotonic import BrierPart
from fairstats.numerics.means.weighted_risks import WeightedPart, sum_of_parts

PARTS = ("miscalibration", "discrimination", "uncertainty")


def people(n: int = 480, seed: int = 1) -> dict[str, Any]:
    """Risks and labels by branch; the share of sex depends on the branch, too."""
    rng = np.random.default_rng(seed)
    branch = rng.integers(0, 3, n)
    sex = np.where(rng.random(n) < 0.35 + 0.1 * branch, "m", "f")
    score = np.clip(rng.beta(2 + branch, 3), 0.02, 0.98).round(2)
    y = (rng.random(n) < np.where(sex == "m", score, 0.1 + 0.7 * score)).astype(int)
    unit = rng.integers(0, 30, n)
    return {
        "y_true": y,
        "score": score,
        "sensitive_features": sex,
        "strata": branch,
        "sample_weight": rng.gamma(3, 1, n),
        "cluster": np.array([f"{s}{b}{u}" for s, b, u in zip(sex, branch, unit, strict=True)]),
    }


def columns(*further: str) -> dict[str, Any]:
    table = people()
    return {name: table[name] for name in ("y_true", "score", "sensitive_features", *further)}


@pytest.mark.parametrize("design", [(), ("sample_weight", "cluster")])
@pytest.mark.parametrize("metric", PARTS)
def test_one_stratum_is_the_crude_comparison(metric: str, design: tuple[str, ...]) -> None:
    data = columns(*design)
    result = fs.scores(**data, metric=metric, strata=np.zeros(480), reference="m")
    within = result.stratified["f"]
    assert within.estimate == pytest.approx(result.estimate, rel=1e-12)
    assert tuple(within.confidence_interval) == pytest.approx(
        tuple(result.confidence_interval), rel=1e-9
    )
    assert within.pvalue == pytest.approx(result.pvalue, rel=1e-9)


@pytest.mark.parametrize("metric", PARTS)
def test_parts_are_sums_over_strata(metric: str) -> None:
    table = people()
    data = columns("strata")
    within = fs.scores(**data, metric=metric, reference="m").stratified["f"]
    values = []
    weights = []
    for branch in range(3):
        inside = table["strata"] == branch
        part = fs.scores(
            **{name: table[name][inside] for name in ("y_true", "score", "sensitive_features")},
            metric=metric,
            reference="m",
        )["f"]
        values.append(part.estimate)
        if metric == "uncertainty":
            # p(1 − p)/n of bias, but for that of all rows together
            n = [(table["sensitive_features"] == name).sum() for name in ("f", "m")]
            values[-1] += part.rate / part.n * (1 - part.n / n[0])
            values[-1] -= part.rate_reference / part.n_reference * (1 - part.n_reference / n[1])
        weights.append(part.n * part.n_reference / (part.n + part.n_reference))
    assert within.estimate == pytest.approx(np.average(values, weights=weights))
    assert within.n_strata == 3
    assert np.isnan(within.pvalue_homogeneity)


def test_sums_of_parts_have_satterthwaites_degrees_of_freedom() -> None:
    plain = [BrierPart(0.2, 0.1, 4e-4), BrierPart(0.1, -0.02, 1e-4)]
    shares = np.array([0.25, 0.75])
    total = sum_of_parts(plain, shares)
    assert total.estimate == pytest.approx(0.125)
    assert total.left_out == pytest.approx(0.01)
    assert total.variance == pytest.approx(4e-4 / 16 + 9e-4 / 16)
    weighted = [
        WeightedPart(part.estimate, part.left_out, part.variance, df)
        for part, df in zip(plain, (10.0, 20.0), strict=True)
    ]
    found = sum_of_parts(weighted, shares)
    assert isinstance(found, WeightedPart)
    wanted = 13**2 / (4**2 / 10 + 9**2 / 20)
    assert found.degrees_of_freedom == pytest.approx(wanted)


def test_strata_with_few_rows_of_a_label_are_left_out_and_named() -> None:
    data = columns("strata")
    few = np.where(np.arange(480) < 15, 7, data["strata"])
    with pytest.warns(DataWarning, match="left out 1 of 4 strata without 10 rows of each label"):
        result = fs.scores(**{**data, "strata": few}, metric="miscalibration").stratified
    assert result.comparisons[0].n_strata == 3
    assert "7" in result.comparisons[0].note
    with pytest.warns(InsufficientEvidenceWarning, match="no stratum has 10 rows of each label"):
        none = fs.scores(**{**data, "strata": np.arange(480) // 8}, metric="miscalibration")
    assert none.stratified.verdict == "insufficient evidence"


def test_results_go_through_files_and_tallies() -> None:
    data = columns("strata")
    result = fs.scores(**data, metric="discrimination").stratified
    again = decode(json.loads(json.dumps(result.to_dict())))
    assert tuple(again.confidence_interval) == tuple(result.confidence_interval)
    assert len(again.by_stratum()) == 3
    tally = fs.tally(
        pd.DataFrame(data),
        y_true="y_true",
        score="score",
        strata="strata",
        sensitive_features="sensitive_features",
    )
    of_tally = fs.scores(counts=tally, metric="discrimination").stratified
    assert of_tally.estimate == pytest.approx(result.estimate, rel=1e-12)
    assert tuple(of_tally.confidence_interval) == pytest.approx(tuple(result.confidence_interval))


def test_curves_within_strata_are_refused_with_what_has_them() -> None:
    with pytest.raises(fs.InputError, match="curves, which strata do not have at the same scores"):
        fs.calibration(**columns("strata"), metric="isotonic")


@pytest.mark.r
@pytest.mark.parametrize("design", [(), ("sample_weight", "cluster")])
@pytest.mark.parametrize("metric", PARTS)
def test_r_agrees(metric: str, design: tuple[str, ...]) -> None:
    data = columns("strata", *design)
    comparisons: Any = "rest" if metric == "discrimination" else "reference"
    result = fs.scores(**data, metric=metric, comparisons=comparisons).stratified
    table = fs.crosscheck(result, data=data).to_frame()
    assert set(table["verdict"]) == {"agrees"}
    assert len(table) >= 15


@pytest.mark.r
def test_the_function_of_r_answers_alike() -> None:
    from fairstats.ground.rsession import call

    data = columns("strata")
    listed = {name: np.asarray(column).tolist() for name, column in data.items()}
    listed["strata"] = [str(name) for name in listed["strata"]]
    found = call("fs_scores", **listed, metric="miscalibration")
    within = fs.scores(**data, metric="miscalibration").stratified
    assert found["adjusted"] == pytest.approx(within.estimate)
    assert found["adjusted_ci_low"] == pytest.approx(within.confidence_interval.low)
