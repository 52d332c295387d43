"""`madd`: what it returns, for pairs and for many groups, under weights and clusters."""

from __future__ import annotations

import dataclasses
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.ground.results import TIDY_COLUMNS
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.madd.scores import bin_edges, histogram, histogram_distance

from .conftest import Scored
from .densities import distance_between


def test_everything_that_is_asked_for(paper_rows: Scored) -> None:
    result = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=1)
    curve = fs.madd_curve(paper_rows.score, sensitive_features=paper_rows.group)
    stable = fs.stable_bandwidth(curve)
    assert result.headline == stable.mean
    assert result.bandwidth == stable
    assert result.bandwidth.n_searched == 1000
    assert result.h_sup == stable.h_sup == pytest.approx((2 / np.sqrt(2000)) ** (2 / 3))
    comparison = result.comparisons[0]
    assert comparison.grid_bins == int(np.ceil(1 / result.h_sup)) == 8
    # witness: NumPy's quantiles of all scores, and its histograms between them
    inner = np.quantile(paper_rows.score, np.arange(1, 8) / 8)
    assert np.allclose(comparison.edges, inner, atol=2e-4)
    ends = [0.0, *comparison.edges, 1.0]
    counts = np.stack(
        [np.histogram(paper_rows.score[paper_rows.group == g], ends)[0] for g in (0, 1)]
    )
    assert np.array_equal(comparison.counts, counts)
    assert counts.sum(axis=0).tolist() == [500] * 8
    assert (
        result.estimate
        == float(histogram_distance(counts[0], counts[1]))
        == result.comparisons[0].statistic
    )
    assert np.abs(comparison.contributions).sum() == pytest.approx(result.estimate)
    assert np.allclose(comparison.contributions, counts[0] / 2000 - counts[1] / 2000)
    low, high = result.confidence_interval
    truth = distance_between(comparison.edges)
    assert low < truth < high
    assert low < result.estimate < high
    assert result.confidence_interval.method == "directional delta"
    assert low < result.lower_limit < truth < 1.1953
    assert result.bias_corrected == pytest.approx(
        result.estimate, abs=0.005
    )  # far apart there is no bias
    assert 0.05 < result.headline_null_mean < 0.3
    assert 0.03 < result.null_mean < 0.1
    assert result.pvalue == 1 / 2000
    assert result.mid_pvalue == 0.5 / 2000
    assert result.verdict == "violated"


def test_contributions_table(paper_rows: Scored) -> None:
    result = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, n_bins=5, rng=1)
    table = result.contributions()
    assert table["bin"].tolist() == [1, 2, 3, 4, 5]
    assert table["low"].tolist() == [0, 0.2, 0.4, 0.6, 0.8]
    assert table["contribution"].abs().sum() == pytest.approx(result.estimate)
    assert np.allclose(table["share"] - table["share_reference"], table["contribution"])
    assert (table["contribution"] > 0).any()
    assert (table["contribution"] < 0).any()


@pytest.mark.parametrize(
    ("options", "bins"),
    [
        ({"n_bins": 20}, 20),
        ({"bandwidth": 0.05}, 20),
        ({"bandwidth": 0.022}, 45),  # the paper's example
        ({"bandwidth": 1 / 93}, 93),  # where floor(1/h) gives 92
        ({"bandwidth": 1}, 1),
        ({"n_bins": 1}, 1),
    ],
)
def test_given_bins(options: dict[str, float], bins: int, paper_rows: Scored) -> None:
    result = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=1, **options)
    sides = [np.sort(paper_rows.score[paper_rows.group == g]) for g in (0, 1)]
    expected = float(histogram_distance(*(histogram(x, bin_edges(bins)) for x in sides)))
    assert result.estimate == result.headline == expected
    assert result.comparisons[0].grid_bins == bins
    assert result.bandwidth is None
    assert len(result.to_frame()) == 1


def test_every_bin_of_1000_is_there(rng: np.random.Generator) -> None:
    """1/h for h = 1/m is m again, for every m."""
    from fairstats.methods.madd.result import bins_of_bandwidth

    assert [bins_of_bandwidth(1 / m) for m in range(1, 1001)] == list(range(1, 1001))
    assert sum(int(np.floor(1 / (1 / m))) != m for m in range(1, 1001)) == 70


