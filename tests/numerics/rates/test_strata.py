"""The stratified score and its company.

Witnesses: the score of single tables, which has its own; R's `mantelhaen.test` (numbers recorded
from R 4.2.2); statsmodels' `StratifiedTable`; sums written out; enumeration; and the errors that
METHODS prints, by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, hypergeom, nchypergeom_fisher, norm, skew
from statsmodels.stats.contingency_tables import StratifiedTable

import fairstats as fs
from fairstats.numerics.rates import conditional, homogeneity, score, score_limits, strata
from fairstats.numerics.rates.score import EQUALITY
from fairstats.numerics.rates.strata import Strata

CONTRASTS = tuple(EQUALITY)
#: Admitted and applicants of Berkeley's departments A to F, 1973 (Bickel, Hammel, O'Connell 1975;
#: R's UCBAdmissions).
BERKELEY = Strata.of(
    [89, 17, 202, 131, 94, 24],
    [108, 25, 593, 375, 393, 341],
    [512, 353, 120, 138, 53, 22],
    [825, 560, 325, 417, 191, 373],
)
#: Zero of 50 against 10 of 50, zero of 40 against 12 of 40.
ZEROS = Strata.of([0, 0], [50, 40], [10, 12], [50, 40])


def some_tables(seed: int, shape: tuple[int, ...], most: tuple[int, int] = (15, 40)) -> Strata:
    rng = np.random.default_rng(seed)
    n1 = rng.integers(0, most[0], shape)
    n0 = rng.integers(0, most[1], shape)
    return Strata.of(rng.integers(0, n1 + 1), n1, rng.integers(0, n0 + 1), n0)


def in_statsmodels(tables: Strata) -> StratifiedTable:
    columns = (tables.k1, tables.n1 - tables.k1, tables.k0, tables.n0 - tables.k0)
    return StratifiedTable([np.reshape(cells, (2, 2)) for cells in zip(*columns, strict=True)])


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_one_stratum_is_the_score_of_its_table(contrast: str) -> None:
    """Limits and statistics of the kernel that single tables have, which is checked against
    published tables.
    """
    rng = np.random.default_rng(3)
    limit = score_limits.difference_limit
    if contrast == "ratio":
        limit = score_limits.ratio_limit
    statistic = score.ratio_statistic if contrast == "ratio" else score.difference_statistic
    for _ in range(25):
        n1, n0 = (int(n) for n in rng.integers(2, 60, 2))
        k1 = int(rng.integers(0, n1 + 1))
        k0 = int(rng.integers(0, n0 + 1))
        if contrast == "ratio" and k1 == k0 == 0:
            continue
        table = Strata.of([k1], [n1], [k0], [n0])
        for side in (-1, 1):
            witness = limit((k1, n1, k0, n0), 1.96, True, side=side, continuity=False)
            found = float(strata.score_limit(table, 1.96, contrast, side=side))
            assert found == pytest.approx(witness, rel=1e-9, abs=1e-12)
        null = 0.8 if contrast == "ratio" else -0.1
        witness = statistic((k1, n1, k0, n0), null, True)
        assert float(strata.score_statistic(table, null, contrast)) == pytest.approx(
            witness, rel=1e-9, abs=1e-12
        )


@pytest.mark.parametrize("theta", [0.2, 0.8, 1.0, 3.0])
def test_constrained_rates_of_an_odds_ratio_are_the_maximum_of_the_likelihood(theta: float) -> None:
    """Witness: the likelihood itself, maximised numerically over the reference's rate."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        n1, n0 = rng.integers(2, 30, 2)
        k1 = rng.integers(0, n1 + 1)
        k0 = rng.integers(0, n0 + 1)

        def deviance(p0: float, k1: int = k1, n1: int = n1, k0: int = k0, n0: int = n0) -> float:
            p1 = theta * p0 / (1 - p0 + theta * p0)
            cells = ((k1, p1), (n1 - k1, 1 - p1), (k0, p0), (n0 - k0, 1 - p0))
            return -sum(count * np.log(max(share, 1e-300)) for count, share in cells if count)

        best = minimize_scalar(
            deviance, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-10}
        )
        p1, q1, p0, q0 = strata.constrained_rates(
            Strata.of([k1], [n1], [k0], [n0]), theta, "odds_ratio"
        )
        assert p0[0] == pytest.approx(best.x, abs=1e-6)
        assert (p0 + q0)[0] == pytest.approx(1)
        assert (p1 + q1)[0] == pytest.approx(1)


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_at_equality_it_is_the_test_of_cochran_mantel_and_haenszel(contrast: str) -> None:
    """R: mantelhaen.test(UCBAdmissions, correct = FALSE) 1.5246.

    Of the zeros 24.92273, p 5.96746602292075e-07.
    """
    z = strata.score_statistic(BERKELEY, EQUALITY[contrast], contrast)
    assert float(z) ** 2 == pytest.approx(
        in_statsmodels(BERKELEY).test_null_odds(correction=False).statistic, rel=1e-12
    )
    assert float(z) ** 2 == pytest.approx(1.5246, abs=5e-5)
    z = float(strata.score_statistic(ZEROS, EQUALITY[contrast], contrast))
    assert z**2 == pytest.approx(24.922730504858980, rel=1e-12)
    assert 2 * norm.sf(abs(z)) == pytest.approx(5.96746602292075e-07, rel=1e-10)


