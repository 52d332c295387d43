"""Score intervals: every end is where the score test's z² equals the χ² quantile.

Witnesses: the z² criterion for every table with n ≤ 12; numeric maximisation of the binomial
likelihood for the constrained rates; statsmodels for ratios with 0 < k < n; Newcombe (1998, Table
II) and Koopman (1984)."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import xlog1py, xlogy
from scipy.stats import chi2
from statsmodels.stats.proportion import confint_proportions_2indep

import fairstats as fs
from fairstats.numerics.rates.score import (
    difference_score_statistic,
    difference_statistic,
    ratio_score_statistic,
    ratio_statistic,
)
from fairstats.numerics.rates.score_limits import difference_limits_of, ratio_limit
from tests.numerics.rates.score_arrays import (
    difference_limits,
    difference_score_interval,
    ratio_score_interval,
)

Z = 1.959963984540054
#: Named in METHODS: the ends are right when z² is right to 1e-8.
Z2_TOLERANCE = 1e-8


def log_likelihood(k0: float, n0: float, k1: float, n1: float, p0: float, p1: float) -> float:
    return float(xlogy(k0, p0) + xlog1py(n0 - k0, -p0) + xlogy(k1, p1) + xlog1py(n1 - k1, -p1))


def constrained(
    table: tuple[int, int, int, int], contrast: str, null: float
) -> tuple[float, float]:
    """Rates (p₀, p₁) that maximise the likelihood under the null hypothesis, by a bounded search
    over p₁.
    """

    def p0_of(p1: float) -> float:
        return min(max(p1 * null if contrast == "ratio" else p1 + null, 0.0), 1.0)

    low, high = (
        (0.0, min(1.0, 1 / null)) if contrast == "ratio" else (max(0.0, -null), min(1.0, 1 - null))
    )
    found = minimize_scalar(
        lambda p1: -log_likelihood(*table, p0_of(p1), p1),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-13, "maxiter": 1000},
    )
    best = max((float(found.x), low, high), key=lambda p1: log_likelihood(*table, p0_of(p1), p1))
    return p0_of(best), best


def z_by_hand(
    table: tuple[int, int, int, int], contrast: str, null: float, correction: bool
) -> float:
    """Score statistic from the constrained rates of `constrained`."""
    k0, n0, k1, n1 = table
    p0, p1 = constrained(table, contrast, null)
    if contrast == "ratio":
        distance = k0 / n0 - null * k1 / n1
        variance = p0 * (1 - p0) / n0 + null**2 * p1 * (1 - p1) / n1
    else:
        distance = k0 / n0 - k1 / n1 - null
        variance = p0 * (1 - p0) / n0 + p1 * (1 - p1) / n1
    if correction:
        variance *= (n0 + n1) / (n0 + n1 - 1)
    return distance / np.sqrt(variance)


@pytest.mark.parametrize("correction", [True, False], ids=["N/(N-1)", "plain"])
@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_the_statistic_against_a_numeric_maximum_of_the_likelihood(
    contrast: str, correction: bool, rng: np.random.Generator
) -> None:
    """400 tables with n up to 60, empty cells among them, at null values over the whole range.

    A maximum is flat: its place is known to about the square root of machine precision, hence 1e-6.
    """
    statistic = ratio_score_statistic if contrast == "ratio" else difference_score_statistic
    for _ in range(400):
        n0, n1 = (int(n) for n in rng.integers(2, 60, 2))
        table = (int(rng.integers(0, n0 + 1)), n0, int(rng.integers(0, n1 + 1)), n1)
        null = float(
            np.exp(rng.uniform(-3, 3)) if contrast == "ratio" else rng.uniform(-0.98, 0.98)
        )
        if table[0] + table[2] in {0, n0 + n1}:
            continue  # the variance may vanish; the limits of these tables are tested below
        wanted = z_by_hand(table, contrast, null, correction)
        found = float(statistic(*table, null, correction=correction))
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6), (table, null)


def all_tables(n0: int, n1: int) -> tuple[np.ndarray, np.ndarray]:
    k0, k1 = np.meshgrid(np.arange(n0 + 1), np.arange(n1 + 1), indexing="ij")
    return k0.ravel(), k1.ravel()


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("largest", [6, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("correction", [True, False], ids=["N/(N-1)", "plain"])
@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_z_squared_at_both_ends_of_every_table(
    contrast: str, correction: bool, level: float, largest: int
) -> None:
    critical = float(np.sqrt(chi2.ppf(level, 1)))
    sizes = [(n0, n1) for n0, n1 in product(range(1, largest + 1), repeat=2)]
    k0, k1 = (np.concatenate(k) for k in zip(*(all_tables(*s) for s in sizes), strict=True))
    n0, n1 = (
        np.concatenate([np.full((a + 1) * (b + 1), s) for (a, b), s in zip(sizes, n, strict=True)])
        for n in zip(*sizes, strict=True)
    )
    if contrast == "ratio":
        interval = ratio_score_interval
        statistic = ratio_score_statistic
        null = 1.0
        no_low = k0 == 0
        no_high = k1 == 0
        least = 0.0
        most = np.inf
    else:
        interval = difference_score_interval
        statistic = difference_score_statistic
        null = 0.0
        no_low = (k0 == 0) & (k1 == n1)
        no_high = (k0 == n0) & (k1 == 0)
        least = -1.0
        most = 1.0
    low, high = interval(k0, n0, k1, n1, critical, correction=correction)
    np.testing.assert_array_equal(low[no_low], least)
    np.testing.assert_array_equal(high[no_high], most)
    for end, open_end, sign in ((low, no_low, 1), (high, no_high, -1)):
        z = statistic(k0, n0, k1, n1, np.where(open_end, null, end), correction=correction)[
            ~open_end
        ]
        np.testing.assert_allclose(z**2, critical**2, rtol=0, atol=Z2_TOLERANCE)
        assert (np.sign(z) == sign).all()


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_z_squared_by_the_independent_statistic(contrast: str, rng: np.random.Generator) -> None:
    """The same with z from the numeric constrained likelihood, on 100 tables.

    1e-5 as the maximum is flat.
    """
    interval = ratio_score_interval if contrast == "ratio" else difference_score_interval
    for _ in range(100):
        n0, n1 = (int(n) for n in rng.integers(3, 40, 2))
        table = (int(rng.integers(1, n0)), n0, int(rng.integers(1, n1)), n1)
        for end in interval(*table, Z):
            assert z_by_hand(table, contrast, float(end), True) ** 2 == pytest.approx(
                Z**2, abs=1e-5
            )


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_the_interval_is_all_that_is_not_rejected(contrast: str) -> None:
    """z decreases in the null value, so {θ : |z(θ)| ≤ c} is one interval.

    Every table with n ≤ 8.
    """
    if contrast == "ratio":
        interval = ratio_score_interval
        statistic = ratio_score_statistic
        grid = np.exp(np.linspace(-7, 7, 1401))
    else:
        interval = difference_score_interval
        statistic = difference_score_statistic
        grid = np.linspace(-0.999, 0.999, 1401)
    for n0, n1 in product(range(1, 9), repeat=2):
        k0, k1 = all_tables(n0, n1)
        low, high = interval(k0, n0, k1, n1, Z)
        z = statistic(k0[:, None], n0, k1[:, None], n1, grid)
        assert (np.diff(z, axis=1) <= 1e-9).all()
        inside = (low[:, None] <= grid) & (grid <= high[:, None])
        near = np.abs(np.abs(z) - Z) < 1e-9
        assert ((np.abs(z) <= Z) == inside)[~near].all()


@pytest.mark.parametrize("total", [0.4, 1.0, 1.0 + 1e-9])
def test_groups_that_are_not_worth_one_case_exclude_nothing(total: float) -> None:
    """N/(N − 1) is infinite at N = 1 and negative below; of clusters N may be less than that."""
    half = total / 2
    table = (half / 2, half, half, half)
    assert difference_statistic(table, 0.9, correction=True) == pytest.approx(0.0, abs=1e-3)
    assert ratio_statistic(table, 3.0, correction=True) == pytest.approx(0.0, abs=1e-3)
    for number in (1, 40):  # one by one, and all at once
        low, high = difference_limits_of(
            np.tile(table, (number, 1)), 2.0, np.zeros(number, dtype=bool)
        )
        assert (low <= -1 + 1e-9).all()
        assert (high >= 1 - 1e-9).all()
    assert ratio_limit(table, 2.0, correction=True, side=-1) < 1e-9
    assert ratio_limit(table, 2.0, correction=True, side=1) > 1e9


def test_the_largest_tables_keep_their_digits() -> None:
    """A million rows, and one success in a million."""
    for table in [
        (300_000, 10**6, 310_000, 10**6),
        (1, 10**6, 3, 10**6),
        (999_999, 10**6, 1, 2),
        (5, 10, 4000, 10**7),
    ]:
        for interval, statistic in (
            (ratio_score_interval, ratio_score_statistic),
            (difference_score_interval, difference_score_statistic),
        ):
            low, high = interval(*table, Z)
            for end, sign in ((low, 1), (high, -1)):
                assert float(statistic(*table, end)) == pytest.approx(sign * Z, abs=1e-6)


# ---------------------------------------------------------------- published and other people's
# values

# : Newcombe (1998), Statistics in Medicine 17, 873-890, Table II: method 5 (Mee), method 6
# (Miettinen- Nurminen).
NEWCOMBE = {
    (56, 70, 48, 80): ((0.0533, 0.3377), (0.0528, 0.3382)),
    (9, 10, 3, 10): ((0.1821, 0.8370), (0.1700, 0.8406)),
    (6, 7, 2, 7): ((0.0544, 0.8478), (0.0342, 0.8534)),
    (5, 56, 0, 29): ((-0.0313, 0.1926), (-0.0326, 0.1933)),
    (0, 10, 0, 20): ((-0.1611, 0.2775), (-0.1658, 0.2844)),
    (0, 10, 0, 10): ((-0.2775, 0.2775), (-0.2879, 0.2879)),
    (10, 10, 0, 20): ((0.7225, 1.0), (0.7156, 1.0)),
    (10, 10, 0, 10): ((0.6777, 1.0), (0.6636, 1.0)),
}


@pytest.mark.parametrize("table", NEWCOMBE, ids=str)
def test_differences_as_newcombe_prints_them(table: tuple[int, int, int, int]) -> None:
    mee, miettinen = NEWCOMBE[table]
    assert difference_score_interval(*table, Z, correction=False) == pytest.approx(mee, abs=0.5e-4)
    assert difference_score_interval(*table, Z) == pytest.approx(miettinen, abs=0.5e-4)


def test_a_ratio_as_koopman_prints_it() -> None:
    """Koopman (1984), Biometrics 40: 36/40 against 16/80 is 4.5 in [2.94, 7.15]."""
    assert ratio_score_interval(36, 40, 16, 80, Z, correction=False) == pytest.approx(
        (2.94, 7.15), abs=0.005
    )


@pytest.mark.parametrize("correction", [True, False], ids=["N/(N-1)", "plain"])
def test_ratios_as_statsmodels_where_no_cell_is_empty(
    correction: bool, rng: np.random.Generator
) -> None:
    """To 1e-10, for 300 tables with 0 < k < n ≤ 12.

    statsmodels fails where a cell is empty, and its closed form loses digits as n grows (1e-6 at n
    = 1,000): the decimal arithmetic of the next test takes over there."""
    for _ in range(300):
        n0, n1 = (int(n) for n in rng.integers(2, 13, 2))
        k0 = int(rng.integers(1, n0))
        k1 = int(rng.integers(1, n1))
        wanted = confint_proportions_2indep(
            k0, n0, k1, n1, method="score", compare="ratio", correction=correction
        )
        found = ratio_score_interval(k0, n0, k1, n1, Z, correction=correction)
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


def z_in_decimals(table: tuple[int, int, int, int], ratio: Decimal, correction: bool) -> Decimal:
    """Koopman's z with 50 digits: the constrained rate is the smaller root of a quadratic."""
    k0, n0, k1, n1 = map(Decimal, table)
    a = (n0 + n1) * ratio
    b = n0 * ratio + k0 + n1 + k1 * ratio
    c = k0 + k1
    p1 = (b - (b * b - 4 * a * c).sqrt()) / (2 * a)
    p0 = ratio * p1
    variance = p0 * (1 - p0) / n0 + ratio * ratio * p1 * (1 - p1) / n1
    if correction:
        variance *= (n0 + n1) / (n0 + n1 - 1)
    return (k0 / n0 - ratio * k1 / n1) / variance.sqrt()


