"""What a likelihood says of a fit: profile, end point, probability of a value, shape.

With ℓ the log-likelihood and ψ one of these quantities, all come from the profile deviance

    D(ψ) = 2[ℓ(maximum) − max{ℓ : the quantity equals ψ}]

and its signed root (`intervals`; Coles 2001, section 2.6.6), ψ being

    end point                  u − σ/ξ where ξ < 0 (μ − σ/ξ of block maxima), ∞ otherwise
    probability of a value     p(x) = λ·[1 + ξ(x − u)/σ]^(−1/ξ)
    shape                      ξ; H₀: ξ = ξ₀ is rejected where its interval ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from scipy.special import chdtrc, ndtri

from fairstats.ground import checks
from fairstats.ground.multiplicity import two_sided_pvalue
from fairstats.ground.results import Comparison, Interval
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.bootstrap import POWER_TAIL
from fairstats.numerics.evt.distributions import (
    Floats,
    exponential_scale_partials,
    power_ratio,
)
from fairstats.numerics.evt.intervals import chi2_quantile
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE, ProfilePoints, Samples, shape_profile
from fairstats.numerics.evt.return_levels import power_draws
from fairstats.numerics.evt.tail import (
    PROFILE,
    SIGNED_ROOT,
    FittedTail,
    TailEstimate,
    TailTest,
    to_point_process,
)
from fairstats.plots.evt import plot_profile

#: Points on either side of the estimate, and how far beyond the critical value the curve goes.
_POINTS = 16
_BEYOND = 1.6
#: With fewer values the χ² interval of an end point is too narrow. Turns of a search for the order
#: statistic that draws of a probability go through; what counts as probability 0.
_FEW_FOR_ENDPOINT = 300
_TURNS = 8
_SMALLEST = 1e-300


@serialisable(kw_only=True, eq=False)
class ProfileCurve(TailEstimate):
    """Deviance of a parameter, all others at their best.

    Attributes
    ----------
    parameter : str
    confidence_interval : Interval
        Where the deviance is at most `critical_value`.
    values, deviance : ndarray of float, shape (K,)
        Values of the parameter, ascending, and twice the fall of the log-likelihood there from its
        maximum.
    critical_value : float
        χ² quantile.
    """

    title: ClassVar[str] = "Profile likelihood"
    metric: ClassVar[str] = "{0.parameter}"
    lacks: ClassVar[Mapping[str, str]] = {
        k: why for k, why in TailEstimate.lacks.items() if k != "plot"
    }

    parameter: str
    values: Floats
    deviance: Floats
    critical_value: float

    plot = plot_profile

    def notes(self) -> list[str]:
        """Nothing beside the sentence."""
        return []


@serialisable(kw_only=True)
class Endpoint(TailEstimate):
    """The value that the tail does not exceed.

    Attributes
    ----------
    estimate : float
        u − σ/ξ (μ − σ/ξ for block maxima); infinite for ξ ≥ 0.
    confidence_interval : Interval
        From the largest value seen at the least (on a grid, the lower end of its cell), infinite
        where ξ ≥ 0 is likely.
    largest : float
        Largest value seen.
    """

    title: ClassVar[str] = "Upper end point"
    metric: ClassVar[str] = "end point"

    largest: float

    def notes(self) -> list[str]:
        """Largest value seen, level of the interval."""
        note_lines = [f"Largest value seen: {self.largest:g}. {super().notes()[0]}"]
        if self.n_exceedances < _FEW_FOR_ENDPOINT and self.confidence_interval.method == PROFILE:
            few_in_words = f"{self.n_exceedances} values, fewer than {_FEW_FOR_ENDPOINT}"
            coverage = "at ξ = −.4 it covers 88% with 30 values, 91% with 80, 94% with 300"
            note_lines.append(
                f"{few_in_words}: by χ² the interval of an end point is too narrow ({coverage})."
            )
        return note_lines


@serialisable(kw_only=True)
class ExceedanceProbability(TailEstimate):
    """How often a value is exceeded.

    Attributes
    ----------
    value : float
        In the units of the data.
    estimate : float
        Probability per observation (per block, for block maxima); 0 beyond the fitted end point.
    confidence_interval : Interval
        Likelihood interval; its lower end is 0 where the end point may lie below `value`.
    """

    title: ClassVar[str] = "Exceedance probability"
    metric: ClassVar[str] = "P(X > {0.value:g})"
    in_row: ClassVar[tuple[str, ...]] = ("value",)

    value: float


@serialisable()
class ShapeTest(TailTest):
    """Likelihood-ratio test of a shape.

    Attributes
    ----------
    null : float
        The shape tested.
    params : dict of str to float
        Estimates with that shape: at 0 the exponential fit of excesses, the Gumbel fit of block
        maxima.
    nll : float
        Their negative log-likelihood.
    statistic, pvalue : float
        The standardised signed root of the deviance, two-sided; or the deviance, by χ² of one
        degree of freedom.
    test : {"standardised signed root", "likelihood ratio"}
    n_exceedances : int
    model, backend : str
    """

    title: ClassVar[str] = "Test of the shape"

    null: float
    params: dict[str, float]
    nll: float
    statistic: float
    pvalue: float
    test: str
    n_exceedances: int
    model: str
    backend: str

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The only row."""
        return (self._row(f"shape = {self.null:g}", self.n_exceedances, self.test),)

    def sentences(self) -> list[str]:
        """The p-value in words, then the fit with that shape."""
        statement = (
            f"Likelihood ratio test of the shape {self.null:g}: p = {self.pvalue:.3g}"
            f" ({self.test})."
        )
        return [statement, *self.notes()]

    def notes(self) -> list[str]:
        """The fit with that shape."""
        fit_in_words = ", ".join(
            f"{parameter} {estimate:.4g}"
            for parameter, estimate in self.params.items()
            if parameter != "shape"
        )
        return [f"With that shape: {fit_in_words}; log L = {-self.nll:.6g}."]


