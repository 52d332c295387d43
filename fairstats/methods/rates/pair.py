"""Inference for one pair of rates: each method is an interval and a statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.methods.rates.bootstrap import bca_distribution
from fairstats.methods.rates.delta import difference_std_error, log_ratio_std_error
from fairstats.methods.rates.score import (
    difference_score_interval,
    difference_score_statistic,
    ratio_score_interval,
    ratio_score_statistic,
)
from fairstats.methods.rates.simultaneous import normal_quantile

if TYPE_CHECKING:
    from fairstats.methods.rates.estimates import RateEstimates

__all__ = ["Contrast", "LogRatio", "PairMethod", "Score", "Wald", "pair_method", "point_estimate"]

Contrast = Literal["ratio", "difference"]


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

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        reach = self.std_error * normal_quantile((1 + confidence_level) / 2, self.degrees_of_freedom)
        return self.estimate - reach, self.estimate + reach

    def statistic(self, null: float) -> float:
        """(θ̂ − null)/s."""
        distance = self.estimate - null
        return distance / self.std_error if self.std_error > 0 else float(np.sign(distance) * np.inf)


@dataclass(frozen=True)
class LogRatio:
    """θ̂·exp(±z·s) with s the standard error of log θ̂."""

    estimate: float
    log_std_error: float
    degrees_of_freedom: float

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
    """All θ that the score test does not reject."""

    table: tuple[float, float, float, float]
    contrast: Contrast
    correction: bool
    degrees_of_freedom: float

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        solve = ratio_score_interval if self.contrast == "ratio" else difference_score_interval
        critical = normal_quantile((1 + confidence_level) / 2, self.degrees_of_freedom)
        low, high = solve(*self.table, critical, correction=self.correction)
        return float(low), float(high)

    def statistic(self, null: float) -> float:
        """Score statistic."""
        test = ratio_score_statistic if self.contrast == "ratio" else difference_score_statistic
        return float(test(*self.table, null, correction=self.correction))


def point_estimate(estimates: RateEstimates, i: int, j: int, contrast: Contrast) -> float:
    """r_i / r_j or r_i − r_j; NaN for 0/0."""
    if contrast == "difference":
        return float(estimates.rate[i] - estimates.rate[j])
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(estimates.rate[i], estimates.rate[j]))


def _empty_cells(estimates: RateEstimates, i: int, j: int) -> str:
    """Which of the four cells is empty, in words; empty text for none."""
    for g in (i, j):
        if estimates.successes[g] <= 0:
            return f"{estimates.groups[g]} has no success"
        if estimates.successes[g] >= estimates.cases[g]:
            return f"{estimates.groups[g]} has no failure"
    return ""


def pair_method(
    estimates: RateEstimates,
    i: int,
    j: int,
    contrast: Contrast,
    method: str,
    *,
    n_resamples: int,
    rng: np.random.Generator | None,
) -> tuple[PairMethod, PairMethod, str, str]:
    """Method for the interval, method for the verdict's bounds, name of the first, and a note.

    With an empty cell the log and bootstrap methods have no variance to work with and the score method takes
    their place; the delta method is kept where it is defined, but the verdict rests on the score bounds, so
    that a group of one selected person never looks fair.
    """
    degrees = estimates.degrees_of_freedom
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
    successes, cases = estimates.effective()
    table = (float(successes[i]), float(cases[i]), float(successes[j]), float(cases[j]))
    score = Score(table, contrast, method not in ("koopman", "mee"), degrees)
    if method in ("score", "koopman", "mee"):
        return score, score, method, ""
    empty = _empty_cells(estimates, i, j)
    estimate = point_estimate(estimates, i, j, contrast)
    if method == "delta" and np.isfinite(estimate) and not (contrast == "ratio" and estimate == 0):
        wald = Wald(estimate, natural_std_error(estimates, i, j, contrast), degrees)
        note = (
            f"{empty}: the delta interval is too narrow, the verdict rests on score bounds." if empty else ""
        )
        return wald, (score if empty else wald), "delta", note
    if empty:
        return (
            score,
            score,
            "score",
            f"{empty}: the {method} interval is not defined, the score interval is given.",
        )
    if method == "bootstrap":
        if rng is None:
            raise TypeError("the bootstrap needs a generator")
        bca = bca_distribution(*table, contrast=contrast, n_resamples=n_resamples, rng=rng)
        return bca, bca, "bootstrap (BCa)", ""
    log = LogRatio(estimate, log_ratio_std_error(estimates.rate, estimates.covariance, i, j), degrees)
    return log, log, "log", ""


def natural_std_error(estimates: RateEstimates, i: int, j: int, contrast: Contrast) -> float:
    """Standard error of the contrast on its own scale (delta method)."""
    if contrast == "difference":
        return difference_std_error(estimates.covariance, i, j)
    estimate = point_estimate(estimates, i, j, "ratio")
    if not np.isfinite(estimate) or estimate == 0:
        return float("nan")
    return estimate * log_ratio_std_error(estimates.rate, estimates.covariance, i, j)
