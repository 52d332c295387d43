"""Subgroups against the rest, with the search counted.

Witnesses: counts by pandas' groupby, one-sided p-values of SciPy's `fisher_exact`, adjusted ones and
Clopper–Pearson limits of statsmodels, the law of the largest |z| by its covariance, R by the twin."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

import fairstats as fs
from fairstats.ground.multiplicity import MaxZ
from fairstats.numerics.rates.subgroups import (
    largest_scores,
    lattice,
    marginal_sums,
    search_pvalues,
    shrunken_rates,
)
from fairstats.plots.subgroups import names_in_families, order_in_families
from fairstats.results import SubgroupResult

ATTRIBUTES = ["sex", "age", "region"]


def draw_people(n: int = 3_000, seed: int = 1, gap: float = 0.15) -> pd.DataFrame:
    """Rows in which women of 60 or more are selected more rarely."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice(["18–39", "40–59", "60+"], n),
            "region": rng.choice(["a", "b", "c", "d"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    hidden = (people["sex"] == "f") & (people["age"] == "60+")
    people["hired"] = (rng.random(n) < np.where(hidden, 0.4 - gap, 0.4)).astype(int)
    people["qualified"] = rng.integers(0, 2, n)
    return people


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return draw_people()


@pytest.fixture(scope="module")
def found(people: pd.DataFrame) -> SubgroupResult:
    return fs.subgroups(people, attributes=ATTRIBUTES, y_pred="hired", rng=1)


def test_counts_are_those_of_groupby(people: pd.DataFrame, found: SubgroupResult) -> None:
    by_name = {comparison.group: comparison for comparison in found.comparisons}
    n_found = 0
    for depth in (1, 2, 3):
        for attributes in itertools.combinations(ATTRIBUTES, depth):
            for values, rows in people.groupby(list(attributes)):
                name = " & ".join(
                    f"{attribute} = {value}"
                    for attribute, value in zip(attributes, values, strict=True)
                )
                if len(rows) < 30:  # 1% of the rows
                    assert name not in by_name
                    continue
                n_found += 1
                comparison = by_name[name]
                assert comparison.n == len(rows)
                assert comparison.rate == pytest.approx(rows["hired"].mean(), rel=1e-12)
                rest = people["hired"].drop(rows.index)
                assert comparison.rate_reference == pytest.approx(rest.mean(), rel=1e-12)
                assert comparison.share == pytest.approx(len(rows) / len(people))
    assert n_found == len(found.comparisons)


def test_pvalues_are_twice_the_smaller_tail_of_fishers_test(found: SubgroupResult) -> None:
    for comparison in found.comparisons[::7]:
        successes = round(comparison.rate * comparison.n)
        rest = round(comparison.rate_reference * comparison.n_reference)
        table = [[successes, comparison.n - successes], [rest, comparison.n_reference - rest]]
        tails = [fisher_exact(table, alternative=side)[1] for side in ("less", "greater")]
        assert comparison.pvalue == pytest.approx(min(2 * min(tails), 1.0), rel=1e-8)


@pytest.mark.parametrize("adjust", ["fdr_by", "fdr_bh"])
def test_flags_are_those_of_statsmodels(people: pd.DataFrame, adjust: str) -> None:
    result = fs.subgroups(people, attributes=ATTRIBUTES, y_pred="hired", adjust=adjust, rng=1)
    pvalues = [comparison.pvalue for comparison in result.comparisons]
    reject, adjusted, _, _ = multipletests(pvalues, alpha=0.05, method=adjust)
    np.testing.assert_allclose(result.to_frame()["pvalue_adjusted"], adjusted, rtol=1e-10)
    assert [comparison.flagged for comparison in result.comparisons] == reject.tolist()
    assert pvalues == sorted(pvalues)


def test_limits_are_recovered_from_those_of_both_rates(found: SubgroupResult) -> None:
    from scipy.stats import norm

    tail = 2 * norm.sf(found.critical)
    for comparison in found.comparisons[::9]:
        k = round(comparison.rate * comparison.n)
        k_rest = round(comparison.rate_reference * comparison.n_reference)
        low, high = proportion_confint(k, comparison.n, alpha=tail, method="beta")
        low_rest, high_rest = proportion_confint(
            k_rest, comparison.n_reference, alpha=tail, method="beta"
        )
        below = np.hypot(comparison.rate - low, high_rest - comparison.rate_reference)
        above = np.hypot(high - comparison.rate, comparison.rate_reference - low_rest)
        expected = (comparison.estimate - below, comparison.estimate + above)
        assert tuple(comparison.confidence_interval) == pytest.approx(expected, abs=1e-9)


def test_the_law_of_the_largest_is_that_of_the_covariance() -> None:
    """`MaxZ` of the covariance of all contrasts, written out; both by 20,000 draws and more."""
    codes = np.array(list(itertools.product(range(2), range(3))))
    cases = np.array([30.0, 10.0, 20.0, 15.0, 40.0, 25.0])
    nodes = lattice(codes, 2)
    inside = marginal_sums(nodes, np.eye(6), 2).T
    own = inside.T @ cases
    weights = inside / own - (1 - inside) / (cases.sum() - own)
    law = MaxZ(weights.T @ (weights * cases[:, None]))
    kept = np.ones(own.size, dtype=bool)
    draws = largest_scores(nodes, cases, kept, 2, 20_000, np.random.default_rng(1))
    assert np.quantile(draws, 0.95) == pytest.approx(law.quantile(0.95), abs=0.03)


def test_every_crossing_is_made_once() -> None:
    codes = np.array(list(itertools.product(range(2), range(3), range(2), range(2))))
    for depth in (1, 2, 3, 4):
        nodes = lattice(codes, depth)
        made = sorted(node.attributes for node in nodes if len(node.attributes) <= depth)
        expected = sorted(
            subset
            for size in range(1, depth + 1)
            for subset in itertools.combinations(range(4), size)
        )
        assert made == expected


def test_the_pvalue_of_the_search_counts_the_observed_one() -> None:
    largest = np.array([1.0, 2.0, 3.0, 4.0])
    scores = np.array([0.5, 2.0, 5.0])
    np.testing.assert_allclose(search_pvalues(scores, largest), [1.0, 4 / 5, 1 / 5])


def test_shrunken_rates_by_hand() -> None:
    """Two groups of 100 with .2 and .4: m = .3, V = (2 − .21)/100 = .0179, κ = .21/V − 1."""
    strength = 0.21 / 0.0179 - 1
    expected = [(20 + 0.3 * strength) / (100 + strength), (40 + 0.3 * strength) / (100 + strength)]
    found = shrunken_rates(np.array([20.0, 40.0]), np.array([100.0, 100.0]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    alike = shrunken_rates(np.array([30.0, 30.0]), np.array([100.0, 100.0]))
    np.testing.assert_allclose(alike, 0.3)


def test_the_hidden_subgroup_is_found(found: SubgroupResult) -> None:
    worst = found.worst
    assert worst.group == "sex = f & age = 60+"
    assert worst.flagged
    assert worst.pvalue_search < 1e-4
    low, high = worst.confidence_interval
    # the rest is .4, too, but for the hidden ones among its complement: none
    assert low < -0.15 < high
    assert found.certificate() == min(c.confidence_interval.low for c in found.comparisons)
    sentences = found.sentences()
    assert "sex = f & age = 60+" in sentences[1]
    assert f"more than {-found.certificate():.3f} below" in sentences[2]


def test_where_a_lower_rate_is_favourable_the_highest_is_the_worst(people: pd.DataFrame) -> None:
    result = fs.subgroups(
        people,
        attributes=["sex", "age"],
        y_true="qualified",
        y_pred="hired",
        metric="fnr_difference",
        rng=1,
    )
    assert result.worst.estimate > 0
    assert result.certificate() == max(c.confidence_interval.high for c in result.comparisons)
    rows = people[people["qualified"] == 1]
    worst = dict(zip(result.worst.attributes, result.worst.values, strict=True))
    chosen = rows[(rows[list(worst)] == pd.Series(worst)).all(axis=1)]
    assert result.worst.rate == pytest.approx(1 - chosen["hired"].mean(), rel=1e-12)


def test_a_tally_gives_the_same(people: pd.DataFrame, found: SubgroupResult) -> None:
    counted = fs.tally(people, y_pred="hired", sensitive_features=ATTRIBUTES)
    again = fs.subgroups(fs.Tally.from_json(counted.to_json()), rng=1)
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())
    smaller = fs.subgroups(counted, attributes=["sex"], rng=1)
    assert [c.group for c in smaller.comparisons] == ["sex = f", "sex = m"]


def test_numbers_are_cut() -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"age": np.arange(100.0), "income": rng.random(100)})
    rows["hired"] = rng.integers(0, 2, 100)
    result = fs.subgroups(
        rows,
        attributes=["age", "income"],
        y_pred="hired",
        cuts={"age": [25, 60], "income": 2},
        depth=1,
        rng=1,
    )
    sizes = {comparison.group: comparison.n for comparison in result.comparisons}
    median = f"{np.quantile(rows['income'], 0.5):g}"
    assert sizes == {
        "age = below 25": 25,
        "age = 25 to below 60": 35,
        "age = 60 or more": 40,
        f"income = below {median}": 50,
        f"income = {median} or more": 50,
    }
    notes = " ".join(result.notes())
    assert "age is cut at 25, 60." in notes
    assert f"income is cut at {median} (2 groups of equal size)." in notes


def test_seed_and_json(found: SubgroupResult, people: pd.DataFrame) -> None:
    again = fs.subgroups(people, attributes=ATTRIBUTES, y_pred="hired", rng=1)
    assert again.critical == found.critical
    other = fs.subgroups(people, attributes=ATTRIBUTES, y_pred="hired", rng=2)
    assert other.critical != found.critical
    read = SubgroupResult.from_dict(json.loads(json.dumps(found.to_dict())))
    pd.testing.assert_frame_equal(read.to_frame(), found.to_frame())


def test_a_printed_result_is_short(found: SubgroupResult) -> None:
    lines = str(found).splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 100
    assert "to_frame() has all" in str(found)


def test_children_stand_below_their_parents(found: SubgroupResult) -> None:
    ordered = order_in_families(found.comparisons[:20])
    assert len(ordered) == 20
    for position, (depth, comparison) in enumerate(ordered):
        if depth == 0:
            continue
        parents = [one for level, one in ordered[:position] if level == depth - 1]
        own = dict(zip(comparison.attributes, comparison.values, strict=True))
        parent = dict(zip(parents[-1].attributes, parents[-1].values, strict=True))
        assert parent.items() < own.items()


def test_a_child_is_named_by_what_it_adds_to_its_parents(found: SubgroupResult) -> None:
    """The names from the top of a family down make the whole name."""
    ordered = order_in_families(found.comparisons[:20])
    assert max(depth for depth, _ in ordered) >= 1
    family: list[str] = []
    for (depth, comparison), name in zip(ordered, names_in_families(ordered), strict=True):
        assert name.startswith("    " * depth + ("& " if depth else ""))
        family[depth:] = [name.strip().removeprefix("& ")]
        parts = " & ".join(family).split(" & ")
        assert sorted(parts) == sorted(comparison.group.split(" & "))


def test_plot_draws_the_limits(found: SubgroupResult) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    ax = found.plot()
    assert len(ax.get_yticklabels()) == 20
    assert "simultaneous 95% limits" in ax.get_xlabel()


# ---------------------------------------------------------------- leaves of a tree


@pytest.fixture(scope="module")
def grown() -> tuple[pd.DataFrame, SubgroupResult]:
    people = draw_people(4_000).assign(age=np.random.default_rng(7).integers(18, 80, 4_000))
    hidden = (people["sex"] == "f") & (people["age"] >= 60)
    chance = np.where(hidden, 0.2, 0.4)
    people["hired"] = (np.random.default_rng(8).random(4_000) < chance).astype(int)
    result = fs.subgroups(people, attributes=ATTRIBUTES, y_pred="hired", search="tree", rng=1)
    return people, result


def test_leaves_are_judged_by_the_rows_that_did_not_fit_them(
    grown: tuple[pd.DataFrame, SubgroupResult],
) -> None:
    """Every row lies in one leaf, and the leaves have half of the rows."""
    people, result = grown
    assert result.n_fitting == result.n_rows == 2_000
    assert sum(comparison.n for comparison in result.comparisons) == 2_000
    held = np.zeros(len(people), dtype=int)
    for comparison in result.comparisons:
        inside = np.ones(len(people), dtype=bool)
        for attribute, value in zip(comparison.attributes, comparison.values, strict=True):
            inside &= holds(people[attribute], value)
        held += inside
        # a half of the rows of the leaf, within five standard errors
        assert abs(comparison.n - inside.sum() / 2) < 5 * np.sqrt(inside.sum()) / 2
    assert (held == 1).all()
    assert "honest splitting" in " ".join(result.notes())


def holds(column: pd.Series, words: str) -> np.ndarray:
    """Whether values lie in what the words of a leaf say."""
    if words.startswith("below "):
        return (column < float(words.removeprefix("below "))).to_numpy()
    if words.endswith(" or more"):
        return (column >= float(words.removesuffix(" or more"))).to_numpy()
    if " to below " in words:
        low, high = words.split(" to below ")
        return ((column >= float(low)) & (column < float(high))).to_numpy()
    if words.startswith("other than "):
        return ~column.isin(words.removeprefix("other than ").split(" or ")).to_numpy()
    return column.isin(words.split(" or ")).to_numpy()


def test_the_tree_finds_the_hidden_group_and_its_age(
    grown: tuple[pd.DataFrame, SubgroupResult],
) -> None:
    worst = grown[1].worst
    assert worst.flagged
    fixed = dict(zip(worst.attributes, worst.values, strict=True))
    assert fixed["sex"] == "f"
    assert 54 <= float(fixed["age"].removesuffix(" or more")) <= 70


def test_evidence_of_leaves_is_fishers_and_limits_are_simultaneous(
    grown: tuple[pd.DataFrame, SubgroupResult],
) -> None:
    result = grown[1]
    total = sum(round(c.rate * c.n) for c in result.comparisons)
    for comparison in result.comparisons:
        successes = round(comparison.rate * comparison.n)
        rest = total - successes
        table = [
            [successes, comparison.n - successes],
            [rest, 2_000 - comparison.n - rest],
        ]
        tails = [fisher_exact(table, alternative=side)[1] for side in ("less", "greater")]
        assert comparison.pvalue == pytest.approx(min(2 * min(tails), 1.0), rel=1e-8)
    assert result.certificate() == min(c.confidence_interval.low for c in result.comparisons)
    assert "no leaf has a selection rate more than" in result.sentences()[2]


def test_a_tally_is_split_as_rows_are(people: pd.DataFrame) -> None:
    counted = fs.tally(people, y_pred="hired", sensitive_features=ATTRIBUTES)
    of_tally = fs.subgroups(counted, search="tree", rng=4)
    of_rows = fs.subgroups(people, attributes=ATTRIBUTES, y_pred="hired", search="tree", rng=4)
    pd.testing.assert_frame_equal(of_tally.to_frame(), of_rows.to_frame())
    other = fs.subgroups(people, attributes=ATTRIBUTES, y_pred="hired", search="tree", rng=5)
    assert other.to_frame()["n"].tolist() != of_rows.to_frame()["n"].tolist()


def test_missing_numbers_lie_in_a_leaf_that_says_so() -> None:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"age": rng.integers(20, 60, 2_000).astype(float)})
    rows["hired"] = (rng.random(2_000) < np.where(rows["age"] < 40, 0.2, 0.6)).astype(int)
    rows.loc[::4, "age"] = np.nan
    rows.loc[::4, "hired"] = rng.integers(0, 2, 500)
    result = fs.subgroups(
        rows, attributes=["age"], y_pred="hired", search="tree", missing="group", rng=1
    )
    values = [comparison.values[0] for comparison in result.comparisons]
    with_missing = [value for value in values if "missing" in value]
    assert len(with_missing) == 1
    assert sum(comparison.n for comparison in result.comparisons) == 1_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search": "forest"}, "`search`"),
        ({"shrinkage": "lasso"}, "`shrinkage`"),
        ({"search": "tree", "min_rows": 40}, "`min_rows`: got 40 for leaves of a half"),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.InputError) as raised:
        fs.subgroups(draw_people(100), attributes=["sex"], y_pred="hired", rng=1, **arguments)
    assert message in str(raised.value)


