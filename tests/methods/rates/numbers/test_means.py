"""Means, quantiles and errors by group.

Witnesses: `scipy.stats.ttest_ind` where nothing is skewed, Hall's transformation written out,
`scipy.stats.binom` for order statistics, laws (units, swapped references, parts), and R's `t.test`,
`survey` and our own twin in base R.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.numerics.means.hall import (
    Moments,
    hall_limits,
    hall_limits_of_mean,
    hall_statistics,
    limits_of_mean_square,
    sum_of_means,
    transform,
    transform_back,
)
from fairstats.numerics.means.quantiles import CountedValues, quantile_limits
from tests.calibration.means import moments_of_samples
from tests.test_consistency import of_row


def wages(n: tuple[int, ...] = (300, 120, 40), seed: int = 1) -> tuple[Any, Any]:
    """Lognormal numbers of three groups."""
    rng = np.random.default_rng(seed)
    values = [rng.lognormal(2.9 - 0.1 * place, 0.5, size) for place, size in enumerate(n)]
    return np.concatenate(values), np.repeat(["m", "f", "d"][: len(n)], n)


def test_symmetric_samples_have_welchs_test_and_interval() -> None:
    group = np.repeat(["a", "b"], [30, 50])
    y = np.concatenate([np.linspace(-1, 1, 30), np.linspace(-3, 5, 50)])
    result = fs.means(y, sensitive_features=group, reference="a")
    welch = stats.ttest_ind(y[30:], y[:30], equal_var=False)
    assert result.pvalue == pytest.approx(welch.pvalue, rel=1e-12)
    expected = welch.confidence_interval()
    assert tuple(result.confidence_interval) == pytest.approx(tuple(expected), rel=1e-12)
    own = stats.t.interval(0.95, 49, y[30:].mean(), y[30:].std(ddof=1) / math.sqrt(50))
    assert tuple(result["b"].value_interval) == pytest.approx(own, rel=1e-12)


def test_halls_transformation_and_its_inverse() -> None:
    """g(x) = x + A/6 + Ax²/3 + A²x³/27 (Hall 1992), and g⁻¹, also where A is tiny."""
    x = np.linspace(-8, 8, 33)
    for skewness in (0.0, 1e-12, -0.3, 2.5):
        there = transform(x, skewness)
        np.testing.assert_allclose(transform_back(there, skewness), x, rtol=1e-9, atol=1e-9)
    assert transform(1.5, 0.6) == pytest.approx(1.5 + 0.1 + 0.45 + 0.36 * 1.5**3 / 27)


def test_limits_are_where_the_statistic_rejects() -> None:
    rng = np.random.default_rng(2)
    group = moments_of_samples(rng.exponential(size=(200, 25)))
    reference = moments_of_samples(rng.exponential(size=(200, 400)))
    low, high = hall_limits(group, reference, 1.7)
    np.testing.assert_allclose(hall_statistics(group, reference, difference=low).above, 1.7)
    np.testing.assert_allclose(hall_statistics(group, reference, difference=high).below, -1.7)


def test_a_small_skewed_group_has_an_upper_limit_further_away() -> None:
    """One-sided errors at .05, 4,000 samples: METHODS §7, exponential 20/1,000, Welch .093·2."""
    rng = np.random.default_rng(5)
    group = moments_of_samples(rng.exponential(size=(4000, 20)))
    reference = moments_of_samples(rng.exponential(size=(4000, 1000)))
    found = hall_statistics(group, reference)
    plain = float(np.mean(found.plain < -1.645))
    below = float(np.mean(found.below < -1.645))
    above = float(np.mean(found.above > 1.645))
    assert plain > 0.09
    assert below < 0.055
    assert above < 0.03


def test_equal_samples_are_no_worse_off_than_by_welch() -> None:
    """The skewness of a difference of alike groups is noise: without Welch's own limits .075."""
    rng = np.random.default_rng(5)
    group, reference = (moments_of_samples(rng.lognormal(size=(4000, 50))) for _ in range(2))
    found = hall_statistics(group, reference)
    assert float(np.mean(found.above > 1.645)) < 0.055
    assert float(np.mean(found.below < -1.645)) < 0.055
    assert (found.above <= found.plain).all()
    assert (found.below >= found.plain).all()


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
@pytest.mark.parametrize("comparisons", ["reference", "all", "rest", "overall"])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_rows_say_one_thing(contrast: Any, comparisons: Any, alternative: Any) -> None:
    """Verdict, p-values, limits and sentence of a row, by the checks of all reports."""
    for seed in range(4):
        y, sex = wages(seed=seed)
        result = fs.means(
            y,
            sensitive_features=sex,
            contrast=contrast,
            comparisons=comparisons,
            alternative=alternative,
            margin=float(seed),
            threshold=0.9,
        )
        for row, sentence in zip(result.comparisons, result.sentences(), strict=True):
            if alternative == "two-sided":
                assert list(of_row(result, row, sentence)) == []
            assert row.confidence_interval.low <= row.estimate <= row.confidence_interval.high
        assert fs.results.Result.from_dict(result.to_dict()).to_dict() == result.to_dict()


