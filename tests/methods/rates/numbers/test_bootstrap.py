"""Any metric of labels and predictions by group.

Witnesses: scikit-learn's metrics and fairlearn's MetricFrame for the values, `scipy.stats.bootstrap`
and t intervals for limits, enumeration for the permutation test.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

import fairstats as fs
from fairstats.methods.rates.numbers.bootstrap import MIN_UNITS, takes_rows
from fairstats.numerics.means.resampling import (
    Units,
    draw_metric,
    studentised_permutation_test,
    variance_of_draw,
)

QUICK: dict[str, Any] = {"method": "bca", "n_resamples": 199, "n_permutations": 0, "rng": 1}


def prices(n: tuple[int, ...] = (80, 40, 40), seed: int = 1) -> tuple[Any, Any, Any]:
    """Prices, guesses that are worse in the second group, and groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b", "c"][: len(n)], n)
    price = rng.gamma(2.0, 10.0, group.size)
    return price, price + rng.normal(0, np.where(group == "b", 8, 2)), group


def mean_error(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    return float(np.average(np.abs(y_true - y_pred), weights=sample_weight))


@pytest.mark.parametrize(
    "metric",
    [
        metrics.mean_absolute_error,
        metrics.r2_score,
        functools.partial(metrics.mean_pinball_loss, alpha=0.9),
    ],
)
def test_values_are_those_of_metric_frame(metric: Any) -> None:
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, guess, group = prices()
    theirs = fairlearn.MetricFrame(
        metrics={"value": metric}, y_true=y, y_pred=guess, sensitive_features=group
    ).by_group["value"]
    ours = fs.group_metric(y, guess, metric=metric, sensitive_features=group, **QUICK)
    for comparison in ours:
        assert comparison.rate == pytest.approx(theirs[comparison.group], rel=1e-12)
        assert comparison.estimate == pytest.approx(
            theirs[comparison.group] - theirs["a"], rel=1e-12
        )


def test_labels_of_text_and_a_score() -> None:
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b"], 60)
    answer = np.where(rng.random(120) < 0.5, "yes", "no")
    score = rng.random(120) + 0.4 * (answer == "yes")
    result = fs.group_metric(
        answer, score, metric=metrics.roc_auc_score, sensitive_features=group, **QUICK
    )
    for name, value in (("a", result["b"].rate_reference), ("b", result["b"].rate)):
        rows = group == name
        assert value == pytest.approx(metrics.roc_auc_score(answer[rows], score[rows]))


def test_bca_is_that_of_scipy() -> None:
    """Same definition, other draws: limits of a mean agree to the error of 4,000 draws."""
    x = np.random.default_rng(3).exponential(size=60)
    result = fs.group_metric(
        np.concatenate([x, np.full(40, 2.0)]),
        np.zeros(100),
        metric=lambda y_true, y_pred: float(np.mean(y_true - y_pred)),
        sensitive_features=np.repeat(["x", "none"], [60, 40]),
        reference="none",
        **{**QUICK, "n_resamples": 3_999},
    )
    theirs = stats.bootstrap((x,), np.mean, n_resamples=3_999, rng=1).confidence_interval
    ours = result["x"].value_interval
    assert tuple(ours) == pytest.approx(tuple(theirs), abs=0.03)
    shifted = result["x"].confidence_interval
    assert tuple(shifted) == pytest.approx((ours.low - 2, ours.high - 2), abs=1e-9)


def test_the_studentised_interval_of_a_normal_mean_is_students() -> None:
    rng = np.random.default_rng(4)
    y, group = rng.normal(size=140), np.repeat(["a", "b"], 70)
    result = fs.group_metric(
        y,
        np.zeros(140),
        metric=lambda y_true, y_pred: float(y_true.mean()),
        sensitive_features=group,
        reference="a",
        n_resamples=999,
        n_permutations=0,
        rng=1,
    )
    welch = stats.ttest_ind(y[70:], y[:70], equal_var=False)
    theirs = welch.confidence_interval(0.95)
    width = theirs.high - theirs.low
    assert tuple(result.confidence_interval) == pytest.approx(tuple(theirs), abs=0.08 * width)
    errors = [y[group == name].std() / np.sqrt(70) for name in "ab"]
    assert result.std_error == pytest.approx(np.hypot(*errors), rel=0.08)
    assert result.pvalue == pytest.approx(welch.pvalue, abs=0.05)


def test_variance_of_a_draw_is_unbiased_but_for_the_factor_of_n() -> None:
    x = np.random.default_rng(5).normal(size=50)
    units = Units.of_rows(np.arange(50), None)
    generator = np.random.default_rng(1)
    variances = [
        variance_of_draw(lambda rows: float(x[rows].mean()), units, np.arange(50), generator)
        for _ in range(400)
    ]
    assert np.mean(variances) == pytest.approx(x.var() / 50, rel=0.05)


def test_clusters_are_drawn_whole() -> None:
    """All rows of a cluster are one number: its standard error is that of the cluster means."""
    rng = np.random.default_rng(6)
    of_cluster = rng.normal(size=80)
    cluster = np.repeat(np.arange(80), 5)
    y, group = of_cluster[cluster], np.where(cluster < 40, "a", "b")
    options: dict[str, Any] = {
        "metric": lambda y_true, y_pred: float(y_true.mean()),
        "sensitive_features": group,
        **QUICK,
        "n_resamples": 999,
    }
    clustered = fs.group_metric(y, y, cluster=cluster, **options)
    by_rows = fs.group_metric(y, y, **options)
    wanted = np.hypot(of_cluster[:40].std(), of_cluster[40:].std()) / np.sqrt(40)
    assert clustered.std_error == pytest.approx(wanted, rel=0.1)
    assert clustered.std_error == pytest.approx(np.sqrt(5) * by_rows.std_error, rel=0.15)
    with pytest.raises(fs.InputError, match="more than one group"):
        fs.group_metric(y, y, cluster=np.arange(400) % 80, **options)


def test_weights_reach_the_metric() -> None:
    y, guess, group = prices()
    weight = np.random.default_rng(7).uniform(0.5, 2, y.size)
    result = fs.group_metric(
        y, guess, metric=mean_error, sensitive_features=group, sample_weight=weight, **QUICK
    )
    for comparison in result:
        rows = group == comparison.group
        assert comparison.rate == pytest.approx(mean_error(y[rows], guess[rows], weight[rows]))
    with pytest.raises(fs.InputError, match="takes none"):
        fs.group_metric(
            y,
            guess,
            metric=lambda y_true, y_pred: 1.0,
            sensitive_features=group,
            sample_weight=weight,
        )


def test_the_permutation_test_is_studentised() -> None:
    """Equal means, unequal spreads and sizes: the plain test is wrong in 30% and more of samples.

    Witness: the plain permutation test of scipy on the same samples.
    """
    generator = np.random.default_rng(8)
    wrong = np.zeros(2)
    for _ in range(60):
        x = np.concatenate([generator.normal(0, 5, 20), generator.normal(0, 1, 100)])

        def mean(rows: Any, x: Any = x) -> float:
            return float(x[rows].mean())

        small, large = (Units.of_rows(np.arange(*ends), None) for ends in ((0, 20), (20, 120)))
        ours = studentised_permutation_test(mean, small, large, 99, generator, ratio=False)
        plain = stats.permutation_test(
            (x[:20], x[20:]),
            lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
            vectorized=True,
            n_resamples=99,
            rng=generator,
        )
        wrong += (ours.pvalue <= 0.05, plain.pvalue <= 0.05)
    assert wrong[1] >= 15
    assert wrong[0] <= 9  # binomial(60, .05) is above in .1% of studies


def test_small_groups_and_undefined_metrics_are_no_answer() -> None:
    rng = np.random.default_rng(9)
    group = np.repeat(["a", "b", "c", "d"], [60, 60, MIN_UNITS - 1, 11])
    y = rng.integers(0, 2, group.size)
    y[group == "b"] = 1
    with pytest.warns(fs.FairstatsWarning):
        result = fs.group_metric(
            y, rng.random(y.size), metric=metrics.roc_auc_score, sensitive_features=group,
            reference="a", **QUICK,
        )  # fmt: skip
    assert {c.verdict for c in result} == {"insufficient evidence"}
    assert all(c.note for c in result)
    with pytest.warns(fs.FairstatsWarning):
        assert (
            fs.group_metric(
                y,
                y,
                metric=metrics.accuracy_score,
                sensitive_features=group,
                reference="a",
                **QUICK,
            ).verdict
            == ("insufficient evidence",) * 3
        )


def test_several_metrics_and_json() -> None:
    y, guess, group = prices()
    both = fs.group_metric(
        y, guess, metric={"mae": mean_error, "bias": lambda y_true, y_pred: (y_pred - y_true).mean()},
        sensitive_features=group, comparisons="all", simultaneous="max-z", **QUICK,
    )  # fmt: skip
    assert list(both) == ["mae", "bias"]
    result = both["mae"]
    assert len(result) == 3
    assert type(result).from_dict(result.to_dict()).to_dict() == result.to_dict()
    again = fs.group_metric(
        y, guess, metric=mean_error, sensitive_features=group, comparisons="all",
        simultaneous="max-z", **QUICK,
    )  # fmt: skip
    np.testing.assert_array_equal(again.estimate, result.estimate)
    assert again.confidence_interval == result.confidence_interval
    with_one = fs.group_metric(
        y, guess, metric=mean_error, sensitive_features=group, comparisons="all", **QUICK
    )
    widths = [c.confidence_interval.width for c in result]
    assert (np.array(widths) > [c.confidence_interval.width for c in with_one]).all()


def test_missing_rows_are_dropped_and_counted() -> None:
    y, guess, group = prices()
    y[3] = np.nan
    options: dict[str, Any] = {"metric": mean_error, "sensitive_features": group, **QUICK}
    with pytest.raises(fs.InputError, match="y_true"):
        fs.group_metric(y, guess, **options)
    with pytest.warns(fs.FairstatsWarning):
        result = fs.group_metric(y, guess, missing="drop", **options)
    assert result["b"].n_reference == 79


@pytest.mark.parametrize(
    ("metric", "rows"),
    [
        (metrics.f1_score, True),
        (lambda tp, fp, fn, tn: tp, False),
        (lambda *cells: cells[0], False),
        (functools.partial(metrics.fbeta_score, beta=2), True),
    ],
)
def test_functions_of_rows_and_of_counts_are_told_apart(metric: Any, rows: bool) -> None:
    assert takes_rows(metric) == rows


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": lambda y_true, y_pred: [1, 2]}, "one number"),
        ({"metric": mean_error, "counts": {"a": (1, 2, 3, 4)}}, "counts"),
        ({"metric": mean_error, "method": "delta"}, "bca"),
        ({"metric": mean_error, "n_resamples": 10}, "n_resamples"),
        ({"metric": mean_error, "contrast": "gap"}, "contrast"),
        ({"metric": [mean_error, "f1"]}, "metric"),
    ],
)
def test_bad_input(options: dict[str, Any], words: str) -> None:
    y, guess, group = prices()
    with pytest.raises(fs.InputError, match=words):
        fs.group_metric(y, guess, sensitive_features=group, **options)


