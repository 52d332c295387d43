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
    plot_hyperparameter,
    plot_time_curve,
)


def test_hfm_with_stability_ranges() -> None:
    rng = np.random.default_rng(1)
    n = 80
    y = rng.integers(0, 2, n)
    result = fs.hfm(
        rng.random((n, 2)),
        y,
        1 - y,
        sensitive_features=rng.integers(0, 3, n),
        n_resamples=0,
        n_subsamples=20,
        rng=1,
    )
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
            np.array([[0.0], [1.0], [0.0], [1.0]]),
            [0, 1, 0, 1],
            [0, 1, 1, 1],
            sensitive_features=list("aabb"),
            n_resamples=0,
            n_subsamples=0,
        )
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


def test_m1_and_m2_and_time() -> None:
    rng = np.random.default_rng(3)
    a = rng.random((80, 3))
    b = rng.random((70, 3))
    exact = fs.set_distance(a, b)
    runs = [
        fs.approx_set_distance(a, b, m1=2, m2=m, rng=seed) for m in (4, 1, 2) for seed in (1, 2)
    ]
    ax = plot_hyperparameter(exact, runs)
    assert ax.get_xlabel() == "m2"
    assert set(ax.lines[0].get_ydata()) == {exact.value}
    mean = [np.mean([d.value for d in runs if d.m2 == m]) for m in (1, 2, 4)]
    assert ax.lines[1].get_xdata().tolist() == [1, 2, 4]
    assert ax.lines[1].get_ydata() == pytest.approx(mean)
    assert sorted(ax.lines[2].get_ydata()) == sorted(d.value for d in runs)
    time = plot_hyperparameter(exact, runs, name="m1", quantity="seconds")
    assert (time.get_xlabel(), time.get_yscale()) == ("m1", "log")
    for options in ({"name": "m3"}, {"quantity": "D"}):
        with pytest.raises(InputError):
            plot_hyperparameter(exact, runs, **options)
    with pytest.raises(InputError, match="at least one"):
        plot_hyperparameter(exact, [])
    sizes = (20, 10, 40)
    pairs = [(a[:n], b[:n]) for n in sizes]
    curve = plot_time_curve(
        [fs.set_distance(*p) for p in pairs], [fs.approx_set_distance(*p, rng=1) for p in pairs]
    )
    assert [line.get_xdata()[:].tolist() for line in curve.lines] == [[20, 40, 80]] * 2
    assert curve.get_yscale() == "log"
