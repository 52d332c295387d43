"""Comparisons that hold at every look, by the public functions.

Witnesses: the kernels of `fairstats.numerics.rates.anytime`, whose own witnesses stand beside their
test, the score statistics of `fairstats.numerics.rates.score`, and enumeration of two small streams."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.numerics.rates.anytime import critical_value, exact_limits, mixture_pvalue
from fairstats.numerics.rates.score import ratio_statistic
from fairstats.numerics.rates.score_limits import ratio_limit
from tests.calibration.anytime import (
    Looks,
    pvalues,
    rows_of_fixed_look,
    rows_until_shown,
)

COUNTS = {"a": (400, 1_600), "b": (700, 1_300)}
FEW = {"a": (400, 1_600), "b": (700, 1_300), "c": (3, 90)}
PLANNED: dict[str, Any] = {"method": "anytime", "planned": 5_000}


def test_limits_are_the_score_at_the_critical_value_of_the_mixture() -> None:
    result = fs.disparate_impact(counts=COUNTS, reference="b", **PLANNED)
    critical = float(critical_value(0.95, 8 * 4_000 / 5_000))
    table = (400.0, 2_000.0, 700.0, 2_000.0)
    expected = [ratio_limit(table, critical, True, side) for side in (-1, 1)]
    assert tuple(result.confidence_interval) == pytest.approx(expected, rel=1e-12)
    z = ratio_statistic(table, 1.0, True)
    assert result.pvalue == pytest.approx(float(mixture_pvalue(z, 6.4)), rel=1e-12)
    (comparison,) = result.comparisons
    assert comparison.procedure.kind == "anytime"
    assert comparison.bounds == comparison.confidence_interval


def test_exact_limits_are_those_of_the_counts() -> None:
    result = fs.demographic_parity_difference(counts=COUNTS, reference="b", method="anytime-exact")
    expected = exact_limits(400, 2_000, 700, 2_000, "difference", 0.95)
    assert tuple(result.confidence_interval) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["anytime", "anytime-exact"])
@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_calibrated_pvalues_are_those_of_the_public_functions(method: str, contrast: str) -> None:
    """What `tests/calibration/anytime.py` simulates is what users get."""
    rng = np.random.default_rng(3)
    function = fs.disparate_impact if contrast == "ratio" else fs.demographic_parity_difference
    equal = 1.0 if contrast == "ratio" else 0.0
    for _ in range(5):
        n, n0 = (int(size) for size in rng.integers(40, 400, 2))
        k, k0 = int(rng.integers(6, n - 6)), int(rng.integers(6, n0 - 6))
        one_look = Looks(
            n_rows=np.array([n + n0]),
            k=np.array([[k]]),
            n=np.array([[n]]),
            k0=np.array([[k0]]),
            n0=np.array([[n0]]),
        )
        expected = pvalues(one_look, method=method, contrast=contrast, null=equal, planned=900)
        counts = {"a": (k, n - k), "b": (k0, n0 - k0)}
        result = function(counts=counts, reference="b", method=method, planned=900)
        assert result.pvalue == pytest.approx(float(expected[0, 0]), rel=1e-9)


@pytest.mark.parametrize("method", ["anytime", "anytime-exact"])
def test_a_verdict_is_given_where_the_limits_leave_the_fair_range(method: str) -> None:
    """Unadjusted: the p-value of the verdict is at most .05 exactly where the limits say so."""
    verdicts = set()
    for successes in range(200, 1_000, 50):
        counts = {"a": (successes, 2_000 - successes), "b": (600, 1_400)}
        result = fs.disparate_impact(counts=counts, reference="b", method=method, planned=5_000)
        low, high = result.confidence_interval
        expected = "undecided"
        if high < 0.8 or low > 1.25:
            expected = "violated"
        if low > 0.8 and high < 1.25:
            expected = "satisfied"
        assert result.verdict == expected
        verdicts.add(expected)
    assert "violated" in verdicts
    assert "undecided" in verdicts


def test_nothing_is_said_before_five_successes_and_failures() -> None:
    with pytest.warns(InsufficientEvidenceWarning, match="nothing is said before 5"):
        result = fs.disparate_impact(counts=FEW, reference="b", **PLANNED)
    assert result["c"].verdict == "insufficient evidence"
    assert math.isnan(result["c"].pvalue)
    assert math.isnan(result["c"].pvalue_adjusted)
    exact = fs.disparate_impact(counts=FEW, reference="b", method="anytime-exact")
    assert exact["c"].verdict == "violated"


def test_a_group_without_an_answer_yet_counts_in_the_family_from_the_first_look() -> None:
    with pytest.warns(InsufficientEvidenceWarning):
        result = fs.disparate_impact(counts=FEW, reference="b", **PLANNED)
    assert result["a"].pvalue_adjusted == pytest.approx(2 * result["a"].pvalue, rel=1e-12)
    assert result["a"].pvalue_verdict_adjusted == pytest.approx(
        2 * result["a"].pvalue_verdict, rel=1e-12
    )


def test_adding_tallies_and_asking_again_is_asking_of_all_rows() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 600), "hired": rng.integers(0, 2, 600)})
    first, second = (
        fs.tally(part, y_pred="hired", sensitive_features="sex")
        for part in (frame.iloc[:250], frame.iloc[250:])
    )
    together = fs.disparate_impact(counts=first + second, reference="m", **PLANNED)
    at_once = fs.disparate_impact(
        frame["hired"], sensitive_features=frame["sex"], reference="m", **PLANNED
    )
    assert tuple(together.confidence_interval) == tuple(at_once.confidence_interval)


def test_means_of_rates_are_watched_too() -> None:
    counts = {"a": (400, 100, 100, 400), "b": (300, 100, 200, 400)}
    watched = fs.average_odds_difference(counts=counts, reference="a", **PLANNED)
    once = fs.average_odds_difference(counts=counts, reference="a")
    assert watched.estimate == once.estimate
    assert watched.confidence_interval.low < once.confidence_interval.low
    assert watched.confidence_interval.high > once.confidence_interval.high


@pytest.mark.parametrize(
    ("alternative", "open_ends"), [("less", (0.0, None)), ("greater", (None, math.inf))]
)
def test_one_end_is_open_where_one_direction_is_asked(
    alternative: str, open_ends: tuple[float | None, float | None]
) -> None:
    """One level serves both ends: the other end is that of the two-sided limits."""
    both = fs.disparate_impact(counts=COUNTS, reference="b", **PLANNED).confidence_interval
    result = fs.disparate_impact(counts=COUNTS, reference="b", alternative=alternative, **PLANNED)
    expected = [
        both_end if open_end is None else open_end
        for both_end, open_end in zip(both, open_ends, strict=True)
    ]
    assert list(result.confidence_interval) == expected


def test_what_is_watched_is_said() -> None:
    result = fs.disparate_impact(counts=COUNTS, reference="b", **PLANNED)
    assert any("at every look" in note for note in result.notes())
    assert result.settings.planned == 5_000
    again = fs.results.RatioResult.from_dict(result.to_dict())
    assert again.settings == result.settings


CONFUSION = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
WEIGHTED = {"sample_weight": [1.0, 2.0, 1.0, 3.0] * 10}
ROWS = {"y_pred": [0, 1, 1, 0] * 10, "sensitive_features": list("aabb") * 10}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"counts": COUNTS, "method": "anytime"}, "`planned`: got None"),
        ({"counts": COUNTS, "planned": 100}, "`planned`: got 100 with method=None"),
        ({"counts": COUNTS, "method": "anytime", "planned": 0}, "`planned`: got 0"),
        ({"counts": FEW, **PLANNED}, "`reference`: got None"),
        ({"counts": COUNTS, "reference": "highest", **PLANNED}, "`reference`: got 'highest'"),
        ({"counts": COUNTS, "adjust": "fdr_bh", **PLANNED}, "`adjust`"),
        ({"counts": COUNTS, "simultaneous": "max-z", **PLANNED}, "`simultaneous`"),
        ({**ROWS, **WEIGHTED, **PLANNED}, "with weights"),
        ({**ROWS, "cluster": list(range(20)) * 2, **PLANNED}, "with clusters"),
        ({**ROWS, "strata": [1, 2] * 20, **PLANNED}, "`strata`"),
    ],
)
def test_what_does_not_hold_at_every_look_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(fs.InputError) as raised:
        fs.disparate_impact(**arguments)
    assert message in str(raised.value)


def test_gaps_and_functions_of_the_cells_are_refused() -> None:
    for call in (
        lambda: fs.demographic_parity_difference(counts=COUNTS, agg="max", **PLANNED),
        lambda: fs.group_metric(metric="f1", counts=CONFUSION, **PLANNED),
        lambda: fs.group_metric(
            metric=lambda tp, fp, fn, tn: tp / (tp + fp), counts=CONFUSION, **PLANNED
        ),
        lambda: fs.average_odds_difference(counts=CONFUSION, method="anytime-exact"),
    ):
        with pytest.raises(fs.InputError, match="`method`"):
            call()


def test_a_violation_is_shown_little_later_than_by_a_single_look() -> None:
    """A small part of the study: medians of 1.25 and 3.6 times the rows of a look of power .80."""
    fixed = rows_of_fixed_look((0.28, 0.4), 0.8)
    median = {}
    for method in ("anytime", "anytime-exact"):
        rows = rows_until_shown(
            np.random.default_rng(2),
            200,
            method=method,
            rates=(0.28, 0.4),
            threshold=0.8,
            planned=fixed,
            n_rows=8 * fixed,
        )
        median[method] = float(np.median(rows)) / fixed
    assert 1.05 < median["anytime"] < 1.5
    assert 3.0 < median["anytime-exact"] < 4.2


@pytest.mark.r
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("method", ["anytime", "anytime-exact"])
def test_r_computes_the_same(method: str, alternative: str) -> None:
    options: dict[str, Any] = {
        "reference": "b",
        "method": method,
        "planned": 5_000,
        "alternative": alternative,
        "simultaneous": "bonferroni",
    }
    for result in (
        fs.disparate_impact(counts=FEW, **options),
        fs.demographic_parity_difference(counts=FEW, **options),
    ):
        table = fs.crosscheck(result).to_frame()
        assert (table["verdict"] == "agrees").all(), table[table["verdict"] != "agrees"]
        assert len(table) > 15
