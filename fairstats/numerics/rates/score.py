"""Score tests of two rates: statistic and intervals.

With r_g = k_g/n_g, and p̃_g their maximum likelihood estimates under p₀ = θp₁ (p₀ = p₁ + δ),

    z(θ) = (r₀ − θr₁) / √{c·[p̃₀(1 − p̃₀)/n₀ + θ²·p̃₁(1 − p̃₁)/n₁]},
    z(δ) = (r₀ − r₁ − δ) / √{c·[p̃₀(1 − p̃₀)/n₀ + p̃₁(1 − p̃₁)/n₁]},    c = N/(N − 1), N = n₀ + n₁,
    z(ψ) = n₀(r₀ − p̃₀)·√{[1/(n₀p̃₀q̃₀) + 1/(n₁p̃₁q̃₁)]/c},    q̃ = 1 − p̃,  ψ the odds ratio.

The estimates are roots of one equation, with m = k₀ + k₁ (Farrington & Manning 1990, in whose
notation θ is n₁/n₀ for a difference):

    ratio        N·θ·p̃₁² − b·p̃₁ + m = 0,  b = n₀θ + k₀ + n₁ + k₁θ,  the smaller root;  p̃₀ = θp̃₁
    difference   a·p̃₀³ + b·p̃₀² + c·p̃₀ + d = 0,  p̃₁ = p̃₀ − δ:  p̃₀ = 2u·cos w − b/(3a),
                 a = 1 + θ,  b = −[1 + θ + r₀ + θr₁ + δ(θ + 2)],
                 c = δ² + δ(2r₀ + θ + 1) + r₀ + θr₁,  d = −r₀δ(1 + δ),
                 v = (b/3a)³ − bc/(6a²) + d/(2a),  u = sign(v)·√{(b/3a)² − c/(3a)},
                 w = [π + arccos(v/u³)]/3
    odds ratio   a·p̃₁² + b·p̃₁ − m = 0,  a = n₁(ψ − 1),  b = n₁ + n₀ψ − m(ψ − 1);
                 p̃₀ = ψp̃₁/(q̃₁ + ψp̃₁).

The interval holds every θ that the score test, with the maximum likelihood estimates of both rates
under the constraint, does not reject (Miettinen & Nurminen 1985). Without the factor N/(N−1) these
are Koopman's (1984) interval for the ratio and Mee's (1984) for the difference.

statsmodels 0.15 has these intervals with faults (difference: wrong limits; ratio: complex or NaN at
full and empty cells), hence our own. The statistics are written twice: in plain floats for one
table, which an interval needs, and for arrays of tables, of which an exact test needs thousands (a
whole public call is 18 and 5 times slower with the other one). A test holds the two together to
1e-12.
"""

from __future__ import annotations

from collections.abc import Callable
from math import acos, copysign, cos, inf, pi, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairstats.ground.checks import Floats

LOG_SPAN = 60.0
Table = tuple[float, float, float, float]
Contrast = Literal["ratio", "difference", "odds_ratio"]
#: The value of each contrast where both rates are equal.
EQUALITY: dict[str, float] = {"ratio": 1.0, "difference": 0.0, "odds_ratio": 1.0}
#: Estimate and null value that differ by less cannot be told apart where the variance is 0: 1 −
#: 1e-16 is 1.
NOT_APART = 1e-14


def ratio_statistic(
    table: Table,
    ratio: float,
    correction: bool,
    continuity: bool = False,
) -> float:
    """Score statistic of H0: p₀/p₁ = ratio for a table (k₀, n₀, k₁, n₁).

    With the continuity correction k₀/n₀ − ratio·k₁/n₁ is less by (1/n₀ + ratio/n₁)/2, at least 0.
    """
    k0, n0, k1, n1 = table
    total = n0 + n1
    b = n0 * ratio + k0 + n1 + k1 * ratio
    c = k0 + k1
    root = sqrt(max(b * b - 4 * total * ratio * c, 0.0))
    p1 = min(2 * c / (b + root), 1.0, 1.0 / ratio)
    p0 = ratio * p1
    variance = p0 * (1 - p0) / n0 + ratio * ratio * p1 * (1 - p1) / n1
    distance = k0 / n0 - ratio * (k1 / n1)
    if continuity:
        distance = copysign(max(abs(distance) - (1 / n0 + ratio / n1) / 2, 0.0), distance)
    return _standardise_distance(distance, variance, total, correction)


