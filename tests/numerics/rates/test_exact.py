"""Exact unconditional tests; witnesses: `scipy.stats.barnard_exact`, and the size itself by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import barnard_exact, binom, norm

import fairstats as fs
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.registry import RATES
from fairstats.methods.rates.compare import MAX_CASES, _countable
from fairstats.methods.rates.estimates import estimate_rate
from fairstats.numerics.rates.exact import ExactTest, exact_unconditional_pvalue, exactly_shown, first_true
from fairstats.numerics.rates.score import difference_score_statistic, ratio_score_statistic

ALTERNATIVES = ("less", "greater", "two-sided")


TABLES = [(1, 10, 7, 10), (3, 12, 8, 15), (0, 9, 4, 11), (8, 8, 3, 12), (5, 20, 5, 20), (2, 7, 0, 30)]


def pooled_z(k0: int, n0: int, k1: int, n1: int) -> tuple[int, Fraction]:
    """Sign and square of the pooled score, without rounding."""
    rate = Fraction(k0 + k1, n0 + n1)
    distance = Fraction(k0, n0) - Fraction(k1, n1)
    variance = rate * (1 - rate) * (Fraction(1, n0) + Fraction(1, n1))
    return (distance > 0) - (distance < 0), distance**2 / variance if variance else Fraction(0)


def as_extreme(table: tuple[int, int, int, int], alternative: str) -> tuple[np.ndarray, bool]:
    """Tables as extreme as this one in exact arithmetic, and whether another one ties with it."""
    _, n0, _, n1 = table
    sign, square = pooled_z(*table)
    extreme, ties = np.zeros((n0 + 1, n1 + 1)), 0
    for k0, k1 in product(range(n0 + 1), range(n1 + 1)):
        other, other_square = pooled_z(k0, n0, k1, n1)
        if alternative == "two-sided":
            extreme[k0, k1] = other_square >= square
            ties += other_square == square
        else:
            turn = 1 if alternative == "greater" else -1
            extreme[k0, k1] = turn * other * other_square >= turn * sign * square
            ties += other * other_square == sign * square
    return extreme, ties > 1


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_equal_rates(table: tuple[int, int, int, int], alternative: str) -> None:
    """H0: equal rates, pooled score. Witness: extreme tables in fractions, nuisance rate on 20,001 points.

    `scipy.stats.barnard_exact` gives the same to 1e-5 where no other table ties with the observed one;
    rounding makes it lose ties, and its p-value is then too small.
    """
    k0, n0, k1, n1 = table
    extreme, tie = as_extreme(table, alternative)
    rate = np.linspace(0, 1, 20_001)[:, None]
    pmf0, pmf1 = binom.pmf(np.arange(n0 + 1), n0, rate), binom.pmf(np.arange(n1 + 1), n1, rate)
    wanted = ((pmf0 @ extreme) * pmf1).sum(axis=1).max()
    barnard = barnard_exact([[k0, k1], [n0 - k0, n1 - k1]], alternative=alternative, pooled=True)
    for contrast, null in (("ratio", 1.0), ("difference", 0.0)):
        statistic, pvalue = exact_unconditional_pvalue(
            *table,
            contrast=contrast,
            null=null,
            alternative=alternative,  # type: ignore[arg-type]
        )
        assert pvalue == pytest.approx(wanted, abs=1e-7)
        assert statistic == pytest.approx(barnard.statistic, rel=1e-9, abs=1e-9)
        assert pvalue >= barnard.pvalue - 1e-5
        assert tie or pvalue == pytest.approx(barnard.pvalue, abs=1e-5)


def rejection_probability(n0: int, n1: int, contrast: str, null: float, alternative: str, alpha: float) -> np.ndarray:
    """P(p ≤ α) over a fine grid of nuisance rates, from the p-values of all tables."""
    p = np.array(
        [
            [
                exact_unconditional_pvalue(k0, n0, k1, n1, contrast=contrast, null=null, alternative=alternative)[1]  # type: ignore[arg-type]
                for k1 in range(n1 + 1)
            ]
            for k0 in range(n0 + 1)
        ]
    )
    low, high = (0.0, min(1.0, 1 / null)) if contrast == "ratio" else (max(0.0, -null), min(1.0, 1 - null))
    rate1 = np.linspace(low, high, 2_001)
    rate0 = np.clip(rate1 * null if contrast == "ratio" else rate1 + null, 0, 1)
    pmf0 = binom.pmf(np.arange(n0 + 1), n0, rate0[:, None])
    pmf1 = binom.pmf(np.arange(n1 + 1), n1, rate1[:, None])
    return np.einsum("gi,ij,gj->g", pmf0, (p <= alpha).astype(float), pmf1)


@pytest.mark.parametrize(
    ("contrast", "null"), [("ratio", 1.0), ("ratio", 0.8), ("difference", -0.1), ("difference", 0.1)]
)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_size_is_kept(contrast: str, null: float, alternative: str) -> None:
    """P(p ≤ α) never exceeds α on the null boundary: enumeration over 2,001 nuisance rates."""
    for (n0, n1), alpha in product([(7, 9), (4, 15)], [0.01, 0.05, 0.1]):
        assert rejection_probability(n0, n1, contrast, null, alternative, alpha).max() <= alpha + 1e-9


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_the_size_is_kept_inside_the_null_hypothesis(alternative: str) -> None:
    """H0 ratio ≥ 0.8 (or ≤) is composite: no point inside it is rejected more often than α."""
    n0, n1, alpha = 8, 10, 0.05
    p = np.array(
        [
            [
                exact_unconditional_pvalue(k0, n0, k1, n1, null=0.8, alternative=alternative)[1]  # type: ignore[arg-type]
                for k1 in range(n1 + 1)
            ]
            for k0 in range(n0 + 1)
        ]
    )
    for rate0, rate1 in product(np.linspace(0, 1, 101), repeat=2):
        if (alternative == "less" and rate0 >= 0.8 * rate1) or (alternative == "greater" and rate0 <= 0.8 * rate1):
            pmf = np.outer(binom.pmf(np.arange(n0 + 1), n0, rate0), binom.pmf(np.arange(n1 + 1), n1, rate1))
            assert pmf[p <= alpha].sum() <= alpha + 1e-9


@pytest.mark.slow
def test_very_unequal_groups_keep_the_peak() -> None:
    """With three against thousands the probability peaks within 1/n of an end; a grid finer there is the
    witness.
    """
    near_an_end = np.logspace(-7, -1, 400)
    fine = np.unique(np.concatenate([near_an_end, 1 - near_an_end, np.linspace(0, 1, 401)]))
    for table, alternative in product(
        [(1, 3, 2, 900), (0, 3, 899, 900), (1, 1, 3, 1_500), (2, 10, 3, 500), (9, 10, 495, 500)], ALTERNATIVES
    ):
        k0, n0, k1, n1 = table
        all0, all1 = np.meshgrid(np.arange(n0 + 1), np.arange(n1 + 1), indexing="ij")
        z = ratio_score_statistic(all0, n0, all1, n1, 1.0, correction=False)
        slack = 1e-9 * max(1.0, abs(z[k0, k1]))
        extreme = {
            "less": z <= z[k0, k1] + slack,
            "greater": z >= z[k0, k1] - slack,
            "two-sided": np.abs(z) >= abs(z[k0, k1]) - slack,
        }[alternative]
        pmf0 = binom.pmf(np.arange(n0 + 1), n0, fine[:, None])
        pmf1 = binom.pmf(np.arange(n1 + 1), n1, fine[:, None])
        wanted = ((pmf0 @ extreme.astype(float)) * pmf1).sum(axis=1).max()
        assert exact_unconditional_pvalue(*table, alternative=alternative)[1] >= wanted - 1e-6  # type: ignore[arg-type]


def test_the_statistic_is_the_plain_score() -> None:
    for contrast, null, statistic in (
        ("ratio", 0.8, ratio_score_statistic),
        ("difference", -0.1, difference_score_statistic),
    ):
        found, _ = exact_unconditional_pvalue(3, 12, 8, 15, contrast=contrast, null=null, alternative="less")  # type: ignore[arg-type]
        assert found == pytest.approx(float(statistic(3, 12, 8, 15, null, correction=False)), rel=1e-12)


@pytest.mark.parametrize(
    ("counts", "added"),
    [
        ({"a": (4, 20), "b": (15, 15)}, True),
        ({"a": (5, 20), "b": (15, 15)}, False),
        ({"a": (20, 4), "b": (15, 15)}, True),
        ({"a": (4, 400), "b": (150, 150)}, True),
        ({"a": (4, 2_100), "b": (1_500, 1_500)}, False),
    ],
    ids=str,
)
def test_small_tables_get_the_exact_tests(counts: dict[str, Any], added: bool) -> None:
    """Below five in a cell, unless both groups are too large to enumerate."""
    tests = fs.disparate_impact(counts=counts, reference="b").tests()
    exact = tests[tests["method"] == "exact unconditional"]
    assert exact["alternative"].tolist() == (list(ALTERNATIVES) if added else [])
    n0, n1 = (sum(v) for v in counts.values())
    assert added == (min(n0, n1) <= MAX_CASES and min(map(min, counts.values())) < 5)
    for _, row in exact.iterrows():
        null = 1.0 if row["alternative"] == "two-sided" else 0.8
        k0, k1 = counts["a"][0], counts["b"][0]
        _, wanted = exact_unconditional_pvalue(k0, n0, k1, n1, null=null, alternative=row["alternative"])
        assert row["pvalue"] == wanted


@pytest.mark.parametrize(("k0", "n0", "k1", "n1"), [(21, 24, 999, 1407), (5, 6, 400, 900), (2, 30, 1, 1000)])
def test_peaks_near_the_ends_are_found(k0: int, n0: int, k1: int, n1: int) -> None:
    """Witness: the probability on 2,000 nuisance rates, dense at both ends; none may exceed the p-value."""
    near = np.logspace(-7, -1, 600)
    p1 = np.concatenate([near, np.linspace(0.1, 0.9, 800), 1 - near])
    all0, all1 = np.meshgrid(np.arange(n0 + 1), np.arange(n1 + 1), indexing="ij")
    z = ratio_score_statistic(all0, n0, all1, n1, 0.8, correction=False)
    for alternative, extreme in (("less", z <= z[k0, k1] + 1e-9), ("greater", z >= z[k0, k1] - 1e-9)):
        _, pvalue = exact_unconditional_pvalue(k0, n0, k1, n1, null=0.8, alternative=alternative)
        pmf1 = binom.pmf(np.arange(n1 + 1)[:, None], n1, p1)
        largest = (binom.pmf(np.arange(n0 + 1)[:, None], n0, 0.8 * p1) * (extreme @ pmf1)).sum(axis=0).max()
        assert pvalue >= largest * (1 - 1e-4)
        assert pvalue <= largest * (1 + 1e-2) + 1e-12


@pytest.mark.parametrize(
    ("group", "reference", "exact"),
    [
        ((9, 91), (50, 50), True),
        ((10, 90), (50, 50), False),
        ((50, 50), (91, 9), True),
        ((50, 50), (90, 10), False),
        ((5, 1_995), (5_000, 5_000), True),
        ((5, 1_996), (5_000, 5_000), False),
    ],
)
def test_which_tables_are_judged_by_exact_tests(
    group: tuple[int, int], reference: tuple[int, int], exact: bool
) -> None:
    """Fewer than ten rows in a cell of either group, at most 2,000 cases in the smaller one."""
    counts = SelectionCounts.from_counts({"a": group, "b": reference})
    assert _countable(estimate_rate(counts, RATES["selection_rate"]), (0, 1)) == exact


@pytest.mark.parametrize("alternative", ["less", "greater"])
@pytest.mark.parametrize(
    ("contrast", "fair"), [("ratio", (0.8, 1.25)), ("difference", (-0.1, 0.1)), ("ratio", (1.0, 1.0))]
)
@pytest.mark.parametrize("table", [(3, 12, 8, 15), (8, 12, 5, 15), (5, 9, 6, 10), (1, 9, 9, 10)], ids=str)
def test_a_limit_is_where_the_test_begins_to_reject(
    table: tuple[int, int, int, int], contrast: Any, fair: tuple[float, float], alternative: str
) -> None:
    """One step inside of the limit p is at least 1 − level, one step outside it is below.

    Steps are 2⁻¹⁴ of log θ, or of 2 artanh of a difference. Wherever the search begins, it ends there, and on
    the side of the ends of the fair range that their own p-values say.
    """
    exact, level = ExactTest(table, contrast), 0.95
    to, back = (np.log, np.exp) if contrast == "ratio" else (lambda d: 2 * np.arctanh(d), lambda x: np.tanh(x / 2))
    k0, n0, k1, n1 = table
    estimate = k0 / n0 / (k1 / n1) if contrast == "ratio" else k0 / n0 - k1 / n1
    found = [exact.limit(level, alternative, fair, start) for start in (estimate, fair[0], fair[1])]
    assert found[1:] == [found[0]] * 2
    outward = 1 if alternative == "less" else -1
    inside, outside = (float(back(to(found[0]) + side * outward * 2.0**-14)) for side in (-1, 1))
    assert exact.pvalue(inside, alternative) >= 0.05 > exact.pvalue(outside, alternative)
    assert outward * (found[0] - estimate) > 0
    for end in fair:
        assert (exact.pvalue(end, alternative) < 0.05) == (outward * (end - found[0]) > 0)


def test_limits_and_p_values_beyond_what_counts_can_show() -> None:
    """Without a success of the reference no ratio is too large, without one of the group none too small."""
    for table, contrast, low, high in (
        ((3, 9, 0, 10), "ratio", None, np.inf),
        ((0, 9, 3, 10), "ratio", 0.0, None),
        ((9, 9, 0, 10), "difference", None, 1.0),
        ((0, 9, 10, 10), "difference", -1.0, None),
        ((8, 9, 0, 10), "difference", None, None),
        ((9, 9, 1, 10), "difference", None, None),
        ((1, 9, 10, 10), "difference", None, None),
        ((0, 9, 9, 10), "difference", None, None),
    ):
        exact = ExactTest(table, contrast)  # type: ignore[arg-type]
        fair = (0.8, 1.25) if contrast == "ratio" else (-0.1, 0.1)
        least, most = exact.limit(0.95, "greater", fair, 0.5), exact.limit(0.95, "less", fair, 0.5)
        lowest, highest = (0.0, np.inf) if contrast == "ratio" else (-1.0, 1.0)
        assert least == low if low is not None else least > lowest + 1e-3
        assert most == high if high is not None else most < highest - 1e-3
        ends = (0.0, np.inf, -0.3) if contrast == "ratio" else (-1.0, 1.0, 1.5)
        assert [exact.pvalue(end, "less") for end in ends] == [1.0] * 3


@pytest.mark.parametrize("error", [0.05, 0.2])
@pytest.mark.parametrize(("null", "side", "span"), [(0.8, "less", 1.25), (1.25, "greater", 1.25), (1.0, "less", 1.0)])
def test_which_tables_exact_tests_show(null: float, side: str, span: float, error: float) -> None:
    """All tables of 8 and 11 cases at once against each by its own p-value.

    With the other direction, p + Φ(Φ⁻¹(p) − width) at most the error; width is the distance of the two score
    statistics, 0 for a range of one value, which makes it the two-sided test.
    """
    n, m = 8, 11
    k, j = (v.ravel() for v in np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij"))
    kept = k + j > 0
    k, j = k[kept], j[kept]
    ends = (0.8, 1.25) if span != 1.0 else (1.0, 1.0)
    low, high = (ratio_score_statistic(k, n, j, m, end) for end in ends)
    width = low - high
    z = low if side == "less" else -high
    shown = exactly_shown((k, n, j, m), np.full(k.size, 0.01), z, width, null, side, error)
    p = np.array([
        exact_unconditional_pvalue(int(a), n, int(b), m, null=null, alternative=side)[1]
        for a, b in zip(k, j, strict=True)
    ])  # fmt: skip
    both = p + norm.cdf(norm.ppf(np.minimum(p, 1 - 1e-16)) - width)
    np.testing.assert_array_equal(shown, both <= error)
    assert 0 < shown.sum() < shown.size
    rare = exactly_shown((k, n, j, m), np.full(k.size, 1e-14), z, width, null, side, error)
    assert not rare.any(), "tables that are all but impossible are not asked about"


@pytest.mark.parametrize("last", [0, 1, 6, 7, 8])
def test_the_first_count_that_holds_is_found(last: int) -> None:
    """Every threshold from 0 to last + 1, in one call; last + 1 where nothing holds."""
    wanted = np.arange(last + 2)
    np.testing.assert_array_equal(first_true(lambda j: j >= wanted, wanted.size, last), wanted)
