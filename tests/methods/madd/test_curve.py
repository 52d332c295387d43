"""MADD for m = 1 … M by one sort: against one histogram after the other."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.madd.curve import MaddCurve, curve_of, madd_curve
from fairstats.methods.madd.scores import (
    Sample,
    bin_edges,
    farey_grid,
    grid_counts,
    histogram,
    histogram_distance,
)

#: Decimals, as scores come: they lie on many edges.
decimals = arrays(np.int64, st.integers(1, 40), elements=st.integers(0, 100)).map(
    lambda k: np.sort(k / 100)
)


@settings(max_examples=40)
@given(decimals, decimals)
def test_curve_is_one_histogram_after_the_other(a: np.ndarray, b: np.ndarray) -> None:
    curve = curve_of(Sample(a), Sample(b), 120, ("a", "b"))
    expected = [
        float(histogram_distance(*(histogram(x, bin_edges(m)) for x in (a, b))))
        for m in range(1, 121)
    ]
    assert curve.madd.tolist() == expected  # to the last bit: both are rounded once


def test_large_groups_take_the_other_way(rng: np.random.Generator) -> None:
    a = np.sort(rng.random(5_000))
    b = np.sort(rng.beta(2, 3, 3_000))
    curve = curve_of(Sample(a), Sample(b), 40, ("a", "b"))
    expected = [
        float(histogram_distance(*(histogram(x, bin_edges(m)) for x in (a, b))))
        for m in range(1, 41)
    ]
    assert curve.madd.tolist() == expected


def test_number_of_farey_fractions() -> None:
    """304,191 distinct fractions strictly between 0 and 1 for M = 1,000: Σ φ(m), m = 2 … M."""
    assert farey_grid(1000).edges.size == 304_191
    for most in (1, 2, 3, 6, 97, 300):
        grid = farey_grid(most)
        assert grid.edges.tolist() == sorted(
            {k / m for m in range(1, most + 1) for k in range(1, m)}
        )
        for m in (1, most // 2 + 1, most):
            own = grid.pick[grid.starts[m - 1] :][: m + 1]
            assert np.array_equal(grid.edges[own[1:m] - 1], bin_edges(m))
            assert own[0] == own[m] == 0


def test_weights_count_as_rows_do(rng: np.random.Generator) -> None:
    score = rng.random(60)
    group = np.repeat(["a", "b"], 30)
    weight = rng.integers(1, 4, 60)
    weighted = madd_curve(score, sensitive_features=group, max_bins=50, sample_weight=weight)
    repeated = madd_curve(
        np.repeat(score, weight), sensitive_features=np.repeat(group, weight), max_bins=50
    )
    assert np.allclose(weighted.madd, repeated.madd, atol=1e-13)
    assert weighted.n0 == pytest.approx(weight[:30].sum() ** 2 / (weight[:30] ** 2).sum())


def test_attributes_and_frame(rng: np.random.Generator) -> None:
    curve = fs.madd_curve(
        rng.random(100), sensitive_features=np.repeat([0, 1], [40, 60]), max_bins=20
    )
    assert isinstance(curve, MaddCurve)
    assert curve.n_bins.tolist() == list(range(1, 21))
    assert np.allclose(curve.bandwidth * curve.n_bins, 1)
    assert curve.madd[0] == 0
    assert (curve.n0, curve.n1, curve.groups) == (60, 40, ("1", "0"))  # the larger group first
    assert list(curve.to_frame()) == ["n_bins", "bandwidth", "madd"]


def test_frames_of_any_kind_and_intersections() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"] * 10, "old": [True, True, False, False] * 5})
    score = np.linspace(0, 1, 20)
    pair = ("f & True", "m & False")
    curve = madd_curve(score, sensitive_features=frame, max_bins=5, pair=pair)
    assert curve.groups == pair
    rows = [(frame.sex == "f") & frame.old, (frame.sex == "m") & ~frame.old]
    alone = curve_of(*(Sample(np.sort(score[r])) for r in rows), 5, pair)
    assert np.array_equal(curve.madd, alone.madd)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_bins": 0}, "max_bins"),
        ({"max_bins": 10_000}, "max_bins"),
        ({"max_bins": 2.5}, "max_bins"),
        ({"sensitive_features": list("aabbcc")}, "pair"),
        ({"sensitive_features": list("aabbcc"), "pair": ("a", "a")}, "two different groups"),
        ({"sensitive_features": list("aabbcc"), "pair": ("a", "z")}, "pair"),
        ({"sensitive_features": list("aabbcc"), "pair": "ab"}, "pair"),
        ({"sensitive_features": ["a"] * 6}, "two groups"),
        (
            {"sensitive_features": list("aaabbb"), "groups": ["a", "b", "c"], "pair": ("a", "c")},
            "no rows",
        ),
        ({"score": [0, 0.1, 0.2, 0.3, 0.4, 1.1]}, "scores in"),
        ({"score": [0, 0.1, 0.2, 0.3, 0.4, np.nan]}, "missing"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    arguments = {"score": np.linspace(0, 1, 6), "sensitive_features": list("aaabbb"), **change}
    with pytest.raises(InputError, match=message):
        madd_curve(arguments.pop("score"), **arguments)


def test_counts_of_several_grids_in_turn() -> None:
    """Counted by hand: ten rows, of which 5, 6, 9 lie below 1/3, 1/2, 2/3."""
    assert grid_counts(farey_grid(3), np.array([5, 6, 9]), 10, 2, 3).tolist() == [6, 4, 5, 4, 1]


def test_a_curve_is_told_in_a_sentence() -> None:
    """Closed form: disjoint groups have a MADD of 0 in one bin and of 2 from two bins on."""
    curve = fs.madd_curve(
        [0.1, 0.2, 0.8, 0.9], sensitive_features=["<a>", "<a>", "b", "b"], max_bins=1_000
    )
    said = (
        "<a> against b: MADD from 0.000 to 2.000 in 1 to 1,000 bins. It tends to grow with their"
        " number; stable_bandwidth(…) finds where it varies least."
    )
    assert curve.sentences() == [said]
    assert curve.estimate.tolist()[:2] == [0.0, 2.0]
    lines = curve.summary().splitlines()
    assert lines[0] == curve.title
    assert " ".join(lines[1:]) == said
    assert max(map(len, lines)) <= 100
    assert curve._repr_html_() == f"<pre>{html.escape(curve.summary())}</pre>"
