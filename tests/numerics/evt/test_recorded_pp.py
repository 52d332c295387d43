"""Every recorded point-process case: R maximises its likelihood, we transform the excesses' fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairstats.numerics.evt import EvtFit, fit_gpd, fit_point_process

from .conftest import case_names, load_case

CASES = case_names("pp")
BLOCKS = {"365.25": 365.25, "500": 500.0}

NEVER_BETTER = 1e-6
FOUND_IT = 1e-6
#: Where a package found the optimum: in standard errors, and relative.
NEAR = 1e-2
STANDARD_ERROR = 1e-3
#: The recorded transform starts from evd's own estimates, which are this near, in standard errors.
TRANSFORM = 5e-3

#: (case, package, block) → what its negative log-likelihood exceeds ours by.
WORSE = {
    ("pp_beta", "extRemes", "365.25"): 3e-3,
    ("pp_beta", "extRemes", "500"): 3e-3,
    ("pp_beta", "evd", "365.25"): 5e-5,
    ("pp_beta", "evd", "500"): 5e-5,
    ("pp_exponential", "evd", "500"): 70.0,
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return load_case(request.param)


def fitted(case: dict[str, Any], block: str) -> EvtFit:
    return fit_point_process(case["x"], case["threshold"], BLOCKS[block])


def test_the_cases_are_there() -> None:
    assert len(CASES) == 4


@pytest.mark.parametrize("block", BLOCKS)
def test_likelihood_is_the_formula(case: dict[str, Any], block: str) -> None:
    """The recorded `nllh_formula`, in plain code."""
    fit = fitted(case, block)
    x = np.array(case["x"])
    u = case["threshold"]
    n = len(case["x"])
    location, scale, shape = fit.params.values()
    t = 1.0 + shape * (x[x > u] - location) / scale
    expected = np.sum(np.log(scale) + (1.0 + 1.0 / shape) * np.log(t))
    expected += n / BLOCKS[block] * (1.0 + shape * (u - location) / scale) ** (-1.0 / shape)
    assert fit.nll == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("package", ["extRemes", "evd"])
def test_plain_packages_are_never_better(case: dict[str, Any], block: str, package: str) -> None:
    plain = case[f"{package}_{'npy' if package == 'extRemes' else 'npp'}{block}"]
    fit = fitted(case, block)
    excess = plain["nllh"] - fit.nll
    assert excess > -NEVER_BETTER
    key = (case["id"], package, block)
    assert (excess > FOUND_IT) == (key in WORSE), excess
    if excess > FOUND_IT:
        assert excess > WORSE[key]
        return
    for ours in fit.params:
        theirs = "loc" if package == "evd" and ours == "location" else ours
        assert abs(fit.params[ours] - plain["par"][theirs]) < NEAR * fit.std_error[ours], ours
        assert fit.std_error[ours] == pytest.approx(plain["se"][theirs], rel=STANDARD_ERROR), ours


@pytest.mark.parametrize("block", BLOCKS)
def test_transform_of_the_excesses(case: dict[str, Any], block: str) -> None:
    fit = fitted(case, block)
    for name, value in case["transform_of_gp_mle"][f"npy{block}"].items():
        assert abs(fit.params[name] - value) < TRANSFORM * fit.std_error[name], name


@pytest.mark.parametrize("block", BLOCKS)
def test_return_levels(case: dict[str, Any], block: str) -> None:
    """A block's 1 − 1/T quantile (extRemes) is the level of b/(−log(1 − 1/T)) observations."""
    if (case["id"], "extRemes", block) in WORSE:
        return  # extRemes did not find the optimum
    fit = fitted(case, block)
    recorded = case[f"extRemes_npy{block}"]["return_level"]
    for period, value in zip(case["return_period"], recorded, strict=True):
        level = fit.return_level(BLOCKS[block] / -np.log1p(-1.0 / period))
        assert abs(level.estimate - value) < 1e-3 * level.std_error


@pytest.mark.parametrize("block_size", [70.0, 365.25, 500.0, 1000.0])
def test_location_is_the_return_level_of_a_block(case: dict[str, Any], block_size: float) -> None:
    """GEV location of the point process = RL(block size), also of the generalised Pareto fit.

    To 1e-10.
    """
    process = fit_point_process(case["x"], case["threshold"], block_size)
    excesses = fit_gpd(case["x"], case["threshold"])
    assert process.location == pytest.approx(process.return_level(block_size).estimate, abs=1e-10)
    assert process.location == pytest.approx(excesses.return_level(block_size).estimate, abs=1e-10)
    interval = process.interval("location")
    level = process.return_level(block_size).confidence_interval
    assert interval.low == pytest.approx(level.low, abs=1e-10)
    assert interval.high == pytest.approx(level.high, abs=1e-10)
