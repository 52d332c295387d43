"""Which tables of a whole design exact tests show: regions of counts, found by halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.exact import exact_pvalue

#: Runs of tables of less than this probability do not count.
_RARE = 1e-12


def first_true(true: Callable[[NDArray[np.int64]], NDArray[np.bool_]], rows: int, last: int) -> NDArray[np.int64]:
    """For each row the first count from 0 to `last` at which `true` begins to hold, last + 1 for nowhere."""
    low, high = np.zeros(rows, dtype=np.int64), np.full(rows, last + 1, dtype=np.int64)
    for _ in range((last + 1).bit_length()):
        middle = (low + high) // 2
        holds = true(np.minimum(middle, last)) | (middle > last)
        low, high = np.where(holds, low, np.minimum(middle + 1, high)), np.where(holds, middle, high)
    return high


def exactly_shown(
    tables: tuple[NDArray[Any], int, NDArray[Any], int], chance: Floats, z: Floats, width: Floats, null: float,
    side: str, error: float,
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether exact tests on a side of an end of the fair range show it left, or kept, per table.

    `z`: the statistic, low where they do. With the other direction (`z_evidence`) p + Φ(Φ⁻¹(p) − width) is at most the
    error where p is at most a limit of the table. Along the tables ordered by `z` p rises, so that runs are halved
    until a p before them or that of their last table settles them, or their `chance` is too small to count.
    """
    k, n, j, m = tables
    order = np.argsort(z, kind="stable")
    limit, most = np.full(order.size, error / 2), np.full(order.size, error)
    for _ in range(50):
        middle = (limit + most) / 2
        fine = middle + ndtr(ndtri(middle) - width[order]) <= error
        limit, most = np.where(fine, middle, limit), np.where(fine, most, middle)
    shown, known = np.zeros(order.size, dtype=bool), dict[int, float]()
    runs = [(0, order.size)] if order.size else []
    while runs:
        first, end = runs.pop()
        own, last = limit[first:end], end - 1
        before = max((p for at, p in known.items() if at < first), default=0.0)
        if before > own.max() or chance[order[first:end]].sum() < _RARE:
            continue
        if last not in known:
            table = int(k[order[last]]), n, int(j[order[last]]), m
            known[last] = exact_pvalue(*table, contrast="ratio", null=null, alternative=side)
        if known[last] <= own.min():
            shown[order[first:end]] = True
        elif last > first:
            runs += [((first + end) // 2, end), (first, (first + end) // 2)]
    return shown
