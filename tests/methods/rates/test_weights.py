"""Weights and clusters: linearisation as in R's survey package.

The witness is `tests/reference/survey_ratio.json`, written by R (`svyby`, `svymean`,
`svycontrast`); its note says how. Tolerance: 1e-8 relative; for numbers that are sums of cancelling
terms 1e-12 beside it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.registry import RATES
from fairstats.methods.rates.estimates import estimate_rate, joint_covariance
from fairstats.methods.rates.limits import Score
from fairstats.methods.rates.maxima import _SimultaneousBand
from fairstats.methods.rates.pair import pair_method
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
    data = survey["data"]
    about = survey["designs"][design]
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
        survey["data"]["y_true"],
        survey["data"]["y_pred"],
        groups=groups,
        **arguments(survey, design),
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
        survey["data"]["y_true"],
        survey["data"]["y_pred"],
        groups=wanted["groups"],
        **arguments(survey, design),
    )
    found = estimate_rate(counts, RATES[rate])
    expected = 1 - np.array(wanted["rate"]) if rate == "npv" else np.array(wanted["rate"])
    np.testing.assert_allclose(found.rate, expected, rtol=RELATIVE)
    np.testing.assert_allclose(
        np.sqrt(np.diag(found.covariance)), wanted["std_error"], rtol=RELATIVE
    )
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
@pytest.mark.parametrize("design", [design for design in DESIGNS if design != "plain"])
def test_ratios_and_differences(survey: dict[str, Any], design: str, rate: str) -> None:
    data = survey["data"]
    options = arguments(survey, design)
    for wanted in survey["designs"][design]["rates"][rate]["contrasts"]:
        ratio, difference = FUNCTIONS[rate]
        found = ratio(
            data["y_true"], data["y_pred"], reference=wanted["reference"], method="delta", **options
        )
        comparison = found[wanted["group"]]
        assert comparison.estimate == pytest.approx(wanted["ratio"]["estimate"], rel=RELATIVE)
        assert comparison.std_error == pytest.approx(wanted["ratio"]["std_error"], rel=RELATIVE)
        found = ratio(
            data["y_true"], data["y_pred"], reference=wanted["reference"], method="log", **options
        )
        low, high = found[wanted["group"]].confidence_interval
        from scipy.stats import t

        comparison = found[wanted["group"]]
        by_group = survey["designs"][design]["rates"][rate]
        where = [by_group["groups"].index(g) for g in (wanted["group"], wanted["reference"])]
        group = np.asarray(options["sensitive_features"])
        unit = np.asarray(options.get("cluster", np.arange(group.size)))
        y_true = np.asarray(data["y_true"])
        y_pred = np.asarray(data["y_pred"])
        case = {"selection_rate": y_true >= 0, "tpr": y_true == 1, "ppv": y_pred == 1}[rate]
        weight = np.asarray(options.get("sample_weight", np.ones(group.size)))
        inside = [case & (group == by_group["groups"][g]) for g in where]
        units = [worth(unit[rows], weight[rows]) for rows in inside]
        spread = [(by_group["std_error"][g] / by_group["rate"][g]) ** 2 for g in where]
        degrees = satterthwaite(spread, units)
        log = wanted["log_ratio"]
        every = len(set(unit.tolist()))
        wider = sum(v / (1 - 2 / m) for v, m in zip(spread, units, strict=True)) / sum(spread)
        reach = t.ppf(0.975, degrees) * log["std_error"] * np.sqrt(wider * (every - 1) / every)
        assert comparison.method == "log (Satterthwaite)"
        assert (comparison.verdict != "insufficient evidence") == (min(units) >= 8)
        if min(units) >= 8:
            wanted_ends = [log["estimate"] - reach, log["estimate"] + reach]
            assert np.log([low, high]) == pytest.approx(wanted_ends, rel=1e-7)
        gap = difference(data["y_true"], data["y_pred"], reference=wanted["reference"], **options)
        assert gap[wanted["group"]].estimate == pytest.approx(
            wanted["difference"]["estimate"], rel=RELATIVE
        )
        assert gap[wanted["group"]].std_error == pytest.approx(
            wanted["difference"]["std_error"], rel=RELATIVE
        )
        kind = "clusters" if "cluster" in options else "rows"
        assert gap[wanted["group"]].method == f"score (effective {kind})"


# ---------------------------------------------------------------- without R


EVEN: dict[str, Any] = {
    "ratio": lambda y, p, **k: fs.disparate_impact(p, **k),
    "difference": lambda y, p, **k: fs.demographic_parity_difference(y, p, **k),
    "tpr": lambda y, p, **k: fs.conditional_accuracy(y, p, label=1, **k),
    "average odds": lambda y, p, **k: fs.average_odds_difference(y, p, **k),
    "f1": lambda y, p, **k: fs.group_metric(y, p, metric="f1_ratio", **k),
    "largest gap": lambda y, p, reference=None, **k: fs.equalized_odds_difference(
        y, p, agg="max", **k
    ),
    "delta": lambda y, p, **k: fs.disparate_impact(p, method="delta", **k),
    "bootstrap": lambda y, p, **k: fs.disparate_impact(
        p, method="bootstrap", rng=1, n_resamples=199, **k
    ),
    "change": lambda y, p, **k: fs.compare_models(y, p, np.roll(p, 3), **k),
}
WEIGHTS = {"ones": (1.0, 1.0), "thirds": (1 / 3, 0.1), "large": (1e9 / 7, 3e-7)}


@pytest.mark.parametrize("name", EVEN)
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=list(WEIGHTS))
def test_weights_that_are_equal_within_groups_change_nothing(
    name: str, weights: tuple[float, float], rows_of: Any
) -> None:
    """To the last digit; the witness is the function without weights."""
    rows = rows_of({"a": (20, 9, 11, 30), "b": (55, 12, 27, 58)})
    options = {"sensitive_features": rows.group, "reference": "b"}
    plain = EVEN[name](rows.y_true, rows.y_pred, **options)
    weight = np.where(np.asarray(rows.group) == "a", *weights)
    even = EVEN[name](rows.y_true, rows.y_pred, sample_weight=weight, **options)
    assert even.comparisons == plain.comparisons
    assert even.sentences() == plain.sentences()


def test_thirty_beside_thirty_rows_with_unit_weights() -> None:
    """Case D8: 9 of 30 beside 26 of 30, a ratio of .346, and an answer."""
    y = np.r_[np.arange(30) < 9, np.arange(30) < 26].astype(int)
    group = np.repeat(["a", "b"], 30)
    plain = fs.disparate_impact(y, sensitive_features=group, reference="b")
    found = fs.disparate_impact(
        y, sensitive_features=group, reference="b", sample_weight=np.ones(60)
    )
    assert found.estimate == pytest.approx(9 / 26, rel=1e-12)
    assert found.comparisons == plain.comparisons
    assert found.verdict == "violated"


def test_even_weights_of_tallies(rows_of: Any) -> None:
    """Through JSON, added up, of one site with other weights than the other, and in clusters."""
    rows = rows_of({"a": (20, 9, 11, 30), "b": (55, 12, 27, 58)})
    frame = pd.DataFrame({"y": rows.y_true, "p": rows.y_pred, "g": rows.group})
    frame["w"] = np.where(frame.g == "a", 0.1, 1 / 7)
    frame["c"] = np.arange(len(frame)) // 3
    names: dict[str, Any] = {"y_true": "y", "y_pred": "p", "sensitive_features": "g"}
    half = len(frame) // 2
    for cluster in ({}, {"cluster": "c"}):
        plain = fs.tally(frame, **names, **cluster)
        both = [
            fs.tally(part, **names, **cluster, sample_weight="w")
            for part in (frame[:half], frame[half:])
        ]
        parts = [fs.tally(part, **names, **cluster) for part in (frame[:half], frame[half:])]
        added, wanted = (one.add(other, disjoint_clusters=True) for one, other in (both, parts))
        again = fs.Tally.from_json(added.to_json())
        for found, like in (
            (fs.tally(frame, **names, **cluster, sample_weight="w"), plain),
            (again, wanted),
        ):
            one, other = (
                fs.equal_opportunity_difference(counts=t, reference="b") for t in (found, like)
            )
            assert one.comparisons == other.comparisons
    frame["w"] *= np.where(np.arange(len(frame)) % half < half // 2, 1.0, 2.0)
    apart = [fs.tally(part, **names, sample_weight="w") for part in (frame[:half], frame[half:])]
    assert not (apart[0] + apart[1]).confusion().even_groups.any()


def test_even_weights_of_scores(rng: np.random.Generator) -> None:
    """ABROCA of a tally, and changes of scores."""
    frame = pd.DataFrame(
        {"y": rng.integers(0, 2, 300), "g": np.repeat(["a", "b"], 150), "s": rng.random(300)}
    )
    frame["w"] = np.where(frame.g == "a", 0.3, 2.0)
    names: dict[str, Any] = {"y_true": "y", "score": "s", "sensitive_features": "g"}
    plain, even = (
        fs.abroca(counts=fs.tally(frame, **names, **extra), reference="a", n_resamples=199, rng=1)
        for extra in ({}, {"sample_weight": "w"})
    )
    assert even.comparisons == plain.comparisons
    scores = {"A": frame.s, "B": rng.random(300)}
    options: dict[str, Any] = {"sensitive_features": frame.g, "n_resamples": 199, "rng": 1}
    for metrics, weight in (("madd", frame.w), ("abroca", frame.w), ("brier", np.full(300, 0.1))):
        one, other = (
            fs.compare_models(frame.y, score=scores, metrics=metrics, **options, **extra)
            for extra in ({}, {"sample_weight": weight})
        )
        assert one.comparisons == other.comparisons
    with pytest.raises(fs.InputError, match="weights or clusters"):
        fs.compare_models(frame.y, score=scores, metrics="brier", sample_weight=frame.w, **options)


def test_a_pair_of_even_groups_beside_an_uneven_one(rows_of: Any, rng: np.random.Generator) -> None:
    rows = rows_of({"a": (20, 9, 11, 30), "b": (55, 12, 27, 58), "c": (30, 12, 8, 20)})
    group = np.asarray(rows.group)
    weight = np.where(
        group == "c", rng.lognormal(0, 1, group.size), np.where(group == "a", 0.3, 7.0)
    )
    for method in (None, "log", "delta"):
        options = {
            "sensitive_features": group,
            "reference": "b",
            "adjust": "none",
            "method": method,
        }
        plain = fs.disparate_impact(rows.y_pred, **options)
        found = fs.disparate_impact(rows.y_pred, sample_weight=weight, **options)
        assert found["a"] == plain["a"]
        assert found["c"] != plain["c"]


def test_clusters_of_one_row_are_nearly_rows(rows_of: Any, rng: np.random.Generator) -> None:
    """t with 69 degrees of freedom in place of a normal law, and n/(n − 1)."""
    rows = rows_of({"a": (20, 9, 11, 30), "b": (25, 12, 7, 28)})
    n = rows.group.size
    alone = fs.disparate_impact(
        rows.y_pred, sensitive_features=rows.group, cluster=rng.permutation(n)
    )
    plain = fs.disparate_impact(rows.y_pred, sensitive_features=rows.group)
    assert tuple(alone.confidence_interval) == pytest.approx(
        tuple(plain.confidence_interval), rel=0.03
    )
    assert alone.confidence_interval.width > plain.confidence_interval.width


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
    """Var(r_a − r_b) = m/(m−1) Σ_u (z_u − z̄)², z the sum over a cluster of w·(y − r_g)·(±1)/Σw of
    the group."""
    n = 120
    m = 15
    y = rng.integers(0, 2, n)
    cluster = rng.integers(0, m, n)
    group = np.where((cluster + rng.integers(0, 3, n)) % 2, "a", "b")
    weight = rng.uniform(0.5, 3, n)
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
    """Within clusters TPR and FPR are not independent: Var((t₀+f₀−t₁−f₁)/2) from the joint
    covariance matrix."""
    n = 200
    y, p, group = rng.integers(0, 2, (3, n))
    cluster = rng.integers(0, 20, n)
    weight = rng.uniform(0.5, 2, n)
    options = {
        "sensitive_features": group,
        "cluster": cluster,
        "sample_weight": weight,
        "groups": [0, 1],
    }
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


@pytest.mark.parametrize("n", [40, 400])
@pytest.mark.parametrize("rare", [False, True])
def test_effective_counts_under_weights(n: int, rare: bool, rng: np.random.Generator) -> None:
    """The score of r·n* and n*, n* the smaller of Kish's (Σw)²/Σw² and r(1−r)/Var(r) (Korn &
    Graubard 1998).

    t with the smaller of Kish's sizes less 1. A group without a success has Kish's size.
    """
    from scipy.stats import t

    from tests.numerics.rates.score_arrays import ratio_score_interval

    y = rng.integers(0, 2, n)
    weight = rng.uniform(0.2, 4, n)
    group = np.repeat(["a", "b"], n // 2)
    if rare:
        y[group == "a"] = 0
    result = fs.disparate_impact(y, sensitive_features=group, sample_weight=weight, reference="b")
    table: list[float] = []
    units = []
    for g in "ab":
        inside = group == g
        rate = np.average(y[inside], weights=weight[inside])
        z = weight[inside] * (y[inside] - rate) / weight[inside].sum()
        units.append(worth(np.flatnonzero(inside), weight[inside]))
        spread = np.sum(z**2) / (1 - 2 / units[-1])
        size = min(rate * (1 - rate) / spread, units[-1]) if spread > 0 else units[-1]
        table += [rate * size, size]
    wanted = ratio_score_interval(*table, float(t.ppf(0.975, min(units) - 1)))
    found = tuple(result.confidence_interval)
    assert found == pytest.approx([float(end) for end in wanted], rel=1e-9, abs=1e-12)
    assert result.comparisons[0].method == "score (effective rows)"


def test_a_few_hundred_rows_of_very_unequal_weights_get_an_answer(rng: np.random.Generator) -> None:
    """Case D9: lognormal weights of CV 1.5, 200 beside 2,000 rows, and of CV 1, 60 beside 900.

    With a note.
    """
    for sizes, cv in (((200, 2_000), 1.5), ((60, 900), 1.0)):
        group = np.repeat(["a", "b"], sizes)
        spread = np.sqrt(np.log1p(cv**2))
        for _ in range(10):
            y = (rng.random(group.size) < np.where(group == "a", 0.54, 0.67)).astype(int)
            weight = rng.lognormal(0.0, spread, group.size)
            found = fs.disparate_impact(
                y, sensitive_features=group, sample_weight=weight, reference="b"
            )
            assert found.verdict != "insufficient evidence"
            plain = fs.disparate_impact(y, sensitive_features=group, reference="b")
            assert found.confidence_interval.width > plain.confidence_interval.width
            noted = any(
                f"a: by their weights {sizes[0]} rows are worth" in note for note in found.notes()
            )
            assert noted or cv < 1.5


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
def test_groups_that_share_clusters_depend_on_each_other(
    function: Any, rng: np.random.Generator
) -> None:
    """z of the score is that of independent groups times √(independent variance / variance): in
    large samples the interval nears that of log or delta, which take the covariance."""
    cluster = np.repeat(np.arange(300), 20)
    group = np.tile(["a", "b"], 3_000)
    rate = np.clip(rng.normal(0.5, 0.2, 300), 0.05, 0.95)[cluster]
    rows = {
        "y_pred": (rng.random(6_000) < rate).astype(int),
        "sensitive_features": group,
        "reference": "b",
    }
    linear = "log" if function is fs.disparate_impact else "delta"
    score, other = (
        tuple(function(**rows, cluster=cluster, method=m).confidence_interval)
        for m in (None, linear)
    )
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
def test_copies_of_rows_within_their_clusters_change_nothing(
    function: Any, rng: np.random.Generator
) -> None:
    """What is sampled are clusters.

    Interval, p-values and verdict do not see how often a row is there.
    """
    for _ in range(5):
        rows = clustered_rows(rng, (12, 30))
        once = function(**rows, reference="b").comparisons[0]
        copied = {name: np.repeat(column, 50) for name, column in rows.items()}
        often = function(**copied, reference="b").comparisons[0]
        assert tuple(often.confidence_interval) == pytest.approx(
            tuple(once.confidence_interval), rel=1e-9
        )
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
    """Sizes with a CV of about 1, positives of other numbers in each cluster.

    And 20 times all weights.

    Witness: the same sample.
    """
    seen = set()
    for _ in range(4):
        sizes = np.ceil(rng.lognormal(1.8, 0.85, 130)).astype(int)
        cluster = np.repeat(np.arange(130), sizes)
        own = rng.beta(1.5, 8.5, 130)[cluster]
        base = rng.beta(3.0, 3.0, 130)[cluster]
        rows = {
            "y": (rng.random(cluster.size) < base).astype(int),
            "p": (rng.random(cluster.size) < own).astype(int),
            "sensitive_features": np.where(cluster < 50, "a", "b"),
            "cluster": cluster,
        }
        extra = {} if name == "largest gap" else {"reference": "b"}
        once, often = (
            UNEQUAL[name](**{k: np.repeat(v, c) for k, v in rows.items()}, **extra).comparisons[0]
            for c in (1, 20)
        )
        weights = {"sample_weight": np.full(cluster.size, 20.0)}
        heavy = UNEQUAL[name](**rows, **weights, **extra).comparisons[0]
        for other in (often, heavy):
            assert other.verdict == once.verdict
            for of in ("confidence_interval", "bounds"):
                wanted = tuple(getattr(once, of))
                assert tuple(getattr(other, of)) == pytest.approx(
                    wanted, rel=1e-8, abs=1e-10, nan_ok=True
                )
            assert other.pvalue == pytest.approx(once.pvalue, rel=1e-7, nan_ok=True)
            assert other.pvalue_verdict == pytest.approx(once.pvalue_verdict, rel=1e-7, nan_ok=True)
        seen.add(once.verdict)
    assert seen != {"insufficient evidence"}


@pytest.mark.parametrize("rate", [0, 1])
def test_clusters_that_all_agree_count_as_so_many_rows_however_often_they_are_copied(
    rate: int,
) -> None:
    """Six clusters of ten rows: the limits of 0, or 6, of 6 cases; by the score with t of 5."""
    from scipy.stats import t

    from tests.numerics.rates.score_arrays import difference_score_interval

    group = np.repeat(["a", "b"], [60, 160])
    y = np.where(group == "a", rate, np.arange(220) % 2)
    cluster = np.arange(220) // 10
    for copies in (1, 100):
        columns = [np.repeat(column, copies) for column in (y, group, cluster)]
        found = fs.demographic_parity_difference(
            None, columns[0], sensitive_features=columns[1], cluster=columns[2], reference="b"
        )
        # the other clusters have five of ten each: no variance either
        wanted = difference_score_interval(6.0 * rate, 6.0, 8.0, 16.0, float(t.ppf(0.975, 5)))
        assert tuple(found.confidence_interval) == pytest.approx(
            [float(end) for end in wanted], rel=1e-9
        )


def test_few_clusters_are_insufficient_evidence(rng: np.random.Generator) -> None:
    rows = clustered_rows(rng, (2, 40))
    with pytest.warns(InsufficientEvidenceWarning, match="a: 2 effective clusters, too few"):
        found = fs.disparate_impact(**rows, reference="b")
    assert found.verdict == "insufficient evidence"
    assert np.isfinite(found.estimate)
    assert np.isfinite(found.std_error)
    assert (
        fs.disparate_impact(**clustered_rows(rng, (4, 40)), reference="b").verdict
        != "insufficient evidence"
    )


def test_unequal_clusters_count_as_fewer(rng: np.random.Generator) -> None:
    """20 clusters, one with four in five rows, are worth 1.6."""
    rows = clustered_rows(rng, (20, 40))
    large = np.flatnonzero(rows["cluster"] == 0)
    rows = {
        name: np.concatenate([column, np.repeat(column[large], 75)])
        for name, column in rows.items()
    }
    with pytest.warns(InsufficientEvidenceWarning, match=r"a: 1.56 effective clusters, too few"):
        fs.disparate_impact(**rows, reference="b")


def test_clusters_of_all_groups_say_what_few_of_them_are_worth(rng: np.random.Generator) -> None:
    """By hand: n* = min(r(1−r)/Var(r), u/τ), τ the mean of both groups' variances of a cluster's
    mean.
    """
    sizes = np.r_[np.full(8, 30), np.full(65, 10)]
    cluster = np.repeat(np.arange(73), sizes)
    group = np.where(cluster < 8, "a", "b")
    y = (rng.random(cluster.size) < rng.beta(2.0, 6.0, 73)[cluster]).astype(int)
    result = fs.disparate_impact(y, sensitive_features=group, cluster=cluster, reference="b")
    rate = []
    variance = []
    units = []
    size = []
    for own in (group == "a", group == "b"):
        d = np.bincount(cluster[own])
        hits = np.bincount(cluster[own], y[own])[d > 0]
        d = d[d > 0]
        rate.append(hits.sum() / d.sum())
        units.append(float(d.size))
        variance.append(((hits - rate[-1] * d) ** 2).sum() / d.sum() ** 2)
        size.append(d[0])
    table = []
    for g in range(2):
        bernoulli = rate[g] * (1 - rate[g])
        shares = []
        weights = []
        for h in range(2):
            own = min(variance[h] * units[h] ** 2 / (units[h] - 1) / (rate[h] * (1 - rate[h])), 1.0)
            shares.append(own * min(size[h] / size[g], 1.0))
            weights.append(units[h] - 1)
        tau = np.average(shares, weights=weights)
        n = min(bernoulli / (variance[g] / (1 - 2 / units[g])), units[g] / tau)
        table += [rate[g] * n, n]
    z = ratio_statistic(tuple(table), 0.8, True)
    assert result.comparisons[0].tests[0].statistic == pytest.approx(z, rel=1e-9)
    assert any("by their clusters 240 rows are worth" in note for note in result.notes())


def test_zero_weights_count_as_sampled_units(rng: np.random.Generator) -> None:
    """As in R: a unit with weight 0 was sampled, so it stays in n/(n−1), and adds nothing else."""
    y = rng.integers(0, 2, 120)
    group = np.tile(["a", "b"], 60)
    weight = np.concatenate([rng.uniform(0.9, 1.1, 100), np.zeros(20)])
    whole = fs.demographic_parity_difference(
        None, y, sensitive_features=group, sample_weight=weight, reference="b"
    )
    part = fs.demographic_parity_difference(
        None, y[:100], sensitive_features=group[:100], sample_weight=weight[:100], reference="b"
    )
    assert whole.estimate == pytest.approx(part.estimate, rel=1e-12)
    assert whole.std_error**2 == pytest.approx(
        part.std_error**2 * (120 / 119) / (100 / 99), rel=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "rate"), [(24, 0.5), (40, 0.3)])
def test_coverage_beside_many_clusters(clusters: int, rate: float) -> None:
    """300 samples, equal clusters of 20 rows with an ICC of .1 beside 160: 95% less three standard
    errors (3.8%), each one-sided test wrong in at most 5% and as many."""
    rng = np.random.default_rng(31)
    m = clusters + 160
    group = np.repeat([0, 1], [20 * clusters, 3_200])
    cluster = np.repeat(np.arange(m), 20)
    held = below = above = 0
    for _ in range(300):
        own = rng.beta(rate * 9, (1 - rate) * 9, m)
        y = rng.random(20 * m) < own[cluster]
        found = fs.disparate_impact(
            y, sensitive_features=group, cluster=cluster, reference=1, threshold=1.0
        )
        held += found.confidence_interval.low <= 1 <= found.confidence_interval.high
        below += found.comparisons[0].tests[0].pvalue < 0.05
        above += found.comparisons[0].tests[1].pvalue < 0.05
    assert held / 300 >= 0.95 - 0.038
    assert max(below, above) / 300 <= 0.05 + 0.038


def test_a_mean_of_rates_has_the_units_of_its_poorer_part() -> None:
    """Effective clusters by hand: of 40 equal ones 10 hold the favourable labels, 30 the others."""
    group = np.repeat(["a", "b"], 400)
    cluster = np.repeat(np.arange(80), 10)
    y = (cluster % 40 < 10).astype(int)
    pred = np.tile([1, 1, 0, 1, 0], 160)
    counts = fs.ConfusionCounts.from_arrays(y, pred, sensitive_features=group, cluster=cluster)
    units = {
        name: np.asarray(estimate_rate(counts, RATES[name]).units).tolist()
        for name in ("tpr", "fpr", "average_odds")
    }
    assert units == {"tpr": [10.0, 10.0], "fpr": [30.0, 30.0], "average_odds": [10.0, 10.0]}


def test_weighted_limits_of_a_largest_gap_are_those_of_the_pair() -> None:
    """Limits and statistics by the code of single differences."""
    group = np.repeat(["a", "b"], [70, 400])
    pred = np.concatenate([np.arange(70) < 20, np.arange(400) < 240]).astype(int)
    weight = np.random.default_rng(5).gamma(8.0, size=470)
    counts = fs.ConfusionCounts.from_arrays(
        pred, pred, sensitive_features=group, sample_weight=weight, groups=["a", "b"]
    )
    estimates = estimate_rate(counts, RATES["selection_rate"])
    band = _SimultaneousBand.of(counts, [estimates])
    single = pair_method(estimates, 0, 1, "difference", "score", n_resamples=1, rng=None).how
    assert isinstance(single, Score)
    for critical in (1.0, 2.5):
        assert np.ravel(band.limits_at(np.array([critical]))) == pytest.approx(
            single.limits(critical), rel=1e-9
        )
    for null in (-0.45, -0.1, 0.2):
        assert band.statistics(null) == pytest.approx([single.statistic(null)], rel=1e-9)


@pytest.mark.parametrize(("clusters", "answered"), [(2, False), (3, True)])
def test_a_group_of_three_equal_clusters_is_judged_one_of_two_is_not(
    clusters: int, answered: bool
) -> None:
    group = np.repeat(["b", "a"], [20 * clusters, 800])
    owner = np.arange(group.size) // 20
    y = np.random.default_rng(4).integers(0, 2, group.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        found = fs.disparate_impact(
            y_pred=y, sensitive_features=group, reference="a", cluster=owner
        )
    assert (found.verdict != "insufficient evidence") == answered