def profile_curve(
    fit: FittedTail, parameter: str = "shape", *, confidence_level: float | None = None
) -> ProfileCurve:
    """Profile likelihood of a parameter of a fit by maximum likelihood, with its χ² interval.

    Parameters
    ----------
    parameter : {"shape", "scale", "location"}
        Excesses have no location.
    confidence_level : float, optional
        Default: the fit's.

    Returns
    -------
    ProfileCurve
        Up to 33 points, in the units of the parameter, some way beyond the interval on either side.

    Raises
    ------
    InputError
        An unknown parameter, or a fit by L-moments.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> curve = fit_gpd(x, threshold=2.0, backend="scipy").profile("shape")
    >>> [round(end, 3) for end in curve.confidence_interval]
    [-0.088, 0.184]
    """
    checks.check_choice("parameter", parameter, tuple(fit.params))
    fit.need_likelihood()
    interval_level = fit._level_of(confidence_level)
    chi2_critical = chi2_quantile(interval_level)
    root_grid = np.linspace(0.0, np.sqrt(_BEYOND * chi2_critical), _POINTS + 1)[1:]
    targets = np.append(root_grid**2, chi2_critical)
    lower_ends, upper_ends = fit._profile_likelihood().parameter_ends(parameter, targets)
    values = np.concatenate([lower_ends[:-1][::-1], [fit.params[parameter]], upper_ends[:-1]])
    deviance = np.concatenate([targets[:-1][::-1], [0.0], targets[:-1]])
    is_finite = np.isfinite(values)
    values = values[is_finite]
    deviance = deviance[is_finite]
    # a curve that ends at the edge of the parameter space repeats it
    is_kept = np.append(True, np.diff(values) > 0)
    interval = Interval(
        low=float(lower_ends[-1]),
        high=float(upper_ends[-1]),
        confidence_level=interval_level,
        method=PROFILE,
    )
    return ProfileCurve(
        parameter=parameter,
        estimate=fit.params[parameter],
        confidence_interval=interval,
        values=values[is_kept],
        deviance=deviance[is_kept],
        critical_value=chi2_critical,
        **fit.source,
    )


def parameter_interval(
    fit: FittedTail,
    parameter: str,
    confidence_level: float | None = None,
    *,
    method: str = "auto",
) -> Interval:
    """Likelihood interval of a parameter; normal with the standard error for other methods.

    Above a threshold those of shape and location are by the standardised signed root, as in
    `return_level` ("auto"; the location of a point process is a return level); by "profile", and
    all others, by χ².
    """
    checks.check_choice("parameter", parameter, tuple(fit.params))
    checks.check_choice("method", method, ("auto", "profile"))
    interval_level = fit._level_of(confidence_level)
    if fit.method == "mle":
        target = np.array([chi2_quantile(interval_level)])
        by_root = fit.by_root and method == "auto" and parameter != "scale"
        lower_ends, upper_ends = fit._profile_likelihood().parameter_ends(
            parameter, target, standardised=by_root
        )
        return Interval(
            low=float(lower_ends[0]),
            high=float(upper_ends[0]),
            confidence_level=interval_level,
            method=SIGNED_ROOT if by_root else PROFILE,
        )
    half_width = float(ndtri(0.5 + 0.5 * interval_level)) * fit.std_error[parameter]
    estimate = fit.params[parameter]
    if fit.method == "lmoments":
        error_name = "jackknife"
    else:
        error_name = "observed information"
    return Interval(
        low=estimate - half_width,
        high=estimate + half_width,
        confidence_level=interval_level,
        method=error_name,
    )