@pytest.mark.parametrize("correction", [True, False], ids=["N/(N-1)", "plain"])
def test_ratios_in_fifty_digits(correction: bool, rng: np.random.Generator) -> None:
    """100 tables with n up to 10^6: both ends right to 1e-12; witness.

    The secant rule in decimals.
    """
    with localcontext() as context:
        context.prec = 50
        for _ in range(100):
            n0, n1 = (int(n) for n in np.exp(rng.uniform(np.log(3), np.log(1e6), 2)))
            table = (int(rng.integers(1, n0)), n0, int(rng.integers(1, n1)), n1)
            for end, sign in zip(
                ratio_score_interval(*table, Z, correction=correction), (1, -1), strict=True
            ):
                near = Decimal(float(end)) * (1 - Decimal("1e-6"))
                nearer = Decimal(float(end))
                for _ in range(40):
                    f0, f1 = (
                        z_in_decimals(table, x, correction) - sign * Decimal(Z)
                        for x in (near, nearer)
                    )
                    if f0 == f1 or abs(nearer - near) < Decimal("1e-40"):
                        break
                    near, nearer = nearer, nearer - f1 * (nearer - near) / (f1 - f0)
                assert float(end) == pytest.approx(float(nearer), rel=1e-12), table


def test_statsmodels_difference_is_wrong() -> None:
    """Why it is not used: 15/100 against 25/100, where its lower end has z² = 3.446 instead of
    3.841.
    """
    low, _ = confint_proportions_2indep(15, 100, 25, 100, method="score", compare="diff")
    assert z_by_hand((15, 100, 25, 100), "difference", float(low), True) ** 2 == pytest.approx(
        3.446, abs=1e-3
    )
    ours, _ = difference_score_interval(15, 100, 25, 100, Z)
    assert z_by_hand((15, 100, 25, 100), "difference", float(ours), True) ** 2 == pytest.approx(
        3.8415, abs=1e-4
    )


