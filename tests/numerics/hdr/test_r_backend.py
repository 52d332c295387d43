"""hdrcde, ks, ash and R's density through the door, against the SciPy twin and the recorded
cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairstats.ground.errors import BackendError, DataWarning
from fairstats.numerics.hdr import r_backend, region, scipy_backend
from fairstats.numerics.hdr.grids import Curve, Surface
from fairstats.numerics.hdr.region import hdr

from .conftest import case_names, load_case, load_grid

PROBS = np.array([0.9, 0.5, 0.99, 0.005, 0.2])


@pytest.fixture
def line() -> np.ndarray:
    rng = np.random.default_rng(4)
    return np.concatenate([rng.normal(size=300), rng.normal(6, 0.5, 200)])


@pytest.fixture
def plane() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.normal(size=(400, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])


@pytest.mark.r
@pytest.mark.parametrize("size", [101, 512, 1001])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_density_1d(line: np.ndarray, size: int, scale: float) -> None:
    x = line * scale
    ours, theirs = (
        b.density_1d(x, 0.3 * scale, -4.0 * scale, 9.0 * scale, size)
        for b in (scipy_backend, r_backend)
    )
    np.testing.assert_allclose(ours.grid, theirs.grid, rtol=0, atol=1e-12 * np.ptp(ours.grid))
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-12 * ours.values.max())


@pytest.mark.r("ks")
@pytest.mark.parametrize("n", [400, 50])
def test_density_2d(plane: np.ndarray, n: int) -> None:
    x = plane[:n]
    low = x.min(0) - 1
    high = x.max(0) + 1
    arguments = (x, np.array([0.3, 0.25]), low, high, (61, 81))
    ours, theirs = (b.density_2d(*arguments) for b in (scipy_backend, r_backend))
    np.testing.assert_allclose(ours.x, theirs.x, rtol=0, atol=1e-12 * np.ptp(ours.x))
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-12 * ours.values.max())


@pytest.mark.r_extra("hdrcde", "ash")
def test_shifted_histogram(plane: np.ndarray) -> None:
    low = plane.min(0) - 0.5
    high = plane.max(0) + 0.5
    ours, theirs = (b.shifted_histogram(plane, low, high) for b in (scipy_backend, r_backend))
    np.testing.assert_allclose(ours.y, theirs.y, rtol=0, atol=1e-12 * np.ptp(ours.y))
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-6 * ours.values.max())


@pytest.mark.r_extra("hdrcde")
@pytest.mark.parametrize("probs", [PROBS, PROBS[:1], np.array([0.005]), np.array([0.3, 0.4])])
def test_levels_1d(line: np.ndarray, probs: np.ndarray) -> None:
    curve = scipy_backend.density_1d(line, 0.3, -5.0, 9.0, 512)
    ours, theirs = (b.levels(curve, line, probs) for b in (scipy_backend, r_backend))
    np.testing.assert_allclose(theirs.falpha, ours.falpha, rtol=1e-12)
    np.testing.assert_allclose(theirs.at_samples, ours.at_samples, rtol=1e-12)


@pytest.mark.r_extra("hdrcde")
def test_levels_1d_with_samples_outside_the_grid(line: np.ndarray) -> None:
    curve = Curve(np.linspace(0, 7, 50), np.ones(50) / 7)
    ours, theirs = (b.levels(curve, line, PROBS) for b in (scipy_backend, r_backend))
    np.testing.assert_allclose(theirs.falpha, ours.falpha, rtol=1e-12)
    np.testing.assert_allclose(theirs.at_samples, ours.at_samples, rtol=1e-12)


@pytest.mark.r_extra("hdrcde")
@pytest.mark.parametrize("probs", [PROBS, np.array([0.3]), np.array([0.005])])
@pytest.mark.parametrize("margin", [1.0, -0.5])
def test_levels_2d(plane: np.ndarray, probs: np.ndarray, margin: float) -> None:
    low = plane.min(0) - margin
    high = plane.max(0) + margin
    surface = scipy_backend.density_2d(plane, np.array([0.3, 0.3]), low, high, (51, 61))
    ours, theirs = (b.levels(surface, plane, probs) for b in (scipy_backend, r_backend))
    np.testing.assert_allclose(theirs.falpha, ours.falpha, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(theirs.at_samples, ours.at_samples, rtol=1e-12, atol=1e-15)


def test_uneven_grid_is_not_given_to_hdrcde(plane: np.ndarray) -> None:
    x = np.array([-5.0, -1.0, 0.0, 5.0])
    surface = Surface(x, x, np.outer(np.exp(-x * x), np.exp(-x * x)))
    with pytest.raises(BackendError, match="equally spaced"):
        r_backend.levels(surface, plane, PROBS)


def test_the_result_says_who_read_an_uneven_grid(
    plane: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R cannot: SciPy finds the level, a warning says so, and `backend` names SciPy, not hdrcde."""
    monkeypatch.setattr(region, "_choose_kernel", lambda *args: r_backend)
    monkeypatch.setattr(r_backend, "version", lambda: "r: hdrcde")
    x = np.concatenate([np.linspace(-6.0, 0.0, 40), np.linspace(0.1, 6.0, 80)])
    density = (x, x, np.exp(-0.5 * (x[:, None] ** 2 + x**2)) / (2 * np.pi))
    with pytest.warns(DataWarning, match=r"equally spaced.*SciPy") as record:
        found = hdr(plane, 0.9, density=density)
    assert len(record) == 1
    assert record[0].filename == __file__
    assert found.backend == scipy_backend.version()
    twin = scipy_backend.levels(Surface(*density), plane, np.array([0.9]))
    assert found.falpha == twin.falpha[0]