def test_estimates_are_those_of_mantel_and_haenszel() -> None:
    tables = in_statsmodels(BERKELEY)
    assert float(strata.mantel_haenszel(BERKELEY, "ratio")) == pytest.approx(
        tables.riskratio_pooled, rel=1e-12
    )
    assert float(strata.mantel_haenszel(BERKELEY, "odds_ratio")) == pytest.approx(
        tables.oddsratio_pooled, rel=1e-12
    )
    rate1, rate0 = strata.adjusted_rates(BERKELEY)
    assert float(rate1 / rate0) == pytest.approx(tables.riskratio_pooled, rel=1e-12)
    assert float(rate1 - rate0) == pytest.approx(
        float(strata.mantel_haenszel(BERKELEY, "difference")), rel=1e-12
    )
    for contrast in CONTRASTS:
        estimate = strata.mantel_haenszel(BERKELEY, contrast)
        assert float(strata.score_statistic(BERKELEY, estimate, contrast)) == pytest.approx(
            0, abs=1e-12
        )


@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize("guarded", [False, True])
def test_limits_are_where_the_statistic_meets_its_critical_value(
    contrast: str, guarded: bool
) -> None:
    tables = some_tables(8, (60, 3))
    statistic = strata.guarded_statistic if guarded else strata.score_statistic
    for side in (-1, 1):
        limit = strata.score_limit(tables, 1.8, contrast, side=side, guarded=guarded)
        inside = np.isfinite(limit) & (limit != (side if contrast == "difference" else 0.0))
        assert inside.sum() > 30
        at = statistic(tables.at(inside), limit[inside], contrast)
        np.testing.assert_allclose(at, -side * 1.8, rtol=1e-6)


def test_the_statistic_falls_along_its_null() -> None:
    tables = some_tables(1, (40, 1, 3))
    for contrast in CONTRASTS:
        grid = (
            np.linspace(-0.98, 0.98, 99)
            if contrast == "difference"
            else np.exp(np.linspace(-6, 6, 99))
        )
        wide = Strata.of(
            *(np.repeat(c, 99, axis=1) for c in (tables.k1, tables.n1, tables.k0, tables.n0))
        )
        z = strata.score_statistic(wide, np.broadcast_to(grid, (40, 99)), contrast)
        finite = np.isfinite(z).all(axis=1)
        assert (np.diff(z[finite], axis=1) < 1e-7).all()