def test_estimate_and_grid_may_differ(paper_rows: Scored) -> None:
    result = fs.madd(
        paper_rows.score, sensitive_features=paper_rows.group, n_bins=25, grid_bins=10, rng=1
    )
    frame = result.to_frame()
    assert frame["metric"].tolist() == ["madd"]
    assert frame["n_bins"].tolist() == [10]
    by_numpy = [
        np.histogram(paper_rows.score[paper_rows.group == g], np.linspace(0, 1, 26))[0] / 2000
        for g in (0, 1)
    ]
    assert result.headline == pytest.approx(np.abs(by_numpy[0] - by_numpy[1]).sum())
    assert result.estimate != result.headline
    assert "Headline MADD, not judged" in result.sentences()[0]
    assert "in 25 equal bins" in result.sentences()[0]


def test_tidy_table(paper_rows: Scored) -> None:
    result = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=1)
    frame = result.to_frame()
    assert tuple(frame.columns[: len(TIDY_COLUMNS)]) == TIDY_COLUMNS
    assert frame["metric"].tolist() == ["madd"]
    grid = frame.iloc[0]
    assert grid.n_searched == 1000
    assert (grid.headline, grid.h_low, grid.h_high) == (
        result.headline,
        result.bandwidth.low,
        result.bandwidth.high,
    )
    assert (grid.estimate, grid.null_mean, grid.pvalue) == (
        result.estimate,
        result.null_mean,
        result.pvalue,
    )
    assert grid.verdict == "violated"
    assert (grid.n, grid.n_reference) == (2000, 2000)
    assert grid.bound_low == result.lower_limit
    assert "Algorithm 1" in str(result)
    assert "seed 1" in str(result)
    assert len(result.sentences()) == len(frame)
    assert "violated; the data show a distance above 0.2" in result.sentences()[0]
    assert "<table" in result._repr_html_()


def test_symmetry(paper_rows: Scored) -> None:
    score = paper_rows.score
    group = np.where(paper_rows.group == 0, "a", "b")
    one = fs.madd(score, sensitive_features=group, groups=["a", "b"], rng=1)
    other = fs.madd(score, sensitive_features=group, groups=["b", "a"], rng=1)
    assert one.estimate == other.estimate
    assert one.headline == other.headline
    assert np.allclose(one.comparisons[0].contributions, -other.comparisons[0].contributions)
    mirrored = fs.madd(1 - score, sensitive_features=group, rng=1)
    assert mirrored.estimate == pytest.approx(
        one.estimate, abs=2e-3
    )  # a score next to an edge changes its bin
    curved = fs.madd(score**7 / 2, sensitive_features=group, groups=["a", "b"], rng=1)
    assert (curved.estimate, curved.pvalue) == (
        one.estimate,
        one.pvalue,
    )  # ranks are all that counts
    assert tuple(curved.confidence_interval) == tuple(one.confidence_interval)


def test_seeds(paper_rows: Scored) -> None:
    first = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=5)
    again = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=5)
    assert first.to_frame().equals(again.to_frame())
    assert first.settings.seed == 5
    drawn = fs.madd(paper_rows.score, sensitive_features=paper_rows.group)
    repeated = fs.madd(
        paper_rows.score, sensitive_features=paper_rows.group, rng=drawn.settings.seed
    )
    assert drawn.to_frame().equals(repeated.to_frame())
    from_generator = fs.madd(
        paper_rows.score, sensitive_features=paper_rows.group, rng=np.random.default_rng(5)
    )
    assert from_generator.settings.seed is None
    assert from_generator.pvalue == first.pvalue


def test_json_carries_counts_and_no_rows(paper_rows: Scored) -> None:
    result = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=1)
    text = json.dumps(result.to_dict(), allow_nan=False)
    again = MaddResult.from_dict(json.loads(text))
    assert again.to_frame().equals(result.to_frame())
    assert again.contributions().equals(result.contributions())
    assert np.array_equal(again.comparisons[0].curve.madd, result.comparisons[0].curve.madd)
    assert repr(float(paper_rows.score[17])) not in text
    assert result.counts.counts.sum() == paper_rows.score.size