def difference_statistic(
    table: Table,
    difference: float,
    correction: bool,
    continuity: bool = False,
) -> float:
    """Score statistic of H0: p₀ − p₁ = difference for a table (k₀, n₀, k₁, n₁).

    With the continuity correction the distance from the estimate is less by (1/n₀ + 1/n₁)/2, at
    least 0.
    """
    k0, n0, k1, n1 = table
    f0 = k0 / n0
    f1 = k1 / n1
    theta = n1 / n0
    a = 1 + theta
    b = -(1 + theta + f0 + theta * f1 + difference * (theta + 2))
    c = difference * difference + difference * (2 * f0 + theta + 1) + f0 + theta * f1
    d = -f0 * difference * (1 + difference)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a * a) + d / (2 * a)
    u = copysign(sqrt(max(b * b / (9 * a * a) - c / (3 * a), 0.0)), v)
    angle = 0.0 if u == 0 or u**3 == 0 else min(max(v / u**3, -1.0), 1.0)
    low = max(0.0, difference)
    high = min(1.0, 1.0 + difference)
    p0 = min(max(2 * u * cos((pi + acos(angle)) / 3) - b / (3 * a), low), high)
    for _ in range(3):  # the trigonometric root loses digits where two roots meet
        slope = (3 * a * p0 + 2 * b) * p0 + c
        if abs(slope) <= 1e-9:
            break
        step = (((a * p0 + b) * p0 + c) * p0 + d) / slope
        if abs(step) >= 1e-3:
            break
        p0 = min(max(p0 - step, low), high)
    p1 = min(max(p0 - difference, 0.0), 1.0)
    variance = p0 * (1 - p0) / n0 + p1 * (1 - p1) / n1
    distance = f0 - f1 - difference
    if continuity:
        distance = copysign(max(abs(distance) - (1 / n0 + 1 / n1) / 2, 0.0), distance)
    return _standardise_distance(distance, variance, n0 + n1, correction)


def odds_ratio_statistic(
    table: Table,
    odds_ratio: float,
    correction: bool,
    continuity: bool = False,
) -> float:
    """Score statistic of H0: odds of p₀ over odds of p₁ = odds ratio for a table (k₀, n₀, k₁, n₁).

    n₀(k₀/n₀ − p̃₀)·√(1/(n₀p̃₀q̃₀) + 1/(n₁p̃₁q̃₁)) (Miettinen & Nurminen 1985); at 1 the statistic
    of equal rates.
    """
    k0, n0, k1, n1 = table
    total = k0 + k1
    if not 0 < total < n0 + n1:
        return 0.0
    # successes under ψ are failures under 1/ψ: by both ways neither p̃₁ nor 1 − p̃₁ loses its
    # digits
    p1 = _solve_reference_rate(total, n0, n1, odds_ratio)
    q1 = _solve_reference_rate(n0 + n1 - total, n0, n1, 1 / odds_ratio)
    odds = q1 + odds_ratio * p1
    p0 = odds_ratio * p1 / odds
    q0 = q1 / odds
    spread = 1 / (n0 * p0 * q0) + 1 / (n1 * p1 * q1)
    distance = k0 - n0 * p0
    if continuity:
        distance = copysign(max(abs(distance) - 0.5, 0.0), distance)
    z = distance * sqrt(spread)
    return z * sqrt((n0 + n1 - 1) / (n0 + n1)) if correction else z


def _solve_reference_rate(hits: float, n0: float, n1: float, odds_ratio: float) -> float:
    """p̃₁ of `rates_with_odds_ratio` for one table, in plain floats."""
    a = n1 * (odds_ratio - 1)
    b = n1 + n0 * odds_ratio - hits * (odds_ratio - 1)
    root = sqrt(max(b * b + 4 * a * hits, 0.0))
    if b > 0:
        return 2 * hits / (b + root)
    return (root - b) / (2 * a)


