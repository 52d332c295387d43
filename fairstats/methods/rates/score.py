"""Score intervals for the ratio and the difference of two rates (Miettinen & Nurminen 1985).

The interval holds every θ that the score test does not reject: |z(θ)| ≤ z_{1−α/2}, where z uses the maximum
likelihood estimates of both rates under the constraint. Without the factor N/(N−1) these are Koopman's (1984)
interval for the ratio and Mee's (1984) for the difference. All functions are vectorised over tables.

statsmodels 0.15 has these intervals with faults (difference: wrong limits; ratio: complex or NaN at full and
empty cells), hence our own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "difference_score_interval",
    "difference_score_statistic",
    "ratio_score_interval",
    "ratio_score_statistic",
]

_LOG_SPAN = 60.0


def _ratio_constrained(
    k0: NDArray[Any], n0: NDArray[Any], k1: NDArray[Any], n1: NDArray[Any], ratio: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Maximum likelihood rates with p₀ = ratio·p₁: the smaller root of a quadratic, in its stable form."""
    a = (n0 + n1) * ratio
    b = n0 * ratio + k0 + n1 + k1 * ratio
    c = k0 + k1
    root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
    p1 = np.minimum(2 * c / (b + root), np.minimum(1.0, 1.0 / ratio))
    return ratio * p1, p1


def ratio_score_statistic(
    k0: ArrayLike, n0: ArrayLike, k1: ArrayLike, n1: ArrayLike, ratio: ArrayLike, *, correction: bool = True
) -> NDArray[np.float64]:
    """Score statistic z of H0: p₀/p₁ = ratio; positive where the estimate lies above.

    Parameters
    ----------
    k0, n0, k1, n1 : array-like of float
        Successes and cases of the group and of the reference; broadcast against each other.
    ratio : array-like of float
        Ratio under the null hypothesis, > 0.
    correction : bool, default True
        The factor N/(N−1) of Miettinen & Nurminen.

    Returns
    -------
    ndarray of float
    """
    k0, n0, k1, n1, ratio = np.broadcast_arrays(*(np.asarray(v, float) for v in (k0, n0, k1, n1, ratio)))
    p0, p1 = _ratio_constrained(k0, n0, k1, n1, ratio)
    variance = p0 * (1 - p0) / n0 + ratio**2 * p1 * (1 - p1) / n1
    return _standardised(k0 / n0 - ratio * (k1 / n1), variance, n0 + n1, correction)