def test_skewness_is_that_of_the_weighted_sum() -> None:
    """Witness: the distribution of Σ w S enumerated over all tables at the constrained rates.

    N/(N − 1) taken out.
    """
    tables = Strata.of([3, 2], [5, 4], [6, 2], [9, 6])
    for contrast, theta in (("ratio", 0.8), ("difference", -0.1), ("odds_ratio", 0.5)):
        p1, _, p0, _ = strata.constrained_rates(tables, theta, contrast)
        spaces = [range(n + 1) for n in (5, 4, 9, 6)]
        a, b, c, d = np.array(list(product(*spaces))).T
        every = Strata.of(np.stack([a, b], axis=1), [5, 4], np.stack([c, d], axis=1), [9, 6])
        s, _ = strata.score_parts(every, np.full(a.size, theta), contrast)
        values = (every.weight * s).sum(axis=1)
        chances = (
            binom.pmf(a, 5, p1[0])
            * binom.pmf(b, 4, p1[1])
            * binom.pmf(c, 9, p0[0])
            * binom.pmf(d, 6, p0[1])
        )
        mean = chances @ values
        second = chances @ (values - mean) ** 2
        third = chances @ (values - mean) ** 3
        assert mean == pytest.approx(0, abs=1e-12)
        _, variance = strata.score_parts(tables, theta, contrast)
        total = tables.n1 + tables.n0
        plain = float((tables.weight**2 * variance * (total - 1) / total).sum())
        assert plain == pytest.approx(second, rel=1e-10)
        spread = float((tables.weight**2 * variance).sum())
        found = float(strata.skewness(tables, theta, contrast)) * spread**1.5
        assert found == pytest.approx(third, rel=1e-9)


def test_exact_conditional_test_as_in_r() -> None:
    """R: mantelhaen.test(exact = TRUE) of UCBAdmissions (men against women in R: 1/ψ), and of the
    zeros.
    """
    found = conditional.conditional_test(BERKELEY)
    assert float(found.two_sided) == pytest.approx(0.227762526798, rel=1e-9)
    limits = [float(conditional.conditional_limit(BERKELEY, 0.025, side=side)) for side in (1, -1)]
    # R finds its limits to about 1e-4
    assert 1 / np.array(limits) == pytest.approx([0.769714040581, 1.063416992780], rel=1e-4)
    found = conditional.conditional_test(ZEROS)
    assert float(found.two_sided) == pytest.approx(1.10059203008756e-07, rel=1e-9)
    assert float(found.central) == pytest.approx(1.10059203008756e-07, rel=1e-9)


def test_exact_law_is_the_convolution_enumerated() -> None:
    """Witness: all combinations of two hypergeometric counts, tilted by an odds ratio of 2."""
    tables = Strata.of([3, 1], [6, 4], [2, 5], [7, 9])
    first = hypergeom(13, 5, 6)
    second = hypergeom(13, 6, 4)
    chance: dict[int, float] = {}
    for a, b in product(range(7), range(5)):
        chance[a + b] = chance.get(a + b, 0) + first.pmf(a) * second.pmf(b) * 2.0 ** (a + b)
    total = sum(chance.values())
    chance = {t: p / total for t, p in chance.items()}
    found = conditional.conditional_test(tables, 2.0)
    assert float(found.less) == pytest.approx(
        sum(p for t, p in chance.items() if t <= 4), rel=1e-12
    )
    assert float(found.greater) == pytest.approx(
        sum(p for t, p in chance.items() if t >= 4), rel=1e-12
    )
    two = sum(p for p in chance.values() if p <= chance[4] * (1 + 1e-7))
    assert float(found.two_sided) == pytest.approx(two, rel=1e-12)


def test_breslow_day_tarone_of_informative_strata_only() -> None:
    """statsmodels; a stratum without success, without failure or without a group changes
    nothing.
    """
    witness = in_statsmodels(BERKELEY).test_equal_odds(adjust=True)
    found = homogeneity.homogeneity_test(BERKELEY, "odds_ratio")
    assert float(found.statistic) == pytest.approx(witness.statistic, rel=1e-10)
    assert float(found.pvalue) == pytest.approx(witness.pvalue, rel=1e-9)
    more = ([0, 12, 4], [9, 12, 7], [0, 8, 0], [10, 8, 0])
    columns = (BERKELEY.k1, BERKELEY.n1, BERKELEY.k0, BERKELEY.n0)
    longer = Strata.of(*(np.r_[own, added] for own, added in zip(columns, more, strict=True)))
    for contrast in CONTRASTS:
        one, other = (
            homogeneity.homogeneity_test(tables, contrast) for tables in (BERKELEY, longer)
        )
        assert float(other.degrees_of_freedom) == 5
        if contrast == "odds_ratio":
            assert float(other.statistic) == pytest.approx(float(one.statistic), rel=1e-12)


