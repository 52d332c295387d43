"""Weights and clusters: linearisation as in R's survey package.

The witness is `tests/reference/survey_ratio.json`, written by R (`svyby`, `svymean`, `svycontrast`); its
note says how. Tolerance: 1e-8 relative; for numbers that are sums of cancelling terms
1e-12 beside it.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.registry import RATES
from fairstats.methods.rates.estimates import estimate_rate, joint_covariance
from fairstats.methods.rates.limits import Score
from fairstats.methods.rates.maxima import _Band
from fairstats.methods.rates.pair import pair_method, shrinkage
from fairstats.numerics.rates.score import ratio_statistic

FILE = Path(__file__).resolve().parents[2] / "reference" / "survey_ratio.json"
RELATIVE = 1e-8

DESIGNS = ("weighted", "clustered", "weighted_clustered", "plain")
#: Rate in the file → ratio with that rate, difference with that rate.
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "selection_rate": (
        lambda y, p, **k: fs.disparate_impact(p, **k),
        lambda y, p, **k: fs.demographic_parity_difference(y, p, **k),
    ),
    "tpr": (
        lambda y, p, **k: fs.conditional_accuracy(y, p, label=1, **k),
        lambda y, p, **k: fs.equal_opportunity_difference(y, p, **k),
    ),
    "ppv": (
        lambda y, p, **k: fs.conditional_use_accuracy(y, p, prediction=1, **k),
        lambda y, p, **k: fs.predictive_parity_difference(y, p, **k),
    ),
}


@pytest.fixture(scope="module")
def survey() -> dict[str, Any]:
    if not FILE.exists():
        pytest.skip(f"{FILE.name} is not there: write it with r/reference/make_survey_reference.R")
    return json.loads(FILE.read_text(encoding="utf-8"))


def arguments(survey: dict[str, Any], design: str) -> dict[str, Any]:
    data, about = survey["data"], survey["designs"][design]
    found: dict[str, Any] = {"sensitive_features": data["group"]}
    if about["weighted"]:
        found["sample_weight"] = data["weight"]
    if about["clustered"]:
        found["cluster"] = data["cluster"]
    if design == "plain":  # survey's own n/(n−1), which unit weights bring in
        found["sample_weight"] = np.ones(len(data["group"]))
    return found


@pytest.mark.parametrize("design", DESIGNS)
def test_totals_of_the_cells(survey: dict[str, Any], design: str) -> None:
    cells = survey["designs"][design]["cells"]
    groups = [name.rpartition("_")[0] for name in cells["cells"][::4]]
    counts = fs.ConfusionCounts.from_arrays(
        survey["data"]["y_true"], survey["data"]["y_pred"], groups=groups, **arguments(survey, design)
    )
    assert [f"{g}_{c}" for g in counts.groups for c in counts.cells] == cells["cells"]
    np.testing.assert_allclose(counts.totals.ravel(), cells["totals"], rtol=RELATIVE)
    np.testing.assert_allclose(counts.covariance(), cells["covariance"], rtol=RELATIVE, atol=1e-9)
    assert counts.degrees_of_freedom == survey["designs"][design]["degf"]


@pytest.mark.parametrize("rate", ["selection_rate", "tpr", "fpr", "ppv", "npv"])
@pytest.mark.parametrize("design", DESIGNS)
def test_rates_and_their_covariance(survey: dict[str, Any], design: str, rate: str) -> None:
    wanted = survey["designs"][design]["rates"]["false_omission_rate" if rate == "npv" else rate]
    counts = fs.ConfusionCounts.from_arrays(
        survey["data"]["y_true"], survey["data"]["y_pred"], groups=wanted["groups"], **arguments(survey, design)
    )
    found = estimate_rate(counts, RATES[rate])
    expected = 1 - np.array(wanted["rate"]) if rate == "npv" else np.array(wanted["rate"])
    np.testing.assert_allclose(found.rate, expected, rtol=RELATIVE)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), wanted["std_error"], rtol=RELATIVE)
    np.testing.assert_allclose(found.covariance, wanted["covariance"], rtol=RELATIVE, atol=1e-12)
    np.testing.assert_array_equal(found.rows, wanted["rows"])


def worth(unit: Any, size: Any) -> float:
    """(Σd)²/Σd² by hand, d the weighted cases of each sampling unit."""
    _, number = np.unique(np.asarray(unit), return_inverse=True)
    each = np.bincount(number, weights=size)
    return float(each.sum() ** 2 / (each**2).sum())


def satterthwaite(variances: list[float], units: list[float]) -> float:
    """By hand: (v₀ + v₁)²/Σ v²/(u − 1)."""
    return sum(variances) ** 2 / sum(v**2 / (u - 1) for v, u in zip(variances, units, strict=True))


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize("rate", FUNCTIONS)
@pytest.mark.parametrize("design", DESIGNS)
def test_ratios_and_differences(survey: dict[str, Any], design: str, rate: str) -> None:
    data = survey["data"]
    options = arguments(survey, design)
    for wanted in survey["designs"][design]["rates"][rate]["contrasts"]:
        ratio, difference = FUNCTIONS[rate]
        found = ratio(data["y_true"], data["y_pred"], reference=wanted["reference"], method="delta", **options)
        comparison = found[wanted["group"]]
        assert comparison.estimate == pytest.approx(wanted["ratio"]["estimate"], rel=RELATIVE)
        assert comparison.std_error == pytest.approx(wanted["ratio"]["std_error"], rel=RELATIVE)
        found = ratio(data["y_true"], data["y_pred"], reference=wanted["reference"], method="log", **options)
        low, high = found[wanted["group"]].confidence_interval
        from scipy.stats import t

        comparison = found[wanted["group"]]
        by_group = survey["designs"][design]["rates"][rate]
        where = [by_group["groups"].index(g) for g in (wanted["group"], wanted["reference"])]
        group = np.asarray(options["sensitive_features"])
        unit = np.asarray(options.get("cluster", np.arange(group.size)))
        y_true, y_pred = np.asarray(data["y_true"]), np.asarray(data["y_pred"])
        case = {"selection_rate": y_true >= 0, "tpr": y_true == 1, "ppv": y_pred == 1}[rate]
        weight = np.asarray(options.get("sample_weight", np.ones(group.size)))
        inside = [case & (group == by_group["groups"][g]) for g in where]
        units = [worth(unit[rows], weight[rows]) for rows in inside]
        spread = [(by_group["std_error"][g] / by_group["rate"][g]) ** 2 for g in where]
        degrees = satterthwaite(spread, units)
        log, every = wanted["log_ratio"], len(set(unit.tolist()))
        wider = sum(v / (1 - 2 / m) for v, m in zip(spread, units, strict=True)) / sum(spread)
        reach = t.ppf(0.975, degrees) * log["std_error"] * np.sqrt(wider * (every - 1) / every)
        if comparison.verdict != "insufficient evidence":
            wanted_ends = [log["estimate"] - reach, log["estimate"] + reach]
            assert np.log([low, high]) == pytest.approx(wanted_ends, rel=1e-7)
            assert comparison.method == "log (Satterthwaite)"
        gap = difference(data["y_true"], data["y_pred"], reference=wanted["reference"], **options)
        assert gap[wanted["group"]].estimate == pytest.approx(wanted["difference"]["estimate"], rel=RELATIVE)
        assert gap[wanted["group"]].std_error == pytest.approx(wanted["difference"]["std_error"], rel=RELATIVE)
        assert gap[wanted["group"]].method == "score (Satterthwaite)"


# ---------------------------------------------------------------- without R


def test_unit_weights_are_the_unweighted_variance_times_n_over_n_minus_1(rows_of: Any) -> None:
    rows = rows_of({"a": (20, 9, 11, 30), "b": (25, 12, 7, 28)})
    n = rows.group.size
    for function in (fs.disparate_impact, fs.demographic_parity_difference):
        columns = (rows.y_pred,) if function is fs.disparate_impact else (None, rows.y_pred)
        plain = function(*columns, sensitive_features=rows.group, method="delta", reference="b")
        unit = function(
            *columns, sensitive_features=rows.group, method="delta", reference="b", sample_weight=np.ones(n)
        )
        assert unit.estimate == plain.estimate
        assert unit.std_error**2 == pytest.approx(plain.std_error**2 * n / (n - 1), rel=1e-12)


def test_clusters_of_one_row_are_unit_weights(rows_of: Any, rng: np.random.Generator) -> None:
    rows = rows_of({"a": (20, 9, 11, 30), "b": (25, 12, 7, 28)})
    n = rows.group.size
    alone = fs.disparate_impact(rows.y_pred, sensitive_features=rows.group, cluster=rng.permutation(n))
    unit = fs.disparate_impact(rows.y_pred, sensitive_features=rows.group, sample_weight=np.ones(n))
    assert tuple(alone.confidence_interval) == pytest.approx(tuple(unit.confidence_interval), rel=1e-12)


def test_the_scale_of_the_weights_does_not_matter(rows_of: Any, rng: np.random.Generator) -> None:
    rows = rows_of({"a": (80, 36, 44, 120), "b": (100, 48, 48, 112)})
    weight = rng.uniform(0.2, 5, rows.group.size)
    results = [
        fs.average_odds_difference(
            rows.y_true, rows.y_pred, sensitive_features=rows.group, sample_weight=scale * weight
        )
        for scale in (1.0, 1e-6, 1e9)
    ]
    for other in results[1:]:
        assert other.estimate == pytest.approx(results[0].estimate, rel=1e-10)
        assert other.std_error == pytest.approx(results[0].std_error, rel=1e-10)


def test_linearisation_by_hand(rng: np.random.Generator) -> None:
    """Var(r_a − r_b) = m/(m−1) Σ_u (z_u − z̄)², z the sum over a cluster of w·(y − r_g)·(±1)/Σw of the
    group.
    """
    n, m = 120, 15
    y, cluster = rng.integers(0, 2, n), rng.integers(0, m, n)
    group, weight = np.where((cluster + rng.integers(0, 3, n)) % 2, "a", "b"), rng.uniform(0.5, 3, n)
    z = np.zeros(n)
    rate = {}
    for g, sign in (("a", 1), ("b", -1)):
        inside = group == g
        rate[g] = np.average(y[inside], weights=weight[inside])
        z[inside] = sign * weight[inside] * (y[inside] - rate[g]) / weight[inside].sum()
    totals = np.bincount(cluster, weights=z, minlength=m)
    variance = m / (m - 1) * np.sum((totals - totals.mean()) ** 2)
    found = fs.demographic_parity_difference(
        None, y, sensitive_features=group, sample_weight=weight, cluster=cluster, reference="b"
    )
    assert found.estimate == pytest.approx(rate["a"] - rate["b"], rel=1e-12)
    assert found.std_error == pytest.approx(np.sqrt(variance), rel=1e-10)


def test_average_odds_and_maxima_take_the_joint_covariance(rng: np.random.Generator) -> None:
    """Within clusters TPR and FPR are not independent: Var((t₀+f₀−t₁−f₁)/2) from the joint covariance
    matrix.
    """
    n = 200
    y, p, group = rng.integers(0, 2, (3, n))
    cluster, weight = rng.integers(0, 20, n), rng.uniform(0.5, 2, n)
    options = {"sensitive_features": group, "cluster": cluster, "sample_weight": weight, "groups": [0, 1]}
    counts = fs.ConfusionCounts.from_arrays(y, p, **options)
    joint = joint_covariance(counts, [RATES["tpr"], RATES["fpr"]])
    contrast = np.array([1, -1, 1, -1]) / 2
    found = fs.average_odds_difference(y, p, reference=1, **options)
    assert found.std_error == pytest.approx(np.sqrt(contrast @ joint @ contrast), rel=1e-10)
    largest = fs.equalized_odds_difference(y, p, agg="max", **options)
    for component in largest.components:
        part = slice(0, 2) if component.rate == "tpr" else slice(2, 4)
        variance = np.array([1, -1]) @ joint[part, part] @ np.array([1, -1])
        assert component.std_error == pytest.approx(np.sqrt(variance), rel=1e-10)


@pytest.mark.parametrize("n", [110, 400])
def test_effective_counts_under_weights(n: int, rng: np.random.Generator) -> None:
    """Korn & Graubard (1998): n* = r(1−r)/Var(r); the weighted score interval is that of r·n*, n*.

    Below 20·rows/units effective successes or failures the critical value is divided by their share of that.
    """
    from scipy.stats import t

    from tests.numerics.rates.score_arrays import ratio_score_interval

    y, weight = rng.integers(0, 2, n), rng.uniform(0.2, 4, n)
    group = np.repeat(["a", "b"], n // 2)
    options = {"sensitive_features": group, "sample_weight": weight, "reference": "b"}
    result = fs.disparate_impact(y, method="score", **options)
    table: list[float] = []
    variances, units = [], []
    for g in "ab":
        inside = group == g
        rate = np.average(y[inside], weights=weight[inside])
        z = weight[inside] * (y[inside] - rate) / weight[inside].sum()
        units.append(worth(np.flatnonzero(inside), weight[inside]))
        size = rate * (1 - rate) * (1 - 2 / units[-1]) / np.sum(z**2)
        table += [rate * size, size]
        variances.append(np.sum(z**2) / rate**2)  # of the log rate
    degrees = satterthwaite(variances, units)
    few = [[k, m - k] for k, m in (table[:2], table[2:])]
    (more, fewer), (more_b, fewer_b) = (
        np.minimum(1, np.array(own) * unit / (20 * n / 2)) for own, unit in zip(few, units, strict=True)
    )
    shrunk = min(more, fewer_b), min(fewer, more_b)
    assert (min(shrunk) < 1) == (n == 110)
    for end, factor in enumerate(shrunk):
        wanted = ratio_score_interval(*table, float(t.ppf(0.975, degrees)) / factor)[end]
        assert tuple(result.confidence_interval)[end] == pytest.approx(float(wanted), rel=1e-9)


def test_a_bootstrap_of_clusters_is_refused() -> None:
    with pytest.raises(fs.InputError, match="`method`: got .* with .*clusters.*'log' or 'delta'"):
        fs.disparate_impact(
            [1, 0, 0, 0, 1, 1, 1, 0] * 20,
            sensitive_features=list("aabb") * 40,
            cluster=np.arange(160) // 2,
            method="bootstrap",
            rng=1,
        )


@pytest.mark.parametrize("function", [fs.disparate_impact, fs.demographic_parity_difference])
def test_groups_that_share_clusters_depend_on_each_other(function: Any, rng: np.random.Generator) -> None:
    """z of the score is that of independent groups times √(independent variance / variance): in large samples
    the interval nears that of log or delta, which take the covariance.
    """
    cluster = np.repeat(np.arange(300), 20)
    group = np.tile(["a", "b"], 3_000)
    rate = np.clip(rng.normal(0.5, 0.2, 300), 0.05, 0.95)[cluster]
    rows = {"y_pred": (rng.random(6_000) < rate).astype(int), "sensitive_features": group, "reference": "b"}
    linear = "log" if function is fs.disparate_impact else "delta"
    score, other = (tuple(function(**rows, cluster=cluster, method=m).confidence_interval) for m in (None, linear))
    assert score == pytest.approx(other, abs=0.0015)
    alone = function(**rows, cluster=np.arange(6_000), method=linear).confidence_interval
    apart = function(**rows, cluster=2 * cluster + (group == "a")).confidence_interval
    assert apart.width > 1.3 * alone.width
    assert np.diff(score)[0] < 0.9 * apart.width


def clustered_rows(rng: np.random.Generator, clusters: tuple[int, int]) -> dict[str, Any]:
    """Two groups of clusters of eight rows; the clusters have rates of their own."""
    group = np.repeat(["a", "b"], [8 * m for m in clusters])
    rate = np.repeat(np.clip(rng.normal(0.5, 0.12, sum(clusters)), 0.05, 0.95), 8)
    return {
        "y_pred": (rng.random(group.size) < rate).astype(int),
        "sensitive_features": group,
        "cluster": np.repeat(np.arange(sum(clusters)), 8),
    }


@pytest.mark.parametrize("function", [fs.disparate_impact, fs.demographic_parity_difference])
def test_copies_of_rows_within_their_clusters_change_nothing(function: Any, rng: np.random.Generator) -> None:
    """What is sampled are clusters: interval, p-values and verdict do not see how often a row is there."""
    for _ in range(5):
        rows = clustered_rows(rng, (12, 30))
        once = function(**rows, reference="b").comparisons[0]
        copied = {name: np.repeat(column, 50) for name, column in rows.items()}
        often = function(**copied, reference="b").comparisons[0]
        assert tuple(often.confidence_interval) == pytest.approx(tuple(once.confidence_interval), rel=1e-9)
        assert often.pvalue == pytest.approx(once.pvalue, rel=1e-8)
        assert often.pvalue_verdict == pytest.approx(once.pvalue_verdict, rel=1e-8)
        assert often.verdict == once.verdict


UNEQUAL: dict[str, Any] = {
    "ratio": lambda y, p, **k: fs.disparate_impact(p, **k),
    "difference": lambda y, p, **k: fs.demographic_parity_difference(y, p, **k),
    "tpr": lambda y, p, **k: fs.conditional_accuracy(y, p, label=1, **k),
    "precision": lambda y, p, **k: fs.conditional_use_accuracy(y, p, prediction=1, **k),
    "average odds": lambda y, p, **k: fs.average_odds_difference(y, p, **k),
    "largest gap": lambda y, p, **k: fs.equal_opportunity_difference(y, p, agg="max", **k),
}


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize("name", UNEQUAL)
def test_copies_within_unequal_clusters_change_nothing(name: str, rng: np.random.Generator) -> None:
    """Sizes with a CV of about 1, positives of other numbers in each cluster; and 20 times all weights.

    Witness: the same sample. The rate of .15 has a skewness that shrinks statistics.
    """
    seen = set()
    for _ in range(4):
        sizes = np.ceil(rng.lognormal(1.8, 0.85, 130)).astype(int)
        cluster = np.repeat(np.arange(130), sizes)
        own, base = rng.beta(1.5, 8.5, 130)[cluster], rng.beta(3.0, 3.0, 130)[cluster]
        rows = {
            "y": (rng.random(cluster.size) < base).astype(int),
            "p": (rng.random(cluster.size) < own).astype(int),
            "sensitive_features": np.where(cluster < 50, "a", "b"), "cluster": cluster,
        }  # fmt: skip
        extra = {} if name == "largest gap" else {"reference": "b"}
        once, often = (
            UNEQUAL[name](**{k: np.repeat(v, c) for k, v in rows.items()}, **extra).comparisons[0] for c in (1, 20)
        )
        weights = {"sample_weight": np.full(cluster.size, 20.0)}
        heavy = UNEQUAL[name](**rows, **weights, **extra).comparisons[0]
        for other in (often, heavy):
            assert other.verdict == once.verdict
            for of in ("confidence_interval", "bounds"):
                wanted = tuple(getattr(once, of))
                assert tuple(getattr(other, of)) == pytest.approx(wanted, rel=1e-8, abs=1e-10, nan_ok=True)
            assert other.pvalue == pytest.approx(once.pvalue, rel=1e-7, nan_ok=True)
            assert other.pvalue_verdict == pytest.approx(once.pvalue_verdict, rel=1e-7, nan_ok=True)
        seen.add(once.verdict)
    assert seen != {"insufficient evidence"}


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize("rate", [0, 1])
def test_clusters_that_all_agree_give_no_interval_however_often_they_are_copied(rate: int) -> None:
    group = np.repeat(["a", "b"], [60, 160])
    y = np.where(group == "a", rate, np.arange(220) % 2)
    cluster = np.arange(220) // 10
    for copies in (1, 100):
        columns = [np.repeat(column, copies) for column in (y, group, cluster)]
        found = fs.demographic_parity_difference(
            None, columns[0], sensitive_features=columns[1], cluster=columns[2], reference="b"
        )
        assert found.verdict == "insufficient evidence"
        assert np.isnan(tuple(found.confidence_interval)).all()


def test_few_clusters_are_insufficient_evidence(rng: np.random.Generator) -> None:
    rows = clustered_rows(rng, (5, 40))
    with pytest.warns(InsufficientEvidenceWarning, match="a: 5 effective clusters, too few"):
        found = fs.disparate_impact(**rows, reference="b")
    assert found.verdict == "insufficient evidence"
    assert np.isfinite(found.estimate)
    assert np.isfinite(found.std_error)
    assert fs.disparate_impact(**clustered_rows(rng, (9, 40)), reference="b").verdict != "insufficient evidence"


def test_unequal_clusters_and_weights_count_as_fewer(rng: np.random.Generator) -> None:
    """20 clusters, one with four in five rows, are worth 1.6; weights of CV 1 need twice the successes."""
    rows = clustered_rows(rng, (20, 40))
    large = np.flatnonzero(rows["cluster"] == 0)
    rows = {name: np.concatenate([column, np.repeat(column[large], 75)]) for name, column in rows.items()}
    with pytest.warns(InsufficientEvidenceWarning, match=r"a: 1.56 effective clusters, too few"):
        fs.disparate_impact(**rows, reference="b")
    y = np.tile([0, 1, 1, 0], 60)
    group, weight = np.repeat(["a", "b"], [80, 160]), np.ones(240)
    plain = fs.disparate_impact(y, sensitive_features=group, sample_weight=weight, reference="b")
    assert plain.verdict != "insufficient evidence"
    weight[:80:8] = weight[1:80:8] = 8.0
    with pytest.warns(InsufficientEvidenceWarning, match=r"a: .* effective (successes|failures) among .*, too few"):
        fs.disparate_impact(y, sensitive_features=group, sample_weight=weight, reference="b")


def test_statistics_of_unequal_clusters_are_shrunk_on_the_side_of_less_variance(rng: np.random.Generator) -> None:
    """By hand: z of 8 clusters of 60 rows among 72 of 6, whose lower rates lean on few large clusters."""
    sizes = np.r_[np.tile(np.r_[60, np.full(9, 6)], 8), np.full(65, 10)]
    cluster = np.repeat(np.arange(145), sizes)
    group = np.where(cluster < 80, "a", "b")
    y = (rng.random(cluster.size) < rng.beta(1.0, 4.0, 145)[cluster]).astype(int)
    settings: dict[str, Any] = {"sensitive_features": group, "cluster": cluster, "reference": "b"}
    result = fs.disparate_impact(y, **settings)
    (row,) = result.comparisons
    table, factors = [], []
    for g in ("a", "b"):
        own = group == g
        hits = np.bincount(cluster[own], y[own])[-65 if g == "b" else 0 :]
        d = np.bincount(cluster[own])[-65 if g == "b" else 0 :]
        r, m = hits.sum() / d.sum(), worth(cluster[own], np.ones(own.sum()))
        n = r * (1 - r) * d.sum() ** 2 / ((hits - r * d) ** 2).sum() * (1 - 2 / m)
        uneven = (d != 0).sum() / m - 1
        skew = 2 * uneven * (1 - 2 * r) / np.sqrt(r * (1 - r) * n)
        table += [r * n, n]
        factors.append((min(r * n / 20, 1), 1 / (1 + 0.7 * skew)))
    assert factors[0][1] < 0.9 < 1 - 1e-12 < factors[1][1]
    signs = set()
    for null, test in ((0.8, row.tests[0]), (1.0, row.tests[2])):
        z = ratio_statistic(tuple(table), null, True)
        signs.add(bool(z < 0))
        shrunk = z * (factors[0][1] if z < 0 else factors[0][0])
        assert test.statistic == pytest.approx(shrunk, rel=1e-9)
    assert signs == {True, False}
    assert any("clusters of very unequal size" in note for note in result.notes())
    counts = dataclasses.replace(result.counts, group_units=None)  # of merged groups: all 145, at most
    merged = fs.disparate_impact(counts=counts, reference="b").confidence_interval
    assert merged.high > row.confidence_interval.high


def test_zero_weights_count_as_sampled_units(rng: np.random.Generator) -> None:
    """As in R: a unit with weight 0 was sampled, so it stays in n/(n−1), and adds nothing else."""
    y, group = rng.integers(0, 2, 120), np.tile(["a", "b"], 60)
    weight = np.concatenate([rng.uniform(0.9, 1.1, 100), np.zeros(20)])
    whole = fs.demographic_parity_difference(None, y, sensitive_features=group, sample_weight=weight, reference="b")
    part = fs.demographic_parity_difference(
        None, y[:100], sensitive_features=group[:100], sample_weight=weight[:100], reference="b"
    )
    assert whole.estimate == pytest.approx(part.estimate, rel=1e-12)
    assert whole.std_error**2 == pytest.approx(part.std_error**2 * (120 / 119) / (100 / 99), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "rate"), [(24, 0.5), (40, 0.3)])
def test_coverage_beside_many_clusters(clusters: int, rate: float) -> None:
    """300 samples, equal clusters of 20 rows with an ICC of .1 beside 160: 95% less three standard errors
    (3.8%), each one-sided test wrong in at most 5% and as many.
    """
    rng = np.random.default_rng(31)
    m = clusters + 160
    group, cluster = np.repeat([0, 1], [20 * clusters, 3_200]), np.repeat(np.arange(m), 20)
    held = below = above = 0
    for _ in range(300):
        own = rng.beta(rate * 9, (1 - rate) * 9, m)
        y = rng.random(20 * m) < own[cluster]
        found = fs.disparate_impact(y, sensitive_features=group, cluster=cluster, reference=1, threshold=1.0)
        held += found.confidence_interval.low <= 1 <= found.confidence_interval.high
        below += found.comparisons[0].tests[0].pvalue < 0.05
        above += found.comparisons[0].tests[1].pvalue < 0.05
    assert held / 300 >= 0.95 - 0.038
    assert max(below, above) / 300 <= 0.05 + 0.038


def test_a_mean_of_rates_has_the_units_of_its_poorer_part() -> None:
    """Effective clusters by hand: of 40 equal ones 10 hold the favourable labels, 30 the others."""
    group, cluster = np.repeat(["a", "b"], 400), np.repeat(np.arange(80), 10)
    y, pred = (cluster % 40 < 10).astype(int), np.tile([1, 1, 0, 1, 0], 160)
    counts = fs.ConfusionCounts.from_arrays(y, pred, sensitive_features=group, cluster=cluster)
    units = {
        name: np.asarray(estimate_rate(counts, RATES[name]).units).tolist() for name in ("tpr", "fpr", "average_odds")
    }
    assert units == {"tpr": [10.0, 10.0], "fpr": [30.0, 30.0], "average_odds": [10.0, 10.0]}


def test_weighted_limits_of_a_largest_gap_are_those_of_the_pair() -> None:
    """Limits and statistics by the code of single differences: shrunk where successes of a group are few."""
    group = np.repeat(["a", "b"], [70, 400])
    pred = np.concatenate([np.arange(70) < 20, np.arange(400) < 240]).astype(int)
    weight = np.random.default_rng(5).gamma(8.0, size=470)
    counts = fs.ConfusionCounts.from_arrays(
        pred, pred, sensitive_features=group, sample_weight=weight, groups=["a", "b"]
    )
    estimates = estimate_rate(counts, RATES["selection_rate"])
    (few, *others) = shrinkage(estimates).ravel()
    assert 0.5 < few < 0.95
    assert others == [1.0, 1.0, 1.0]
    band = _Band.of(counts, [estimates])
    single = pair_method(estimates, 0, 1, "difference", "score", n_resamples=1, rng=None).how
    assert isinstance(single, Score)
    for critical in (1.0, 2.5):
        assert np.ravel(band.limits(critical)) == pytest.approx(single.limits(critical), rel=1e-9)
    for null in (-0.45, -0.1, 0.2):
        assert band.statistics(null) == pytest.approx([single.statistic(null)], rel=1e-9)


@pytest.mark.parametrize(("clusters", "answered"), [(7, False), (8, True)])
def test_fewest_clusters_of_an_answer(clusters: int, answered: bool) -> None:
    """Eight equal ones, as the docstring says."""
    group = np.repeat(["b", "a"], [20 * clusters, 800])
    owner = np.arange(group.size) // 20
    y = np.random.default_rng(4).integers(0, 2, group.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        found = fs.disparate_impact(y_pred=y, sensitive_features=group, reference="a", cluster=owner)
    assert (found.verdict != "insufficient evidence") == answered
