"""Algorithm 1: the stretch of bandwidths over which MADD varies least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.madd.curve import MaddCurve

__all__ = [
    "StableBandwidth",
    "bandwidth_order",
    "first_ends",
    "label_blind_bins",
    "least_varying",
    "stable_bandwidth",
]

_ROWS_AT_A_TIME = 64
#: Variances this close to the least, relative to the curve's, are computed again, at most so many.
_NEARLY_LEAST = 1e-10
_MOST_EXACT = 1_000
#: MADD values that differ by less are equal.
_ROUNDING = 1e-12


@serialisable
@dataclass(frozen=True)
class StableBandwidth:
    """The stable stretch of bandwidths.

    Attributes
    ----------
    low, high : float
        Its least and its largest bandwidth h, both among those searched.
    mean, std : float
        Mean and (population) standard deviation of MADD over it; the mean is the estimate.
    n_points : int
        Number of bandwidths in it.
    n_searched : int
        Number of bandwidths searched.
    h_sup : float
        Order of the best bandwidth (theorem 2).
    """

    low: float
    high: float
    mean: float
    std: float
    n_points: int
    n_searched: int
    h_sup: float

    @property
    def n_bins(self) -> tuple[int, int]:
        """Fewest and most bins in the stretch."""
        return round(1 / self.high), round(1 / self.low)


def bandwidth_order(n0: float, n1: float) -> float:
    """h_sup = ((√n0 + √n1)/√(n0·n1))^(2/3), the order of the best bandwidth (theorem 2).

    One place of the paper prints the exponent 1/3; 2/3 gives its 0.0737 for 10,000 + 10,000.

    Examples
    --------
    >>> round(bandwidth_order(10_000, 10_000), 4)
    0.0737
    """
    return float((n0**-0.5 + n1**-0.5) ** (2 / 3))


def label_blind_bins(n0: float, n1: float) -> int:
    """Bins m = ⌈1/h_sup⌉ of a grid that depends on the group sizes only; at least 2."""
    return max(int(np.ceil(1 / bandwidth_order(n0, n1))), 2)


def stable_bandwidth(curve: MaddCurve, *, min_points: int = 50, width: float = 0.45) -> StableBandwidth:
    """The stretch of bandwidths with the least standard deviation of MADD (Algorithm 1, as printed).

    Parameters
    ----------
    curve : MaddCurve
        From `madd_curve`.
    min_points : int, default 50
        A stretch runs over at least `min_points` steps of the curve (nbPointsMin).
    width : float, default 0.45
        A stretch is at least `width`·h_sup wide (percent).

    Returns
    -------
    StableBandwidth

    Raises
    ------
    InputError
        If `curve` is none, or no stretch is long and wide enough; where the paper would return the indexes
        (0, 0).

    Notes
    -----
    With h ascending, every stretch (i, j) from the first j that satisfies both conditions to the end of the
    curve is looked at, both ends included; the first of equals wins. Variances come from prefix sums of MADD
    and MADD², O(M²) in all; those within rounding of the least are computed again in two passes.

    References
    ----------
    .. [1] Verger, Fan, Lallé, Bouchet, Luengo (2024). A comprehensive study on evaluating and mitigating
       algorithmic unfairness with the MADD metric. JEDM 16(1), 365–409: Algorithm 1.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> score = np.concatenate([rng.beta(2, 4, 2000), rng.beta(4, 2, 2000)])
    >>> curve = fs.madd_curve(score, sensitive_features=np.repeat(["a", "b"], 2000))
    >>> stable = fs.stable_bandwidth(curve)
    >>> print(f"{stable.mean:.2f} for h from {stable.low:.3f} to {stable.high:.3f}")
    1.25 for h from 0.016 to 0.071
    """
    _check_options(min_points, width)
    _check_curve(curve)
    h_sup = bandwidth_order(curve.n0, curve.n1)
    bandwidth, madd = curve.bandwidth[::-1], curve.madd[::-1]
    first = first_ends(bandwidth, min_points, width * h_sup)
    if not (first < madd.size).any():
        raise InputError(
            "curve",
            got=f"{madd.size} bandwidths, none of whose stretches has more than {min_points} values and is "
            f"{width * h_sup:.3g} wide ({width:g}·h_sup)",
            allowed="a curve with an eligible stretch",
            cure=f"search more bandwidths (max_bins above {min_points + 1}), or lower min_points or width",
        )
    i, j = least_varying(madd, first)
    values = madd[i : j + 1]
    return StableBandwidth(
        low=float(bandwidth[i]),
        high=float(bandwidth[j]),
        mean=float(values[0] + np.mean(values - values[0])),
        std=float(_std(values)),
        n_points=j - i + 1,
        n_searched=madd.size,
        h_sup=h_sup,
    )


def first_ends(bandwidth: NDArray[np.float64], min_points: int, length: float) -> NDArray[np.int64]:
    """First right index of the stretches that start at each bandwidth (rightBoundIndex, lines 21–28).

    Parameters
    ----------
    bandwidth : ndarray, shape (L,)
        Ascending (Lh).
    min_points : int
    length : float
        Least width (intervalLengthMin).

    Returns
    -------
    ndarray of int, shape (L,)
        L where no stretch starts.
    """
    size = bandwidth.size
    right = np.searchsorted(bandwidth, bandwidth + length, side="right") - 1
    first = np.maximum(right, np.arange(size) + min_points)
    first[bandwidth > bandwidth[-1] - length] = size
    return np.minimum(first, size)


def least_varying(madd: NDArray[np.float64], first: NDArray[np.int64]) -> tuple[int, int]:
    """Indexes (i, j) of the stretch with the least standard deviation, the first of equals (lines 18–37).

    Parameters
    ----------
    madd : ndarray, shape (L,)
        In the order of ascending bandwidth (Lmadd).
    first : ndarray of int, shape (L,)
        Stretches of i end at j = first[i], …, L − 1; at least one i has such.
    """
    centred = madd - np.median(madd)
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    size = madd.size
    starts = np.flatnonzero(first < size)
    tolerance = _NEARLY_LEAST * float(np.mean(centred**2))
    least, nearly = np.inf, []
    for block in np.split(starts, range(_ROWS_AT_A_TIME, starts.size, _ROWS_AT_A_TIME)):
        lowest = int(first[block].min())
        ends = np.arange(lowest, size)
        count = (ends + 1) - block[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = (sums[lowest + 1 :] - sums[block][:, None]) / count
            variance = (squares[lowest + 1 :] - squares[block][:, None]) / count - mean**2
        variance[ends < first[block][:, None]] = np.inf
        least = min(least, float(variance.min()))
        row, column = np.nonzero(variance <= least + tolerance)
        nearly.append((block[row], ends[column], variance[row, column]))
    i, j, variance = (np.concatenate(parts) for parts in zip(*nearly, strict=True))
    close = variance <= least + tolerance
    return _first_least(madd, i[close], j[close], variance[close])


def _first_least(
    madd: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64], variance: NDArray[np.float64]
) -> tuple[int, int]:
    """Of stretches that differ by rounding, in their order, the first with the least standard deviation."""
    changes = np.concatenate([[0], np.cumsum(np.abs(np.diff(madd)) > _ROUNDING)])
    constant = np.flatnonzero(changes[i] == changes[j])
    if constant.size:
        return int(i[constant[0]]), int(j[constant[0]])
    chosen = np.sort(np.argsort(variance, kind="stable")[:_MOST_EXACT])
    i, j = i[chosen], j[chosen]
    best = int(np.argmin([_std(madd[a : b + 1]) for a, b in zip(i.tolist(), j.tolist(), strict=True)]))
    return int(i[best]), int(j[best])


def _std(values: NDArray[np.float64]) -> float:
    """Population standard deviation; exactly 0 of equal values."""
    return float(np.std(values - values[0]))


def _check_curve(curve: Any) -> None:
    known = all(hasattr(curve, name) for name in ("bandwidth", "madd", "n0", "n1"))
    if not known or not np.isfinite(curve.madd).all() or not min(curve.n0, curve.n1) > 0:
        raise InputError(
            "curve",
            got=f"a curve of {curve.n0:g} and {curve.n1:g} rows with values that are no numbers"
            if known
            else f"a {type(curve).__name__}",
            allowed="a MaddCurve",
            cure="pass madd_curve(score, sensitive_features=…)",
        )


def _check_options(min_points: int, width: float) -> None:
    if not isinstance(min_points, (int, np.integer)) or isinstance(min_points, bool) or min_points < 1:
        raise InputError(
            "min_points",
            got=repr(min_points),
            allowed="a whole number of at least 1",
            cure="the paper's is 50",
        )
    if not 0 <= width < np.inf:
        raise InputError(
            "width", got=repr(width), allowed="a share of h_sup, at least 0", cure="the paper's is 0.45"
        )
