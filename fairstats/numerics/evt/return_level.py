"""Return levels: what is returned, and which periods a tail reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.results import Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.checks import as_positive

if TYPE_CHECKING:
    from fairstats.numerics.evt.result import EvtFit

__all__ = ["ReturnLevel", "chi2_quantile", "log_period", "need_likelihood"]

#: m·λ = 1 up to rounding is taken.
_ROUNDING = 1e-12


@serialisable
@dataclass(frozen=True)
class ReturnLevel(Result):
    """The level of m observations.

    Attributes
    ----------
    m : float
        Observations (blocks, for block maxima).
    estimate : float
        RL(m).
    std_error : float
        Delta-method standard error (bootstrap: standard deviation of the replicates); NaN where the fit is
        not regular.
    interval : Interval
    critical_value : float or None
        What the deviance was compared with: the χ² quantile, or the simulated one; None for other methods.
    rate : {"estimated", "fixed"}
        Whether the rate of exceedances is part of the interval.
    model : str
    n_exceedances, n_total : int
    n_resamples, seed : int or None
        Of a bootstrap or a calibration.
    backend : str
    """

    title: ClassVar[str] = "Return level"

    m: float
    estimate: float
    std_error: float
    interval: Interval
    critical_value: float | None
    rate: str
    model: str
    n_exceedances: int
    n_total: int
    n_resamples: int | None
    seed: int | None
    backend: str

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        return [
            {
                "metric": f"return level of {self.m:g}",
                "estimate": self.estimate,
                "std_error": self.std_error,
                "ci_low": self.interval.low,
                "ci_high": self.interval.high,
                "n": self.n_exceedances,
                "method": self.interval.method,
                "backend": self.backend,
                "m": self.m,
            }
        ]

    def notes(self) -> list[str]:
        """Meaning and settings."""
        what = "a block's maximum" if self.model == "gev" else "an observation"
        lines = [
            f"Exceeded by {what} with probability 1/{self.m:g}. "
            f"{100 * self.interval.confidence_level:g}% interval, {self.interval.method}."
        ]
        if self.rate == "fixed":
            lines.append(
                "The rate of exceedances is taken as known: too narrow, for comparison with evd only."
            )
        return lines


def log_period(fit: EvtFit, m: float) -> float:
    """τ of m observations (blocks): log m, or −log(−log(1 − 1/m)).

    Raises
    ------
    InputError
        Where the tail does not reach: m·λ < 1 for exceedances, m ≤ 1 for blocks.
    """
    m = as_positive("m", m, "a number of observations, e.g. 1000")
    if fit.model == "gev":
        if m <= 1.0:
            raise InputError("m", got=f"{m:g} blocks", allowed="more than 1", cure="m counts blocks")
        return float(-np.log(-np.log1p(-1.0 / m)))
    if m * fit.rate < 1.0 - _ROUNDING:
        least = fit.n_total / fit.n_exceedances
        raise InputError(
            "m",
            got=f"{m:g}, of which {m * fit.rate:.3g} exceed the threshold on average",
            allowed=f"at least {least:.6g}: under one exceedance on average the level is below the threshold",
            cure="lower the threshold, or take the empirical quantile by empirical_return_level(x, m)",
        )
    return float(np.log(m))


def need_likelihood(fit: EvtFit) -> None:
    """Raise unless the fit is by maximum likelihood."""
    if fit.method != "mle":
        raise InputError(
            "method",
            got=f"a likelihood interval of a fit by {fit.method}",
            allowed="'delta' or 'bootstrap'",
            cure="method='bootstrap', or fit by method='mle'",
        )


def chi2_quantile(confidence_level: float) -> float:
    """Quantile of χ² with one degree of freedom: 3.84 for 0.95."""
    from scipy.special import chdtri

    return float(chdtri(1.0, 1.0 - confidence_level))
