"""Inference for one pair of rates: each method is an interval and a statistic."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from fairstats.ground.counts import effective
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_quantile
from fairstats.methods.rates.bootstrap import bca_distribution
from fairstats.methods.rates.estimates import RateEstimates
from fairstats.methods.rates.score import (
    Contrast,
    Table,
    difference_limit,
    difference_statistic,
    ratio_limit,
    ratio_statistic,
)

_FAR = 30.0
#: Below this count in any of the four cells methods other than the score are warned of.
SMALL_CELL = 5
#: A group needs so many effective clusters, and under weights or clusters so many effective successes and
#: failures; up to so many statistics are shrunk.
MIN_UNITS, MIN_EFFECTIVE, FULL_EFFECTIVE = 8.0, 10.0, 20.0
#: The delta method of functions of the cells and of ratios of means is taken of groups of so many rows, and
#: of means of so many cases.
DELTA_ROWS, DELTA_CASES = 10, 3
#: (2z² + 1)/(6z) at z from 1.645 to 1.96 (.65 to .74): what a skewness of 1 makes of a studentised mean.
EDGEWORTH = 0.7


class PairMethod(Protocol):
    """What every method offers."""

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""

    def statistic(self, null: float) -> float:
        """Statistic z of H0: θ = null, positive where the estimate lies above."""


@dataclass(frozen=True)
class _ByCritical(ABC):
    """A method whose interval follows from a critical value of the normal or t."""

    degrees_of_freedom: float

    @abstractmethod
    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        return self.limits(normal_quantile((1 + confidence_level) / 2, self.degrees_of_freedom))


@dataclass(frozen=True)
class Wald(_ByCritical):
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
        return distance / self.std_error if self.std_error > 0 else float(np.copysign(np.inf, distance))


@dataclass(frozen=True)
class LogRatio(_ByCritical):
    """θ̂·exp(±z·s) with s the standard error of log θ̂."""

    estimate: float
    std_error: float

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        reach = float(np.exp(self.std_error * critical))
        return self.estimate / reach, self.estimate * reach

    def statistic(self, null: float) -> float:
        """log(θ̂/null)/s."""
        return float(np.log(self.estimate / null)) / self.std_error


@dataclass(frozen=True)
class Fieller(_ByCritical):
    """All θ ≥ 0 with |a − θb| ≤ z·√(v₁ + θ²v₀): a ratio of independent values a, b > 0 (Fieller 1954).

    Of a reference that may be zero (b ≤ z·√v₀) there is no upper end.
    """

    values: tuple[float, float]
    variances: tuple[float, float]

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        (a, b), (v, w) = self.values, (critical**2 * variance for variance in self.variances)
        # roots of (b² − w)θ² − 2abθ + (a² − v), of which the discriminant is never negative where b² > w
        square, last, middle = b**2 - w, a**2 - v, a * b
        root = math.sqrt(max(middle**2 - square * last, 0.0))
        low = last / (middle + root) if last > 0 else 0.0
        return low, (middle + root) / square if square > 0 else math.inf

    def statistic(self, null: float) -> float:
        """(a − θb)/√(v₁ + θ²v₀)."""
        (a, b), (v, w) = self.values, self.variances
        return (a - null * b) / math.sqrt(v + null**2 * w)


@dataclass(frozen=True)
class Widest(_ByCritical):
    """What neither of two methods rejects."""

    both: tuple[Wald | LogRatio | Fieller, Wald | LogRatio | Fieller]

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        lows, highs = zip(*(each.limits(critical) for each in self.both), strict=True)
        return min(lows), max(highs)

    def statistic(self, null: float) -> float:
        """The smaller one; 0 where they lie on different sides."""
        low, high = sorted(each.statistic(null) for each in self.both)
        return low if low > 0 else min(high, 0.0)


@dataclass(frozen=True)
class Score(_ByCritical):
    """All θ that the score test does not reject.

    `correction` is the factor N/(N−1); `continuity` takes (1/n₀ + 1/n₁)/2 off the distance from the estimate
    (of ratios (1/n₀ + θ/n₁)/2). `scale` multiplies the statistic where the estimate lies above and below the
    null: of groups that share clusters the standard error if they were independent over their own, and
    `shrinkage`.
    """

    table: Table
    contrast: Contrast
    correction: bool
    continuity: bool = False
    scale: tuple[float, float] = (1.0, 1.0)

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends of {θ : |z(θ)| ≤ critical}."""
        return self.limit(critical, -1), self.limit(critical, 1)

    def limit(self, critical: float, side: int) -> float:
        """The lower (side −1) or the upper end (side 1)."""
        critical /= self.scale[side > 0]
        if self.contrast == "ratio":
            return ratio_limit(self.table, critical, self.correction, side, self.continuity)
        return difference_limit(self.table, critical, self.correction, self.continuity, side)

    def statistic(self, null: float) -> float:
        """Score statistic."""
        if self.contrast == "ratio":
            z = ratio_statistic(self.table, null, self.correction, self.continuity)
        else:
            z = difference_statistic(self.table, null, self.correction, self.continuity)
        return self.scale[z < 0] * z


