"""Plots of HFM show what the results hold."""

from __future__ import annotations

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from fairstats.plots.hfm import (
    plot_approximation,
    plot_approximation_error,
    plot_approximation_time,
    plot_hfm,
)


def test_hfm_with_stability_ranges() -> None:
    rng = np.random.default_rng(1)
    n = 80
    y = rng.integers(0, 2, n)
    result = fs.hfm(
        rng.random((n, 2)), y, 1 - y, sensitive_features=rng.integers(0, 3, n),
        n_resamples=0, n_subsamples=20, rng=1,
    )  # fmt: skip
    ax = result.plot()
    points = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert points == pytest.approx([e.hfm for e in result.entries])
    assert "subsamples" in ax.get_xlabel()
    assert len(ax.collections) == len(result.entries)
    d = plot_hfm(result, quantity="D")
    assert [line.get_xdata()[0] for line in d.lines] == pytest.approx([e.d for e in result.entries])
    with pytest.raises(InputError, match="quantity"):
        plot_hfm(result, quantity="p")


def test_infinite_hfm_is_named() -> None:
    with pytest.warns(DataWarning, match="infinite"):
        result = fs.hfm(
            np.array([[0.0], [1.0], [0.0], [1.0]]), [0, 1, 0, 1], [0, 1, 1, 1],
            sensitive_features=list("aabb"), n_resamples=0, n_subsamples=0,
        )  # fmt: skip
    assert [text.get_text() for text in result.plot().texts] == ["∞"]


def test_approximation() -> None:
    rng = np.random.default_rng(2)
    sets = [(rng.random((60, d)), rng.random((50, d))) for d in (2, 3, 5, 8)]
    exact = [fs.set_distance(a, b) for a, b in sets]
    approximate = [fs.approx_set_distance(a, b, m1=3, rng=1) for a, b in sets]
    ax = plot_approximation(exact, approximate)
    assert ax.lines[1].get_ydata() == pytest.approx([d.value for d in approximate])
    assert "correlation" in ax.get_legend().get_texts()[-1].get_text()
    error = plot_approximation_error(exact, approximate)
    assert (np.asarray(error.lines[1].get_ydata()) >= -1e-9).all()
    assert plot_approximation_time(exact, approximate).get_xscale() == "log"
    with pytest.raises(InputError, match="as many of either"):
        plot_approximation(exact, approximate[:1])
