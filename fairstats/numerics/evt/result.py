"""`EvtFit`: what the three fits return, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.lazy import pd
from fairstats.ground.results import TIDY_COLUMNS, Comparison
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt import diagnostics, return_levels
from fairstats.numerics.evt import profile as profiles
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.tail import FEW_EXCEEDANCES, FEW_FOR_SCALE, FittedTail
from fairstats.plots.evt import plot_fit

_NAMES = {
    "gpd": "Generalised Pareto distribution",
    "gev": "Generalised extreme value distribution",
    "point_process": "Point process of exceedances",
}

_PENALISED = (
    "Coles and Dixon's penalty pulls heavy tails towards ξ = 0: levels err less, and are too low on average. "
    "Delta intervals cover .68 to .80 of the levels at ξ = .4 (15 to 50 values): take those of method='mle'."
)


@serialisable(eq=False)
class EvtFit(FittedTail):
    """A fitted tail.

    Attributes
    ----------
    model : {"gpd", "gev", "point_process"}
    params : dict of str to float
        "location" (not for excesses), "scale" and "shape": ξ, positive for heavy tails.
    covariance : ndarray of float, shape (p, p)
        Of the parameters, in their order: inverse observed information, penalty included (jackknife for
        L-moments); NaN where the fit is not regular.
    nll : float
        Negative log-likelihood, without a penalty.
    sample : ndarray of float, shape (k,)
        What was fitted, ascending: the values above the threshold, or the block maxima.
    n_total : int
        N: observations in the series, or blocks.
    threshold, block_size : float or None
        u, and the observations in a block of the point process.
    method : {"mle", "lmoments", "coles_dixon"}
    regular : bool
        Whether standard errors exist: ξ > −1/2 and not at the edge of the parameter space (L-moments: ξ <
        1/2). Otherwise neither standard errors nor delta intervals are given; likelihood intervals are,
        without asymptotic guarantee.
    at_boundary : bool
        ξ = −1, with the largest value as end point, is the best point with ξ ≥ −1: the likelihood rises
        without bound beyond. The shape says no more than that the data reach an end point.
    confidence_level : float
        Of the intervals in the table.
    backend : str
        What computed the estimates.
    grid : float or None
        Width of the grid that the values are rounded to: the likelihood is that of their cells.
    """

    title: ClassVar[str] = "Extreme value fit"
    lacks: ClassVar[Mapping[str, str]] = {
        "pvalue": "a fit tests nothing; .goodness_of_fit() and .test_return_level(m, level) do",
        "statistic": "a fit tests nothing; .goodness_of_fit() and .test_return_level(m, level) do",
        "verdict": "a tail is not judged by itself; fs.ecd compares the tails of two groups",
        "__getitem__": "a fit has no groups; .params and .interval(parameter) are by name",
    }

    # what can be asked of a fit; each in its module, with arguments, errors and an example
    return_level = return_levels.return_level
    test_return_level = return_levels.return_level_test
    test_shape = profiles.shape_test
    profile = profiles.profile_curve
    interval = profiles.parameter_interval
    endpoint = profiles.endpoint
    exceedance_probability = profiles.exceedance_probability
    goodness_of_fit = diagnostics.goodness_of_fit

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Estimate, standard error and interval of each parameter."""
        rows = []
        for name, estimate in self.params.items():
            interval = self.interval(name)
            rows.append(
                Comparison(
                    metric=f"{self.model} {name}",
                    estimate=estimate,
                    std_error=self.std_error[name],
                    confidence_interval=interval,
                    n=self.n_exceedances,
                    method=f"{self.method}, {interval.method}",
                )
            )
        return tuple(rows)

    @property
    def estimate(self) -> Floats:
        """Estimates of the parameters, in the order of `params`."""
        return np.array(list(self.params.values()))

    def rows(self) -> list[dict[str, Any]]:
        """One row per parameter."""
        return [{**row, "parameter": name} for row, name in zip(super().rows(), self.params, strict=True)]

    def to_frame(self) -> pd.DataFrame:
        """One row per parameter: `parameter`, `estimate`, `std_error`, ends, then the other tidy columns."""
        frame = super().to_frame()
        first = ["parameter", "estimate", "std_error", "ci_low", "ci_high"]
        return frame[[*first, *(c for c in TIDY_COLUMNS if c not in first)]]

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        return [c for c in super()._summary_columns(frame) if c not in ("metric", "n")]

    def sentences(self) -> list[str]:
        """Every parameter with its interval, then the notes."""
        lines = [
            f"The {name} is {c.estimate:.4g} ({100 * self.confidence_level:g}% interval "
            f"{c.confidence_interval.low:.4g} to {c.confidence_interval.high:.4g}, "
            f"{c.confidence_interval.method})."
            for name, c in zip(self.params, self.comparisons, strict=True)
        ]
        return [*lines, *self.notes()]

    def notes(self) -> list[str]:
        """Model, sample, likelihood, and what is not regular."""
        lines = [f"{_NAMES[self.model]}, {self.method}, {self.backend}; ξ > 0 is a heavy tail."]
        if self.model == "gev":
            lines.append(f"{self.n_exceedances} block maxima.")
        else:
            lines.append(
                f"{self.n_exceedances} of {self.n_total} observations exceed {self.threshold:g} "
                f"(rate {self.rate:.4g})."
            )
        if self.grid is not None:
            lines.append(f"Values on a grid of width {self.grid:g}: the likelihood is that of its cells.")
        if self.model == "point_process":
            lines.append(f"Location and scale are those of the maxima of {self.block_size:g} observations.")
        lines.append(f"log L = {self.loglik:.6g}, AIC = {self.aic:.6g}, BIC = {self.bic:.6g}.")
        if self.at_boundary:
            lines.append(
                "ξ = −1 is the edge of the parameter space (the likelihood has no maximum beyond it): the "
                "end point is the largest value seen, and the shape is no estimate."
            )
        elif not self.regular and self.method == "lmoments":
            lines.append("ξ ≥ 1/2: L-moments have no finite variance here.")
        elif self.by_root and self.n_exceedances < FEW_EXCEEDANCES and self.model == "gpd":
            lines.append(FEW_FOR_SCALE.format(self.n_exceedances))
        if self.method == "coles_dixon":
            lines.append(_PENALISED)
        if not self.regular and self.method == "mle" and not self.at_boundary:
            lines.append(
                "ξ ≤ −1/2: no standard errors exist; levels and end point are those of a power tail."
            )
        return lines

    def plot(self, axes: Any = None) -> Any:
        """Q-Q, P-P, return levels with band, profile of ξ: see `fairstats.plots.evt.plot_fit`."""
        return plot_fit(self, axes)