@dataclass(frozen=True)
class Mover(_ByCritical):
    """Mean of two differences from their own score intervals (MOVER; Zou & Donner 2008).

    With halves d_m/2 and limits l_m, u_m of each: low = Σd_m/2 − √Σ((d_m − l_m)/2)², high likewise. For
    independent parts; never of zero width in small samples.
    """

    parts: tuple[tuple[float, Score], tuple[float, Score]]

    @property
    def estimate(self) -> float:
        """Mean of the differences."""
        return sum(difference for difference, _ in self.parts) / len(self.parts)

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value of the score statistics."""
        low, high = (self.estimate + side * self._width(critical, side) for side in (-1, 1))
        return max(low, -1.0), min(high, 1.0)

    def _width(self, critical: float, side: int) -> float:
        """How far the lower (side −1) or upper end (side 1) lies from the estimate."""
        squares = ((score.limit(critical, side) - difference) ** 2 for difference, score in self.parts)
        return math.sqrt(sum(squares)) / 2

    def statistic(self, null: float) -> float:
        """Value of z at which the interval ends at `null`, at most 30 in size.

        There both parts have the same z, at distances x and √(size² − x²) from their differences: the x is
        looked for, as each limit is itself the root of a search.
        """
        distance = self.estimate - null
        if abs(distance) < 1e-12:
            return 0.0
        size, side = 2 * abs(distance), -1 if distance > 0 else 1
        most = [1 - side * difference for difference, _ in self.parts]
        if most[0] ** 2 + most[1] ** 2 < size**2:
            return float(np.copysign(_FAR, distance))

        def z(x: float) -> tuple[float, float]:
            far = x, max(size**2 - x**2, 0.0) ** 0.5
            ends = (side * min(reach, room) for reach, room in zip(far, most, strict=True))
            of_both = zip(self.parts, ends, strict=True)
            first, second = (min(abs(s.statistic(d + end)), _FAR) for (d, s), end in of_both)
            return first, second

        def excess(x: float) -> float:
            first, second = z(x)
            return first - second

        low, high = max(size**2 - most[1] ** 2, 0.0) ** 0.5, min(size, most[0])
        if excess(low) >= 0:  # the second limit is at its end
            return float(np.copysign(z(low)[0], distance))
        if excess(high) <= 0:
            return float(np.copysign(z(high)[1], distance))
        return float(np.copysign(max(z(scipy.optimize.brentq(excess, low, high, xtol=1e-16))), distance))


def point_estimate(estimates: RateEstimates, i: int, j: int, contrast: Contrast) -> float:
    """r_i / r_j or r_i − r_j; NaN for 0/0."""
    if contrast == "difference":
        return float(estimates.rate[i] - estimates.rate[j])
    over, under = float(estimates.rate[i]), float(estimates.rate[j])
    if under == 0:
        return float("inf") if over > 0 else float("nan")
    return over / under


def empty_cells(estimates: RateEstimates, i: int, j: int) -> str:
    """Which of the four cells is empty, in words; empty text for none."""
    for part in estimates.parts:
        empty = empty_cells(part, i, j)
        if empty:
            return f"{empty} among its {part.rate_of.case_words}"
    if estimates.parts:
        return ""
    for g in (i, j):
        k, n = estimates.successes[g], estimates.cases[g]
        if k <= 0 or k >= n:
            return f"{estimates.groups[g]} has no {'success' if k <= 0 else 'failure'}"
    return ""


@dataclass(frozen=True)
class Chosen:
    """What one pair is inferred with: interval, tests and verdict alike.

    `how` is None where the method is not defined for these counts; `note`: why, or what speaks against it.
    """

    how: PairMethod | None
    name: str
    note: str = ""
    degrees_of_freedom: float = float("inf")


def pair_method(
    estimates: RateEstimates,
    i: int,
    j: int,
    contrast: Contrast,
    method: str,
    *,
    n_resamples: int,
    rng: np.random.Generator | None,
) -> Chosen:
    """The method that was asked for, for one pair; never another one.

    Under weights or clusters with Satterthwaite's degrees of freedom over effective sampling units, and only
    where both groups have enough of them (`too_few_units`).
    """
    degrees = estimates.contrast_degrees(i, j, ratio=contrast == "ratio")
    suffix = " (Satterthwaite)" if estimates.weighted else ""
    lacking = too_few_units(estimates, i, j)
    if lacking:
        return Chosen(None, method + suffix, lacking)
    if estimates.smooth or (estimates.parts and contrast == "ratio"):
        return _smooth(estimates, i, j, contrast, degrees, suffix)
    _check_design(estimates, method)
    tables = [part.table(i, j) for part in estimates.parts or (estimates,)]
    if method in ("score", "koopman", "mee"):
        if estimates.weighted and not estimates.std_error(i, j, ratio=contrast == "ratio") > 0:
            return Chosen(None, method + suffix, "no variation between units: no interval.")
        apart = estimates.dependence(i, j, ratio=contrast == "ratio")
        shrunk = [apart * shrinkage(part)[:, [i, j]] for part in estimates.parts or (estimates,)]
        scales = [(float(min(s[0, 0], s[1, 1])), float(min(s[1, 0], s[0, 1]))) for s in shrunk]
        pairs = zip(tables, scales, strict=True)
        scores = [Score(degrees, t, contrast, method == "score", scale=s) for t, s in pairs]
        if not estimates.parts:
            return Chosen(scores[0], method + suffix, degrees_of_freedom=degrees)
        differences = [float(part.rate[i] - part.rate[j]) for part in estimates.parts]
        first, second = zip(differences, scores, strict=True)
        mover = Mover(degrees, (first, second))
        return Chosen(mover, f"{method} (MOVER){suffix}", degrees_of_freedom=degrees)
    empty = empty_cells(estimates, i, j)
    small = min(map(smallest_cell, tables)) < SMALL_CELL and not estimates.weighted
    estimate, spread = point_estimate(estimates, i, j, contrast), natural_std_error(estimates, i, j, contrast)
    name = "bootstrap (BCa)" if method == "bootstrap" else method + suffix
    if empty or not spread > 0:
        why = empty or "no variation between units"
        return Chosen(None, name, f"{why}: the {method} method is not defined.")
    note = ""
    if small:
        pair = f"{estimates.groups[i]} against {estimates.groups[j]}"
        why = f"{pair}: fewer than {SMALL_CELL} in a cell"
        note = f"{why}: the {method} method may be far off; by default the score method is used."
    wider = estimates.widening(i, j, ratio=contrast == "ratio")
    if method == "delta":
        return Chosen(Wald(degrees, estimate, wider * spread), name, note, degrees)
    if method == "log":
        log = LogRatio(degrees, estimate, wider * estimates.std_error(i, j, ratio=True))
        return Chosen(log, name, note, degrees)
    if rng is None:
        raise TypeError("the bootstrap needs a generator")
    drawn = bca_distribution(*tables[0], contrast=contrast, n_resamples=n_resamples, rng=rng)
    return Chosen(drawn, name, note)


def too_few_units(estimates: RateEstimates, i: int, j: int) -> str:
    """Why weighted or clustered rows of a pair are too few for an interval; empty where they are not."""
    if estimates.units is None:
        return ""
    for g in (i, j):
        if estimates.units[g] < MIN_UNITS:
            few = effective(float(estimates.units[g]), "clusters" if estimates.clustered else "rows")
            return f"{estimates.groups[g]}: {few}, too few for an interval."
        for part in () if estimates.smooth else estimates.parts or (estimates,):
            if _shares(part)[:, g].min() < MIN_EFFECTIVE / FULL_EFFECTIVE:
                k, n = (float(values[g]) for values in part.effective)
                kind, rarer = ("successes", k) if k <= n - k else ("failures", n - k)
                return (
                    f"{estimates.groups[g]}: {effective(rarer, kind)} among {effective(n, 'cases')}, too few "
                    "for an interval under weights or clusters."
                )
    return ""


def shrinkage(estimates: RateEstimates) -> NDArray[np.float64]:
    """Factors of statistics that more successes, or failures, of a group than expected make, shape (2, G).

    1 without weights or clusters, otherwise the product of two factors. (a) min(1, k/20), with k effective
    successes, or failures: where many samples are refused (`too_few_units`), those that answer are a
    selection, with more of the rarer kind than expected. A Poisson count is refused below 10 in half of the
    samples where 10 are expected, and then what 5% of all samples exceed, 10% of those answered do; k/20
    makes that 5%. Unequal weights make totals skew: as many more are needed, 20·Σ1·Σw²/(Σw)².
    (b) Clusters of unequal size make totals skew as well: by γ = 2c²·(1 − 2r)/√(r(1−r)n*) more than equal
    ones, c² = Σ1·Σd²/(Σd)² − 1 the squared CV of their sizes (third cumulant of a gamma mixture over
    lognormal sizes). That is with all variance between clusters, and wide with less: how much there is,
    numbers of rows say only as long as no row is a copy. A group with fewer of the rarer kind than
    expected also shows less variance: of such statistics 1/(1 + .7γ), the first term of Edgeworth's
    expansion of a studentised mean. Only (a) refuses: what (b) makes wide is an answer. Simulated with
    the narrower b²γ, b the share between clusters (4,000 samples each, rates .005 to .99, 8 to 2,000
    clusters, ICC .02 to .3, size CV up to 2, weights with a CV of .5 to 1.5): where two in five samples
    answer, coverage is .934 to .994 and each error of a verdict at most .061; where fewer do, coverage is
    .920 at worst.
    """
    if estimates.units is None:
        return np.ones((2, len(estimates.groups)))
    enough = _shares(estimates)
    if estimates.clusters is None:
        return enough
    successes, cases = estimates.effective
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = successes / cases
        skew = 2 * (estimates.clusters / estimates.units - 1) * (1 - 2 * rate)
        skew = np.nan_to_num(skew / np.sqrt(rate * (1 - rate) * cases))
    return np.asarray(enough / (1 + EDGEWORTH * np.maximum(np.stack([-skew, skew]), 0.0)))


def _shares(estimates: RateEstimates) -> NDArray[np.float64]:
    """Factor (a) of `shrinkage`, of weighted or clustered rows."""
    successes, cases = estimates.effective
    enough = np.stack([successes, cases - successes]) / FULL_EFFECTIVE
    if estimates.clusters is None and estimates.units is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            enough = enough * (estimates.units / estimates.rows)
    return np.clip(np.nan_to_num(enough), 0.0, 1.0)


def smallest_cell(table: Table) -> float:
    """Least of successes and failures of both groups."""
    k0, n0, k1, n1 = table
    return min(k0, n0 - k0, k1, n1 - k1)


def _check_design(estimates: RateEstimates, method: str) -> None:
    """Refuse methods that means of rates do not have, or that assume what weights or clusters break."""
    other = "leave out method=, or use one of these"
    if estimates.parts and method in ("bootstrap", "koopman"):
        got, allowed = f"for {estimates.rate_of.title}", "'delta', 'score' or 'mee'"
        other = "leave out method="
    elif method == "bootstrap" and estimates.weighted:
        got, allowed = "with weights or clusters", "'score', 'log' or 'delta' (linearisation)"
    else:
        return
    raise InputError("method", got=f"{method!r} {got}", allowed=allowed, cure=other)


def _smooth(
    estimates: RateEstimates, i: int, j: int, contrast: Contrast, degrees: float, suffix: str
) -> Chosen:
    """Delta method for a general function, or a ratio of means: Wald for differences, Fieller's for ratios.

    The wider of those about the values with half a row and a whole one more in every cell. Under weights
    about the values themselves, on the log scale for ratios.
    """
    name = "delta" if contrast == "difference" else "log" if estimates.weighted else "fieller"
    if few := [] if estimates.weighted else _too_few_for_delta(estimates, i, j):
        return Chosen(
            None, name, f"{' and '.join(few)}, too few for an interval by the delta method.", degrees
        )
    undefined = f"{estimates.groups[i]} and {estimates.groups[j]}: no variation, so no standard error."
    found: list[Wald | LogRatio | Fieller] = []
    for more in estimates.added or (estimates,):
        if contrast == "ratio" and not min(more.rate[i], more.rate[j]) > 0:
            got, cure = f"'ratio' of {more.rate[i]:.3g} and {more.rate[j]:.3g}", 'contrast="difference"'
            raise InputError("contrast", got=got, allowed="metrics above 0 in every group", cure=cure)
        spread = more.std_error(i, j, ratio=contrast == "ratio") * more.widening(
            i, j, ratio=contrast == "ratio"
        )
        if not spread > 0:
            return Chosen(None, name + suffix, undefined, degrees)
        estimate = point_estimate(more, i, j, contrast)
        how: Wald | LogRatio | Fieller = Wald(degrees, estimate, spread)
        if name == "log":
            how = LogRatio(degrees, estimate, spread)
        elif name == "fieller":
            (a, b), (v, w) = more.rate[[i, j]].tolist(), more.variance[[i, j]].tolist()
            how = Fieller(degrees, (a, b), (v, w))
        found.append(how)
    return Chosen(
        found[0] if len(found) == 1 else Widest(degrees, (found[0], found[1])), name + suffix, "", degrees
    )


def _too_few_for_delta(estimates: RateEstimates, i: int, j: int) -> list[str]:
    """The groups that have too few rows, or cases of a part of a mean: what they have."""
    few = []
    for g in (i, j):
        cases = min((part.cases[g] for part in estimates.parts), default=np.inf)
        if estimates.rows[g] < DELTA_ROWS:
            few.append(f"{estimates.groups[g]}: {estimates.rows[g]} rows")
        elif cases < DELTA_CASES:
            few.append(f"{estimates.groups[g]}: {cases:g} cases of one rate")
    return few


def natural_std_error(estimates: RateEstimates, i: int, j: int, contrast: Contrast) -> float:
    """Standard error of the contrast on its own scale (delta method)."""
    if contrast == "difference":
        return estimates.std_error(i, j, ratio=False)
    estimate = point_estimate(estimates, i, j, "ratio")
    known = np.isfinite(estimate) and estimate != 0
    return estimate * estimates.std_error(i, j, ratio=True) if known else float("nan")
