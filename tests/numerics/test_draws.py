"""Random splits of counted rows. Witnesses: NumPy's own draws, SciPy's hypergeometric law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chisquare, hypergeom, kstest, multinomial

from fairstats.numerics import draws
from fairstats.numerics.draws import drawn_rows, redrawn_rows, split_each, split_rows

COUNTS = np.array([10, 19_990, 0, 30_000, 10_000])


def test_few_rows_are_shuffled_by_numpy():
    counts = np.array([4, 0, 6, 5])
    found = split_rows(counts, 9, 5, np.random.default_rng(1))
    wanted = np.random.default_rng(1).multivariate_hypergeometric(counts, 9, size=5, method="count")
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(
        split_each(np.tile(COUNTS, (5, 1)), 20_000, np.random.default_rng(1)).sum(axis=1),
        [20_000] * 5,
    )


def test_halves_have_the_law_of_the_whole(monkeypatch):
    """A bin of ten rows, of 60,000 in four parts.

    A chi-square test of 20,000 draws at level .001.
    """
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
    """3·10⁹ rows: NumPy raises; means and spreads are those of the formula (four standard
    errors).
    """
    counts = np.array([2 * 10**9, 10**9 - 1_000, 1_000])
    found = split_rows(counts, 10**9, 4_000, np.random.default_rng(3))
    rows = counts.sum()
    share = 1 / 3
    assert (found.sum(axis=1) == 10**9).all()
    spread = np.sqrt(counts * share * (1 - share) * (1 - counts / rows))
    assert (np.abs(found.mean(axis=0) - counts * share) < 4 * spread / np.sqrt(4_000)).all()
    np.testing.assert_allclose(found.std(axis=0), spread, rtol=4 * np.sqrt(1 / 8_000))


#: Two million rows: small counts, none, and large ones.
MANY = np.array([3, 500, 0, 400_000, 600_000, 999_497])
SHARES = MANY / MANY.sum()


@pytest.mark.parametrize("kind", ["split", "each", "multinomial"])
def test_many_rows_have_means_and_covariances_of_their_law(kind: str):
    """20,000 draws; covariances of SciPy's multinomial. Four standard errors, √((c_ii c_jj +
    c_ij²)/n) where counts are normal."""
    rng = np.random.default_rng(4)
    n = 20_000
    size = 700_000
    if kind == "multinomial":
        found = drawn_rows(2_000_000, SHARES, n, rng)
        wanted = 2_000_000
        cov = multinomial(wanted, SHARES).cov()
    else:
        each = {"split": MANY, "each": np.tile(MANY, (n, 1))}[kind]
        found = split_rows(each, size, n, rng) if kind == "split" else split_each(each, size, rng)
        wanted = size
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


def uniform_places(found, law, seed):
    """Where whole numbers lie in their law, those of one value spread evenly over its share."""
    within = np.random.default_rng(seed).random(found.size)
    return law.cdf(found - 1) + within * law.pmf(found)


@pytest.mark.parametrize(
    ("rows", "cell", "size"),
    [(4_000, 444, 300), (100_000, 1_000, 3_050), (300, 60, 150), (100_000, 10_000, 1_300)],
    ids=["skewed", "rare", "by NumPy", "together"],
)
def test_a_count_without_replacement_has_its_law(rows: int, cell: int, size: int):
    """50,000 draws beside SciPy's law: .001 by quantiles, .0066 as normal, and the noise at level
    .001 (1.95/√n).
    """
    law = hypergeom(rows, cell, size)
    others = np.array([cell, *np.full(3, (rows - cell) // 3)])
    others[-1] += rows - others.sum()
    found = split_each(np.tile(others, (50_000, 1)), size, np.random.default_rng(5))[:, 0]
    allowed = 0.0066 if law.var() >= draws.NORMAL_FROM else 0.001
    distance = kstest(uniform_places(found, law, 6), "uniform").statistic
    assert distance < allowed + 1.95 / np.sqrt(50_000)


@pytest.mark.parametrize(("rows", "share"), [(1_000, 0.035), (2_000, 0.11), (400, 0.05)])
def test_a_multinomial_count_has_its_law(rows: int, share: float):
    """The same for draws with replacement, variances 34, 196 and 19."""
    shares = np.array([share, 0.4, 0.6 - share])
    found = drawn_rows(rows, shares, 50_000, np.random.default_rng(5))
    assert (found.sum(axis=1) == rows).all()
    law = binom(rows, share)
    allowed = 0.0066 if law.var() >= draws.NORMAL_FROM else 0.001
    distance = kstest(uniform_places(found[:, 0], law, 6), "uniform").statistic
    assert distance < allowed + 1.95 / np.sqrt(50_000)


def test_the_law_of_a_distance_is_that_of_numpys_counts():
    """Σ|X_k/n0 − (c_k − X_k)/n1| of 1,300 beside 20,000 rows in ten bins of variance 122, as drawn
    together: a test at 5% has 5%, to .0015 and the noise of 40,000 draws (three standard errors).
    """
    counts = np.full(10, 2_130)
    drawn, wanted = (
        np.abs(x / 1_300 - (counts - x) / 20_000).sum(axis=1)
        for x in (
            split_rows(counts, 1_300, 40_000, np.random.default_rng(1)),
            np.random.default_rng(2).multivariate_hypergeometric(
                counts, 1_300, size=40_000, method="marginals"
            ),
        )
    )
    noise = 3 * np.sqrt(2 * 0.05 * 0.95 / 40_000)
    assert (wanted > np.quantile(drawn, 0.95)).mean() == pytest.approx(0.05, abs=0.0015 + noise)


@pytest.mark.parametrize("counts", [[30], [7, 0, 23], [400, 300, 300]])
def test_rows_drawn_again_keep_their_number_and_shares(counts: list[int]):
    """Means to four standard errors; an empty cell stays empty."""
    cells = np.array(counts)
    size = cells.sum()
    found = redrawn_rows(cells, 20_000, np.random.default_rng(3))
    assert (found.sum(axis=1) == size).all()
    spread = np.sqrt(cells * (1 - cells / size) / 20_000)
    assert (np.abs(found.mean(axis=0) - cells) <= 4 * spread).all()


def test_a_thousand_million_rows_of_one_value_are_drawn():
    """NumPy refuses it: both parts of the rows must be fewer."""
    found = split_each(np.array([[10**9, 0], [0, 10**9]]), 5, np.random.default_rng(1))
    np.testing.assert_array_equal(found, [[5, 0], [0, 5]])
