"""Ways to the limits of one pair of rates.

Each is an interval and the statistic that it inverts.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy
from scipy.special import ndtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.ground.multiplicity import normal_quantile
from fairstats.numerics.rates import odds_of_all, score, score_limits
from fairstats.numerics.rates.score import Contrast, Table

#: Largest statistic that is looked for.
_LARGEST_STATISTIC = 30.0
#: And none of a mean of several parts below this one.
_SMALLEST_STATISTIC = 1e-6
#: Critical value → both limits.
KnownLimits: TypeAlias = dict[float, tuple[float, float]]
#: Contrast → limits by the score of one table.
_LIMIT_FUNCTIONS: dict[Contrast, Callable[..., float]] = {
    "ratio": score_limits.ratio_limit,
    "difference": score_limits.difference_limit,
    "odds_ratio": score_limits.odds_ratio_limit,
}


@dataclass
class LimitsByCriticalValue(ABC):
    """A method whose interval follows from a critical value of the normal or t.

    Nothing changes one, but it is not frozen: of thousands of pairs each has its own, and a frozen
    one takes three times as long to make.
    """

    degrees_of_freedom: float

    @abstractmethod
    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""

    @abstractmethod
    def statistic(self, null: float) -> float:
        """The statistic of H0: the contrast has this value."""

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        return self.limits(normal_quantile((1 + confidence_level) / 2, self.degrees_of_freedom))


def statistic_by_limits(reach: Callable[[float], float], distance: float) -> float:
    """The z at which a limit lies `distance` from the estimate, signed, at most 30 in size.

    `reach`: how far the limit on that side lies from the estimate at a critical value.
    """

    def excess(critical: float) -> float:
        return reach(critical) - abs(distance)

    if excess(_LARGEST_STATISTIC) <= 0:
        size = _LARGEST_STATISTIC
    elif excess(_SMALLEST_STATISTIC) >= 0:  # within the continuity correction
        size = 0.0
    else:
        size = scipy.optimize.brentq(excess, _SMALLEST_STATISTIC, _LARGEST_STATISTIC, xtol=1e-12)
    return math.copysign(float(size), distance)


@dataclass
class Wald(LimitsByCriticalValue):
    """θ̂ ± z·s (for the ratio: Theorem 3.1 of Besse et al.)."""

    estimate: float
    std_error: float

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        return self.estimate - critical * self.std_error, self.estimate + critical * self.std_error

    def statistic(self, null: float) -> float:
        """(θ̂ − null)/s."""
        distance = self.estimate - null
        if distance == 0:
            return 0.0
        if self.std_error > 0:
            return distance / self.std_error
        return math.copysign(math.inf, distance)


@dataclass
class LogRatio(LimitsByCriticalValue):
    """θ̂·exp(±z·s) with s the standard error of log θ̂."""

    estimate: float
    std_error: float

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        factor = float(np.exp(self.std_error * critical))
        return self.estimate / factor, self.estimate * factor

    def statistic(self, null: float) -> float:
        """log(θ̂/null)/s."""
        return float(np.log(self.estimate / null)) / self.std_error


@dataclass
class Fieller(LimitsByCriticalValue):
    """All θ ≥ 0 with |a − θb| ≤ z·√(v₁ − 2θc + θ²v₀).

    A ratio of values a, b > 0 (Fieller 1954) with the covariance c, 0 of independent ones.

    Of a reference that may be zero (b ≤ z·√v₀) there is no upper end.
    """

    values: tuple[float, float]
    variances: tuple[float, float]
    covariance: float = 0.0

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        a, b = self.values
        v, w = (critical**2 * variance for variance in self.variances)
        # roots of (b² − w)θ² − 2(ab − c)θ + (a² − v), of which the discriminant is never negative
        # where b² > w
        square = b**2 - w
        last = a**2 - v
        middle = a * b - critical**2 * self.covariance
        square_root = math.sqrt(max(middle**2 - square * last, 0.0))
        if last > 0:
            lower_limit = last / (middle + square_root)
        else:
            lower_limit = 0.0
        return lower_limit, (middle + square_root) / square if square > 0 else math.inf

    def statistic(self, null: float) -> float:
        """(a − θb)/√(v₁ − 2θc + θ²v₀)."""
        a, b = self.values
        v, w = self.variances
        return (a - null * b) / math.sqrt(v - 2 * null * self.covariance + null**2 * w)


@dataclass
class Widest(LimitsByCriticalValue):
    """What none of several methods rejects."""

    ways: tuple[Wald | LogRatio | Fieller, ...]

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        lower_limits, upper_limits = zip(
            *(each_method.limits(critical) for each_method in self.ways), strict=True
        )
        return min(lower_limits), max(upper_limits)

    def statistic(self, null: float) -> float:
        """The smaller one; 0 where they lie on different sides."""
        statistics = sorted(each_method.statistic(null) for each_method in self.ways)
        smaller_statistic = statistics[0]
        larger_statistic = statistics[-1]
        if smaller_statistic > 0:
            return smaller_statistic
        return min(larger_statistic, 0.0)


#: Least share of the variance of two independent rates that counts as one of those that depend on
#: each other.
_LEAST_VARIANCE = 1e-12
#: A statistic of groups that share clusters is at least this share of that of independent ones.
_LEAST_SCALE = math.sqrt(0.5)


@dataclass(frozen=True)
class SharedUnits:
    """Variances of two rates, and their covariance by clusters that both groups are in."""

    variance: float
    variance_reference: float
    covariance: float

    def scale(self, slope: float) -> float:
        """Standard error of r − slope·r₀ with both rates independent, over its own.

        1 where the groups agree so well that no variance is left.
        """
        if slope > 1:
            # of r/slope − r₀: no infinity
            return replace(
                self, variance=self.variance_reference, variance_reference=self.variance
            ).scale(1 / slope)
        apart = self.variance + slope**2 * self.variance_reference
        together = apart - 2 * slope * self.covariance
        if together <= _LEAST_VARIANCE * apart:
            return 1.0
        return math.sqrt(apart / together)


@dataclass
class Score(LimitsByCriticalValue):
    """All θ that the score test does not reject.

    `correction`, `continuity`: as in `score`; `shared`: by groups in the same clusters, whose
    statistic has the standard error of

        r − θr₀ for a ratio,    r − r₀ for a difference,    r − r₀·p(1 − p)/(p₀(1 − p₀)) for an odds ratio

    at the null value (p, p₀ its most likely rates), so that of equal rates all three are one;
    `known`: limits that were searched for together with those of other pairs.
    """

    table: Table
    contrast: Contrast
    correction: bool
    continuity: bool = False
    shared: SharedUnits | None = None
    known: KnownLimits = field(default_factory=dict, compare=False)

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends of {θ : |z(θ)| ≤ critical}."""
        if critical in self.known:
            return self.known[critical]
        return self.limit(critical, -1), self.limit(critical, 1)

    def limit(self, critical: float, side: int) -> float:
        """The lower (side −1) or the upper end (side 1)."""
        if self.shared is None:
            return self._limit_of_independent(critical, side)
        if self.contrast == "difference":
            return self._limit_of_independent(critical / self.shared.scale(1.0), side)

        def excess(of_independent: float) -> float:
            null = self._limit_of_independent(of_independent, side)
            return of_independent * self._scale(null) - critical

        largest = critical / _LEAST_SCALE
        if not 0 < largest < math.inf or excess(largest) <= 0:
            return self._limit_of_independent(largest, side)
        nearest = scipy.optimize.brentq(excess, 0.0, largest, xtol=1e-13, rtol=1e-14)
        return self._limit_of_independent(nearest, side)

    def _limit_of_independent(self, critical: float, side: int) -> float:
        return _LIMIT_FUNCTIONS[self.contrast](
            self.table, critical, self.correction, side=side, continuity=self.continuity
        )

    def statistic(self, null: float) -> float:
        """Score statistic."""
        z = score.score_statistic(self.table, self.contrast, null, self.correction, self.continuity)
        return self._scale(null) * z

    def _scale(self, null: float) -> float:
        """What the statistic of independent groups is multiplied by."""
        if self.shared is None:
            return 1.0
        if self.contrast == "difference":
            return self.shared.scale(1.0)
        if self.contrast == "ratio":
            return self.shared.scale(null)
        return self.shared.scale(_slope_of_odds(self.table, null))


