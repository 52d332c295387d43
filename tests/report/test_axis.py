"""The scale of the forest plots, and numbers as text."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from fairstats.report.format import (
    Axis,
    aligned,
    chance,
    count,
    difference_axis,
    distance_axis,
    escaped,
    exact_number,
    gap_axis,
    interval,
    isolate,
    number,
    percent,
    printable,
    pvalue,
    ratio_axis,
    whole_or_weighted,
)

pytest.importorskip("hypothesis")
from hypothesis import given
from hypothesis import strategies as st

ratios = st.lists(st.floats(1e-3, 1e3) | st.just(math.nan) | st.just(math.inf), max_size=30)
differences = st.lists(st.floats(-1, 1) | st.just(math.nan), max_size=30)


def check(axis: Axis) -> None:
    places = [axis._place_value(v) for v in axis.band]
    assert 0 <= places[0] < places[1] <= 100
    ticks = axis.ticks
    assert len(ticks) >= 3
    assert [t.place for t in ticks] == sorted(t.place for t in ticks)
    assert axis.neutral in [t.value for t in ticks]
    for left, right in pairwise(ticks):
        assert right.place - left.place > 3
    assert len({t.label for t in ticks}) == len(ticks)


@given(ratios, st.floats(0.3, 0.95))
def test_ratio_axis_holds_threshold_and_equality(values: list[float], threshold: float) -> None:
    axis = ratio_axis(values, values, threshold)
    check(axis)
    finite = [v for v in values if 1 / 16 < v < 16]
    assert all(axis._holds_value(v) for v in finite)
    assert axis._place_value(0.0) == 0
    assert axis._place_value(math.inf) == 100


@given(differences, st.floats(0.01, 0.6))
def test_difference_axis_is_symmetric(values: list[float], margin: float) -> None:
    axis = difference_axis(values, values, margin)
    check(axis)
    assert axis._place_value(0.0) == pytest.approx(50)
    assert all(axis._holds_value(v) for v in values if not math.isnan(v))


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.01, 0.6))
def test_gap_axis_starts_at_zero(values: list[float], margin: float) -> None:
    axis = gap_axis(values, values, margin)
    assert axis.limits == (margin,)
    assert axis.low < 0 < axis.high <= 1.05
    assert all(axis._holds_value(v) for v in values)


@given(st.lists(st.floats(0, 2), max_size=20), st.floats(0.01, 1.2))
def test_distance_axis_reaches_2(values: list[float], threshold: float) -> None:
    axis = distance_axis(values, values, threshold)
    assert axis.limits == (threshold,)
    assert axis.low < 0 < axis.high < 2.2
    assert all(axis._holds_value(v) for v in values)


def test_signs_are_true_minus_signs() -> None:
    labels = [t.label for t in difference_axis([0.2], [0.3], 0.1).ticks]
    assert "−0.1" in labels
    assert "+0.1" in labels
    assert "0" in labels


def test_one_wide_interval_does_not_stretch_the_scale() -> None:
    axis = ratio_axis([0.9, 1.0, 1.1] * 10, [0.8, 1.2] * 30 + [0.001, 900], 0.8)
    assert axis.high < 3


def test_ratio_axis_by_hand() -> None:
    """Closed form: from .3 to 3 the least steps are 1/4 and 4; padding is the 20th root of 4·4."""
    axis = ratio_axis([0.3, 3.0, math.nan, -1.0], [0.3, math.inf, 0.0], 0.8)
    pad = 16**0.05
    assert (axis.low, axis.high) == pytest.approx((1 / (4 * pad), 4 * pad), rel=1e-12)
    assert axis.limits == (0.8, 1.25)
    whole = math.log(axis.high / axis.low)
    for tick in axis.ticks:
        assert tick.place == pytest.approx(100 * math.log(tick.value / axis.low) / whole)
    assert [t.label for t in axis.ticks] == ["0.25", "0.5", "0.8", "1", "1.25", "2", "4"]
    assert axis._holds_value(axis.low)
    assert axis._holds_value(axis.high)
    assert not axis._holds_value(axis.high * 1.01)
    # without ratios the threshold has room: 1.25/.25 below, never more than 32
    assert ratio_axis([], [], 0.25).low == pytest.approx(1 / (5 * 10**0.05))
    assert ratio_axis([], [], 0.01).low == pytest.approx(1 / (32 * 64**0.05))
    assert ratio_axis([100.0], [], 0.8).high == pytest.approx(16 * 32**0.05)


def test_linear_axes_by_hand() -> None:
    """Closed form: the least step that holds the points and 1.5 margins, 5% on each side."""
    axis = difference_axis([-0.25, math.nan], [0.1], 0.1)
    assert (axis.low, axis.high) == pytest.approx((-0.33, 0.33))
    assert axis._place_value(0.1) == pytest.approx(100 * 0.43 / 0.66)
    assert [t.label for t in axis.ticks] == ["−0.3", "−0.2", "−0.1", "0", "+0.1", "+0.2", "+0.3"]
    # 0 and .05 are 23.5 units apart on a phone; "0" and "+0.05" need 3 · 7 + 3
    assert [t.label for t in difference_axis([0.25], [], 0.05).ticks] == [
        "−0.3",
        "−0.2",
        "0",
        "+0.2",
        "+0.3",
    ]
    assert difference_axis([0.2], [], 0.1).high == pytest.approx(0.22)
    assert difference_axis([], [], 0.4).high == pytest.approx(0.66)
    assert difference_axis([], [], 0.9).high == pytest.approx(1.1)
    gap = gap_axis([0.45], [], 0.1)
    assert (gap.low, gap.high) == pytest.approx((-0.025, 0.525))
    # "0.25" needs 3.5 · 7 + 3 units: a twentieth of .55 is 28.2
    assert [t.label for t in gap.ticks] == ["0", "0.1", "0.2", "0.25", "0.3", "0.5"]
    assert gap_axis([], [], 0.9).high == pytest.approx(1.05)
    assert distance_axis([], [], 0.8).high == pytest.approx(1.26)
    assert distance_axis([1.2], [], 0.1).high == pytest.approx(1.575)


def test_nine_tenths_of_the_ends_are_held() -> None:
    """Closed form: of ten ends .1 and one of .9 the ninth tenth is .1; of nine and two it is .9."""
    assert difference_axis([0.0], [0.1] * 10 + [0.9], 0.1).high == pytest.approx(0.22)
    assert difference_axis([0.0], [0.1] * 9 + [-0.9] * 2, 0.1).high == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (number(0.0004, signed=True), "0.000"),
        (number(-0.0004), "0.000"),
        (number(0.25, 1), "0.2"),
        (number(0.2, signed=True), "+0.200"),
        (number(-math.inf), "−∞"),
        (exact_number(-1 / 3), "−0.3333333333"),
        (interval(-0.2, 0.1, signed=True), "[−0.200, +0.100]"),
        (interval(0.2, math.nan), "—"),
        (interval(math.nan, 0.2), "—"),
        (interval(-0.2, 0.1, signed=True, side="less"), "at most +0.100"),
        (pvalue(0.0001), "0.0001"),
        (pvalue(0.00009), "<0.0001"),
        (pvalue(1.0), "1.0000"),
        (percent(0.1234), "12.3%"),
        (percent(math.nan), "—"),
        (chance(0.001), "0.1%"),
        (chance(0.0009), "less than 0.1%"),
        (chance(0.999), "99.9%"),
        (chance(0.9991), "more than 99.9%"),
        (count(1234567.0), "1,234,567"),
        (whole_or_weighted(1500.0), "1,500"),
        (whole_or_weighted(1500.25), "1,500.2"),
        (printable("a\x00\u202e\ud800\n"), "a����"),
        (isolate("a אב b", ["אב", "a"]), "a \u2068אב\u2069 b"),
        ("|".join(aligned([["a", "bb"], ["ccc", ""]])), "  a    bb|  ccc"),
        (escaped('<a "b">\x1b'), "&lt;a &quot;b&quot;&gt;�"),
    ],
)
def test_numbers_and_labels_as_text(said: str, wanted: str) -> None:
    """Written down by hand; halves are rounded to even as Python does."""
    assert said == wanted
