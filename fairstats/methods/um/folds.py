"""Folds and half splits, stratified by label and group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.encoding import factorize
from fairstats.ground.errors import DataWarning, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_strata", "fold_labels", "stratified_folds"]


def stratified_folds(strata: NDArray[Any], folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Fold of each row: within every stratum, and in all, fold sizes differ by at most one.

    Rows are dealt to the folds in turn, stratum after stratum, in random order.
    """
    shuffled = rng.permutation(strata.size)
    order = shuffled[np.argsort(strata[shuffled], kind="stable")]
    found = np.empty(strata.size, dtype=np.intp)
    found[order] = rng.permutation(folds)[np.arange(strata.size) % folds]
    return found


def fold_labels(
    cv: Any, X: Any, y: NDArray[Any], strata: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[np.intp], int]:
    """Fold of each row, and K.

    Parameters
    ----------
    cv : int, splitter, or iterable of (train, test)
        An int makes folds stratified by label and group.
    X, y
        Passed to a splitter.
    strata : ndarray of int, shape (n,)
        Label × group of each row.
    rng : Generator

    Raises
    ------
    InputError
        Fewer than two folds, more folds than rows, rows held out twice or never.
    """
    n = strata.size
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if not 2 <= cv <= n:
            raise InputError("cv", got=repr(cv), allowed=f"from 2 to {n} folds", cure="cv=10")
        return stratified_folds(strata, int(cv), rng), int(cv)
    try:
        splits = list(cv.split(X, y) if hasattr(cv, "split") else cv)
    except TypeError as problem:
        raise InputError(
            "cv",
            got=type(cv).__name__,
            allowed="a number of folds, a splitter with split(X, y), or a list of (train, test)",
            cure="cv=10",
        ) from problem
    held_out = np.zeros(n, dtype=np.intp)
    fold = np.full(n, -1, dtype=np.intp)
    partial = 0
    for k, (train, test) in enumerate(splits):
        rows, others = _positions(test), _positions(train)
        held_out[rows] += 1
        fold[rows] = k
        partial += int(not np.array_equal(np.union1d(rows, others), np.arange(n)))
    if len(splits) < 2 or (held_out != 1).any() or partial:
        raise InputError(
            "cv",
            got=f"{len(splits)} splits; {int((held_out > 1).sum())} rows held out more than once, "
            f"{int((held_out == 0).sum())} never; {partial} splits train on some of the other rows only",
            allowed="K ≥ 2 folds that hold out every row once and train on all others: K-fold CV",
            cure="use StratifiedKFold or KFold; repeat with another rng for more partitions",
        )
    return fold, len(splits)


def _positions(rows: Any) -> NDArray[Any]:
    """Positions of rows given as such or as a mask."""
    given = np.asarray(rows)
    return np.flatnonzero(given) if given.dtype == bool else given


def given_folds(fold: Any, n: int) -> tuple[NDArray[np.intp], int]:
    """Folds of predictions that are already there."""
    if fold is None:
        raise InputError(
            "fold",
            got="None beside y_pred",
            allowed="the fold in which each row was held out",
            cure="for k, (_, test) in enumerate(splits): fold[test] = k",
        )
    factor = factorize(fold, "fold")
    if factor.codes.size != n or factor.has_missing or len(factor.levels) < 2:
        raise InputError(
            "fold",
            got=f"{factor.codes.size:,} values with {len(factor.levels)} folds"
            + (", some missing" if factor.has_missing else ""),
            allowed=f"the fold in which each of the {n:,} rows was held out, two folds or more",
            cure="fold=np.concatenate([...]) in the order of y",
        )
    return factor.codes.astype(np.intp), len(factor.levels)


def check_strata(strata: NDArray[Any], fold: NDArray[np.intp], folds: int, groups: tuple[str, ...]) -> None:
    """Raise where a training part lacks a label, warn where K exceeds the smallest class of a group.

    `strata` is 2·group + label.
    """
    label = strata % 2
    for k in range(folds):
        for value in (0, 1):
            if not (label[fold != k] == value).any():
                raise InputError(
                    "cv",
                    got=f"fold {k}, without which no row is {'un' if value == 0 else ''}favourable",
                    allowed="folds that leave both labels in every training part",
                    cure="use fewer folds, or stratify them by label",
                )
    sizes = np.bincount(strata, minlength=2 * len(groups)).reshape(-1, 2)
    small = [
        f"{groups[g]!r} with {int(size)} {'favourable' if value else 'unfavourable'}"
        for (g, value), size in np.ndenumerate(sizes)
        if size < folds
    ]
    if small:
        caution(
            f"{folds} folds, but fewer rows of a label in a group: {', '.join(small)}. Some folds hold out "
            "none of them; the counts are summed over folds, so that the posterior stands.",
            DataWarning,
        )
