"""Odds ratios of rates between groups.

Witnesses: SciPy's sample odds ratio, `fs.rates.contrast_interval` (limits by another equation), the
test of equality of ratios and differences, Woolf's standard error, enumeration, and R.
"""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import contingency

import fairstats as fs
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning
from tests.calibration.exact_search import ODDS_RATIO_RANGES, by_score, search, settings, worst

#: (tp, fp, fn, tn)
LARGE = {"north": (900, 120, 300, 800), "south": (700, 100, 400, 600)}
SMALL = {"north": (300, 40, 60, 600), "south": (30, 5, 20, 200), "west": (3, 1, 4, 11)}


def odds_ratio(counts: dict[str, tuple[int, ...]], **options: Any) -> Any:
    return fs.group_metric(metric="tpr", contrast="odds_ratio", counts=counts, **options)


def test_estimate_and_standard_error_are_the_textbook_ones() -> None:
    for comparison in odds_ratio(SMALL).comparisons:
        tp, _, fn, _ = SMALL[comparison.group]
        tp0, _, fn0, _ = SMALL[comparison.reference]
        witness = contingency.odds_ratio([[tp, fn], [tp0, fn0]], kind="sample").statistic
        assert comparison.estimate == pytest.approx(witness, rel=1e-12)
        woolf = math.sqrt(1 / tp + 1 / fn + 1 / tp0 + 1 / fn0)
        assert comparison.std_error == pytest.approx(witness * woolf, rel=1e-12)


def test_limits_of_large_groups_are_those_of_the_other_equation() -> None:
    (comparison,) = odds_ratio(LARGE).comparisons
    assert comparison.method == "score"
    tp, _, fn, _ = LARGE[comparison.group]
    tp0, _, fn0, _ = LARGE[comparison.reference]
    witness = fs.rates.contrast_interval(tp, tp + fn, tp0, tp0 + fn0, contrast="odds_ratio")
    assert tuple(comparison.confidence_interval) == pytest.approx(
        (float(witness[0]), float(witness[1])), rel=1e-9
    )


@pytest.mark.parametrize("counts", [LARGE, SMALL])
def test_equality_is_one_fact_whatever_the_contrast(counts: dict[str, tuple[int, ...]]) -> None:
    ratios = fs.conditional_accuracy(counts=counts)
    for of_odds, of_rates in zip(odds_ratio(counts).comparisons, ratios.comparisons, strict=True):
        assert of_odds.pvalue == pytest.approx(of_rates.pvalue, rel=1e-6)
        assert of_odds.procedure == of_rates.procedure


@pytest.mark.parametrize("counts", [LARGE, {name: SMALL[name] for name in ("north", "south")}])
def test_swapping_the_groups_or_the_outcomes_inverts_it(counts: dict[str, Any]) -> None:
    one, other = counts
    (straight,) = odds_ratio(counts, reference=one).comparisons
    (swapped,) = odds_ratio(counts, reference=other).comparisons
    misses = {name: (fn, fp, tp, tn) for name, (tp, fp, fn, tn) in counts.items()}
    (turned,) = odds_ratio(misses, reference=one).comparisons
    for inverse in (swapped, turned):
        assert inverse.estimate == pytest.approx(1 / straight.estimate)
        low, high = straight.confidence_interval
        assert tuple(inverse.confidence_interval) == pytest.approx((1 / high, 1 / low), rel=1e-3)
        assert inverse.verdict == straight.verdict
        assert inverse.pvalue == pytest.approx(straight.pvalue, rel=1e-6)


def test_an_odds_ratio_is_further_from_one_than_the_ratio() -> None:
    ratios = fs.conditional_accuracy(counts=SMALL).comparisons
    for of_odds, of_rates in zip(odds_ratio(SMALL).comparisons, ratios, strict=True):
        assert abs(math.log(of_odds.estimate)) > abs(math.log(of_rates.estimate))


def test_the_verdict_is_where_the_limits_are() -> None:
    (comparison,) = odds_ratio(LARGE, threshold=0.9).comparisons
    low, high = comparison.bounds
    for threshold, verdict in ((high + 1e-3, "violated"), (high - 1e-3, "undecided")):
        if comparison.estimate < 1:
            assert odds_ratio(LARGE, threshold=threshold).verdict == verdict
    assert odds_ratio(LARGE, threshold=min(low, 1 / high) - 1e-3).verdict == "satisfied"


