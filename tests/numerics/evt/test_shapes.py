"""Test of a shape with the fit that it is compared with; means and draws of fitted values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

from fairstats.ground.errors import InputError
from fairstats.numerics.evt import EvtFit, fit_gev, fit_gpd, fit_point_process

from .conftest import REFERENCE, gpd_series

CASES = json.loads((REFERENCE / "evt_shapes.json").read_text(encoding="utf-8"))["cases"]
X = gpd_series(np.random.default_rng(5), 0.2, 2000)


def fitted(case: dict) -> EvtFit:
    x = np.array(case["x"])
    return fit_gpd(x, 0.0) if case["kind"] == "gpd" else fit_gev(x)


@pytest.mark.parametrize("case", CASES, ids=[f"{c['kind']}-{i}" for i, c in enumerate(CASES)])
def test_shape_0_against_extremes(case: dict) -> None:
    """Witness: `fevd` with type "Exponential" and "Gumbel", and `lr.test`, recorded (evt_shapes.R).

    Their optimiser leaves up to 1e-6 of log likelihood, so that parameters agree to 1e-3 of a
    standard error."""
    found = fitted(case).test_shape(method="profile")
    assert found.nll == pytest.approx(case["nll0"], abs=2e-6)
    assert found.statistic == pytest.approx(case["statistic"], abs=5e-6)
    assert found.pvalue == pytest.approx(case["pvalue"], abs=1e-5)
    for name in ("location", "scale"):
        if name in case:
            assert found.params[name] == pytest.approx(case[name], abs=1e-3 * case["scale"] / 8)
    assert found.params["shape"] == 0
    if case["kind"] == "gpd":  # closed form: the scale of an exponential law is its mean
        assert found.params["scale"] == pytest.approx(np.mean(case["x"]), rel=1e-10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: fit_gpd(X, 1.0),
        lambda: fit_point_process(X, 1.0, 200.0),
        lambda: fit_gev(X.reshape(100, 20).max(axis=1)),
        lambda: fit_gpd(np.round(X, 1), 1.0),
    ],
)
def test_the_interval_ends_where_the_test_rejects(make: object) -> None:
    fit = make()  # type: ignore[operator]
    for end in fit.interval("shape"):
        assert fit.test_shape(end).pvalue == pytest.approx(0.05, abs=1e-6)
    there = fit.test_shape(fit.shape, method="profile")
    assert there.statistic == pytest.approx(0.0, abs=1e-8)
    assert there.params == pytest.approx(fit.params, rel=1e-4)
    assert there.to_frame()["n"].tolist() == [fit.n_exceedances]
    assert "p = 1" in there.sentences()[0]


@pytest.mark.parametrize("null", [-0.5, -2, np.nan, "0"])
def test_shapes_without_a_law(null: object) -> None:
    with pytest.raises(InputError, match="null"):
        fit_gpd(X, 1.0).test_shape(null)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lmoments"):
        fit_gpd(X, 1.0, method="lmoments").test_shape()


@pytest.mark.parametrize("model", ["gpd", "gev", "point_process"])
def test_mean_and_draws(model: str) -> None:
    """The integral of the quantiles; 5,000 draws by Kolmogorov and Smirnov's test."""
    maxima = X.reshape(100, 20).max(axis=1)
    fit = {
        "gpd": lambda: fit_gpd(X, 1.0),
        "gev": lambda: fit_gev(maxima),
        "point_process": lambda: fit_point_process(X, 1.0, 200.0),
    }[model]()
    wanted = quad(lambda p: float(fit.quantile(p)), 0, 1, limit=500, epsabs=1e-10)[0]
    assert fit.mean == pytest.approx(wanted, rel=1e-5)
    drawn = fit.rvs(5000, rng=1)
    assert kstest(drawn, fit.cdf).pvalue > 0.01
    np.testing.assert_array_equal(drawn, fit.rvs(5000, rng=1))
    with pytest.raises(InputError, match="size"):
        fit.rvs(0)


def test_a_very_heavy_tail_has_no_mean() -> None:
    assert fit_gpd(gpd_series(np.random.default_rng(1), 1.5), 1.0).mean == np.inf
