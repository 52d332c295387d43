"""Every recorded two-dimensional case: hdrcde::hdr.2d with ash and with ks, under R 4.2.2.

Tolerances are those that the recording asks for: f_α from the given grid 1e-12 relative, averaged
shifted histogram 1e-6 (its weights are single precision in R). Beyond what is asked, our kernel
density equals ks's at its bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairstats.numerics.hdr.bandwidth import plug_in_2d
from fairstats.numerics.hdr.region import hdr

from .conftest import case_names, load_case, load_grid, with_own_kernels

CASES = case_names("hdr2")


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    found = load_case(request.param)
    found["samples"] = np.column_stack([found["x"], found["y"]])
    for method in ("ash", "ks"):
        shape = tuple(found[method]["grid_shape"])
        found[method]["grid"] = load_grid(found["id"], method, (shape[0], shape[1]))
        found[method]["probs"] = 1 - np.array(found[method]["alpha"])
    return found


def test_the_cases_are_there() -> None:
    assert len(CASES) >= 2


@pytest.mark.parametrize("method", ["ash", "ks"])
def test_level_and_mode_from_the_given_grid(case: dict[str, Any], method: str) -> None:
    call = case[method]
    result = hdr(case["samples"], call["probs"], density=call["grid"])
    np.testing.assert_allclose(result.falpha, call["falpha"], rtol=1e-12)
    np.testing.assert_array_equal(result.mode, call["mode"])
    np.testing.assert_allclose(result.modes[0], call["grid_mode"], rtol=1e-12)
    np.testing.assert_allclose(result.mass, call["coverage_of_sample"], rtol=0, atol=1e-12)


def test_area_is_near_the_count_of_cells(case: dict[str, Any]) -> None:
    """The recorded area counts cells whose grid point is above.

    Off by a part of those at the boundary.
    """
    call = case["ks"]
    result = hdr(case["samples"], call["probs"], density=call["grid"])
    np.testing.assert_allclose(result.area, call["area"], rtol=0.01)


def test_averaged_shifted_histogram(case: dict[str, Any]) -> None:
    call = case["ash"]
    result = hdr(case["samples"], call["probs"], estimator="ash", level="in_sample")
    for ours, theirs in zip(result.density[:2], call["grid"][:2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.ptp(theirs))
    np.testing.assert_allclose(
        result.density[2], call["grid"][2], rtol=0, atol=1e-6 * call["grid"][2].max()
    )
    np.testing.assert_allclose(result.falpha, call["falpha"], rtol=1e-6)


def test_kernel_density_at_the_bandwidth_of_ks(case: dict[str, Any]) -> None:
    call = case["ks"]
    result = with_own_kernels(case["samples"], call["probs"], bandwidth=np.sqrt(np.diag(call["H"])))
    for ours, theirs in zip(result.density, call["grid"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.ptp(theirs))
    np.testing.assert_allclose(result.falpha, call["falpha"], rtol=1e-12)


def test_plug_in_is_near_that_of_ks(case: dict[str, Any]) -> None:
    """Hpi.diag has one pilot bandwidth for all functionals, ours one for each.

    They agree to a tenth.
    """
    np.testing.assert_allclose(
        plug_in_2d(case["samples"]), np.sqrt(np.diag(case["ks"]["H"])), rtol=0.1
    )
