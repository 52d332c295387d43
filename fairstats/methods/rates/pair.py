"""Inference for one pair of rates: each method is an interval and a statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.methods.rates.bootstrap import bca_distribution
from fairstats.methods.rates.delta import difference_std_error, log_ratio_std_error
from fairstats.methods.rates.score_scalar import (
    difference_limits,
    difference_statistic,
    ratio_limits,
    ratio_statistic,
)
from fairstats.methods.rates.simultaneous import normal_quantile

if TYPE_CHECKING:
    from fairstats.methods.rates.estimates import RateEstimates

__all__ = [
    "SMALL_CELL",
    "Contrast",
    "LogRatio",
    "Mover",
    "PairMethod",
    "Score",
    "Wald",
    "empty_cells",
    "pair_method",
    "point_estimate",
    "smallest_cell",
]

Contrast = Literal["ratio", "difference"]
_FAR = 30.0
#: Below this count in any of the four cells tests and verdict are by score, and the exact test is added.
SMALL_CELL = 5


class PairMethod(Protocol):
    """What every method offers."""

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""

    def statistic(self, null: float) -> float:
        """Statistic z of H0: θ = null, positive where the estimate lies above."""


@dataclass(frozen=True)
class Wald:
    """θ̂ ± z·s (for the ratio: Theorem 3.1 of Besse et al.)."""

    estimate: float
    std_error: float
    degrees_of_freedom: float

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        return self.estimate - critical * self.std_error, self.estimate + critical * self.std_error

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        return self.limits(normal_quantile((1 + confidence_level) / 2, self.degrees_of_freedom))

    def statistic(self, null: float) -> float:
        """(θ̂ − null)/s."""
        distance = self.estimate - null
        if distance == 0:
            return 0.0
        return distance / self.std_error if self.std_error > 0 else float(np.copysign(np.inf, distance))


@dataclass(frozen=True)
class LogRatio:
    """θ̂·exp(±z·s) with s the standard error of log θ̂."""

    estimate: float
    log_std_error: float
    degrees_of_freedom: float

    @property
    def std_error(self) -> float:
        """Standard error of the logarithm."""
        return self.log_std_error

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        reach = np.exp(
            self.log_std_error * normal_quantile((1 + confidence_level) / 2, self.degrees_of_freedom)
        )
        return self.estimate / float(reach), self.estimate * float(reach)

    def statistic(self, null: float) -> float:
        """log(θ̂/null)/s."""
        return float(np.log(self.estimate / null)) / self.log_std_error


@dataclass(frozen=True)
class Score:
    """All θ that the score test does not reject.

    `correction` is the factor N/(N−1); `continuity` takes (1/n₀ + 1/n₁)/2 off the distance from the estimate
    (differences only).
    """

    table: tuple[float, float, float, float]
    contrast: Contrast
    correction: bool
    degrees_of_freedom: float
    continuity: bool = False

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends of {θ : |z(θ)| ≤ critical}."""
        if self.contrast == "ratio":
            return ratio_limits(self.table, critical, self.correction)
        return difference_limits(self.table, critical, self.correction, self.continuity)

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        return self.limits(normal_quantile((1 + confidence_level) / 2, self.degrees_of_freedom))

    def statistic(self, null: float) -> float:
        """Score statistic."""
        if self.contrast == "ratio":
            return ratio_statistic(self.table, null, self.correction)
        return difference_statistic(self.table, null, self.correction, self.continuity)