def test_breslow_day_at_a_pooled_odds_ratio_of_one() -> None:
    """By hand: expected 5 of 10 in all cells, v = 10/4 · ….

    Σ(k − e)²/v with 1/v = 4/5, and Σ(k − e) = 0.
    """
    tables = Strata.of([7, 3], [10, 10], [3, 7], [10, 10])
    found = homogeneity.homogeneity_test(tables, "odds_ratio")
    assert float(found.statistic) == pytest.approx(2 * 2**2 * 4 / 5, rel=1e-12)
    assert float(found.degrees_of_freedom) == 1


def test_homogeneity_by_scores_of_large_strata_is_cochrans_q() -> None:
    """Witness: Q of log ratios and of differences with inverse variances, to which both tend."""
    n = np.full(3, 200_000)
    tables = Strata.of([60_000, 84_000, 100_000], n, [80_000, 104_600, 125_600], n)
    r1 = tables.rate1
    r0 = tables.rate0
    for contrast in ("ratio", "difference"):
        value = np.log(r1 / r0) if contrast == "ratio" else r1 - r0
        variance = (1 - r1) / tables.k1 + (1 - r0) / tables.k0
        if contrast == "difference":
            variance = (r1 * (1 - r1) + r0 * (1 - r0)) / n
        q = np.sum((value - np.average(value, weights=1 / variance)) ** 2 / variance)
        assert float(homogeneity.homogeneity_test(tables, contrast).statistic) == pytest.approx(
            q, rel=0.02
        )


def test_strata_of_one_group_and_their_order_change_nothing() -> None:
    tables = some_tables(4, (20, 3))
    order = [2, 0, 1]
    for contrast in CONTRASTS:
        z = strata.guarded_statistic(tables, np.full(20, 0.3), contrast)
        turned = strata.guarded_statistic(
            tables.at((slice(None), order)), np.full(20, 0.3), contrast
        )
        np.testing.assert_allclose(turned, z, rtol=1e-10)


def test_swapping_the_groups_inverts_ratios_and_turns_differences() -> None:
    tables = some_tables(6, (50, 2))
    swapped = Strata(tables.k0, tables.n0, tables.k1, tables.n1)
    for contrast in CONTRASTS:
        low = strata.score_limit(tables, 1.96, contrast, side=-1)
        high = strata.score_limit(swapped, 1.96, contrast, side=1)
        with np.errstate(divide="ignore"):
            turned = -high if contrast == "difference" else 1 / high
        np.testing.assert_allclose(low, turned, rtol=1e-6, atol=1e-9)


# ---------------------------------------------------------------- the public function


def test_public_function_broadcasts_and_answers_zeros() -> None:
    """D7 of the field's cases: ratio 0, χ² 24.923, p 6.0e-7, exact 1.1e-7."""
    one = fs.rates.stratified([0, 0], [50, 40], [10, 12], [50, 40])
    assert (float(one.estimate), float(one.low)) == (0, 0)
    assert float(one.pvalue) == pytest.approx(5.967e-7, rel=1e-3)
    many = fs.rates.stratified(
        np.zeros((3, 1, 2)), [50, 40], np.array([[10, 12]] * 4), [50, 40], null=0.8
    )
    assert many.estimate.shape == (3, 4)
    assert (many.high == many.high[0, 0]).all()
    assert float(many.high[0, 0]) == pytest.approx(float(one.high), rel=1e-12)
    assert (many.pvalue_less < 1e-5).all()


def test_p_values_and_limits_never_contradict() -> None:
    """Equality and the null are inside the interval exactly where p > .05, exact or not."""
    tables = some_tables(12, (400, 2), (8, 12))
    columns = (tables.k1, tables.n1, tables.k0, tables.n0)
    for contrast, nulls in (
        ("ratio", (1.0, 0.7)),
        ("difference", (0.0, -0.2)),
        ("odds_ratio", (1.0, 2.0)),
    ):
        for null in nulls:
            found = fs.rates.stratified(*columns, contrast=contrast, null=null)
            known = ~np.isnan(found.pvalue) & (np.abs(found.pvalue - 0.05) > 1e-6)
            inside = (found.low <= null) & (null <= found.high)
            if null == nulls[0] or contrast == "odds_ratio":
                np.testing.assert_array_equal(inside[known], found.pvalue[known] > 0.05)
            else:  # an interval that equality was added to may hold more
                assert (inside | (found.pvalue <= 0.05) | ~known).all()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([3], [2], [1], [4]), "`k`"),
        (([1], [2], [1.5], [4]), "`k0`"),
        (([1, 2], [4, 4], [1, 2, 3], [4, 4, 4]), "k, n, k0, n0"),
        ((1, 2, 1, 2), "`k`"),
    ],
)
def test_what_is_no_table_is_refused(arguments: tuple[list[float], ...], named: str) -> None:
    with pytest.raises(fs.InputError, match=named):
        fs.rates.stratified(*arguments)