def three_groups(seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = np.concatenate([rng.beta(2, 3, 500), rng.beta(2, 3, 300), rng.beta(3, 2, 200)])
    return score, np.repeat(["x", "y", "z"], [500, 300, 200])


def test_all_pairs() -> None:
    score, group = three_groups()
    result = fs.madd(score, sensitive_features=group, rng=1)
    assert [(c.group, c.reference) for c in result.comparisons] == [
        ("x", "y"),
        ("x", "z"),
        ("y", "z"),
    ]
    assert result.estimate.shape == (3,)
    assert isinstance(result.verdict, tuple)
    alone = fs.madd(score[group != "y"], sensitive_features=group[group != "y"], rng=1)
    assert result["x", "z"].estimate == alone.estimate
    assert result["z", "x"] is result["x", "z"]
    frame = result.to_frame()
    assert frame["metric"].tolist() == ["madd"] * 3 + ["madd_max"]
    p = [c.pvalue for c in result.comparisons]
    adjusted = [c.pvalue_adjusted for c in result.comparisons]
    assert all(a >= b for a, b in zip(adjusted, p, strict=True))
    assert min(adjusted) == pytest.approx(3 * min(p))


def test_largest_accounts_for_the_search() -> None:
    score, group = three_groups()
    result = fs.madd(score, sensitive_features=group, rng=1)
    largest = result.largest
    assert largest is not None
    assert largest.estimate == result.estimate.max()
    assert {largest.group, largest.reference} <= {"x", "y", "z"}
    assert largest.pvalue == largest.pvalue_adjusted == 1 / 2000
    assert largest.confidence_interval.low <= largest.estimate <= largest.confidence_interval.high
    assert largest.confidence_interval.high >= max(
        c.confidence_interval.high for c in result.comparisons
    )
    assert largest.null_mean > max(c.null_mean for c in result.comparisons) * 0.9
    rng = np.random.default_rng(8)
    alike = fs.madd(rng.random(600), sensitive_features=np.arange(600) % 6, rng=1)
    assert alike.largest is not None
    assert alike.largest.pvalue > min(alike.pvalue)  # the least of 15 p-values is no p-value
    assert alike.largest.method == "exact permutation, largest standardised MADD"


def test_one_against_the_rest() -> None:
    score, group = three_groups()
    result = fs.madd(score, sensitive_features=group, comparisons="rest", rng=1)
    assert [(c.group, c.reference) for c in result.comparisons] == [
        (g, "all others") for g in ("x", "y", "z")
    ]
    merged = fs.madd(score, sensitive_features=np.where(group == "z", "z", "rest"), rng=1)
    assert result["z"].estimate == merged.estimate
    assert result["z"].headline == merged.headline
    assert result["z"].n_reference == 800
    table = result.contributions()
    part = table[table["group"] == "z"]
    assert np.allclose(part["share"] - part["share_reference"], part["contribution"])


def test_two_groups_against_the_rest_are_one_pair(paper_rows: Scored) -> None:
    result = fs.madd(
        paper_rows.score, sensitive_features=paper_rows.group, comparisons="rest", rng=1
    )
    assert len(result.comparisons) == 1
    assert result.largest is None


def test_against_a_reference() -> None:
    score, group = three_groups()
    result = fs.madd(score, sensitive_features=group, comparisons="reference", rng=1)
    assert {c.reference for c in result.comparisons} == {"x"}
    assert result.settings.reference_rule == "largest"
    named = fs.madd(score, sensitive_features=group, comparisons="reference", reference="z", rng=1)
    assert {c.reference for c in named.comparisons} == {"z"}
    with pytest.raises(InputError, match="comparisons='reference'"):
        fs.madd(score, sensitive_features=group, comparisons="all", reference="z")
    implied = fs.madd(score, sensitive_features=group, reference="z", rng=1)
    assert {c.reference for c in implied.comparisons} == {"z"}


def test_intersections() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "old": rng.choice([0, 1], 400)})
    result = fs.madd(rng.random(400), sensitive_features=frame, rng=1)
    assert len(result.comparisons) == 6
    assert set(result.counts.groups) == {"f & 0", "f & 1", "m & 0", "m & 1"}


def test_the_largest_names_the_pair_that_its_limit_comes_from() -> None:
    """The tiny group has the largest MADD and no limit above 0.

    The large ones show the violation.
    """
    rng = np.random.default_rng(4)
    sizes = {"large": 900, "other": 900, "tiny": 4}
    score = np.concatenate([rng.beta(2, 3, 900), rng.beta(3, 2, 900), np.full(4, 0.99)])
    group = np.repeat(list(sizes), list(sizes.values()))
    result = fs.madd(score, sensitive_features=group, n_bins=8, groups=list(sizes), rng=1)
    largest = result.largest
    assert largest is not None
    assert "tiny" in (largest.group, largest.reference)
    assert largest.limited_by == ("large", "other")
    assert result.sentences()[-1].endswith("It is the limit of large against other that shows it.")