def score_statistic(
    table: Table,
    contrast: Contrast,
    null: float,
    correction: bool = False,
    continuity: bool = False,
) -> float:
    """Score statistic of H0: contrast = null for a table (k, n, k₀, n₀).

    Positive where the estimate lies above.
    """
    return STATISTICS[contrast](table, null, correction, continuity)


#: The score statistic of each contrast.
STATISTICS: dict[str, Callable[..., float]] = {
    "ratio": ratio_statistic,
    "difference": difference_statistic,
    "odds_ratio": odds_ratio_statistic,
}


def _standardise_distance(
    distance: float,
    variance: float,
    total: float,
    correction: bool,
) -> float:
    """Distance over its standard error.

    0 where N/(N − 1) is no number: groups whose effective cases are not worth one case together
    exclude nothing.
    """
    if correction and total <= 1:
        return 0.0
    if variance <= 0:
        return 0.0 if abs(distance) < NOT_APART else copysign(inf, distance)
    return distance / sqrt(variance * total / (total - 1) if correction else variance)


def ratio_score_statistic(
    k0: ArrayLike,
    n0: ArrayLike,
    k1: ArrayLike,
    n1: ArrayLike,
    ratio: ArrayLike,
    *,
    correction: bool = True,
) -> Floats:
    """Score statistic z of H0: p₀/p₁ = ratio; positive where the estimate lies above.

    Arrays broadcast.
    """
    k0, n0, k1, n1, ratio = (np.asarray(v, dtype=np.float64) for v in (k0, n0, k1, n1, ratio))
    p0, p1 = rates_with_ratio(k0, n0, k1, n1, ratio)
    variance = p0 * (1 - p0) / n0 + ratio**2 * p1 * (1 - p1) / n1
    return _standardise_distances(k0 / n0 - ratio * (k1 / n1), variance, n0 + n1, correction)


def rates_with_ratio(
    k0: Floats,
    n0: Floats,
    k1: Floats,
    n1: Floats,
    ratio: Floats,
) -> tuple[Floats, Floats]:
    """Maximum likelihood estimates of two rates p₀ and p₁ whose ratio θ = p₀/p₁ is given.

    Arrays broadcast. p₁ is the smaller root of

        (n₀ + n₁)θ p₁² − [n₀θ + k₀ + n₁ + k₁θ] p₁ + k₀ + k₁ = 0

    in its stable form (Miettinen & Nurminen 1985).
    """
    b = n0 * ratio + k0 + n1 + k1 * ratio
    successes = k0 + k1
    root = np.sqrt(np.maximum(b * b - 4 * (n0 + n1) * ratio * successes, 0.0))
    p1 = np.minimum(2 * successes / (b + root), np.minimum(1.0, 1.0 / ratio))
    return np.minimum(ratio * p1, 1.0), p1


def rates_with_difference(
    f0: Floats,
    f1: Floats,
    share: Floats,
    difference: Floats,
) -> tuple[Floats, Floats]:
    """Maximum likelihood estimates of two rates p₀ and p₁ whose difference p₀ − p₁ is given.

    Arrays broadcast.

    With the observed rates f₀, f₁, `share` λ = n₁/n₀ and δ the difference, p₀ is the root of

        (1 + λ) p³ − [1 + λ + f₀ + λf₁ + δ(λ + 2)] p² + [δ² + δ(2f₀ + λ + 1) + f₀ + λf₁] p − f₀δ(1 +
        δ) = 0

    between max(0, δ) and min(1, 1 + δ), in trigonometric form (Farrington & Manning 1990).
    """
    # Products instead of powers: NumPy's general power costs as much as all the rest.
    a = 1 + share
    third = 3 * a
    b = -(1 + share + f0 + share * f1 + difference * (share + 2))
    c = difference * difference + difference * (2 * f0 + share + 1) + f0 + share * f1
    d = -f0 * difference * (1 + difference)
    centre = b / third
    v = centre * centre * centre - b * c / (6 * a * a) + d / (2 * a)
    u = np.copysign(np.sqrt(np.maximum(centre * centre - c / third, 0.0)), v)
    cube = u * u * u
    with np.errstate(divide="ignore", invalid="ignore"):
        angle = np.where(cube == 0, 0.0, np.clip(v / cube, -1.0, 1.0))
    low = np.maximum(0.0, difference)
    high = np.minimum(1.0, 1.0 + difference)
    p0 = np.clip(2 * u * np.cos((np.pi + np.arccos(angle)) / 3) - centre, low, high)
    for _ in range(3):  # the trigonometric root loses digits where two roots meet
        slope = (third * p0 + 2 * b) * p0 + c
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
    continuity: ArrayLike = False,
) -> Floats:
    """Score statistic z of H0: p₀ − p₁ = difference; positive where the estimate lies above.

    Of arrays.
    """
    k0, n0, k1, n1, difference = (
        np.asarray(v, dtype=np.float64) for v in (k0, n0, k1, n1, difference)
    )
    f0 = k0 / n0
    f1 = k1 / n1
    p0, p1 = rates_with_difference(f0, f1, n1 / n0, difference)
    variance = p0 * (1 - p0) / n0 + p1 * (1 - p1) / n1
    distance = f0 - f1 - difference
    less = np.where(continuity, (1 / n0 + 1 / n1) / 2, 0.0)
    distance = np.copysign(np.maximum(np.abs(distance) - less, 0.0), distance)
    return _standardise_distances(distance, variance, n0 + n1, correction)


