"""Random splits of counted rows. Witnesses: NumPy's own draws, SciPy's hypergeometric law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chisquare, hypergeom, kstest, multinomial

from fairstats.numerics import draws
from fairstats.numerics.draws import drawn_rows, split_each, split_rows

COUNTS = np.array([10, 19_990, 0, 30_000, 10_000])


def test_fewer_rows_are_drawn_by_numpy():
    found = split_rows(COUNTS, 20_000, 5, np.random.default_rng(1))
    wanted = np.random.default_rng(1).multivariate_hypergeometric(COUNTS, 20_000, size=5, method="marginals")
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(
        split_each(np.tile(COUNTS, (5, 1)), 20_000, np.random.default_rng(1)).sum(axis=1), [20_000] * 5
    )


def test_halves_have_the_law_of_the_whole(monkeypatch):
    """A bin of ten rows, of 60,000 in four parts: a chi-square test of 20,000 draws at level .001."""
    monkeypatch.setattr(draws, "TOO_MANY", 20_000)
    found = split_rows(COUNTS, 24_000, 20_000, np.random.default_rng(2))
    assert (found.sum(axis=1) == 24_000).all()
    assert ((found >= 0) & (found <= COUNTS)).all()
    law = hypergeom(60_000, 10, 24_000).pmf(np.arange(11)) * 20_000
    seen = np.bincount(found[:, 0], minlength=11)
    # the two rarest values together with their neighbours: expected 5 or more in each
    groups = [[0], *[[k] for k in range(1, 8)], [8, 9, 10]]
    tested = chisquare([seen[g].sum() for g in groups], [law[g].sum() for g in groups])
    assert tested.pvalue > 0.001
    own = hypergeom(60_000, 30_000, 24_000)
    # a variance of 20,000 draws: four standard errors √(2/n)
    assert found[:, 3].var() == pytest.approx(own.var(), rel=4 * np.sqrt(2 / 20_000))
    assert found[:, 3].mean() == pytest.approx(own.mean(), abs=4 * own.std() / np.sqrt(20_000))


def test_rows_beyond_the_reach_of_numpy():
    """3·10⁹ rows: NumPy raises; means and spreads are those of the formula (four standard errors)."""
    counts = np.array([2 * 10**9, 10**9 - 1_000, 1_000])
    found = split_rows(counts, 10**9, 4_000, np.random.default_rng(3))
    rows, share = counts.sum(), 1 / 3
    assert (found.sum(axis=1) == 10**9).all()
    spread = np.sqrt(counts * share * (1 - share) * (1 - counts / rows))
    assert (np.abs(found.mean(axis=0) - counts * share) < 4 * spread / np.sqrt(4_000)).all()
    np.testing.assert_allclose(found.std(axis=0), spread, rtol=4 * np.sqrt(1 / 8_000))


#: Two million rows: small counts, none, and large ones.
MANY = np.array([3, 500, 0, 400_000, 600_000, 999_497])
SHARES = MANY / MANY.sum()


@pytest.mark.parametrize("kind", ["split", "each", "multinomial"])
def test_many_rows_have_means_and_covariances_of_their_law(kind: str):
    """20,000 draws; covariances of SciPy's multinomial. Four standard errors, √((c_ii c_jj + c_ij²)/n) where
    counts are normal.
    """
    rng, n, size = np.random.default_rng(4), 20_000, 700_000
    if kind == "multinomial":
        found, wanted = drawn_rows(2_000_000, SHARES, n, rng), 2_000_000
        cov = multinomial(wanted, SHARES).cov()
    else:
        each = {"split": MANY, "each": np.tile(MANY, (n, 1))}[kind]
        found, wanted = ((split_rows(each, size, n, rng) if kind == "split" else split_each(each, size, rng)), size)
        # the multinomial covariance with the factor of a finite population
        cov = multinomial(wanted, SHARES).cov() * (2_000_000 - size) / (2_000_000 - 1)
    mean = wanted * SHARES
    assert (found >= 0).all()
    assert (found.sum(axis=1) == wanted).all()
    assert (np.abs(found.mean(axis=0) - mean) <= 4 * np.sqrt(np.diag(cov) / n)).all()
    error = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / n)
    # of the rarest count, 3 rows, the fourth moment is larger
    assert (np.abs(np.cov(found.T) - cov)[1:, 1:] <= 4 * error[1:, 1:]).all()
    if kind == "multinomial":
        np.testing.assert_allclose(found[:, 0].var(), 3, rtol=4 * np.sqrt((2 + 1 / 3) / n))


def test_a_large_count_of_many_rows_has_its_law():
    """A count at the limit, variance 400: 20,000 draws within .0033 and the noise at level .001 (1.95/√n)."""
    shares = np.array([400.16e-6, 0.4, 1 - 0.4 - 400.16e-6])
    found = drawn_rows(1_000_000, shares, 20_000, np.random.default_rng(5))[:, 0]
    # ties of whole numbers: both sides spread evenly over their unit
    rng, law = np.random.default_rng(6), binom(1_000_000, shares[0])
    spread = found + rng.random(found.size)

    def cdf(x):
        whole = np.floor(x)
        return law.cdf(whole - 1) + (x - whole) * law.pmf(whole)

    assert kstest(spread, cdf).statistic < 0.0033 + 1.95 / np.sqrt(20_000)


def test_fewer_rows_are_multinomial_by_numpy():
    shares = np.array([0.2, 0.3, 0.5])
    wanted = np.random.default_rng(1).multinomial(999_999, shares, size=4)
    np.testing.assert_array_equal(drawn_rows(999_999, shares, 4, np.random.default_rng(1)), wanted)


def test_a_thousand_million_rows_of_one_value_are_drawn():
    """NumPy refuses it: both parts of the rows must be fewer."""
    found = split_each(np.array([[10**9, 0], [0, 10**9]]), 5, np.random.default_rng(1))
    np.testing.assert_array_equal(found, [[5, 0], [0, 5]])
