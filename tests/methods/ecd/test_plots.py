"""The pictures draw what the results say."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

import matplotlib.pyplot as plt
from scipy.integrate import trapezoid

import fairstats as fs
from fairstats.plots.ecd import plot_ecd, plot_extremes, plot_levels, plot_tail_quantiles

RNG = np.random.default_rng(21)
CD = {"white": 0.3 * RNG.beta(2, 8, 8000), "black": 0.5 * RNG.beta(2, 8, 3000)}


@pytest.fixture(scope="module")
def found() -> fs.results.EcdResult:
    return fs.ecd(CD, privileged="white", unprivileged="black", backend="scipy", n_resamples=0)


@pytest.fixture(autouse=True)
def _close() -> object:
    yield
    plt.close("all")


def test_three_panels(found: fs.results.EcdResult) -> None:
    axes = found.plot()
    assert all(ax.get_title() and ax.get_xlabel() and ax.get_ylabel() for ax in axes)
    with pytest.raises(fs.InputError, match="three"):
        plot_ecd(found, plt.subplots(1, 2)[1])


def test_bands_are_the_intervals(found: fs.results.EcdResult) -> None:
    ax = plot_levels(found)
    at, levels = ax.lines[0].get_data()
    wanted = found["black"].fit.return_level(float(at[12]))
    assert levels[12] == pytest.approx(wanted.estimate)
    band = ax.collections[0].get_paths()[0].vertices
    here = band[np.isclose(band[:, 0], at[12])]
    assert here[:, 1].min() == pytest.approx(wanted.confidence_interval.low)
    assert here[:, 1].max() == pytest.approx(wanted.confidence_interval.high)


def test_the_density_of_the_extremes_integrates_to_1(found: fs.results.EcdResult) -> None:
    ax = plot_extremes(found)
    x, y = ax.lines[0].get_data()
    assert trapezoid(y, x) == pytest.approx(1, abs=0.01)
    level = found["black"].fit.return_level(1000, method="profile").estimate
    assert trapezoid(y[x <= level], x[x <= level]) == pytest.approx(np.exp(-1), abs=0.01)


def test_quantiles_and_values(found: fs.results.EcdResult) -> None:
    ax = plot_tail_quantiles(found)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), found["black"].fit.sample)
    sample = fs.results.CounterfactualSample.from_values(CD)
    ax = sample.plot(found.tails)
    drawn = sum(len(line.get_ydata()) for line in ax.lines)
    assert drawn < 9_000
    above = [line for line in ax.lines if line.get_marker() == "o"]
    assert [len(line.get_ydata()) for line in above] == [101, 38]


def test_a_tail_without_a_model_is_drawn_by_its_order_statistics() -> None:
    with pytest.warns(fs.FairstatsWarning, match="all 500"):
        found = fs.ecd(
            {"white": CD["white"], "black": np.full(500, 0.1)},
            privileged="white",
            unprivileged="black",
            backend="scipy",
            n_resamples=0,
        )
    labels = [t.get_text() for t in found.plot()[0].get_legend().get_texts()]
    assert "black: no model" in labels
