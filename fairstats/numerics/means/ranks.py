"""Area under a ROC curve of one group from counts of scores, with limits for small groups.

With n₁ positives and n₀ negatives, V₁ the share of negatives below a positive (ties count half) and
V₀ the share of positives above a negative,

    A = mean V₁ = mean V₀,      Var A = var(V₁)/n₁ + var(V₀)/n₀                          (DeLong)

Limits are the wider of two: those of logit A with that variance and Student's t of the rarer
label's rows less 1; and the values a with |A − a| ≤ z·√V(a), where V is the variance of Hanley and
McNeil for exponential laws (Newcombe's method 5), which has a width where scores separate the
labels. Either alone errs with ten rows of a label: the first for A near 1 (.13 at a nominal .05
beside 200 of the other label), the second where the labels' scores spread unequally (.11).

Under weights n₁ and n₀ are Kish's (Σ w)²/Σ w² and both limits have Student's t; rows in clusters:
`fairstats.numerics.means.placements`. Where clusters have rows in several strata, Σ ω·A has the variance
Σ ω_h ω_k cov_hk, which is D of what it would be if strata were independent; V(a) is D of that, too, if it
is more than 1, and Student's t has the lesser of both labels' degrees of freedom (`shared_units.py`).

References: DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44, 837–845; Newcombe (2006),
Statistics in Medicine 25, 559–573.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from fairstats.ground.checks import Floats, Numbers
from fairstats.numerics.means.hall import as_student
from fairstats.numerics.means.shared_units import degrees_of_freedom

#: Steps of the secant with halved ends ("Illinois"), which stand still after about ten.
_STEPS = 40
#: Of quantiles, so that their squares are finite; limits of any as large are the ends of [0, 1].
_LARGEST_QUANTILE = 1e100


@dataclass(frozen=True, eq=False)
class AreasBetween:
    """What strata share that have rows of the same clusters.

    `covariance`: of their areas, shape (H, H); `weights`: Σ_u a_uh·a_uk of the clusters' shares in
    the weight of either label, shape (2, H, H).
    """

    covariance: Floats
    weights: Floats

    def take(self, places: NDArray[np.bool_]) -> AreasBetween:
        """Some of the strata."""
        return AreasBetween(
            covariance=self.covariance[places][:, places],
            weights=self.weights[:, places][:, :, places],
        )

    def degrees_of_freedom(self, shares: Floats) -> float:
        """Of the variance of Σ ω·A: the lesser of both labels'."""
        found = []
        for weights in self.weights:
            deviations = np.sqrt(np.diagonal(self.covariance) / np.diagonal(weights))
            found.append(degrees_of_freedom(shares * deviations, weights))
        return max(min(found), 1.0)


@dataclass(frozen=True, eq=False)
class Areas:
    """AUCs with DeLong's variance and the rows behind them: arrays that broadcast.

    `positives`, `negatives`: rows of each label, under weights and clusters effective ones, which
    then have `df` degrees of freedom; `between`: of strata, where clusters lie in several.
    """

    area: Numbers
    variance: Numbers
    positives: Numbers
    negatives: Numbers
    df: Numbers | None = None
    between: AreasBetween | None = None

    def take(self, places: NDArray[np.bool_]) -> Areas:
        """Some of the areas, of arrays of shape (H,)."""
        return Areas(
            area=np.asarray(self.area)[places],
            variance=np.asarray(self.variance)[places],
            positives=np.asarray(self.positives)[places],
            negatives=np.asarray(self.negatives)[places],
            df=None if self.df is None else np.asarray(self.df)[places],
            between=None if self.between is None else self.between.take(places),
        )

    @property
    def degrees_of_freedom(self) -> Numbers:
        """Of DeLong's variance: of the rarer label's rows less 1, or those of the design."""
        if self.df is not None:
            return self.df
        return np.minimum(self.positives, self.negatives) - 1