def test_nulls_are_checked() -> None:
    for contrast, null in (("ratio", 0), ("odds_ratio", -1), ("difference", 1)):
        with pytest.raises(fs.InputError, match="`null`"):
            fs.rates.stratified([1], [2], [1], [2], contrast=contrast, null=null)


def test_errors_that_methods_prints() -> None:
    """3 × (10/300), rates .85 to .97, θ = .9.

    .037/.060 of the plain score in the source, coverage .950.

    20,000 samples: three Monte Carlo errors (.005). Verdicts, which know the skewness, err in at
    most .055."""
    rng = np.random.default_rng(11)
    n1 = np.full(3, 10)
    n0 = np.full(3, 300)
    base = np.array([0.85, 0.91, 0.97])
    samples = 20_000
    tables = Strata.of(
        rng.binomial(n1, 0.9 * base, (samples, 3)), n1, rng.binomial(n0, base, (samples, 3)), n0
    )
    null = np.full(samples, 0.9)
    z = strata.score_statistic(tables, null, "ratio")
    assert np.mean(z < -1.645) == pytest.approx(0.060, abs=0.005)
    assert np.mean(z > 1.645) == pytest.approx(0.040, abs=0.005)
    assert np.mean(np.abs(z) <= 1.96) == pytest.approx(0.950, abs=0.005)
    guarded = strata.guarded_statistic(tables, null, "ratio")
    assert np.mean(guarded < -1.645) < 0.055
    assert np.mean(guarded > 1.645) < 0.055
    assert abs(skew(z)) > 0.2


@pytest.mark.parametrize(("k", "n"), [(400, 420), (150, 151), (190, 200), (9, 200)])
def test_limits_of_strong_effects_have_scipys_tails(k: int, n: int) -> None:
    """At equal rates such counts have probabilities that no floating point number holds.

    Witness: `scipy.stats.nchypergeom_fisher`, Fisher's law at an odds ratio.
    """
    reference_k = 20
    reference_n = 19_000
    tables = Strata(*(np.array([float(value)]) for value in (k, n, reference_k, reference_n)))
    margins = (n + reference_n, k + reference_k, n)
    low = float(conditional.conditional_limit(tables, 0.025, side=-1))
    high = float(conditional.conditional_limit(tables, 0.025, side=1))
    assert nchypergeom_fisher.sf(k - 1, *margins, low) == pytest.approx(0.025, rel=1e-6)
    assert nchypergeom_fisher.cdf(k, *margins, high) == pytest.approx(0.025, rel=1e-6)


def test_laws_of_many_rows_are_made_of_what_counts() -> None:
    """Three strata of 12,000 rows: the law of T by `np.convolve` of SciPy's hypergeometric laws."""
    hits = np.array([[2_100.0, 1_900.0, 2_000.0]])
    sizes = np.full((1, 3), 6_000.0)
    tables = Strata(hits, sizes, hits + np.array([[40.0, 10.0, -20.0]]), sizes)
    law = np.ones(1)
    for stratum in range(3):
        k = int(tables.k1[0, stratum] + tables.k0[0, stratum])
        law = np.convolve(law, hypergeom(12_000, k, 6_000).pmf(np.arange(k + 1)))
    place = int(hits.sum())
    test = conditional.conditional_test(tables)
    assert float(test.less[0]) == pytest.approx(law[: place + 1].sum(), rel=1e-9)
    assert float(test.greater[0]) == pytest.approx(law[place:].sum(), rel=1e-9)
