"""What lies outside the fair range differs, and where one value is fair both are one question.

Each row is read against itself: p-values of the verdict and of equality, alone and over the family,
limits, and the row of the same two rates whose fair range is wider. No witness but logic; the cases
are those in which twice a tail of the exact test was below the p-value of both tails (9 of 12
beside 1,754 of 1,770), or above it (1 of 3 beside 8 of 317), or in which the p-value was smaller at
the near end of the fair range than at the far one (0 of 3 beside 46 of 60).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.verdict import Evidence, beside_equality, judge, reach_fair_range, settle

#: Thresholds of ratios, and margins, from far to the value of equality.
NEARER = {
    "ratio": (0.8, 0.95, 0.99, 0.999, 0.999_99, 1.0),
    "odds_ratio": (0.8, 0.95, 0.99, 0.999, 0.999_99, 1.0),
    "difference": (0.1, 0.02, 0.005, 0.001, 1e-5, 1e-9),
}
#: Successes and failures of the group and of its reference.
TABLES = {
    "twice a tail is below both tails": ((9, 3), (1754, 16)),
    "twice a tail is above both tails": ((1, 2), (8, 309)),
    "p rises within the fair range": ((0, 3), (46, 14)),
    "none of few": ((0, 12), (20, 25)),
    "by the score": ((600, 400), (5200, 4800)),
}


@pytest.fixture(autouse=True)
def _small_cells_are_wanted() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        yield


def compare(contrast: str, counts: dict[str, tuple[int, int]], size: float, **options: Any) -> Any:
    if contrast == "difference":
        return fs.demographic_parity_difference(counts=counts, margin=size, **options)
    if contrast == "ratio":
        return fs.disparate_impact(counts=counts, threshold=size, **options)
    cells = {name: (k, 0, 0, f) for name, (k, f) in counts.items()}
    return fs.group_metric(
        metric="selection_rate", contrast="odds_ratio", counts=cells, threshold=size, **options
    )


def contradictions(result: Any) -> list[str]:
    """What the rows of a result say against themselves."""
    settings = result.settings
    error = 1 - settings.confidence_level
    scale = result.scale if result.scale != "maximum" else "gap"
    fair = settings._fair_range(scale)
    found = []
    for c in result.comparisons:
        if c.verdict == "insufficient evidence":
            continue
        outside = c.direction in ("below", "above")
        if outside and c.pvalue_verdict < c.pvalue:
            found.append(f"p = {c.pvalue_verdict} of the verdict, {c.pvalue} of equality")
        if outside and c.pvalue_verdict_adjusted < c.pvalue_adjusted:
            found.append(f"{c.pvalue_verdict_adjusted} beside {c.pvalue_adjusted} over the family")
        if c.verdict == "violated" and c.pvalue_adjusted > error:
            found.append(f"violated, and equal with p = {c.pvalue_adjusted}")
        if fair[0] == fair[1] and c.pvalue_verdict_adjusted != c.pvalue_adjusted:
            found.append(f"one question has {c.pvalue_verdict_adjusted} and {c.pvalue_adjusted}")
        shown = judge(*c.bounds, fair=fair) != "undecided"
        if shown != (c.pvalue_verdict <= error) and abs(c.pvalue_verdict - error) > 1e-6:
            found.append(f"limits {tuple(c.bounds)} beside p = {c.pvalue_verdict}")
    return found


@pytest.mark.parametrize("contrast", NEARER)
@pytest.mark.parametrize("name", TABLES)
def test_no_row_contradicts_itself_near_equality(name: str, contrast: str) -> None:
    group, reference = TABLES[name]
    pvalues = []
    for size in NEARER[contrast]:
        result = compare(contrast, {"a": group, "b": reference}, size, reference="b")
        assert contradictions(result) == []
        pvalues.append((result.comparisons[0].pvalue, result.comparisons[0].pvalue_verdict))
    (equality,) = {pvalue for pvalue, _ in pvalues}
    # the nearer the threshold lies to equality, the less there is to show
    assert all(of_verdict >= equality for _, of_verdict in pvalues)


def test_what_is_violated_at_one_differs_and_is_not_elsewhere() -> None:
    """1 of 3 beside 8 of 317: equal with p = .048, which was "undecided" at a threshold of 1."""
    counts = {"a": (1, 2), "b": (8, 309)}
    (at_one,) = compare("ratio", counts, 1.0, reference="b").comparisons
    assert at_one.verdict == "violated"
    assert at_one.pvalue_verdict == at_one.pvalue == pytest.approx(0.048078, abs=1e-6)
    assert tuple(at_one.bounds) == pytest.approx(tuple(at_one.confidence_interval))
    (beside,) = compare("ratio", counts, 0.99, reference="b").comparisons
    assert beside.pvalue_verdict > at_one.pvalue_verdict


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("comparisons", ["reference", "all", "highest"])
def test_no_family_contradicts_itself(comparisons: str, seed: int) -> None:
    """Groups of 1 to 4,000, some satisfied: they leave the others more of the error, but not more
    than equality leaves.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.choice([3, 20, 60, 900, 4_000], 4)
    successes = rng.binomial(
        sizes, np.clip(rng.choice([0.1, 0.5, 0.8]) * rng.choice([1, 1, 0.7], 4), 0, 1)
    )
    counts = {}
    for name, k, n in zip("abcd", successes.tolist(), sizes.tolist(), strict=True):
        counts[name] = (k, n - k)
    options = {"highest": {"reference": "highest"}}.get(comparisons, {"comparisons": comparisons})
    for contrast, size in (("ratio", 0.8), ("ratio", 1.0), ("difference", 0.02)):
        assert contradictions(compare(contrast, counts, size, **options)) == []
    cells = {name: (k, 0, 0, f) for name, (k, f) in counts.items()}
    for margin in (0.05, 1e-6):
        gap = fs.demographic_parity_difference(counts=cells, agg="max", margin=margin)
        assert contradictions(gap) == []


