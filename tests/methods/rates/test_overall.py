"""Each group against everybody, its own rows among them.

Witnesses: the comparison with all others, of which each number is a function; the variance by the
multinomial law of the cells; coverage over all tables of small groups; R's twin.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import fairstats as fs
from fairstats.methods.rates.limits import Fieller, OddsOfAll, Score
from fairstats.numerics.rates.odds_of_all import likely_rates

COUNTS = {"north": (40, 12, 10, 38), "south": (30, 10, 20, 40), "west": (18, 9, 3, 12)}
LARGE = {"a": (400, 120, 100, 380), "b": (300, 100, 200, 400), "c": (180, 90, 130, 120)}


@pytest.mark.parametrize("counts", [COUNTS, LARGE])
def test_differences_are_shares_of_those_with_all_others(counts: Any) -> None:
    sizes = {name: sum(cells) for name, cells in counts.items()}
    whole = sum(sizes.values())
    overall = fs.demographic_parity_difference(counts=counts, comparisons="overall")
    for row in overall.comparisons:
        of_others = 1 - sizes[row.group] / whole
        margin = 0.1 / of_others
        rest = fs.demographic_parity_difference(counts=counts, comparisons="rest", margin=margin)
        expected = next(each for each in rest.comparisons if each.group == row.group)
        assert row.reference == "all"
        assert row.n_reference == whole
        assert row.estimate == pytest.approx(of_others * expected.estimate)
        assert tuple(row.confidence_interval) == pytest.approx(
            tuple(of_others * end for end in expected.confidence_interval), abs=2e-5
        )
        assert row.pvalue == pytest.approx(expected.pvalue)
        assert row.pvalue_verdict == pytest.approx(expected.pvalue_verdict, rel=1e-3)
        assert row.estimate == pytest.approx(row.rate - row.rate_reference)


def test_ratios_are_functions_of_those_with_all_others() -> None:
    result = fs.conditional_accuracy(counts=LARGE, comparisons="overall", threshold=0.9)
    for row in result.comparisons:
        cases = {name: cells[0] + cells[2] for name, cells in LARGE.items()}
        f = cases[row.group] / sum(cases.values())
        rest = fs.conditional_accuracy(counts=LARGE, comparisons="rest")
        expected = next(each for each in rest.comparisons if each.group == row.group)
        ends = [rho / (f * rho + 1 - f) for rho in expected.confidence_interval]
        assert row.estimate == pytest.approx(
            expected.estimate / (f * expected.estimate + 1 - f), rel=1e-12
        )
        assert tuple(row.confidence_interval) == pytest.approx(tuple(ends), rel=1e-9)
        assert row.pvalue == pytest.approx(expected.pvalue, rel=1e-9)


def test_the_standard_error_knows_the_shares_of_the_others() -> None:
    result = fs.equal_opportunity_difference(counts=LARGE, comparisons="overall")
    cases = np.array([cells[0] + cells[2] for cells in LARGE.values()], dtype=float)
    rates = np.array([cells[0] for cells in LARGE.values()]) / cases
    shares = cases / cases.sum()
    variances = rates * (1 - rates) / cases
    for place, name in enumerate(LARGE):
        slopes = -shares
        slopes[place] += 1
        assert result[name].std_error == pytest.approx(math.sqrt(slopes**2 @ variances))


def test_a_mean_of_rates_takes_the_shares_of_each() -> None:
    result = fs.average_odds_difference(counts=LARGE, comparisons="overall")
    tpr = fs.equal_opportunity_difference(counts=LARGE, comparisons="overall")
    fpr = fs.group_metric(metric="fpr", counts=LARGE, comparisons="overall")
    for row in result.comparisons:
        parts = (tpr[row.group], fpr[row.group])
        assert row.estimate == pytest.approx(sum(part.estimate for part in parts) / 2)
        assert row.std_error == pytest.approx(
            math.hypot(*(part.std_error for part in parts)) / 2, rel=1e-9
        )
        assert row.confidence_interval.width < sum(part.confidence_interval.width for part in parts)


def test_a_group_that_is_nearly_everybody_is_satisfied() -> None:
    counts = {"most": (950, 1050), "few": (6, 4)}
    for function in (fs.disparate_impact, fs.demographic_parity_difference):
        row = function(counts=counts, comparisons="overall")["most"]
        assert row.verdict == "satisfied"
        assert all(math.isfinite(end) for end in row.bounds)


def test_the_verdict_of_small_groups_errs_as_often_as_it_says() -> None:
    """Two groups of 4 and 8 rows, all 45 tables: the limits of differences against everybody
    miss the truth in at most 5% of samples on each side, for every pair of rates tried.
    """
    tables = list(itertools.product(range(5), range(9)))
    bounds = []
    for k, k_other in tables:
        counts = {"g": (k, 4 - k), "h": (k_other, 8 - k_other)}
        row = fs.demographic_parity_difference(
            counts=counts, comparisons="overall", adjust="none", margin=1e-9 + 0.1
        )["g"]
        bounds.append(tuple(row.bounds))
    low, high = np.array(bounds).T
    for rate, rate_other in ((0.1, 0.1), (0.5, 0.5), (0.9, 0.6), (0.3, 0.8)):
        truth = (1 - 4 / 12) * (rate - rate_other)
        weight = np.array([binom.pmf(k, 4, rate) * binom.pmf(m, 8, rate_other) for k, m in tables])
        assert weight[low > truth + 1e-4].sum() <= 0.05
        assert weight[high < truth - 1e-4].sum() <= 0.05


@pytest.mark.parametrize("comparisons", ["rest", "overall"])
def test_weights_between_groups_count_where_groups_are_pooled(comparisons: Any) -> None:
    rng = np.random.default_rng(2)
    hired, group = rng.integers(0, 2, 400), rng.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2])
    weight = np.where(group == "a", 3.0, 1.0)
    result = fs.demographic_parity_difference(
        y_pred=hired,
        sensitive_features=group,
        sample_weight=weight,
        comparisons=comparisons,
        adjust="none",
    )
    others = group != "c" if comparisons == "rest" else group != "none"
    assert result["c"].rate_reference == pytest.approx(
        np.average(hired[others], weights=weight[others])
    )
    assert result["c"].rate == pytest.approx(hired[group == "c"].mean())
    # rows of one weight and the rest of one weight: each is a plain sample
    plain = fs.demographic_parity_difference(
        y_pred=hired, sensitive_features=group == "a", groups=[True, False], reference=False
    )
    if comparisons == "rest":
        assert tuple(result["a"].confidence_interval) == pytest.approx(
            tuple(plain.confidence_interval)
        )
    equal = fs.demographic_parity_difference(
        y_pred=hired,
        sensitive_features=group,
        sample_weight=np.full(400, 2.0),
        comparisons=comparisons,
    )
    expected = fs.demographic_parity_difference(
        y_pred=hired, sensitive_features=group, comparisons=comparisons
    )
    assert equal.to_frame().equals(expected.to_frame())


def test_clusters_that_groups_share_count_in_the_standard_error() -> None:
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(60), 8)
    hired = (rng.random(60)[cluster] + rng.normal(0, 0.4, 480) > 0.5).astype(int)
    group = rng.choice(["a", "b", "c"], 480)
    result = fs.demographic_parity_difference(
        y_pred=hired,
        sensitive_features=group,
        cluster=cluster,
        comparisons="overall",
        groups=list("abc"),
    )
    shares = np.array([(group == name).mean() for name in "abc"])
    rates = np.array([hired[group == name].mean() for name in "abc"])
    indicators = group[:, None] == np.array(list("abc"))
    residuals = indicators * (hired[:, None] - rates) / indicators.sum(axis=0)
    slopes = np.array([1.0, 0.0, 0.0]) - shares
    by_cluster = np.bincount(cluster, weights=residuals @ slopes)
    assert result["a"].std_error == pytest.approx(math.sqrt(60 / 59 * (by_cluster**2).sum()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: fs.group_metric(
                metric="f1", contrast="odds_ratio", counts=COUNTS, comparisons="overall"
            ),
            "contrast",
        ),
        (
            lambda: fs.disparate_impact(counts=COUNTS, comparisons="overall", method="log"),
            "method",
        ),
        (
            lambda: fs.disparate_impact(counts=COUNTS, comparisons="overall", reference="west"),
            "reference",
        ),
        (
            lambda: fs.demographic_parity_difference(
                counts=COUNTS, comparisons="overall", agg="max"
            ),
            "comparisons",
        ),
    ],
)
def test_what_it_does_not_go_with(call: Any, message: str) -> None:
    with pytest.raises(fs.InputError, match=message):
        call()


def test_the_result_says_what_it_is_and_survives_json() -> None:
    result = fs.disparate_impact(counts=COUNTS, comparisons="overall")
    assert "its own among them" in result.notes()[0]
    assert result.sentences()[0].startswith("north against all: ")
    assert fs.results.Result.from_dict(result.to_dict()).to_dict() == result.to_dict()
    with pytest.raises(fs.InputError, match="'overall'"):
        result.worst_case_bounds()


@pytest.mark.r
@pytest.mark.parametrize("comparisons", ["rest", "overall"])
def test_every_number_is_recomputed_in_r(comparisons: Any) -> None:
    rng = np.random.default_rng(4)
    hired, group = rng.integers(0, 2, 400), rng.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2])
    rows = {"sensitive_features": group, "comparisons": comparisons}
    for result in (
        fs.disparate_impact(counts=COUNTS, comparisons=comparisons),
        fs.equal_opportunity_difference(counts=LARGE, comparisons=comparisons),
        fs.average_odds_difference(counts=COUNTS, comparisons=comparisons),
        fs.disparate_impact(hired, sample_weight=rng.random(400) + 0.2, **rows),
        fs.disparate_impact(hired, sample_weight=np.where(group == "a", 2.0, 1.0), **rows),
        fs.demographic_parity_difference(y_pred=hired, cluster=rng.integers(0, 80, 400), **rows),
        fs.group_metric(metric="tpr_odds_ratio", counts=COUNTS, comparisons=comparisons),
        fs.group_metric(metric="f1_ratio", counts=COUNTS, comparisons=comparisons),
        fs.group_metric(metric="balanced_accuracy_ratio", counts=LARGE, comparisons=comparisons),
    ):
        table = fs.crosscheck(result).to_frame()
        assert len(table) > 30
        assert set(table["verdict"]) == {"agrees"}


def test_odds_of_everybody_solve_the_score() -> None:
    """The most likely rates by a grid, the limits where Pearson's χ² of them is z² (Rao 1948), and
    equality as with all others.
    """
    table = (200.0, 300.0, 100.0, 400.0)
    share = 3 / 7
    counts = {"g": (200, 0, 100, 0), "rest": (100, 0, 300, 0)}
    row = fs.group_metric(
        metric="tpr", contrast="odds_ratio", counts=counts, comparisons="overall"
    )["g"]
    assert row.estimate == pytest.approx((200 / 100) / (300 / 400))
    rest = fs.group_metric(metric="tpr", contrast="odds_ratio", counts=counts, comparisons="rest")[
        "g"
    ]
    assert row.pvalue == pytest.approx(rest.pvalue, rel=1e-9)
    p = np.linspace(0, 1, 400_001)[1:-1]
    others_alone = Score(math.inf, table=table, contrast="odds_ratio", correction=True)
    for null in OddsOfAll(math.inf, of_others=others_alone, share=share).limits(1.959964):
        rate = null * p / (1 + p * (null - 1))
        others = (p - share * rate) / (1 - share)
        possible = (others > 0) & (others < 1)
        likelihood = np.full(p.size, -np.inf)
        for (successes, cases), of_rate in (((200, 300), rate), ((100, 400), others)):
            known = of_rate[possible]
            part = successes * np.log(known) + (cases - successes) * np.log1p(-known)
            likelihood[possible] = np.nan_to_num(likelihood[possible], neginf=0.0) + part
        best = int(np.argmax(likelihood))
        found = likely_rates(table, share, null)
        assert found.everybody == pytest.approx(p[best], abs=5e-6)
        chi_squared = 0.0
        for (successes, cases), of_rate in (((200, 300), rate[best]), ((100, 400), others[best])):
            chi_squared += (successes - cases * of_rate) ** 2 / (cases * of_rate * (1 - of_rate))
        assert chi_squared * 699 / 700 == pytest.approx(1.959964**2, rel=1e-4)
        # exact tests decide here, at the odds ratio that these rates have
        assert min(abs(null / end - 1) for end in row.confidence_interval) < 0.02


def test_odds_of_everybody_in_small_groups_err_as_often_as_they_say() -> None:
    """Two groups of 4 and 8 rows, all 45 tables, by exact tests: at most 5% on each side."""
    tables = list(itertools.product(range(5), range(9)))
    bounds = []
    for k, k_other in tables:
        counts = {"g": (k, 0, 4 - k, 0), "h": (k_other, 0, 8 - k_other, 0)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = fs.group_metric(
                metric="tpr",
                contrast="odds_ratio",
                counts=counts,
                comparisons="overall",
                adjust="none",
            )["g"]
        bounds.append(tuple(row.bounds))
    low, high = np.array(bounds).T
    for rate, rate_other in ((0.1, 0.1), (0.5, 0.5), (0.9, 0.6), (0.3, 0.8), (0.7, 0.2)):
        of_all = (rate + 2 * rate_other) / 3
        truth = rate / (1 - rate) * (1 - of_all) / of_all
        weight = np.array([binom.pmf(k, 4, rate) * binom.pmf(m, 8, rate_other) for k, m in tables])
        assert weight[low > truth * 1.0001].sum() <= 0.05
        assert weight[high < truth / 1.0001].sum() <= 0.05


def test_a_function_of_the_cells_beside_everybody() -> None:
    """The value of all cells; error by the multinomial law of the group and of all others, by hand;
    a rate as a function has the estimate of the rate.
    """
    result = fs.group_metric(metric="f1", counts=LARGE, comparisons="overall")
    cells = {name: np.array(numbers, dtype=float) for name, numbers in LARGE.items()}
    everybody = np.sum(list(cells.values()), axis=0)

    def f1(tp: float, fp: float, fn: float, _: float) -> float:
        return 2 * tp / (2 * tp + fp + fn)

    def slopes(tp: float, fp: float, fn: float, _: float) -> np.ndarray:
        below = 2 * tp + fp + fn
        return np.array([2 * (fp + fn), -2 * tp, -2 * tp, 0.0]) / below**2

    for row in result.comparisons:
        own = cells[row.group]
        others = everybody - own
        assert row.rate_reference == pytest.approx(f1(*everybody))
        assert row.estimate == pytest.approx(f1(*own) - f1(*everybody))
        of_own = slopes(*own) - slopes(*everybody)
        variance = own @ of_own**2 - (own @ of_own) ** 2 / own.sum()
        of_others = slopes(*everybody)
        variance += others @ of_others**2 - (others @ of_others) ** 2 / others.sum()
        assert row.std_error == pytest.approx(math.sqrt(variance), rel=1e-6)
    everybodys_own = {tuple(row.value_reference_interval) for row in result.comparisons}
    assert len(everybodys_own) == 1
    as_function = fs.group_metric(
        metric=lambda tp, fp, fn, tn: tp / (tp + fn), counts=LARGE, comparisons="overall"
    )
    as_rate = fs.group_metric(metric="tpr", counts=LARGE, comparisons="overall")
    for one, other in zip(as_function.comparisons, as_rate.comparisons, strict=True):
        assert one.estimate == pytest.approx(other.estimate, rel=1e-12)
        assert one.std_error == pytest.approx(other.std_error, rel=0.05)


def test_ratios_with_a_covariance_are_all_that_is_not_rejected() -> None:
    """Fieller's limits where |a − θb| is z standard errors (Fieller 1954)."""
    method = Fieller(math.inf, values=(0.6, 0.5), variances=(4e-4, 2e-4), covariance=1e-4)
    for end in method.limits(1.96):
        assert abs(method.statistic(end)) == pytest.approx(1.96, rel=1e-9)


def test_limits_where_one_value_is_fair_lie_in_the_interval_of_the_family() -> None:
    """Exact tests against all others, on the scale of everybody: at cut-offs a margin can be 0."""
    rng = np.random.default_rng(4)
    group = np.repeat(["a", "b", "c"], [120, 60, 40])
    y = rng.integers(0, 2, group.size)
    score = rng.beta(2 + y, 2 + (group == "c"))
    result: Any = fs.scores(
        y,
        score,
        sensitive_features=group,
        metric="tpr",
        comparisons="overall",
        cutoffs=[0.3, 0.6],
    )
    for row in result.comparisons:
        assert row.procedure.exact
        assert row.confidence_interval.low <= row.bounds.low <= row.estimate
        assert row.estimate <= row.bounds.high <= row.confidence_interval.high