def _slope_of_odds(table: Table, odds_ratio: float) -> float:
    """p(1 − p)/(p₀(1 − p₀)) of the most likely rates under an odds ratio."""
    k, n, k0, n0 = table
    if not 0 < odds_ratio < math.inf:
        return 1.0
    p, q, p0, q0 = score.rates_with_odds_ratio(
        np.array(k + k0), np.array(n), np.array(n0), np.array(odds_ratio)
    )
    below = float(p0 * q0)
    if below <= 0:
        return 1.0
    return float(p * q) / below


#: Null values of all others beyond which a limit lies nowhere: a group that is nearly everybody.
_NEARLY_ONE = 1 - 1e-9
_LARGEST_RATIO = 1e9


@dataclass(frozen=True)
class ScaleOfAll:
    """What a group's contrast with all others is as one with everybody.

    `share`: f of the group in all cases, held fixed: the difference is (1 − f)·δ, the ratio
    ρ/(fρ + 1 − f), of δ and ρ against all others.
    """

    contrast: Contrast
    share: float

    def value(self, of_others: float) -> float:
        """A contrast with everybody, from one with all others."""
        if self.contrast == "difference":
            return (1 - self.share) * of_others
        if of_others == math.inf:
            return 1 / self.share
        return of_others / (self.share * of_others + 1 - self.share)

    def ends(self, of_others: tuple[float, float]) -> tuple[float, float]:
        """Limits of the contrast with everybody."""
        low, high = of_others
        return self.value(low), self.value(high)

    def null_of_others(self, null: float) -> float:
        """The contrast with all others that belongs to one with everybody.

        Of a group that is nearly everybody no contrast is so large: then the end of the scale.
        """
        share_of_others = 1 - self.share
        if self.contrast == "difference":
            return min(max(null / share_of_others, -_NEARLY_ONE), _NEARLY_ONE)
        denominator = 1 - self.share * null
        if null * share_of_others >= _LARGEST_RATIO * denominator:
            return _LARGEST_RATIO
        return null * share_of_others / denominator