def test_an_empty_group_is_named_and_leaves_the_largest_open() -> None:
    score, group = three_groups()
    with pytest.warns(InsufficientEvidenceWarning, match="w: no rows"):
        result = fs.madd(score, sensitive_features=group, groups=["x", "y", "z", "w"], rng=1)
    assert np.isnan(result["w", "x"].estimate)
    assert result["w", "x"].verdict == "insufficient evidence"
    assert result.largest is not None
    assert result.largest.confidence_interval.high == 2.0
    assert result.to_frame()["note"].str.contains("no rows").sum() == 3


def test_whole_weights_count_as_rows_do_in_the_estimate() -> None:
    score, group = three_groups()
    weight = np.random.default_rng(1).integers(1, 4, score.size)
    weighted = fs.madd(score, sensitive_features=group, sample_weight=weight, n_bins=10, rng=1)
    repeated = fs.madd(
        np.repeat(score, weight), sensitive_features=np.repeat(group, weight), n_bins=10, rng=1
    )
    for c in weighted.comparisons:
        other = repeated[c.group, c.reference]
        assert c.estimate == pytest.approx(other.estimate, abs=1e-12)
        assert (
            c.confidence_interval.width > other.confidence_interval.width
        )  # the same rows twice are no more evidence


def test_equal_weights_change_next_to_nothing(paper_rows: Scored) -> None:
    plain = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=1)
    weighted = fs.madd(
        paper_rows.score,
        sensitive_features=paper_rows.group,
        sample_weight=np.full(4000, 2.5),
        rng=1,
    )
    assert weighted.estimate == pytest.approx(plain.estimate, abs=1e-9)
    assert weighted.h_sup == pytest.approx(plain.h_sup)
    assert weighted.confidence_interval.low == pytest.approx(
        plain.confidence_interval.low, abs=0.01
    )
    assert weighted.confidence_interval.high == pytest.approx(
        plain.confidence_interval.high, abs=0.005
    )
    assert weighted.to_frame().equals(
        plain.to_frame()
    )  # D8: weights that are all the same change nothing
    own = np.where(paper_rows.group == 0, 2.5, 0.5)
    by_group = fs.madd(
        paper_rows.score, sensitive_features=paper_rows.group, sample_weight=own, rng=1
    )
    assert by_group.to_frame().equals(plain.to_frame())
    uneven = fs.madd(
        paper_rows.score,
        sensitive_features=paper_rows.group,
        sample_weight=1 + paper_rows.score / 1e6,
        rng=1,
    )
    assert uneven.comparisons[0].tests[0].method == "multiplier bootstrap"
    assert np.isnan(uneven.headline_null_mean)  # no permutation, no null mean of the search
    assert uneven.confidence_interval.low == pytest.approx(plain.confidence_interval.low, abs=0.01)
    assert uneven.confidence_interval.high == pytest.approx(
        plain.confidence_interval.high, abs=0.005
    )


def test_clusters() -> None:
    """Six rows per person: the interval is wider, and whole persons are permuted."""
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(120), 6)
    group = np.where(person % 2, "a", "b")
    score = 1 / (1 + np.exp(-(rng.normal(0, 1.5, 120)[person] + rng.normal(0, 0.3, 720))))
    plain = fs.madd(score, sensitive_features=group, n_bins=10, rng=1)
    clustered = fs.madd(score, sensitive_features=group, cluster=person, n_bins=10, rng=1)
    assert clustered.estimate == plain.estimate
    assert clustered.confidence_interval.width > 1.3 * plain.confidence_interval.width
    assert clustered.pvalue > plain.pvalue
    assert clustered.comparisons[0].tests[0].method == "permutation of whole clusters"


def test_clusters_across_groups() -> None:
    rng = np.random.default_rng(2)
    with pytest.warns(DataWarning, match="clusters lie in several groups"):
        result = fs.madd(
            rng.random(300),
            sensitive_features=np.arange(300) % 2,
            cluster=np.arange(300) // 6,
            rng=1,
        )
    assert result.comparisons[0].tests[0].method == "multiplier bootstrap"
    assert 0 < result.pvalue <= 1