def recorded_calls() -> list[Any]:
    return [
        pytest.param(name, block, id=f"{name}-{block}")
        for name in case_names("hdr1")
        for block in ("sample_call", "fixed_bandwidth", "x_and_den")
    ]


@pytest.mark.rpy2
@pytest.mark.r_extra("hdrcde")
@pytest.mark.parametrize(("name", "block"), recorded_calls())
def test_recorded_cases_on_a_line(name: str, block: str) -> None:
    case = load_case(name)
    call = case[block]
    probs = [level["prob"] for level in call["levels"]]
    if block == "x_and_den":
        how: dict[str, Any] = {"density": (call["density_x"], call["density_y"])}
    else:
        how = {
            "bandwidth": case["bandwidth"]["h"] if block == "sample_call" else call["h"],
            "level": "in_sample",
        }
    x = np.array(case["x"])
    result = hdr(x, probs, backend="r", **how)
    twin = hdr(x, probs, **how)
    assert result.backend.startswith("r: hdrcde")
    np.testing.assert_allclose(
        result.falpha, [level["falpha"] for level in call["levels"]], rtol=1e-12
    )
    np.testing.assert_allclose(result.falpha, twin.falpha, rtol=1e-12)
    for ours, theirs in zip(result.density, twin.density, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


@pytest.mark.rpy2
@pytest.mark.r_extra("hdrcde", "ks", "ash")
@pytest.mark.parametrize("name", case_names("hdr2"))
@pytest.mark.parametrize("method", ["ash", "ks"])
def test_recorded_cases_in_the_plane(name: str, method: str) -> None:
    case = load_case(name)
    call = case[method]
    samples = np.column_stack([case["x"], case["y"]])
    probs = 1 - np.array(call["alpha"])
    how = (
        {"estimator": "ash"}
        if method == "ash"
        else {"bandwidth": np.sqrt(np.diag(np.array(call["H"])))}
    )
    how["level"] = "in_sample"
    result = hdr(samples, probs, backend="r", **how)
    twin = hdr(samples, probs, **how)
    # REFERENCE: a level from a given grid 1e-12, a density by ash 1e-6
    tolerance = 1e-6 if method == "ash" else 1e-12
    np.testing.assert_allclose(result.falpha, call["falpha"], rtol=1e-12)
    np.testing.assert_allclose(result.falpha, twin.falpha, rtol=tolerance)
    grid = load_grid(name, method, tuple(call["grid_shape"]))
    given = hdr(samples, probs, density=grid, backend="r")
    np.testing.assert_allclose(given.falpha, call["falpha"], rtol=1e-12)
    for made in (result, twin):
        np.testing.assert_allclose(made.density[2], grid[2], rtol=0, atol=tolerance * grid[2].max())
    np.testing.assert_allclose(twin.area, result.area, rtol=tolerance)
    np.testing.assert_array_equal(given.mode, call["mode"])


@pytest.mark.rpy2
@pytest.mark.r_extra("hdrcde", "ks", "ash")
@pytest.mark.parametrize("level", ["leave_one_out", "in_sample"])
@pytest.mark.parametrize("case", ["line", "line with a bound", "plane", "histogram"])
def test_both_back_ends_give_one_answer(
    case: str, level: str, line: np.ndarray, plane: np.ndarray
) -> None:
    """The front end says which density judges a draw: levels, ends and areas to 1e-12, of a
    histogram, whose weights R holds in single precision, to 1e-6."""
    how: dict[str, Any] = {"level": level}
    draws = line if case.startswith("line") else plane
    if case == "line with a bound":
        draws = np.abs(line)
        how["support"] = (0.0, None)
    if case == "histogram":
        how["estimator"] = "ash"
    theirs = hdr(draws, [0.5, 0.95], backend="r", **how)
    ours = hdr(draws, [0.5, 0.95], backend="scipy", **how)
    assert theirs.backend.startswith("r: hdrcde")
    tolerance = 1e-6 if case == "histogram" else 1e-12
    np.testing.assert_allclose(theirs.falpha, ours.falpha, rtol=tolerance)
    if case.startswith("line"):
        for mine, other in zip(ours.intervals, theirs.intervals, strict=True):
            np.testing.assert_allclose(other, mine, rtol=0, atol=tolerance * np.ptp(draws))
    else:
        np.testing.assert_allclose(theirs.area, ours.area, rtol=tolerance)
        np.testing.assert_array_equal(theirs.mode, ours.mode)
    assert theirs.mass == ours.mass


@pytest.mark.rpy2
@pytest.mark.r_extra("hdrcde")
def test_thirty_normal_draws_have_one_region() -> None:
    """D16: SciPy gave [-1.82, 2.19] and R [-1.62, 1.93], for R counted each draw's own kernel."""
    draws = np.random.default_rng(0).normal(size=30)
    ours, theirs = (hdr(draws, 0.95, backend=backend).intervals for backend in ("scipy", "r"))
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12 * np.ptp(draws))