@dataclass
class OfAll(LimitsByCriticalValue):
    """A group against everybody, by the score of the group against all others."""

    of_others: Score
    scale: ScaleOfAll

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        return self.scale.ends(self.of_others.limits(critical))

    def limit(self, critical: float, side: int) -> float:
        """The lower (side −1) or the upper end (side 1)."""
        return self.scale.value(self.of_others.limit(critical, side))

    def statistic(self, null: float) -> float:
        """Score statistic."""
        return self.of_others.statistic(self.scale.null_of_others(null))


@dataclass
class OddsOfAll(LimitsByCriticalValue):
    """The odds of a group over those of everybody, by the score (`numerics/rates/odds_of_all.py`).

    `of_others`: the score of the group against all others; `share`: of the group in all cases.
    """

    of_others: Score
    share: float

    @property
    def estimate(self) -> float:
        """Of these rates, by effective counts."""
        k, n, k_others, n_others = self.of_others.table
        rate_of_all = self.share * k / n + (1 - self.share) * k_others / n_others
        return odds_of_all.odds_ratio_of_all(k / n, rate_of_all)

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        return self.limit(critical, -1), self.limit(critical, 1)

    def limit(self, critical: float, side: int) -> float:
        """The lower (side −1) or the upper end (side 1)."""
        return odds_of_all.find_limit(self.statistic, self.estimate, critical, side)

    def statistic(self, null: float) -> float:
        """Score statistic."""
        table = self.of_others.table
        z = odds_of_all.odds_of_all_statistic(
            table, self.share, null, correction=self.of_others.correction
        )
        shared = self.of_others.shared
        if shared is None:
            return z
        rates = odds_of_all.likely_rates(table, self.share, null)
        return z * shared.scale(odds_of_all.slope_of_others(rates, self.share))


