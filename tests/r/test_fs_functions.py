"""The fs_ functions of the R package, which take data frames, beside the Python functions of that
name.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import fairstats as fs
from fairstats.ground.errors import RBackendError
from fairstats.ground.rsession import call
from fairstats.numerics.rates.conditional import conditional_limit, conditional_test
from fairstats.numerics.rates.search import STEP
from fairstats.numerics.rates.strata import Strata, score_statistic

pytestmark = pytest.mark.r


def people(n: int = 500) -> dict[str, Any]:
    rng = np.random.default_rng(21)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.35, 0.15])
    y = rng.integers(0, 2, n)
    score = np.clip(0.3 + 0.3 * y + 0.1 * (group == "a") + rng.normal(0, 0.2, n), 0, 1)
    return {
        "group": group,
        "y": y,
        "score": score.round(2),
        "p": (score > 0.5).astype(int),
        "other": (score > 0.6).astype(int),
        "stratum": rng.choice(["x", "y", "z"], n),
    }


def listed(d: dict[str, Any]) -> dict[str, Any]:
    return {name: column.tolist() for name, column in d.items()}


def by_group(found: dict[str, Any], name: str) -> dict[str, float]:
    return dict(zip(found["group"], np.asarray(found[name], dtype=float).tolist(), strict=True))


#: Of rows by exact tests, p-values: R maximises by `optimize` where Python interpolates between
#: nuisance rates; limits follow them, to two steps of the search (test_exact_live.py).
EXACT_PVALUE = 2e-5
EXACT_LIMIT = 2 * STEP


def assert_same_table(result: Any, found: dict[str, Any], rel: float = 1e-8) -> None:
    frame = result.to_frame()
    exact = {
        c.group
        for c in result.comparisons
        if getattr(getattr(c, "procedure", None), "exact", False)
    }
    for name in ("estimate", "std_error", "ci_low", "ci_high", "pvalue", "pvalue_adjusted"):
        there = by_group(found, name)
        for group, value in zip(frame["group"], frame[name], strict=True):
            allowed = rel
            if group in exact and name.startswith("ci_"):
                allowed = EXACT_LIMIT
            # an adjusted p-value may be another row's
            if (group in exact and name == "pvalue") or (exact and name == "pvalue_adjusted"):
                allowed = EXACT_PVALUE
            assert there[group] == pytest.approx(value, rel=allowed, abs=1e-12), (name, group)


@pytest.mark.parametrize(
    ("name", "python", "columns"),
    [
        ("fs_disparate_impact", fs.disparate_impact, ("p",)),
        ("fs_conditional_accuracy", fs.conditional_accuracy, ("y", "p")),
        ("fs_conditional_use_accuracy", fs.conditional_use_accuracy, ("y", "p")),
        ("fs_equal_opportunity_difference", fs.equal_opportunity_difference, ("y", "p")),
        ("fs_predictive_parity_difference", fs.predictive_parity_difference, ("y", "p")),
        ("fs_average_odds_difference", fs.average_odds_difference, ("y", "p")),
    ],
)
def test_rates(name: str, python: Any, columns: tuple[str, ...]) -> None:
    d = people()
    result = python(*(d[c] for c in columns), sensitive_features=d["group"], reference="b")
    assert_same_table(result, call(name, listed(d), *columns, "group", reference="b"))


@pytest.mark.parametrize("adjust", ["holm", "sidak"])
@pytest.mark.parametrize(
    ("name", "python", "columns"),
    [
        ("fs_disparate_impact", fs.disparate_impact, ("p",)),
        ("fs_equalized_odds_difference", fs.equalized_odds_difference, ("y", "p")),
    ],
)
def test_each_group_against_all_other_rows(
    name: str, python: Any, columns: tuple[str, ...], adjust: str
) -> None:
    """Rows, families, exact tests of small groups, and adjustment by Sidak."""
    d = people()
    options: dict[str, Any] = {
        "comparisons": "rest",
        "adjust": adjust,
        "simultaneous": "bonferroni",
    }
    result = python(*(d[c] for c in columns), sensitive_features=d["group"], **options)
    found = call(name, listed(d), *columns, "group", **options)
    frame = result.to_frame()
    for column in ("group", "reference", "verdict", "n_reference"):
        assert list(found[column]) == frame[column].tolist(), column
    exact = any(c.procedure.exact for c in result.comparisons)
    assert exact
    for column in (
        "estimate",
        "ci_low",
        "ci_high",
        "pvalue",
        "pvalue_adjusted",
        "bound_low",
        "bound_high",
        "pvalue_verdict",
        "pvalue_verdict_adjusted",
    ):
        allowed = EXACT_PVALUE if column.startswith("pvalue") else EXACT_LIMIT
        there = np.asarray(found[column], dtype=float)
        np.testing.assert_allclose(there, frame[column], rtol=allowed, err_msg=column)


@pytest.mark.parametrize("name", ["fs_disparate_impact", "fs_equal_opportunity_difference"])
def test_what_all_other_rows_do_not_go_with(name: str) -> None:
    d = listed(people(200))
    columns = ["p"] if name == "fs_disparate_impact" else ["y", "p"]
    for wrong, message in (
        ({"reference": "a"}, "reference"),
        ({"simultaneous": "max-z"}, "simultaneous"),
        ({"agg": "max"}, "comparisons"),
    ):
        if "agg" in wrong and len(columns) == 1:
            continue
        with pytest.raises(RBackendError, match=message):
            call(name, d, *columns, "group", comparisons="rest", **wrong)


@pytest.mark.parametrize("threshold", [0.8, 1.0])
@pytest.mark.parametrize("comparisons", ["reference", "all"])
def test_the_highest_rate_as_reference_within_strata(comparisons: str, threshold: float) -> None:
    """Comparisons within strata hold over all pairs by Bonferroni, in both languages."""
    d = people(900)
    options: dict[str, Any] = {
        "reference": "highest",
        "comparisons": comparisons,
        "threshold": threshold,
    }
    result = fs.disparate_impact(
        d["p"], sensitive_features=d["group"], strata=d["stratum"], **options
    )
    found = call("fs_disparate_impact", listed(d), "p", "group", strata="stratum", **options)
    frame = result.to_frame()
    for column in ("group", "reference", "adjusted_verdict"):
        assert list(found[column]) == frame[column].tolist(), column
    for column in ("adjusted", "adjusted_ci_low", "adjusted_ci_high", "adjusted_pvalue"):
        there = np.asarray(found[column], dtype=float)
        np.testing.assert_allclose(there, frame[column], rtol=1e-8, err_msg=column)
    (one, *_) = result.stratified.comparisons
    assert one.pvalue_adjusted == pytest.approx(min(3 * one.pvalue, 1), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "python", "columns"),
    [
        ("fs_disparate_impact", fs.disparate_impact, ("p",)),
        ("fs_equalized_odds_difference", fs.equalized_odds_difference, ("y", "p")),
    ],
)
@pytest.mark.parametrize("comparisons", ["reference", "all"])
def test_the_highest_rate_as_reference(
    name: str, python: Any, columns: tuple[str, ...], comparisons: str
) -> None:
    """Intervals and adjusted p-values over all pairs, by the law of the largest |z|, which R
    simulates: critical values agree to about 1%.  Verdicts' p-values are Bonferroni's, and agree.
    """
    d = people()
    options: dict[str, Any] = {"reference": "highest", "comparisons": comparisons}
    result = python(*(d[c] for c in columns), sensitive_features=d["group"], **options)
    found = call(name, listed(d), *columns, "group", **options)
    frame = result.to_frame()
    assert list(found["group"]) == frame["group"].tolist()
    assert list(found["reference"]) == frame["reference"].tolist()
    assert list(found["verdict"]) == frame["verdict"].tolist()
    allowed = {
        "estimate": (1e-12, 1e-12),
        "pvalue": (EXACT_PVALUE, 1e-12),
        "pvalue_adjusted": (0.03, 0.003),
        "ci_low": (0.01, 0.004),
        "ci_high": (0.01, 0.004),
        "pvalue_verdict_adjusted": (EXACT_PVALUE, 1e-12),
    }
    for column, (rel, abs_) in allowed.items():
        there = np.asarray(found[column], dtype=float)
        np.testing.assert_allclose(there, frame[column], rtol=rel, atol=abs_, err_msg=column)


def test_the_highest_rate_is_refused_where_nothing_is_chosen() -> None:
    d = people()
    for name, columns in (("fs_madd", ("score",)), ("fs_abroca", ("y", "score"))):
        with pytest.raises(Exception, match="reference"):
            call(name, listed(d), *columns, "group", reference="highest")


def test_strata() -> None:
    """Adjusted comparisons of a ratio, of a rate of labels and of a mean of rates, beside the crude
    ones.
    """
    d = people()
    calls = (
        ("fs_disparate_impact", fs.disparate_impact, ("p",)),
        ("fs_equal_opportunity_difference", fs.equal_opportunity_difference, ("y", "p")),
        ("fs_average_odds_difference", fs.average_odds_difference, ("y", "p")),
    )
    for name, python, columns in calls:
        result = python(
            *(d[c] for c in columns),
            sensitive_features=d["group"],
            strata=d["stratum"],
            reference="a",
        )
        found = call(name, listed(d), *columns, "group", reference="a", strata="stratum")
        assert_same_table(result, found)
        for column in (
            "adjusted",
            "adjusted_ci_low",
            "adjusted_ci_high",
            "adjusted_pvalue",
            "pvalue_homogeneity",
        ):
            there = by_group(found, column)
            for row in result.to_frame().to_dict("records"):
                assert there[row["group"]] == pytest.approx(
                    row[column], rel=1e-6, abs=1e-9, nan_ok=True
                ), (name, column)
        verdicts = dict(zip(found["group"], found["adjusted_verdict"], strict=True))
        assert verdicts == {c.group: c.verdict for c in result.stratified.comparisons}


def test_mantelhaen_test_has_the_same_tests() -> None:
    """R's own mantelhaen.test: χ² without correction, exact p-values of both sides, exact limits to
    R's 1e-4.
    """
    rng = np.random.default_rng(4)
    for _ in range(3):
        n1 = rng.integers(4, 15, 4)
        n0 = rng.integers(10, 30, 4)
        k1 = rng.binomial(n1, 0.4)
        k0 = rng.binomial(n0, 0.6)
        cells = np.stack([np.stack([k1, n1 - k1]), np.stack([k0, n0 - k0])]).astype(
            float
        )  # (group, cell, stratum)
        tables = Strata.of(k1, n1, k0, n0)
        exact = conditional_test(tables)
        for alternative, p in (
            ("less", exact.less),
            ("greater", exact.greater),
            ("two.sided", exact.two_sided),
        ):
            found = call("known_mantelhaen", cells, True, alternative)
            assert found["p"] == pytest.approx(float(p), rel=1e-7)
        limits = [float(conditional_limit(tables, 0.025, side=side)) for side in (-1, 1)]
        assert [found["low"], found["high"]] == pytest.approx(limits, rel=5e-4)
        plain = call("known_mantelhaen", cells, False, "two.sided")
        z = float(score_statistic(tables, 1.0, "ratio"))
        assert (plain["statistic"], plain["p"]) == pytest.approx(
            (z * z, 2 * norm.sf(abs(z))), rel=1e-10
        )


def test_mitigation() -> None:
    """What `MaddMitigator.evaluate` returns.

    Closed forms to rounding, the drawn ends of MADD within .1.
    """
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b"], [120, 90])
    score = np.concatenate([rng.beta(2, 3, 120), rng.beta(3, 2, 90)])
    y = (rng.random(210) < score).astype(int)
    half = np.arange(210) % 2 == 0
    mitigator = fs.MaddMitigator(n_lambdas=21, bandwidth=0.2, random_state=1)
    mitigator.fit(score[half], y[half], sensitive_features=group[half])
    new = {"sensitive_features": group[~half]}
    effect = mitigator.evaluate(score[~half], y[~half], **new, n_resamples=999)
    after = mitigator.transform(score[~half], **new)
    columns = {"y": y[~half], "before": score[~half], "after": after, "group": group[~half]}
    found = call("fs_mitigation", listed(columns), "y", "before", "after", "group", n_resamples=999)
    assert list(found["group"]) == [c.group for c in effect.comparisons]
    for k, c in enumerate(effect.comparisons):
        assert found["metric"][k] == c.metric
        drawn = c.metric == "madd_change"
        for name, value in (("before", c.before), ("after", c.after), ("estimate", c.estimate)):
            assert found[name][k] == pytest.approx(value, rel=1e-8), (c.metric, name)
        for name, value in zip(("ci_low", "ci_high"), c.confidence_interval, strict=False):
            assert found[name][k] == pytest.approx(value, rel=1e-8, abs=0.1 if drawn else 1e-9), (
                c.metric,
                name,
            )


@pytest.mark.parametrize("metric", ["disparate_impact", "equal_opportunity_difference"])
def test_compare_models(metric: str) -> None:
    d = people()
    result = fs.compare_models(
        d["y"], d["p"], d["other"], sensitive_features=d["group"], metrics=metric, reference="a"
    )
    found = call(
        "fs_compare_models", listed(d), "y", ["p", "other"], "group", metric, reference="a"
    )
    for change in result.comparisons:
        for name, value in (
            ("before", change.before),
            ("after", change.after),
            ("estimate", change.estimate),
            ("std_error", change.std_error),
            ("ci_low", change.confidence_interval.low),
            ("ci_high", change.confidence_interval.high),
            ("pvalue", change.pvalue),
            ("pvalue_adjusted", change.pvalue_adjusted),
            ("distance_low", change.distance_interval.low),
        ):
            assert by_group(found, name)[change.group] == pytest.approx(value, rel=1e-8), name


@pytest.mark.parametrize(
    ("ratio", "alternative", "threshold"),
    [
        (0.5, "less", 0.8),
        (0.9, "greater", 0.7),
        (0.75, "two-sided", 0.8),
        (0.5, "violated", 0.95),
        (1.4, "violated", 0.9),
        (1.02, "satisfied", 0.8),
    ],
)
def test_planning(ratio: float, alternative: Any, threshold: float) -> None:
    """R sums over the counts of the reference.

    Sizes for verdicts: `test_the_sample_size_of_few_cases`.
    """
    options: dict[str, Any] = {"alternative": alternative, "threshold": threshold}
    ours = fs.power_ratio(0.4, ratio, n=90, n_reference=200, **options)
    there = call("fs_power_ratio", 0.4, ratio, 90, 200, **options)
    assert there == pytest.approx(ours.power, rel=1e-9)
    if alternative in ("violated", "satisfied"):
        return
    plan = fs.sample_size_ratio(0.4, ratio, power=0.7, allocation=2.5, **options)
    found = call("fs_sample_size_ratio", 0.4, ratio, 0.7, 2.5, **options)
    assert (found["n"], found["n_reference"]) == (plan.n, plan.n_reference)
    assert found["power"] == pytest.approx(plan.power, rel=1e-9)


@pytest.mark.parametrize(
    ("rate", "ratio", "n", "m", "options"),
    [
        (0.999, 0.6, 27, 27, {"alternative": "violated"}),
        (0.4, 0.4, 15, 40, {"alternative": "violated", "threshold": 0.9}),
        (0.95, 1.0, 15, 40, {"alternative": "satisfied", "threshold": 0.6}),
    ],
)
def test_planning_of_few_cases(
    rate: float, ratio: float, n: int, m: int, options: dict[str, Any]
) -> None:
    """Both count verdicts by exact tests.

    R finds the largest probability on another grid of rates.
    """
    there = call("fs_power_ratio", rate, ratio, n, m, **options)
    assert there == pytest.approx(
        fs.power_ratio(rate, ratio, n=n, n_reference=m, **options).power, rel=1e-9
    )


def test_the_sample_size_of_few_cases() -> None:
    plan = fs.sample_size_ratio(0.95, 0.4, alternative="violated")
    found = call("fs_sample_size_ratio", 0.95, 0.4, alternative="violated")
    assert (found["n"], found["power"]) == (plan.n, pytest.approx(plan.power, rel=1e-9))


def test_abroca_of_two_groups() -> None:
    d = people()
    inside = d["group"] == "b"
    outside = d["group"] == "a"
    keep = inside | outside
    result = fs.abroca(
        d["y"][keep], d["score"][keep], sensitive_features=d["group"][keep], reference="a", rng=1
    )
    two = {name: d[name][keep].tolist() for name in ("y", "score", "group")}
    found = call("fs_abroca", two, "y", "score", "group", reference="a")
    assert found["estimate"] == pytest.approx(result.estimate, rel=1e-10)
    comparison = result.comparisons[0]
    assert found["rate"] == pytest.approx(comparison.rate, rel=1e-12)
    assert found["rate_reference"] == pytest.approx(comparison.rate_reference, rel=1e-12)


@pytest.mark.filterwarnings("ignore:abroca.*separate:fairstats.ground.errors.DataWarning")
@pytest.mark.parametrize("kind", ["separated", "one group", "all equal"])
def test_abroca_without_noise(kind: str) -> None:
    """Limits and p-values from the rows alone, in closed form: no draw moves such curves."""
    y = np.repeat([0, 1, 0, 1], [40, 12, 50, 30])
    group = np.repeat(["b", "a"], [52, 80])
    score = 0.3 + 0.4 * y * (kind != "all equal")
    score[-1] -= 0.5 * (kind == "one group")
    c = fs.abroca(y, score, sensitive_features=group, reference="a", rng=1).comparisons[0]
    columns = {"y": y.tolist(), "score": score.tolist(), "group": group.tolist()}
    found = call("fs_abroca", columns, "y", "score", "group", reference="a")
    assert found["verdict"] == c.verdict == "undecided"
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(
        tuple(c.confidence_interval), rel=1e-9
    )
    assert c.confidence_interval.high == pytest.approx(
        c.estimate + 2 - 2 * 0.05 ** (1 / 24), rel=1e-9
    )
    assert found["pvalue_verdict"] == pytest.approx(c.pvalue_verdict, rel=1e-9)
    if kind != "one group":
        assert np.isnan(found["std_error"])
        assert np.isnan(c.std_error)


@pytest.mark.parametrize("scale", [1, -1])
def test_abroca_of_few_errors(scale: int) -> None:
    """Two of 40 positives below all negatives, ties and overlap: limits by the same beta quantiles.

    They are no draws: those of two generators do not agree to 1e-9.
    """
    y = np.repeat([0, 1, 0, 1], [40, 40, 300, 300])
    group = np.repeat(["b", "a"], [80, 600])
    score = 0.3 + 0.4 * y + 0.01 * (np.arange(680) % 7)
    score[40:42], score[80:90], score[2] = 0.1, 0.75, 0.72
    score = 0.5 + scale * (score - 0.5)
    c = fs.abroca(y, score, sensitive_features=group, reference="a", rng=1).comparisons[0]
    columns = {"y": y.tolist(), "score": score.tolist(), "group": group.tolist()}
    found = call("fs_abroca", columns, "y", "score", "group", reference="a")
    assert found["estimate"] == pytest.approx(c.estimate, rel=1e-9)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(
        tuple(c.confidence_interval), rel=1e-9
    )


@pytest.mark.filterwarnings("ignore:R.*No tail is fitted:fairstats.ground.errors.FairstatsWarning")
def test_rounding_of_both_levels() -> None:
    """By hand: levels .2 and 0, each off by up to .1, which adds up."""
    first = np.repeat([0.2, 0.1, 0.0], [320, 40, 40])
    second = np.repeat([0.0, -0.1, -0.2], [320, 40, 40])
    found = call("fs_ecd", first, second)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((0, 0.4), abs=1e-9)


def test_permutation_of_histograms() -> None:
    d = people()
    inside, outside = (np.sort(d["score"][d["group"] == g]) for g in ("b", "a"))
    score = np.concatenate([inside, outside])
    group = np.repeat(["b", "a"], [inside.size, outside.size])
    ours = fs.madd(score, sensitive_features=group, n_bins=8, rng=1)
    bins = [
        np.bincount(np.minimum((s * 8).astype(int), 7), minlength=8).astype(float)
        for s in (inside, outside)
    ]
    found = call("crosscheck_madd_pair", *bins, 0.95, 1999, rng=2)
    assert found["madd"] == pytest.approx(ours.estimate, rel=1e-12)
    assert found["null_mean"] == pytest.approx(ours.null_mean, rel=1e-10)
    assert found["pvalue"] == pytest.approx(ours.pvalue, abs=5 * found["pvalue_error"])


def test_extreme_counterfactual_discrimination() -> None:
    """Likelihoods in both languages: the tolerances are those of two searches for one maximum."""
    rng = np.random.default_rng(22)
    cd = {"u": 0.5 * rng.beta(2, 8, 3000), "p": 0.3 * rng.beta(2, 8, 8000)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        ours = fs.ecd(
            cd,
            privileged="p",
            unprivileged="u",
            threshold=50,
            n_resamples=0,
            calibrated=False,
            backend="scipy",
        )
    found = call("fs_ecd", cd["u"], cd["p"], threshold=50, calibrated=False)
    assert found["estimate"] == pytest.approx(ours.estimate, rel=1e-6)
    assert found["std_error"] == pytest.approx(ours.std_error, rel=1e-4)
    assert found["statistic"] == pytest.approx(ours.statistic, rel=1e-4)
    assert found["pvalue"] == pytest.approx(ours.pvalue, rel=1e-3)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(
        tuple(ours.confidence_interval), abs=1e-4
    )
    assert (found["bound_low"], found["bound_high"]) == pytest.approx(tuple(ours.bounds), abs=1e-4)
    assert found["verdict"] == ours.verdict
    for k, tail in enumerate(ours.tails):
        assert found["tails"]["threshold"][k] == pytest.approx(tail.threshold, rel=1e-12)
        assert found["tails"]["shape"][k] == pytest.approx(tail.fit.shape, abs=1e-5)
        assert found["tails"]["return_level"][k] == pytest.approx(tail.level.estimate, rel=1e-6)
        assert found["tails"]["ci_high"][k] == pytest.approx(
            tail.level.confidence_interval.high, rel=1e-3
        )


def test_averages_of_counterfactual_discrimination() -> None:
    rng = np.random.default_rng(23)
    cd = {"u": 0.5 * rng.beta(2, 8, 900), "p": 0.3 * rng.beta(2, 8, 1200)}
    sample = fs.results.CounterfactualSample.from_values(cd)
    found = call("fs_ecd", cd["u"], cd["p"])["averages"]
    for k, group in enumerate(("u", "p")):
        average = sample[group].average
        interval, test = average._inference(0.95)
        assert found["estimate"][k] == pytest.approx(average.estimate, rel=1e-12)
        assert found["std_error"][k] == pytest.approx(average.std_error, rel=1e-12)
        assert found["ci_low"][k] == pytest.approx(interval.low, rel=1e-10)
        assert found["statistic"][k] == pytest.approx(test.statistic, rel=1e-10)
