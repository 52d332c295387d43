"""The base-R twins of the rates against the Python functions: recorded everywhere, live where R is.

The twins find the constrained maximum of the likelihood by `uniroot` on the score equation and the
variances under weights and clusters from influence values; Python has closed roots and scatter
matrices of counts."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.rsession import call
from tests.numerics.rates.score_arrays import difference_score_interval, ratio_score_interval

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "rates_twins.json"
Z = 1.959963984540054
#: rate of the twin → our function and what it needs.
RATIOS: dict[str, Any] = {
    "selection_rate": lambda d, **how: fs.disparate_impact(d["y_pred"], **how),
    "tpr": lambda d, **how: fs.conditional_accuracy(d["y_true"], d["y_pred"], **how),
    "tnr": lambda d, **how: fs.conditional_accuracy(d["y_true"], d["y_pred"], label=0, **how),
    "ppv": lambda d, **how: fs.conditional_use_accuracy(d["y_true"], d["y_pred"], **how),
    "npv": lambda d, **how: fs.conditional_use_accuracy(
        d["y_true"], d["y_pred"], prediction=0, **how
    ),
}
DIFFERENCES: dict[str, Any] = {
    "selection_rate": lambda d, **how: fs.demographic_parity_difference(
        d["y_true"], d["y_pred"], **how
    ),
    "tpr": lambda d, **how: fs.equal_opportunity_difference(d["y_true"], d["y_pred"], **how),
    "ppv": lambda d, **how: fs.predictive_parity_difference(d["y_true"], d["y_pred"], **how),
}


@lru_cache(maxsize=1)
def recorded() -> dict[str, Any]:
    return json.loads(REFERENCE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def number(value: Any) -> float:
    if isinstance(value, dict):
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[value["float"]]
    return float(value)


def numbers(values: Any) -> np.ndarray:
    return np.array([number(v) for v in np.atleast_1d(values).tolist()])


def columns(people: dict[str, Any], weighted: bool, clustered: bool) -> dict[str, Any]:
    return {
        "sensitive_features": people["group"],
        "reference": "blue",
        "sample_weight": people["weight"] if weighted else None,
        "cluster": people["cluster"] if clustered else None,
    }


def ours(case: dict[str, Any], people: dict[str, Any]) -> Any:
    functions = RATIOS if case["contrast"] == "ratio" else DIFFERENCES
    how = columns(people, case["weighted"], case["clustered"])
    return functions[case["rate_name"]](people, method=case["method"], **how)


#: What a recorded case tells under weights or clusters: its intervals and tests took all units − 1
#: degrees of freedom, where Satterthwaite's are taken now (the live cases compare those).
BEFORE_TESTS = ("rate", "rate_reference", "estimate", "std_error", "n", "n_reference")


def assert_same(result: Any, twin: dict[str, Any], *, only: tuple[str, ...] = ()) -> None:
    """Every number that both sides give."""
    rows = {c.group: c for c in result.comparisons}
    groups = np.atleast_1d(twin["group"]).tolist()
    assert sorted(rows) == sorted(groups)
    for k, group in enumerate(groups):
        comparison = rows[group]
        tests = {t.alternative: t for t in comparison.tests if not t.exact}
        if not tests:  # too few units or cases
            assert comparison.verdict == "insufficient evidence"
            continue
        pairs = {
            "rate": comparison.rate,
            "rate_reference": comparison.rate_reference,
            "estimate": comparison.estimate,
            "std_error": comparison.std_error,
            "low": comparison.confidence_interval.low,
            "high": comparison.confidence_interval.high,
            "statistic": tests["two-sided"].statistic,
            "p_equal": tests["two-sided"].pvalue,
            "p_less": tests["less"].pvalue,
            "p_greater": tests["greater"].pvalue,
            "p_equivalence": tests["equivalence"].pvalue,
            "n": comparison.n,
            "n_reference": comparison.n_reference,
        }
        # With a cell below 5 our tests are by score, whatever the interval; the score cases compare
        # those.
        by_score = comparison.bounds.method != comparison.confidence_interval.method
        # Where few cases are expected the limits are exact ones (test_exact_live.py), beside the
        # same tests by score.
        if comparison.procedure.exact:
            del pairs["low"], pairs["high"]
        if "row_method" in twin and comparison.procedure.exact:
            assert np.atleast_1d(twin["row_method"])[k] == "exact unconditional"
            assert comparison.pvalue == pytest.approx(numbers(twin["p_equal"])[k], rel=2e-4)
            del pairs["p_equal"]
        for name, value in pairs.items() if not only else [(name, pairs[name]) for name in only]:
            if name not in twin or (by_score and (name == "statistic" or name.startswith("p_"))):
                continue
            assert value == pytest.approx(numbers(twin[name])[k], rel=1e-8, abs=1e-12), (
                name,
                group,
            )


def cases() -> list[Any]:
    return [
        pytest.param(
            case,
            id="-".join(
                [case["rate_name"], case["contrast"], case["method"]]
                + ["weighted"] * case["weighted"]
                + ["clustered"] * case["clustered"]
            ),
        )
        for case in recorded()["comparisons"]
        if case["contrast"] == "ratio" or case["rate_name"] in DIFFERENCES
    ]


def tables() -> tuple[np.ndarray, ...]:
    table = recorded()["tables"]
    return tuple(numbers(table[name]) for name in ("k0", "n0", "k1", "n1"))


@pytest.mark.parametrize(("name", "correction"), [("score", True), ("koopman", False)])
def test_recorded_score_intervals_of_ratios(name: str, correction: bool) -> None:
    low, high = ratio_score_interval(*tables(), Z, correction=correction)
    twin = recorded()["ratio"][name]
    np.testing.assert_allclose(low, numbers(twin["low"]), rtol=1e-8)
    np.testing.assert_allclose(high, numbers(twin["high"]), rtol=1e-8)


@pytest.mark.parametrize(("name", "correction"), [("score", True), ("mee", False)])
def test_recorded_score_intervals_of_differences(name: str, correction: bool) -> None:
    low, high = difference_score_interval(*tables(), Z, correction=correction)
    twin = recorded()["difference"][name]
    np.testing.assert_allclose(low, numbers(twin["low"]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(high, numbers(twin["high"]), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize("case", cases())
def test_recorded_comparisons(case: dict[str, Any]) -> None:
    only = BEFORE_TESTS if case["weighted"] or case["clustered"] else ()
    assert_same(ours(case, recorded()["people"]), case, only=only)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize(
    "case", recorded()["average_odds"], ids=["plain", "weighted", "clustered", "both"]
)
def test_recorded_average_odds(case: dict[str, Any]) -> None:
    people = recorded()["people"]
    how = columns(people, case["weighted"], case["clustered"])
    result = fs.average_odds_difference(people["y_true"], people["y_pred"], method="delta", **how)
    for k, comparison in enumerate(result.comparisons):
        assert comparison.estimate == pytest.approx(case["estimate"][k], rel=1e-10)
        assert comparison.std_error == pytest.approx(case["std_error"][k], rel=1e-8)
        if not (case["weighted"] or case["clustered"]):
            assert comparison.confidence_interval.low == pytest.approx(case["low"][k], rel=1e-8)
            assert comparison.pvalue == pytest.approx(case["p_equal"][k], rel=1e-8)


def random_people(seed: int, n: int = 400) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n // 5), 5)
    group = rng.choice(["blue", "green", "red"], size=n, p=[0.5, 0.3, 0.2])
    y_true = (rng.uniform(size=n) < 0.5).astype(int)
    y_pred = (rng.uniform(size=n) < 0.3 + 0.3 * y_true + 0.1 * (group == "blue")).astype(int)
    weight = rng.gamma(3, 0.5, size=n) + 0.05
    return {
        "group": group,
        "y_true": y_true,
        "y_pred": y_pred,
        "weight": weight,
        "cluster": cluster,
    }


#: Column of fs_group_metric → name in the recorded twins.
TIDY = {"ci_low": "low", "ci_high": "high", "pvalue": "p_equal", "method": "row_method"}


def twin(case: dict[str, Any], people: dict[str, Any]) -> dict[str, Any]:
    found = call(
        "fs_group_metric",
        {name: np.asarray(column).tolist() for name, column in people.items()},
        f"{case['rate_name']}_{case['contrast']}",
        "y_true",
        "y_pred",
        "group",
        reference="blue",
        method=case["method"],
        sample_weight="weight" if case["weighted"] else None,
        cluster="cluster" if case["clustered"] else None,
    )
    return {TIDY.get(name, name): column for name, column in found.items()}


@pytest.mark.r
@pytest.mark.parametrize("case", cases())
def test_live_comparisons(case: dict[str, Any]) -> None:
    people = random_people(len(case["rate_name"]), 1_500)
    assert_same(ours(case, people), twin(case, people))


@pytest.mark.r
@pytest.mark.parametrize("name", ["score", "koopman", "mee"])
def test_live_score_intervals_of_random_tables(name: str) -> None:
    rng = np.random.default_rng(3)
    interval, contrast = (
        (difference_score_interval, "difference")
        if name == "mee"
        else (ratio_score_interval, "ratio")
    )
    for _ in range(25):
        n0, n1 = rng.integers(1, 2000, size=2)
        k0 = rng.integers(0, n0 + 1)
        k1 = rng.integers(0, n1 + 1)
        low, high = interval(k0, n0, k1, n1, Z, correction=name == "score")
        there = call("rate_interval", float(k0), float(n0), float(k1), float(n1), contrast, name)
        np.testing.assert_allclose([low, high], there, rtol=1e-7, atol=1e-10)


@pytest.mark.r
def test_live_largest_gap_of_two_groups_is_exact() -> None:
    people = random_people(11)
    keep = people["group"] != "red"
    there = call(
        "fs_equalized_odds_difference",
        {name: people[name][keep].tolist() for name in ("group", "y_true", "y_pred")},
        "y_true",
        "y_pred",
        "group",
        agg="max",
    )
    result = fs.equalized_odds_difference(
        people["y_true"][keep],
        people["y_pred"][keep],
        sensitive_features=people["group"][keep],
        agg="max",
    )
    assert result.estimate == pytest.approx(there["estimate"], rel=1e-10)
    low, high = result.confidence_interval
    assert (low, high) == pytest.approx((there["ci_low"], there["ci_high"]), abs=0.002)


def test_recorded_largest_gap_of_two_groups() -> None:
    people = recorded()["people"]
    there = recorded()["two_groups_equalized_odds"]
    keep = [g != "red" for g in people["group"]]
    column = {name: np.array(people[name])[keep] for name in ("group", "y_true", "y_pred")}
    result = fs.equalized_odds_difference(
        column["y_true"], column["y_pred"], sensitive_features=column["group"], agg="max"
    )
    assert result.estimate == pytest.approx(there["estimate"], rel=1e-10)
    assert result.critical_value == pytest.approx(there["critical"], abs=0.01)
    low, high = result.confidence_interval
    assert (low, high) == pytest.approx((there["low"], there["high"]), abs=0.002)


@pytest.mark.r
@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_live_copies_within_unequal_clusters(contrast: str) -> None:
    """Sizes with a CV of about 1 shrink statistics of a rate of .15: R's limits are ours, and those
    of three copies of every row."""
    rng = np.random.default_rng(12)
    sizes = np.ceil(rng.lognormal(1.8, 0.85, 130)).astype(int)
    cluster = np.repeat(np.arange(130), sizes)
    chosen = (rng.random(cluster.size) < rng.beta(1.5, 8.5, 130)[cluster]).astype(int)
    group = np.where(cluster < 50, "a", "b")
    own = fs.disparate_impact if contrast == "ratio" else fs.demographic_parity_difference
    how = {"y_pred": chosen, "sensitive_features": group, "cluster": cluster, "reference": "b"}
    ours = own(**how).comparisons[0]
    assert ours.verdict != "insufficient evidence"
    for copies in (1, 3):
        rows = {"p": chosen, "group": group, "cluster": cluster}
        listed = {name: np.repeat(column, copies).tolist() for name, column in rows.items()}
        metric = f"selection_rate_{contrast}"
        there = call(
            "fs_group_metric", listed, metric, None, "p", "group", reference="b", cluster="cluster"
        )
        for of, interval in (("ci", ours.confidence_interval), ("bound", ours.bounds)):
            for end in ("low", "high"):
                assert there[f"{of}_{end}"] == pytest.approx(
                    getattr(interval, end), rel=1e-7, abs=1e-10
                )
        assert there["pvalue"] == pytest.approx(ours.pvalue, rel=1e-6)


@pytest.mark.r("survey")
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("rate", ["selection_rate", "tpr", "ppv"])
def test_live_survey(rate: str, clustered: bool) -> None:
    """R's survey package itself, on fresh data: the ratio and its delta standard error."""
    people = random_people(5, 1_500)
    outcome, cases = {
        "selection_rate": (people["y_pred"], np.ones(1_500, dtype=bool)),
        "tpr": (people["y_pred"], people["y_true"] == 1),
        "ppv": (people["y_true"], people["y_pred"] == 1),
    }[rate]
    cluster = people["cluster"] if clustered else None
    call("base::source", str(Path(__file__).with_name("survey_rates.R")))
    there = call("survey_rates", outcome, cases, list(people["group"]), people["weight"], cluster)
    result = RATIOS[rate](people, method="delta", **columns(people, True, clustered))
    j = there["groups"].index("blue")
    for comparison in result.comparisons:
        i = there["groups"].index(comparison.group)
        r = there["rate"]
        v = there["covariance"]
        ratio = r[i] / r[j]
        variance = (v[i, i] - 2 * ratio * v[i, j] + ratio**2 * v[j, j]) / r[j] ** 2
        assert comparison.estimate == pytest.approx(ratio, rel=1e-10)
        assert comparison.std_error == pytest.approx(math.sqrt(variance), rel=1e-8)
    assert there["df"] == (299 if clustered else 1_499)


