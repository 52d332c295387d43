"""What kind of tail a fit supports, and how far it may be extrapolated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.results import Interval, Result, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.endpoint import endpoint_estimate
from fairstats.numerics.evt.return_level import chi2_quantile, need_likelihood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.numerics.evt.result import EvtFit
    from fairstats.numerics.evt.tail_likelihood import TailLikelihood

    Floats = NDArray[np.float64]

__all__ = ["TailType", "tail_type"]

#: The horizon is sought up to this many exceedances.
_FARTHEST = 1e6
_GRID = 25


@serialisable
@dataclass(frozen=True)
class TailType(Result):
    """Type of a tail with the interval behind it, and its horizon.

    Attributes
    ----------
    type : str
        "III" (an upper end point), "II" or "II, pre-asymptotic" (heavy), or "undecided (I not excluded)".
    shape : float
        ξ.
    interval : Interval
        Likelihood interval of ξ.
    horizon : float
        B: the largest m whose return level has an interval narrower than `max_relative_width` of its
        estimate, and ending below `bound`; NaN if there is none, infinite if there is no limit up to 10⁶
        exceedances.
    horizon_reason : str
        What sets it.
    max_relative_width : float
    bound : float or None
        Logical upper bound of the data.
    endpoint : float
        Upper end point of the fit, infinite for ξ ≥ 0.
    n_exceedances : int
    backend : str
    """

    title: ClassVar[str] = "Tail type"

    type: str
    shape: float
    interval: Interval
    horizon: float
    horizon_reason: str
    max_relative_width: float
    bound: float | None
    endpoint: float
    n_exceedances: int
    backend: str

    def rows(self) -> list[dict[str, Any]]:
        """One row: the shape, the type and the horizon."""
        return [
            {
                "metric": "shape",
                "estimate": self.shape,
                "ci_low": self.interval.low,
                "ci_high": self.interval.high,
                "n": self.n_exceedances,
                "method": self.interval.method,
                "backend": self.backend,
                "type": self.type,
                "horizon": self.horizon,
            }
        ]

    def notes(self) -> list[str]:
        """What the type rests on."""
        lines = []
        if self.type.startswith("undecided"):
            lines.append("An interval of ξ that contains 0 is no evidence for an exponential tail (type I).")
        if self.type.startswith("II,"):
            lines.append(
                f"The data are bounded by {self.bound:g}: a heavy tail cannot last, and nothing is "
                "extrapolated from it."
            )
        if self.bound is not None and self.bound < self.endpoint < float("inf"):
            lines.append(f"The fitted end point, {self.endpoint:.4g}, is beyond the bound {self.bound:g}.")
        lines.append(f"Horizon: {self.horizon_reason}.")
        return lines


def tail_type(
    fit: EvtFit,
    *,
    bound: float | None = None,
    max_relative_width: float = 0.5,
    confidence_level: float | None = None,
) -> TailType:
    """Type of the tail of a threshold fit, and the horizon of extrapolation.

    Type III if the interval of ξ lies below 0, type II if above (with a bound: "II, pre-asymptotic", since
    bounded data have an end point in the end), otherwise undecided: an interval that contains 0 does not
    show type I.

    Parameters
    ----------
    fit : EvtFit
        Of excesses or of the point process, by maximum likelihood.
    bound : float, optional
        Logical upper bound of the data, 1 for differences of probabilities.
    max_relative_width : float
        Widest interval of a return level that counts as knowledge, as a share of its estimate.
    confidence_level : float, optional
        Default: the fit's.

    Returns
    -------
    TailType

    Raises
    ------
    InputError
        Block maxima; a fit by L-moments; a bound that the data exceed.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> from fairstats.numerics.evt.tails import tail_type
    >>> x = np.random.default_rng(1).beta(2.0, 3.0, size=5000)
    >>> tail_type(fit_gpd(x, threshold=0.8, backend="scipy"), bound=1.0).type
    'III'
    """
    need_likelihood(fit)
    if fit.model == "gev":
        raise InputError(
            "fit",
            got="a fit of block maxima",
            allowed="a fit above a threshold",
            cure="fit_gpd(x, threshold)",
        )
    level = check_confidence_level(fit.confidence_level if confidence_level is None else confidence_level)
    if not (np.isfinite(max_relative_width) and max_relative_width > 0):
        raise InputError(
            "max_relative_width", got=repr(max_relative_width), allowed="a number above 0", cure="0.5"
        )
    largest = float(fit.sample[-1])
    if bound is not None and not largest <= float(bound):
        raise InputError(
            "bound",
            got=f"{bound!r}, which the largest value {largest:g} exceeds",
            allowed="an upper bound of the data",
            cure="leave it out if there is none",
        )
    interval = fit.interval("shape", level)
    horizon, reason = _horizon(fit, bound, max_relative_width, level)
    return TailType(
        _name(interval, bound),
        fit.shape,
        interval,
        horizon,
        reason,
        max_relative_width,
        None if bound is None else float(bound),
        endpoint_estimate(fit),
        fit.n_exceedances,
        fit.backend,
    )


def _name(interval: Interval, bound: float | None) -> str:
    if interval.high < 0:
        return "III"
    if interval.low > 0:
        return "II" if bound is None else "II, pre-asymptotic"
    return "undecided (I not excluded)"


def _horizon(fit: EvtFit, bound: float | None, width: float, level: float) -> tuple[float, str]:
    """Largest m that passes, on a grid of log m that is refined around the first failure."""
    likelihood, critical = fit.likelihood(), chi2_quantile(level)
    low, high = np.log(1.0 / fit.rate), np.log(_FARTHEST / fit.rate)
    reason = ""
    for _ in range(3):
        periods = np.linspace(low, high, _GRID)
        good, reasons = _passes(likelihood, periods, critical, bound, width)
        if good.all():
            if not reason:
                return float("inf"), f"no limit up to {_FARTHEST:g} exceedances"
            low = high
            break
        first = int(np.argmin(good))
        reason = reasons[first]
        if first == 0:
            if low == np.log(1.0 / fit.rate):
                return float("nan"), f"already at the threshold {reason}"
            break
        low, high = periods[first - 1], periods[first]
    return float(np.floor(np.exp(low) * (1.0 + 1e-12))), f"beyond it {reason}"


def _passes(
    likelihood: TailLikelihood, periods: Floats, critical: float, bound: float | None, width: float
) -> tuple[NDArray[np.bool_], list[str]]:
    low, high = likelihood.level_interval(periods, np.full(periods.size, critical))
    estimate = np.array([likelihood.level(t) for t in periods])
    narrow = high - low < width * np.abs(estimate)
    below = np.ones(periods.size, dtype=bool) if bound is None else high < bound
    words = np.where(
        narrow,
        f"the interval ends above the bound {bound}",
        f"the interval is wider than {width:g} of the level",
    )
    return narrow & below, [str(w) for w in words]