def area_of_counts(negatives: NDArray[np.int64], positives: NDArray[np.int64]) -> Areas:
    """Of counts per ascending score, shape (m,) each; both sums are 2 or more."""
    n_negative = float(negatives.sum())
    n_positive = float(positives.sum())
    below = (np.cumsum(negatives) - negatives / 2) / n_negative
    above = 1 - (np.cumsum(positives) - positives / 2) / n_positive
    area = float(positives @ below) / n_positive
    variance_of_positives = float(positives @ (below - area) ** 2) / (n_positive - 1)
    variance_of_negatives = float(negatives @ (above - area) ** 2) / (n_negative - 1)
    variance = variance_of_positives / n_positive + variance_of_negatives / n_negative
    return Areas(area=area, variance=variance, positives=n_positive, negatives=n_negative)


def area_limits(areas: Areas, z: Numbers) -> tuple[Numbers, Numbers]:
    """Limits of the AUC, each at the one-sided level Φ(z), z ≥ 0."""
    quantile = as_student(z, areas.degrees_of_freedom)
    quantile_of_score = z if areas.df is None else quantile
    by_logit = _logit_limits(areas.area, areas.variance, quantile)
    by_score = _score_limits(
        areas.area,
        lambda area: _exponential_variance(area, areas),
        _slope_at_end(areas),
        quantile_of_score,
    )
    return np.minimum(by_logit[0], by_score[0]), np.maximum(by_logit[1], by_score[1])


def adjusted_area(parts: Areas, shares: Floats) -> Numbers:
    """Σ ω·A over strata, arrays of shape (…, H)."""
    adjusted: Numbers = (shares * parts.area).sum(axis=-1)
    return adjusted


def adjusted_area_limits(parts: Areas, shares: Floats, z: Numbers) -> tuple[Numbers, Numbers]:
    """Limits of Σ ω·A over strata, each at the one-sided level Φ(z), z ≥ 0; arrays (…, H).

    The same two: by Σ ω²·Var A with Satterthwaite's degrees of freedom, and by Σ ω²·V(a), as if all
    strata had the area a.
    """
    area = adjusted_area(parts, shares)
    terms = shares**2 * parts.variance
    variance = terms.sum(axis=-1)
    df_of_parts = parts.degrees_of_freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (terms**2 / df_of_parts).sum(axis=-1)
    df = np.where(variance > 0, df, np.sum(df_of_parts))
    factor = 1.0
    if parts.between is not None and float(variance) > 0:
        of_all = max(float(shares @ parts.between.covariance @ shares), 0.0)
        factor = max(of_all / float(variance), 1.0)
        df = parts.between.degrees_of_freedom(shares)
        variance = of_all

    def exponential_variance(value: Numbers) -> Numbers:
        of_parts = _exponential_variance(np.asarray(value)[..., None], parts)
        total: Numbers = factor * (shares**2 * of_parts).sum(axis=-1)
        return total

    slope_at_end = factor * (shares**2 * _slope_at_end(parts)).sum(axis=-1)
    quantile = as_student(z, df)
    quantile_of_score = z if parts.df is None else quantile
    by_logit = _logit_limits(area, variance, quantile)
    by_score = _score_limits(area, exponential_variance, slope_at_end, quantile_of_score)
    return np.minimum(by_logit[0], by_score[0]), np.maximum(by_logit[1], by_score[1])


def _logit_limits(area: Numbers, variance: Numbers, quantile: Numbers) -> tuple[Numbers, Numbers]:
    """Logit A ± t·√Var/(A(1 − A)); A itself where it has no variance."""
    area = np.asarray(area, dtype=np.float64)
    has_spread = (area > 0) & (area < 1) & (np.asarray(variance) > 0)
    inner = np.where(has_spread, area, 0.5)
    reach = quantile * np.sqrt(variance) / (inner * (1 - inner))
    centre = logit(inner)
    return (
        np.where(has_spread, expit(centre - reach), area),
        np.where(has_spread, expit(centre + reach), area),
    )


