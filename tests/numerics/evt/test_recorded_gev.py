"""Every recorded case of block maxima: extRemes and evd under R 4.2.2; see `test_recorded_gpd`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from fairstats.numerics.evt import EvtFit, fit_gev

from .conftest import case_names, load_case

CASES = case_names("gev")

NLL = 1e-9
PARAMETER = 1e-5
#: Above each shape. The recorded standard errors are finite differences: 2e-3 off in the case named
#: below.
STANDARD_ERROR = ((-0.29, 1e-3), (-0.45, 1e-2))
COARSE_ERRORS = {"gev_hard_shape+0.80": 2e-3}
NEVER_BETTER = 1e-6
FOUND_IT = 1e-4
NEAR = 1e-2
LMOMENTS = 1e-8
PROFILE = 1e-3

#: Reported as converged.
WORSE = {("gev_n200_shape-0.30", "extRemes"): 1e9}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return load_case(request.param)


@pytest.fixture
def fit(case: dict[str, Any]) -> EvtFit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one case is rounded, and says so
        return fit_gev(case["x"])


def params_of(recorded: dict[str, float]) -> dict[str, float]:
    """evd's `loc` under our name."""
    return {"location" if name == "loc" else name: value for name, value in recorded.items()}


def test_the_cases_are_there() -> None:
    assert len(CASES) == 12


def test_optimum(case: dict[str, Any], fit: EvtFit) -> None:
    careful = case["extRemes_careful"]
    assert abs(fit.nll - careful["nllh"]) < NLL
    for name, error in careful["se"].items():
        assert abs(fit.params[name] - careful["par"][name]) < PARAMETER * error, name


def test_standard_errors(case: dict[str, Any], fit: EvtFit) -> None:
    if fit.shape <= -0.5:
        assert not fit.regular
        assert np.isnan(fit.covariance).all()
        return
    tolerance = COARSE_ERRORS.get(case["id"]) or next(
        t for above, t in STANDARD_ERROR if fit.shape > above
    )
    for name, error in case["extRemes_careful"]["se"].items():
        assert fit.std_error[name] == pytest.approx(error, rel=tolerance), name


@pytest.mark.parametrize("package", ["extRemes", "evd"])
def test_plain_packages_are_never_better(case: dict[str, Any], fit: EvtFit, package: str) -> None:
    plain = case[package]
    if not plain["ok"]:
        return  # the package failed
    excess = plain["nllh"] - fit.nll
    assert excess > -NEVER_BETTER
    assert (excess > FOUND_IT) == ((case["id"], package) in WORSE), excess
    if excess > FOUND_IT:
        assert excess > WORSE[case["id"], package]
    elif fit.regular:
        for name, value in params_of(plain["par"]).items():
            assert abs(fit.params[name] - value) < NEAR * fit.std_error[name], name


def test_profile_intervals_of_return_levels(case: dict[str, Any], fit: EvtFit) -> None:
    compared = 0
    for m, recorded in zip(case["return_period"], case["evd_quantile"], strict=True):
        fine = recorded.get("profile_fine", {})
        if not fine.get("ok") or None in fine["ci"] or recorded["nllh"] - fit.nll > 1e-5:
            continue
        if recorded["se"]["quantile"] > 2.0 * fit.return_level(m).std_error:
            continue  # evd's mesh, a share of its standard error, is too coarse
        low, high = fine["ci"]
        interval = fit.return_level(m).confidence_interval
        assert abs(interval.low - low) < PROFILE * (high - low), m
        assert abs(interval.high - high) < PROFILE * (high - low), m
        compared += 1
    assert compared >= 2 or case["id"] in ("gev_hard_tiny_scale", "gev_hard_shape+0.80")


def test_profile_intervals_of_the_parameters(case: dict[str, Any], fit: EvtFit) -> None:
    plain = case["evd"]
    if not plain["ok"] or not fit.regular:
        return  # evd has no interval that contains its own estimate here
    for ours, theirs in (("location", "loc"), ("scale", "scale"), ("shape", "shape")):
        recorded = plain[f"profile_{theirs}"]
        if not recorded["ok"] or None in recorded["ci"]:
            continue
        low, high = recorded["ci"]
        interval = fit.interval(ours)
        assert abs(interval.low - low) < PROFILE * (high - low), ours
        assert abs(interval.high - high) < PROFILE * (high - low), ours


def test_lmoments(case: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fit_gev(case["x"], method="lmoments")
    recorded = case["extRemes_lmoments"]
    for name, value in recorded["par"].items():
        assert fit.params[name] == pytest.approx(
            value, rel=LMOMENTS, abs=LMOMENTS * (name != "scale")
        ), name
    levels = [float(fit.quantile(1.0 - 1.0 / m)) for m in case["return_period"]]
    np.testing.assert_allclose(levels, recorded["return_level"], rtol=1e-7)


def test_information_criteria(case: dict[str, Any], fit: EvtFit) -> None:
    if case["extRemes"]["nllh"] - fit.nll < 1e-7:
        assert pytest.approx(case["extRemes"]["AIC"], abs=1e-5) == fit.aic
        assert pytest.approx(case["extRemes"]["BIC"], abs=1e-5) == fit.bic