@pytest.mark.r("survey")
@pytest.mark.parametrize("clustered", [False, True])
def test_live_survey_within_strata(clustered: bool) -> None:
    """R's survey package: svyby of all crossings, svycontrast, and the coefficient of svyglm.

    Clusters lie in several strata.
    """
    people = random_people(6, 1_500)
    groups = np.where(np.asarray(people["group"]) == "blue", "blue", "other")
    strata = np.random.default_rng(7).integers(0, 4, 1_500).astype(str)
    cluster = people["cluster"] if clustered else None
    call("base::source", str(Path(__file__).with_name("survey_rates.R")))
    there = call(
        "survey_strata",
        people["y_pred"],
        groups.tolist(),
        strata.tolist(),
        people["weight"],
        cluster,
    )
    options = {"sensitive_features": groups, "strata": strata, "reference": "blue"}
    options |= {"sample_weight": people["weight"], "cluster": cluster}
    ratio = fs.disparate_impact(people["y_pred"], **options).stratified.comparisons[0]
    difference = fs.demographic_parity_difference(y_pred=people["y_pred"], **options)
    (within,) = difference.stratified.comparisons
    assert ratio.estimate == pytest.approx(there["ratio"], rel=1e-10)
    assert ratio.std_error == pytest.approx(there["ratio_error"], rel=1e-8)
    assert within.estimate == pytest.approx(there["difference"], rel=1e-10)
    assert within.estimate == pytest.approx(there["coefficient"], rel=1e-10)
    assert within.std_error == pytest.approx(there["difference_error"], rel=1e-8)


