"""A fitted tail: what a back end returns, the fit that is kept, and what is read from it.

The point process of exceedances is a transformed generalised Pareto fit. With λ the rate of
exceedances per observation, blocks of b observations have GEV maxima with σ = σ_u·(bλ)^ξ and μ = u
+ (σ − σ_u)/ξ (Coles 2001, section 7.3); μ is the return level of b observations. The maximum of the
likelihood is that of the excesses with λ = k/N, which is independent of them and has the Poisson
variance λ/N.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator
from fairstats.ground.errors import InputError
from fairstats.ground.results import Comparison, Interval, Result, columns_of
from fairstats.ground.serialise import kept_in_memory
from fairstats.numerics.evt.distributions import (
    Floats,
    exponential_scale,
    power_ratio,
    power_ratio_shape_derivative,
)
from fairstats.numerics.evt.gpd import RateTerm
from fairstats.numerics.evt.intervals import TailLikelihood
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE, SampleFits

#: How the likelihood intervals of tails above a threshold are called; by χ² they are the second.
SIGNED_ROOT = "standardised signed root"
PROFILE = "profile likelihood"
#: With fewer values χ² intervals are too narrow.
FEW_EXCEEDANCES = 100
#: m·λ = 1 up to rounding is taken.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ParameterFit:
    """Estimates of one model by a back end, in the units of the data.

    `params`, shape (p,): (σ, ξ) for excesses, (μ, σ, ξ) for block maxima; `covariance`, shape (p,
    p): inverse observed information, NaN where it does not exist (ξ ≤ −1/2), None for L-moments;
    `nll`: +inf where a value lies outside the support, as can happen to L-moments; `at_boundary`: ξ
    = −1, with the largest value as end point, since no interior maximum is higher.
    """

    params: Floats
    covariance: Floats | None
    nll: float
    at_boundary: bool = False

    @classmethod
    def of(cls, fits: SampleFits) -> ParameterFit:
        """The fit of the only sample."""
        return cls(
            fits.params[0], fits.covariance[0], float(fits.nll[0]), bool(fits.at_boundary[0])
        )


class WithParameters(Result):
    """What was fitted by its parameters."""

    params: dict[str, float]
    covariance: Floats
    nll: float

    @property
    def estimate(self) -> Floats:
        """Estimates of the parameters, in the order of `params`."""
        return np.array(list(self.params.values()))

    @property
    def std_error(self) -> dict[str, float]:
        """Standard errors of the parameters by name; NaN where the fit is not regular."""
        return dict(zip(self.params, np.sqrt(np.diagonal(self.covariance)).tolist(), strict=True))

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2p − 2 log L."""
        return 2.0 * len(self.params) + 2.0 * self.nll


