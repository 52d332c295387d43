"""The scale of the forest plots."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from fairstats.report.format import Axis, difference_axis, distance_axis, gap_axis, ratio_axis

pytest.importorskip("hypothesis")
from hypothesis import given
from hypothesis import strategies as st

ratios = st.lists(st.floats(1e-3, 1e3) | st.just(math.nan) | st.just(math.inf), max_size=30)
differences = st.lists(st.floats(-1, 1) | st.just(math.nan), max_size=30)


def check(axis: Axis) -> None:
    places = [axis.place(v) for v in axis.band]
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
    assert all(axis.holds(v) for v in finite)
    assert axis.place(0.0) == 0
    assert axis.place(math.inf) == 100


@given(differences, st.floats(0.01, 0.6))
def test_difference_axis_is_symmetric(values: list[float], margin: float) -> None:
    axis = difference_axis(values, values, margin)
    check(axis)
    assert axis.place(0.0) == pytest.approx(50)
    assert all(axis.holds(v) for v in values if not math.isnan(v))


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.01, 0.6))
def test_gap_axis_starts_at_zero(values: list[float], margin: float) -> None:
    axis = gap_axis(values, values, margin)
    assert axis.limits == (margin,)
    assert axis.low < 0 < axis.high <= 1.05
    assert all(axis.holds(v) for v in values)


@given(st.lists(st.floats(0, 2), max_size=20), st.floats(0.01, 1.2))
def test_distance_axis_reaches_2(values: list[float], threshold: float) -> None:
    axis = distance_axis(values, values, threshold)
    assert axis.limits == (threshold,)
    assert axis.low < 0 < axis.high < 2.2
    assert all(axis.holds(v) for v in values)


def test_signs_are_true_minus_signs() -> None:
    labels = [t.label for t in difference_axis([0.2], [0.3], 0.1).ticks]
    assert "−0.1" in labels
    assert "+0.1" in labels
    assert "0" in labels


def test_one_wide_interval_does_not_stretch_the_scale() -> None:
    axis = ratio_axis([0.9, 1.0, 1.1] * 10, [0.8, 1.2] * 30 + [0.001, 900], 0.8)
    assert axis.high < 3