# ---------------------------------------------------------------- the edges


def test_nothing_selected_anywhere_can_be_any_ratio() -> None:
    low, high = ratio_score_interval(0, 30, 0, 30, Z)
    assert (low, high) == (0.0, np.inf)
    low, high = difference_score_interval(0, 30, 0, 30, Z)
    assert -low == pytest.approx(high)
    assert 0 < high < 1


def test_everyone_selected_in_both_groups() -> None:
    """30/30 against 30/30: symmetric about 1 on the log scale, z² right at both ends."""
    low, high = ratio_score_interval(30, 30, 30, 30, Z)
    assert low * high == pytest.approx(1.0, rel=1e-10)
    # p₀ = θ, p₁ = 1 there: z² = (1−θ)²/(θ(1−θ)/30·60/59) = 30·59/60·(1−θ)/θ, so θ = 29.5/(29.5 +
    # z²).
    assert low == pytest.approx(29.5 / (29.5 + Z**2), rel=1e-10)
    low, high = difference_score_interval(30, 30, 30, 30, Z)
    assert -low == pytest.approx(high, rel=1e-10)
    # p₀ = 1−δ, p₁ = 1: z² = δ²/(δ(1−δ)/30·60/59) = 29.5·δ/(1−δ), so δ = z²/(29.5 + z²).
    assert high == pytest.approx(Z**2 / (29.5 + Z**2), rel=1e-10)


