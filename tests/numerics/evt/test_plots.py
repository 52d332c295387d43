"""The pictures draw what the results say."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

import matplotlib.pyplot as plt

from fairstats.ground.errors import InputError
from fairstats.numerics.evt import (
    EvtFit,
    fit_gev,
    fit_gpd,
    fit_point_process,
    mean_residual_life,
    threshold_stability,
)
from fairstats.plots.evt import plot_fit, plot_probabilities, plot_quantiles, plot_return_levels

X = np.random.default_rng(1).exponential(size=1200)


def fits() -> dict[str, EvtFit]:
    return {
        "gpd": fit_gpd(X, 2.0, backend="scipy"),
        "process": fit_point_process(X, 2.0, 100, backend="scipy"),
        "gev": fit_gev(X.reshape(60, 20).max(axis=1), backend="scipy"),
        "lmoments": fit_gpd(X, 2.0, method="lmoments", backend="scipy"),
    }


@pytest.mark.parametrize("name", ["gpd", "process", "gev", "lmoments"])
def test_four_panels(name: str) -> None:
    fit = fits()[name]
    axes = fit.plot()
    assert axes.shape == (2, 2)
    assert all(ax.get_title() and ax.get_xlabel() and ax.get_ylabel() for ax in axes.ravel())
    observed = axes[0, 0].lines[0]
    np.testing.assert_array_equal(observed.get_ydata(), fit.sample)
    probabilities = axes[0, 1].lines[0].get_ydata()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    last = axes[1, 1].get_title()
    assert last.startswith("Density" if name == "lmoments" else "Profile likelihood")


def test_panels_go_where_they_are_told() -> None:
    fit = fits()["gpd"]
    figure, axes = plt.subplots(1, 4)
    assert plot_fit(fit, axes) is axes
    assert len(figure.axes) == 4
    with pytest.raises(InputError, match="four"):
        plot_fit(fit, axes[:2])
    ax = plt.figure().subplots()
    for draw in (plot_quantiles, plot_probabilities, plot_return_levels):
        assert draw(fit, ax) is ax


def test_band_of_return_levels_is_the_interval() -> None:
    fit = fits()["gpd"]
    ax = plot_return_levels(fit)
    periods, levels = ax.lines[0].get_data()
    m = float(periods[10])
    assert levels[10] == pytest.approx(fit.return_level(m).estimate)
    band = ax.collections[0].get_paths()[0].vertices
    at = band[np.isclose(band[:, 0], m)]
    interval = fit.return_level(m).confidence_interval
    assert at[:, 1].min() == pytest.approx(interval.low)
    assert at[:, 1].max() == pytest.approx(interval.high)


def test_profile_and_diagnostics() -> None:
    curve = fits()["gpd"].profile("scale")
    ax = curve.plot()
    assert ax.get_xlabel() == "scale"
    assert mean_residual_life(X).plot().get_xlabel() == "threshold"
    panels = threshold_stability(X).plot()
    assert [ax.get_ylabel() for ax in panels] == ["shape", "modified scale"]
    with pytest.raises(InputError, match="two"):
        threshold_stability(X, [1.0, 2.0]).plot(plt.subplots(1, 3)[1])