def rates_with_odds_ratio(
    hits: Floats,
    n0: Floats,
    n1: Floats,
    odds_ratio: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Maximum likelihood estimates p₀, 1 − p₀, p₁, 1 − p₁ of two rates whose odds ratio is given.

    Arrays broadcast.

    With `hits` h successes in both groups and the odds ratio ψ of p₀ over p₁, p₁ is the root in [0,
    1] of

        n₁(ψ − 1) p² + [n₁ + n₀ψ − h(ψ − 1)] p − h = 0.

    Successes under ψ are failures under 1/ψ: by both ways neither p₁ nor 1 − p₁ loses its digits.
    """
    p1 = _solve_reference_rates(hits, n0, n1, odds_ratio)
    q1 = _solve_reference_rates(n0 + n1 - hits, n0, n1, 1 / odds_ratio)
    odds = q1 + odds_ratio * p1
    return odds_ratio * p1 / odds, q1 / odds, p1, q1


def _solve_reference_rates(hits: Floats, n0: Floats, n1: Floats, odds_ratio: Floats) -> Floats:
    a = n1 * (odds_ratio - 1)
    b = n1 + n0 * odds_ratio - hits * (odds_ratio - 1)
    root = np.sqrt(np.maximum(b * b + 4 * a * hits, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        p1 = np.where(b > 0, 2 * hits / (b + root), (root - b) / (2 * a))
    return np.clip(p1, 0.0, 1.0)


def odds_ratio_score_statistic(
    k0: ArrayLike,
    n0: ArrayLike,
    k1: ArrayLike,
    n1: ArrayLike,
    odds_ratio: ArrayLike,
    *,
    correction: bool = True,
) -> Floats:
    """Score statistic z of H0: odds ratio = `odds_ratio`; positive where the estimate lies above.

    Arrays broadcast.
    """
    k0, n0, k1, n1, odds_ratio = (
        np.asarray(v, dtype=np.float64) for v in (k0, n0, k1, n1, odds_ratio)
    )
    total = k0 + k1
    p0, q0, p1, q1 = rates_with_odds_ratio(total, n0, n1, odds_ratio)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 1 / (n0 * p0 * q0) + 1 / (n1 * p1 * q1)
        z = (k0 - n0 * p0) * np.sqrt(spread)
    z = np.where((total == 0) | (total == n0 + n1), 0.0, z)
    return z * np.sqrt((n0 + n1 - 1) / (n0 + n1)) if correction else z


def _standardise_distances(
    distance: Floats,
    variance: Floats,
    total: NDArray[Any],
    correction: bool,
) -> Floats:
    if correction:
        enough = np.asarray(total) > 1
        variance = variance * total / np.where(enough, total - 1, 1)
        if not np.all(enough):
            variance = np.where(enough, variance, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = distance / np.sqrt(variance)
    return np.where(
        variance > 0, z, np.where(np.abs(distance) < NOT_APART, 0.0, np.copysign(np.inf, distance))
    )
