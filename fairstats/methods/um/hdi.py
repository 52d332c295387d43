"""The shortest interval that holds a share of draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["shortest_interval"]


def shortest_interval(draws: NDArray[np.float64], prob: float) -> tuple[float, float]:
    """Ends of the shortest interval between draws that spans ⌊prob·n⌋ steps, as ArviZ defines the HDI.

    NaN draws are left out; (NaN, NaN) without draws. For several modes take `fs.hdr`.
    """
    ordered = np.sort(draws[~np.isnan(draws)])
    n = ordered.size
    if n == 0:
        return float("nan"), float("nan")
    span = min(int(np.floor(prob * n)), n - 1)
    widths = ordered[span:] - ordered[: n - span]
    first = int(np.argmin(widths))
    return float(ordered[first]), float(ordered[first + span])