@pytest.mark.r("survey")
@pytest.mark.parametrize("clustered", [False, True])
def test_live_survey_of_a_function_within_strata(clustered: bool) -> None:
    """R's survey package: svyby's shares of the cells in all crossings, joined by svycontrast."""
    people = random_people(8, 1_500)
    groups = np.where(np.asarray(people["group"]) == "blue", "b", "a")
    strata = np.random.default_rng(9).integers(0, 4, 1_500).astype(str)
    cluster = people["cluster"] if clustered else None
    label = np.asarray(people["y_true"]) == 1
    chosen = np.asarray(people["y_pred"]) == 1
    names = np.array([["tn", "fn"], ["fp", "tp"]])
    cell = names[chosen.astype(int), label.astype(int)]
    call("base::source", str(Path(__file__).with_name("survey_rates.R")))
    there = call(
        "survey_f1_within_strata",
        cell.tolist(),
        groups.tolist(),
        strata.tolist(),
        people["weight"],
        cluster,
    )
    result = fs.group_metric(
        label,
        chosen,
        metric="f1_difference",
        sensitive_features=groups,
        strata=strata,
        reference="b",
        sample_weight=people["weight"],
        cluster=cluster,
    )
    (within,) = result.stratified.comparisons
    assert within.estimate == pytest.approx(there["difference"], rel=1e-10)
    # both differentiate by themselves
    assert within.std_error == pytest.approx(there["std_error"], rel=1e-8)


@pytest.mark.r
def test_live_largest_gap_by_mee_has_no_exact_test() -> None:
    """Of four groups, as `fs_audit(method = "koopman")` has it: the band of Python's critical value."""
    totals = [[30.0, 20.0], [11.0, 29.0], [40.0, 22.0], [7.0, 1.0]]
    names = ("a", "b", "c", "d")
    counts = {name: tuple(map(int, row)) for name, row in zip(names, totals, strict=True)}
    result = fs.demographic_parity_difference(counts=counts, agg="max", method="mee")
    there = call(
        "crosscheck_largest",
        np.array(totals),
        np.array(totals),
        ["selection_rate"],
        0.95,
        result.critical_value,
        False,
        method="mee",
    )
    ours = sorted((c.group, c.reference, c.low, c.high) for c in result.components)
    rows = zip(there["first"], there["second"], there["low"], there["high"], strict=True)
    theirs = sorted((names[int(i) - 1], names[int(j) - 1], low, high) for i, j, low, high in rows)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine[:2] == other[:2]
        assert mine[2:] == pytest.approx(other[2:], abs=1e-7)
    assert there["statistic"] == pytest.approx(result.comparisons[0].statistic, rel=1e-9)
