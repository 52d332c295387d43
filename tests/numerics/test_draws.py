"""Random splits of counted rows. Witnesses: NumPy's own draws, SciPy's hypergeometric law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare, hypergeom

from fairstats.numerics import draws
from fairstats.numerics.draws import split_each, split_rows

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