def test_a_tree_that_splits_nothing_is_no_result() -> None:
    rows = draw_people(200).assign(hired=1)
    rows.loc[0, "hired"] = 0
    rows["sex"] = np.where(np.arange(200) < 100, "f", "m")
    with pytest.raises(fs.InputError, match="no tree splits"):
        fs.subgroups(
            rows.assign(hired=[1, 0] * 100),
            attributes=["sex"],
            y_pred="hired",
            search="tree",
            rng=0,
            depth=1,
            min_rows=50,
        )


# ---------------------------------------------------------------- shrinkage by the model of um


def test_rates_shrunken_by_um_hierarchical_are_means_of_its_draws(people: pd.DataFrame) -> None:
    """The partition by region: the true positive rate of `um_hierarchical` with the same counts."""
    result = fs.subgroups(
        people, attributes=["region"], y_pred="hired", shrinkage="um_hierarchical", rng=1
    )
    groups = people.groupby("region")["hired"].agg(["sum", "size"])
    cells = {}
    for group, row in groups.iterrows():
        hired = int(row["sum"])
        cells[group] = {"tp": hired, "fn": int(row["size"]) - hired, "fp": 1, "tn": 1}
    posterior = fs.um_hierarchical(cells, draws=40_000, rng=1)
    for comparison in result.comparisons:
        draws = posterior.metric("tpr", group=comparison.values[0])
        error = draws.std() / np.sqrt(40_000)
        assert comparison.shrunken_rate == pytest.approx(draws.mean(), abs=5 * error)
    assert "unknown mean and concentration" in " ".join(result.notes())