def test_a_satisfied_neighbour_does_not_make_a_difference() -> None:
    """b is shown to be fair, which leaves c all of the error; that c differs is held to half."""
    counts = {"a": (5_000_000, 5_000_000), "b": (5_000_200, 4_999_800), "c": (540, 640)}
    result = fs.disparate_impact(counts=counts, reference="a", threshold=0.997)
    of_c = result["c"]
    assert result["b"].verdict == "satisfied"
    assert of_c.pvalue < of_c.pvalue_verdict < 2 * of_c.pvalue
    assert of_c.pvalue_verdict_adjusted == of_c.pvalue_adjusted == pytest.approx(2 * of_c.pvalue)


def test_distances_and_their_permutations() -> None:
    """A MADD is not above a margin where the permutations show no difference."""
    rng = np.random.default_rng(13)
    for sizes in ((15, 600, 40), (30, 30), (12, 200, 40)):
        group = np.repeat(np.arange(len(sizes)), sizes)
        score = np.round(rng.beta(2, 4, group.size) + 0.08 * (group == 0), 2).clip(0, 1)
        result = fs.madd(score, sensitive_features=group, margin=1e-6, n_resamples=199, rng=2)
        for c in [*result.comparisons, *filter(None, [result.largest])]:
            if c.direction == "above":
                assert c.pvalue_verdict >= c.pvalue
                assert c.pvalue_verdict_adjusted >= c.pvalue_adjusted
            assert (c.bounds.low > 1e-6) == (c.pvalue_verdict <= 0.05)
            assert c.confidence_interval.low == 0 or c.pvalue <= 0.05


def test_evidence_beside_equality() -> None:
    """By hand."""
    plain = Evidence(below=0.01, above=1.0, inside=0.9)
    wide = beside_equality(plain, 0.03, (0.8, 1.25))
    assert (wide.below, wide.above, wide.inside) == (0.03, 1.0, 0.9)
    one = beside_equality(plain, 0.005, (1.0, 1.0))
    assert (one.below, one.above, one.smallest) == (0.005, 1.0, (0.005, "below"))
    assert beside_equality(plain, math.nan, (0.8, 1.25)) is plain
    nothing = Evidence()
    assert beside_equality(nothing, 0.5, (0.8, 1.25)) is nothing
    of_size = beside_equality(Evidence(above=0.01, inside=0.5), 0.02, (-math.inf, 0.1))
    assert math.isnan(of_size.below)
    assert of_size.above == 0.02
    assert reach_fair_range((0.2, 0.7), wide, (0.8, 1.25), 0.05) == (0.2, 0.7)
    assert reach_fair_range((0.2, 0.7), wide, (0.8, 1.25), 0.02) == (0.2, 0.8)
    # Holm: .03 twice; alone among verdicts .03 would be all that is left
    fair = beside_equality(Evidence(below=1.0, above=1.0, inside=1e-9), 0.6, (0.8, 1.25))
    violated, satisfied = settle([wide, fair], confidence_level=0.95)
    assert violated.verdict == "undecided"
    assert violated.pvalue_adjusted == pytest.approx(0.06)
    assert satisfied.verdict == "satisfied"


@pytest.mark.parametrize("threshold", [0.8, 0.999, 1.0])
def test_the_smallest_ratio_is_not_surer_of_a_violation_than_of_a_difference(
    threshold: float,
) -> None:
    """At a threshold of 1 the p-value of a violation was half of that of equality."""
    counts = {"a": (300, 0, 0, 200), "b": (150, 0, 0, 130), "c": (30, 0, 0, 36)}
    smallest = fs.group_metric(
        metric="selection_rate_ratio", agg="min", counts=counts, threshold=threshold
    )
    (c,) = smallest.comparisons
    assert contradictions(smallest) == []
    if threshold == 1:
        assert c.pvalue_verdict == c.pvalue
    elif c.direction == "below":
        assert c.pvalue_verdict >= c.pvalue


