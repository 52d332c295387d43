"""Leaves of a tree that half of the rows fits.

Witnesses: the hypergeometric law of SciPy, a search through all first splits, and the tree of
scikit-learn itself applied to single rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.tree import DecisionTreeClassifier

from fairstats.numerics.rates.leaves import grow_leaves, half_of_rows

CODES = np.array(list(itertools.product(range(2), range(6), range(3))))


def draw_cells(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Cases of the cells, and successes, which the second attribute tells apart from 4 on."""
    rng = np.random.default_rng(seed)
    cases = rng.integers(20, 60, len(CODES))
    rates = np.where(CODES[:, 1] >= 4, 0.2, 0.5)
    return cases.astype(float), rng.binomial(cases, rates).astype(float)


def test_a_half_has_half_of_the_rows_and_is_hypergeometric_in_every_cell() -> None:
    rows = np.array([[7, 3], [0, 11], [4, 2]])
    rng = np.random.default_rng(2)
    halves = np.array([half_of_rows(rows, rng) for _ in range(4_000)])
    assert (halves.sum(axis=(1, 2)) == rows.sum() // 2).all()
    assert (halves <= rows).all()
    law = hypergeom(int(rows.sum()), 7, int(rows.sum()) // 2)
    counted = np.bincount(halves[:, 0, 0], minlength=8) / 4_000
    np.testing.assert_allclose(counted, law.pmf(np.arange(8)), atol=0.025)


def test_leaves_are_a_partition_of_the_cells() -> None:
    cases, successes = draw_cells()
    leaves = grow_leaves(CODES, (2, 6, 3), (True, True, False), successes, cases, depth=3, least=50)
    assert 2 <= len(leaves) <= 8
    assert (np.sum([leaf.cells for leaf in leaves], axis=0) == 1).all()
    for leaf in leaves:
        assert cases[leaf.cells].sum() >= 50


def test_the_first_split_has_the_least_gini_impurity_of_all_that_there_are() -> None:
    cases, successes = draw_cells()
    leaves = grow_leaves(CODES, (2, 6, 3), (True, True, False), successes, cases, depth=1, least=1)
    sides = [CODES[:, 0] == 1]
    sides += [CODES[:, 1] >= cut for cut in range(1, 6)]
    sides += [CODES[:, 2] == value for value in range(3)]

    def impurity(inside: np.ndarray) -> float:
        total = 0.0
        for side in (inside, ~inside):
            rate = successes[side].sum() / cases[side].sum()
            total += cases[side].sum() * 2 * rate * (1 - rate)
        return total

    best = min(sides, key=impurity)
    assert len(leaves) == 2
    assert (leaves[0].cells == best).all() or (leaves[0].cells == ~best).all()
    assert (best == (CODES[:, 1] >= 4)).all()


def test_leaves_are_those_of_scikit_learn_on_single_rows() -> None:
    cases, successes = draw_cells(3)
    leaves = grow_leaves(CODES[:, :2], (2, 6), (True, True), successes, cases, depth=2, least=30)
    failures = cases - successes
    rows = np.repeat(
        np.vstack([CODES[:, :2], CODES[:, :2]]),
        np.concatenate([successes, failures]).astype(int),
        axis=0,
    )
    outcomes = np.repeat([1, 0], [int(successes.sum()), int(failures.sum())])
    tree = DecisionTreeClassifier(max_depth=2, min_samples_leaf=30, random_state=0)
    tree.fit(rows, outcomes)
    of_cells = tree.apply(CODES[:, :2])
    for leaf in leaves:
        assert len(set(of_cells[leaf.cells])) == 1
    assert len(leaves) == len(set(of_cells))


@pytest.mark.parametrize("successes", [0.0, 1.0])
def test_where_nothing_differs_nothing_is_split(successes: float) -> None:
    cases, _ = draw_cells()
    leaves = grow_leaves(
        CODES, (2, 6, 3), (True, True, False), successes * cases, cases, depth=3, least=10
    )
    assert len(leaves) == 1
