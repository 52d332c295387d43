"""Odds ratios within strata.

Witnesses: the estimate of Mantel and Haenszel by hand and by statsmodels; R's `mantelhaen.test`,
asymptotic and exact, recorded and live; sizes by enumeration of small strata; R's twin.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.contingency_tables import StratifiedTable

import fairstats as fs

#: Berkeley's six largest departments, women and men (Bickel, Hammel, O'Connell 1975).
WOMEN = ([89, 17, 202, 131, 94, 24], [108, 25, 593, 375, 393, 341])
MEN = ([512, 353, 120, 138, 53, 22], [825, 560, 325, 417, 191, 373])
SMALL = (([2, 1, 0], [6, 5, 4]), ([5, 4, 3], [8, 7, 6]))


def within(group: Any, reference: Any, **options: Any) -> Any:
    """The odds ratio within strata, from rows."""
    y: list[int] = []
    names: list[str] = []
    strata: list[int] = []
    for stratum, (k, n, k0, n0) in enumerate(zip(*group, *reference, strict=True)):
        y += [1] * k + [0] * (n - k) + [1] * k0 + [0] * (n0 - k0)
        names += ["women"] * n + ["men"] * n0
        strata += [stratum] * (n + n0)
    result = fs.group_metric(
        y,
        y,
        metric="selection_rate",
        contrast="odds_ratio",
        sensitive_features=names,
        strata=np.array(strata),
        reference="men",
        **options,
    )
    return result.stratified


def test_berkeley_as_mantelhaen_test() -> None:
    """R 4.2: mantelhaen.test(UCBAdmissions): 1.10 and 1.52 (p = .2169 without correction)."""
    result = within(WOMEN, MEN)
    tables = []
    for k, n, k0, n0 in zip(*WOMEN, *MEN, strict=True):
        tables.append(np.array([[k, n - k], [k0, n0 - k0]]))
    pooled = StratifiedTable(tables)
    assert result.estimate == pytest.approx(pooled.oddsratio_pooled, rel=1e-12)
    tests = result.tests().set_index("method")
    assert tests.loc["Cochran–Mantel–Haenszel", "statistic"] == pytest.approx(1.5246, abs=1e-4)
    assert result.pvalue == pytest.approx(0.2169, abs=1e-4)
    low, high = pooled.oddsratio_pooled_confint()
    assert result.confidence_interval.low == pytest.approx(low, rel=0.01)
    assert result.confidence_interval.high == pytest.approx(high, rel=0.01)
    homogeneity = pooled.test_equal_odds(adjust=True)
    assert result.comparisons[0].pvalue_homogeneity == pytest.approx(homogeneity.pvalue, rel=1e-8)
    assert "one odds ratio does not describe" in " ".join(result.notes())
    assert fs.results.Result.from_dict(result.to_dict()).to_dict() == result.to_dict()


def test_small_strata_contain_the_exact_limits() -> None:
    """R 4.2, mantelhaen.test(exact = TRUE) of these three strata: conditional limits."""
    result = within(*SMALL, threshold=0.5)
    row = result.comparisons[0]
    one = fs.rates.stratified(
        SMALL[0][0], SMALL[0][1], SMALL[1][0], SMALL[1][1], contrast="odds_ratio", null=0.5
    )
    assert row.estimate == pytest.approx(float(one.estimate))
    assert tuple(row.confidence_interval) == pytest.approx((float(one.low), float(one.high)))
    tests = result.tests().set_index("alternative")
    assert tests.loc["less", "pvalue"] == pytest.approx(float(one.pvalue_less))
    assert tests.loc["greater", "pvalue"] == pytest.approx(float(one.pvalue_greater))
    assert (row.pvalue_verdict <= 0.05) == (row.verdict != "undecided")


def test_the_verdict_of_small_strata_errs_at_most_as_often_as_it_says() -> None:
    """Two strata of 4 beside 5 rows, all 900 samples: limits of an odds ratio err in at most 5%."""
    sizes = ((4, 5), (4, 5))
    samples = list(itertools.product(range(5), range(6), range(5), range(6)))
    columns = np.array(samples)
    found = fs.rates.stratified(
        columns[:, [0, 2]], [4, 4], columns[:, [1, 3]], [5, 5], contrast="odds_ratio", null=0.5
    )
    for odds in (0.5,):
        for rates in ((0.2, 0.6), (0.5, 0.9)):
            weight = np.ones(len(samples))
            for place, rate in enumerate(rates):
                own = odds * rate / (1 - rate + odds * rate)
                weight *= binom.pmf(columns[:, 2 * place], sizes[place][0], own)
                weight *= binom.pmf(columns[:, 2 * place + 1], sizes[place][1], rate)
            assert weight[found.pvalue_less <= 0.05].sum() <= 0.05
            assert weight[found.pvalue_greater <= 0.05].sum() <= 0.05
    row = within(([1, 0], [4, 4]), ([4, 5], [5, 5]), threshold=0.5).comparisons[0]
    place = samples.index((1, 4, 0, 5))
    assert row.tests[0].pvalue == pytest.approx(float(found.pvalue_less[place]))


def test_one_sided_alternatives_and_crude_beside_adjusted() -> None:
    result = within(WOMEN, MEN, alternative="greater", threshold=0.8)
    assert result.confidence_interval.high == np.inf
    assert result.pvalue < 1e-4
    frame = fs.group_metric(
        [1, 1, 1, 1, 1, 1, 0, 0] * 20,
        [1, 0, 1, 0, 1, 1, 0, 0, 0, 1] * 16,
        metric="tpr",
        contrast="odds_ratio",
        sensitive_features=["a", "a", "b", "b"] * 40,
        strata=[0, 1] * 80,
    ).to_frame()
    assert {"adjusted", "adjusted_verdict", "pvalue_homogeneity"} <= set(frame.columns)


@pytest.mark.r
@pytest.mark.parametrize("tables", [(WOMEN, MEN), SMALL])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_every_number_is_recomputed_in_r(tables: Any, alternative: Any) -> None:
    table = fs.crosscheck(within(*tables, alternative=alternative)).to_frame()
    assert len(table) > 15
    assert set(table["verdict"]) == {"agrees"}