@pytest.mark.parametrize("statistic", ["mean", "median", 0.9])
def test_units_do_not_matter(statistic: Any) -> None:
    y, sex = wages()
    here = fs.means(y, sensitive_features=sex, statistic=statistic)
    there = fs.means(1000 * y + 5, sensitive_features=sex, statistic=statistic)
    np.testing.assert_allclose(there.estimate, 1000 * here.estimate, rtol=1e-9)
    np.testing.assert_allclose(there.pvalue, here.pvalue, rtol=1e-7)
    for one, other in zip(here.comparisons, there.comparisons, strict=True):
        assert other.confidence_interval.low == pytest.approx(1000 * one.confidence_interval.low)
    ratio = fs.means(y, sensitive_features=sex, statistic=statistic, contrast="ratio")
    scaled = fs.means(7 * y, sensitive_features=sex, statistic=statistic, contrast="ratio")
    np.testing.assert_allclose(scaled.estimate, ratio.estimate, rtol=1e-12)
    np.testing.assert_allclose(scaled.pvalue, ratio.pvalue, rtol=1e-7)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_swapping_the_reference_inverts_a_ratio(statistic: Any) -> None:
    y, sex = wages((200, 60))
    options: dict[str, Any] = {"contrast": "ratio", "statistic": statistic}
    one = fs.means(y, sensitive_features=sex, reference="m", **options)
    other = fs.means(y, sensitive_features=sex, reference="f", **options)
    assert one.confidence_interval.low == pytest.approx(1 / other.confidence_interval.high)
    assert one.pvalue == pytest.approx(other.pvalue)
    assert one.verdict == other.verdict


def test_against_all_is_a_share_of_against_the_rest() -> None:
    """m_g − m_all = (1 − f_g)(m_g − m_rest), and of two groups both are one test."""
    y, sex = wages((200, 60))
    rest = fs.means(y, sensitive_features=sex, comparisons="rest")
    overall = fs.means(y, sensitive_features=sex, comparisons="overall")
    pair = fs.means(y, sensitive_features=sex, comparisons="reference")
    assert rest["f"].estimate == pytest.approx(pair.estimate)
    assert rest["f"].pvalue == pytest.approx(pair.pvalue)
    assert overall["f"].estimate == pytest.approx(pair.estimate * 200 / 260)
    assert overall["f"].pvalue == pytest.approx(pair.pvalue)
    assert overall["f"].rate_reference == pytest.approx(y.mean())
    assert [row.reference for row in rest.comparisons] == ["the rest", "the rest"]


def test_others_whose_numbers_are_all_equal_are_no_error() -> None:
    """They have no variance, which Satterthwaite's formula would divide by."""
    y = np.concatenate([np.linspace(0, 9, 40), np.ones(55)])
    result = fs.means(
        y, sensitive_features=np.repeat(["a", "b", "c"], [40, 30, 25]), comparisons="overall"
    )
    by_hand = stats.ttest_1samp(y[:40], 1.0)
    assert result["a"].pvalue == pytest.approx(by_hand.pvalue)


def test_weights_of_one_size_change_nothing_and_clusters_of_one_row_neither() -> None:
    y, sex = wages()
    plain = fs.means(y, sensitive_features=sex)
    weighted = fs.means(
        y, sensitive_features=sex, sample_weight=np.full(y.size, 2.5), cluster=np.arange(y.size)
    )
    np.testing.assert_allclose(weighted.estimate, plain.estimate, rtol=1e-12)
    np.testing.assert_allclose(weighted.pvalue, plain.pvalue, rtol=1e-9)


