"""Threshold diagnostics, the exponential test, the type of a tail, goodness of fit."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy.stats import anderson_ksamp, cramervonmises, genpareto

from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.results import Result
from fairstats.numerics.evt import (
    choose_threshold,
    exponentiality_test,
    fit_gev,
    fit_gpd,
    goodness_of_fit,
    mean_residual_life,
    tail_type,
    threshold_stability,
)
from fairstats.numerics.evt.choice import forward_stop
from fairstats.numerics.evt.diagnostics import (
    _exponential_top,
    anderson_darling,
    coefficients_of_variation,
    cramer_von_mises,
)
from fairstats.numerics.evt.distributions import power_ratio

from .conftest import gpd_series

K = np.arange(10, 51)


def test_mean_residual_life() -> None:
    x = gpd_series(np.random.default_rng(1), 0.2, 20_000)
    life = mean_residual_life(x)
    assert life.n_exceedances[-1] == 10
    for u, mean, error, n in zip(
        life.thresholds[::9],
        life.mean_excess[::9],
        life.std_error[::9],
        life.n_exceedances[::9],
        strict=True,
    ):
        above = x[x > u] - u
        assert n == above.size
        assert mean == pytest.approx(above.mean(), rel=1e-12)
        assert error == pytest.approx(above.std(ddof=1) / np.sqrt(n), rel=1e-12)
    expected = (1.0 + 0.2 * life.thresholds) / 0.8  # linear with slope ξ/(1 − ξ)
    inside = (life.low <= expected) & (expected <= life.high)
    assert inside.mean() > 0.8


def test_threshold_stability_is_the_fits() -> None:
    x = gpd_series(np.random.default_rng(2), 0.2, 3000)
    found = threshold_stability(x, [0.5, 1.0, 2.0])
    for i, u in enumerate(found.thresholds):
        fit = fit_gpd(x, float(u))
        assert found.shape[i] == pytest.approx(fit.shape, abs=1e-9)
        assert found.n_exceedances[i] == fit.n_exceedances
        assert found.modified_scale[i] == pytest.approx(fit.scale - fit.shape * u, rel=1e-9)
        gradient = np.array([1.0, -u])
        error = float(np.sqrt(gradient @ fit.covariance @ gradient))
        assert found.modified_scale_error[i] == pytest.approx(error, rel=1e-7)
        interval = fit.interval("shape")
        assert found.shape_low[i] == pytest.approx(interval.low, abs=1e-7)
        assert found.shape_high[i] == pytest.approx(interval.high, abs=1e-7)
    frame = found.to_frame()
    assert set(frame["metric"]) == {"shape", "modified scale"}
    assert len(frame) == 6


@pytest.mark.parametrize(("shape", "said"), [(-0.3, False), (0.45, True)])
def test_a_mean_residual_life_says_where_its_intervals_are_too_short(
    shape: float, said: bool
) -> None:
    """Where the calibration table claims nothing of them.

    Tails that are heavier than exponential.
    """
    x = np.expm1(shape * np.random.default_rng(2).standard_exponential(1_000)) / shape
    assert any("too short" in line for line in mean_residual_life(x, [0.5]).sentences()) == said


@pytest.mark.parametrize("result", [mean_residual_life, threshold_stability, choose_threshold])
def test_results_survive_json(result) -> None:  # type: ignore[no-untyped-def]
    x = np.random.default_rng(3).exponential(size=300)
    options = {"n_thresholds": 4} | (
        {"n_resamples": 19, "rng": 1} if result is choose_threshold else {}
    )
    made = result(x, **options)
    back = type(made).from_dict(json.loads(json.dumps(made.to_dict())))
    assert isinstance(back, Result)
    assert back.summary() == made.summary()


def test_at_most_ten_thousand_thresholds() -> None:
    x = np.random.default_rng(2).exponential(size=60)
    assert mean_residual_life(x, n_thresholds=10_000).n_exceedances.tolist() == list(
        range(30, 9, -1)
    )
    for number in (1, 10_001):
        with pytest.raises(InputError, match="n_thresholds"):
            mean_residual_life(x, n_thresholds=number)


def test_thresholds_that_can_be_used() -> None:
    """By hand: of 21 values those that 10 exceed; ties leave the lower ones.

    Below 21 there are none.
    """
    x = np.arange(21.0)
    assert mean_residual_life(x).thresholds.tolist() == [10.0]
    with pytest.raises(InputError, match="at least 21"):
        mean_residual_life(x[:20])
    tied = np.r_[np.arange(20.0), np.full(9, 19.5), 30 + np.arange(3.0)]
    found = mean_residual_life(tied, n_thresholds=9)
    assert found.thresholds.max() == 19.0
    assert found.n_exceedances.min() == 12
    given = mean_residual_life(x, [3.0, 0.5, 3.0])
    assert given.thresholds.tolist() == [0.5, 3.0]
    assert given.n_exceedances.tolist() == [20, 17]
    with pytest.raises(InputError, match="11.5, which 9 values exceed"):
        mean_residual_life(x, [0.5, 11.5])
    with pytest.raises(InputError, match="all equal 2"):
        mean_residual_life(np.r_[x, np.full(12, 2.0)] - 50 * (np.r_[x, np.zeros(12)] > 0), [1.0])


# ------------------------------------------------------------ exponential tail


def test_coefficients_are_those_of_the_excesses() -> None:
    x = np.sort(np.random.default_rng(4).exponential(size=200))[::-1]
    cv = coefficients_of_variation(x[None, :51], K)[0]
    for k, value in zip(K[::8], cv[::8], strict=True):
        excesses = x[:k] - x[k]
        assert value == pytest.approx(excesses.std(ddof=1) / excesses.mean(), rel=1e-10)
    raw = coefficients_of_variation(x[None, :51], K, raw=True)[0]
    assert raw[0] == pytest.approx(x[:10].std(ddof=1) / x[:10].mean(), rel=1e-10)


def test_critical_value_and_size() -> None:
    """About 2.76 for k = 10…50 at 5%; the size is 5% (Monte Carlo error .003)."""
    x = np.random.default_rng(5).exponential(size=1000)
    found = exponentiality_test(x, n_resamples=20_000, rng=1)
    assert found.critical_value == pytest.approx(2.76, abs=0.08)
    null = coefficients_of_variation(_exponential_top(np.random.default_rng(6), 20_000, 50), K)
    mean = null[:10_000].mean(axis=0)
    sd = null[:10_000].std(axis=0, ddof=1)
    size = (((null[10_000:] - mean) / sd).max(axis=1) > found.critical_value).mean()
    assert size == pytest.approx(0.05, abs=0.01)


def test_the_papers_rules_pass_as_often_as_documented() -> None:
    """On excesses 25% of exponential tails and 3% of ξ = .3.

    On raw values all for ξ ≤ .1, 72% at .5.
    """
    rng = np.random.default_rng(7)
    bound = 1.0 + 0.25 / K
    # the top 51 of N = 2,000, by Rényi's representation of the rest
    depth = -np.log(rng.beta(51, 1950, size=4000))
    top = _exponential_top(rng, 4000, 50) + depth[:, None]
    rates = {}
    for shape in (0.0, 0.1, 0.3, 0.5):
        values = np.asarray(power_ratio(top, np.array(shape)))
        excess = (coefficients_of_variation(values, K) < bound).all(axis=1).mean()
        raw = (coefficients_of_variation(values, K, raw=True) < bound).all(axis=1).mean()
        rates[shape] = (excess, raw)
    assert rates[0.0][0] == pytest.approx(0.25, abs=0.03)
    assert rates[0.3][0] == pytest.approx(0.03, abs=0.02)
    assert rates[0.1][1] > 0.99
    assert rates[0.5][1] == pytest.approx(0.72, abs=0.04)


def test_looks_share_the_level() -> None:
    """Ten looks at a growing exponential sample reject it at most 5% of the time.

    Looks without limit more.

    400 samples: Monte Carlo error .011 at 5%; unlimited looks reject about three times as often.
    """
    rng = np.random.default_rng(17)
    null = coefficients_of_variation(_exponential_top(rng, 20_000, 50), K)
    mean = null.mean(axis=0)
    sd = null.std(axis=0, ddof=1)
    maxima = ((null - mean) / sd).max(axis=1)
    shared, each = np.quantile(maxima, [1 - 0.05 / 10, 1 - 0.05])
    samples = rng.exponential(size=(400, 2000))
    largest = np.zeros(400)
    for n in range(200, 2001, 200):
        top = -np.sort(-samples[:, :n], axis=1)[:, :51]
        statistic = ((coefficients_of_variation(top, K) - mean) / sd).max(axis=1)
        largest = np.maximum(largest, statistic)
    assert (largest > shared).mean() <= 0.05 + 2 * 0.011
    assert (largest > each).mean() > 0.1
    found = exponentiality_test(samples[0], max_looks=10, n_resamples=20_000, rng=1)
    assert found.critical_value == pytest.approx(
        shared, abs=0.25
    )  # an extreme quantile: 100 of 20,000
    assert "at most 10 looks, level 0.005 each" in found.summary()
    endless = exponentiality_test(samples[0], max_looks=None, n_resamples=499, rng=1)
    assert endless.passed
    assert "passed by stopping rule, no error guarantee" in " ".join(endless.summary().split())


def test_heavier_tails_are_found_and_lighter_pass() -> None:
    rng = np.random.default_rng(8)
    heavy = [
        exponentiality_test(gpd_series(rng, 1.0, 1000), n_resamples=499, rng=1) for _ in range(20)
    ]
    assert sum(not t.passed for t in heavy) >= 17
    light = [
        exponentiality_test(gpd_series(rng, -0.3, 1000), n_resamples=499, rng=1) for _ in range(20)
    ]
    assert all(t.passed for t in light)
    assert heavy[0].to_frame()["pvalue"][0] == heavy[0].pvalue
    np.testing.assert_array_equal(heavy[0].k, K)  # both ends: 10 and 50
    assert "heavier than exponential" in heavy[0].summary()


@pytest.mark.parametrize("rule", ["paper_excess", "paper_raw"])
def test_paper_rules_are_selectable_and_have_no_pvalue(rule: str) -> None:
    found = exponentiality_test(
        np.random.default_rng(9).exponential(size=500), rule=rule, n_resamples=99, rng=1
    )
    assert np.isnan(found.pvalue)
    assert found.passed == (found.statistic < 0)
    assert "no error level" in found.summary()


# ------------------------------------------------------------ type of a tail


def test_types() -> None:
    rng = np.random.default_rng(10)
    bounded = tail_type(fit_gpd(gpd_series(rng, -0.4, 5000), 1.5))
    assert bounded.type == "III"
    heavy = fit_gpd(gpd_series(rng, 0.5, 5000), 2.0)
    assert tail_type(heavy).type == "II"
    assert tail_type(heavy, bound=1e6).type == "II, pre-asymptotic"
    exponential = tail_type(fit_gpd(rng.exponential(size=2000), 3.0))
    assert exponential.type == "undecided (I not excluded)"
    assert "no evidence" in exponential.summary()


@pytest.mark.filterwarnings("ignore:the likelihood has no maximum")
@pytest.mark.parametrize(
    ("b", "threshold", "cases"),
    [
        (6.0, 0.6, ((1.0, 0.1), (0.88, 0.5), (None, 0.08))),
        (0.6, 0.995, ((1.0 + 1e-6, 0.5),)),  # ξ = −1.7: levels are those of a power tail
    ],
)
def test_horizon_is_the_largest_period_that_passes(
    b: float, threshold: float, cases: tuple[tuple[float | None, float], ...]
) -> None:
    x = np.random.default_rng(11).beta(2.0, b, size=5000)
    fit = fit_gpd(x, threshold)
    for bound, width in cases:
        found = tail_type(fit, bound=bound, max_relative_width=width)

        def passes(m: float, bound: float | None = bound, width: float = width) -> bool:
            level = fit.return_level(m)
            limit = np.inf if bound is None else bound
            return (
                level.confidence_interval.width < width * level.estimate
                and level.confidence_interval.high < limit
            )

        assert np.isfinite(found.horizon)
        assert passes(found.horizon)
        assert not passes(found.horizon * 1.01 + 1.0)
        assert "bound" in found.horizon_reason or "wider" in found.horizon_reason


def test_horizon_at_its_ends() -> None:
    x = np.random.default_rng(12).beta(2.0, 6.0, size=5000)
    fit = fit_gpd(x, 0.6)
    assert np.isnan(tail_type(fit, max_relative_width=1e-6).horizon)
    assert tail_type(fit, max_relative_width=50.0).horizon == np.inf


def test_an_end_point_beyond_the_bound_is_said() -> None:
    fit = fit_gpd(np.random.default_rng(15).beta(2.0, 3.0, size=3000), 0.7)
    end = fit.endpoint().estimate
    found = tail_type(fit, bound=0.999 * end)
    assert found.endpoint == end
    assert "beyond the bound" in found.summary()
    assert "end point" not in tail_type(fit, bound=1.001 * end).summary()
    heavy = fit_gpd(gpd_series(np.random.default_rng(16), 0.5, 2000), 2.0)
    assert tail_type(heavy, bound=1e6).endpoint == np.inf
    assert "end point" not in tail_type(heavy, bound=1e6).summary()


# ------------------------------------------------------------ goodness of fit


def test_statistics_against_scipy() -> None:
    law = genpareto(0.2, scale=1.5)
    y = np.sort(law.rvs(60, random_state=np.random.default_rng(13)))
    w2 = cramervonmises(y, law.cdf).statistic
    assert cramer_von_mises(law.logcdf(y), law.logsf(y)) == pytest.approx(w2, rel=1e-10)
    n = 60
    i = np.arange(1, 61)
    a2 = -n - np.sum((2 * i - 1) / n * (law.logcdf(y) + law.logsf(y[::-1])))
    assert anderson_darling(law.logcdf(y), law.logsf(y)) == pytest.approx(a2, rel=1e-10)
    assert callable(anderson_ksamp)


@pytest.mark.parametrize("statistic", ["anderson_darling", "cramer_von_mises"])
def test_goodness_of_fit_has_its_size_and_power(statistic: str) -> None:
    """p-values of true models are uniform (Kolmogorov distance below .17 for 60), of a wrong one
    small.
    """
    rng = np.random.default_rng(14)
    pvalues = []
    for _ in range(60):
        fit = fit_gpd(gpd_series(rng, 0.2, 60), 0.0)
        pvalues.append(goodness_of_fit(fit, statistic, n_resamples=99, rng=rng).pvalue)
    distance = np.abs(np.sort(pvalues) - (np.arange(60) + 0.5) / 60).max()
    assert distance < 0.2
    wrong = np.r_[
        rng.exponential(0.1, 200), rng.normal(5.0, 0.1, 100)
    ]  # a peak away from the threshold
    fit = fit_gpd(wrong, 0.0)
    assert goodness_of_fit(fit, statistic, n_resamples=199, rng=1).pvalue == 1 / 200


def test_goodness_of_fit_of_block_maxima() -> None:
    rng = np.random.default_rng(15)
    good = fit_gev(rng.gumbel(size=100)).goodness_of_fit(n_resamples=199, rng=1)
    assert good.pvalue > 0.05
    mixture = np.r_[rng.normal(0, 0.2, 90), rng.normal(5, 0.2, 30)]
    assert fit_gev(mixture).goodness_of_fit(n_resamples=199, rng=1).pvalue < 0.02
    lmoments = fit_gev(rng.gumbel(size=100), method="lmoments")
    assert lmoments.goodness_of_fit("cramer_von_mises", n_resamples=199, rng=1).pvalue > 0.01


# ------------------------------------------------------------ choice of a threshold


def test_k_largest() -> None:
    x = np.random.default_rng(16).exponential(size=1000)
    found = choose_threshold(x, method="k_largest", k=50)
    assert (x > found.threshold).sum() == found.n_exceedances == 50
    assert found.threshold == np.sort(x)[-51]
    tied = np.round(x, 0)
    with pytest.warns(DataWarning, match="ties"):
        fewer = choose_threshold(tied, method="k_largest", k=50)
    assert (tied > fewer.threshold).sum() == fewer.n_exceedances < 50


def test_forward_stop_by_hand() -> None:
    p = np.array([0.001, 0.02, 0.3, 0.9])
    expected = [-np.log(1 - p[: i + 1]).mean() for i in range(4)]
    np.testing.assert_allclose(forward_stop(p), expected)


def test_forward_stop_leaves_out_the_part_that_does_not_fit() -> None:
    """Bulk uniform on [0, 2], tail exponential above 2: thresholds far below 2 are rejected."""
    rng = np.random.default_rng(17)
    x = np.r_[rng.uniform(0, 2, size=3000), 2.0 + rng.exponential(size=600)]
    found = choose_threshold(
        x, thresholds=[0.2, 0.6, 1.0, 1.4, 2.0, 2.3, 2.6], n_resamples=99, rng=1
    )
    assert found.threshold >= 1.4
    assert (found.pvalues[:3] <= 0.02).all()
    assert found.n_exceedances == (x > found.threshold).sum()
    frame = found.to_frame()
    assert frame["chosen"].sum() == 1
    assert "forward_stop" in frame.columns


def test_every_candidate_rejected_is_said() -> None:
    x = 10.0 + np.random.default_rng(18).normal(size=2000)
    with pytest.warns(DataWarning, match="every candidate"):
        found = choose_threshold(x, thresholds=[5.0, 6.0, 7.0], n_resamples=99, rng=1)
    assert found.threshold == 7.0


def test_candidates_have_streams_of_their_own() -> None:
    """The same p-value for a candidate whatever follows it."""
    x = np.random.default_rng(19).exponential(size=400)
    few = choose_threshold(x, thresholds=[0.5, 1.0], n_resamples=49, rng=1)
    more = choose_threshold(x, thresholds=[0.5, 1.0, 1.5], n_resamples=49, rng=1)
    np.testing.assert_array_equal(few.pvalues, more.pvalues[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose_threshold(x, n_thresholds=3, n_resamples=19, rng=1).seed == 1
