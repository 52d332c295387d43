"""What a fit says of itself and answers: table, notes, dictionary, intervals, tests, bootstrap."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import genpareto, quantile_test

from fairstats.ground.errors import InputError
from fairstats.ground.results import TIDY_COLUMNS
from fairstats.numerics.evt import (
    EvtFit,
    ReturnLevel,
    empirical_return_level,
    fit_gev,
    fit_gpd,
    fit_point_process,
)
from fairstats.numerics.evt.bootstrap import resample_exceedances, values_a_bootstrap_reaches
from fairstats.numerics.evt.likelihood import block_scale_end
from fairstats.results import ReturnLevels

from .conftest import gpd_series

X = gpd_series(np.random.default_rng(1), 0.1, 3000)
U = 2.5


@pytest.fixture(scope="module")
def gpd() -> EvtFit:
    return fit_gpd(X, U, backend="scipy")


@pytest.fixture(scope="module")
def process() -> EvtFit:
    return fit_point_process(X, U, 365.0, backend="scipy")


@pytest.fixture(scope="module")
def gev() -> EvtFit:
    return fit_gev(X.reshape(100, 30).max(axis=1), backend="scipy")


@pytest.fixture(params=["gpd", "process", "gev"])
def fit(request: pytest.FixtureRequest) -> EvtFit:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def test_table(fit: EvtFit) -> None:
    frame = fit.to_frame()
    assert list(frame.columns[:3]) == ["parameter", "estimate", "std_error"]
    assert set(TIDY_COLUMNS) <= set(frame.columns)
    assert list(frame["parameter"]) == list(fit.params)
    assert (frame["ci_low"] < frame["estimate"]).all()
    assert (frame["estimate"] < frame["ci_high"]).all()
    assert (frame["backend"] == fit.backend).all()
    assert fit.backend.startswith("scipy")


def test_summary_names_what_matters(fit: EvtFit) -> None:
    text = fit.summary()
    assert "heavy tail" in text
    assert "AIC" in text
    assert str(fit) == text
    assert "shape" in fit._repr_html_()


def test_dictionary_round_trip(fit: EvtFit) -> None:
    data = json.loads(json.dumps(fit.to_dict()))
    back = EvtFit.from_dict(data)
    assert back.params == fit.params
    np.testing.assert_array_equal(back.covariance, fit.covariance)
    np.testing.assert_array_equal(back.sample, fit.sample)
    assert back.return_level(100).confidence_interval == fit.return_level(100).confidence_interval
    assert len(back.sample) == fit.n_exceedances  # exceedances, not the series
    level = fit.return_level(100)
    assert ReturnLevel.from_dict(json.loads(json.dumps(level.to_dict()))) == level


def test_a_fit_read_back_has_no_series_to_resample(gpd: EvtFit) -> None:
    with pytest.raises(InputError, match="series"):
        EvtFit.from_dict(gpd.to_dict()).return_level(1000, method="bootstrap")


def test_distribution_of_the_fit(gpd: EvtFit) -> None:
    law = genpareto(gpd.shape, loc=U, scale=gpd.scale)
    x = np.array([2.6, 4.0, 9.0])
    np.testing.assert_allclose(gpd.cdf(x), law.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(gpd.sf(x), law.sf(x), rtol=1e-12)
    for p in ([0.1, 0.5, 0.99], [0.0, 1.0]):
        np.testing.assert_allclose(gpd.quantile(p), law.ppf(p), rtol=1e-12)
    assert gpd.nll == pytest.approx(-law.logpdf(gpd.sample).sum(), abs=1e-9)
    assert gpd.loglik == -gpd.nll
    assert np.isnan(gpd.location)


def test_return_level_is_the_quantile(fit: EvtFit) -> None:
    """P(X > RL(m)) = 1/m, by the exceedance probability of the same fit."""
    for m in (40.0, 1000.0):
        level = fit.return_level(m)
        assert fit.exceedance_probability(level.estimate).estimate == pytest.approx(1.0 / m, rel=1e-9)
        assert level.to_frame()["m"].tolist() == [m]


@pytest.mark.parametrize("settings", [{}, {"method": "delta"}, {"method": "bootstrap", "n_resamples": 50}])
def test_several_levels_are_the_single_ones(fit: EvtFit, settings: dict) -> None:
    """To 1e-12: a likelihood that was asked before starts its searches elsewhere."""
    several = fit.return_level([100, 1000.0], rng=3, **settings)
    each = [fit.return_level(m, rng=3, **settings) for m in (100, 1000)]
    for one, other in zip(several.levels, each, strict=True):
        assert list(one.confidence_interval) == pytest.approx(list(other.confidence_interval), rel=1e-12)
        assert replace(one, confidence_interval=other.confidence_interval) == other
    np.testing.assert_array_equal(several.estimate, [one.estimate for one in each])
    frame = several.to_frame()
    assert frame["m"].tolist() == [100, 1000]
    assert frame["ci_high"].tolist() == [one.confidence_interval.high for one in several.levels]
    assert [len(several.sentences()), several.backend] == [2, fit.backend]
    assert ReturnLevels.from_dict(json.loads(json.dumps(several.to_dict()))) == several
    assert "1000" in several.summary()


def test_several_levels_are_checked(gpd: EvtFit) -> None:
    for m in ([], [100, np.nan], [100, 1.0], [[1], [1, 2]], ["a"]):
        with pytest.raises(InputError, match="m"):
            gpd.return_level(m)  # type: ignore[call-overload]
    assert gpd.return_level(np.array([500])).to_frame()["m"].tolist() == [500]


def test_exceedance_interval_inverts_the_return_level(fit: EvtFit) -> None:
    """Value x is the upper limit of RL(m) where 1/m is the upper limit of P(X > x): the same likelihood."""
    level = fit.return_level(200.0)
    upper = fit.exceedance_probability(level.confidence_interval.high)
    lower = fit.exceedance_probability(level.confidence_interval.low)
    assert upper.confidence_interval.high == pytest.approx(1.0 / 200.0, rel=1e-6)
    assert lower.confidence_interval.low == pytest.approx(1.0 / 200.0, rel=1e-6)


def test_exceedance_probability_beyond_the_end_point() -> None:
    x = np.random.default_rng(2).beta(2.0, 3.0, size=3000)
    fit = fit_gpd(x, 0.8)
    end = fit.endpoint()  # both by the standardised signed root
    assert end.confidence_interval.low < end.estimate < end.confidence_interval.high
    beyond = fit.exceedance_probability(end.estimate + 0.01)
    assert beyond.estimate == 0.0
    assert beyond.confidence_interval.low == 0.0
    assert 0.0 < beyond.confidence_interval.high < 0.01
    far = fit.exceedance_probability(end.confidence_interval.high + 0.01)
    assert tuple(far.confidence_interval) == (0.0, 0.0)
    values = np.linspace(0.82, end.confidence_interval.high + 0.02, 12)
    highs = [fit.exceedance_probability(v).confidence_interval.high for v in values]
    assert all(np.diff(highs) <= 1e-12)


def test_end_point_interval_is_where_the_free_profile_crosses() -> None:
    """The deviance of an end point, by the fit with θ = −1/(end point − u) held fixed."""
    x = np.random.default_rng(3).beta(2.0, 3.0, size=4000)
    fit = fit_gpd(x, 0.75)
    y = fit.sample - 0.75
    for end in fit.endpoint(method="profile").confidence_interval:
        theta = -1.0 / (end - 0.75)
        d = np.log1p(theta * y).mean() / theta
        nll = y.size * (np.log(d) + theta * d + 1.0)
        assert 2.0 * (nll - fit.nll) == pytest.approx(3.841458820694124, abs=1e-6)


def test_end_point_of_a_heavy_tail() -> None:
    fit = fit_gpd(gpd_series(np.random.default_rng(4), 0.5, 2000), 2.0)
    end = fit.endpoint()
    assert end.estimate == np.inf
    assert end.confidence_interval.high == np.inf
    assert end.confidence_interval.low >= fit.sample[-1]


def test_levels_of_confidence_are_nested(fit: EvtFit) -> None:
    narrow = fit.return_level(500, confidence_level=0.8).confidence_interval
    wide = fit.return_level(500, confidence_level=0.99).confidence_interval
    assert wide.low < narrow.low < narrow.high < wide.high


def test_estimated_rate_is_wider_than_fixed(gpd: EvtFit) -> None:
    """At m·λ near 1 the rate is nearly all the uncertainty there is."""
    m = 1.3 / gpd.rate
    assert (
        gpd.return_level(m, rate="fixed").confidence_interval.width
        < 0.75 * gpd.return_level(m).confidence_interval.width
    )
    fixed, free = gpd.return_level(m, method="delta", rate="fixed"), gpd.return_level(m, method="delta")
    assert fixed.confidence_interval.width < 0.75 * free.confidence_interval.width
    assert "too narrow" in gpd.return_level(m, rate="fixed").summary()


def test_point_process_and_excesses_agree(gpd: EvtFit, process: EvtFit) -> None:
    """Binomial and Poisson rates differ by a factor √(1 − λ) in the rate's error, and nothing else."""
    for m in (100.0, 5000.0):
        a, b = gpd.return_level(m), process.return_level(m)
        assert a.estimate == pytest.approx(b.estimate, rel=1e-12)
        assert a.confidence_interval.width < b.confidence_interval.width < 1.06 * a.confidence_interval.width


