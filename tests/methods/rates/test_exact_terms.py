"""Exact tests of the differences under a largest gap, of which few are asked.

Witness: all of them asked, one by one.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import fairstats as fs
from fairstats.ground.serialise import decode, encode
from fairstats.methods.rates import exact_terms, gaps
from fairstats.methods.rates.decision import ExactPair
from fairstats.methods.rates.exact_terms import ExactTerms
from fairstats.numerics.rates.exact import exact_interval, exact_limits, exact_pvalue, least_pvalues
from fairstats.numerics.rates.score_limits import difference_limits_of

MARGIN = 0.1
ERROR = 0.05


def terms_of(sizes: list[int], counts: list[int]) -> tuple[ExactTerms, list[ExactPair]]:
    """All pairs of groups."""
    pairs = {}
    for i in range(len(sizes)):
        for j in range(i + 1, len(sizes)):
            pairs[len(pairs)] = ExactPair(counts[i], sizes[i], counts[j], sizes[j])
    return ExactTerms(pairs, MARGIN, ERROR / len(pairs)), list(pairs.values())


GROUPS = (
    ([30, 44, 61, 80], [6, 20, 12, 52]),
    ([60, 60, 60, 60], [20, 22, 25, 24]),
    ([4, 25, 300, 70], [4, 3, 150, 40]),
)


@pytest.mark.parametrize(("sizes", "counts"), GROUPS)
def test_extremes_are_those_of_all_terms(sizes: list[int], counts: list[int]) -> None:
    terms, pairs = terms_of(sizes, counts)
    fair_range = (-MARGIN, MARGIN)
    evidence = [pair.evidence("difference", fair_range) for pair in pairs]
    equality = [pair.equality() for pair in pairs]
    outside = []
    for shown, pvalue in zip(evidence, equality, strict=True):
        outside.append(max(min(shown.below, shown.above), pvalue))
    inside = [shown.inside for shown in evidence]
    assert terms.smallest_of_equality(1.0) == min(equality)
    assert terms.smallest_outside(1.0) == min(outside)
    assert terms.largest_inside(0.0, np.zeros(len(pairs))) == max(inside)
    # others that have less, or more
    assert terms.smallest_of_equality(1e-9) == 1e-9
    assert terms.largest_inside(1.0, np.zeros(len(pairs))) == 1.0


@pytest.mark.parametrize(("sizes", "counts"), GROUPS)
def test_limits_are_those_of_all_terms(sizes: list[int], counts: list[int]) -> None:
    terms, pairs = terms_of(sizes, counts)
    each = ERROR / len(pairs)
    intervals = np.array([pair.interval("difference", 1 - each) for pair in pairs])
    by_score = np.array([pair.table for pair in pairs], dtype=float)
    limits = difference_limits_of(
        by_score, np.full(len(pairs), -ndtri(each / 2)), np.zeros(len(pairs), dtype=bool)
    )
    nearest, farthest = terms.range_of_largest(limits, 0.0, 0.0)
    assert nearest == max(np.maximum(intervals[:, 0], -intervals[:, 1]).max(), 0.0)
    assert farthest == np.abs(intervals).max()
    assert terms.limits([2, 0]) == [tuple(intervals[2]), tuple(intervals[0])]
    lower = []
    upper = []
    for pair in pairs:
        one_sided = exact_limits(
            *pair.table, contrast="difference", level=1 - each, anchors=(-MARGIN, MARGIN)
        )
        near_end = max(one_sided[0], -one_sided[1])
        lower.append(min(near_end, MARGIN) if pair.equality() > each else near_end)
        alone = exact_limits(
            *pair.table, contrast="difference", level=1 - ERROR, anchors=(-MARGIN, MARGIN)
        )
        upper.append(max(abs(alone[0]), abs(alone[1])))
    # a fair range of ±.1 is so wide here that the other direction counts for less than 1e-6
    assert terms.lower_limit_of_largest(limits, 0.0) == pytest.approx(max(*lower, 0.0), abs=2e-4)
    assert terms.upper_limit_of_largest(limits, 0.0, ERROR) == pytest.approx(max(upper), abs=2e-3)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 9), (12, 8), (20, 20), (30, 400)])
def test_no_p_value_is_less_than_its_bound(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    n, n0 = sizes
    for k, k0 in ((0, n0), (n, 0), (n // 2, n0 // 3), (int(rng.binomial(n, 0.6)), n0 // 2)):
        tables = np.array([[k, n, k0, n0]])
        for null in (-0.8, -0.1, 0.0, 0.25, 0.7):
            for alternative, upwards in (
                ("less", False),
                ("greater", True),
                ("two-sided", k / n - k0 / n0 > null),
            ):
                pvalue = exact_pvalue(
                    k, n, k0, n0, contrast="difference", null=null, alternative=alternative
                )
                (least,) = least_pvalues(tables, null, upwards=np.array([upwards]))
                assert least <= pvalue + 1e-11
    # of one table it is close: 0 of 12 beside 8 of 8 leaves no other table
    (least,) = least_pvalues(np.array([[0, 12, 8, 8]]), 0.0, upwards=np.array([False]))
    pvalue = exact_pvalue(0, 12, 8, 8, contrast="difference", null=0.0, alternative="less")
    assert least == pytest.approx(0.9 * pvalue, rel=0.01)


@pytest.mark.parametrize("n", [5, 30, 200])
@pytest.mark.parametrize("n0", [5, 100, 5_000])
def test_no_limit_reaches_farther_than_twice_the_score_s_interval(n: int, n0: int) -> None:
    """Enumerated at the ends of the rates, where exact limits are farthest beyond the score's."""
    for k in (0, 1, n):
        for k0 in (0, n0 // 50, n0 - 1, n0):
            for error in (0.05, 2.5e-6):
                low, high = exact_interval(
                    k, n, k0, n0, contrast="difference", confidence_level=1 - error, equal=0.0
                )
                score = difference_limits_of(
                    np.array([[k, n, k0, n0]], dtype=float),
                    np.array([-ndtri(error / 2)]),
                    np.array([False]),
                )
                estimate = k / n - k0 / n0
                reach = exact_terms._REACH * float(score[1][0] - score[0][0])
                assert max(high - estimate, estimate - low) < 0.75 * reach


def test_few_of_many_differences_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 14 groups with different rates; limits of single differences when they are read."""
    asked: list[Any] = []
    prepare = exact_terms.prepare

    def count(tables: Any) -> None:
        asked.extend(tables)
        prepare(tables)

    monkeypatch.setattr(exact_terms, "prepare", count)
    counts = {}
    for number in range(14):
        counts[f"g{number}"] = (30 + 9 * number, 170 - 9 * number)
    result = fs.demographic_parity_difference(counts=counts, agg="max")
    assert result.comparisons[0].procedure.exact
    assert len(asked) < 300  # 91 differences, of which each is asked for five numbers
    before = len(asked)
    components = list(result.components)
    assert len(asked) > before + 30
    # and known from then on
    before = len(asked)
    assert list(result.components) == components
    assert len(asked) == before
    lows = np.array([component.low for component in components])
    highs = np.array([component.high for component in components])
    assert result.confidence_interval.low == np.maximum(lows, -highs).max()
    assert result.confidence_interval.high == np.maximum(np.abs(lows), np.abs(highs)).max()


def test_a_file_finds_limits_of_many_differences_when_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Writing asks for none of them; what is read again has the same limits."""
    rng = np.random.default_rng(5)
    counts = {}
    for group in range(9):
        cases = int(rng.integers(20, 60))
        hits = int(rng.binomial(cases, 0.1 + 0.08 * group))
        counts[f"g{group}"] = (hits, cases - hits)
    result = fs.demographic_parity_difference(counts=counts, agg="max")
    in_full = json.loads(json.dumps(encode(result)))
    again = fs.demographic_parity_difference(counts=counts, agg="max")
    monkeypatch.setattr(gaps, "_FEW_LACKING", 1)
    monkeypatch.setattr(ExactTerms, "limits", None)
    stored = json.loads(json.dumps(encode(again)))
    assert stored["components"]["class"] == "StoredGaps"
    assert isinstance(in_full["components"], list)
    monkeypatch.undo()
    assert decode(stored).components == decode(in_full).components == result.components
    assert decode(stored).components[3].low == result.components[3].low
    for name, value in (
        ("group", ["g1"]),
        ("error_of_each", 2.0),
        ("lacking", {"array": [99], "dtype": "int64", "shape": [1]}),
        ("tables", {"array": [[9, 3, 1, 4]], "dtype": "int64", "shape": [1, 4]}),
    ):
        damaged = {**stored, "components": {**stored["components"], name: value}}
        with pytest.raises(fs.InputError, match="json"):
            decode(damaged)
