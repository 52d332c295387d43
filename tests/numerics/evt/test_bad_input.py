"""Bad data: an error or a warning of ours, never a number that means nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import genextreme

from fairstats.ground.errors import DataWarning, InputError
from fairstats.numerics.evt import (
    choose_threshold,
    empirical_return_level,
    exponentiality_test,
    fit_gev,
    fit_gpd,
    fit_point_process,
    mean_residual_life,
    tail_type,
    threshold_stability,
)
from fairstats.numerics.evt.bootstrap import fit_maxima_batch

RNG = np.random.default_rng(1)
X = RNG.exponential(size=500)


def process(x: Any, threshold: Any) -> Any:
    return fit_point_process(x, threshold, 100.0)


#: Data, threshold, and a word of the error.
BAD_SERIES = {
    "constant above": (np.r_[np.zeros(50), np.full(50, 3.0)], 1.0, "all equal"),
    "constant": (np.full(100, 2.0), 1.0, "all equal"),
    "constant but for rounding": (np.full(100, 1e6) + 1e-9 * RNG.random(100), 1.0, "all equal"),
    "nine exceedances": (np.arange(100.0), 90.0, "9 of the 100"),
    "all below": (X, 1000.0, "none of the 500"),
    "threshold at the maximum": (X, X.max(), "none of the 500"),
    "NaN": (np.r_[X, np.nan], 1.0, "1 NaN"),
    "infinite": (np.r_[X, np.inf, -np.inf], 1.0, "2 NaN or infinite"),
    "two columns": (X.reshape(250, 2), 1.0, "shape"),
    "a number": (3.0, 1.0, "shape"),
    "empty": (np.array([]), 1.0, "none of the 0"),
    "text": (np.array(["a", "b"]), 1.0, "type"),
    "dates": (np.array(["2024-01-01"], dtype="datetime64[D]"), 1.0, "type"),
    "complex": (X + 1j, 1.0, "type"),
    "masked": (np.ma.masked_greater(X, 2.0), 1.0, "masked"),
    "overflowing": (X * 1e200, 1e200, "1e+100"),
    "threshold NaN": (X, np.nan, "threshold"),
    "threshold text": (X, "high", "threshold"),
    "threshold missing": (X, None, "threshold"),
}


@pytest.mark.parametrize("fit", [fit_gpd, process])
@pytest.mark.parametrize("name", BAD_SERIES)
def test_bad_series(fit: Callable[..., Any], name: str) -> None:
    x, threshold, word = BAD_SERIES[name]
    with pytest.raises(InputError, match=word.replace("+", r"\+")):
        fit(x, threshold)


@pytest.mark.parametrize(
    ("maxima", "word"),
    [
        (np.full(30, 2.0), "all equal"),
        (np.arange(9.0), "9 values"),
        (np.r_[np.arange(20.0), np.nan], "NaN"),
        (np.ones((4, 5)), "shape"),
        ([], "0 values"),
    ],
)
def test_bad_maxima(maxima: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        fit_gev(maxima)


@pytest.mark.parametrize("block_size", [0, -1.0, np.nan, np.inf, "year", None])
def test_bad_block_size(block_size: Any) -> None:
    with pytest.raises(InputError, match="block_size"):
        fit_point_process(X, 1.0, block_size)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "gmle"},
        {"method": None},
        {"confidence_level": 1.0},
        {"confidence_level": 95},
        {"backend": "python"},
    ],
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        fit_gpd(X, 1.0, **options)


@pytest.mark.parametrize("scale", [1e-9, 1e9, 1e-90, 1e90])
def test_tiny_and_huge_scales_fit(scale: float) -> None:
    """Shape and relative errors do not depend on the unit."""
    plain = fit_gpd(X, 1.0)
    scaled = fit_gpd(X * scale, scale)
    assert scaled.shape == pytest.approx(plain.shape, abs=1e-8)
    assert scaled.scale == pytest.approx(plain.scale * scale, rel=1e-8)
    assert scaled.std_error["shape"] == pytest.approx(plain.std_error["shape"], rel=1e-8)
    maxima = X[:100]
    small = fit_gev(maxima)
    large = fit_gev(maxima * scale)
    assert large.shape == pytest.approx(small.shape, abs=1e-8)
    assert large.std_error["location"] == pytest.approx(
        small.std_error["location"] * scale, rel=1e-7
    )


def test_ties_are_said() -> None:
    with pytest.warns(DataWarning, match="distinct values"):
        fit_gpd(np.round(X, 0), 0.5, grid=None)
    with pytest.warns(DataWarning, match="distinct values"):
        fit_gev(np.round(np.random.default_rng(2).gumbel(size=100), 0))


def test_a_tail_that_reaches_its_end_is_said() -> None:
    """Uniform data: no maximum with ξ > −1. A warning, ξ = −1, and no standard errors."""
    x = (np.arange(400) + 0.5) / 400
    with pytest.warns(DataWarning, match="largest value"):
        fit = fit_gpd(x, 0.9)
    assert fit.at_boundary
    assert not fit.regular
    assert fit.shape == -1.0
    assert fit.scale == pytest.approx(x.max() - 0.9, rel=1e-12)
    assert np.isnan(fit.covariance).all()
    assert fit.endpoint(method="profile").estimate == x.max()
    assert "largest value" in fit.summary()
    with pytest.raises(InputError, match="delta"):
        fit.return_level(200, method="delta")
    low, high = fit.return_level(200).confidence_interval
    assert 0.9 < low < high < 1.1
    with pytest.warns(DataWarning, match="largest value"):
        block = fit_gev(np.log((np.arange(40) + 0.5) / 40))
    assert block.shape == -1.0
    assert block.at_boundary


#: Five ties at the smallest value of a heavy tail; eleven distinct values of a very heavy one.
NO_MAXIMUM = {
    "tied": [22.3] * 5
    + [22.4, 22.4, 22.5, 22.9, 22.9, 23.2, 23.3, 23.9, 24.1, 24.2, 24.3, 24.6, 25.5, 36.1]
    + [40.9, 41.0, 92.7, 169.1, 329.0, 379.2],
    "heavy": [0.2, 0.21, 0.23, 0.3, 0.5, 1.1, 3.2, 11.0, 60.0, 400.0, 5000.0],
}


@pytest.mark.parametrize("name", NO_MAXIMUM)
def test_maxima_whose_likelihood_has_no_maximum_are_refused(name: str) -> None:
    """It rises towards ever heavier tails: ξ = −1, the other end, would mean nothing.

    L-moments exist.

    Witness: along ξ = log(1/σ), μ = smallest value, the density at that value grows like 1/σ.
    """
    x = np.array(NO_MAXIMUM[name])
    with pytest.raises(InputError, match="no maximum"):
        fit_gev(x)
    edge = np.log(x.max() - x.mean()) * x.size + x.size  # the best point with ξ = −1
    spikes = [
        -genextreme.logpdf(x, -np.log(1 / s), loc=x.min(), scale=s).sum()
        for s in (1e-2, 1e-10, 1e-40, 1e-120)
    ]
    assert spikes[-1] < spikes[-2] < spikes[-3]
    assert spikes[-1] < edge
    assert np.isfinite(fit_gev(x, method="lmoments").scale)


def test_resamples_without_a_maximum_are_left_out() -> None:
    """Resamples of few maxima have ties.

    Those without a maximum would count as ξ = −1, too short a tail.
    """
    e = np.random.default_rng(3).exponential(size=14)
    fit = fit_gev((e**-0.8 - 1) / 0.8)
    rows = np.random.default_rng(1).integers(0, 14, size=(400, 14))
    location, scale, shape = fit_maxima_batch(fit.sample[rows], "mle")
    assert 0.01 < np.isnan(shape).mean() < 0.5
    assert np.isnan(location[np.isnan(shape)]).all()
    assert np.isnan(scale[np.isnan(shape)]).all()
    for method in ({"method": "bootstrap"}, {"calibrated": True}):
        level = fit.return_level(50, n_resamples=199, rng=1, **method)
        assert level.confidence_interval.low < level.estimate < level.confidence_interval.high
    assert 0 < fit.goodness_of_fit(n_resamples=99, rng=1).pvalue <= 1


def test_irregular_shapes_have_likelihood_intervals_only() -> None:
    e = np.random.default_rng(4).exponential(size=4000)
    x = -np.expm1(-0.65 * e) / 0.65
    fit = fit_gpd(x, float(np.quantile(x, 0.9)))
    assert -1 < fit.shape < -0.5
    assert not fit.regular
    assert not fit.at_boundary
    with pytest.raises(InputError, match="method='profile'"):
        fit.return_level(1000, method="delta")
    level = fit.return_level(1000)
    assert np.isnan(level.std_error)
    assert level.confidence_interval.low < level.estimate < level.confidence_interval.high
    assert fit.to_frame()["std_error"].isna().all()


@pytest.mark.parametrize("m", [0, -5, np.nan, np.inf, "many", None, 500 / 180 * 0.5])
def test_bad_periods(m: Any) -> None:
    with pytest.raises(InputError, match="`m`"):
        fit_gpd(X, 1.0).return_level(m)


@pytest.mark.parametrize("m", [1.0, 0.5, 0, np.nan])
def test_bad_block_periods(m: Any) -> None:
    with pytest.raises(InputError, match="`m`"):
        fit_gev(X[:50]).return_level(m)


def test_at_least_one_exceedance_in_m_is_needed() -> None:
    """m·λ ≥ 1: the level is the threshold at 1, refused below, and the error names the empirical
    quantile.
    """
    fit = fit_gpd(X, 1.0)
    once = fit.n_total / fit.n_exceedances
    assert fit.return_level(once).estimate == pytest.approx(1.0, abs=1e-12)
    low, high = fit.return_level(once * 1.0001).confidence_interval
    assert low < 1.0 < high  # the rate is uncertain: the level may lie below the threshold
    with pytest.raises(InputError, match="empirical_return_level"):
        fit.return_level(once * 0.999)
    below = empirical_return_level(X, once * 0.5)
    assert (
        below.confidence_interval.low
        < below.estimate
        < below.confidence_interval.high
        < fit.return_level(once).estimate
    )


@pytest.mark.parametrize(
    "question",
    [
        lambda fit: fit.return_level(500, method="exact"),
        lambda fit: fit.return_level(500, rate="known"),
        lambda fit: fit.return_level(500, confidence_level=0),
        lambda fit: fit.return_level(500, method="bootstrap", n_resamples=5),
        lambda fit: fit.return_level(500, method="bootstrap", rng="seed"),
        lambda fit: fit.exceedance_probability(0.5),
        lambda fit: fit.exceedance_probability(np.nan),
        lambda fit: fit.profile("location"),
        lambda fit: fit.profile("tail"),
        lambda fit: fit.goodness_of_fit("kolmogorov"),
        lambda fit: fit.endpoint(confidence_level=2.0),
        lambda fit: tail_type(fit, bound=1.0),
        lambda fit: tail_type(fit, max_relative_width=0.0),
        lambda fit: tail_type(fit_gev(X[:50])),
    ],
)
def test_bad_questions(question: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError):
        question(fit_gpd(X, 1.0))


def test_lmoments_have_no_likelihood_intervals() -> None:
    fit = fit_gpd(X, 1.0, method="lmoments")
    for question in (
        lambda: fit.return_level(500),
        lambda: fit.exceedance_probability(3.0),
        lambda: fit.endpoint(),
        lambda: fit.profile(),
        lambda: tail_type(fit),
        lambda: fit.test_return_level(500, 5.0),
    ):
        with pytest.raises(InputError, match="mle"):
            question()


def test_lmoments_beyond_the_data_are_said() -> None:
    """An L-moment fit whose end point lies below the data has likelihood 0, and the warning says
    so.
    """
    x = np.r_[np.zeros(20), 1.0 + np.random.default_rng(5).beta(0.3, 0.2, size=40)]
    with pytest.warns(DataWarning, match="end point"):
        fit = fit_gpd(x, 0.5, method="lmoments")
    assert fit.nll == np.inf


@pytest.mark.parametrize(
    "call",
    [
        lambda: mean_residual_life(X[:15]),
        lambda: mean_residual_life(X, [100.0]),
        lambda: mean_residual_life(X, []),
        lambda: mean_residual_life(np.full(100, 1.0)),
        lambda: threshold_stability(X, [1.0, np.nan]),
        lambda: threshold_stability(X, n_thresholds=1),
        lambda: exponentiality_test(X[:50]),
        lambda: exponentiality_test(np.full(100, 1.0)),
        lambda: exponentiality_test(X, k_min=1),
        lambda: exponentiality_test(X, k_min=60),
        lambda: exponentiality_test(X, rule="paper"),
        lambda: exponentiality_test(X, confidence_level=5),
        lambda: exponentiality_test(X, max_looks=0),
        lambda: choose_threshold(X, method="automatic"),
        lambda: choose_threshold(X, method="k_largest", k=5),
        lambda: choose_threshold(X, method="k_largest", k=500),
        lambda: choose_threshold(X, false_discovery_rate=0),
        lambda: choose_threshold(np.r_[X, np.nan]),
        lambda: empirical_return_level(X, 1.0),
        lambda: empirical_return_level(X[:5], 2.0),
    ],
)
def test_bad_diagnostics(call: Callable[[], Any]) -> None:
    with pytest.raises(InputError):
        call()


def test_x_is_not_changed() -> None:
    before = X.copy()
    fit_gpd(X, 1.0).return_level(500, method="bootstrap", n_resamples=50, rng=1)
    threshold_stability(X)
    np.testing.assert_array_equal(X, before)


def test_lists_integers_and_frames_columns_are_taken() -> None:
    import pandas as pd

    integers = np.random.default_rng(6).geometric(0.001, size=300)
    fit = fit_gpd(integers, 1000)
    assert fit_gpd(integers.tolist(), 1000).params == fit.params
    assert fit_gpd(pd.Series(integers), 1000).params == fit.params