def test_search_in_every_permutation() -> None:
    score, group = three_groups()
    two = group != "z"
    result = fs.madd(
        score[two],
        sensitive_features=group[two],
        permutations="search",
        n_resamples=99,
        max_bins=120,
        rng=1,
    )
    frame = result.to_frame()
    assert frame[["pvalue", "headline_pvalue"]].notna().all(axis=None)
    assert len(result.comparisons[0].tests) == 2
    assert abs(result.headline_null_mean - result.headline) < 0.25
    for bad in ({"sample_weight": 1.0 + np.arange(two.sum())}, {"cluster": np.arange(two.sum())}):
        with pytest.raises(InputError, match="permutations"):
            fs.madd(score[two], sensitive_features=group[two], permutations="search", **bad)
    with pytest.raises(InputError, match="nothing is searched"):
        fs.madd(score[two], sensitive_features=group[two], permutations="search", n_bins=5)


def test_verdicts() -> None:
    rng = np.random.default_rng(4)
    score = rng.random(20_000)
    group = np.arange(20_000) % 2
    assert fs.madd(score, sensitive_features=group, n_bins=5, rng=1).verdict == "satisfied"
    few = slice(0, 200)
    assert (
        fs.madd(score[few], sensitive_features=group[few], n_bins=5, rng=1).verdict == "undecided"
    )
    shifted = np.clip(score + 0.3 * group, 0, 1)
    assert fs.madd(shifted, sensitive_features=group, n_bins=5, rng=1).verdict == "violated"
    assert (
        fs.madd(shifted, sensitive_features=group, n_bins=5, rng=1, margin=1.9).verdict
        == "satisfied"
    )


def test_null_mean_is_what_alike_groups_show() -> None:
    """Over 60 data sets with alike groups, estimate and null mean agree on average."""
    rng = np.random.default_rng(9)
    group = np.repeat([0, 1], [150, 100])
    found = []
    for _ in range(60):
        result = fs.madd(rng.beta(2, 3, 250), sensitive_features=group, rng=rng, n_resamples=99)
        found.append(
            (result.estimate, result.null_mean, result.headline, result.headline_null_mean)
        )
    estimate, null, headline, headline_null = np.mean(found, axis=0)
    error = np.std([f[0] for f in found]) / np.sqrt(60)
    assert abs(estimate - null) < 3.5 * error
    assert headline == pytest.approx(headline_null, rel=0.1)  # the stretch was chosen by the data


def test_bias_correction_is_two_sided_bootstrap_arithmetic(paper_rows: Scored) -> None:
    """MADD − (mean bootstrap MADD − MADD), floored at 0; never MADD − null mean."""
    half = slice(None, None, 8)
    result = fs.madd(
        paper_rows.score[half], sensitive_features=paper_rows.group[half], n_bins=30, rng=1
    )
    counts = result.counts._counts_on_grid(30)
    rng = np.random.default_rng(3)
    drawn = [rng.multinomial(c.sum(), c / c.sum(), size=20_000) for c in counts]
    mean = float(histogram_distance(drawn[0], drawn[1]).mean())
    assert result.bias_corrected == pytest.approx(2 * result.estimate - mean, abs=0.01)
    same = fs.madd([0.1, 0.9] * 50, sensitive_features=[0, 0, 1, 1] * 25, n_bins=2, rng=1)
    assert same.estimate == 0
    assert same.bias_corrected == 0


def test_missing_values(paper_rows: Scored) -> None:
    score = paper_rows.score.copy()
    score[:7] = np.nan
    with pytest.raises(InputError, match="missing"):
        fs.madd(score, sensitive_features=paper_rows.group)
    with pytest.warns(fs.FairstatsWarning, match="7 of 4000 rows left out"):
        result = fs.madd(score, sensitive_features=paper_rows.group, missing="drop", rng=1)
    assert "7 of 4000 rows left out" in str(result)
    kept = fs.madd(score[7:], sensitive_features=paper_rows.group[7:], rng=1)
    assert result.estimate == kept.estimate


def test_family_of_a_whole_audit() -> None:
    score, group = three_groups()
    result = fs.madd(score, sensitive_features=group, rng=1)
    p = result.to_frame()["pvalue"].to_numpy()
    adjusted = result._with_adjusted(np.minimum(5 * p, 1), "the audit")
    frame = adjusted.to_frame()
    known = frame["pvalue"].notna()
    assert np.allclose(frame.loc[known, "pvalue_adjusted"], np.minimum(5 * p[known], 1))
    assert adjusted.settings.family == "the audit"