def test_bootstrap_resamples_all_values_and_rechooses_the_threshold(gpd: EvtFit) -> None:
    """Against the plain way: resample N rows, sort, take the (k + 1)-th largest."""
    assert gpd.top is not None
    k, n = gpd.n_exceedances, gpd.n_total
    batch = resample_exceedances(np.random.default_rng(5), gpd.top, n, k, 4000)
    rng = np.random.default_rng(6)
    plain = np.array([np.sort(rng.choice(X, n))[-(k + 1)] for _ in range(1500)])
    np.testing.assert_allclose(
        np.quantile(batch.threshold, [0.1, 0.5, 0.9]), np.quantile(plain, [0.1, 0.5, 0.9]), atol=0.025
    )
    assert batch.n.max() <= k
    assert batch.n.mean() > 0.98 * k  # duplicates at the threshold do not exceed it
    mean = batch.excesses.sum(axis=1) / batch.n
    assert mean.mean() == pytest.approx((gpd.sample - U).mean(), rel=0.02)


def test_top_values_are_enough_for_small_series() -> None:
    series = np.random.default_rng(7).exponential(size=40)
    top = values_a_bootstrap_reaches(series, 20)
    np.testing.assert_array_equal(top, np.sort(series)[::-1])
    batch = resample_exceedances(np.random.default_rng(8), top, 40, 40 - 1, 50)
    assert (batch.n <= 39).all()