@dataclass
class Mover(LimitsByCriticalValue):
    """Mean of M differences from their own score intervals (MOVER; Zou & Donner 2008).

    With shares d_m/M and limits l_m, u_m of each: low = Σd_m/M − √Σ((d_m − l_m)/M)², high likewise.
    For independent parts; never of zero width in small samples.
    """

    parts: tuple[tuple[float, Score | OfAll | OddsOfAll], ...]

    @property
    def estimate(self) -> float:
        """Mean of the differences."""
        return sum(difference for difference, _ in self.parts) / len(self.parts)

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value of the score statistics."""
        low = self.estimate - self._distance(critical, -1)
        high = self.estimate + self._distance(critical, 1)
        return max(low, -1.0), min(high, 1.0)

    def _distance(self, critical: float, side: int) -> float:
        """Of a limit from the estimate: the root of the sum of the parts' squared ones, over M."""
        distances = []
        for difference, score_method in self.parts:
            distances.append(score_method.limit(critical, side) - difference)
        return math.hypot(*distances) / len(self.parts)

    def statistic(self, null: float) -> float:
        """Value of z at which the interval ends at `null`, at most 30 in size.

        There both of two parts have the same z, at distances x and √(size² − x²) from their
        differences: the x is looked for, as each limit is itself the root of a search. Of more
        parts z itself is.
        """
        distance = self.estimate - null
        if abs(distance) < 1e-12:
            return 0.0
        if len(self.parts) > 2:
            side = -1 if distance > 0 else 1
            return statistic_by_limits(lambda z: self._distance(z, side), distance)
        size = 2 * abs(distance)
        side = -1 if distance > 0 else 1
        largest_distances = [1 - side * difference for difference, _ in self.parts]
        if largest_distances[0] ** 2 + largest_distances[1] ** 2 < size**2:
            return math.copysign(_LARGEST_STATISTIC, distance)

        def statistic_of_part(part: int, distance_of_part: float) -> float:
            difference, score_method = self.parts[part]
            null_of_part = difference + side * min(distance_of_part, largest_distances[part])
            return min(abs(score_method.statistic(null_of_part)), _LARGEST_STATISTIC)

        @functools.cache  # asked again for the ends of the search and for its root
        def z(x: float) -> tuple[float, float]:
            distance_of_second = max(size**2 - x**2, 0.0) ** 0.5
            return statistic_of_part(0, x), statistic_of_part(1, distance_of_second)

        def excess(x: float) -> float:
            first_statistic, second_statistic = z(x)
            return first_statistic - second_statistic

        x = max(size**2 - largest_distances[1] ** 2, 0.0) ** 0.5
        last_distance = min(size, largest_distances[0])
        if excess(x) < 0:  # else the second limit is at its end
            if excess(last_distance) <= 0:
                x = last_distance
            else:
                x = scipy.optimize.brentq(excess, x, last_distance, xtol=1e-16)
        return math.copysign(max(z(x)), distance)


