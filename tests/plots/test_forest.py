"""The forest plot in matplotlib."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning, MissingDependencyError

pytest.importorskip("matplotlib")

from fairstats.plots.forest import STYLES, forest_plot

COUNTS = {"a": (60, 40), "b": (25, 75), "c": (55, 45), "d": (70, 30)}


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_ratios_on_a_logarithmic_axis_with_the_rule() -> None:
    ax = fs.disparate_impact(counts=COUNTS, reference="a").plot()
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_yticklabels()] == ["b", "c", "d"]
    lines = {
        round(float(line.get_xdata()[0]), 6) for line in ax.lines if len(set(line.get_xdata())) == 1
    }
    assert {0.8, 1.0, 1.25} <= lines
    assert ax.get_xlabel() == "Ratio to a [95% interval]"


def test_every_verdict_is_a_word() -> None:
    result = fs.disparate_impact(counts=COUNTS, reference="a")
    assert [w for w in words(forest_plot(result)) if w in STYLES] == [
        c.verdict for c in result.comparisons
    ]


def test_differences_and_areas_on_linear_axes() -> None:
    ax = forest_plot(fs.demographic_parity_difference(counts=COUNTS, reference="a"))
    assert ax.get_xscale() == "linear"
    low, high = ax.get_xlim()
    assert low == -high
    rng = np.random.default_rng(2)
    score = rng.random(400)
    y = rng.integers(0, 2, 400)
    area = fs.abroca(
        y, score, sensitive_features=np.repeat(["a", "b"], 200), n_resamples=100, rng=1
    )
    assert forest_plot(area).get_xlim()[0] > -0.1


def test_several_results_share_an_axis() -> None:
    confusion = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    results = [fs.conditional_accuracy(counts=confusion, label=label) for label in (0, 1)]
    ax = forest_plot(results)
    assert len(ax.get_yticklabels()) == 2
    assert any("label 1" in word for word in words(ax))


def test_it_draws_where_it_is_told() -> None:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert forest_plot(fs.disparate_impact(counts=COUNTS), ax=ax) is ax


def test_no_evidence_is_said() -> None:
    with pytest.warns(InsufficientEvidenceWarning):
        result = fs.disparate_impact(counts={**COUNTS, "empty": (0, 0)}, reference="a")
    ax = forest_plot(result)
    assert "insufficient evidence" in words(ax)
    assert "no estimate" in words(ax)
    ax.figure.canvas.draw()


def test_zero_over_zero_and_endless_intervals_are_drawn() -> None:
    with pytest.warns(UserWarning, match="disparate_impact"):
        result = fs.disparate_impact(
            counts={"a": (0, 40), "b": (0, 30), "c": (3, 10)}, reference="a"
        )
    ax = forest_plot(result)
    ax.figure.canvas.draw()
    assert np.isfinite(ax.get_xlim()).all()


@pytest.mark.parametrize("n", [1, 40])
def test_any_number_of_groups_fits(n: int) -> None:
    counts = {f"group {i}": (30 + i, 70 - i) for i in range(n + 1)}
    ax = forest_plot(fs.disparate_impact(counts=counts))
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


def test_labels_are_cut_and_dollars_are_no_formulas() -> None:
    ax = forest_plot(
        fs.disparate_impact(counts={"a": (60, 40), "$x^{" + "y" * 200: (25, 75)}, reference="a")
    )
    ax.figure.canvas.draw()
    assert len(ax.get_yticklabels()[0].get_text()) < 60


def test_mixed_scales_are_refused() -> None:
    ratio = fs.disparate_impact(counts=COUNTS)
    difference = fs.demographic_parity_difference(counts=COUNTS)
    with pytest.raises(InputError, match="one scale"):
        forest_plot([ratio, difference])


def test_a_largest_gap_is_one_line() -> None:
    ax = fs.demographic_parity_difference(counts=COUNTS, agg="max").plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["b"]
    assert ax.get_xlabel() == "Size [95% interval]"


def test_results_without_comparisons_are_refused() -> None:
    with pytest.raises(InputError, match="without comparisons"):
        forest_plot(fs.power_ratio(0.5, 0.7, n=100))
    with pytest.raises(InputError, match="no result"):
        forest_plot([])


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"fairstats\[report\]"):
        forest_plot(fs.disparate_impact(counts=COUNTS))
