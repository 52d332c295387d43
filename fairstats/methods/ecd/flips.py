"""Scores of every row as it is and under every other value of the protected attribute, block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.ground.features import FeatureTable
    from fairstats.methods.ecd.protected import Protected

    Floats = NDArray[np.float64]

__all__ = ["flipped_scores"]


def flipped_scores(
    probability: Callable[[Any, int], Floats],
    table: FeatureTable,
    protected: Protected,
    batch: int,
    progress: bool,
) -> tuple[Floats, Floats]:
    """ML(x, z) and ML(x, z′) for every z′ ≠ z.

    Parameters
    ----------
    probability : callable
        From `favourable_probability`.
    table, protected
    batch : int
        Rows in a block.
    progress : bool

    Returns
    -------
    actual : ndarray of float, shape (n,)
        Of the rows that have one of the values, in their order.
    flipped : ndarray of float, shape (n, L − 1)
        Column s has the value (z + s + 1) mod L: for two values, the other one.

    Notes
    -----
    A block costs L calls of the model, two for a binary attribute; only one block is copied at a time.
    """
    from tqdm import tqdm

    levels = len(protected.labels)
    n = int(np.count_nonzero(protected.codes >= 0))
    actual = np.empty(n)
    flipped = np.empty((n, levels - 1), order="F")
    # a row without one of the values (code −1) is flipped like one with the last, and not used
    every = np.arange(levels, dtype=protected.codes.dtype)
    turned = [np.roll(every, -s - 1) for s in range(levels - 1)]
    whole = n == table.n_rows
    starts = range(0, table.n_rows, batch)
    done = 0
    for start in tqdm(starts, desc="counterfactuals", disable=not progress, leave=False):
        stop = min(start + batch, table.n_rows)
        codes = protected.codes[start:stop]
        used = slice(None) if whole else codes >= 0
        count = codes.size if whole else int((codes >= 0).sum())
        if count == 0:
            continue
        here = slice(done, done + count)
        actual[here] = probability(table.block(start, stop), codes.size)[used]
        for s, others in enumerate(turned):
            block = table.block(start, stop, protected.replacement(others[codes]))
            flipped[here, s] = probability(block, codes.size)[used]
        done += count
    return actual, flipped