def _difference_constrained(
    k0: NDArray[Any], n0: NDArray[Any], k1: NDArray[Any], n1: NDArray[Any], difference: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Maximum likelihood rates with p₀ = p₁ + difference: a root of a cubic (Farrington & Manning 1990)."""
    f0, f1 = k0 / n0, k1 / n1
    theta = n1 / n0
    a = 1 + theta
    b = -(1 + theta + f0 + theta * f1 + difference * (theta + 2))
    c = difference**2 + difference * (2 * f0 + theta + 1) + f0 + theta * f1
    d = -f0 * difference * (1 + difference)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = np.sign(v) * np.sqrt(np.maximum(b**2 / (3 * a) ** 2 - c / (3 * a), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        angle = np.where(u == 0, 0.0, np.clip(v / u**3, -1.0, 1.0))
    p0 = 2 * u * np.cos((np.pi + np.arccos(angle)) / 3) - b / (3 * a)
    low, high = np.maximum(0.0, difference), np.minimum(1.0, 1.0 + difference)
    p0 = np.clip(p0, low, high)
    for _ in range(3):  # the trigonometric root loses digits where two roots meet
        slope = (3 * a * p0 + 2 * b) * p0 + c
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(np.abs(slope) > 1e-9, (((a * p0 + b) * p0 + c) * p0 + d) / slope, 0.0)
        p0 = np.clip(np.where(np.abs(step) < 1e-3, p0 - step, p0), low, high)
    return p0, np.clip(p0 - difference, 0.0, 1.0)


def difference_score_statistic(
    k0: ArrayLike,
    n0: ArrayLike,
    k1: ArrayLike,
    n1: ArrayLike,
    difference: ArrayLike,
    *,
    correction: bool = True,
) -> NDArray[np.float64]:
    """Score statistic z of H0: p₀ − p₁ = difference; positive where the estimate lies above.

    Parameters
    ----------
    k0, n0, k1, n1 : array-like of float
        Successes and cases of the group and of the reference.
    difference : array-like of float
        Difference under the null hypothesis, in (−1, 1).
    correction : bool, default True
        The factor N/(N−1) of Miettinen & Nurminen.
    """
    k0, n0, k1, n1, difference = np.broadcast_arrays(
        *(np.asarray(v, float) for v in (k0, n0, k1, n1, difference))
    )
    p0, p1 = _difference_constrained(k0, n0, k1, n1, difference)
    variance = p0 * (1 - p0) / n0 + p1 * (1 - p1) / n1
    return _standardised(k0 / n0 - k1 / n1 - difference, variance, n0 + n1, correction)


def _standardised(
    distance: NDArray[np.float64], variance: NDArray[np.float64], total: NDArray[Any], correction: bool
) -> NDArray[np.float64]:
    if correction:
        variance = variance * total / (total - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = distance / np.sqrt(variance)
    return np.where(variance > 0, z, np.where(distance == 0, 0.0, np.copysign(np.inf, distance)))


def ratio_score_interval(
    k0: ArrayLike, n0: ArrayLike, k1: ArrayLike, n1: ArrayLike, critical: float, *, correction: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of {ratio : |z(ratio)| ≤ critical}.

    Parameters
    ----------
    k0, n0, k1, n1 : array-like of float
        Successes and cases of the group and of the reference, n > 0.
    critical : float
        Normal (or t) quantile, e.g. 1.96.
    correction : bool, default True
        Miettinen–Nurminen (True) or Koopman (False).

    Returns
    -------
    low, high : ndarray of float
        In [0, ∞]; 0 and ∞ where neither group has a success.

    Examples
    --------
    >>> from fairstats.methods.rates.score import ratio_score_interval
    >>> low, high = ratio_score_interval(8, 30, 15, 30, 1.959963984540054)
    >>> print(f"{low:.4f} {high:.4f}")
    0.2613 1.0388
    """
    k0, n0, k1, n1 = np.broadcast_arrays(*(np.asarray(v, float) for v in (k0, n0, k1, n1)))

    def statistic(x: Any, a: Any, b: Any, c: Any, d: Any) -> NDArray[np.float64]:
        return ratio_score_statistic(a, b, c, d, np.exp(x), correction=correction)

    with np.errstate(divide="ignore", invalid="ignore"):
        center = np.log(k0 / n0) - np.log(k1 / n1)
    center = np.where(np.isfinite(center), center, np.where(k1 == 0, _LOG_SPAN, -_LOG_SPAN))
    edge = np.full_like(center, _LOG_SPAN)
    low = _solve(statistic, critical, -edge, center, (k0, n0, k1, n1))
    high = _solve(statistic, -critical, center, edge, (k0, n0, k1, n1))
    return np.where(k0 == 0, 0.0, np.exp(low)), np.where(k1 == 0, np.inf, np.exp(high))


def difference_score_interval(
    k0: ArrayLike, n0: ArrayLike, k1: ArrayLike, n1: ArrayLike, critical: float, *, correction: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of {difference : |z(difference)| ≤ critical}, in [−1, 1].

    Parameters are those of `ratio_score_interval`.

    Examples
    --------
    >>> from fairstats.methods.rates.score import difference_score_interval
    >>> low, high = difference_score_interval(15, 100, 25, 100, 1.959963984540054)
    >>> print(f"{low:.4f} {high:.4f}")
    -0.2114 0.0114
    """
    k0, n0, k1, n1 = np.broadcast_arrays(*(np.asarray(v, float) for v in (k0, n0, k1, n1)))

    def statistic(x: Any, a: Any, b: Any, c: Any, d: Any) -> NDArray[np.float64]:
        return difference_score_statistic(a, b, c, d, x, correction=correction)

    center = k0 / n0 - k1 / n1
    edge = np.ones_like(center)
    low = _solve(statistic, critical, -edge, center, (k0, n0, k1, n1))
    high = _solve(statistic, -critical, center, edge, (k0, n0, k1, n1))
    return np.where(center == -1, -1.0, low), np.where(center == 1, 1.0, high)


def _solve(
    statistic: Callable[..., NDArray[np.float64]],
    target: float,
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    table: tuple[NDArray[Any], ...],
) -> NDArray[np.float64]:
    """Where the decreasing statistic meets the target, between left and right; NaN where it does not."""
    from scipy.optimize import elementwise

    def distance(x: NDArray[np.float64], *cells: NDArray[Any]) -> NDArray[np.float64]:
        return np.clip(statistic(x, *cells), -1e6, 1e6) - target

    solution = elementwise.find_root(
        distance,
        (left, right),
        args=table,
        tolerances={"xatol": 0.0, "xrtol": 1e-15, "fatol": 0.0, "frtol": 0.0},
    )
    return np.asarray(solution.x, dtype=np.float64)