def test_intervals_that_hold_at_once_are_wider_and_below_bonferroni() -> None:
    y, sex = wages()
    widths = {}
    for kind in (None, "max-z", "bonferroni"):
        result = fs.means(y, sensitive_features=sex, comparisons="all", simultaneous=kind)
        widths[kind] = np.array([row.confidence_interval.width for row in result.comparisons])
    assert (widths[None] < widths["max-z"]).all()
    assert (widths["max-z"] < widths["bonferroni"]).all()


def test_the_highest_group_is_compared_as_one_of_all_pairs() -> None:
    y, sex = wages()
    named = fs.means(y, sensitive_features=sex, reference="m")
    chosen = fs.means(y, sensitive_features=sex, reference="highest")
    assert chosen.settings.reference_rule == "highest"
    for one, other in zip(named.comparisons, chosen.comparisons, strict=True):
        assert other.confidence_interval.width > one.confidence_interval.width
        # no margin: the verdict is about equality, and has its p-value over all pairs
        assert other.pvalue_verdict_adjusted == other.pvalue_adjusted
        assert one.pvalue < other.pvalue_adjusted <= min(3 * one.pvalue, 1)
    for row in fs.means(y, sensitive_features=sex, reference="highest", margin=0.5).comparisons:
        assert row.pvalue_verdict_adjusted == pytest.approx(min(3 * row.pvalue_verdict, 1))


def test_small_groups_are_refused_by_number() -> None:
    y, sex = wages((200, 60, 19))
    with pytest.warns(InsufficientEvidenceWarning, match="d has 19 rows, and means need 20"):
        result = fs.means(y, sensitive_features=sex)
    assert result["d"].verdict == "insufficient evidence"
    assert math.isnan(result["d"].pvalue)
    assert math.isfinite(result["d"].rate)
    assert result["f"].verdict != "insufficient evidence"


def test_ratios_of_negative_numbers_are_refused() -> None:
    y, sex = wages((200, 60))
    with pytest.warns(InsufficientEvidenceWarning, match="numbers below 0"):
        fs.means(y - 20, sensitive_features=sex, contrast="ratio")
    with pytest.warns(InsufficientEvidenceWarning, match="all numbers are equal"):
        fs.means(np.ones(y.size), sensitive_features=sex)


def test_a_reference_whose_mean_may_be_0_leaves_the_ratio_open() -> None:
    """Fieller: where the mean of the reference is not shown to be above 0, no ratio is excluded."""
    rare = np.concatenate([np.zeros(29), [1.0], np.ones(30) * np.linspace(0.5, 1.5, 30)])
    group = np.repeat(["rare", "often"], 30)
    result = fs.means(rare, sensitive_features=group, contrast="ratio", reference="rare")
    assert result.confidence_interval.high == math.inf
    assert 0 < result.confidence_interval.low < result.estimate


def test_limits_of_a_median_are_order_statistics() -> None:
    """With the error P(B ≤ r − 1) the lower limit is X₍ᵣ₎ itself, B binomial (n, ½)."""
    y = np.sort(np.random.default_rng(3).normal(size=41))
    sample = CountedValues(y, np.arange(1, 42))
    for rank in (10, 14, 18):
        error = float(stats.binom.cdf(rank - 1, 41, 0.5))
        low, high = quantile_limits(sample, 0.5, float(-stats.norm.ppf(error)))
        assert low == pytest.approx(y[rank - 1], abs=1e-6)
        assert high == pytest.approx(y[41 - rank], abs=1e-6)
    ties = CountedValues(np.array([1.0, 2.0]), np.array([30, 41]))
    assert quantile_limits(ties, 0.5, 1.645) == (1.0, 1.0)
    assert ties.quantile(0.5) == 1.0


def test_quantiles_are_numpys() -> None:
    y, sex = wages()
    result = fs.means(y, sensitive_features=sex, statistic=0.8)
    for row in result.comparisons:
        assert row.rate == pytest.approx(np.quantile(y[sex == row.group], 0.8))
        assert row.value_interval.low < row.rate < row.value_interval.high


