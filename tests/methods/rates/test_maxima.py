"""The largest gap: fairlearn's value, and an interval that covers it.

Witnesses: fairlearn for the estimates; the formula of METHODS §1 for interval and p-value;
enumeration for the coverage (test_calibration has more of it)."""

from __future__ import annotations

import json
import warnings
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.ground.multiplicity import MaxZ
from fairstats.ground.registry import RATES
from fairstats.ground.serialise import decode
from fairstats.methods.rates import maxima
from fairstats.methods.rates.estimates import estimate_rate
from fairstats.methods.rates.maxima import _SimultaneousBand
from fairstats.methods.rates.pair import pair_method
from fairstats.numerics.rates.score_limits import difference_limit
from tests.numerics.rates.score_arrays import difference_score_interval, limit_by_search

fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

#: fairlearn's own warnings about pandas; ours and everybody else's stay errors.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:fairlearn"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:fairlearn"),
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning:fairlearn")
    if hasattr(__import__("pandas").errors, "Pandas4Warning")
    else pytest.mark.filterwarnings("ignore::FutureWarning:fairlearn"),
]

ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from("abcd")),
    min_size=1,
    max_size=60,
)
#: One row of each label in two groups: what every metric needs.
BASE = [(1, 1, "a"), (0, 0, "a"), (1, 0, "b"), (0, 1, "b")]