def test_equality_has_one_p_value_by_every_metric_of_the_rate() -> None:
    """Of 180 beside 180 expected halves, judged alone, the score would be exact enough; beside a
    second rate it is not. So all of them are by exact tests.
    """
    counts = {"a": (80, 40, 100, 140), "b": (101, 30, 79, 150)}
    by_metric = {
        "difference": fs.equal_opportunity_difference(counts=counts, reference="b"),
        "gap": fs.equal_opportunity_difference(counts=counts, agg="max"),
        "ratio": fs.conditional_accuracy(counts=counts, reference="b"),
        "odds ratio": fs.group_metric(
            metric="tpr", contrast="odds_ratio", counts=counts, reference="b"
        ),
        "complement": fs.group_metric(metric="fnr_difference", counts=counts, reference="b"),
        "in a family": fs.equalized_odds_difference(counts=counts, reference="b"),
    }
    pvalues = {name: result.comparisons[0].pvalue for name, result in by_metric.items()}
    assert pvalues == pytest.approx(dict.fromkeys(pvalues, pvalues["difference"]), abs=1e-11)
    assert all(result.comparisons[0].procedure.exact for result in by_metric.values())
    # rates that stand in no larger family keep their own switch
    selected = {"a": (80, 100), "b": (101, 79)}
    assert not fs.disparate_impact(counts=selected, reference="b").comparisons[0].procedure.exact


def test_the_only_known_gap_has_the_p_value_of_its_row_beside_a_chosen_reference() -> None:
    """Two groups without cases: all six pairs could have been compared, which asks for exact
    tests of 500 cases beside 500; three comparisons with a named reference leave them to the score.
    """
    counts = {
        "a": (210, 10, 290, 20),
        "b": (260, 20, 240, 40),
        "c": (0, 10, 0, 10),
        "d": (0, 5, 0, 9),
    }
    is_exact = {}
    for reference in ("highest", "b"):
        rows = fs.equal_opportunity_difference(counts=counts, reference=reference)
        gap = fs.group_metric(
            metric="equal_opportunity", contrast="gap", counts=counts, reference=reference
        ).comparisons[0]
        row = rows.comparisons[0]
        assert gap.pvalue == pytest.approx(row.pvalue, rel=1e-9)
        assert gap.procedure.exact == row.procedure.exact
        is_exact[reference] = row.procedure.exact
    assert is_exact == {"highest": True, "b": False}


def test_groups_in_the_same_clusters_differ_by_one_p_value(rng: np.random.Generator) -> None:
    """By hand: of r − θr₀ the standard error as of independent rates over its own, at the null
    value. At the estimate that is the standard error of the logarithm, as the result tells it.
    """
    cluster = rng.integers(0, 40, 900)
    group = rng.choice(["a", "b"], 900)
    shift = rng.normal(0, 1, 40)[cluster]
    selected = (rng.random(900) < 1 / (1 + np.exp(0.8 - shift - 0.3 * (group == "a")))).astype(int)
    options: dict[str, Any] = {
        "sensitive_features": group,
        "cluster": cluster,
        "reference": "b",
    }
    ratio = fs.disparate_impact(selected, **options)
    difference = fs.demographic_parity_difference(None, selected, **options)
    odds = fs.group_metric(
        None, selected, metric="selection_rate", contrast="odds_ratio", **options
    )
    gap = fs.demographic_parity_difference(
        None, selected, agg="max", sensitive_features=group, cluster=cluster
    )
    pvalues = [r.comparisons[0].pvalue for r in (ratio, difference, odds, gap)]
    assert pvalues == pytest.approx([pvalues[0]] * 4, rel=1e-9)
    for result, null in ((ratio, 1.0), (odds, 1.0), (difference, 0.0)):
        (row,) = result.comparisons
        level = 1 - row.pvalue
        assert 0.5 < level < 1
        again = {
            "ratio": fs.disparate_impact,
            "odds_ratio": fs.group_metric,
            "difference": fs.demographic_parity_difference,
        }[result.scale]
        arguments: tuple[Any, ...] = (selected,) if result is ratio else (None, selected)
        more: dict[str, Any] = {"confidence_level": level}
        if result is odds:
            more |= {"metric": "selection_rate", "contrast": "odds_ratio"}
        # at the level of its p-value the interval ends at equality
        ends = again(*arguments, **options, **more).comparisons[0].confidence_interval
        assert min(abs(ends.low - null), abs(ends.high - null)) < 1e-9
