"""Every recorded one-dimensional case: stats::density and hdrcde::hdr under R 4.2.2, hdrcde 3.5.0.

Tolerances are those that the recording asks for: density at given h 1e-12 of its maximum, f_α 1e-12
relative, ends 1e-9 of the range against exact crossings; hdrcde's own ends, found by uniroot, to
1.3e-4 absolute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairstats.numerics.hdr.bandwidth import robust_scale
from fairstats.numerics.hdr.region import hdr

from .conftest import case_names, load_case, with_own_kernels

CASES = case_names("hdr1")
#: All but the case whose spread is below uniroot's absolute tolerance, where hdrcde's own ends mean
#: nothing.
HDRCDE_FINDS = [name for name in CASES if "tiny_scale" not in name]


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return load_case(request.param)


def test_the_cases_are_there() -> None:
    assert len(CASES) >= 8


def recorded(case: dict[str, Any], block: str) -> tuple[dict[str, Any], list[float], Any]:
    """A recorded call, its probabilities, and our result for the same call."""
    call = case[block]
    probs = [level["prob"] for level in call["levels"]]
    samples = np.array(case["x"])
    if block == "x_and_den":
        return call, probs, hdr(samples, probs, density=(call["density_x"], call["density_y"]))
    h = case["bandwidth"]["h"] if block == "sample_call" else call["h"]
    return call, probs, with_own_kernels(samples, probs, bandwidth=h)


@pytest.mark.parametrize("block", ["sample_call", "fixed_bandwidth"])
def test_density(case: dict[str, Any], block: str) -> None:
    call, _, result = recorded(case, block)
    grid = np.array(call["density_x"])
    values = np.array(call["density_y"])
    np.testing.assert_allclose(result.density[0], grid, rtol=0, atol=1e-12 * np.ptp(grid))
    np.testing.assert_allclose(result.density[1], values, rtol=0, atol=1e-12 * values.max())


@pytest.mark.parametrize("block", ["sample_call", "fixed_bandwidth", "x_and_den"])
def test_level_and_mode(case: dict[str, Any], block: str) -> None:
    call, _, result = recorded(case, block)
    np.testing.assert_allclose(
        result.falpha, [level["falpha"] for level in call["levels"]], rtol=1e-12
    )
    assert result.mode == pytest.approx(call["mode"][0], rel=1e-12)


@pytest.mark.parametrize("block", ["sample_call", "x_and_den"])
def test_ends_are_the_exact_crossings(case: dict[str, Any], block: str) -> None:
    call, probs, result = recorded(case, block)
    span = np.ptp(call["density_x"])
    for tail, crossings in call["exact_crossings_of_same_falpha"].items():
        k = int(np.abs(np.array(probs) - (1 - float(tail[:-1]) / 100)).argmin())
        np.testing.assert_allclose(result.intervals[k].ravel(), crossings, rtol=0, atol=1e-9 * span)


@pytest.mark.parametrize("name", HDRCDE_FINDS)
@pytest.mark.parametrize("block", ["sample_call", "fixed_bandwidth", "x_and_den"])
def test_ends_are_near_those_of_hdrcde(name: str, block: str) -> None:
    """hdrcde scans 100 steps for sign changes.

    Gaps narrower than that are closed before comparing.
    """
    call, _, result = recorded(load_case(name), block)
    scan = np.ptp(call["density_x"]) / 100
    for level, intervals in zip(call["levels"], result.intervals, strict=True):
        wide = intervals[1:, 0] - intervals[:-1, 1] > scan
        seen = np.column_stack(
            [intervals[np.append(True, wide), 0], intervals[np.append(wide, True), 1]]
        )
        np.testing.assert_allclose(seen, level["intervals"], rtol=0, atol=1.3e-4)


def test_hdrcde_loses_the_region_at_tiny_scale_and_we_do_not() -> None:
    call, _, result = recorded(load_case("hdr1_hard_tiny_scale"), "sample_call")
    for level, intervals in zip(call["levels"], result.intervals, strict=True):
        theirs = np.array(level["intervals"])
        assert np.shape(theirs) != np.shape(intervals) or np.abs(theirs - intervals).max() > 1e-8
    np.testing.assert_allclose([region.mass for region in result.regions], result.prob, atol=1e-3)


def test_density_without_samples_is_exact(case: dict[str, Any]) -> None:
    """Witness: a resampling of the same grid density at 2·10⁵ points, whose step is the
    tolerance.
    """
    call, probs, _ = recorded(case, "x_and_den")
    grid = np.array(call["density_x"])
    values = np.array(call["density_y"])
    result = hdr(prob=probs, density=(grid, values))
    truth = case["own_exact_of_grid_density"]
    for intervals, crossings in zip(result.intervals, truth["crossings"], strict=True):
        np.testing.assert_allclose(intervals.ravel(), crossings, rtol=0, atol=np.ptp(grid) / 2e5)
    np.testing.assert_allclose(result.falpha, truth["falpha"], rtol=1e-4)
    np.testing.assert_allclose(result.mass, probs, rtol=0, atol=1e-12)


def test_hdrcde_is_random_where_ours_is_exact(case: dict[str, Any]) -> None:
    """With 10⁶ draws hdrcde comes closer to our exact level than with its default 5,000, or to
    0.5%.
    """
    call, probs, _ = recorded(case, "x_and_den")
    exact = np.array(hdr(prob=probs, density=(call["density_x"], call["density_y"])).falpha)
    off = {
        draws: np.abs(np.array([level["falpha"] for level in case[draws]["levels"]]) / exact - 1)
        for draws in ("den_only_nn5000", "den_only_nn1e6")
    }
    assert np.median(off["den_only_nn1e6"]) <= max(0.005, float(np.median(off["den_only_nn5000"])))


def test_bandwidth_rule_of_thumb(case: dict[str, Any]) -> None:
    """Witness: R's bw.nrd0."""
    samples = np.array(case["x"])
    rule_of_thumb = 0.9 * robust_scale(samples) * samples.size**-0.2
    assert rule_of_thumb == pytest.approx(case["fixed_bandwidth"]["h"], rel=1e-12)


def test_normal_halfwidths() -> None:
    """hdrcde's analytic truth for N(0, 1), within four Monte Carlo errors."""
    case = load_case("hdr1_normal")
    probs = [level["prob"] for level in case["sample_call"]["levels"]]
    result = hdr(np.array(case["x"]), probs, bandwidth=case["bandwidth"]["h"])
    for prob, half in zip(
        probs, case["analytic_truth"]["halfwidths_by_prob_99_95_90_80_50"], strict=True
    ):
        region = result.regions[probs.index(prob)]
        away = np.abs(region.intervals - [[-half, half]])
        assert (away < 4 * region.errors).all()
