"""Candidate thresholds: those that are given, checked, or a default range of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.numerics.evt.checks import LEAST_EXCEEDANCES, as_count, as_series

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["usable_thresholds"]


def usable_thresholds(series: Floats, thresholds: Any, n_thresholds: int) -> Floats:
    """Thresholds in ascending order, each with at least ten exceedances that are not all equal.

    Default: from the median to the value that ten exceed, the numbers of exceedances in geometric
    progression.
    """
    if thresholds is None:
        wanted = as_count("n_thresholds", n_thresholds, least=2)
        if series.size < 2 * LEAST_EXCEEDANCES + 1:
            raise InputError(
                "x",
                got=f"{series.size} values",
                allowed=f"at least {2 * LEAST_EXCEEDANCES + 1}",
                cure="more values, or thresholds= of one's own",
            )
        ordered = np.sort(series)
        above = np.geomspace(ordered.size // 2, LEAST_EXCEEDANCES, wanted).astype(int)
        u = np.unique(ordered[ordered.size - 1 - above])
        u = u[_exceeding(series, u) >= LEAST_EXCEEDANCES]
        if not u.size:
            raise InputError(
                "x", got="too many ties", allowed="values that differ", cure="thresholds= of one's own"
            )
    else:
        u = np.unique(as_series("thresholds", np.atleast_1d(thresholds)))
    count = _exceeding(series, u)
    if not u.size or count.min() < LEAST_EXCEEDANCES:
        worst = "none" if not u.size else f"{u[count.argmin()]:g}, which {count.min()} values exceed"
        raise InputError(
            "thresholds",
            got=worst,
            allowed=f"numbers that at least {LEAST_EXCEEDANCES} values exceed",
            cure="lower thresholds",
        )
    top = float(series.max())
    if top - float(series[series > u[-1]].min()) <= 1e-13 * abs(top):
        raise InputError(
            "x",
            got=f"values above {u[-1]:g} that all equal {top:g}",
            allowed="exceedances that differ",
            cure="lower thresholds",
        )
    return np.asarray(u)


def _exceeding(series: Floats, u: Floats) -> NDArray[np.int64]:
    ordered = np.sort(series)
    return np.asarray(ordered.size - np.searchsorted(ordered, u, side="right"))