def test_float_of_a_result() -> None:
    counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    one = fs.equal_opportunity_difference(counts=counts, reference="a")
    assert float(one) == one.estimate == pytest.approx(-0.2)
    three = fs.equal_opportunity_difference(counts={**counts, "c": (20, 20, 20, 20)}, reference="a")
    with pytest.raises(fs.FairstatsError, match="2 comparisons"):
        float(three)


# ---------------------------------------------------------------- scorers


def people() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(10)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 300), "skill": rng.normal(size=300)})
    return X, (X["skill"] + X["sex"] + rng.normal(size=300) > 0).astype(int)


def test_a_scorer_is_minus_the_largest_difference() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    X, y = people()
    fitted = LogisticRegression().fit(X, y)
    rates = [fitted.predict(X)[X["sex"] == sex].mean() for sex in (0, 1)]
    of_parity = fs.make_scorer(fs.demographic_parity_difference, sensitive_features="sex")
    assert of_parity(fitted, X, y) == pytest.approx(-abs(rates[0] - rates[1]))
    by_name = fs.make_scorer("selection_rate", sensitive_features=lambda X: X["sex"])
    assert by_name(fitted, X, y) == pytest.approx(-abs(rates[0] - rates[1]))
    of_ratio = fs.make_scorer(fs.disparate_impact, sensitive_features="sex")
    assert of_ratio(fitted, X, y) == pytest.approx(min(rates) / max(rates))
    of_function = fs.make_scorer(
        metrics.log_loss, sensitive_features="sex", response_method="predict_proba"
    )
    losses = [
        metrics.log_loss(y[X["sex"] == sex], fitted.predict_proba(X)[X["sex"] == sex, 1])
        for sex in (0, 1)
    ]
    assert of_function(fitted, X, y) == pytest.approx(-abs(losses[0] - losses[1]))
    search = GridSearchCV(LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=of_parity, cv=2).fit(
        X, y
    )
    assert search.best_params_ == {"C": 1e-6}  # who is told nothing treats all alike


