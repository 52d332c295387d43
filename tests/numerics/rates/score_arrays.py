"""The score intervals of many tables at once, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fairstats.numerics.rates.score import Table, score_statistic
from fairstats.numerics.rates.score_limits import difference_limit, ratio_limit


def ratio_limits(table: Any, critical: float, correction: bool) -> tuple[float, float]:
    """Both ends."""
    return ratio_limit(table, critical, correction, -1), ratio_limit(table, critical, correction, 1)


def difference_limits(
    table: Any, critical: float, correction: bool, continuity: bool = False
) -> tuple[float, float]:
    """Both ends."""
    low, high = (
        difference_limit(table, critical, correction, continuity, side) for side in (-1, 1)
    )
    return low, high


def _of_every_table(
    limits: Callable[..., tuple[float, float]],
    cells: tuple[Any, ...],
    critical: float,
    correction: bool,
) -> tuple[np.ndarray, np.ndarray]:
    arrays = np.broadcast_arrays(*(np.asarray(v, float) for v in cells))
    tables = zip(*(a.ravel().tolist() for a in arrays), strict=True)
    ends = np.array([limits(table, critical, correction) for table in tables])
    return ends[:, 0].reshape(arrays[0].shape), ends[:, 1].reshape(arrays[0].shape)


def ratio_score_interval(
    k0: Any, n0: Any, k1: Any, n1: Any, critical: float, *, correction: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of {ratio : |z(ratio)| ≤ critical}, arrays of the shape of the tables."""
    return _of_every_table(ratio_limits, (k0, n0, k1, n1), critical, correction)


def difference_score_interval(
    k0: Any, n0: Any, k1: Any, n1: Any, critical: float, *, correction: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of {difference : |z(difference)| ≤ critical}, arrays of the shape of the tables."""
    return _of_every_table(difference_limits, (k0, n0, k1, n1), critical, correction)


def limit_by_search(
    table: Table, contrast: Any, critical: float, side: int, *, correction: bool = True
) -> float:
    """An end of {contrast : |z(contrast)| ≤ critical} by SciPy's root finder; of ratios between
    e^−60 and e^60, and 0 or ∞ beyond.
    """
    if contrast == "difference":
        scale: Callable[[float], float] = float
        ends = [-1.0, 1.0]
        outside = [-1.0, 1.0]
    else:
        scale = math.exp
        ends = [-60.0, 60.0]
        outside = [0.0, math.inf]

    def excess(x: float) -> float:
        z = score_statistic(table, contrast, scale(x), correction)
        return min(max(z, -1e6), 1e6) + side * critical

    if excess(ends[0]) * excess(ends[1]) >= 0:
        return outside[side > 0]
    return scale(brentq(excess, *ends, xtol=1e-15, rtol=8.9e-16))