@dataclass(frozen=True, eq=False)
class BcaDistribution:
    """BCa bootstrap (Efron 1987): sorted replicates with bias correction z₀ and acceleration a.

    The four cells (successes and failures of both groups) are resampled as one multinomial, which
    is what resampling rows does; the jackknife has only four distinct values and is closed.
    """

    replicates: Floats
    bias: float
    acceleration: float

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """BCa interval."""
        tail_probability = (1 - confidence_level) / 2
        shifted = self.bias + ndtri([tail_probability, 1 - tail_probability])
        end_probabilities = ndtr(self.bias + shifted / (1 - self.acceleration * shifted))
        with np.errstate(invalid="ignore"):  # between a finite and an infinite replicate
            smooth_quantiles = np.quantile(
                self.replicates, end_probabilities, method="median_unbiased"
            )
        step_quantiles = np.quantile(self.replicates, end_probabilities, method="inverted_cdf")
        lower_limit, upper_limit = np.where(
            np.isfinite(smooth_quantiles), smooth_quantiles, step_quantiles
        ).tolist()
        return lower_limit, upper_limit

    def statistic(self, null: float) -> float:
        """Statistic z of H0: θ = null.

        The critical value at which `null` is an end of the interval.

        Where replicates are tied the share below `null` is a range: the end nearer to the middle
        counts, so that the interval excludes `null` exactly when |z| is beyond the critical value.
        """
        n_replicates = self.replicates.size
        finite = self.replicates[np.isfinite(self.replicates)]
        if null > finite[-1]:  # beyond it the quantile jumps to infinity
            shares = (finite.size / n_replicates,) * 2
        elif null <= finite[0]:
            shares = (
                0.0,
                self._share_below(finite, null, "right")
                if null == finite[0]
                else (1 - 1 / 3) / (n_replicates + 1 / 3),
            )
        else:
            shares = (
                self._share_below(finite, null, "left"),
                self._share_below(finite, null, "right"),
            )
        shifted = ndtri(np.clip(shares, 0.5 / n_replicates, 1 - 0.5 / n_replicates)) - self.bias
        high_statistic, low_statistic = self.bias - shifted / (1 + self.acceleration * shifted)
        if low_statistic > 0:
            return float(low_statistic)
        return float(min(high_statistic, 0.0))

    def _share_below(self, finite: Floats, null: float, side: Literal["left", "right"]) -> float:
        """Where the median-unbiased quantile function passes `null`.

        Its first place, or its last.
        """
        n_replicates = self.replicates.size
        position = int(np.searchsorted(finite, null, side))
        # up to the largest finite one; the next, infinite one is a jump
        if position == finite.size:
            if position < n_replicates:
                return position / n_replicates
            return (position - 1 / 3) / (n_replicates + 1 / 3)
        replicate_below = finite[position - 1]
        replicate_above = finite[position]
        return float(
            (position - 1 / 3 + (null - replicate_below) / (replicate_above - replicate_below))
            / (n_replicates + 1 / 3)
        )


#: Each offers a two-sided interval at a confidence level, and the statistic z of H0: θ = null that
#: it inverts.
PairMethod: TypeAlias = (
    Wald | LogRatio | Fieller | Widest | Score | OfAll | OddsOfAll | Mover | BcaDistribution
)


def bca_distribution(
    k0: float,
    n0: float,
    k1: float,
    n1: float,
    *,
    contrast: Contrast,
    n_resamples: int,
    rng: np.random.Generator,
) -> BcaDistribution:
    """Bootstrap distribution of r₀/r₁ or r₀ − r₁, from successes and cases of both.

    No cell may be 0.
    """
    observed_cells = np.array([k0, n0 - k0, k1, n1 - k1])
    estimate = float(contrast_of(observed_cells, contrast))
    drawn_cells = rng.multinomial(
        int(observed_cells.sum()), observed_cells / observed_cells.sum(), size=n_resamples
    ).astype(np.float64)
    replicates = np.sort(contrast_of(drawn_cells, contrast))
    replicates = replicates[~np.isnan(replicates)]
    share_below = (
        np.sum(replicates < estimate) + 0.5 * np.sum(replicates == estimate)
    ) / replicates.size
    bias_correction = float(
        ndtri(np.clip(share_below, 0.5 / replicates.size, 1 - 0.5 / replicates.size))
    )
    # the acceleration: skewness of the jackknife values over 6; of the influence values where it
    # has no ratio
    left_out = contrast_of(observed_cells - np.eye(4), contrast)
    if np.isfinite(left_out).all():
        deviation = np.average(left_out, weights=observed_cells) - left_out
    else:
        successes = observed_cells[::2]
        group_cases = observed_cells[::2] + observed_cells[1::2]
        deviation = (
            np.stack([1 / successes - 1 / group_cases, -1 / group_cases]) * [1, -1]
        ).T.ravel()
    acceleration = float(
        (observed_cells @ deviation**3) / (6 * (observed_cells @ deviation**2) ** 1.5)
    )
    return BcaDistribution(replicates, bias_correction, acceleration)


def contrast_of(cells: Floats, contrast: Contrast) -> Floats:
    """Ratio or difference of the rates, of successes and failures of both groups, shape (…, 4)."""
    k0, f0, k1, f1 = np.moveaxis(cells, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate_0 = k0 / (k0 + f0)
        rate_1 = k1 / (k1 + f1)
        return np.asarray(rate_0 / rate_1 if contrast == "ratio" else rate_0 - rate_1)