def test_a_scorer_of_routed_groups() -> None:
    import sklearn
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_validate

    X, y = people()
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = fs.make_scorer(fs.demographic_parity_difference).set_score_request(
            sensitive_features=True
        )
        found = cross_validate(
            LogisticRegression(),
            X,
            y,
            scoring=scorer,
            cv=2,
            params={"sensitive_features": X["sex"]},
        )
    assert np.isfinite(found["test_score"]).all()
    assert (found["test_score"] < 0).all()


def test_what_no_scorer_is_made_of() -> None:
    with pytest.raises(fs.InputError, match="metric"):
        fs.make_scorer(3)  # type: ignore[arg-type]
    X, y = people()
    scorer = fs.make_scorer("selection_rate", sensitive_features="sex")
    with pytest.raises(fs.InputError, match="column"):
        scorer(None, X.to_numpy(), y)


def test_draws_do_not_depend_on_how_units_are_stored() -> None:
    """Clusters of one row each are rows."""
    x = np.random.default_rng(11).normal(size=30)

    def mean(rows: Any) -> float:
        return float(x[rows].mean())

    found = []
    for cluster in (None, np.arange(30)):
        units = Units.of_rows(np.arange(30), cluster)
        found.append(draw_metric(mean, units, 50, np.random.default_rng(1), studentised=True))
    np.testing.assert_allclose(found[0].values, found[1].values)
    np.testing.assert_allclose(found[0].variances, found[1].variances)
    pairs = Units(np.array([4, 5, 7, 8, 9]), np.array([0, 2, 5]))
    for chosen in itertools.product((0, 1), repeat=2):
        taken = pairs.take(np.array(chosen)).tolist()
        assert taken == [row for unit in chosen for row in ([4, 5], [7, 8, 9])[unit]]


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
@pytest.mark.parametrize("comparisons", ["rest", "overall"])
@pytest.mark.parametrize("method", ["studentised", "bca"])
def test_pooled_groups_as_the_closed_form_of_means(
    comparisons: Any, contrast: Any, method: Any
) -> None:
    """The mean as a function, beside `fs.means`, whose limits are closed (normal numbers)."""
    rng = np.random.default_rng(12)
    group = np.repeat(["a", "b", "c"], [150, 100, 50])
    y = rng.normal(10 + (group == "b"), 2)
    ours = fs.group_metric(
        y,
        y,
        metric=lambda y_true, y_pred: np.mean(y_true),
        contrast=contrast,
        comparisons=comparisons,
        method=method,
        sensitive_features=group,
        n_resamples=399,
        n_permutations=0,
        rng=3,
    )
    closed = fs.means(y, sensitive_features=group, contrast=contrast, comparisons=comparisons)
    for mine, expected in zip(ours, closed, strict=True):
        assert mine.reference == expected.reference
        assert mine.n_reference == expected.n_reference
        assert mine.estimate == pytest.approx(expected.estimate)
        assert mine.rate_reference == pytest.approx(expected.rate_reference)
        # some 4% of 399 draws' quantiles in standard errors, and Hall's wider limits
        width = expected.confidence_interval.width
        for end, wanted in zip(mine.confidence_interval, expected.confidence_interval, strict=True):
            assert end == pytest.approx(wanted, abs=0.12 * width)
        assert mine.std_error == pytest.approx(expected.std_error, rel=0.15)