@dataclass(frozen=True, eq=False)
class FittedTail(WithParameters):
    """The fields of a fit, and its distribution; `EvtFit` adds what can be asked of it."""

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
    grid: float | None = None
    #: The largest values of the series, descending, as many as a bootstrap may reach; not in
    #: `to_dict`.
    top: Floats | None = kept_in_memory(default=None)

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
        values = self.estimate
        if self.model == "point_process":
            return excess_parameters(values, self.origin)
        return values[-2:]

    @property
    def law(self) -> tuple[float, float, float]:
        """Origin, scale and shape of the fitted values.

        u, σ, ξ of the excesses, or μ, σ, ξ of the maxima.
        """
        if self.model == "gev":
            return self.location, self.scale, self.shape
        return self.origin, *map(float, self.excess_params)  # type: ignore[return-value]

    @property
    def excess_cov(self) -> Floats:
        """Covariance of `excess_params`, shape (2, 2)."""
        if self.model != "point_process":
            return self.covariance[-2:, -2:]
        jacobian = np.array([[-self.shape, 1.0, self.origin - self.location], [0.0, 0.0, 1.0]])
        return np.asarray(jacobian @ self.covariance @ jacobian.T)

    def cdf(self, x: ArrayLike) -> Floats:
        """Distribution function of the fitted values: of exceedances, or of block maxima."""
        exponential_values = self._to_exponential_scale(x)
        with np.errstate(over="ignore"):
            if self.model == "gev":
                return np.exp(-np.exp(-exponential_values))
            return -np.expm1(-exponential_values)

    def sf(self, x: ArrayLike) -> Floats:
        """Survival function of the fitted values, accurate far out: 1 − `cdf`."""
        exponential_values = self._to_exponential_scale(x)
        with np.errstate(over="ignore"):
            if self.model == "gev":
                return -np.expm1(-np.exp(-exponential_values))
            return np.exp(-exponential_values)

    def _to_exponential_scale(self, x: ArrayLike) -> Floats:
        """The values as exponential excesses or, for block maxima, as Gumbel maxima."""
        x = checks.float_array("x", x, "numbers")
        origin, scale, shape = self.law
        with np.errstate(over="ignore"):
            standard_values = (x - origin) / scale
            return exponential_scale(
                standard_values if self.model == "gev" else np.maximum(standard_values, 0.0), shape
            )

    def quantile(self, p: ArrayLike) -> Floats:
        """Quantiles of the fitted values, the inverse of `cdf`."""
        allowed = "probabilities from 0 to 1"
        given_probabilities = p
        p = checks.float_array("p", p, allowed)
        checks.check_that(((p >= 0) & (p <= 1)).all(), "p", given_probabilities, allowed, "0.99")
        origin, scale, shape = self.law
        with np.errstate(divide="ignore"):
            if self.model == "gev":
                exponential_values = -np.log(-np.log(p))
            else:
                exponential_values = -np.log1p(-p)
            return np.asarray(origin + scale * power_ratio(exponential_values, np.asarray(shape)))

    def rvs(self, size: int = 1, rng: SeedOrGenerator = None) -> Floats:
        """Random draws of the fitted values: exceedances, or block maxima; shape (size,)."""
        generator, _ = checks.as_generator(rng)
        return self.quantile(generator.random(checks.check_whole("size", size, low=1)))

    @property
    def mean(self) -> float:
        """Mean of the fitted values, infinite for ξ ≥ 1.

        u + σ/(1 − ξ), or μ + σ(Γ(1 − ξ) − 1)/ξ.
        """
        origin, scale, shape = self.law
        if shape >= 1.0:
            return float("inf")
        if self.model != "gev":
            return origin + scale / (1.0 - shape)
        is_near_zero = abs(shape) < 1e-9  # the limit is Euler's constant
        return origin + scale * float(
            np.euler_gamma if is_near_zero else np.expm1(gammaln(1.0 - shape)) / shape
        )

    def _profile_likelihood(self, *, rate: str = "estimated") -> TailLikelihood:
        """Profile likelihood of the sample, for intervals of one's own; made once."""
        checks.check_choice("rate", rate, ("estimated", "fixed"))
        if rate not in self._likelihoods:
            self._likelihoods[rate] = self._make_likelihood(rate)
        return self._likelihoods[rate]

    @cached_property
    def _likelihoods(self) -> dict[str, TailLikelihood]:
        """By how the rate is taken; levels, type, end point and comparisons ask for the same one."""
        return {}

    def _make_likelihood(self, rate: str) -> TailLikelihood:
        if self.model == "gev":
            return TailLikelihood.of_maxima(self.sample)
        rate_is_known = rate == "fixed" or self.n_exceedances == self.n_total
        rate_law: RateTerm
        if rate_is_known:
            rate_law = "fixed"
        elif self.model == "point_process":
            rate_law = "poisson"
        else:
            rate_law = "binomial"
        excess_arguments = self.origin, self.n_total, rate_law, self.block_size, self.grid
        return TailLikelihood.of_excesses(self.sample - self.origin, *excess_arguments)

    def _log_period(self, m: float) -> float:
        """τ of m observations (blocks): log m, or −log(−log(1 − 1/m)).

        InputError for m·λ < 1, and m ≤ 1 blocks.
        """
        m = checks.check_number(
            "m",
            m,
            low=0,
            open_low=True,
            cure="a number of observations, e.g. 1000",
        )
        if self.model == "gev":
            if m <= 1.0:
                raise InputError(
                    "m",
                    got=f"{m:g} blocks",
                    allowed="more than 1",
                    cure="m counts blocks",
                )
            return float(-np.log(-np.log1p(-1.0 / m)))
        if m * self.rate < 1.0 - _ROUNDING:
            got = f"{m:g}, of which {m * self.rate:.3g} exceed the threshold on average"
            least_period = 1.0 / self.rate
            allowed = (
                f"at least {least_period:.6g}: under one exceedance on average the level is below the"
                " threshold"
            )
            cure = (
                "lower the threshold, or take the empirical quantile by"
                " empirical_return_level(x, m)"
            )
            raise InputError("m", got=got, allowed=allowed, cure=cure)
        return float(np.log(m))

    @property
    def source(self) -> dict[str, Any]:
        """What every estimate says of the fit that it was read from."""
        return {"n_exceedances": self.n_exceedances, "backend": self.backend}

    @property
    def by_power(self) -> bool:
        """Whether levels and end point are those of a power tail.

        ξ < −1/2, threshold, no grid, no tie at the top.
        """
        is_irregular = self.method != "lmoments" and (
            self.at_boundary or self.shape < REGULAR_ABOVE
        )
        is_plain = self.model != "gev" and self.grid is None
        return is_irregular and is_plain and bool(self.sample[-1] > self.sample[-2])

    @property
    def by_root(self) -> bool:
        """Whether likelihood intervals are by the standardised signed root: above a threshold."""
        return self.method == "mle" and self.model != "gev"

    def _level_of(self, confidence_level: float | None) -> float:
        """The confidence level asked for, by default the fit's."""
        return checks.check_confidence_level(
            self.confidence_level if confidence_level is None else confidence_level
        )

    def need_likelihood(self) -> None:
        """Raise unless the fit is by maximum likelihood."""
        if self.method != "mle":
            got = f"a likelihood interval of a fit by {self.method}"
            cure = "method='bootstrap', or fit by method='mle'"
            raise InputError("method", got=got, allowed="'delta' or 'bootstrap'", cure=cure)