def test_no_warning_without_a_reason(paper_rows: Scored) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=1)


def test_the_largest_that_is_judged_unlike_its_own_comparison_says_why() -> None:
    """Four groups of 80: the fourth differs by .6 from the first, beyond .2 alone, not among six
    pairs.
    """
    draws = np.random.default_rng(3)
    n = 80
    score = np.concatenate([*(draws.beta(2, 2, n) for _ in range(3)), draws.beta(1.33, 3, n)])
    group = np.repeat(list("abcd"), n)
    result = fs.madd(
        score, sensitive_features=group, n_bins=3, adjust="none", rng=1, n_resamples=100
    )
    largest = result.largest
    assert largest is not None
    own = result[largest.group, largest.reference]
    assert (own.verdict, largest.verdict) == ("violated", "undecided")
    (said,) = (n for n in result.notes() if n.startswith("The largest MADD"))
    assert (
        "(a against d: 0.600) is undecided, that comparison by itself is violated: it is judged"
        " over" in said
    )
    assert not dataclasses.replace(result, largest=None).beside_the_largest()
    alike = dataclasses.replace(largest, verdict="violated")
    assert not dataclasses.replace(result, largest=alike).beside_the_largest()


def test_comparisons_by_themselves_are_said_to_be() -> None:
    score, group = three_groups()
    alone, together = (
        " ".join(fs.madd(score, sensitive_features=group, adjust=a, rng=1, n_resamples=99).notes())
        for a in ("none", "holm")
    )
    assert "p-values not adjusted; each verdict is of its comparison by itself." in alone
    assert "p-values adjusted by holm over" in together
    assert "verdicts hold together over the comparisons (holm)" in together


def three() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    laws = ((2, 3, 60), (3, 2, 50), (2, 2, 40))
    return np.concatenate([rng.beta(*law) for law in laws]), np.repeat(
        ["a", "b", "c"], [60, 50, 40]
    )


BINS = (
    "Bins are quantiles of the scores of both groups together, chosen without their labels; equal"
    " scores stay together. The distance in them depends on the shares that the groups have of all"
    " rows, and not on the scale of the scores."
)
ON_GRID = (
    "{0} intervals by the directional delta method, for the distance in the bins named; verdicts by"
    " one-sided limits at that level against {1}. null_mean: what alike groups would show."
)
HEADLINE = "headline, which nothing else in the row is about: "
STRETCH = HEADLINE + "the mean of MADD over the stable stretch of h = 1 … 1/1000 (Algorithm 1)."
TOGETHER = (
    "p-values adjusted by {0} over metric; verdicts hold together over the comparisons ({0})."
)
DRAWN = "p-values: exact permutation, 99 resamples, seed 5."
#: Of three comparisons at 95%: p of one of them has to be as small as 1/120.
DRAWN_OF_THREE = "p-values: exact permutation, at least 99 resamples, seed 5."


