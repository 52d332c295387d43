"""Profile likelihood of one parameter: the curve, and the interval where it stays near its maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.results import Interval, Result, check_choice, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.return_level import chi2_quantile, need_likelihood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.numerics.evt.result import EvtFit

    Floats = NDArray[np.float64]

__all__ = ["ProfileCurve", "parameter_interval", "profile_curve"]

#: Points on either side of the estimate, and how far beyond the critical value the curve goes.
_POINTS, _BEYOND = 16, 1.6


@serialisable
@dataclass(frozen=True, eq=False)
class ProfileCurve(Result):
    """Deviance of a parameter, all others at their best.

    Attributes
    ----------
    parameter : str
    estimate : float
    interval : Interval
        Where the deviance is at most `critical_value`.
    values : ndarray of float, shape (K,)
        Values of the parameter, ascending.
    deviance : ndarray of float, shape (K,)
        Twice the fall of the log-likelihood from its maximum.
    critical_value : float
        χ² quantile.
    n_exceedances : int
    backend : str
    """

    title: ClassVar[str] = "Profile likelihood"

    parameter: str
    estimate: float
    interval: Interval
    values: Floats
    deviance: Floats
    critical_value: float
    n_exceedances: int
    backend: str

    def rows(self) -> list[dict[str, Any]]:
        """One row: the estimate and its interval."""
        return [
            {
                "metric": self.parameter,
                "estimate": self.estimate,
                "ci_low": self.interval.low,
                "ci_high": self.interval.high,
                "n": self.n_exceedances,
                "method": self.interval.method,
                "backend": self.backend,
            }
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve; see `fairstats.plots.evt.plot_profile`."""
        from fairstats.plots.evt import plot_profile

        return plot_profile(self, ax)


def profile_curve(fit: EvtFit, parameter: str, confidence_level: float) -> ProfileCurve:
    """Profile likelihood of a parameter of a fit by maximum likelihood.

    Parameters
    ----------
    fit : EvtFit
    parameter : str
        "shape", "scale", or "location" where the model has one.
    confidence_level : float

    Raises
    ------
    InputError
        An unknown parameter; a fit by L-moments.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> curve = fit_gpd(x, threshold=2.0, backend="scipy").profile("shape")
    >>> [round(end, 3) for end in curve.interval]
    [-0.088, 0.184]
    """
    check_choice("parameter", parameter, tuple(fit.params))
    need_likelihood(fit)
    confidence_level = check_confidence_level(confidence_level)
    critical = chi2_quantile(confidence_level)
    roots = np.linspace(0.0, np.sqrt(_BEYOND * critical), _POINTS + 1)[1:]
    targets = np.append(roots**2, critical)
    low, high = fit.likelihood().parameter_ends(parameter, targets)
    values = np.concatenate([low[:-1][::-1], [fit.params[parameter]], high[:-1]])
    deviance = np.concatenate([targets[:-1][::-1], [0.0], targets[:-1]])
    known = np.isfinite(values)
    values, deviance = values[known], deviance[known]
    keep = np.append(
        True, np.diff(values) > 0
    )  # a curve that ends at the edge of the parameter space repeats it
    return ProfileCurve(
        parameter,
        fit.params[parameter],
        Interval(float(low[-1]), float(high[-1]), confidence_level, "profile likelihood"),
        values[keep],
        deviance[keep],
        critical,
        fit.n_exceedances,
        fit.backend,
    )


def parameter_interval(fit: EvtFit, parameter: str, confidence_level: float) -> Interval:
    """Likelihood interval of a parameter; normal with the jackknife error for L-moments."""
    check_choice("parameter", parameter, tuple(fit.params))
    confidence_level = check_confidence_level(confidence_level)
    if fit.method == "mle":
        target = np.array([chi2_quantile(confidence_level)])
        low, high = fit.likelihood().parameter_ends(parameter, target)
        return Interval(float(low[0]), float(high[0]), confidence_level, "profile likelihood")
    from scipy.special import ndtri

    reach = float(ndtri(0.5 + 0.5 * confidence_level)) * fit.std_error[parameter]
    estimate = fit.params[parameter]
    return Interval(estimate - reach, estimate + reach, confidence_level, "jackknife")
