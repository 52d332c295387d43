"""Penalised likelihood of Coles and Dixon (1999)."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import genpareto

from fairstats.ground.errors import DataWarning, InputError
from fairstats.numerics.evt import EvtFit, fit_gev, fit_gpd, fit_point_process
from tests.calibration.evt import penalised_study

from .conftest import REFERENCE, gpd_series

CASES = json.loads((REFERENCE / "evt_penalised.json").read_text(encoding="utf-8"))["cases"]


def fitted(x: np.ndarray, kind: str = "gpd", method: str = "coles_dixon") -> EvtFit:
    known = {"method": method, "backend": "scipy"}
    return fit_gpd(x, 0.0, **known) if kind == "gpd" else fit_gev(x, **known)


def penalty(shape: float) -> float:
    return 1.0 / (1.0 - shape) - 1.0 if shape > 0 else 0.0


@pytest.mark.parametrize("case", CASES, ids=[f"{c['kind']}-{i}" for i, c in enumerate(CASES)])
def test_against_extremes(case: dict) -> None:
    """Witness: `fevd` with method "GMLE" and the penalty as its prior, recorded (evt_penalised.R).

    Its simplex stops within 2e-7 of the parameters, which costs 1e-12 of likelihood.
    """
    found = fitted(np.array(case["x"]), case["kind"])
    assert list(found.params.values()) == pytest.approx(case["estimate"], abs=1e-6)
    assert found.nll + penalty(found.shape) == pytest.approx(case["penalised"], abs=1e-9)


def profile(x: np.ndarray, shape: float) -> tuple[float, float]:
    """Lowest negative log-likelihood at a shape by SciPy's density, and the scale."""
    best = minimize_scalar(
        lambda log: -genpareto.logpdf(x, shape, scale=np.exp(log)).sum(),
        bounds=(-3, 5),
        method="bounded",
        options={"xatol": 1e-11},
    )
    return float(best.fun), float(np.exp(best.x))


def test_the_estimate_solves_the_penalised_equation() -> None:
    """Closed form: the slope of the profile in ξ, Σ[log(1+z)/ξ² − (1+1/ξ)(y/σ)/(1+z)], equals
    1/(1−ξ)².
    """
    y = gpd_series(np.random.default_rng(3), 0.6, 40) + 1e-9
    found = fitted(y)
    z = found.shape * y / found.scale
    xi = found.shape
    slope = (np.log1p(z) / xi**2 - (1 + 1 / xi) * (y / found.scale) / (1 + z)).sum()
    assert 0 < xi < fitted(y, method="mle").shape
    assert slope == pytest.approx((1 - xi) ** -2, rel=1e-6)
    assert profile(y, xi)[1] == pytest.approx(found.scale, rel=1e-5)
    # standard errors: of the penalised log-likelihood's second differences, here of the shape's
    # profile
    h = 1e-3
    values = [profile(y, xi + d)[0] + penalty(xi + d) for d in (-h, 0.0, h)]
    curvature = (values[0] - 2 * values[1] + values[2]) / h**2
    assert found.std_error["shape"] == pytest.approx(curvature**-0.5, rel=1e-3)


def test_where_the_likelihood_hardly_rises_at_0_the_shape_is_0() -> None:
    """The exponential scale is the mean, and the shape's slope at 0, Σ(y²/2σ² − y/σ), lies within
    [0, 1].
    """
    rng = np.random.default_rng(8)
    for _ in range(200):
        y = rng.exponential(size=30)
        slope = ((y / y.mean()) ** 2 / 2 - y / y.mean()).sum()
        if 0 < slope < 1:
            break
    found = fitted(y)
    assert found.shape == 0
    assert found.scale == pytest.approx(y.mean(), rel=1e-9)
    assert fitted(y, method="mle").shape > 0
    assert np.isfinite(found.std_error["shape"])


def test_without_a_heavy_tail_it_is_the_likelihood() -> None:
    y = gpd_series(np.random.default_rng(4), -0.3, 60) + 1e-9
    assert fitted(y).params == fitted(y, method="mle").params
    edge = np.random.default_rng(4).random(40) ** 0.3
    with pytest.warns(DataWarning, match="no maximum"):
        assert fitted(edge).at_boundary


def test_maxima_whose_likelihood_has_no_maximum() -> None:
    """Ties at the smallest value.

    The likelihood rises towards ξ → ∞, the penalised one has a maximum.
    """
    x = np.append(np.full(7, 1.0), [1.001, 1.5, 4.0, 30.0, 200.0])
    with pytest.raises(InputError, match="coles_dixon"):
        fitted(x, "gev", "mle")
    found = fitted(x, "gev")
    assert 0 < found.shape < 1
    assert np.isfinite(found.nll)


def test_what_can_be_asked_of_it() -> None:
    x = gpd_series(np.random.default_rng(5), 0.4, 800)
    fit = fit_gpd(x, np.sort(x)[-31], method="coles_dixon")
    assert fit.backend.startswith("scipy")
    assert fit.interval("shape").method == "observed information"
    level = fit.return_level(500, method="bootstrap", n_resamples=199, rng=1)
    assert level.confidence_interval.low < level.estimate < level.confidence_interval.high
    assert fit.goodness_of_fit(n_resamples=99, rng=1).pvalue > 0.05
    assert any("too low on average" in line for line in fit.sentences())
    blocks = fit_point_process(x, fit.threshold, 100, method="coles_dixon")
    assert blocks.shape == fit.shape
    for ask in (lambda: fit.return_level(500), fit.test_shape, lambda: fit.profile("shape")):
        with pytest.raises(InputError, match="coles_dixon"):
            ask()
    with pytest.raises(InputError, match="R lacks"):
        fit_gpd(x, fit.threshold, method="coles_dixon", backend="r")
    assert EvtFit.from_dict(fit.to_dict()).params == fit.params


def test_the_stated_calibration() -> None:
    """The docstring's figures are of 10,000 samples.

    1,500 here, within three standard errors of a mean.
    """
    row = penalised_study(1_500, exceedances=(30,), shapes=(0.4,)).iloc[0]
    assert row["level rmse, coles_dixon"] == pytest.approx(0.242, abs=0.02)
    assert row["level rmse, mle"] == pytest.approx(0.33, abs=0.05)
    assert row["level bias, coles_dixon"] == pytest.approx(-0.105, abs=0.018)
    assert row["level coverage, coles_dixon"] == pytest.approx(0.742, abs=0.035)