def endpoint(
    fit: FittedTail, *, method: str = "auto", confidence_level: float | None = None
) -> Endpoint:
    """Upper end point of a fit by maximum likelihood, with its likelihood interval.

    The interval is as that of `return_level`: by the standardised signed root above a threshold
    and, for shapes below −1/2, that of a power tail, with its median as the estimate; by χ² of
    block maxima, and where `method` is "profile" (default: "auto"), which is too narrow below 300
    values: the result says so. Raises InputError for a fit by L-moments.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).beta(2.0, 3.0, size=5000)
    >>> found = fit_gpd(x, threshold=0.8, backend="scipy").endpoint()
    >>> round(found.estimate, 3), 1.0 in found.confidence_interval
    (0.996, True)
    """
    checks.check_choice("method", method, ("auto", "profile"))
    fit.need_likelihood()
    interval_level = fit._level_of(confidence_level)
    largest = float(fit.sample[-1])
    # of a rounded value the end point may lie within its cell
    least_value = largest - 0.5 * (fit.grid or 0.0)
    estimate = endpoint_estimate(fit)
    if fit.by_power and method == "auto":
        probabilities = [0.5 - 0.5 * interval_level, 0.5, 0.5 + 0.5 * interval_level]
        method_name = POWER_TAIL
        lower_end, estimate, upper_end = np.quantile(
            power_draws(fit, None).end, probabilities
        ).tolist()
    else:
        by_root = fit.by_root and method == "auto"
        lower_end, upper_end = fit._profile_likelihood().endpoint_interval(
            chi2_quantile(interval_level), standardised=by_root
        )
        method_name = SIGNED_ROOT if by_root else PROFILE
    interval = Interval(
        low=max(lower_end, least_value),
        high=upper_end,
        confidence_level=interval_level,
        method=method_name,
    )
    return Endpoint(estimate=estimate, confidence_interval=interval, largest=largest, **fit.source)


def endpoint_estimate(fit: FittedTail) -> float:
    """The point u − σ/ξ (μ − σ/ξ for block maxima), ∞ for ξ ≥ 0, the largest value at the edge ξ =
    −1.
    """
    if fit.at_boundary and fit.grid is None:
        return float(fit.sample[-1])
    origin, scale, shape = fit.law
    if shape >= 0:
        return float("inf")
    return origin - scale / shape


def exceedance_probability(
    fit: FittedTail, value: float, *, confidence_level: float | None = None
) -> ExceedanceProbability:
    """Probability that an observation exceeds `value`.

    λ·(1 + ξ(x − u)/σ)^(−1/ξ), with its interval.

    It holds 1/m where the interval of the level of m observations holds the value; for shapes below
    −1/2 it is that of a power tail, with its median as the estimate.

    Parameters
    ----------
    value : float
        In the units of the data; above the threshold, where there is one.
    confidence_level : float, optional
        Default: the fit's.

    Returns
    -------
    ExceedanceProbability
        Per observation, or per block for block maxima.

    Raises
    ------
    InputError
        A value at or below the threshold, of which the tail says nothing, or a fit by L-moments.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=5000)
    >>> found = fit_gpd(x, threshold=3.0, backend="scipy").exceedance_probability(7.0)
    >>> round(found.estimate, 5), [round(end, 5) for end in found.confidence_interval]
    (0.00091, [0.00046, 0.00187])
    """
    fit.need_likelihood()
    interval_level = fit._level_of(confidence_level)
    cure = "below the threshold the share of the data above the value is the estimate"
    x = checks.check_number(
        "value",
        value,
        low=fit.threshold,
        high=checks.LARGEST,
        open_low=True,
        cure=cure,
    )
    survival = float(fit.sf(x))
    estimate = fit.rate * survival
    method_name = SIGNED_ROOT if fit.by_root else PROFILE
    if fit.by_power:
        lower_end, estimate, upper_end = _drawn_probabilities(
            fit, x, [0.5 - 0.5 * interval_level, 0.5, 0.5 + 0.5 * interval_level]
        )
        method_name = POWER_TAIL
    else:
        lower_end, upper_end = _probability_interval(
            fit, x, survival, chi2_quantile(interval_level)
        )
    interval = Interval(
        low=lower_end, high=min(upper_end, 1.0), confidence_level=interval_level, method=method_name
    )
    return ExceedanceProbability(
        value=x,
        estimate=estimate,
        confidence_interval=interval,
        **fit.source,
    )