def columns(rows: list[tuple[int, int, str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, predictions, groups; groups that lack a label are left out."""
    rows = [*rows, *BASE]
    whole = {g for *_, g in rows if {y for y, _, h in rows if h == g} == {0, 1}}
    kept = [row for row in rows if row[2] in whole]
    y, p, g = zip(*kept, strict=True)
    return np.array(y), np.array(p), np.array(g)


PAIRS = {
    "demographic_parity_difference": "demographic_parity_difference",
    "equalized_odds_difference": "equalized_odds_difference",
    "equal_opportunity_difference": "equal_opportunity_difference",
}


def maximum(name: str, *arguments: Any, **options: Any) -> fs.results.MaximumResult:
    return getattr(fs, name)(*arguments, agg="max", **options)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=20)
@given(rows=ROWS)
def test_as_fairlearn(name: str, rows: list[tuple[int, int, str]]) -> None:
    y, p, g = columns(rows)
    wanted = getattr(fairlearn, PAIRS[name])(y, p, sensitive_features=g)
    assert maximum(name, y, p, sensitive_features=g).estimate == pytest.approx(wanted, abs=1e-12)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize("name", PAIRS)
def test_as_fairlearn_with_weights(name: str, rng: np.random.Generator) -> None:
    for _ in range(10):
        y, p = rng.integers(0, 2, (2, 80))
        g = rng.choice(list("abc"), 80)
        weight = rng.uniform(0.1, 5, 80)
        wanted = getattr(fairlearn, PAIRS[name])(y, p, sensitive_features=g, sample_weight=weight)
        found = maximum(name, y, p, sensitive_features=g, sample_weight=weight).estimate
        assert found == pytest.approx(wanted, abs=1e-12)


def test_groups_with_too_few_clusters_leave_the_gap_open(rng: np.random.Generator) -> None:
    """A group of two clusters can hide any gap.

    No upper limit, and no verdict without another pair.
    """
    cluster = np.repeat(np.arange(82), 20)
    g = np.where(cluster < 40, "a", np.where(cluster < 80, "b", "c"))
    p = (rng.random(cluster.size) < np.where(g == "a", 0.2, 0.6)).astype(int)
    with pytest.warns(DataWarning, match="c: 2 effective clusters"):
        found = maximum(
            "demographic_parity_difference", None, p, sensitive_features=g, cluster=cluster
        )
    low, high = found.confidence_interval
    assert 0.3 < low < 0.4
    assert high == 1.0
    assert found.verdict == "violated"
    two = np.where(g == "c", "c", "b")
    with pytest.warns(InsufficientEvidenceWarning, match="c: 2 effective clusters"):
        found = maximum(
            "demographic_parity_difference", None, p, sensitive_features=two, cluster=cluster
        )
    assert tuple(found.confidence_interval) == (0.0, 1.0)
    assert np.isnan(found.pvalue)
    assert found.verdict == "insufficient evidence"


def test_as_fairlearn_over_intersections(rng: np.random.Generator) -> None:
    import pandas as pd

    y, p = rng.integers(0, 2, (2, 400))
    features = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], 400), "race": rng.choice(["x", "y", "z"], 400)}
    )
    for name in PAIRS:
        wanted = getattr(fairlearn, PAIRS[name])(y, p, sensitive_features=features)
        assert maximum(name, y, p, sensitive_features=features).estimate == pytest.approx(
            wanted, abs=1e-12
        )


def test_signed_differences_contain_the_maximum(rng: np.random.Generator) -> None:
    """The largest of the signed differences over all pairs is the maximum."""
    y, p = rng.integers(0, 2, (2, 300))
    g = rng.choice(list("abcd"), 300)
    for name in (
        "demographic_parity_difference",
        "equal_opportunity_difference",
        "predictive_parity_difference",
        "average_odds_difference",
        "equalized_odds_difference",
    ):
        signed = getattr(fs, name)(y, p, sensitive_features=g, comparisons="all")
        largest = maximum(name, y, p, sensitive_features=g)
        assert largest.estimate == pytest.approx(np.abs(signed.estimate).max(), abs=1e-14)
        assert abs(largest.components[0].estimate) == largest.estimate


# ---------------------------------------------------------------- interval, test, verdict

COUNTS = {"a": (60, 20, 40, 80), "b": (45, 35, 55, 65), "c": (30, 10, 20, 40)}


def differences(
    counts: dict[str, tuple[int, ...]],
) -> dict[tuple[str, str, str], tuple[float, float, float, float, float]]:
    """(rate, group, group) → (difference, Wald error, k0, n0 …) of TPR and FPR."""
    found = {}
    for rate, success, failure in (("tpr", 0, 2), ("fpr", 1, 3)):
        for g, h in combinations(counts, 2):
            k0 = counts[g][success]
            n0 = counts[g][success] + counts[g][failure]
            k1 = counts[h][success]
            n1 = counts[h][success] + counts[h][failure]
            found[rate, g, h] = (k0 / n0 - k1 / n1, k0, n0, k1, n1)
    return found


def test_the_interval_is_the_projection_of_a_simultaneous_band() -> None:
    """[max_j(low of |δ_j|)₊, max_j(high of |δ_j|)] of a band at c, by Wald or by the score limits
    at c.
    """
    with mock.patch("fairstats.methods.rates.maxima.needed_cases", return_value=0.0):
        result = maximum("equalized_odds_difference", counts=COUNTS)
    c = result.critical_value
    assert norm.ppf(0.975) < c < norm.ppf(1 - 0.025 / 6)
    wald = []
    score = []
    for d, k0, n0, k1, n1 in differences(COUNTS).values():
        s = np.sqrt(k0 / n0 * (1 - k0 / n0) / n0 + k1 / n1 * (1 - k1 / n1) / n1)
        wald.append((d - c * s, d + c * s))
        score.append(tuple(map(float, difference_score_interval(k0, n0, k1, n1, c))))
    projected = [
        (
            max(max(low, -high, 0) for low, high in band),
            max(max(abs(low), abs(high)) for low, high in band),
        )
        for band in (wald, score)
    ]
    found = tuple(result.confidence_interval)
    assert found == pytest.approx(projected[0], abs=1e-9) or found == pytest.approx(
        projected[1], abs=1e-9
    )


def test_components_say_where_the_gap_is() -> None:
    result = maximum("equalized_odds_difference", counts=COUNTS)
    assert len(result.components) == 6
    wanted = differences(COUNTS)
    for component in result.components:
        d = wanted[component.rate, component.group, component.reference][0]
        assert component.estimate == pytest.approx(d, abs=1e-14)
        assert component.low <= d <= component.high
    sizes = [abs(c.estimate) for c in result.components]
    assert sizes == sorted(sizes, reverse=True)
    assert result.components[0].group in result.sentences()[0]


def test_the_p_value_is_that_of_the_maximum_of_z() -> None:
    """Two groups and one rate: max-|z| is |z|, and its p-value two-sided normal."""
    counts = {"a": (30, 70), "b": (45, 55)}
    with mock.patch("fairstats.methods.rates.decision.needs_exact", return_value=False):
        result = maximum("demographic_parity_difference", counts=counts)
    assert result.pvalue == pytest.approx(2 * norm.sf(result.statistic), rel=1e-9)
    assert result.critical_value == pytest.approx(norm.ppf(0.975), rel=1e-9)
    assert result.statistic == pytest.approx(
        0.15 / np.sqrt(0.3 * 0.7 / 100 + 0.45 * 0.55 / 100), rel=0.05
    )


@pytest.mark.parametrize(
    "counts",
    [
        {"a": (30, 0), "b": (0, 30)},
        {"a": (30, 0), "b": (0, 30), "c": (0, 30)},
        {"a": (30, 0), "b": (0, 30), "c": (15, 15)},
        {"a": (30, 0), "b": (30, 0)},
        {"a": (1, 0), "b": (0, 30)},
    ],
    ids=str,
)
def test_a_gap_without_a_wald_variance_still_has_a_test(counts: dict[str, Any]) -> None:
    """Everyone against nobody is the largest gap there is: never z = 0, never NaN, never p = 1."""
    result = maximum("demographic_parity_difference", counts=counts)
    rates = [k / (k + f) for k, f in counts.values()]
    assert result.estimate == max(rates) - min(rates)
    assert not np.isnan(result.pvalue)
    if result.estimate == 1 and min(map(sum, counts.values())) == 30:
        assert result.statistic > 5
        assert result.pvalue < 1e-4
        assert result.verdict == "violated"
    if result.estimate == 0:
        assert result.pvalue > 0.5
    low, high = result.confidence_interval
    assert 0 <= low <= result.estimate <= high <= 1


@pytest.mark.parametrize(
    "counts", [{"a": (1, 0), "b": (0, 1)}, {"a": (1, 0), "b": (1, 0)}], ids=str
)
def test_two_people_decide_nothing(counts: dict[str, Any]) -> None:
    assert maximum("demographic_parity_difference", counts=counts).verdict == "undecided"


def test_a_group_that_lacks_cases_opens_the_interval() -> None:
    counts = {"a": (40, 10, 10, 40), "b": (38, 10, 12, 40), "none": (0, 10, 0, 40)}
    with pytest.warns(fs.FairstatsWarning, match="none: no rows with a favourable label"):
        result = maximum("equal_opportunity_difference", counts=counts)
    assert result.confidence_interval.high == 1
    assert result.estimate == pytest.approx(0.04)
    assert result.verdict == "undecided"


def test_no_gap_can_be_computed() -> None:
    counts = {"a": (0, 10, 0, 40), "b": (0, 10, 0, 40)}
    with pytest.warns(fs.FairstatsWarning, match="a: no rows with a favourable label.*b: no rows"):
        result = maximum("equal_opportunity_difference", counts=counts)
    assert np.isnan(result.estimate)
    assert tuple(result.confidence_interval) == (0, 1)
    assert result.verdict == "insufficient evidence"
    assert "insufficient evidence" in result.sentences()[0]


def test_one_group_has_no_gap() -> None:
    with pytest.raises(fs.InputError, match="`sensitive_features`: got one group"):
        maximum("demographic_parity_difference", counts={"a": (5, 5)})


def exact_coverage(n0: int, n1: int, p0: float, p1: float) -> float:
    """P(interval covers |p₀ − p₁|) over every pair of counts that has probability."""
    from scipy.stats import binom

    pmf0 = binom.pmf(np.arange(n0 + 1), n0, p0)
    pmf1 = binom.pmf(np.arange(n1 + 1), n1, p1)
    covered = 0.0
    for k0, k1 in np.argwhere(np.outer(pmf0, pmf1) > 1e-9):
        counts = {"a": (int(k0), n0 - int(k0)), "b": (int(k1), n1 - int(k1))}
        low, high = maximum("demographic_parity_difference", counts=counts).confidence_interval
        covered += pmf0[k0] * pmf1[k1] * (low - 1e-12 <= abs(p0 - p1) <= high + 1e-12)
    return covered


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n0", "n1", "p0", "p1"),
    [
        (30, 30, 0.2, 0.2),
        (30, 30, 0.5, 0.5),
        (10, 30, 0.5, 0.5),
        (10, 30, 0.45, 0.9),
        (20, 60, 0.2, 0.2),
        (30, 30, 0.1, 0.05),
        (40, 40, 0.32, 0.4),
    ],
)
def test_coverage_is_94_per_cent_in_small_groups(n0: int, n1: int, p0: float, p1: float) -> None:
    """METHODS §1: coverage ≥ 94%, no upper limit on it; by enumeration, equal groups among them."""
    assert exact_coverage(n0, n1, p0, p1) >= 0.94


def test_the_verdict_is_what_the_one_sided_band_says(rng: np.random.Generator) -> None:
    """Its p-value is below 5% exactly where the band excludes the margin.

    Open where a group is unknown.
    """
    said = set()
    for _ in range(150):
        n = int(rng.integers(20, 1_500))
        rates = rng.uniform(0.4, 0.4 + rng.uniform(0, 0.4), 3)
        counts: dict[str, tuple[int, int]] = {
            g: (k, n - k) for g, k in zip("abc", rng.binomial(n, rates).tolist(), strict=True)
        }
        unknown = bool(rng.random() < 0.3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            both = {**counts, "d": (0, 0)} if unknown else counts
            (c,) = fs.demographic_parity_difference(counts=both, agg="max", margin=0.15).comparisons
        low, high = c.bounds
        wanted = "violated" if low > 0.15 else "satisfied" if high < 0.15 else "undecided"
        assert c.verdict == wanted
        assert (c.pvalue_verdict <= 0.05) == (wanted != "undecided")
        assert not (unknown and wanted == "satisfied")
        said.add(wanted)
    assert len(said) == 3


def test_an_empty_cell_keeps_its_part_in_the_joint_distribution() -> None:
    """Half a row is added to each cell, so that no variance vanishes.

    MaxZ of these rates, by hand.
    """
    counts = {"a": (0, 30), "b": (0, 30), "c": (15, 15)}
    rates = np.array([0.5 / 31, 0.5 / 31, 15.5 / 31])
    wanted = MaxZ(rates * (1 - rates) / 31, pairs=list(combinations(range(3), 2)))
    assert wanted.n_estimates == 3
    result = fs.demographic_parity_difference(counts=counts, agg="max")
    assert result.critical_value == pytest.approx(wanted.quantile(0.95), abs=0.015)  # other draws


def test_each_difference_of_a_weighted_band_has_the_degrees_of_freedom_of_its_own_groups(
    rng: np.random.Generator,
) -> None:
    """A group of few units widens its own differences.

    The large pair keeps (nearly) the normal law.

    Witness: every component's limits are those of the pair alone at the quantile of its own t law
    with the same error."""
    g = np.repeat(list("abc"), [600, 600, 12])
    p = (rng.random(g.size) < 0.5).astype(int)
    weight = rng.uniform(0.5, 1.5, g.size)
    found = maximum(
        "demographic_parity_difference", None, p, sensitive_features=g, sample_weight=weight
    )
    counts = found.counts
    estimates = estimate_rate(counts, RATES["selection_rate"])
    error = 2 * t.cdf(-found.critical_value, counts.degrees_of_freedom)
    degrees = {}
    for component in found.components:
        i = counts.groups.index(component.group)
        j = counts.groups.index(component.reference)
        degrees[component.group + component.reference] = estimates.contrast_degrees(
            i, j, contrast="difference"
        )
        how = pair_method(estimates, i, j, "difference", "score", n_resamples=1, rng=None).how
        own = how.limits(
            t.ppf(1 - error / 2, estimates.contrast_degrees(i, j, contrast="difference"))
        )
        assert (component.low, component.high) == pytest.approx(own, abs=1e-9)
    assert degrees["ab"] > 400
    assert degrees["ac"] < 12
    assert degrees["bc"] < 12
    assert (
        2.2 < found.critical_value < 2.36
    )  # of normal laws; that of 11 degrees of freedom would be 2.7


BANDS = {
    "plain": (COUNTS, ("tpr", "fpr")),
    "a mean": (COUNTS, ("average_odds",)),
    "both": (COUNTS, ("average_odds", "selection_rate")),
    "small cells": (
        {"a": (3, 9, 9, 2), "b": (12, 4, 3, 11), "c": (30, 10, 20, 40)},
        ("average_odds", "tpr"),
    ),
    "all and nobody": (
        {"a": (20, 20, 0, 0), "b": (0, 0, 20, 20), "c": (9, 8, 12, 11)},
        ("average_odds",),
    ),
}


def band_of(name: str) -> _SimultaneousBand:
    counts, rates = BANDS[name]
    table = fs.ConfusionCounts.from_counts(counts)
    return _SimultaneousBand.of(table, [estimate_rate(table, RATES[rate]) for rate in rates])


@pytest.mark.parametrize("critical", [0.7, 1.96, 3.0])
@pytest.mark.parametrize("name", BANDS)
def test_limits_of_a_band_are_those_of_each_difference(name: str, critical: float) -> None:
    """Score limits of each proportion; halves by MOVER by hand."""
    counts, rates = BANDS[name]
    parts = {
        "tpr": [(0, 2)],
        "fpr": [(1, 3)],
        "average_odds": [(0, 2), (1, 3)],
        "selection_rate": [(0, 1, 2, 3)],
    }
    wanted = []
    for rate in rates:
        for g, h in combinations(counts, 2):
            differences = []
            ends = []
            for cells in parts[rate]:
                table: list[float] = []
                for own in (counts[g], counts[h]):
                    k = own[0] + own[1] if len(cells) == 4 else own[cells[0]]
                    table += [float(k), float(sum(own[c] for c in cells))]
                k0, n0, k1, n1 = table
                differences.append(k0 / n0 - k1 / n1)
                ends.append(
                    [difference_limit(tuple(table), critical, True, False, s) for s in (-1, 1)]
                )  # type: ignore[arg-type]
            mean = np.mean(differences)
            reach = np.sqrt(
                np.sum((np.array(ends) - np.array(differences)[:, None]) ** 2, axis=0)
            ) / len(ends)
            wanted.append((max(mean - reach[0], -1.0), min(mean + reach[1], 1.0)))
    band = band_of(name)
    found = band.limits_at(np.full(band.difference.size, critical))
    np.testing.assert_allclose(np.column_stack(found), wanted, atol=1e-9)


@pytest.mark.parametrize("null", [0.0, 0.12, -0.3, 0.6])
@pytest.mark.parametrize("name", BANDS)
def test_statistics_of_a_band_are_where_its_limits_pass_the_null(name: str, null: float) -> None:
    """Witness: at the size of the statistic as critical value an end of each difference lies at the
    null.
    """
    band = band_of(name)
    z = band.statistics(null)
    low, high = band.limits_at(np.minimum(np.abs(z), 29.9))
    ends = np.where(band.difference > null, low, high)
    inner = np.abs(z) < 29.9
    np.testing.assert_allclose(ends[inner], null, atol=1e-8)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_the_only_known_difference_is_judged_as_itself() -> None:
    """A rate, or a group, without cases.

    The row of the gap says what the difference says, open to 1 above.

    Witness: the row of the difference.
    """
    y_true = np.r_[np.ones(70), np.zeros(20)].astype(int)
    y_pred = np.r_[
        np.ones(12), np.zeros(18), np.ones(35), np.zeros(5), np.zeros(10), np.ones(10)
    ].astype(int)
    group = np.r_[["a"] * 30, ["b"] * 40, ["a"] * 20]
    third = (
        np.r_[y_true, np.zeros(9, int)],
        np.r_[y_pred, np.tile([1, 0, 0], 3)],
        np.r_[group, ["c"] * 9],
    )
    for rows, name in (
        ((y_true, y_pred, group), "equalized_odds_max"),
        (third, "equal_opportunity_max"),
    ):
        options = {"y_true": rows[0], "y_pred": rows[1], "sensitive_features": rows[2]}
        gap = fs.group_metric(metric=name, **options).comparisons[0]
        single = fs.group_metric(metric="tpr_difference", **options)["b"]
        assert gap.procedure == single.procedure
        assert gap.pvalue == single.pvalue
        assert gap.pvalue_verdict == single.pvalue_verdict
        assert gap.verdict == single.verdict == "violated"
        assert gap.confidence_interval.low == single.confidence_interval.low
        assert (gap.confidence_interval.high, gap.bounds.high) == (1.0, 1.0)
        assert "leaves the interval open up to 1" in gap.note


def test_nothing_simulated_decides_whether_tests_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another simulated critical value, of other random numbers.

    The same differences are judged by exact tests.
    """
    from fairstats.ground import multiplicity

    counts = {"a": (40, 160), "b": (300, 700), "c": (700, 1300), "d": (90, 210)}
    asked = []
    original = maxima._SimultaneousBand.with_exact_terms

    def recorded(band: Any, error: float) -> Any:
        found = original(band, error)
        asked.append((error, found.exact_terms))
        return found

    monkeypatch.setattr(maxima._SimultaneousBand, "with_exact_terms", recorded)
    fs.demographic_parity_difference(counts=counts, agg="max")
    monkeypatch.setattr(multiplicity, "_FIXED_SEED", 12345)
    fs.demographic_parity_difference(counts=counts, agg="max")
    first, second = asked
    assert first == second
    assert first[0] == pytest.approx(0.05 / 6)
    assert 0 < len(first[1]) < 6


# ---------------------------------------------------------------- without exact tests


def test_a_gap_by_mee_has_limits_of_single_differences_and_no_exact_test() -> None:
    """Witness: each pair's score interval without the factor, by `brentq` of its statistic, at the
    critical value of the band; groups of eight have exact tests by default.
    """
    counts = {"a": (300, 200), "b": (220, 280), "c": (260, 240)}
    few = {**counts, "d": (7, 1)}
    assert fs.demographic_parity_difference(counts=few, agg="max").comparisons[0].procedure.exact
    result = fs.demographic_parity_difference(counts=few, agg="max", method="mee")
    assert result.method == "simultaneous band (mee)"
    assert not result.comparisons[0].procedure.exact
    large = fs.demographic_parity_difference(counts=counts, agg="max", method="mee")
    for component in large.components:
        sides = [counts[name] for name in (component.group, component.reference)]
        (k, misses), (k0, misses0) = sides
        table = (float(k), float(k + misses), float(k0), float(k0 + misses0))
        low, high = (
            limit_by_search(table, "difference", large.critical_value, side, correction=False)
            for side in (-1, 1)
        )
        assert (component.low, component.high) == pytest.approx((low, high), abs=1e-9)


def test_a_gap_of_two_groups_by_mee_is_their_difference_by_mee() -> None:
    counts = {"big": (2500, 2500), "small": (5, 13)}
    (difference,) = fs.demographic_parity_difference(counts=counts, method="mee").comparisons
    (gap,) = fs.demographic_parity_difference(counts=counts, method="mee", agg="max").comparisons
    low, high = difference.confidence_interval
    assert gap.pvalue == difference.pvalue
    assert tuple(gap.confidence_interval) == pytest.approx(
        (max(low, -high, 0.0), max(abs(low), abs(high)))
    )
    assert not gap.procedure.exact


def test_components_are_a_sequence() -> None:
    """Made one by one when asked for, equal to those of a file."""
    result = fs.demographic_parity_difference(
        counts={"a": (30, 20), "b": (22, 28), "c": (26, 24)}, agg="max"
    )
    components = result.components
    assert components[-1] == list(components)[-1]
    assert components[:2] == tuple(components)[:2]
    read = decode(json.loads(json.dumps(result.to_dict())))
    assert isinstance(read.components, tuple)
    assert components == read.components
    assert repr(components) == repr(read.components)
    damaged_file = result.to_dict()
    damaged_file["components"] = [1, 2]
    with pytest.raises(InputError, match="components"):
        decode(damaged_file)