@dataclass(frozen=True)
class Mover:
    """Mean of two differences from their own score intervals (MOVER; Zou & Donner 2008).

    With halves d_m/2 and limits l_m, u_m of each: low = Σd_m/2 − √Σ((d_m − l_m)/2)², high likewise. For
    independent parts; never of zero width in small samples.
    """

    parts: tuple[tuple[float, Score], ...]

    @property
    def estimate(self) -> float:
        """Mean of the differences."""
        return sum(difference for difference, _ in self.parts) / len(self.parts)

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value of the score statistics."""
        below = above = 0.0
        for difference, score in self.parts:
            low, high = score.limits(critical)
            below += ((difference - low) / len(self.parts)) ** 2
            above += ((high - difference) / len(self.parts)) ** 2
        return max(self.estimate - below**0.5, -1.0), min(self.estimate + above**0.5, 1.0)

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        degrees = self.parts[0][1].degrees_of_freedom
        return self.limits(normal_quantile((1 + confidence_level) / 2, degrees))

    def statistic(self, null: float) -> float:
        """Value of z at which the interval ends at `null`, at most 30 in size."""
        from scipy.optimize import brentq

        distance = self.estimate - null

        def reach(z: float) -> float:
            low, high = self.limits(z)
            return low - null if distance > 0 else null - high

        if abs(distance) < 1e-12 or reach(1e-6) <= 0:
            return 0.0
        size = _FAR if reach(_FAR) > 0 else float(brentq(reach, 1e-6, _FAR, xtol=1e-10))
        return float(np.copysign(size, distance))


def point_estimate(estimates: RateEstimates, i: int, j: int, contrast: Contrast) -> float:
    """r_i / r_j or r_i − r_j; NaN for 0/0."""
    if contrast == "difference":
        return float(estimates.rate[i] - estimates.rate[j])
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(estimates.rate[i], estimates.rate[j]))


def empty_cells(estimates: RateEstimates, i: int, j: int) -> str:
    """Which of the four cells is empty, in words; empty text for none."""
    for part in estimates.parts:
        empty = empty_cells(part, i, j)
        if empty:
            return f"{empty} among its {part.rate_of.case_words}"
    if estimates.parts:
        return ""
    for g in (i, j):
        if estimates.successes[g] <= 0:
            return f"{estimates.groups[g]} has no success"
        if estimates.successes[g] >= estimates.cases[g]:
            return f"{estimates.groups[g]} has no failure"
    return ""


@dataclass(frozen=True)
class Chosen:
    """What one pair is inferred with.

    Attributes
    ----------
    shown : PairMethod
        Gives the interval.
    judged : PairMethod
        Gives the tests, and the bounds that the verdict rests on.
    name, judged_name : str
        Their names.
    note : str
        Why the method is not the one asked for, if it is not.
    """

    shown: PairMethod
    judged: PairMethod
    name: str
    judged_name: str
    note: str = ""


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
    """Choose the method for one pair.

    With an empty cell the log and bootstrap methods have no variance to work with, and the score method takes
    their place. With a cell below `SMALL_CELL` they and the delta method are kept for the interval, but tests
    and verdict rest on the score, so that a group of a few people never looks fair by a formula for many.
    """
    degrees = estimates.degrees_of_freedom
    if estimates.smooth:
        return _smooth(estimates, i, j, contrast)
    _check_design(estimates, method)
    if estimates.parts:
        return _averaged(estimates, i, j, method)
    successes, cases = estimates.effective()
    table = (float(successes[i]), float(cases[i]), float(successes[j]), float(cases[j]))
    score = Score(table, contrast, method not in ("koopman", "mee"), degrees)
    if method in ("score", "koopman", "mee"):
        return Chosen(score, score, method, method)
    empty = empty_cells(estimates, i, j)
    by_score = bool(empty) or (smallest_cell(table) < SMALL_CELL and not estimates.clustered)
    estimate = point_estimate(estimates, i, j, contrast)
    if method == "delta" and np.isfinite(estimate) and not (contrast == "ratio" and estimate == 0):
        wald = Wald(estimate, natural_std_error(estimates, i, j, contrast), degrees)
        note = f"{empty}: the delta interval is too narrow, the verdict rests on score bounds."
        return Chosen(
            wald,
            score if by_score else wald,
            "delta",
            "score" if by_score else "delta",
            note if empty else "",
        )
    if empty:
        note = f"{empty}: the {method} interval is not defined, the score interval is given."
        return Chosen(score, score, "score", "score", note)
    shown: PairMethod
    if method == "bootstrap":
        if rng is None:
            raise TypeError("the bootstrap needs a generator")
        name = "bootstrap (BCa)"
        shown = bca_distribution(*table, contrast=contrast, n_resamples=n_resamples, rng=rng)
    else:
        name = "log"
        spread = log_ratio_std_error(estimates.rate, estimates.covariance, i, j)
        shown = LogRatio(estimate, spread, degrees)
    return Chosen(shown, score if by_score else shown, name, "score" if by_score else name)


def smallest_cell(table: tuple[float, float, float, float]) -> float:
    """Least of successes and failures of both groups."""
    k0, n0, k1, n1 = table
    return min(k0, n0 - k0, k1, n1 - k1)


def _check_design(estimates: RateEstimates, method: str) -> None:
    """Refuse methods that assume what weights or clusters break."""
    if method in ("score", "koopman", "mee") and estimates.clustered:
        raise InputError(
            "method",
            got=f"{method!r} with clusters",
            allowed="'log' or 'delta': the score interval assumes independent groups",
            cure="leave out method=, or use one of these",
        )
    if method == "bootstrap" and estimates.weighted:
        raise InputError(
            "method",
            got="'bootstrap' with weights or clusters",
            allowed="'log' or 'delta' (linearisation)",
            cure="leave out method=, or use one of these",
        )


def _smooth(estimates: RateEstimates, i: int, j: int, contrast: Contrast) -> Chosen:
    """Delta method for a general function: Wald for differences, log scale for ratios."""
    estimate = point_estimate(estimates, i, j, contrast)
    if contrast == "difference":
        spread = difference_std_error(estimates.covariance, i, j)
        wald = Wald(estimate, spread, estimates.degrees_of_freedom)
        return Chosen(wald, wald, "delta", "delta")
    if not (estimates.rate[i] > 0 and estimates.rate[j] > 0):
        raise InputError(
            "contrast",
            got=f"'ratio' of {estimates.rate[i]:.3g} and {estimates.rate[j]:.3g}",
            allowed="metrics above 0 in every group",
            cure='contrast="difference"',
        )
    log = LogRatio(
        estimate,
        log_ratio_std_error(estimates.rate, estimates.covariance, i, j),
        estimates.degrees_of_freedom,
    )
    return Chosen(log, log, "log", "log")


def _averaged(estimates: RateEstimates, i: int, j: int, method: str) -> Chosen:
    """Methods for the difference of means of two rates."""
    if method in ("bootstrap", "koopman"):
        raise InputError(
            "method",
            got=f"{method!r} for average odds",
            allowed="'delta', 'score' or 'mee'",
            cure="leave out method=",
        )
    parts = []
    for part in estimates.parts:
        successes, cases = part.effective()
        table = (float(successes[i]), float(cases[i]), float(successes[j]), float(cases[j]))
        score = Score(table, "difference", method != "mee", part.degrees_of_freedom)
        parts.append((float(part.rate[i] - part.rate[j]), score))
    mover = Mover(tuple(parts))
    if method in ("score", "mee"):
        return Chosen(mover, mover, f"{method} (MOVER)", f"{method} (MOVER)")
    estimate = float(estimates.rate[i] - estimates.rate[j])
    wald = Wald(estimate, difference_std_error(estimates.covariance, i, j), estimates.degrees_of_freedom)
    empty = empty_cells(estimates, i, j)
    small = min(smallest_cell(score.table) for _, score in parts) < SMALL_CELL
    by_score = bool(empty) or (small and not estimates.clustered)
    note = f"{empty}: the delta interval is too narrow, the verdict rests on score bounds."
    return Chosen(
        wald,
        mover if by_score else wald,
        "delta",
        "score (MOVER)" if by_score else "delta",
        note if empty else "",
    )


def natural_std_error(estimates: RateEstimates, i: int, j: int, contrast: Contrast) -> float:
    """Standard error of the contrast on its own scale (delta method)."""
    if contrast == "difference":
        return difference_std_error(estimates.covariance, i, j)
    estimate = point_estimate(estimates, i, j, "ratio")
    if not np.isfinite(estimate) or estimate == 0:
        return float("nan")
    return estimate * log_ratio_std_error(estimates.rate, estimates.covariance, i, j)