def test_simultaneous_limits_are_wider_and_rest_is_everybody_else() -> None:
    alone = odds_ratio(SMALL, comparisons="all")
    together = odds_ratio(SMALL, comparisons="all", simultaneous="bonferroni")
    for single, wide in zip(alone.comparisons, together.comparisons, strict=True):
        assert wide.confidence_interval.low < single.confidence_interval.low
        assert wide.confidence_interval.high > single.confidence_interval.high
    rest = odds_ratio(SMALL, comparisons="rest").comparisons[0]
    others = np.sum([SMALL[name] for name in SMALL if name != rest.group], axis=0)
    (by_hand,) = odds_ratio(
        {rest.group: SMALL[rest.group], "others": tuple(others.tolist())}, reference="others"
    ).comparisons
    assert tuple(rest.confidence_interval) == pytest.approx(tuple(by_hand.confidence_interval))


@pytest.mark.parametrize("kind", ["sample_weight", "cluster"])
def test_under_weights_and_clusters_as_the_other_contrasts(kind: str) -> None:
    rng = np.random.default_rng(5)
    n = 900
    group = rng.choice(["a", "b"], n)
    hired = rng.random(n) < np.where(group == "a", 0.6, 0.45)
    design = {"sample_weight": rng.lognormal(0, 0.6, n), "cluster": rng.integers(0, 60, n)}
    options = {"sensitive_features": group, "reference": "b", kind: design[kind]}
    result = fs.group_metric(
        hired, hired, metric="selection_rate", contrast="odds_ratio", **options
    )
    ratio = fs.disparate_impact(hired, **options)
    assert result.comparisons[0].method == ratio.comparisons[0].method
    assert result.comparisons[0].statistic == pytest.approx(
        ratio.comparisons[0].statistic, rel=0.05
    )
    low, high = result.confidence_interval
    assert low < result.estimate < high


@pytest.mark.parametrize(("one", "other"), [(0, 0), (9, 12)])
def test_nothing_over_nothing_is_no_odds_ratio(one: int, other: int) -> None:
    counts = {"a": (one, 3, 9 - one, 4), "b": (other, 2, 12 - other, 8)}
    with pytest.warns(InsufficientEvidenceWarning, match="0/0"):
        result = odds_ratio(counts)
    assert math.isnan(result.estimate)
    assert tuple(result.confidence_interval) == (0, math.inf)
    assert result.verdict == "insufficient evidence"


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"metric": "balanced_accuracy"}, "contrast"),
        ({"metric": "f1"}, "contrast"),
        ({"metric": lambda tp, fp, fn, tn: tp / (tp + fp + fn + tn)}, "contrast"),
        ({"metric": "tpr", "method": "delta"}, "method"),
        ({"metric": "tpr", "method": "anytime", "planned": 100}, "method"),
    ],
)
def test_what_has_no_odds_is_refused(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError, match=f"`{argument}`"):
        fs.group_metric(contrast="odds_ratio", counts=LARGE, **options)


def test_models_and_bounds_are_refused() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, (3, 60))
    columns = {"sensitive_features": y[2], "pos_label": 1}
    with pytest.raises(InputError, match="`metrics`"):
        fs.compare_models(y[0], y[1], 1 - y[1], metrics="tpr_odds_ratio", **columns)
    with pytest.raises(InputError, match="worst_case_bounds"):
        odds_ratio(LARGE).worst_case_bounds()


def test_its_sentence_picture_and_file() -> None:
    mpl.use("Agg")
    result = odds_ratio(SMALL)
    assert "odds ratio 0.300" in result.sentences()[0]
    axes = result.plot()
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel().startswith("Odds ratio to north")
    assert fs.results.Result.from_dict(result.to_dict()).to_dict() == result.to_dict()


def test_where_the_score_decides_it_errs_in_at_most_055() -> None:
    """A small part of the search; where exact tests decide the score would err in more."""
    records = search(settings({5_000: (400, 2_500)}, (1, 4), ODDS_RATIO_RANGES))
    assert worst(by_score(records), 1)[0]["of family"] <= 0.055
    assert worst(records, 1)[0]["of family"] > 0.06


@pytest.mark.r
@pytest.mark.parametrize("counts", [LARGE, SMALL])
def test_every_number_is_the_one_of_r(counts: dict[str, tuple[int, ...]]) -> None:
    table = fs.crosscheck(odds_ratio(counts, comparisons="all")).to_frame()
    compared = table[table["verdict"] != "not recomputed"]
    assert len(compared) > 20
    assert set(compared["verdict"]) == {"agrees"}
