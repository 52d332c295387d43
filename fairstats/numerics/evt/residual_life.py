"""Mean excesses over many thresholds: linear where the model holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.results import Result, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.candidates import usable_thresholds
from fairstats.numerics.evt.checks import as_series
from fairstats.numerics.evt.return_level import chi2_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["MeanResidualLife", "mean_residual_life"]


@serialisable
@dataclass(frozen=True, eq=False)
class MeanResidualLife(Result):
    """Mean excess over each threshold.

    Attributes
    ----------
    thresholds : ndarray of float, shape (K,)
    mean_excess, std_error, low, high : ndarray of float, shape (K,)
        Mean of x − u over x > u, its standard error, and the normal interval.
    n_exceedances : ndarray of int, shape (K,)
    confidence_level : float
    """

    title: ClassVar[str] = "Mean residual life"

    thresholds: Floats
    mean_excess: Floats
    std_error: Floats
    low: Floats
    high: Floats
    n_exceedances: NDArray[np.int64]
    confidence_level: float

    def rows(self) -> list[dict[str, Any]]:
        """One row per threshold."""
        return [
            {
                "metric": "mean excess",
                "estimate": float(self.mean_excess[i]),
                "std_error": float(self.std_error[i]),
                "ci_low": float(self.low[i]),
                "ci_high": float(self.high[i]),
                "n": int(self.n_exceedances[i]),
                "method": "normal",
                "threshold": float(u),
            }
            for i, u in enumerate(self.thresholds)
        ]

    def notes(self) -> list[str]:
        """How to read it."""
        return ["Above a good threshold the mean excess is linear in it, with slope ξ/(1 − ξ)."]

    def plot(self, ax: Any = None) -> Any:
        """Draw it; see `fairstats.plots.evt.plot_mean_residual_life`."""
        from fairstats.plots.evt import plot_mean_residual_life

        return plot_mean_residual_life(self, ax)


def mean_residual_life(
    x: Any, thresholds: Any = None, *, n_thresholds: int = 40, confidence_level: float = 0.95
) -> MeanResidualLife:
    """Mean excess over each of many thresholds, with normal intervals (Coles 2001, section 4.3.1).

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    thresholds : array-like, optional
        Each with at least ten exceedances. Default: `n_thresholds` values from the median to the value that
        ten exceed, their numbers of exceedances in geometric progression.
    n_thresholds : int
    confidence_level : float

    Returns
    -------
    MeanResidualLife

    Raises
    ------
    InputError
        Values that are no finite numbers, or a threshold with fewer than ten exceedances.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.residual_life import mean_residual_life
    >>> life = mean_residual_life(np.random.default_rng(1).exponential(size=5000), [1.0, 2.0])
    >>> life.mean_excess.round(2)
    array([0.98, 1.03])
    """
    series = as_series("x", x)
    level = check_confidence_level(confidence_level)
    u = usable_thresholds(series, thresholds, n_thresholds)
    ordered = np.sort(series)
    n = ordered.size - np.searchsorted(ordered, u, side="right")
    mean, error = np.empty(u.size), np.empty(u.size)
    for i, (threshold, count) in enumerate(zip(u, n, strict=True)):
        excesses = ordered[ordered.size - count :] - threshold
        mean[i], error[i] = excesses.mean(), excesses.std(ddof=1) / np.sqrt(count)
    reach = np.sqrt(chi2_quantile(level)) * error
    return MeanResidualLife(u, mean, error, mean - reach, mean + reach, n, level)
