"""The upper end point of a tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fairstats.ground.results import Interval, Result, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.return_level import chi2_quantile, need_likelihood

if TYPE_CHECKING:
    from fairstats.numerics.evt.result import EvtFit

__all__ = ["Endpoint", "endpoint", "endpoint_estimate"]


@serialisable
@dataclass(frozen=True)
class Endpoint(Result):
    """The value that the tail does not exceed.

    Attributes
    ----------
    estimate : float
        u − σ/ξ (μ − σ/ξ for block maxima); infinite for ξ ≥ 0.
    interval : Interval
        Likelihood interval; from the largest value seen at the least, infinite where ξ ≥ 0 is likely.
    largest : float
        Largest value seen.
    n_exceedances : int
    backend : str
    """

    title: ClassVar[str] = "Upper end point"

    estimate: float
    interval: Interval
    largest: float
    n_exceedances: int
    backend: str

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        return [
            {
                "metric": "end point",
                "estimate": self.estimate,
                "ci_low": self.interval.low,
                "ci_high": self.interval.high,
                "n": self.n_exceedances,
                "method": self.interval.method,
                "backend": self.backend,
            }
        ]

    def notes(self) -> list[str]:
        """Largest value seen, level of the interval."""
        return [
            f"Largest value seen: {self.largest:g}. {100 * self.interval.confidence_level:g}% interval, "
            f"{self.interval.method}."
        ]


def endpoint(fit: EvtFit, confidence_level: float) -> Endpoint:
    """Upper end point of a fit by maximum likelihood, with its likelihood interval.

    Raises
    ------
    InputError
        For a fit by L-moments.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> x = np.random.default_rng(1).beta(2.0, 3.0, size=5000)
    >>> found = fit_gpd(x, threshold=0.8, backend="scipy").endpoint()
    >>> round(found.estimate, 3), 1.0 in found.interval
    (0.996, True)
    """
    need_likelihood(fit)
    confidence_level = check_confidence_level(confidence_level)
    largest = float(fit.sample[-1])
    low, high = fit.likelihood().endpoint_interval(chi2_quantile(confidence_level))
    interval = Interval(max(low, largest), high, confidence_level, "profile likelihood")
    return Endpoint(endpoint_estimate(fit), interval, largest, fit.n_exceedances, fit.backend)


def endpoint_estimate(fit: EvtFit) -> float:
    """The point u − σ/ξ (μ − σ/ξ for block maxima), ∞ for ξ ≥ 0, the largest value at the edge ξ = −1."""
    if fit.at_boundary:
        return float(fit.sample[-1])
    if fit.shape >= 0:
        return float("inf")
    origin = fit.location if fit.model == "gev" else fit.origin
    scale = fit.scale if fit.model == "gev" else float(fit.excess_params[0])
    return origin - scale / fit.shape
