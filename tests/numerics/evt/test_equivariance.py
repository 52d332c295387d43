"""A change of unit or origin changes the answers by it and nothing else.

To 1e-8, whatever the data.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairstats.numerics.evt import EvtFit, fit_gev, fit_gpd, fit_point_process
from fairstats.numerics.evt.distributions import power_ratio

CLOSE = 1e-8

scales = st.floats(-9.0, 9.0).map(lambda e: 10.0**e)
shapes = st.floats(-0.6, 1.5)
seeds = st.integers(0, 2**32 - 1)


def quietly(fit: Any, *args: Any) -> EvtFit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some samples reach the edge ξ = −1
        return fit(*args)  # type: ignore[no-any-return]


def assert_moved(plain: EvtFit, moved: EvtFit, scale: float, origin: float) -> None:
    """Parameters, likelihood and errors of `moved` are those of `plain` in the new unit."""
    size = plain.scale * scale
    assert abs(moved.shape - plain.shape) < CLOSE
    assert abs(moved.scale - size) < CLOSE * size
    if "location" in plain.params:
        assert abs(moved.location - (plain.location * scale + origin)) < CLOSE * size + 1e-12 * abs(
            origin
        )
    jacobian = moved.n_exceedances * np.log(scale)
    assert abs(moved.nll - plain.nll - jacobian) < 1e-7
    assert moved.regular == plain.regular
    if plain.regular:
        units = np.array([1.0 if name == "shape" else scale for name in plain.params])
        expected = plain.covariance * np.outer(units, units)
        error = np.sqrt(np.diag(expected))
        # the end point is next to the largest value for ξ near −1/2: the information divides by the
        # gap
        close = CLOSE * (100 if plain.shape < -0.3 else 1)
        np.testing.assert_allclose(
            (moved.covariance - expected) / np.outer(error, error), 0.0, atol=close
        )


def level_of(fit: EvtFit, m: float) -> np.ndarray:
    level = fit.return_level(m, method="profile")
    return np.array([level.estimate, level.confidence_interval.low, level.confidence_interval.high])


@settings(max_examples=30)
@given(seed=seeds, shape=shapes, scale=scales)
def test_gpd_scale(seed: int, shape: float, scale: float) -> None:
    x = np.asarray(power_ratio(np.random.default_rng(seed).exponential(size=80), np.array(shape)))
    u = float(np.sort(x)[39])
    plain = quietly(fit_gpd, x, u)
    # powers of two move no digit, so that both fits see the same excesses
    scale = 2.0 ** round(np.log2(scale))
    moved = quietly(fit_gpd, x * scale, u * scale)
    assert_moved(plain, moved, scale, 0.0)
    for m in (3.0, 100.0):
        a = level_of(plain, m) * scale
        b = level_of(moved, m)
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-8 * abs(a[0]))


@settings(max_examples=60)
@given(seed=seeds, shape=st.floats(-0.45, 1.5), scale=scales)
def test_gpd_any_scale(seed: int, shape: float, scale: float) -> None:
    """Other factors round the excesses, which moves the fit by as much as that."""
    y = np.asarray(power_ratio(np.random.default_rng(seed).exponential(size=60), np.array(shape)))
    plain = quietly(fit_gpd, y, 0.0)
    moved = quietly(fit_gpd, y * scale, 0.0)
    assert_moved(plain, moved, scale, 0.0)


@settings(max_examples=40)
@given(seed=seeds, shape=st.floats(-0.45, 1.0), scale=scales, origin=st.floats(-100.0, 100.0))
def test_gev_scale_and_origin(seed: int, shape: float, scale: float, origin: float) -> None:
    e = np.random.default_rng(seed).exponential(size=60)
    x = np.asarray(power_ratio(-np.log(e), np.array(shape)))
    plain = quietly(fit_gev, x)
    moved = quietly(fit_gev, (x + origin) * scale)
    if plain.at_boundary:
        assert moved.at_boundary
        return
    size = plain.scale * scale
    assert abs(moved.shape - plain.shape) < CLOSE
    assert abs(moved.scale - size) < CLOSE * size
    assert abs(moved.location - (plain.location + origin) * scale) < CLOSE * size
    assert abs(moved.nll - plain.nll - 60 * np.log(scale)) < 1e-7


@settings(max_examples=30)
@given(seed=seeds, shape=st.floats(-0.4, 0.8), block=st.floats(5.0, 5000.0))
def test_location_is_the_return_level(seed: int, shape: float, block: float) -> None:
    """The identity of the point process, also for blocks with less than one exceedance: 1e-10."""
    x = np.asarray(power_ratio(np.random.default_rng(seed).exponential(size=300), np.array(shape)))
    u = float(np.sort(x)[249])
    process = quietly(fit_point_process, x, u, block)
    if block * process.rate >= 1.0:
        level = quietly(fit_gpd, x, u).return_level(block, method="profile").estimate
        assert abs(process.location - level) < 1e-10 * max(1.0, abs(level))


@settings(max_examples=40)
@given(seed=seeds, shape=shapes, method=st.sampled_from(["mle", "lmoments"]))
def test_order_does_not_matter(seed: int, shape: float, method: str) -> None:
    rng = np.random.default_rng(seed)
    x = np.asarray(power_ratio(rng.exponential(size=60), np.array(shape)))
    u = float(np.sort(x)[29])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = fit_gpd(x, u, method=method)  # type: ignore[arg-type]
        second = fit_gpd(rng.permutation(x), u, method=method)  # type: ignore[arg-type]
    assert first.params == second.params


@settings(max_examples=25)
@given(seed=seeds, shape=st.floats(-0.4, 0.6), m=st.floats(8.0, 1e5))
def test_interval_contains_the_estimate_and_is_where_the_deviance_says(
    seed: int, shape: float, m: float
) -> None:
    x = np.asarray(power_ratio(np.random.default_rng(seed).exponential(size=400), np.array(shape)))
    fit = quietly(fit_gpd, x, float(np.sort(x)[339]))
    level = fit.return_level(m, method="profile")
    assert level.confidence_interval.low < level.estimate < level.confidence_interval.high
    ends = np.array([level.confidence_interval.low, level.estimate, level.confidence_interval.high])
    deviance = fit._profile_likelihood().level_deviance(np.log(m), ends)
    np.testing.assert_allclose(
        deviance, [level.critical_value, 0.0, level.critical_value], atol=1e-5
    )