def tail_row(
    metric: str,
    estimate: Any,
    interval: Interval,
    n: Any,
    std_error: Any = np.nan,
) -> Comparison:
    """One row of a table of estimates, without groups."""
    return Comparison(
        metric=metric,
        estimate=float(estimate),
        std_error=float(std_error),
        confidence_interval=interval,
        n=int(n),
        method=interval.method,
    )


@dataclass(frozen=True)
class _TailResult(Result):
    """What is read from a tail: one row, with the fields `in_row` beyond the tidy ones."""

    in_row: ClassVar[tuple[str, ...]] = ()

    def rows(self) -> list[dict[str, Any]]:
        """The only row."""
        return [{**result_row, **columns_of(self, *self.in_row)} for result_row in super().rows()]


@dataclass(frozen=True, kw_only=True)
class TailEstimate(_TailResult):
    """One number that is read from a fitted tail, with its interval, values that were fitted, and
    what fitted them.
    """

    #: Name of what is estimated, with the result as {0}.
    metric: ClassVar[str]
    lacks: ClassVar[Mapping[str, str]] = {
        "pvalue": "an estimate tests nothing; fit.test_return_level(m, level) tests a return level",
        "statistic": (
            "an estimate tests nothing; fit.test_return_level(m, level) tests a return level"
        ),
        "verdict": "a tail is not judged by itself; fs.ecd compares the tails of two groups",
        "plot": "fit.plot() draws the fit with its return levels",
        "__getitem__": "a tail has no groups",
    }

    estimate: float
    confidence_interval: Interval
    n_exceedances: int
    backend: str

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The only row."""
        metric_name = self.metric.format(self)
        return (tail_row(metric_name, self.estimate, self.confidence_interval, self.n_exceedances),)

    def sentences(self) -> list[str]:
        """The estimate with its interval, in words; then the notes."""
        interval = self.confidence_interval
        metric_name = self.metric.format(self)
        statement = (
            f"{metric_name[0].upper()}{metric_name[1:]}: {self.estimate:.4g} ({interval.words('.4g')},"
            f" {interval.method})."
        )
        return [statement, *self.notes()]

    def notes(self) -> list[str]:
        """Level of the interval."""
        interval = self.confidence_interval
        return [f"{100 * interval.confidence_level:g}% interval, {interval.method}."]


@dataclass(frozen=True)
class TailTest(_TailResult):
    """One test of a tail; it estimates nothing."""

    lacks: ClassVar[Mapping[str, str]] = {
        "estimate": "a test estimates nothing; its value is `statistic`",
        "std_error": "a test estimates nothing; its value is `statistic`",
        "confidence_interval": "a test estimates nothing; its value is `statistic`",
        "verdict": (
            "nothing about groups is judged; `pvalue` speaks for or against the null hypothesis"
        ),
        "plot": (
            "fit.plot() draws observed against fitted quantiles, mean_residual_life(x).plot()"
            " thresholds"
        ),
        "__getitem__": "a tail has no groups",
    }

    def _row(self, metric: str, n: int, method: str) -> Comparison:
        """The only row of the table."""
        return Comparison(
            metric=metric,
            statistic=self.statistic,
            pvalue=self.pvalue,
            n=n,
            method=method,
        )


def to_point_process(
    params: Floats,
    covariance: Floats,
    threshold: float,
    k: int,
    total: int,
    block_size: float,
) -> tuple[Floats, Floats]:
    """(μ, σ, ξ) and their covariance from (σ_u, ξ) and theirs, for k of `total` observations above
    u.
    """
    sigma_u, xi = params
    s = np.log(block_size * k / total)
    power = np.exp(xi * s)
    ratio = float(power_ratio(s, xi))
    # rows μ, σ, ξ; columns σ_u, ξ, log λ
    in_location = [ratio, sigma_u * float(power_ratio_shape_derivative(s, xi)), sigma_u * power]
    in_scale = [power, sigma_u * power * s, sigma_u * power * xi]
    jacobian = np.array([in_location, in_scale, [0.0, 1.0, 0.0]])
    full_covariance = np.zeros((3, 3))
    full_covariance[:2, :2] = covariance
    full_covariance[2, 2] = 1.0 / k
    return (
        np.array([threshold + sigma_u * ratio, sigma_u * power, xi]),
        jacobian @ full_covariance @ jacobian.T,
    )


def excess_parameters(params: Floats, threshold: float) -> Floats:
    """(σ_u, ξ) from (μ, σ, ξ): σ_u = σ + ξ(u − μ)."""
    location, scale, xi = params
    return np.array([scale + xi * (threshold - location), xi])