def printed_bins(score: np.ndarray, group: np.ndarray, pairs: list[str]) -> list[str]:
    """Where the bins end, by NumPy's sorting.

    Half way behind the first score that k/3 of the rows do not exceed.
    """
    said = []
    for first, second in pairs:
        pooled = np.sort(score[np.isin(group, [first, second])])
        last = [int(np.ceil(k * pooled.size / 3)) - 1 for k in (1, 2)]
        ends = ", ".join(f"{(pooled[i] + pooled[i + 1]) / 2:.4g}" for i in last)
        said.append(f"Bins of {first} against {second} end at {ends} and 1.")
    return said


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (
            {},
            [
                BINS,
                ON_GRID.format("95%", 0.2),
                STRETCH,
                "bins",
                DRAWN_OF_THREE,
                "All pairs of groups are compared; " + TOGETHER.format("holm"),
            ],
        ),
        (
            {"grid_bins": 3, "n_bins": 6, "comparisons": "reference", "reference": "b"},
            [
                BINS,
                ON_GRID.format("95%", 0.2),
                HEADLINE + "MADD in the 6 equal bins asked for.",
                "bins",
                DRAWN,
                "Each group is compared with b; " + TOGETHER.format("holm"),
            ],
        ),
        (
            {"n_bins": 6, "comparisons": "rest", "adjust": "bonferroni"},
            [
                ON_GRID.format("95%", 0.2),
                DRAWN_OF_THREE,
                "Each group is compared with all others; " + TOGETHER.format("bonferroni"),
            ],
        ),
        (
            {"n_bins": 6, "adjust": "none", "confidence_level": 0.9, "margin": 0.3},
            [
                ON_GRID.format("90%", 0.3),
                DRAWN,
                (
                    "All pairs of groups are compared; p-values not adjusted; each verdict is of"
                    " its comparison by itself."
                ),
                (
                    "The largest MADD (a against b: 0.840) is undecided, that comparison by itself"
                    " is violated: it is judged over all comparisons at once, any of which may be"
                    " the largest in truth, and needs more evidence."
                ),
            ],
        ),
    ],
    ids=str,
)
def test_notes_and_sentences_by_hand(options: dict[str, Any], wanted: list[str]) -> None:
    """Notes written down; sentences from the numbers of the tidy table, formatted here."""
    score, group = three()
    result = fs.madd(score, sensitive_features=group, n_resamples=99, rng=5, **options)
    pairs = ["ab", "cb"] if options.get("reference") else ["ab", "ac", "bc"]
    at = wanted.index("bins") if "bins" in wanted else None
    if at is not None:
        wanted = [*wanted[:at], *printed_bins(score, group, pairs), *wanted[at + 1 :]]
    assert result.notes() == wanted
    level = f"{100 * result.settings.confidence_level:g}%"
    margin = result.settings.margin
    rows = result.to_frame().to_dict("records")
    assert len(rows) == len(result.sentences())
    for row, said in zip(rows, result.sentences(), strict=True):
        ends = f"{row['ci_low']:.3f} to {row['ci_high']:.3f}"
        if row["metric"] == "madd_max":
            start = (
                f"Largest MADD {row['estimate']:.3f} ({level} interval {ends}), between"
                f" {row['group']} and "
            )
            assert said.startswith(f"{start}{row['reference']}: {row['verdict']}; ")
            continue
        bins = "equal bins" if result.settings.equal_width else "bins of the pooled scores"
        start = (
            f"{row['group']} against {row['reference']}: MADD {row['estimate']:.3f} in"
            f" {row['n_bins']:.0f} {bins} "
        )
        start += (
            f"({level} interval {ends}; alike groups would show {row['null_mean']:.3f}):"
            f" {row['verdict']}; the data "
        )
        what = (
            "show a distance above"
            if row["verdict"] == "violated"
            else "do not settle on which side of"
        )
        assert said.startswith(f"{start}{what} {margin:g}")
        if result.settings.equal_width:
            assert "Headline" not in said
            continue
        where = "in 6 equal bins"
        if result.settings.n_bins is None:
            where = f"for bandwidths from {row['h_low']:.3f} to {row['h_high']:.3f}"
        alike = f"alike groups would show {row['headline_null_mean']:.3f}"
        assert said.endswith(
            f" Headline MADD, not judged: {row['headline']:.3f} {where} ({alike})."
        )


@pytest.mark.parametrize("rounded", [False, True])
def test_contributions_are_shares_of_either_side(rounded: bool) -> None:
    """Witness: NumPy's histogram, or counts of each score, of a group and of all others."""
    score, group = three()
    score = np.where(score < 0.5, 0.2, 0.7) if rounded else score
    result = fs.madd(score, sensitive_features=group, n_resamples=99, rng=5, comparisons="rest")
    frame = result.contributions()
    for name in "abc":
        own = frame[frame["group"] == name]
        assert set(own["reference"]) == {"all others"}
        if rounded:
            values = np.unique(score)
            assert own["low"].tolist() == own["high"].tolist() == values.tolist()
            shares = [
                [(score[m] == v).mean() for v in values] for m in (group == name, group != name)
            ]
        else:
            edges = [*own["low"], 1.0]
            assert edges[0] == 0.0
            np.testing.assert_array_equal(own["high"], edges[1:])
            inner = np.quantile(score, np.arange(1, len(own)) / len(own))
            np.testing.assert_allclose(edges[1:-1], inner, atol=0.02)
            sides = (group == name, group != name)
            shares = [np.histogram(score[m], edges)[0] / m.sum() for m in sides]
        assert own["bin"].tolist() == list(range(1, len(own) + 1))
        np.testing.assert_allclose(own[["share", "share_reference"]].T, shares, atol=1e-12)
        np.testing.assert_allclose(own["contribution"], np.subtract(*shares), atol=1e-12)
        assert own["contribution"].abs().sum() == pytest.approx(result[name].estimate)
