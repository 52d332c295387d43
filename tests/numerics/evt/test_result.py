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
    choose_threshold,
    empirical_return_level,
    exponentiality_test,
    fit_gev,
    fit_gpd,
    fit_point_process,
    mean_residual_life,
    tail_type,
    threshold_stability,
    threshold_tests,
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
        assert fit.exceedance_probability(level.estimate).estimate == pytest.approx(
            1.0 / m, rel=1e-9
        )
        assert level.to_frame()["m"].tolist() == [m]


@pytest.mark.parametrize(
    "settings", [{}, {"method": "delta"}, {"method": "bootstrap", "n_resamples": 50}]
)
def test_several_levels_are_the_single_ones(fit: EvtFit, settings: dict) -> None:
    """To 1e-12: a likelihood that was asked before starts its searches elsewhere."""
    several = fit.return_level([100, 1000.0], rng=3, **settings)
    each = [fit.return_level(m, rng=3, **settings) for m in (100, 1000)]
    for one, other in zip(several.levels, each, strict=True):
        assert list(one.confidence_interval) == pytest.approx(
            list(other.confidence_interval), rel=1e-12
        )
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
    """Value x is the upper limit of RL(m) where 1/m is the upper limit of P(X > x).

    The same likelihood.
    """
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
    fixed = gpd.return_level(m, method="delta", rate="fixed")
    free = gpd.return_level(m, method="delta")
    assert fixed.confidence_interval.width < 0.75 * free.confidence_interval.width
    assert "too narrow" in gpd.return_level(m, rate="fixed").summary()


def test_point_process_and_excesses_agree(gpd: EvtFit, process: EvtFit) -> None:
    """Binomial and Poisson rates differ by a factor √(1 − λ) in the rate's error, and nothing
    else.
    """
    for m in (100.0, 5000.0):
        a = gpd.return_level(m)
        b = process.return_level(m)
        assert a.estimate == pytest.approx(b.estimate, rel=1e-12)
        assert (
            a.confidence_interval.width
            < b.confidence_interval.width
            < 1.06 * a.confidence_interval.width
        )


