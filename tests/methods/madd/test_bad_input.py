"""What cannot be used is refused with a cure; what is doubtful is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning

SCORE = np.linspace(0.01, 0.99, 100)
GROUP = np.arange(100) % 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"score": SCORE * 2}, "scores in \\[0, 1\\]", id="scores above 1"),
        pytest.param({"score": SCORE - 0.5}, "scores in \\[0, 1\\]", id="scores below 0"),
        pytest.param({"score": np.where(SCORE > 0.5, np.nan, SCORE)}, "missing values", id="NaN"),
        pytest.param({"score": np.where(SCORE > 0.5, np.inf, SCORE)}, "scores in", id="infinite"),
        pytest.param({"score": ["a"] * 100}, "not numbers", id="text"),
        pytest.param({"score": SCORE[:50]}, "different lengths", id="length"),
        pytest.param({"score": [], "sensitive_features": []}, "0 rows", id="no rows"),
        pytest.param(
            {"sensitive_features": None}, "which group each row belongs to", id="no groups"
        ),
        pytest.param({"sensitive_features": np.zeros(100)}, "one group", id="one group"),
        pytest.param({"bandwidth": 0}, "bandwidth h from", id="h = 0"),
        pytest.param({"bandwidth": -0.1}, "bandwidth h from", id="h < 0"),
        pytest.param({"bandwidth": 1.2}, "bandwidth h from", id="h > 1"),
        pytest.param({"bandwidth": np.nan}, "bandwidth h from", id="h NaN"),
        pytest.param({"bandwidth": "automatic"}, "bandwidth h from", id="h a word"),
        pytest.param({"bandwidth": 1e-7}, "bandwidth h from", id="h tiny"),
        pytest.param({"n_bins": 0}, "a whole number", id="n_bins = 0"),
        pytest.param({"n_bins": -3}, "a whole number", id="n_bins < 0"),
        pytest.param({"n_bins": 2.5}, "a whole number", id="n_bins 2.5"),
        pytest.param({"n_bins": 10, "bandwidth": 0.1}, "one of them", id="n_bins and h"),
        pytest.param({"grid_bins": 1}, "a whole number", id="grid of one bin"),
        pytest.param({"grid_bins": 3_000}, "a whole number", id="grid of too many bins"),
        pytest.param({"max_bins": 40}, "search more bandwidths", id="nothing eligible"),
        pytest.param({"max_bins": 9_000}, "max_bins", id="too many bins"),
        pytest.param({"comparisons": "some"}, "comparisons", id="comparisons"),
        pytest.param({"permutations": "rows"}, "permutations", id="permutations"),
        pytest.param({"adjust": "bonferonni"}, "adjust", id="adjust"),
        pytest.param({"margin": 3}, "MADD from 0 to 2", id="margin"),
        pytest.param({"confidence_level": 95}, "confidence_level", id="level 95"),
        pytest.param({"confidence_level": 0.4}, "above 0.5", id="level 0.4"),
        pytest.param({"n_resamples": 0}, "n_resamples", id="no resamples"),
        pytest.param({"rng": "one"}, "rng", id="rng"),
        pytest.param({"sample_weight": -np.ones(100)}, "weights", id="negative weights"),
        pytest.param(
            {"comparisons": "reference", "reference": "z"}, "one of", id="unknown reference"
        ),
    ],
)
def test_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"score": SCORE, "sensitive_features": GROUP, **change}
    with pytest.raises(InputError, match=message):
        fs.madd(arguments.pop("score"), **arguments)


def test_every_error_has_a_cure() -> None:
    for change in ({"bandwidth": 2}, {"n_bins": 0}, {"max_bins": 40}, {"margin": 3}):
        with pytest.raises(InputError) as caught:
            fs.madd(SCORE, sensitive_features=GROUP, **change)
        assert caught.value.cure


def test_a_group_of_one() -> None:
    """Everything is computed, the p-value is exact, nothing is judged."""
    group = np.where(np.arange(100) == 0, "one", "many")
    with pytest.warns(InsufficientEvidenceWarning, match="one: one row is no distribution"):
        result = fs.madd(SCORE, sensitive_features=group, rng=1)
    assert result.verdict == "insufficient evidence"
    assert result.confidence_interval.low == 0
    assert result.confidence_interval.high == 2
    assert result.lower_limit == 0
    assert result.pvalue >= 0.01
    assert "insufficient evidence" in result.sentences()[0]


def test_scores_that_do_not_vary() -> None:
    with pytest.warns(DataWarning, match="all scores are equal"):
        result = fs.madd(np.full(100, 0.3), sensitive_features=GROUP, rng=1)
    assert result.estimate == 0
    assert result.pvalue == 1
    assert result.null_mean == 0
    low, high = result.confidence_interval
    assert low == 0
    assert 0 < high < 0.5


def test_fewer_than_50_rows() -> None:
    with pytest.warns(DataWarning, match="fewer than 50 rows"):
        result = fs.madd(np.random.default_rng(1).random(40), sensitive_features=GROUP[:40], rng=1)
    assert result.headline_null_mean > 0.5
    assert result.headline == pytest.approx(result.headline_null_mean, abs=0.4)
    assert result.estimate == pytest.approx(result.null_mean, abs=0.4)
    assert result.verdict == "undecided"


def test_two_rows() -> None:
    with pytest.warns(fs.FairstatsWarning):
        result = fs.madd([0.1, 0.9], sensitive_features=["a", "b"], n_bins=2, rng=1)
    assert result.estimate == 2
    assert result.pvalue == 1  # both splits of two rows are as far apart
    assert result.null_mean == pytest.approx(2)


@pytest.mark.parametrize(
    "curve",
    [
        [1, 2, 3],
        None,
        fs.results.MaddCurve(np.arange(1, 101), np.full(100, np.nan), 9, 9, ("a", "b")),
    ],
    ids=["list", "None", "NaN"],
)
def test_what_is_no_curve(curve: Any) -> None:
    with pytest.raises(InputError, match="a MaddCurve"):
        fs.stable_bandwidth(curve)


@pytest.mark.parametrize("scale", [1e90, 1e-90])  # beyond 1e±100 weights are refused
def test_the_scale_of_weights_does_not_matter(scale: float) -> None:
    rng = np.random.default_rng(3)
    score = rng.random(100)
    weight = rng.random(100)
    plain = fs.madd(score, sensitive_features=GROUP, sample_weight=weight, rng=1)
    scaled = fs.madd(score, sensitive_features=GROUP, sample_weight=weight * scale, rng=1)
    assert scaled.estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert scaled.std_error == pytest.approx(plain.std_error, rel=1e-9)


@pytest.mark.filterwarnings("ignore:madd. clusters lie in several groups")
@pytest.mark.parametrize(
    ("columns", "units", "p_known"),
    [
        pytest.param(
            {"cluster": np.zeros(100)}, "clusters", False, id="one cluster in both groups"
        ),
        pytest.param({"cluster": GROUP}, "clusters", True, id="one cluster per group"),
        pytest.param(
            {"cluster": GROUP + 2 * (np.arange(100) % 4 > 1)}, "clusters", True, id="two per group"
        ),
        pytest.param(
            {"sample_weight": np.where(np.arange(100) < 4, 1.0, 0.0)},
            "effective rows",
            False,
            id="two weighed",
        ),
    ],
)
def test_too_few_units_for_a_variance(columns: dict[str, Any], units: str, p_known: bool) -> None:
    """A covariance of one or two clusters is 0 or a guess.

    No limits, and a p-value only by permutation.
    """
    with pytest.warns(InsufficientEvidenceWarning, match=f"fewer than 5 {units}"):
        result = fs.madd(
            np.random.default_rng(1).random(100), sensitive_features=GROUP, rng=1, **columns
        )
    assert tuple(result.confidence_interval) == (0.0, 2.0)
    assert result.verdict == "insufficient evidence"
    assert np.isnan(result.std_error)
    assert np.isnan(result.bias_corrected)
    assert np.isfinite(result.pvalue) == p_known


def test_more_bins_than_a_grid_may_have() -> None:
    """The headline has them; estimate, interval and test stay at the pooled quantiles."""
    result = fs.madd(SCORE, sensitive_features=GROUP, n_bins=100_000, rng=1)
    assert result.headline == 2
    assert result.to_frame()["n_bins"].tolist() == [result.grid_bins]
    assert result.grid_bins < 10
    assert result.confidence_interval.low <= result.estimate <= result.confidence_interval.high


def test_scores_at_both_ends() -> None:
    result = fs.madd([0.0] * 60 + [1.0] * 60, sensitive_features=["a"] * 60 + ["b"] * 60, rng=1)
    assert result.headline == pytest.approx(2, abs=0.05)  # with one bin MADD is 0
    assert result.estimate == 2
    assert result.verdict == "violated"
