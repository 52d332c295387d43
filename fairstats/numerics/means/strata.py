"""Means of two groups within strata: adjusted means, and whether one contrast holds in all.

With w = W₁W₀/(W₁ + W₀) the weights of Mantel and Haenszel (W the number of rows, or the sum of
their weights) the adjusted mean of a group is M = Σ ω·m, ω = w/Σ w over the strata, and

    M₁ − M₀ = Σ ω·(m₁ − m₀)        or        M₁/M₀ = Σ ω·m₁/Σ ω·m₀.

Both are contrasts of two independent numbers with variance Σ ω²·v, degrees of freedom by
Satterthwaite over the strata, and third cumulant κ: they are compared by the statistic of
`numerics/means/hall.py`. A skewness of few rows is noise, so that a group has one shape γ in all
strata, with s² the variance of a single row, and k its third cumulant,

    γ = Σ n·k / Σ n·s³,        κ = γ·Σ ω³·s³/n².

Where sampling units (clusters) have rows in several strata these are not independent. With a_uh the
share of unit u in the weight of stratum h and e_uh its error, Σ w(x − m)/W_h, the variance is Σ_u
(Σ_h ω·e)², each e with √(n/(n − 1)) of its stratum, which is D of what it would be if strata were
independent; κ is D² of that, for there are 1/D as many units; degrees of freedom are those of
`shared_units.py`.

What has limits but no moments in a stratum, as a quantile or a slope of a regression, is joined by
MOVER: with v the value and l, u its limits in a stratum,

    V = Σ ω·v,      V − √(Σ ω²·(v − l)²)      and      V + √(Σ ω²·(u − v)²).

Whether one contrast δ holds in all strata is tested by Q = min over δ of Σ z(δ)², z the statistic
of a stratum that speaks least against δ, with χ² of J − 1 degrees of freedom, J the strata that
have five rows of both groups and a spread.

References: Mantel, Haenszel (1959), JNCI 22, 719–748; Satterthwaite (1946), Biometrics Bulletin 2,
110–114; Cochran (1954), The combination of estimates from different experiments, Biometrics 10,
101–129; Zou, Donner (2008), Construction of confidence limits about effect measures, Statistics in
Medicine 27, 1693–1702.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from fairstats.ground.checks import Floats
from fairstats.numerics.means.hall import Moments, as_normal, hall_statistics, sum_of_means
from fairstats.numerics.means.ranks import Areas
from fairstats.numerics.means.shared_units import degrees_of_freedom, root_of_products

#: Units of either group that a stratum needs to have a say on whether one contrast holds in all.
UNITS_OF_HOMOGENEITY = 5
#: Units that a variance, and a third cumulant, need.
UNITS_OF_VARIANCE = 2
UNITS_OF_SHAPE = 3
#: Grids, and points of each, on which the least Q is sought: to 2·16⁻⁶ of the range.
_ROUNDS = 6
_POINTS = 33


def mantel_haenszel_weights(weights: Floats, reference_weights: Floats) -> Floats:
    """Shares w/Σ w of the strata, w = W₁W₀/(W₁ + W₀), shape (H,)."""
    weight = weights * reference_weights / (weights + reference_weights)
    return np.asarray(weight / weight.sum())


class BetweenStrata(NamedTuple):
    """What strata share that have rows of the same sampling units, shape (H, H) each.

    `weights`: Σ_u a_uh·a_uk; `errors`: Σ_u e_uh·e_uk, each with the root of n/(n − 1).
    """

    weights: Floats
    errors: Floats

    def take(self, places: NDArray[np.bool_] | NDArray[np.intp]) -> BetweenStrata:
        """Some of the strata."""
        return BetweenStrata(
            weights=self.weights[places][:, places], errors=self.errors[places][:, places]
        )


def adjusted_mean(parts: Moments, shares: Floats, between: BetweenStrata | None = None) -> Moments:
    """Moments of Σ ω·m over strata, with one shape in all; arrays of shape (…, H).

    `between`: of units in several strata, of arrays of shape (H,).
    """
    size = np.asarray(parts.size, dtype=np.float64)
    cubed_deviation = np.asarray(parts.variance) ** 1.5 * size**1.5
    has_shape = size >= UNITS_OF_SHAPE - 1e-9
    third_of_unit = np.where(has_shape, parts.third, 0.0) * size**2
    spread = np.where(has_shape, size * cubed_deviation, 0.0).sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        shape = (size * third_of_unit).sum(axis=-1, keepdims=True) / spread
    of_strata = Moments(
        mean=parts.mean,
        variance=parts.variance,
        third=np.where(spread > 0, shape, 0.0) * cubed_deviation / size**2,
        size=parts.size,
    )
    apart = sum_of_means(of_strata, shares)
    if between is None or not float(apart.variance) > 0:
        return apart
    variance = max(float(shares @ between.errors @ shares), 0.0)
    factor = variance / float(apart.variance)
    deviations = np.sqrt(np.asarray(parts.variance) * size)
    return Moments(
        mean=apart.mean,
        variance=variance,
        third=float(apart.third) * factor**2,
        size=1 + degrees_of_freedom(shares * deviations, between.weights),
    )


class Homogeneity(NamedTuple):
    """Q, strata that have a say, and the p-value; NaN where these are fewer than two."""

    statistic: float
    informative: int
    pvalue: float


def homogeneity_test(group: Moments, reference: Moments, *, ratio: bool) -> Homogeneity:
    """The test of one difference, or ratio, of means in all strata; arrays of shape (H,)."""
    informative = informative_strata(group, reference, ratio=ratio)
    count = int(informative.sum())
    if count < 2:
        return Homogeneity(np.nan, count, np.nan)
    parts = group.take(informative), reference.take(informative)

    def total(contrasts: Floats) -> Floats:
        column = contrasts[:, None]
        if ratio:
            found = hall_statistics(*parts, ratio=column)
        else:
            found = hall_statistics(*parts, difference=column)
        z = np.where(found.plain > 0, np.maximum(found.above, 0), np.minimum(found.below, 0))
        return np.asarray((z**2).sum(axis=1))

    contrasts = np.asarray(parts[0].mean) - parts[1].mean
    if ratio:
        contrasts = np.asarray(parts[0].mean) / parts[1].mean
    return _test_by_least(total, contrasts)


def _test_by_least(total: Callable[[Floats], Floats], contrasts: Floats) -> Homogeneity:
    """The least total of Σ z² over values of the contrast, against χ²."""
    count = contrasts.size
    statistic = _find_least(total, float(contrasts.min()), float(contrasts.max()))
    return Homogeneity(statistic, count, float(chdtrc(count - 1, statistic)))


def homogeneity_of_areas(group: Areas, reference: Areas) -> Homogeneity:
    """The test of one difference of AUCs in all strata; arrays of shape (H,).

    z by DeLong's variances and Welch's degrees of freedom, over strata with five rows of each label
    in both groups.
    """
    fewest = [np.minimum(part.positives, part.negatives) for part in (group, reference)]
    varies = np.asarray(group.variance) + reference.variance > 0
    informative = (np.minimum(*fewest) >= UNITS_OF_HOMOGENEITY) & varies
    count = int(informative.sum())
    if count < 2:
        return Homogeneity(np.nan, count, np.nan)
    parts = group.take(informative), reference.take(informative)
    difference = np.asarray(parts[0].area) - parts[1].area
    variance = np.asarray(parts[0].variance) + parts[1].variance
    terms = np.zeros(count)
    for part in parts:
        terms = terms + np.asarray(part.variance) ** 2 / part.degrees_of_freedom
    df = variance**2 / terms

    def total(contrasts: Floats) -> Floats:
        z = as_normal((difference - contrasts[:, None]) / np.sqrt(variance), df)
        return np.asarray((np.asarray(z) ** 2).sum(axis=1))

    return _test_by_least(total, difference)


def limits_of_sum(
    values: Floats,
    limits: tuple[Floats, Floats],
    shares: Floats,
    correlations: Floats | None = None,
) -> tuple[float, float]:
    """Limits of Σ ω·v from those of each stratum, shape (H,); one limit that is open opens both.

    `correlations`: of the values of strata that share sampling units, shape (H, H).
    """
    total = float(shares @ values)
    below = shares * np.maximum(values - limits[0], 0.0)
    above = shares * np.maximum(limits[1] - values, 0.0)
    return (
        total - root_of_products(below, correlations),
        total + root_of_products(above, correlations),
    )


def homogeneity_of_estimates(differences: Floats, variances: Floats) -> Homogeneity:
    """Cochran's Q of one difference in all strata, from estimates with normal errors; (H,)."""
    informative = np.isfinite(differences) & (variances > 0) & np.isfinite(variances)
    count = int(informative.sum())
    if count < 2:
        return Homogeneity(np.nan, count, np.nan)
    weights = 1 / variances[informative]
    distances = differences[informative]
    mean = float(weights @ distances) / float(weights.sum())
    statistic = float(weights @ (distances - mean) ** 2)
    return Homogeneity(statistic, count, float(chdtrc(count - 1, statistic)))


def informative_strata(group: Moments, reference: Moments, *, ratio: bool) -> NDArray[np.bool_]:
    """Strata that have a say on whether one contrast holds in all, shape (H,)."""
    fewest = np.minimum(group.size, reference.size)
    # the number of units by Kish's formula may round
    enough = fewest >= UNITS_OF_HOMOGENEITY - 1e-9
    varies = np.asarray(group.variance) + reference.variance > 0
    if not ratio:
        return np.asarray(enough & varies)
    positive = (np.asarray(group.mean) > 0) & (np.asarray(reference.mean) > 0)
    return np.asarray(enough & varies & positive)


def _find_least(function: Callable[[Floats], Floats], low: float, high: float) -> float:
    """The least value of a function between two points, on grids that close in on it."""
    least = math.inf
    for _ in range(_ROUNDS):
        points = np.linspace(low, high, _POINTS)
        values = function(points)
        place = int(np.argmin(values))
        least = min(least, float(values[place]))
        low = float(points[max(place - 1, 0)])
        high = float(points[min(place + 1, _POINTS - 1)])
    return least