def test_everybody_includes_the_group_and_small_groups_are_refused() -> None:
    rng = np.random.default_rng(13)
    group = np.repeat(["a", "b", "c"], [90, 60, MIN_UNITS - 1])
    y = rng.gamma(2.0, 10.0, group.size)
    guess = y + rng.normal(0, 5, group.size)
    few = {"n_resamples": 199, "method": "bca", "rng": 1}
    with pytest.warns(fs.FairstatsWarning, match="needs 40"):
        result = fs.group_metric(
            y, guess, metric=mean_error, comparisons="overall", sensitive_features=group, **few
        )
    assert result["a"].rate_reference == pytest.approx(mean_error(y, guess))
    assert result["c"].verdict == "insufficient evidence"
    assert result["a"].estimate in result["a"].confidence_interval
    assert not any("permutation" in test.method for test in result["a"].tests)
    known = group != "c"
    rest = fs.group_metric(
        y[known],
        guess[known],
        metric=mean_error,
        comparisons="rest",
        sensitive_features=group[known],
        n_permutations=19,
        **few,
    )
    assert rest["a"].rate_reference == pytest.approx(mean_error(y[90:150], guess[90:150]))
    assert any("permutation" in test.method for test in rest["a"].tests)
    with pytest.raises(fs.InputError, match="overlap"):
        fs.group_metric(
            y,
            guess,
            metric=mean_error,
            comparisons="rest",
            simultaneous="max-z",
            sensitive_features=group,
        )