def test_errors_are_means_of_errors() -> None:
    y, sex = wages()
    predicted = y * 1.1 + np.random.default_rng(6).normal(0, 2, y.size)
    residual = predicted - y
    absolute = fs.prediction_errors(y, predicted, sensitive_features=sex)
    expected = fs.means(np.abs(residual), sensitive_features=sex)
    np.testing.assert_allclose(absolute.estimate, expected.estimate)
    np.testing.assert_allclose(absolute.pvalue, expected.pvalue)
    signed = fs.prediction_errors(y, predicted, sensitive_features=sex, metric="mean_residual")
    np.testing.assert_allclose(
        signed.pvalue, fs.means(residual, sensitive_features=sex).pvalue, rtol=1e-9
    )


def test_root_mean_squared_errors_go_through_mean_squares() -> None:
    y, sex = wages()
    predicted = y + np.random.default_rng(6).normal(0, np.where(sex == "m", 2, 3), y.size)
    options: dict[str, Any] = {"sensitive_features": sex, "metric": "root_mean_squared_error"}
    ratio = fs.prediction_errors(y, predicted, contrast="ratio", **options)
    squares = fs.means((predicted - y) ** 2, sensitive_features=sex, contrast="ratio")
    for one, other in zip(ratio.comparisons, squares.comparisons, strict=True):
        assert one.estimate == pytest.approx(math.sqrt(other.estimate))
        assert one.confidence_interval.low == pytest.approx(
            math.sqrt(other.confidence_interval.low)
        )
        assert one.pvalue == pytest.approx(other.pvalue)
    difference = fs.prediction_errors(y, predicted, **options)
    for row, sentence in zip(difference.comparisons, difference.sentences(), strict=True):
        assert list(of_row(difference, row, sentence)) == []
        group = (predicted - y)[sex == row.group]
        assert row.rate == pytest.approx(math.sqrt(np.mean(group**2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": "mode"}, "statistic"),
        ({"statistic": 1.0}, "statistic"),
        ({"contrast": "gap"}, "contrast"),
        ({"margin": -1}, "margin"),
        ({"comparisons": "some"}, "comparisons"),
        (
            {"statistic": "median", "comparisons": "overall", "simultaneous": "max-z"},
            "simultaneous",
        ),
        ({"statistic": "median", "cluster": np.arange(460) % 7}, "cluster"),
        ({"cluster": np.arange(460) % 7}, "cluster"),
        ({"reference": "x"}, "reference"),
    ],
)
def test_what_cannot_be_used_is_said(options: dict[str, Any], message: str) -> None:
    y, sex = wages()
    with pytest.raises(fs.InputError, match=message):
        fs.means(y, sensitive_features=sex, **options)


@pytest.mark.parametrize("value", [np.inf, 1e90])
def test_numbers_whose_cubes_overflow_are_refused(value: float) -> None:
    y, sex = wages()
    y[0] = value
    with pytest.raises(fs.InputError, match="beyond 1e\\+80"):
        fs.means(y, sensitive_features=sex)


def test_missing_values_are_refused_or_counted() -> None:
    y, sex = wages()
    y[0] = np.nan
    with pytest.raises(fs.InputError, match="missing values: y"):
        fs.means(y, sensitive_features=sex)
    with pytest.warns(fs.FairstatsWarning, match="1 of 460 rows left out"):
        result = fs.means(y, sensitive_features=sex, missing="drop")
    assert "1 of 460 rows left out" in result.summary()


def test_ratios_of_residuals_are_refused() -> None:
    y, sex = wages()
    with pytest.raises(fs.InputError, match="mean residuals"):
        fs.prediction_errors(
            y, y + 1, sensitive_features=sex, metric="mean_residual", contrast="ratio"
        )


# ---------------------------------------------------------------- R


@pytest.mark.r
def test_r_t_test_where_nothing_is_skewed() -> None:
    from fairstats.ground.rsession import call

    y = np.concatenate([np.linspace(-1, 1, 30), np.linspace(-3, 5, 50)])
    group = np.repeat(["a", "b"], [30, 50])
    result = fs.means(y, sensitive_features=group, reference="a")
    found = call("stats::t.test", y[30:], y[:30])
    assert result.pvalue == pytest.approx(float(np.atleast_1d(found["p.value"])[0]), rel=1e-9)
    assert list(result.confidence_interval) == pytest.approx(list(found["conf.int"]), rel=1e-9)


@pytest.mark.r
@pytest.mark.parametrize("statistic", ["mean", "median", 0.9])
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_every_number_is_recomputed_in_r(statistic: Any, contrast: Any) -> None:
    y, sex = wages()
    result = fs.means(
        y, sensitive_features=sex, statistic=statistic, contrast=contrast, margin=1, threshold=0.9
    )
    table = fs.crosscheck(result, data={"y": y, "sensitive_features": sex}).to_frame()
    assert len(table) >= 42
    assert set(table["verdict"]) == {"agrees"}


@pytest.mark.r
@pytest.mark.parametrize("comparisons", ["all", "rest", "overall"])
def test_weights_and_clusters_are_recomputed_in_r(comparisons: Any) -> None:
    y, sex = wages((300, 120, 150))
    rng = np.random.default_rng(8)
    result = fs.means(
        y,
        sensitive_features=sex,
        sample_weight=rng.uniform(0.5, 2, y.size),
        cluster=np.char.add(sex, (np.arange(y.size) // 3).astype(str)),
        comparisons=comparisons,
        contrast="ratio",
        simultaneous="max-z",
    )
    table = fs.crosscheck(result).to_frame()
    assert set(table["verdict"]) <= {"agrees", "within Monte Carlo error"}
    assert (table["verdict"] == "agrees").sum() > 30


@pytest.mark.r
@pytest.mark.parametrize(
    "metric", ["mean_absolute_error", "mean_residual", "root_mean_squared_error"]
)
def test_errors_are_recomputed_in_r(metric: Any) -> None:
    y, sex = wages()
    predicted = y * 1.05 + np.random.default_rng(6).normal(0, 2, y.size)
    result = fs.prediction_errors(y, predicted, sensitive_features=sex, metric=metric, margin=0.2)
    assert set(fs.crosscheck(result).to_frame()["verdict"]) == {"agrees"}


def test_variance_under_weights_and_clusters_is_surveys() -> None:
    """Of `survey::svymean` with strata = groups: recorded formulas, u/(u − 1)·Σ(Σ w(x − m))²/W²."""
    y, sex = wages((120, 90))
    rng = np.random.default_rng(8)
    weight = rng.uniform(0.5, 2, y.size)
    site = np.arange(y.size) // 3
    result = fs.means(y, sensitive_features=sex, sample_weight=weight, cluster=site)
    variance = 0.0
    for name in ("m", "f"):
        inside = sex == name
        mean = np.average(y[inside], weights=weight[inside])
        excess = np.bincount(site[inside], weight[inside] * (y[inside] - mean))
        units = np.unique(site[inside]).size
        variance += units / (units - 1) * np.sum(excess**2) / weight[inside].sum() ** 2
    assert result.std_error == pytest.approx(math.sqrt(variance))


def test_moments_from_samples_are_those_of_a_tally() -> None:
    y, sex = wages((120, 90))
    result = fs.means(y, sensitive_features=sex)
    group, reference = (moments_of_samples(y[sex == name]) for name in ("f", "m"))
    found = hall_statistics(group, reference)
    worst = found.above if found.plain > 0 else found.below
    assert result.pvalue == pytest.approx(2 * stats.norm.sf(abs(float(worst))))
    assert isinstance(group, Moments)


def test_quantiles_against_all_others_are_those_of_two_groups() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat(["a", "b", "c"], (90, 60, 40))
    wage = np.round(rng.lognormal(3, 0.5, group.size), 1)
    for statistic, contrast in (("median", "difference"), (0.8, "ratio")):
        pooled = fs.means(
            wage,
            sensitive_features=group,
            statistic=statistic,  # type: ignore[arg-type]
            contrast=contrast,  # type: ignore[arg-type]
            comparisons="rest",
        )
        for row in pooled:
            names = np.where(group == row.group, row.group, "others")
            two = fs.means(
                wage,
                sensitive_features=names,
                statistic=statistic,  # type: ignore[arg-type]
                contrast=contrast,  # type: ignore[arg-type]
                reference="others",
            )
            assert row.reference == "the rest"
            assert row.n_reference == int((group != row.group).sum())
            assert row.estimate == pytest.approx(two.estimate, rel=1e-12)
            assert tuple(row.confidence_interval) == pytest.approx(tuple(two.confidence_interval))
    with pytest.raises(fs.InputError, match="simultaneous"):
        fs.means(
            wage,
            sensitive_features=group,
            statistic="median",
            comparisons="rest",
            simultaneous="max-z",
        )


@pytest.mark.r
def test_quantiles_against_all_others_are_recomputed_in_r() -> None:
    rng = np.random.default_rng(6)
    group = np.repeat(["a", "b", "c"], (50, 40, 30))
    data = {"y": np.round(rng.lognormal(3, 0.5, group.size), 1), "sensitive_features": group}
    result = fs.means(**data, statistic="median", comparisons="rest")
    table = fs.crosscheck(result, data=data).to_frame()
    assert len(table) >= 60
    assert set(table["verdict"]) == {"agrees"}


@pytest.mark.parametrize(("order", "clustered"), [(0.5, False), (0.8, False), (0.5, True)])
def test_quantiles_beside_all_have_the_error_of_resamples(order: float, clustered: bool) -> None:
    """Rows (or clusters) of every group drawn anew: the group's own are in both quantiles."""
    rng = np.random.default_rng(2)
    sizes = np.array([300, 500, 200])
    group = np.repeat(["a", "b", "c"], sizes)
    unit = np.arange(1_000) // (5 if clustered else 1)
    common = rng.normal(size=unit[-1] + 1)[unit] if clustered else 0.0
    wage = 20 + (rng.normal(size=1_000) + common) * np.repeat([2.0, 1.0, 1.5], sizes)
    options: dict[str, Any] = {"cluster": unit} if clustered else {}
    result = fs.means(
        wage, sensitive_features=group, statistic=order, comparisons="overall", **options
    )
    drawn = {"a": [], "b": [], "c": []}  # type: ignore[var-annotated]
    members = {name: np.unique(unit[group == name]) for name in drawn}
    rows_of_unit = np.split(np.arange(1_000), np.flatnonzero(np.diff(unit)) + 1)
    for _ in range(400):
        of_groups = {}
        for name, units in members.items():
            chosen = rng.choice(units, units.size)
            rows = np.concatenate([rows_of_unit[place] for place in chosen])
            of_groups[name] = wage[rows]
        everybody = np.quantile(np.concatenate(list(of_groups.values())), order)
        for name, values in of_groups.items():
            drawn[name].append(np.quantile(values, order) - everybody)
    for row in result:
        own = wage[group == row.group]
        assert row.reference == "all"
        assert row.n_reference == 1_000
        assert row.rate_reference == pytest.approx(np.quantile(wage, order))
        assert row.estimate == pytest.approx(np.quantile(own, order) - np.quantile(wage, order))
        # 400 resamples know a standard deviation to 4%, widths of limits are rough
        assert row.std_error == pytest.approx(np.std(drawn[row.group]), rel=0.25)
        low, high = row.confidence_interval
        assert low < row.estimate < high


def test_a_quantile_of_nearly_all_rows_is_that_of_all() -> None:
    """A group that is nearly everybody differs from everybody by what the few others do."""
    rng = np.random.default_rng(3)
    wage = rng.lognormal(3, 0.5, 1_000)
    group = np.repeat(["a", "b"], [970, 30])
    difference = fs.means(wage, sensitive_features=group, statistic="median", comparisons="overall")
    ratio = fs.means(
        wage,
        sensitive_features=group,
        statistic="median",
        comparisons="overall",
        contrast="ratio",
    )
    own = fs.means(wage, sensitive_features=group, statistic="median", reference="b")["a"]
    assert difference["a"].std_error < own.std_error / 10
    assert ratio["a"].estimate == pytest.approx(
        difference["a"].rate / difference["a"].rate_reference
    )
    wage[0] = 0.0
    with pytest.warns(InsufficientEvidenceWarning, match="0 or below"):
        refused = fs.means(
            wage,
            sensitive_features=group,
            statistic="median",
            comparisons="overall",
            contrast="ratio",
        )
    assert refused["b"].verdict == "insufficient evidence"


@pytest.mark.r
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
@pytest.mark.parametrize("design", ["", "sample_weight", "cluster"])
def test_quantiles_beside_all_are_recomputed_in_r(contrast: Any, design: str) -> None:
    rng = np.random.default_rng(6)
    group = np.repeat(["a", "b", "c"], (120, 90, 75))
    data: dict[str, Any] = {"y": np.round(rng.lognormal(3, 0.5, group.size), 1)}
    data["sensitive_features"] = group
    if design == "sample_weight":
        data[design] = rng.uniform(0.5, 2, group.size)
    if design == "cluster":
        data[design] = np.arange(group.size) // 3
    result = fs.means(**data, statistic=0.6, comparisons="overall", contrast=contrast)
    table = fs.crosscheck(result, data=data).to_frame()
    assert len(table) >= 60
    assert set(table["verdict"]) == {"agrees"}


FIELDS = ("mean", "variance", "third", "size")


def test_limits_of_a_mean_square_hold_those_of_chi_squared() -> None:
    """Of normal errors n·m/σ² is χ² with n degrees of freedom: SciPy's law, and Hall's if wider."""
    law = Moments(mean=4.0, variance=2 * 16 / 50, third=0.0, size=50.0)
    low, high = limits_of_mean_square(law, 1.644853627)
    assert low <= 50 * 4 / stats.chi2.ppf(0.95, 50) + 1e-9
    assert high == pytest.approx(50 * 4 / stats.chi2.ppf(0.05, 50), rel=1e-8)
    by_skewness = hall_limits_of_mean(law, 1.644853627)
    assert low == pytest.approx(
        min(float(by_skewness[0]), 200 / stats.chi2.ppf(0.95, 50)), rel=1e-8
    )
    # a long tail, as the sample shows it, reaches farther
    tail = Moments(mean=4.0, variance=0.64, third=1.5, size=50.0)
    assert limits_of_mean_square(tail, 1.644853627)[1] > high
    nothing = Moments(mean=4.0, variance=0.0, third=0.0, size=50.0)
    assert limits_of_mean_square(nothing, 2.0) == (4.0, 4.0)


def test_a_root_beside_all_has_the_error_of_the_jackknife() -> None:
    """√m₁ − √(Σ f·m) with fixed shares: what it is without each row, group by group."""
    rng = np.random.default_rng(1)
    sizes = np.array([60, 150, 200])
    group = np.repeat(["a", "b", "c"], sizes)
    error = rng.normal(size=410) * np.repeat([1.5, 1, 1.2], sizes)
    result = fs.prediction_errors(
        np.zeros(410),
        error,
        sensitive_features=group,
        metric="root_mean_squared_error",
        comparisons="overall",
    )
    means = np.array([np.mean(error[group == name] ** 2) for name in "abc"])
    for place, name in enumerate("abc"):
        row = result[name]
        expected = math.sqrt(means[place]) - math.sqrt(means @ sizes / 410)
        assert row.estimate == pytest.approx(expected, rel=1e-12)
        variance = 0.0
        for other, own_name in enumerate("abc"):
            squares = error[group == own_name] ** 2
            n = squares.size
            moved = np.tile(means, (n, 1))
            moved[:, other] = (squares.sum() - squares) / (n - 1)
            without = np.sqrt(moved[:, place]) - np.sqrt(moved @ sizes / 410)
            variance += (n - 1) / n * float(((without - without.mean()) ** 2).sum())
        assert row.std_error == pytest.approx(math.sqrt(variance), rel=0.05)
        low, high = row.confidence_interval
        assert low < row.estimate < high
    # by hand: each distance the larger of what the difference moves by at the limits of a mean square,
    # and of a root's own by the share of its variance; both in squares
    z = 1.959963985
    laws = {name: moments_of_samples(error[group == name] ** 2) for name in "abc"}
    shares = sizes / 410

    def summed(names: str, weights: np.ndarray) -> Moments:
        columns = [[float(getattr(laws[name], field)) for name in names] for field in FIELDS]
        return sum_of_means(Moments(*[np.array(column) for column in columns]), weights)

    rest = summed("bc", shares[1:])
    everybody = summed("abc", shares)
    mean = float(means[0])
    values = np.sqrt([mean, float(everybody.mean)])

    def difference(own: float, others: float) -> float:
        return math.sqrt(own) - math.sqrt(shares[0] * own + others)

    centre = result["a"].estimate
    own_limits = limits_of_mean_square(laws["a"], z)
    limits_of_rest = limits_of_mean_square(rest, z)
    moved = [
        [
            centre - difference(own_limits[0], float(rest.mean)),
            centre - difference(mean, limits_of_rest[1]),
        ],
        [
            difference(own_limits[1], float(rest.mean)) - centre,
            difference(mean, limits_of_rest[0]) - centre,
        ],
    ]
    slope = 1 / (2 * values[0]) - shares[0] / (2 * values[1])
    of_roots = (
        float(laws["a"].variance) / (4 * mean),
        float(everybody.variance) / (4 * values[1] ** 2),
    )
    variances = (slope**2 * float(laws["a"].variance), float(rest.variance) / (4 * values[1] ** 2))
    counted = np.sqrt(np.divide(variances, of_roots))
    ends = np.sqrt([hall_limits_of_mean(law, z) for law in (laws["a"], everybody)])
    by_share = [
        [counted[0] * (values[0] - ends[0, 0]), counted[1] * (ends[1, 1] - values[1])],
        [counted[0] * (ends[0, 1] - values[0]), counted[1] * (values[1] - ends[1, 0])],
    ]
    below, above = np.maximum(moved, by_share)
    low, high = result["a"].confidence_interval
    assert centre - low == pytest.approx(math.hypot(*below), rel=1e-7)
    assert high - centre == pytest.approx(math.hypot(*above), rel=1e-7)
    # of one group with nearly all rows nothing is left to differ from
    alone = fs.prediction_errors(
        np.zeros(410),
        error,
        sensitive_features=np.where(np.arange(410) < 21, "few", "most"),
        metric="root_mean_squared_error",
        comparisons="overall",
    )
    assert alone["most"].std_error < 0.2 * alone["few"].std_error


@pytest.mark.parametrize(
    ("sizes", "together"),
    [
        ([200, 150, 5], {"c": "b"}),
        ([60, 7, 8, 9], {"c": "b", "d": "b"}),
        ([120, 60, 25, 3], {"d": "c"}),
    ],
)
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_small_groups_do_not_keep_others_from_everybody(
    sizes: list[int], together: dict[str, str], contrast: Any
) -> None:
    """Small others count as one group, with the smallest of the rest where that is small, too.

    Witness: the same rows with these groups under one name. (Before: a group of five rows left
    every group without an answer.)
    """
    rng = np.random.default_rng(5)
    groups = np.repeat(list("abcd")[: len(sizes)], sizes)
    wage = rng.exponential(1.0, groups.size) * np.where(groups == "a", 1.3, 1.0)
    merged = np.array([together.get(group, group) for group in groups])
    options: dict[str, Any] = {"comparisons": "overall", "contrast": contrast}
    with pytest.warns(InsufficientEvidenceWarning):
        found = fs.means(wage, sensitive_features=groups, **options)
    same = fs.means(wage, sensitive_features=merged, **options)
    assert_same_comparison(found["a"], same["a"])
    assert found["a"].rate_reference == pytest.approx(wage.mean(), rel=1e-12)
    assert found[max(groups)].verdict == "insufficient evidence"
    assert "means need 20" in found[max(groups)].note
    predicted = wage + rng.normal(0, 1, wage.size)
    options["metric"] = "root_mean_squared_error"
    with pytest.warns(InsufficientEvidenceWarning):
        found = fs.prediction_errors(wage, predicted, sensitive_features=groups, **options)
    same = fs.prediction_errors(wage, predicted, sensitive_features=merged, **options)
    assert_same_comparison(found["a"], same["a"])


def assert_same_comparison(one: Any, other: Any) -> None:
    """Sums of merged groups are added in another order: 1e-9."""
    assert one.verdict == other.verdict
    for numbers in ("estimate", "std_error", "pvalue", "pvalue_verdict"):
        assert getattr(one, numbers) == pytest.approx(getattr(other, numbers), rel=1e-9)
    for end in ("low", "high"):
        of_one = getattr(one.confidence_interval, end)
        assert of_one == pytest.approx(getattr(other.confidence_interval, end), rel=1e-9)


@pytest.mark.r
@pytest.mark.parametrize("sizes", [[60, 7, 8, 9], [200, 150, 5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_small_groups_beside_everybody_in_r(sizes: list[int], weighted: bool) -> None:
    rng = np.random.default_rng(6)
    groups = np.repeat(list("abcd")[: len(sizes)], sizes)
    wage = rng.exponential(1.0, groups.size)
    weight = rng.choice([1.0, 2.0], groups.size) if weighted else None
    for contrast in ("difference", "ratio"):
        with pytest.warns(InsufficientEvidenceWarning):
            found = fs.means(
                wage,
                sensitive_features=groups,
                comparisons="overall",
                contrast=contrast,
                sample_weight=weight,
            )
        assert found["a"].verdict != "insufficient evidence"
        assert set(fs.crosscheck(found).to_frame()["verdict"]) == {"agrees"}
