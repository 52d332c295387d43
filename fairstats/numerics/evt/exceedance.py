"""The probability that a value is exceeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.results import Interval, Result, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.return_level import chi2_quantile, need_likelihood

if TYPE_CHECKING:
    from fairstats.numerics.evt.result import EvtFit

__all__ = ["ExceedanceProbability", "exceedance_probability"]

#: Smaller probabilities count as 0.
_SMALLEST = 1e-300


@serialisable
@dataclass(frozen=True)
class ExceedanceProbability(Result):
    """How often a value is exceeded.

    Attributes
    ----------
    value : float
        In the units of the data.
    estimate : float
        Probability per observation (per block, for block maxima); 0 beyond the fitted end point.
    interval : Interval
        Likelihood interval; its lower end is 0 where the end point may lie below `value`.
    n_exceedances : int
    backend : str
    """

    title: ClassVar[str] = "Exceedance probability"

    value: float
    estimate: float
    interval: Interval
    n_exceedances: int
    backend: str

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        return [
            {
                "metric": f"P(X > {self.value:g})",
                "estimate": self.estimate,
                "ci_low": self.interval.low,
                "ci_high": self.interval.high,
                "n": self.n_exceedances,
                "method": self.interval.method,
                "backend": self.backend,
                "value": self.value,
            }
        ]

    def notes(self) -> list[str]:
        """Level of the interval."""
        return [f"{100 * self.interval.confidence_level:g}% interval, {self.interval.method}."]


def exceedance_probability(fit: EvtFit, value: float, confidence_level: float) -> ExceedanceProbability:
    """Probability that an observation exceeds `value`: λ·(1 + ξ(x − u)/σ)^(−1/ξ), with its interval.

    Parameters
    ----------
    fit : EvtFit
        By maximum likelihood.
    value : float
        Above the threshold, where there is one.
    confidence_level : float

    Raises
    ------
    InputError
        A value at or below the threshold, of which the tail says nothing; a fit by L-moments.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=5000)
    >>> found = fit_gpd(x, threshold=3.0, backend="scipy").exceedance_probability(7.0)
    >>> round(found.estimate, 5), [round(end, 5) for end in found.interval]
    (0.00091, [0.00044, 0.00179])
    """
    need_likelihood(fit)
    confidence_level = check_confidence_level(confidence_level)
    x = float(value)
    threshold = fit.threshold
    if not np.isfinite(x) or (threshold is not None and x <= threshold):
        raise InputError(
            "value",
            got=repr(value),
            allowed="a finite number" + ("" if threshold is None else f" above the threshold {threshold:g}"),
            cure="below the threshold the share of the data above the value is the estimate",
        )
    survival = float(fit.sf(x))
    target = chi2_quantile(confidence_level)
    low, high = _interval(fit, x, survival, target)
    interval = Interval(low, high, confidence_level, "profile likelihood")
    return ExceedanceProbability(x, fit.rate * survival, interval, fit.n_exceedances, fit.backend)


def _interval(fit: EvtFit, x: float, survival: float, target: float) -> tuple[float, float]:
    period = np.inf  # beyond the fitted end point
    if survival > _SMALLEST:
        period = -np.log(fit.rate * survival) if fit.model != "gev" else -np.log(-np.log1p(-survival))
    shortest, longest = fit.likelihood().log_period_interval(x, float(period), target)
    return _probability(fit, longest), min(_probability(fit, shortest), 1.0)


def _probability(fit: EvtFit, log_period: float) -> float:
    """1/m from τ."""
    if np.isnan(log_period):
        return float("nan")
    if fit.model == "gev":
        return float(-np.expm1(-np.exp(-log_period)))
    return float(np.exp(-log_period))
