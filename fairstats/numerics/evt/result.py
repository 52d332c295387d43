"""`EvtFit`: what the three fits return, and what can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.results import TIDY_COLUMNS, HypothesisTest, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.distributions import (
    gev_cdf,
    gev_quantile,
    gev_sf,
    gpd_cdf,
    gpd_quantile,
    gpd_sf,
)
from fairstats.numerics.evt.point_process import excess_covariance, excess_parameters

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from fairstats.numerics.evt.endpoint import Endpoint
    from fairstats.numerics.evt.exceedance import ExceedanceProbability
    from fairstats.numerics.evt.fit_tests import GoodnessOfFit
    from fairstats.numerics.evt.profile_curve import ProfileCurve
    from fairstats.numerics.evt.return_level import ReturnLevel
    from fairstats.numerics.evt.tail_likelihood import TailLikelihood

    Floats = NDArray[np.float64]

__all__ = ["EvtFit"]


@serialisable
@dataclass(frozen=True, eq=False)
class EvtFit(Result):
    """A fitted tail.

    Attributes
    ----------
    model : {"gpd", "gev", "point_process"}
    params : dict of str to float
        "location" (not for excesses), "scale" and "shape": ξ, positive for heavy tails.
    covariance : ndarray of float, shape (p, p)
        Of the parameters, in their order: inverse observed information (jackknife for L-moments); NaN where
        the fit is not regular.
    nll : float
        Negative log-likelihood.
    sample : ndarray of float, shape (k,)
        What was fitted, ascending: the values above the threshold, or the block maxima.
    n_total : int
        N: observations in the series, or blocks.
    threshold, block_size : float or None
        u, and the observations in a block of the point process.
    method : {"mle", "lmoments"}
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
    """

    title: ClassVar[str] = "Extreme value fit"

    model: str
    params: dict[str, float]
    covariance: Floats
    nll: float
    sample: Floats
    n_total: int
    threshold: float | None
    block_size: float | None
    method: str
    regular: bool
    at_boundary: bool
    confidence_level: float
    backend: str
    #: The largest values of the series, descending, as many as a bootstrap may reach; not in `to_dict`.
    top: Floats | None = field(default=None, init=False, repr=False)

    @property
    def location(self) -> float:
        """Location μ; NaN for excesses over a threshold, which have none."""
        return self.params.get("location", float("nan"))

    @property
    def scale(self) -> float:
        """Scale σ."""
        return self.params["scale"]

    @property
    def shape(self) -> float:
        """Shape ξ, positive for heavy tails."""
        return self.params["shape"]

    @property
    def std_error(self) -> dict[str, float]:
        """Standard errors of the parameters; NaN where the fit is not regular."""
        errors = np.sqrt(np.diagonal(self.covariance))
        return {name: float(e) for name, e in zip(self.params, errors, strict=True)}

    @property
    def n_exceedances(self) -> int:
        """Values above the threshold; for block maxima, their number."""
        return int(self.sample.size)

    @property
    def rate(self) -> float:
        """λ: exceedances per observation; 1 for block maxima."""
        return self.n_exceedances / self.n_total

    @property
    def loglik(self) -> float:
        """Log-likelihood at the estimates."""
        return -self.nll

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2p − 2 log L."""
        return 2.0 * len(self.params) + 2.0 * self.nll

    @property
    def bic(self) -> float:
        """Schwarz's criterion, p·log k − 2 log L with k the values fitted."""
        return len(self.params) * float(np.log(self.n_exceedances)) + 2.0 * self.nll

    @property
    def origin(self) -> float:
        """The threshold, 0 where there is none."""
        return 0.0 if self.threshold is None else self.threshold

    @property
    def excess_params(self) -> Floats:
        """σ and ξ of the excesses over the threshold, shape (2,) (models with a threshold)."""
        values = np.array(list(self.params.values()))
        if self.model == "point_process":
            return excess_parameters(values, self.origin)
        return values[-2:]

    @property
    def excess_cov(self) -> Floats:
        """Covariance of `excess_params`, shape (2, 2)."""
        if self.model == "point_process":
            values = np.array(list(self.params.values()))
            return excess_covariance(values, self.covariance, self.origin)
        return self.covariance[-2:, -2:]

    def cdf(self, x: ArrayLike) -> Floats:
        """Distribution function of the fitted values: of exceedances, or of block maxima."""
        if self.model == "gev":
            return gev_cdf(np.asarray(x, dtype=np.float64), **self.params)
        scale, shape = self.excess_params
        return gpd_cdf(np.asarray(x, dtype=np.float64) - self.origin, scale, shape)

    def sf(self, x: ArrayLike) -> Floats:
        """Survival function of the fitted values, accurate far out: 1 − `cdf`."""
        x = np.asarray(x, dtype=np.float64)
        if self.model == "gev":
            return gev_sf(x, **self.params)
        scale, shape = self.excess_params
        return gpd_sf(x - self.origin, scale, shape)

    def quantile(self, p: ArrayLike) -> Floats:
        """Quantiles of the fitted values, the inverse of `cdf`."""
        p = np.asarray(p, dtype=np.float64)
        if self.model == "gev":
            return gev_quantile(p, **self.params)
        scale, shape = self.excess_params
        return np.asarray(self.origin + gpd_quantile(p, scale, shape))

    def likelihood(self, *, rate: str = "estimated") -> TailLikelihood:
        """Profile likelihood of the sample, for intervals of one's own."""
        from fairstats.numerics.evt.tail_likelihood import TailLikelihood

        if self.model == "gev":
            return TailLikelihood.of_maxima(self.sample)
        known = rate == "fixed" or self.n_exceedances == self.n_total
        law = "poisson" if self.model == "point_process" else "binomial"
        return TailLikelihood.of_excesses(
            self.sample - self.origin,
            self.origin,
            self.n_total,
            "fixed" if known else law,  # type: ignore[arg-type]
            self.block_size,
        )

    def return_level(
        self,
        m: float,
        *,
        method: str = "profile",
        rate: str = "estimated",
        confidence_level: float | None = None,
        calibrated: bool = False,
        n_resamples: int = 999,
        rng: Any = None,
    ) -> ReturnLevel:
        """Level of m observations (m blocks for block maxima), with its interval.

        See `fairstats.numerics.evt.levels.return_level` for arguments, errors and an example.
        """
        from fairstats.numerics.evt.levels import return_level

        return return_level(
            self,
            m,
            method=method,
            rate=rate,
            confidence_level=self._level(confidence_level),
            calibrated=calibrated,
            n_resamples=n_resamples,
            rng=rng,
        )

    def test_return_level(
        self, m: float, level: float, *, n_resamples: int = 0, rng: Any = None
    ) -> HypothesisTest:
        """Likelihood-ratio test that the return level of m is `level`.

        See `fairstats.numerics.evt.levels.return_level_test`.
        """
        from fairstats.numerics.evt.levels import return_level_test

        return return_level_test(self, m, level, n_resamples=n_resamples, rng=rng)

    def exceedance_probability(
        self, value: float, *, confidence_level: float | None = None
    ) -> ExceedanceProbability:
        """Probability that an observation (a block maximum) exceeds `value`, with its likelihood interval."""
        from fairstats.numerics.evt.exceedance import exceedance_probability

        return exceedance_probability(self, value, self._level(confidence_level))

    def endpoint(self, *, confidence_level: float | None = None) -> Endpoint:
        """Upper end point, infinite for ξ ≥ 0, with its likelihood interval."""
        from fairstats.numerics.evt.endpoint import endpoint

        return endpoint(self, self._level(confidence_level))

    def profile(self, parameter: str = "shape", *, confidence_level: float | None = None) -> ProfileCurve:
        """Profile likelihood of a parameter, with the interval that it gives."""
        from fairstats.numerics.evt.profile_curve import profile_curve

        return profile_curve(self, parameter, self._level(confidence_level))

    def goodness_of_fit(
        self, statistic: str = "anderson_darling", *, n_resamples: int = 999, rng: Any = None
    ) -> GoodnessOfFit:
        """Test that the sample comes from the model, by parametric bootstrap."""
        from fairstats.numerics.evt.fit_tests import goodness_of_fit

        return goodness_of_fit(self, statistic, n_resamples=n_resamples, rng=rng)

    def plot(self, axes: Any = None) -> Any:
        """Q-Q, P-P, return levels with band, profile of ξ: see `fairstats.plots.evt.plot_fit`."""
        from fairstats.plots.evt import plot_fit

        return plot_fit(self, axes)

    def interval(self, parameter: str, confidence_level: float | None = None) -> Interval:
        """Interval of a parameter: likelihood, or normal with the jackknife error for L-moments."""
        from fairstats.numerics.evt.profile_curve import parameter_interval

        return parameter_interval(self, parameter, self._level(confidence_level))

    def rows(self) -> list[dict[str, Any]]:
        """One row per parameter."""
        from fairstats.numerics.evt.fit_table import fit_rows

        return fit_rows(self)

    def to_frame(self) -> pd.DataFrame:
        """One row per parameter: `parameter`, `estimate`, `std_error`, ends, then the other tidy columns."""
        frame = super().to_frame()
        first = ["parameter", "estimate", "std_error", "ci_low", "ci_high"]
        return frame[[*first, *(c for c in TIDY_COLUMNS if c not in first)]]

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        return [c for c in super().summary_columns(frame) if c not in ("metric", "n")]

    def notes(self) -> list[str]:
        """Model, sample, likelihood, and what is not regular."""
        from fairstats.numerics.evt.fit_table import fit_notes

        return fit_notes(self)

    def _level(self, confidence_level: float | None) -> float:
        return self.confidence_level if confidence_level is None else confidence_level