@pytest.mark.parametrize(
    "series",
    [
        np.random.default_rng(1).normal(size=50_000),
        np.sort(np.random.default_rng(2).normal(size=50_000)),
        np.sort(np.random.default_rng(3).normal(size=50_000))[::-1],
        np.full(50_000, 2.0),
        np.r_[np.random.default_rng(4).exponential(size=50), np.full(49_950, -1.0)],
        np.round(np.random.default_rng(5).normal(size=50_000), 1),
        # every 25th value, which is what the search for a cut looks at, is far too small, or far too large
        np.where(np.arange(50_000) % 25 == 0, -100.0, 0.0) + np.random.default_rng(6).normal(size=50_000),
        np.where(np.arange(50_000) % 25 == 0, 100.0, 0.0) + np.random.default_rng(7).normal(size=50_000),
    ],
    ids=["random", "ascending", "descending", "constant", "tied below", "rounded", "low", "high"],
)
def test_top_values_are_the_largest(series: np.ndarray) -> None:
    for k in (10, 50, 2000, 49_000):
        top = values_a_bootstrap_reaches(series, k)
        assert top.size > k
        np.testing.assert_array_equal(top, np.sort(series)[::-1][: top.size])


@pytest.mark.parametrize("method", ["bootstrap", "profile"])
def test_same_seed_same_numbers(fit: EvtFit, method: str) -> None:
    options: dict[str, Any] = {"method": method, "calibrated": method == "profile", "n_resamples": 99}
    first = fit.return_level(300, rng=3, **options)
    assert first == fit.return_level(300, rng=3, **options)
    assert first.seed == 3
    assert first.confidence_interval != fit.return_level(300, rng=4, **options).confidence_interval
    given = fit.return_level(300, rng=np.random.default_rng(3), **options)
    assert given.confidence_interval == first.confidence_interval
    assert given.seed is None


def test_bootstrap_interval_is_near_the_profile(fit: EvtFit) -> None:
    """The same spread by draws and by curvature; levels are skew, neither is the other's limit here."""
    profile = fit.return_level(200).confidence_interval
    bootstrap = fit.return_level(200, method="bootstrap", n_resamples=999, rng=1)
    assert abs(bootstrap.confidence_interval.low - profile.low) < 0.5 * profile.width
    assert abs(bootstrap.confidence_interval.high - profile.high) < 0.5 * profile.width
    assert bootstrap.std_error == pytest.approx(fit.return_level(200).std_error, rel=0.4)


def test_calibration_widens_small_samples() -> None:
    fit = fit_gpd(X[:600], float(np.sort(X[:600])[-26]))
    plain = fit.return_level(2000, method="profile")
    calibrated = fit.return_level(2000, calibrated=True, n_resamples=999, rng=1)
    assert calibrated.critical_value > plain.critical_value == pytest.approx(3.8415, abs=1e-3)
    assert calibrated.confidence_interval.low < plain.confidence_interval.low
    assert calibrated.confidence_interval.high > plain.confidence_interval.high
    assert "calibrated" in calibrated.confidence_interval.method


def test_likelihood_ratio_test(fit: EvtFit) -> None:
    level = fit.return_level(300)
    by_chi2 = fit.test_return_level(300, level.estimate, method="profile")
    assert by_chi2.pvalue == pytest.approx(1.0, abs=1e-4)
    for end in level.confidence_interval:
        assert fit.test_return_level(300, end).pvalue == pytest.approx(0.05, abs=1e-6)
    simulated = fit.test_return_level(300, level.confidence_interval.high, n_resamples=999, rng=1)
    assert 0.02 < simulated.pvalue < 0.12
    assert "bootstrap" in simulated.method