def test_bootstrap_resamples_all_values_and_rechooses_the_threshold(gpd: EvtFit) -> None:
    """Against the plain way: resample N rows, sort, take the (k + 1)-th largest."""
    assert gpd.top is not None
    k = gpd.n_exceedances
    n = gpd.n_total
    batch = resample_exceedances(np.random.default_rng(5), gpd.top, n, k, 4000)
    rng = np.random.default_rng(6)
    plain = np.array([np.sort(rng.choice(X, n))[-(k + 1)] for _ in range(1500)])
    np.testing.assert_allclose(
        np.quantile(batch.threshold, [0.1, 0.5, 0.9]),
        np.quantile(plain, [0.1, 0.5, 0.9]),
        atol=0.025,
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
        # every 25th value, which is what the search for a cut looks at, is far too small, or far
        # too large
        np.where(np.arange(50_000) % 25 == 0, -100.0, 0.0)
        + np.random.default_rng(6).normal(size=50_000),
        np.where(np.arange(50_000) % 25 == 0, 100.0, 0.0)
        + np.random.default_rng(7).normal(size=50_000),
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
    options: dict[str, Any] = {
        "method": method,
        "calibrated": method == "profile",
        "n_resamples": 99,
    }
    first = fit.return_level(300, rng=3, **options)
    assert first == fit.return_level(300, rng=3, **options)
    assert first.seed == 3
    assert first.confidence_interval != fit.return_level(300, rng=4, **options).confidence_interval
    given = fit.return_level(300, rng=np.random.default_rng(3), **options)
    assert given.confidence_interval == first.confidence_interval
    assert given.seed is None


def test_bootstrap_interval_is_near_the_profile(fit: EvtFit) -> None:
    """The same spread by draws and by curvature.

    Levels are skew, neither is the other's limit here.
    """
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
        likelihood = fit._profile_likelihood()
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
    assert (
        fit.return_level(1000, method="delta").confidence_interval.low
        < mle.return_level(1000).estimate
    )


def test_jackknife_is_leaving_out_one_value() -> None:
    from fairstats.numerics.evt.backends import scipy_backend
    from fairstats.numerics.evt.distributions import jackknife_covariance

    y = np.random.default_rng(9).exponential(size=25) * 7.0
    for family, estimate in (
        ("gpd", scipy_backend.gpd_lmoments),
        ("gev", scipy_backend.gev_lmoments),
    ):
        left_out = np.array([estimate(np.delete(y, i)).params for i in range(25)])
        centred = left_out - left_out.mean(axis=0)
        expected = 24 / 25 * centred.T @ centred
        np.testing.assert_allclose(jackknife_covariance(y, family), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("m", [1.5, 3, 10, 20, 200])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_empirical_levels_against_scipy(m: float, level: float) -> None:
    """Witness: `quantile_test`'s interval between order statistics, whose ends beyond the sample
    are NaN.
    """
    x = np.random.default_rng(1).exponential(size=57)
    found = empirical_return_level(x, m, confidence_level=level)
    low, high = quantile_test(x, q=0, p=1 - 1 / m).confidence_interval(level)
    assert found.confidence_interval.low == low
    assert found.confidence_interval.high == (np.inf if np.isnan(high) else high)
    assert found.estimate == pytest.approx(np.quantile(x, 1 - 1 / m), rel=1e-12)
    assert found.n_exceedances == (x > found.estimate).sum()
    assert np.isinf(
        empirical_return_level(x[:10], 1.01, confidence_level=level).confidence_interval.low
    )
    # the largest values do where they reach down to the lower end and to the estimate
    ordered = np.sort(x)
    need = int(
        min(
            np.searchsorted(ordered, low),
            np.searchsorted(ordered, found.estimate, side="right") - 1,
        )
    )
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
        truth in empirical_return_level(rng.exponential(size=300), 20).confidence_interval
        for _ in range(600)
    ]
    assert 0.93 < np.mean(hits) <= 1.0
    series = rng.exponential(size=300)
    whole = empirical_return_level(series, 20)
    top = empirical_return_level(np.sort(series)[-60:], 20, n_total=300)
    assert top.estimate == pytest.approx(np.quantile(series, 0.95), rel=1e-12)
    assert top.confidence_interval == whole.confidence_interval
    beyond = empirical_return_level(np.arange(50.0), 1000)
    assert beyond.confidence_interval.high == np.inf


# ------------------------------------------------------------ words

SERIES = np.random.default_rng(1).exponential(size=2000)


def near_end(shape: float = -0.7) -> np.ndarray:
    return np.asarray(genpareto.rvs(shape, size=2000, random_state=np.random.default_rng(2)))


def top_of(x: np.ndarray, k: int, **how: Any) -> EvtFit:
    return fit_gpd(x, float(np.sort(x)[-k - 1]), backend="scipy", **how)


TIED = np.minimum(near_end(), np.sort(near_end())[-3])
FITS: dict[str, Any] = {
    "plain": (lambda: fit_gpd(SERIES, 2.0, backend="scipy"), []),
    "99": (
        lambda: top_of(SERIES, 99),
        ["99 values, fewer than 100: the 95% interval of the scale"],
    ),
    "100": (lambda: top_of(SERIES, 100), []),
    "near": (
        lambda: top_of(near_end(), 100),
        ["ξ ≤ −1/2: no standard errors exist; levels and end point are those of a power tail."],
    ),
    "edge": (
        lambda: fit_gpd(1 - np.random.default_rng(4).random(400) ** 1.5, 0.6, backend="scipy"),
        [
            "ξ = −1 is the edge of the parameter space (the likelihood has no maximum beyond it):"
            " the end point is the largest value seen, and the shape is no estimate."
        ],
    ),
    "tied": (
        lambda: top_of(TIED, 100, grid=None),
        [
            "A largest value that is tied and ξ ≤ −1/2: there is no power tail to take, and the"
            " likelihood's limits of levels and end point are not shown to hold."
        ],
    ),
    "lmoments": (
        lambda: fit_gpd(SERIES, 2.0, backend="scipy", method="lmoments"),
        ["Intervals are normal, by the jackknife's errors"],
    ),
    "no variance": (
        lambda: fit_gpd(
            gpd_series(np.random.default_rng(1), 0.8), 1.0, backend="scipy", method="lmoments"
        ),
        [
            "ξ ≥ 1/2: L-moments have no finite variance here.",
            "Intervals are normal, by the jackknife's errors",
        ],
    ),
    "penalised": (
        lambda: top_of(SERIES, 70, method="coles_dixon"),
        ["Coles and Dixon's penalty pulls"],
    ),
}


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
@pytest.mark.parametrize("what", FITS)
def test_what_a_fit_says(what: str) -> None:
    """By hand: model, sample and likelihood, then what is not regular, if anything is not."""
    make, more = FITS[what]
    fit = make()
    first, sample, likelihood, *rest = fit.notes()
    assert (
        first
        == f"Generalised Pareto distribution, {fit.method}, {fit.backend}; ξ > 0 is a heavy tail."
    )
    k = fit.sample.size
    n = fit.n_total
    assert sample == f"{k} of {n} observations exceed {fit.threshold:g} (rate {k / n:.4g})."
    aic = 4 + 2 * fit.nll
    bic = 2 * np.log(k) + 2 * fit.nll
    assert likelihood == f"log L = {-fit.nll:.6g}, AIC = {aic:.6g}, BIC = {bic:.6g}."
    assert [line[: len(words)] for line, words in zip(rest, more, strict=True)] == more
    regular = what not in ("near", "edge", "tied", "no variance")
    assert fit.regular == regular
    assert np.isfinite(fit.covariance).all() == regular
    (low, high), how = fit.interval("shape"), fit.interval("shape").method
    said = f"The shape is {fit.shape:.4g} (95% interval {low:.4g} to {high:.4g}, {how})."
    assert fit.sentences()[1] == said


def test_what_maxima_and_processes_say(process: EvtFit, gev: EvtFit) -> None:
    assert process.notes()[:3] == [
        f"Point process of exceedances, mle, {process.backend}; ξ > 0 is a heavy tail.",
        f"{process.n_exceedances} of 3000 observations exceed 2.5 (rate {process.rate:.4g}).",
        "Location and scale are those of the maxima of 365 observations.",
    ]
    assert gev.notes()[:2] == [
        f"Generalised extreme value distribution, mle, {gev.backend}; ξ > 0 is a heavy tail.",
        "100 block maxima.",
    ]
    assert gev.notes()[2].endswith(f"BIC = {3 * np.log(100) + 2 * gev.nll:.6g}.")
    assert len(gev.notes()) == 3


def test_what_levels_and_tests_say(gpd: EvtFit, gev: EvtFit) -> None:
    """By hand from the numbers; χ² intervals of few values, and known rates, are said to be too
    narrow.
    """
    few = top_of(SERIES, 60)
    for fit, level, what in (
        (gpd, gpd.return_level(500), "an observation"),
        (gev, gev.return_level(50), "a block's maximum"),
    ):
        low, high = level.confidence_interval
        method = level.confidence_interval.method
        at = level.estimate
        assert level.sentences() == [
            (
                f"Return level of {level.m:g}: {at:.4g} (95% interval {low:.4g} to {high:.4g},"
                f" {method})."
            ),
            f"Exceeded by {what} with probability 1/{level.m:g}. 95% interval, {method}.",
        ]
        assert fit.n_exceedances >= 100
    short = few.return_level(500, method="profile").notes()
    assert short[1].startswith(
        "60 values, fewer than 100: a 95% likelihood interval by χ² is too narrow"
    )
    assert len(gpd.return_level(50, method="profile").notes()) == 1
    for normal in ("delta", "bootstrap"):
        (_, said) = few.return_level(500, method=normal, n_resamples=19, rng=1).notes()
        assert said.startswith("The upper end is too low")
    fixed = gpd.return_level(500, rate="fixed").notes()
    assert fixed[1:] == [
        "The rate of exceedances is taken as known: too narrow, for comparison with evd only."
    ]
    end = few.endpoint(method="profile")
    assert (
        end.notes()[0] == f"Largest value seen: {SERIES.max():g}. 95% interval, profile likelihood."
    )
    assert end.notes()[1].startswith(
        "60 values, fewer than 300: by χ² the interval of an end point is too narrow"
    )
    assert len(few.endpoint().notes()) == 1
    chance = gpd.exceedance_probability(5.0, confidence_level=0.9)
    low, high = chance.confidence_interval
    assert (
        chance.sentences()[0]
        == f"P(X > 5): {chance.estimate:.4g} (90% interval {low:.4g} to {high:.4g}, standardised"
        " signed root)."
    )
    shape = gpd.test_shape(0.1, method="profile")
    assert shape.sentences() == [
        f"Likelihood ratio test of the shape 0.1: p = {shape.pvalue:.3g} (likelihood ratio).",
        f"With that shape: scale {shape.params['scale']:.4g}; log L = {-shape.nll:.6g}.",
    ]
    found = gpd.goodness_of_fit(n_resamples=19, rng=1)
    assert found.sentences()[0] == f"Anderson–Darling test of the gpd fit: p = {found.pvalue:.3g}."
    other = gpd.goodness_of_fit(statistic="cramer_von_mises", n_resamples=19, rng=1)
    assert other.sentences()[0] == f"Cramér–von Mises test of the gpd fit: p = {other.pvalue:.3g}."
    assert found.notes()[0].startswith(
        "19 simulated samples, each fitted. A large p-value is no proof"
    )


def test_what_diagnostics_say() -> None:
    """By hand from the numbers of each."""
    life = mean_residual_life(SERIES, [1.0, 1.5, 2.0])
    means = [(SERIES[u < SERIES] - u).mean() for u in (1.0, 2.0)]
    assert (
        life.sentences()[0]
        == f"The mean excess goes from {means[0]:.4g} above 1 to {means[1]:.4g} above 2 (3"
        " thresholds)."
    )
    stable = threshold_stability(SERIES, [1.0, 1.5, 2.0])
    assert (
        stable.sentences()[0]
        == f"The shape lies between {stable.shape.min():.3g} and {stable.shape.max():.3g} over 3"
        " thresholds."
    )
    tests = threshold_tests(SERIES, [0.5, 1.0, 1.5, 2.0], n_resamples=19, rng=1)
    made = {
        "pvalues": np.array([0.2, 0.04, 0.3, np.nan]),
        "change": np.array([np.nan, np.nan, 3.0, 1.0]),
    }
    said = replace(tests, **made, change_pvalue=0.25).sentences()
    assert (
        said[0] == "One shape is not rejected (p ≥ .05) above 1.5 and higher thresholds,"
        f" {(SERIES > 1.5).sum()} exceedances."
    )
    assert said[1] == "Changes of the shape are largest up to 1.5 (white noise: p = 0.25)."
    none = replace(tests, pvalues=np.full(4, 0.05), change_pvalue=np.nan).sentences()
    assert none[0].startswith("One shape is not rejected (p ≥ .05) above 0.5 and higher")
    assert len(none) == 2
    choice = choose_threshold(SERIES, method="k_largest", k=50)
    said = choice.sentences()
    assert said[0] == f"Chosen: {np.sort(SERIES)[-51]:g}, which 50 values exceed (k_largest)."
    assert said[1].startswith(
        "Insufficient evidence: 50 of 2,000 values are more than the rule allows"
    )
    assert len(choose_threshold(SERIES, method="k_largest").sentences()) == 1
    (row,) = choice.rows()
    assert (row["estimate"], row["n"], row["chosen"]) == (np.sort(SERIES)[-51], 50, True)


@pytest.mark.parametrize(
    ("looks", "passed", "words"),
    [
        (1, True, "One look at level 0.05: not shown"),
        (1, False, "One look at level 0.05:"),
        (4, True, "One of at most 4 looks, level 0.0125 each: not shown"),
        (
            None,
            True,
            (
                "One look at level 0.05, repeated without a stated limit: passed by stopping rule,"
                " no error guarantee: not shown"
            ),
        ),
    ],
)
def test_what_a_look_says(looks: int | None, passed: bool, words: str) -> None:
    found = exponentiality_test(SERIES, n_resamples=99, rng=1, max_looks=looks)
    assert replace(found, passed=passed).notes() == [
        f"{words} heavier than exponential (k = 10…50)."
    ]
    assert found.sentences()[0].endswith(f"heavier one (max_cv): p = {found.pvalue:.3g}.")
    plain = replace(found, rule="paper_raw", passed=passed)
    assert plain.sentences()[0].endswith(f"(paper_raw): {'passed' if passed else 'not passed'}.")


def test_what_a_type_says(gpd: EvtFit) -> None:
    """Three types; of a bounded quantity a heavy tail cannot last, nor one that ends beyond the
    bound.
    """
    plain = tail_type(gpd)
    kinds = {
        "undecided (I not excluded)": [
            "An interval of ξ that contains 0 is no evidence for an exponential tail"
        ],
        "II, pre-asymptotic": ["The data are bounded by 40: a heavy tail cannot last"],
        "II": [],
        "III": [],
    }
    for kind, more in kinds.items():
        lines = replace(plain, type=kind, bound=40.0, endpoint=np.inf, horizon_reason="why").notes()
        assert lines[-1] == "Horizon: why."
        assert [line[: len(words)] for line, words in zip(lines[:-1], more, strict=True)] == more
    beyond = replace(plain, type="III", bound=40.0, endpoint=41.5).notes()
    assert beyond[0] == "The fitted end point, 41.5, is beyond the bound 40."
    assert len(replace(plain, type="III", bound=40.0, endpoint=39.0).notes()) == 1
    assert len(replace(plain, type="III", bound=None, endpoint=39.0).notes()) == 1
    assert plain.sentences()[0] == f"Type of the tail: {plain.type}."


def test_a_threshold_that_is_too_high() -> None:
    """By hand: ten values must lie above it; it is said how many do, and which is the largest."""
    x = np.arange(1.0, 31.0)
    for u, words in (
        (30.0, r"none of the 30 values exceeds \(largest 30\)"),
        (21.0, "9 of the 30 values exceed"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            fit_gpd(x, u)
        assert caught.value.argument == "threshold"
    with pytest.raises(InputError, match="none of the 0 values exceeds"):
        fit_gpd([], 1.0)
    with pytest.raises(InputError, match="10 values above the threshold that all equal 3"):
        fit_gpd(np.repeat([1.0, 3.0], 10), 2.0)
    assert fit_gpd(np.expm1(x / 5), np.expm1(4.1), grid=None).n_exceedances == 10
    for few in (np.arange(9.0), np.full(12, 2.0)):
        with pytest.raises(InputError, match="block_maxima"):
            fit_gev(few)


def test_levels_of_one_observation() -> None:
    """m > 1 for order statistics and blocks; above a threshold m·λ ≥ 1, rounding apart."""
    x = np.random.default_rng(3).exponential(size=60)
    for m in (1.0, 0.5):
        with pytest.raises(InputError, match="more than 1"):
            empirical_return_level(x, m)
        with pytest.raises(InputError, match="more than 1"):
            fit_gev(x)._log_period(m)
    fit = top_of(x, 15)
    assert fit._log_period(4.0 * (1 - 1e-13)) == pytest.approx(np.log(4))
    with pytest.raises(
        InputError, match="0.998 exceed the threshold on average; allowed: at least 4:"
    ):
        fit._log_period(3.99)
    assert fit.return_level(4.0, method="profile").estimate == pytest.approx(
        fit.threshold, abs=1e-9
    )
    assert fit_gev(x)._log_period(2.0) == pytest.approx(-np.log(np.log(2)))