ROWS = draw_people(60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attributes": "sex"}, "`attributes`"),
        ({"attributes": []}, "`attributes`"),
        ({"depth": 0}, "`depth`"),
        ({"min_rows": 61}, "`min_rows`: got 61, which no subgroup has"),
        ({"min_rows": 0}, "`min_rows`"),
        ({"metric": "disparate_impact"}, "`metric`"),
        ({"metric": "f1_difference"}, "`metric`"),
        ({"adjust": "holm"}, "`adjust`"),
        ({"false_discovery_rate": 0}, "`false_discovery_rate`"),
        ({"cuts": {"sex": [1]}}, "which are no numbers"),
        ({"cuts": {"other": [1]}}, "`cuts`: got 'other'"),
        ({"cuts": {"number": [2, 1]}}, "increasing numbers"),
        ({"attributes": ["number"]}, "with 60 values"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments: dict[str, Any], message: str) -> None:
    rows = ROWS.assign(number=np.arange(60))
    asked = {"attributes": ["sex", "age", "number"], "y_pred": "hired", "rng": 1} | arguments
    if "cuts" not in arguments and "attributes" not in arguments:
        asked["cuts"] = {"number": 2}
    with pytest.raises(fs.InputError) as raised:
        fs.subgroups(rows, **asked)
    assert message in str(raised.value)


def test_weights_are_refused() -> None:
    counted = fs.tally(
        ROWS.assign(w=np.arange(60) + 1.0),
        y_pred="hired",
        sensitive_features=["sex", "age"],
        sample_weight="w",
    )
    with pytest.raises(fs.InputError, match="weighted or clustered"):
        fs.subgroups(counted)


def test_a_small_part_of_the_calibration_study() -> None:
    """100 tables: flags in at most 12 (.05 and three standard errors), all limits in at least 88."""
    from tests.calibration.subgroups import simulate

    counts = simulate(
        np.random.default_rng(5), 100, per_cell=10, rate=0.1, effect=0.0, adjust="fdr_bh"
    )
    assert counts["false verdict"][0] <= 12
    assert counts["size"][0] <= 12
    assert counts["coverage"][0] >= 88


@pytest.mark.r
@pytest.mark.parametrize("adjust", ["fdr_by", "fdr_bh"])
def test_r_computes_the_same(people: pd.DataFrame, adjust: str) -> None:
    result = fs.subgroups(people, attributes=ATTRIBUTES, y_pred="hired", adjust=adjust, rng=1)
    table = fs.crosscheck(result).to_frame()
    compared = table[table["verdict"] != "not recomputed"]
    assert compared["verdict"].isin(["agrees", "within Monte Carlo error"]).all()
    assert len(compared) == 10 * len(result.comparisons) + 1


@pytest.mark.r
def test_r_computes_the_same_of_leaves_and_of_rates_shrunken_by_um_hierarchical(
    people: pd.DataFrame,
) -> None:
    result = fs.subgroups(
        people,
        attributes=ATTRIBUTES,
        y_pred="hired",
        search="tree",
        shrinkage="um_hierarchical",
        rng=1,
    )
    table = fs.crosscheck(result).to_frame()
    compared = table[table["verdict"] != "not recomputed"]
    assert compared["verdict"].isin(["agrees", "within Monte Carlo error"]).all()
    assert len(compared) == 10 * len(result.comparisons) + 1


@pytest.mark.r
@pytest.mark.parametrize(
    "metric", ["demographic_parity_difference", "equal_opportunity_difference", "fpr_difference"]
)
def test_rs_own_search_finds_the_same(people: pd.DataFrame, metric: str) -> None:
    """From the rows: evidence and flags to rounding; the critical value by draws of its own."""
    from fairstats.ground.rsession import call

    result = fs.subgroups(
        people,
        attributes=ATTRIBUTES,
        y_true="qualified",
        y_pred="hired",
        metric=metric,
        n_resamples=9_999,
        rng=1,
    )
    columns = {name: people[name].tolist() for name in people.columns}
    found = call(
        "fs_subgroups",
        columns,
        "qualified",
        "hired",
        ATTRIBUTES,
        metric=metric,
        n_resamples=9_999,
    )
    frame = result.to_frame()
    assert list(found["group"]) == frame["group"].tolist()
    assert [bool(flag) for flag in found["flagged"]] == frame["flagged"].tolist()
    exact = ("estimate", "std_error", "statistic", "pvalue", "pvalue_adjusted", "n", "share")
    for column in (*exact, "shrunken_rate"):
        there = np.asarray(found[column], dtype=float)
        np.testing.assert_allclose(there, frame[column], rtol=1e-8, atol=1e-12, err_msg=column)
    for column in ("ci_low", "ci_high"):
        there = np.asarray(found[column], dtype=float)
        np.testing.assert_allclose(there, frame[column], atol=0.01, err_msg=column)
    there = np.asarray(found["pvalue_search"], dtype=float)
    np.testing.assert_allclose(there, frame["pvalue_search"], atol=0.025)


def _flags(selected: dict[str, int]) -> list[str]:
    """Sentences about three sites of 400 rows each, of which so many are selected."""
    site = np.repeat(list(selected), 400)
    chosen = np.concatenate([np.arange(400) < number for number in selected.values()])
    frame = pd.DataFrame({"site": site, "chosen": chosen.astype(int)})
    found = fs.subgroups(frame, attributes=["site"], y_pred="chosen", n_resamples=199, rng=1)
    return found.sentences()


def test_a_flag_says_to_whose_advantage_it_is() -> None:
    """A flagged subgroup that fares better is no finding against anybody: 300 of 400 selected, and
    200 of each of the two others.
    """
    first, second, _ = _flags({"a": 300, "b": 200, "c": 199})
    assert "3 of 3 subgroups are flagged" in first
    assert first.endswith(
        ": 2 to their disadvantage, 1 to its advantage (most evidence: site = a)."
    )
    assert "site = c" in second
    assert "not flagged" not in second


def test_the_worst_is_said_not_to_be_flagged() -> None:
    """One site above, and two that are a little below the pooled rate of all three."""
    first, second, _ = _flags({"a": 200, "b": 200, "c": 199})
    assert first.startswith("None of 3 subgroups is flagged")
    assert second.endswith("over all 3 subgroups that were searched, not flagged.")
