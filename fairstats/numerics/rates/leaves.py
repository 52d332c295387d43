"""Leaves of a tree that one half of the rows fits, so that the other half may judge them.

A tree (CART: Breiman et al. 1984) is fitted to the crossed cells of a table. A node of n rows, p of
them successes, is split where the children's impurity Σ n_c·2p_c(1 − p_c)/n (Gini) is least. Which
values make leaves is so chosen by looking at the outcomes; evidence and limits of the same rows
would repeat that look, those of other rows do not (honest splitting: Athey & Imbens 2016). Halves
are drawn from the cells, as halves of the rows would be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats

Whole = NDArray[np.int64]
Allowed = tuple[NDArray[np.bool_], ...]


@dataclass(frozen=True, eq=False)
class Leaf:
    """Cells of one leaf.

    `allowed`: of every attribute which of its values lie in the leaf; `cells`, shape (C,): which
    of the cells do.
    """

    allowed: Allowed
    cells: NDArray[np.bool_]


def half_of_rows(rows: Whole, rng: np.random.Generator) -> Whole:
    """Counts of a random half of the rows, the smaller where their number is odd; shape of `rows`.

    Which rows of a cell are drawn is not seen by any count, so that the cells of a half are
    multivariate hypergeometric.
    """
    n_drawn = int(rows.sum()) // 2
    drawn = rng.multivariate_hypergeometric(rows.ravel(), n_drawn, method="marginals")
    return np.asarray(drawn, dtype=np.int64).reshape(rows.shape)


def grow_leaves(
    codes: Whole,
    n_levels: tuple[int, ...],
    ordered: tuple[bool, ...],
    successes: Floats,
    cases: Floats,
    *,
    depth: int,
    least: int,
) -> list[Leaf]:
    """Leaves of a classification tree (CART, Gini) of the cells.

    Parameters
    ----------
    codes : ndarray of int, shape (C, d)
        Value of each attribute in every cell.
    n_levels : tuple of int
        Number of values of each attribute.
    ordered : tuple of bool
        Whether an attribute is split below and above a value; otherwise one value from the others.
    successes, cases : ndarray, shape (C,)
        Of the half of the rows that fits the tree.
    depth : int
        Most splits above a leaf.
    least : int
        Least cases of a leaf in this half; at most half of all.

    Returns
    -------
    list of Leaf
        They are disjoint, and every cell lies in one; a single one where nothing can be split.
    """
    from sklearn.tree import DecisionTreeClassifier

    columns = _columns_of_tree(n_levels, ordered)
    design = np.column_stack([_tree_column(codes, *column) for column in columns])
    weights = np.concatenate([successes, cases - successes])
    outcomes = np.repeat([1, 0], codes.shape[0])
    used = weights > 0
    fitted = DecisionTreeClassifier(
        max_depth=depth,
        min_weight_fraction_leaf=min(least / float(cases.sum()), 0.5),
        random_state=0,
    ).fit(np.vstack([design, design])[used], outcomes[used], sample_weight=weights[used])
    tree = fitted.tree_
    everything: Allowed = tuple(np.ones(size, dtype=bool) for size in n_levels)
    waiting: list[tuple[int, Allowed]] = [(0, everything)]
    leaves: list[Leaf] = []
    while waiting:
        node, allowed = waiting.pop()
        if tree.children_left[node] < 0:
            leaves.append(Leaf(allowed, _cells_in(codes, allowed)))
            continue
        below = _values_below(columns[tree.feature[node]], tree.threshold[node], n_levels)
        attribute = columns[tree.feature[node]][0]
        for child, side in (
            (tree.children_right[node], ~below),
            (tree.children_left[node], below),
        ):
            narrowed = list(allowed)
            narrowed[attribute] = allowed[attribute] & side
            waiting.append((int(child), tuple(narrowed)))
    return leaves


def _columns_of_tree(n_levels: tuple[int, ...], ordered: tuple[bool, ...]) -> list[tuple[int, int]]:
    """What the tree splits by: (attribute, −1) for the place of its value, else (attribute, value)."""
    columns = []
    for attribute, (size, is_ordered) in enumerate(zip(n_levels, ordered, strict=True)):
        if is_ordered or size <= 2:
            columns.append((attribute, -1))
            continue
        for value in range(size):
            columns.append((attribute, value))
    return columns


def _tree_column(codes: Whole, attribute: int, value: int) -> Floats:
    """The place of the value, or whether it is this one."""
    of_attribute = codes[:, attribute]
    if value < 0:
        return np.asarray(of_attribute, dtype=np.float64)
    return np.asarray(of_attribute == value, dtype=np.float64)


def _values_below(
    column: tuple[int, int], threshold: float, n_levels: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Which values of an attribute go to the left of a split."""
    attribute, value = column
    values = np.arange(n_levels[attribute])
    if value < 0:
        return np.asarray(values <= threshold)
    return np.asarray(values != value)


def _cells_in(codes: Whole, allowed: Allowed) -> NDArray[np.bool_]:
    inside = np.ones(codes.shape[0], dtype=bool)
    for attribute, of_attribute in enumerate(allowed):
        inside &= of_attribute[codes[:, attribute]]
    return inside