@pytest.mark.parametrize(("table", "which"), [((0, 20, 7, 20), 0), ((7, 20, 0, 20), 1)], ids=str)
def test_one_empty_success_opens_one_end(table: tuple[int, int, int, int], which: int) -> None:
    ends = ratio_score_interval(*table, Z)
    assert ends[which] == (0.0, np.inf)[which]
    assert 0 < ends[1 - which] < np.inf


TABLES = st.tuples(
    st.integers(1, 500),
    st.integers(1, 500),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([True, False]),
)


@given(TABLES)
def test_swapping_the_groups_turns_the_interval_over(
    case: tuple[int, int, float, float, bool],
) -> None:
    n0, n1, f0, f1, correction = case
    k0 = round(f0 * n0)
    k1 = round(f1 * n1)
    low, high = ratio_score_interval(k0, n0, k1, n1, Z, correction=correction)
    swapped_low, swapped_high = ratio_score_interval(k1, n1, k0, n0, Z, correction=correction)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose([low, high], [1 / swapped_high, 1 / swapped_low], rtol=1e-7)
    low, high = difference_score_interval(k0, n0, k1, n1, Z, correction=correction)
    swapped = difference_score_interval(k1, n1, k0, n0, Z, correction=correction)
    np.testing.assert_allclose([low, high], [-swapped[1], -swapped[0]], atol=1e-9)


