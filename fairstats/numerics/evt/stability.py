"""Fits above many thresholds: shape and modified scale are constant where the model holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.results import Result, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.candidates import usable_thresholds
from fairstats.numerics.evt.checks import as_series
from fairstats.numerics.evt.contour import contour_extremes
from fairstats.numerics.evt.goals import shape_goal
from fairstats.numerics.evt.gpd import GpdSamples, fit_gpd_samples
from fairstats.numerics.evt.gpd_surface import GpdSurface
from fairstats.numerics.evt.return_level import chi2_quantile
from fairstats.numerics.evt.tail_likelihood import TailLikelihood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["ThresholdStability", "threshold_stability"]


@serialisable
@dataclass(frozen=True, eq=False)
class ThresholdStability(Result):
    """Parameters of the generalised Pareto fit above each threshold.

    Attributes
    ----------
    thresholds : ndarray of float, shape (K,)
    shape, shape_low, shape_high : ndarray of float, shape (K,)
        ξ with its likelihood interval.
    modified_scale, modified_scale_error : ndarray of float, shape (K,)
        σ − ξu, which does not depend on u where the model holds, and its standard error (NaN for ξ ≤ −1/2).
    n_exceedances : ndarray of int, shape (K,)
    confidence_level : float
    """

    title: ClassVar[str] = "Threshold stability"

    thresholds: Floats
    shape: Floats
    shape_low: Floats
    shape_high: Floats
    modified_scale: Floats
    modified_scale_error: Floats
    n_exceedances: NDArray[np.int64]
    confidence_level: float

    def rows(self) -> list[dict[str, Any]]:
        """Two rows per threshold: shape and modified scale."""
        z = np.sqrt(chi2_quantile(self.confidence_level))
        rows = []
        for i, u in enumerate(self.thresholds):
            common = {"n": int(self.n_exceedances[i]), "threshold": float(u)}
            error = float(self.modified_scale_error[i])
            scale = float(self.modified_scale[i])
            rows.append(
                {
                    "metric": "shape",
                    "estimate": float(self.shape[i]),
                    "ci_low": float(self.shape_low[i]),
                    "ci_high": float(self.shape_high[i]),
                    "method": "profile likelihood",
                    **common,
                }
            )
            rows.append(
                {
                    "metric": "modified scale",
                    "estimate": scale,
                    "std_error": error,
                    "ci_low": scale - z * error,
                    "ci_high": scale + z * error,
                    "method": "delta",
                    **common,
                }
            )
        return rows

    def notes(self) -> list[str]:
        """How to read it."""
        return ["Above a good threshold shape and modified scale (σ − ξu) are constant."]

    def plot(self, axes: Any = None) -> Any:
        """Draw it; see `fairstats.plots.evt.plot_threshold_stability`."""
        from fairstats.plots.evt import plot_threshold_stability

        return plot_threshold_stability(self, axes)


def threshold_stability(
    x: Any, thresholds: Any = None, *, n_thresholds: int = 25, confidence_level: float = 0.95
) -> ThresholdStability:
    """Shape and modified scale of generalised Pareto fits above many thresholds (Coles 2001, section 4.3.4).

    Parameters
    ----------
    x, thresholds, n_thresholds, confidence_level
        As for `mean_residual_life`.

    Returns
    -------
    ThresholdStability

    Raises
    ------
    InputError
        As for `mean_residual_life`.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.stability import threshold_stability
    >>> found = threshold_stability(np.random.default_rng(1).exponential(size=5000), [1.0, 2.0])
    >>> found.shape.round(3)
    array([ 0.024, -0.001])
    """
    series = as_series("x", x)
    level = check_confidence_level(confidence_level)
    u = usable_thresholds(series, thresholds, n_thresholds)
    ordered = np.sort(series)[::-1]
    n = (ordered[None, :] > u[:, None]).sum(axis=1)
    width = int(n.max())
    excesses = np.maximum(ordered[None, :width] - u[:, None], 0.0)
    samples = GpdSamples.from_excesses(excesses, n.astype(np.float64))
    fits = fit_gpd_samples(samples)
    low, high = _shape_intervals(samples, excesses, n, series.size, chi2_quantile(level))
    cov = fits.covariance
    variance = cov[:, 0, 0] - 2.0 * u * cov[:, 0, 1] + u**2 * cov[:, 1, 1]
    return ThresholdStability(
        u, fits.shape, low, high, fits.scale - fits.shape * u, np.sqrt(variance), n, level
    )


def _shape_intervals(
    samples: GpdSamples, excesses: Floats, n: NDArray[np.int64], total: int, critical: float
) -> tuple[Floats, Floats]:
    """Likelihood intervals of ξ for all samples at once; those at an edge one by one."""
    q = n.size
    surface = GpdSurface.from_samples(samples, np.full(q, float(total)), "fixed")
    rows, side = np.tile(np.arange(q), 2), np.repeat([-1.0, 1.0], q)
    found = contour_extremes(surface, rows, shape_goal(), side, np.full(2 * q, critical))
    edge = 2.0 * (surface.boundary() - surface.minimum()) <= critical
    for i in np.flatnonzero(np.isnan(found[:q]) | np.isnan(found[q:]) | edge):
        one = TailLikelihood.of_excesses(excesses[i, : n[i]], 0.0, total, "fixed", None)
        low, high = one.parameter_ends("shape", np.array([critical]))
        found[i], found[q + i] = low[0], high[0]
    return found[:q], found[q:]