def _score_limits(
    area: Numbers,
    variance_at: Callable[[Numbers], Numbers],
    slope_at_end: Numbers,
    z: Numbers,
) -> tuple[Numbers, Numbers]:
    """Values a with |A − a| = z·√V(a); the end of [0, 1] that A lies at.

    `slope_at_end`: of V at 0, and less that at 1.
    """
    area = np.asarray(area, dtype=np.float64)
    if area.ndim == 0:
        area = float(area)
    # Student's t of few degrees of freedom has quantiles whose squares overflow
    z = np.minimum(z, _LARGEST_QUANTILE)

    def excess(value: Numbers) -> Numbers:
        return (area - value) ** 2 - z**2 * variance_at(value)

    # an area of 0 or 1 is a root itself: half the way to the other, of the first order, is not
    step = np.minimum(z**2 * slope_at_end, 1.0) / 2
    inside = np.where(area == 0, step, np.where(area == 1, 1 - step, area))
    low = np.where(area == 0, 0.0, _find_end(excess, inside, 0.0))
    high = np.where(area == 1, 1.0, _find_end(excess, inside, 1.0))
    return low, high


def _find_end(excess: Callable[[Numbers], Numbers], inside: Numbers, outer: float) -> Numbers:
    """The root of `excess` between a point where it is not above 0 and an end of [0, 1]."""
    if np.ndim(inside) == 0:
        return _find_one_end(excess, float(inside), outer)
    inside = inside * 1.0
    outside = np.full_like(inside, outer)
    excess_inside = excess(inside)
    excess_outside = excess(outside)
    side = np.zeros_like(inside)
    for _ in range(_STEPS):
        rise = excess_outside - excess_inside
        share = np.where(rise > 0, -excess_inside / np.where(rise > 0, rise, 1.0), 0.0)
        middle = inside + share * (outside - inside)
        excess_middle = excess(middle)
        is_rejected = excess_middle > 0
        # an end that stays twice counts half, so that the other one does not stand still
        excess_inside = np.where(is_rejected & (side > 0), excess_inside / 2, excess_inside)
        excess_outside = np.where(~is_rejected & (side < 0), excess_outside / 2, excess_outside)
        if np.array_equal(middle, np.where(is_rejected, outside, inside)):
            break
        outside = np.where(is_rejected, middle, outside)
        excess_outside = np.where(is_rejected, excess_middle, excess_outside)
        inside = np.where(is_rejected, inside, middle)
        excess_inside = np.where(is_rejected, excess_inside, excess_middle)
        side = np.where(is_rejected, 1.0, -1.0)
    return inside


def _find_one_end(excess: Callable[[Numbers], Numbers], inside: float, outside: float) -> float:
    """The same of one root, without arrays, which cost twenty times as much as the arithmetic."""
    excess_inside = float(excess(inside))
    excess_outside = float(excess(outside))
    side = 0.0
    for _ in range(_STEPS):
        rise = excess_outside - excess_inside
        share = 0.0
        if rise > 0:
            share = -excess_inside / rise
        middle = inside + share * (outside - inside)
        excess_middle = float(excess(middle))
        if excess_middle > 0:
            if side > 0:
                excess_inside /= 2
            if middle == outside:
                break
            outside = middle
            excess_outside = excess_middle
            side = 1.0
        else:
            if side < 0:
                excess_outside /= 2
            if middle == inside:
                break
            inside = middle
            excess_inside = excess_middle
            side = -1.0
    return inside


def _exponential_variance(area: Numbers, areas: Areas) -> Numbers:
    """a(1 − a)·(1 + m(1 − a)/(2 − a) + m·a/(1 + a))/(n₁n₀), m = (n₁ + n₀)/2 − 1."""
    mean_rows = (areas.positives + areas.negatives) / 2 - 1
    spread = 1 + mean_rows * (1 - area) / (2 - area) + mean_rows * area / (1 + area)
    return area * (1 - area) * spread / (areas.positives * areas.negatives)


def _slope_at_end(areas: Areas) -> Numbers:
    """Slope of that variance at a = 0, (1 + m/2)/(n₁n₀)."""
    mean_rows = (areas.positives + areas.negatives) / 2 - 1
    return (1 + mean_rows / 2) / (areas.positives * areas.negatives)