@given(TABLES)
def test_successes_and_failures_give_the_same_difference(
    case: tuple[int, int, float, float, bool],
) -> None:
    n0, n1, f0, f1, correction = case
    k0 = round(f0 * n0)
    k1 = round(f1 * n1)
    ends = difference_score_interval(k0, n0, k1, n1, Z, correction=correction)
    failures = difference_score_interval(n0 - k0, n0, n1 - k1, n1, Z, correction=correction)
    np.testing.assert_allclose(ends, [-failures[1], -failures[0]], atol=1e-9)


def test_the_score_test_of_equality_is_pearsons_chi_square() -> None:
    """z² at ratio 1, or difference 0, without correction; witness.

    `scipy.stats.chi2_contingency`.
    """
    from scipy.stats import chi2_contingency

    table = (15, 100, 28, 120)
    wanted = chi2_contingency([[15, 85], [28, 92]], correction=False).statistic
    assert float(ratio_score_statistic(*table, 1.0, correction=False)) ** 2 == pytest.approx(
        wanted, rel=1e-12
    )
    assert float(difference_score_statistic(*table, 0.0, correction=False)) ** 2 == pytest.approx(
        wanted, rel=1e-12
    )


def test_statistics_are_those_of_the_interval_through_the_public_functions() -> None:
    """Groups for which the score needs no exact test."""
    counts = {"a": (450, 550), "b": (560, 640)}
    for method, correction in (("score", True), ("koopman", False)):
        result = fs.disparate_impact(counts=counts, reference="b", method=method)
        assert tuple(result.confidence_interval) == pytest.approx(
            tuple(map(float, ratio_score_interval(450, 1000, 560, 1200, Z, correction=correction))),
            rel=1e-14,
        )
    for method, correction in (("score", True), ("mee", False)):
        result = fs.demographic_parity_difference(counts=counts, reference="b", method=method)
        assert tuple(result.confidence_interval) == pytest.approx(
            tuple(
                map(
                    float, difference_score_interval(450, 1000, 560, 1200, Z, correction=correction)
                )
            ),
            rel=1e-14,
        )


@pytest.mark.parametrize("critical", [0.0, 0.3, 1.96, 5.0])
def test_limits_of_many_tables_are_those_of_each(critical: float, rng: np.random.Generator) -> None:
    cases = rng.integers(1, 400, (600, 2))
    successes = rng.binomial(cases, rng.beta(0.5, 0.5, (600, 2)))
    tables = np.column_stack([successes[:, 0], cases[:, 0], successes[:, 1], cases[:, 1]]).astype(
        float
    )
    continuity = rng.random(600) < 0.5
    low, high = difference_limits_of(tables, critical, continuity)
    for k, table in enumerate(map(tuple, tables.tolist())):
        wanted = difference_limits(table, critical, True, bool(continuity[k]))
        z = [
            difference_statistic(table, end, True, bool(continuity[k])) for end in (low[k], high[k])
        ]
        # where the statistic is flat (continuity, critical value 0) any point of the flat stretch
        # will do
        np.testing.assert_allclose([low[k], high[k]], wanted, atol=1e-9 if critical else 1.0)
        assert abs(z[0]) <= critical + 1e-6 or low[k] == -1
        assert abs(z[1]) <= critical + 1e-6 or high[k] == 1