def _drawn_probabilities(fit: FittedTail, x: float, probabilities: list[float]) -> list[float]:
    """Quantiles of draws of P(X > x): 1/m of the level whose quantile is x.

    m and its draws are found in turn.
    """
    n_exceedances = fit.n_exceedances
    n_total = fit.n_total
    draws_by_position: dict[int, Floats] = {}
    quantiles = []
    for probability in probabilities:
        position = max(int((fit.sample > x).sum()), 1)
        for _ in range(_TURNS):
            if position not in draws_by_position:
                draws_by_position[position] = power_draws(fit, n_total / position).probability(x)
            quantile = float(np.quantile(draws_by_position[position], probability))
            position_before = position
            position = min(max(round(n_total * quantile), 1), n_exceedances - 1)
            if position_before == position:
                break
        quantiles.append(quantile)
    return quantiles


def _probability_interval(
    fit: FittedTail,
    x: float,
    survival: float,
    target: float,
) -> tuple[float, float]:
    log_period = np.inf  # beyond the fitted end point
    if survival > _SMALLEST:
        if fit.model != "gev":
            log_period = -np.log(fit.rate * survival)
        else:
            log_period = -np.log(-np.log1p(-survival))
    log_period_ends = fit._profile_likelihood().log_period_interval(
        x, float(log_period), target, standardised=fit.by_root
    )
    upper_end, lower_end = (
        -np.expm1(-exceedance_rate) if fit.model == "gev" else exceedance_rate
        for exceedance_rate in np.exp(-np.array(log_period_ends))
    )
    return float(lower_end), float(upper_end)


def shape_test(fit: FittedTail, null: float = 0.0, *, method: str = "auto") -> ShapeTest:
    """Likelihood-ratio test of a shape, by default ξ = 0: an exponential tail, or Gumbel maxima.

    Parameters
    ----------
    null : float
        ξ > −1/2: below, the likelihood is not regular, and χ² no law of its ratio.
    method : {"auto", "profile"}
        "auto": above a threshold by the standardised signed root, so that it rejects where the
        interval of the shape ends; else by χ².

    Returns
    -------
    ShapeTest
        With the estimates at that shape.

    Raises
    ------
    InputError
        A fit by L-moments, or a shape of −1/2 or less.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> found = fit_gpd(x, threshold=2.0, backend="scipy").test_shape()
    >>> round(found.params["scale"], 3), round(found.pvalue, 3)
    (1.018, 0.544)
    """
    fit.need_likelihood()
    checks.check_choice("method", method, ("auto", "profile"))
    xi = checks.check_number(
        "null",
        null,
        low=REGULAR_ABOVE,
        high=10.0,
        open_low=True,
        cure="0, exponential",
    )
    tail_likelihood = fit._profile_likelihood()
    standard = tail_likelihood.standard
    profile_points = shape_profile(
        standard, np.zeros(1, dtype=np.intp), np.array([xi]), standard.fits.nu
    )
    deviance = max(2.0 * float(profile_points.value[0] - standard.minimum()[0]), 0.0)
    params = dict(
        zip(
            fit.params,
            map(float, _at_shape(fit, standard.samples, profile_points, xi)),
            strict=True,
        )
    )
    statistic = deviance
    pvalue = float(chdtrc(1.0, deviance))
    test_name = "likelihood ratio"
    if fit.by_root and method == "auto":
        statistic = tail_likelihood.shape_root(profile_points, xi)
        test_name = SIGNED_ROOT
        pvalue = two_sided_pvalue(statistic)
    return ShapeTest(
        null=xi,
        params=params,
        nll=fit.nll + 0.5 * deviance,
        statistic=statistic,
        pvalue=pvalue,
        test=test_name,
        model=fit.model,
        **fit.source,
    )


def _at_shape(fit: FittedTail, samples: Samples, points: ProfilePoints, xi: float) -> Floats:
    """Estimates at a point of the profile, in the units of the data."""
    nu = points.nu
    if fit.model == "gev":
        v = exponential_scale_partials(samples.y, points.theta)[0][0]
        log_q = -np.log(np.exp(-nu * v).mean())  # the location is the level with the log period 0
        locations = samples.centre + samples.unit * power_ratio(log_q / nu, points.theta)
        return np.array([locations[0], samples.unit[0] * np.exp(xi * log_q) / nu[0], xi])
    excess_params = np.array([samples.unit[0] / nu[0], xi])
    if fit.block_size is None:
        return excess_params
    return to_point_process(
        excess_params, np.zeros((2, 2)), fit.origin, fit.n_exceedances, fit.n_total, fit.block_size
    )[0]