def test_profile_curve(fit: EvtFit) -> None:
    for name in fit.params:
        curve = fit.profile(name)
        assert curve.confidence_interval == fit.interval(name, method="profile")
        assert (np.diff(curve.values) > 0).all()
        i = int(np.argmin(curve.deviance))
        assert curve.values[i] == fit.params[name]
        assert (np.diff(curve.deviance[i:]) > 0).all()
        assert (np.diff(curve.deviance[: i + 1]) < 0).all()


def test_block_scale_contour_and_search_agree(process: EvtFit, gev: EvtFit) -> None:
    for fit, side in ((process, 0), (gev, 1)):
        likelihood = fit.likelihood()
        target = np.array([3.841458820694124])
        end = likelihood.parameter_ends("scale", target)[side][0]
        period = likelihood.block_period
        searched = block_scale_end(likelihood.standard, period, 2.0 * side - 1.0, target[0])
        assert likelihood.unit * np.exp(searched) == pytest.approx(end, rel=1e-5)


def test_lmoments_table() -> None:
    fit = fit_gpd(X, U, method="lmoments")
    frame = fit.to_frame()
    assert frame["method"].str.contains("jackknife").all()
    mle = fit_gpd(X, U)
    # two estimators of one shape on the same rows: errors of one order, no more is claimed
    assert fit.std_error["shape"] == pytest.approx(mle.std_error["shape"], rel=0.3)
    assert fit.return_level(1000, method="delta").confidence_interval.low < mle.return_level(1000).estimate


def test_jackknife_is_leaving_out_one_value() -> None:
    from fairstats.numerics.evt.backends import scipy_backend
    from fairstats.numerics.evt.distributions import jackknife_covariance

    y = np.random.default_rng(9).exponential(size=25) * 7.0
    for family, estimate in (("gpd", scipy_backend.gpd_lmoments), ("gev", scipy_backend.gev_lmoments)):
        left_out = np.array([estimate(np.delete(y, i)).params for i in range(25)])
        centred = left_out - left_out.mean(axis=0)
        expected = 24 / 25 * centred.T @ centred
        np.testing.assert_allclose(jackknife_covariance(y, family), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("m", [1.5, 3, 10, 20, 200])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_empirical_levels_against_scipy(m: float, level: float) -> None:
    """Witness: `quantile_test`'s interval between order statistics, whose ends beyond the sample are NaN."""
    x = np.random.default_rng(1).exponential(size=57)
    found = empirical_return_level(x, m, confidence_level=level)
    low, high = quantile_test(x, q=0, p=1 - 1 / m).confidence_interval(level)
    assert found.confidence_interval.low == low
    assert found.confidence_interval.high == (np.inf if np.isnan(high) else high)
    assert found.estimate == pytest.approx(np.quantile(x, 1 - 1 / m), rel=1e-12)
    assert found.n_exceedances == (x > found.estimate).sum()
    assert np.isinf(empirical_return_level(x[:10], 1.01, confidence_level=level).confidence_interval.low)
    # the largest values do where they reach down to the lower end and to the estimate
    ordered = np.sort(x)
    need = int(min(np.searchsorted(ordered, low), np.searchsorted(ordered, found.estimate, side="right") - 1))
    enough = empirical_return_level(ordered[need:], m, confidence_level=level, n_total=57)
    assert enough.confidence_interval == found.confidence_interval
    assert enough.estimate == pytest.approx(found.estimate, rel=1e-12)
    assert enough.n_exceedances == found.n_exceedances
    with pytest.raises(InputError, match=f"at least {57 - need}, for m"):
        empirical_return_level(ordered[need + 1 :], m, confidence_level=level, n_total=57)


def test_empirical_level_covers() -> None:
    """Exact binomial coverage: at least 95%, for any distribution."""
    rng = np.random.default_rng(10)
    truth = np.log(20.0)
    hits = [
        truth in empirical_return_level(rng.exponential(size=300), 20).confidence_interval for _ in range(600)
    ]
    assert 0.93 < np.mean(hits) <= 1.0
    series = rng.exponential(size=300)
    whole, top = (
        empirical_return_level(series, 20),
        empirical_return_level(np.sort(series)[-60:], 20, n_total=300),
    )
    assert top.estimate == pytest.approx(np.quantile(series, 0.95), rel=1e-12)
    assert top.confidence_interval == whole.confidence_interval
    beyond = empirical_return_level(np.arange(50.0), 1000)
    assert beyond.confidence_interval.high == np.inf
