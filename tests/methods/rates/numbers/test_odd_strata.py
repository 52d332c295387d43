"""Numbers and scores within strata of odd data: roots of 0, rows without weight, one value.

Witnesses: definitions by hand, and the same numbers without strata where there is one.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.numerics.means.ranks import Areas, area_limits
from fairstats.numerics.means.weighted_quantiles import _chance_below

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairstats.ground.errors.InsufficientEvidenceWarning", "error::RuntimeWarning"
)


def errors(n: int = 300) -> pd.DataFrame:
    """Of group a every prediction is right."""
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], n)
    noise = np.where(group == "a", 0.0, rng.normal(size=n))
    return pd.DataFrame({"group": group, "error": noise, "stratum": rng.integers(0, 3, n)})


def roots(frame: pd.DataFrame, **options: Any) -> Any:
    return fs.prediction_errors(
        frame["error"],
        np.zeros(len(frame)),
        sensitive_features=frame["group"],
        metric="root_mean_squared_error",
        comparisons="overall",
        **options,
    )


def test_roots_of_0_beside_everybody() -> None:
    frame = errors()
    crude = roots(frame)
    one = roots(frame, strata=np.zeros(len(frame))).stratified
    squares = frame["error"] ** 2
    of_all = math.sqrt(squares.mean())
    for group, row in {name: one[name] for name in ("a", "b")}.items():
        own = math.sqrt(squares[frame["group"] == group].mean())
        assert row.estimate == pytest.approx(own - of_all, rel=1e-12)
        assert row.verdict == crude[group].verdict
        for end in ("low", "high"):
            limit = getattr(row.confidence_interval, end)
            expected = getattr(crude[group].confidence_interval, end)
            assert limit == pytest.approx(expected, rel=1e-9, nan_ok=True)
    assert one["a"].verdict == "insufficient evidence"
    assert one["b"].verdict == "violated"


def test_ratios_need_a_mean_of_all_others() -> None:
    """Without one observed over expected is 1 over the share of the group, whatever its errors."""
    frame = errors()
    for strata in (np.zeros(len(frame)), frame["stratum"]):
        found = roots(frame, strata=strata, contrast="ratio").stratified
        assert [row.verdict for row in found.comparisons] == ["insufficient evidence"] * 2
        assert found["b"].note == "all others than b have the mean 0, so no ratio."
        assert found["a"].note == "a has the mean 0, so no ratio."


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
def test_a_stratum_of_rows_without_weight_has_no_mean() -> None:
    frame = errors(600)
    frame["error"] += 1
    weight = np.where((frame["group"] == "a") & (frame["stratum"] == 0), 0.0, 1.0)
    within = roots(frame, strata=frame["stratum"], sample_weight=weight).stratified
    used = frame[frame["stratum"] > 0]
    expected = roots(used, strata=used["stratum"], sample_weight=np.ones(len(used))).stratified
    assert within["a"].estimate == pytest.approx(expected["a"].estimate, rel=1e-12)
    rows = within.by_stratum()
    lost = rows[(rows["group"] == "a") & (rows["stratum"].astype(str) == "0")]
    assert lost["estimate"].isna().all()


@pytest.mark.parametrize("what", ["auc", "median"])
def test_ratios_beside_the_rest_hold_at_once(what: str) -> None:
    """Bonferroni's limits of k comparisons are those of each by itself at 1 − .05/k."""
    rng = np.random.default_rng(2)
    group = rng.choice(["a", "b", "c"], 400)
    label = rng.random(400) < 0.4
    score = np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0.01, 0.99)

    def compare(**options: Any) -> Any:
        given = {"sensitive_features": group, "contrast": "ratio", "comparisons": "rest", **options}
        if what == "auc":
            return fs.scores(label, score, metric="auc", **given)
        return fs.means(score, statistic="median", **given)

    together = compare(simultaneous="bonferroni")
    alone = compare(confidence_level=1 - 0.05 / 3)
    for row, other in zip(together.comparisons, alone.comparisons, strict=True):
        low, high = row.confidence_interval
        assert (low, high) == pytest.approx(tuple(other.confidence_interval), rel=1e-9)


def test_regressions_count_clusters() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(["a", "b"], 150)
    label = rng.random(300) < 0.4
    score = rng.uniform(0.1, 0.9, 300)
    person = np.char.add(group, (np.arange(300) % 12).astype(str))
    found = fs.calibration(
        label, score, sensitive_features=group, strata=np.zeros(300), cluster=person
    ).stratified
    assert "20 clusters of each label" in found.comparisons[0].note


def test_limits_at_huge_quantiles_are_the_ends() -> None:
    areas = Areas(area=0.7, variance=0.01, positives=20.0, negatives=30.0, df=np.array(1e-3))
    low, high = area_limits(areas, 3.0)
    assert 0 <= float(low) < 0.01
    assert 0.99 < float(high) <= 1


def test_weights_too_small_to_move_the_sum() -> None:
    """Rows that add nothing to the shares lie below the quantile, or do not."""
    shares = np.array([0.0, 0.5, 0.5, 1.0])
    chance = _chance_below(shares, np.array([0, 1, 2]), 0.6)
    assert chance.tolist() == pytest.approx([1.0, 1.0, 0.2], rel=1e-12)
    assert _chance_below(shares, np.array([0, 1, 2]), 0.5).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("strata", [None, "branch"])
def test_equal_numbers_of_an_engine_are_read_again(strata: str | None, tmp_path: Path) -> None:
    """A sum of squares is no less than 0, which its check of a file asks."""
    pytest.importorskip("duckdb")
    for seed in (3, 5):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "group": ["a", "b", "c", "a", "b", "b"],
                "branch": [0, 1, 0, 0, 0, 1],
                "wage": -rng.exponential(size=6),
                "weight": rng.exponential(size=6) * (rng.random(6) < 0.7),
            }
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tally = fs.tally(
                frame,
                outcome="wage",
                sensitive_features="group",
                sample_weight="weight",
                strata=strata,
                engine="duckdb",
            )
        place = tmp_path / "tally.json"
        tally.to_json(place)
        fs.Tally.from_json(place)
