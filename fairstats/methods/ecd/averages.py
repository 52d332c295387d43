"""Averages of counterfactual discrimination: ACD, its difference between groups, CVaR; z intervals and tests.

Rows of one person are one cluster: the standard error is that of the linearised mean over people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Average", "average_of", "conditional_value_at_risk", "difference_of"]


@serialisable
@dataclass(frozen=True)
class Average:
    """A mean with its standard error.

    Attributes
    ----------
    estimate, std_error : float
        NaN where there are too few values (none, or fewer than two people).
    n : int
        Values.
    n_people : int
    """

    estimate: float
    std_error: float
    n: int
    n_people: int

    def inference(self, confidence_level: float) -> tuple[Interval, HypothesisTest]:
        """Normal interval, and the z-test of mean 0."""
        return _normal(self.estimate, self.std_error, confidence_level, "mean CD = 0")


def average_of(values: Floats, person: NDArray[Any] | None = None) -> Average:
    """Mean of values, clustered by person.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
    person : ndarray, shape (n,), optional
    """
    if values.size == 0:
        return Average(float("nan"), float("nan"), 0, 0)
    mean = float(values.mean())
    total, people = _person_totals(values - mean, person)
    if people < 2:
        return Average(mean, float("nan"), values.size, people)
    variance = float(total @ total) * people / (people - 1) / values.size**2
    return Average(mean, variance**0.5, values.size, people)


def difference_of(
    first: Average, second: Average, confidence_level: float
) -> tuple[float, Interval, HypothesisTest]:
    """Difference of the means of independent groups: estimate, normal interval, z-test of no difference."""
    value = first.estimate - second.estimate
    spread = float(np.hypot(first.std_error, second.std_error))
    return value, *_normal(value, spread, confidence_level, "difference of mean CD = 0")


def conditional_value_at_risk(
    values: Floats, level: float, confidence_level: float, person: NDArray[Any] | None = None
) -> tuple[float, Interval]:
    """Mean of the worst share 1 − level, CVaR = q + E max(X − q, 0)/(1 − level), with its normal interval.

    Source: Rockafellar & Uryasev (2000), eq. 4; the influence function is that of the minimiser q fixed.
    """
    if values.size == 0:
        return float("nan"), Interval(float("nan"), float("nan"), confidence_level, "none")
    q = float(np.quantile(values, level))
    beyond = average_of(np.maximum(values - q, 0.0) / (1.0 - level), person)
    estimate = q + beyond.estimate
    interval, _ = _normal(estimate, beyond.std_error, confidence_level, "")
    return estimate, interval


def _person_totals(values: Floats, person: NDArray[Any] | None) -> tuple[Floats, int]:
    if person is None:
        return values, values.size
    _, codes = np.unique(person, return_inverse=True)
    total = np.bincount(codes, weights=values).astype(np.float64)
    return total, total.size


def _normal(
    estimate: float, std_error: float, confidence_level: float, null: str
) -> tuple[Interval, HypothesisTest]:
    from scipy.special import ndtr, ndtri

    reach = float(ndtri((1 + confidence_level) / 2)) * std_error
    interval = Interval(estimate - reach, estimate + reach, confidence_level, "normal")
    if std_error > 0:
        z = estimate / std_error
        pvalue = float(2 * ndtr(-abs(z)))
    else:  # all values equal, or too few of them
        z = pvalue = float("nan")
    return interval, HypothesisTest(null, "two-sided", z, pvalue, "z")
