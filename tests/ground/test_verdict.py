"""The one verdict rule, against a table by hand and by its laws."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import fairstats as fs
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.ground.results import Comparison, Interval
from fairstats.ground.verdict import (
    VERDICTS,
    Evidence,
    bound_level,
    explain,
    fair_range,
    judge,
    settle,
    with_fields,
    z_evidence,
)


@pytest.mark.parametrize(
    ("scale", "size", "low", "high", "expected"),
    [
        ("ratio", 0.8, 0.5, 0.79, "violated"),
        ("ratio", 0.8, 0.81, 3.0, "undecided"),
        ("ratio", 0.8, 1.26, math.inf, "violated"),
        ("ratio", 0.8, 0.8, 0.9, "undecided"),
        ("ratio", 0.8, 0.81, 1.2, "satisfied"),
        ("ratio", 1.0, 0.9, 1.2, "undecided"),
        ("difference", 0.1, -0.3, -0.11, "violated"),
        ("difference", 0.1, 0.11, 0.3, "violated"),
        ("difference", 0.1, -0.09, 0.09, "satisfied"),
        ("difference", 0.1, -0.1, 0.05, "undecided"),
        ("gap", 0.1, 0.0, 0.09, "satisfied"),
        ("gap", 0.1, 0.11, 0.2, "violated"),
        ("gap", 0.1, 0.05, 0.1, "undecided"),
        ("gap", 0.1, math.nan, 0.05, "insufficient evidence"),
    ],
)
def test_the_rule_by_hand(scale, size, low, high, expected):
    assert judge(low, high, fair=fair_range(scale, size)) == expected


ends = st.floats(-2, 2)


@given(ends, ends, st.sampled_from(["difference", "gap"]), st.floats(0.01, 1))
def test_wider_limits_never_decide_what_narrower_ones_left_open(a, b, scale, size):
    low = min(a, b)
    high = max(a, b)
    fair = fair_range(scale, size)
    verdict = judge(low, high, fair=fair)
    assert verdict in VERDICTS
    if verdict == "undecided":
        assert judge(low - 0.5, high + 0.5, fair=fair) == "undecided"


@given(ends, ends, st.floats(0.01, 1))
def test_swapping_the_groups_leaves_the_verdict_on_a_difference(a, b, size):
    low = min(a, b)
    high = max(a, b)
    fair = fair_range("difference", size)
    assert judge(low, high, fair=fair) == judge(-high, -low, fair=fair)


@pytest.mark.parametrize(
    ("z_low", "z_high", "direction"),
    [
        (-2.0, -5.0, "below"),
        (6.0, 2.5, "above"),
        (3.0, -3.0, "inside"),
        (-0.5, -1.0, "below"),
        (math.nan, 1.0, ""),
    ],
)
def test_evidence_names_its_direction(z_low, z_high, direction):
    assert z_evidence(z_low, z_high).smallest[1] == direction


def test_evidence_by_hand():
    """Φ(−1.96) = .0249979, Φ(−3) = .0013499; t₅ has .0536438 at −1.96 (R's pt)."""
    assert z_evidence(-1.96, -20).below == pytest.approx(0.0249979, abs=1e-7)
    assert z_evidence(-1.96, -3).below == pytest.approx(0.0249979 + 0.0013499, abs=1e-7)
    assert z_evidence(3, 1.96).above == pytest.approx(0.0249979 + 0.0013499, abs=1e-7)
    assert z_evidence(-1.96, -math.inf, 5.0).below == pytest.approx(0.0536438, abs=1e-6)
    assert z_evidence(math.inf, -1.96).inside == pytest.approx(0.0249979, abs=1e-7)


@given(st.floats(-6, 6), st.floats(0, 15), st.sampled_from([math.inf, 4.0, 30.0]))
def test_pvalue_below_the_level_exactly_where_the_limit_excludes_the_end(z_low, width, degrees):
    """At unit standard error: estimate z_low above the lower end 0, upper end `width`."""
    critical = normal_quantile(bound_level(width, 0.95, degrees), degrees)
    found = z_evidence(z_low, z_low - width, degrees)
    if (
        min(
            abs(z_low + critical),
            abs(z_low - critical),
            abs(z_low - width - critical),
            abs(z_low - width + critical),
        )
        < 1e-6
    ):
        return
    assert (found.below < 0.05) == (z_low + critical < 0)
    assert (found.above < 0.05) == (z_low - critical > width)
    assert (found.inside < 0.05) == (z_low - critical > 0 and z_low + critical < width)


@pytest.mark.parametrize("width", [0.0, 0.3, 1.0, 3.0])
def test_violations_of_narrow_ranges_keep_their_level(width):
    """At either end and in the middle, 10^5 draws (se .0007).

    One direction alone would err in up to 10%.
    """
    z = np.random.default_rng(2).standard_normal(100_000)
    critical = normal_quantile(bound_level(width, 0.95))
    for place in (0.0, width / 2, width):
        estimate = place + z
        assert np.mean((estimate < -critical) | (estimate > width + critical)) <= 0.0521


@pytest.mark.parametrize("width", [0.5, 1.5, 2.5, 3.5, 4.5])
def test_the_other_direction_counts_as_long_as_it_has_digits(width):
    """Φ(−z) + Φ(−z − width) = 5% by SciPy's normal law, also where the second term is 4e-10."""
    level = bound_level(width, 0.95)
    z = norm.ppf(level)
    assert norm.sf(z) + norm.sf(z + width) == pytest.approx(0.05, abs=1e-13)
    assert level - 0.95 == pytest.approx(norm.sf(z + width), rel=1e-3)


def test_verdicts_of_a_family_by_hand():
    """Holm over (.01, .02, .03): .03, .04, .04; the fourth lacks evidence and does not count."""
    family = [Evidence(below=0.01), Evidence(inside=0.02), Evidence(above=0.03), Evidence()]
    rulings = settle(family, confidence_level=0.95)
    assert [r.verdict for r in rulings] == [
        "violated",
        "satisfied",
        "violated",
        "insufficient evidence",
    ]
    assert [r.pvalue_adjusted for r in rulings[:3]] == pytest.approx([0.03, 0.04, 0.04])
    strict = settle(family, confidence_level=0.97)
    assert [r.verdict for r in strict] == [
        "violated",
        "undecided",
        "undecided",
        "insufficient evidence",
    ]
    single = settle(family, confidence_level=0.97, adjust="none")
    assert [r.verdict for r in single[:3]] == ["violated", "satisfied", "violated"]


@pytest.mark.slow
def test_groups_at_and_inside_the_ends_are_seldom_judged_wrongly():
    """19 log ratios at the threshold, or between its ends: P(any false verdict) ≤ .05 (se .007)."""
    rng = np.random.default_rng(1)
    low = np.log(0.8)
    high = -np.log(0.8)
    for truth, false in (
        (low, "violated"),
        (high, "violated"),
        (0.0, "violated"),
        (low - 1e-9, "satisfied"),
    ):
        for error in (0.02, 0.1):
            estimate = truth + error * rng.standard_normal((1000, 19))
            wrong = 0
            for row in estimate:
                family = [z_evidence((x - low) / error, (x - high) / error) for x in row]
                wrong += any(r.verdict == false for r in settle(family, confidence_level=0.95))
            assert wrong / 1000 <= 0.05 + 3 * 0.007


def test_the_sentence_where_interval_and_verdict_seem_to_differ():
    interval = Interval(0.634, 0.8005, 0.95, "score")
    bounds = Interval(0.65, 0.787, 0.9, "score")
    fair = (0.8, 1.25)
    assert "one-sided limits 0.65 and 0.787" in explain(
        interval, bounds, fair, "violated", adjusted=False
    )
    assert explain(bounds, bounds, fair, "violated", adjusted=False) == ""
    assert "Alone" in explain(bounds, bounds, fair, "undecided", adjusted=True)
    assert "two-sided and wider" in explain(interval, bounds, fair, "violated", adjusted=False)
    # exact limits beside an interval by score, 21 of 21 against 1,199 of 1,300: the former are
    # wider
    exact = Interval(0.776, 1.104, 0.95, "exact unconditional")
    words = explain(Interval(0.916, 1.103, 0.95, "score"), exact, fair, "undecided", adjusted=True)
    assert words.endswith("0.776 and 1.1; the printed interval is two-sided and by another method.")
    above = Interval(0.65, math.inf, 0.95, "score")
    words = explain(above, bounds, fair, "violated", adjusted=False, alternative="greater")
    assert words.endswith("the printed interval is one-sided (greater).")


def test_rows_that_are_copied_with_other_fields_have_nothing_but_fields():
    """What `with_fields` leaves out: `__post_init__`, slots, and cached properties, which would go
    on with the old fields.
    """
    for name in fs.results.__all__:
        getattr(fs.results, name)
    open_classes = [Comparison, MissingReport, Outcomes]
    seen = set()
    while open_classes:
        row = open_classes.pop()
        seen.add(row.__name__)
        open_classes += row.__subclasses__()
        assert not hasattr(row, "__post_init__"), row
        assert not hasattr(row, "__slots__") or row.__slots__ == (), row
        for ancestor in row.__mro__:
            for value in vars(ancestor).values():
                assert not isinstance(value, functools.cached_property), row
    assert {"RateComparison", "MaddComparison", "EcdComparison"} <= seen


def test_a_copy_with_other_fields_is_that_of_dataclasses():
    # every field has a number: from Python 3.13 on dataclasses compare fields by ==,
    # by which a NaN is unlike itself
    interval = Interval(low=0.1, high=0.7, confidence_level=0.9, method="score")
    assert with_fields(interval, high=0.8) == dataclasses.replace(interval, high=0.8)
    assert interval.high == 0.7
