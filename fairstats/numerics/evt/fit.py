"""The three fits, and what they return: excesses over a threshold, block maxima, point process.

    excesses y = x − u > 0     P(Y > y) = (1 + ξy/σ)^(−1/ξ)                         (Pickands 1975)
    block maxima               P(X ≤ x) = exp{−[1 + ξ(x − μ)/σ]^(−1/ξ)}             (Jenkinson 1955)
    exceedances of u           Poisson, the mean number above x per block [1 + ξ(x − μ)/σ]^(−1/ξ)

(Coles 2001, chapters 3, 4 and 7), with limits at ξ = 0; ξ > 0 is a heavy tail. A point process is a
fit of excesses with its parameters rewritten (`tail.to_point_process`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, overload

import numpy as np

from fairstats.ground import checks
from fairstats.ground.backends import BACKENDS, current_backend
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.results import TIDY_COLUMNS, Comparison
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt import diagnostics, return_levels
from fairstats.numerics.evt import profile as profiles
from fairstats.numerics.evt.backends import fit_parameters, scipy_backend
from fairstats.numerics.evt.bootstrap import values_a_bootstrap_reaches
from fairstats.numerics.evt.covariates import CovariateFit, fit_covariates
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.grid import LEAST_CELLS, OFF_GRID, GridLikelihood, grid_width
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE
from fairstats.numerics.evt.series import (
    as_maxima,
    as_series,
    exceedances_of,
    may_be_rounded,
    warn_of_ties,
)
from fairstats.numerics.evt.tail import (
    FEW_EXCEEDANCES,
    FittedTail,
    ParameterFit,
    tail_row,
    to_point_process,
)
from fairstats.plots.evt import plot_fit

_NAMES = {
    "gpd": "Generalised Pareto distribution",
    "gev": "Generalised extreme value distribution",
    "point_process": "Point process of exceedances",
}

_PENALISED = (
    "Coles and Dixon's penalty pulls heavy tails towards ξ = 0: levels err less, and are too low on"
    " average. Delta intervals cover .68 to .80 of the levels at ξ = .4 (15 to 50 values): take"
    " those of method='mle'."
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
        Inverse observed information, penalty included (jackknife for L-moments); NaN where the fit
        is not regular.
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
        Whether standard errors exist: ξ > −1/2 and not at the edge of the parameter space
        (L-moments: ξ < 1/2). Otherwise there are likelihood intervals only, without asymptotic
        guarantee.
    at_boundary : bool
        ξ = −1, with the largest value as end point, is the best point with ξ ≥ −1: the likelihood
        rises without bound beyond. The shape says no more than that the data reach an end point.
    confidence_level : float
        Of the intervals in the table.
    backend : str
        What computed the estimates.
    grid : float or None
        Width of the grid whose cells the values are known to.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).standard_exponential(1000)
    >>> fit = fit_gpd(x, threshold=2.0, backend="scipy")
    >>> {name: round(value, 3) for name, value in fit.params.items()}
    {'scale': 0.965, 'shape': 0.075}
    >>> fit.to_frame()[["parameter", "estimate"]].round(3).to_dict("list")
    {'parameter': ['scale', 'shape'], 'estimate': [0.965, 0.075]}
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
    plot = plot_fit

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Estimate, standard error and interval of each parameter."""
        n_values = self.n_exceedances
        std_errors = self.std_error
        parameter_rows = (
            tail_row(
                f"{self.model} {parameter}",
                estimate,
                self.interval(parameter),
                n_values,
                std_errors[parameter],
            )
            for parameter, estimate in self.params.items()
        )
        result = []
        for parameter_row in parameter_rows:
            result.append(replace(parameter_row, method=f"{self.method}, {parameter_row.method}"))
        return tuple(result)

    def rows(self) -> list[dict[str, Any]]:
        """One row per parameter."""
        result: list[dict[str, Any]] = []
        for parameter_row, parameter in zip(super().rows(), self.params, strict=True):
            result.append({**parameter_row, "parameter": parameter})
        return result

    def to_frame(self) -> pd.DataFrame:
        """One row per parameter: `parameter`, `estimate`, `std_error`, ends, then the other tidy
        columns.
        """
        frame = super().to_frame()
        first_columns = ["parameter", "estimate", "std_error", "ci_low", "ci_high"]
        return frame[
            [*first_columns, *(column for column in TIDY_COLUMNS if column not in first_columns)]
        ]

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        summary_columns: list[str] = []
        for column in super()._summary_columns(frame):
            if column not in ("metric", "n"):
                summary_columns.append(column)
        return summary_columns

    def sentences(self) -> list[str]:
        """Every parameter with its interval, then the notes."""
        named_rows = zip(self.params, self.comparisons, strict=True)
        parameter_intervals = []
        for parameter, parameter_row in named_rows:
            parameter_intervals.append(
                (parameter, parameter_row.estimate, parameter_row.confidence_interval)
            )
        parameter_lines = []
        for parameter, estimate, interval in parameter_intervals:
            parameter_lines.append(
                f"The {parameter} is {estimate:.4g} ({interval.words('.4g')}, {interval.method})."
            )
        return [*parameter_lines, *self.notes()]

    def notes(self) -> list[str]:
        """Model, sample, likelihood, and what is not regular."""
        note_lines = [
            f"{_NAMES[self.model]}, {self.method}, {self.backend}; ξ > 0 is a heavy tail."
        ]
        above_in_words = (
            f"of {self.n_total} observations exceed {self.origin:g} (rate {self.rate:.4g})"
        )
        note_lines.append(
            f"{self.n_exceedances} {'block maxima' if self.model == 'gev' else above_in_words}."
        )
        if self.grid is not None:
            note_lines.append(
                f"Values on a grid of width {self.grid:g}: the likelihood is that of its cells."
            )
        if self.model == "point_process":
            note_lines.append(
                f"Location and scale are those of the maxima of {self.block_size:g} observations."
            )
        note_lines.append(f"log L = {self.loglik:.6g}, AIC = {self.aic:.6g}, BIC = {self.bic:.6g}.")
        if self.at_boundary:
            edge_in_words = (
                "ξ = −1 is the edge of the parameter space (the likelihood has no maximum"
                " beyond it)"
            )
            note_lines.append(
                f"{edge_in_words}: the end point is the largest value seen, and the shape is no estimate."
            )
        elif not self.regular and self.method == "lmoments":
            note_lines.append("ξ ≥ 1/2: L-moments have no finite variance here.")
        elif self.by_root and self.n_exceedances < FEW_EXCEEDANCES and self.model == "gpd":
            few_in_words = f"{self.n_exceedances} values, fewer than {FEW_EXCEEDANCES}"
            coverage = (
                "the 95% interval of the scale, by χ², is a little too narrow (it covers 90–94%"
                " at 30)"
            )
            note_lines.append(
                f"{few_in_words}: {coverage}; those of shape, levels and end point allow for it."
            )
        if self.method == "coles_dixon":
            note_lines.append(_PENALISED)
        if self.method == "lmoments":
            note_lines.append(
                "Intervals are normal, by the jackknife's errors, and miss more on one side: for"
                " inference method='mle'."
            )
        if not self.regular and self.by_root and not self.by_power:
            reason = "Values on a grid"
            guarantee = "may miss on one side in up to 9% and 14% (ξ = −1)"
            if self.grid is None:
                reason = "A largest value that is tied"
                guarantee = "are not shown to hold"
            elif self.at_boundary:
                guarantee = "do not hold where ξ < −1; empirical_return_level(x, m) does"
            limits_in_words = f"the likelihood's limits of levels and end point {guarantee}"
            note_lines.append(
                f"{reason} and ξ ≤ −1/2: there is no power tail to take, and {limits_in_words}."
            )
        elif not self.regular and self.by_root and not self.at_boundary:
            note_lines.append(
                "ξ ≤ −1/2: no standard errors exist; levels and end point are those of a power"
                " tail."
            )
        return note_lines


Method = Literal["mle", "lmoments", "coles_dixon"]


@overload
def fit_gpd(x: Any, threshold: float, *, covariates: None = None, **settings: Any) -> EvtFit: ...
@overload
def fit_gpd(x: Any, threshold: Any, *, covariates: object, **settings: Any) -> CovariateFit: ...
def fit_gpd(  # type: ignore[misc] # the settings are written out once
    x: Any,
    threshold: Any,
    *,
    method: Method = "mle",
    confidence_level: float = 0.95,
    backend: str | None = None,
    n_total: int | None = None,
    grid: float | str | None = "auto",
    covariates: Any = None,
    scale: str = "~ 1",
    shape: str = "~ 1",
    scale_link: str = "log",
) -> EvtFit | CovariateFit:
    """Fit the generalised Pareto distribution to the excesses over a threshold.

    P(X − u > y | X > u) = (1 + ξy/σ)^(−1/ξ), exp(−y/σ) at ξ = 0. Heavy tails have ξ > 0; ξ < 0 has
    the upper end point u − σ/ξ.

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series, exceeding or not: N gives the rate of exceedances.
    threshold : float
        u, in the units of x. At least ten values exceed it.
    method : {"mle", "lmoments", "coles_dixon"}
        Maximum likelihood; L-moments (Hosking & Wallis 1987), for ξ < 1; or the likelihood times
        exp(−ξ/(1 − ξ)) for 0 < ξ < 1 and 0 for ξ ≥ 1 (Coles & Dixon 1999, λ = α = 1), for few
        values with heavy tails, by SciPy only; `nll` is without the penalty.
    confidence_level : float
        Of the intervals in the table.
    backend : {None, "auto", "r", "scipy"}
        What estimates the parameters. "auto": extRemes where R has it, else SciPy. "r": extRemes,
        or evd where only that is installed. Intervals are computed here for all.
    n_total : int, optional
        N, where x holds the largest values of a series only.
    grid : {"auto"}, float or None
        Width of the grid that the values are rounded to: each is then known to its cell only, and
        the threshold goes to the lower end of the lowest exceeding cell. "auto": where more than
        half of the exceedances are tied, or the largest, the width that all are multiples of, if
        there is one. None: values as they are. Only by maximum likelihood, and not where R is asked
        for by name.
    covariates : frame or mapping, optional
        One row for each value of x, exceeding or not. The fit is then by maximum likelihood and
        SciPy, of values as they are, and `threshold` may hold one number for each row.
    scale, shape : str
        One-sided formulas of the covariates, in the syntax of R (formulaic reads them): "~ age +
        C(sex)".
    scale_link : {"log", "identity"}
        Whether the formula of the scale gives log σ, which is always possible, or σ (extRemes'
        default).

    Returns
    -------
    EvtFit
        With `params` "scale" and "shape"; with covariates a `CovariateFit`.

    Raises
    ------
    InputError
        Values that are no finite numbers, fewer than ten exceedances, exceedances that are all
        equal, or on a grid with fewer than four distinct values, which say too little of a shape.
    BackendError
        The back end asked for cannot be used.

    Warns
    -----
    DataWarning
        Tied values; a shape at the edge ξ = −1; an R fit that fails, has a lower likelihood than
        its SciPy twin, or standard errors more than 5% off.

    Notes
    -----
    Below 100 exceedances the 95% interval of the scale, by χ², is a little too narrow (at 30 it
    covers .90 to .93), and a note says so; those of shape, levels and end point, by the
    standardised signed root, are not.

    The likelihood is maximised over ξ ≥ −1, beyond which it grows without bound as the end point
    approaches the largest value; where no interior maximum is higher, the best point with ξ = −1 is
    returned (σ = largest excess, `at_boundary`). For ξ ≤ −1/2 the maximum exists but is not regular
    (Smith 1985): `regular` is False, and neither standard errors nor delta intervals are given.

    "coles_dixon" buys a smaller error with bias: of 15, 30 and 50 values with ξ = .4 the level with
    m·λ = 20 has a relative root mean square error of .32, .24 and .19 (maximum likelihood: .56,
    .33, .24) and a bias of −.15, −.10 and −.07 (within .01); at ξ = −.2 both agree. Where the
    profile log-likelihood rises by less than 1 per unit of ξ at 0, the estimate is ξ = 0. Delta
    intervals cover .68 to .80 of the levels at ξ = .4: take those of "mle". Those of "lmoments"
    are normal, by the jackknife, and miss more on one side.

    References
    ----------
    Coles, S. (2001). An Introduction to Statistical Modeling of Extreme Values, chapter 4. Coles,
    S. G. and Dixon, M. J. (1999). Likelihood-based inference for extreme value models. Extremes 2,
    5–23, equation (4). Grimshaw, S. D. (1993). Computing maximum likelihood estimates for the
    generalized Pareto distribution. Technometrics 35, 185–191. Smith, R. L. (1985). Maximum
    likelihood estimation in a class of nonregular cases. Biometrika 72, 67–90.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> fit = fit_gpd(x, threshold=2.0, backend="scipy")
    >>> fit.n_exceedances, round(fit.scale, 3), round(fit.shape, 3)
    (253, 0.987, 0.031)
    >>> np.log(1000) in fit.return_level(1000).confidence_interval
    True
    """
    formulas = {"scale": scale, "shape": shape}
    if covariates is None:
        _need_covariates(formulas)
        return _fit_above_threshold(
            x, threshold, None, n_total, method, confidence_level, backend, grid
        )
    is_valid = grid is None or (isinstance(grid, str) and grid == "auto")
    checks.check_that(is_valid, "grid", grid, "None or 'auto' with covariates")
    series = as_series("x", x)
    has_many_thresholds = np.iterable(threshold) and not isinstance(threshold, str)
    threshold_values: Any
    if has_many_thresholds:
        threshold_values = as_series("threshold", threshold)
        checks.check_rows("threshold", threshold_values, series.size)
    else:
        threshold_values = checks.check_number(
            "threshold", threshold, cure="choose_threshold(x) suggests one"
        )
    is_kept = series > threshold_values
    warn_of_ties(exceedances_of(series - threshold_values, 0.0), "exceedances")
    if n_total is None:
        series_length = series.size
    else:
        series_length = checks.check_whole("n_total", n_total, low=series.size)
    interval_level = _checked_level(method, confidence_level, backend, covariates=True)
    return fit_covariates(
        series[is_kept],
        threshold_values[is_kept] if has_many_thresholds else threshold_values,
        is_kept,
        covariates,
        formulas,
        scale_link,
        series_length,
        interval_level,
    )


def fit_point_process(
    x: Any,
    threshold: float,
    block_size: float,
    *,
    method: Method = "mle",
    confidence_level: float = 0.95,
    backend: str | None = None,
    n_total: int | None = None,
    grid: float | str | None = "auto",
) -> EvtFit:
    """Fit the point process of exceedances; its parameters are those of the maxima of blocks.

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    threshold : float
        u, in the units of x. At least ten values exceed it.
    block_size : float
        Observations in a block. The location is their return level, which its maximum exceeds with
        probability 1 − 1/e.
    method, confidence_level, backend, n_total, grid
        As for `fit_gpd`.

    Returns
    -------
    EvtFit
        With `params` "location", "scale" and "shape".

    Raises
    ------
    InputError, BackendError
        As for `fit_gpd`; a block size that is not positive.

    Notes
    -----
    The maximum of the likelihood is the generalised Pareto one, transformed (see
    `fairstats.numerics.evt.tail`).

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_point_process
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> fit = fit_point_process(x, threshold=2.0, block_size=500, backend="scipy")
    >>> round(abs(fit.location - fit.return_level(500).estimate), 10)
    0.0
    """
    cure = "the number of observations in a block, e.g. 365"
    checked_size = checks.check_number(
        "block_size",
        block_size,
        low=0,
        high=1e15,
        open_low=True,
        cure=cure,
    )
    return _fit_above_threshold(
        x, threshold, checked_size, n_total, method, confidence_level, backend, grid
    )


@overload
def fit_gev(block_maxima: Any, *, covariates: None = None, **settings: Any) -> EvtFit: ...
@overload
def fit_gev(block_maxima: Any, *, covariates: object, **settings: Any) -> CovariateFit: ...
def fit_gev(  # type: ignore[misc] # the settings are written out once
    block_maxima: Any,
    *,
    method: Method = "mle",
    confidence_level: float = 0.95,
    backend: str | None = None,
    covariates: Any = None,
    location: str = "~ 1",
    scale: str = "~ 1",
    shape: str = "~ 1",
    scale_link: str = "log",
) -> EvtFit | CovariateFit:
    """Fit the generalised extreme value distribution to block maxima.

    P(M ≤ x) = exp(−(1 + ξ(x − μ)/σ)^(−1/ξ)) (Jenkinson 1955; Coles 2001, chapter 3).

    Parameters
    ----------
    block_maxima : array-like, shape (n,)
        One value per block, at least ten.
    method, confidence_level, backend, covariates, scale, shape, scale_link
        As for `fit_gpd`.
    location : str
        Formula of the location, as those of scale and shape.

    Returns
    -------
    EvtFit (CovariateFit with covariates)
        With `params` "location", "scale" and "shape". A block's maximum exceeds the level of m
        blocks with probability 1/m.

    Raises
    ------
    InputError, BackendError
        As for `fit_gpd`; maxima whose likelihood has no maximum.

    Notes
    -----
    As for `fit_gpd`. The likelihood has no bound for ξ → ∞ either, with a scale that shrinks around
    the smallest value, so that its highest local maximum is the estimate. A few values, or ties at
    the smallest, may leave none: that is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gev
    >>> maxima = np.random.default_rng(1).gumbel(10.0, 2.0, size=200)
    >>> fit = fit_gev(maxima, backend="scipy")
    >>> {name: round(value, 2) for name, value in fit.params.items()}
    {'location': 9.98, 'scale': 1.94, 'shape': -0.04}
    """
    formulas = {"location": location, "scale": scale, "shape": shape}
    maxima = as_maxima(block_maxima)
    if covariates is not None:
        series = as_series("block_maxima", block_maxima)
        interval_level = _checked_level(method, confidence_level, backend, covariates=True)
        all_rows = np.ones(series.size, dtype=bool)
        return fit_covariates(
            series, 0.0, all_rows, covariates, formulas, scale_link, series.size, interval_level
        )
    _need_covariates(formulas)
    interval_level = _checked_level(method, confidence_level, backend)
    warn_of_ties(maxima, "block maxima")
    fitted, backend_used = fit_parameters("gev", maxima, method, backend)
    source = _FitSource(
        model="gev",
        method=method,
        total=maxima.size,
        confidence_level=interval_level,
        backend=backend_used,
    )
    return _assemble_fit(fitted, maxima, source)


def _fit_above_threshold(
    x: Any,
    threshold: Any,
    block_size: float | None,
    n_total: int | None,
    method: Method,
    level: float,
    backend: str | None,
    grid: float | str | None,
) -> EvtFit:
    """The fit of the excesses; transformed to the point process where blocks have a size."""
    series = as_series("x", x)
    checked_threshold = checks.check_number(
        "threshold", threshold, cure="choose_threshold(x) suggests one"
    )
    level = _checked_level(method, level, backend)
    exceedances = exceedances_of(series, checked_threshold)
    cell_width = _grid_width_of(exceedances, grid, method, backend)
    if cell_width is None:
        warn_of_ties(exceedances, "exceedances")
    else:
        checked_threshold = float(exceedances[0]) - 0.5 * cell_width
    k = exceedances.size
    series_length = series.size
    if n_total is not None:
        series_length = checks.check_whole(
            "n_total", n_total, low=series_length, cure="the length of the whole series"
        )
    if cell_width is None:
        fitted, backend_used = fit_parameters(
            "gpd", exceedances - checked_threshold, method, backend
        )
    else:
        fitted = ParameterFit.of(
            GridLikelihood.of(
                exceedances, checked_threshold, cell_width, float(series_length), "fixed"
            ).fits
        )
        backend_used = scipy_backend.version()
    if block_size is not None:
        params, covariance = to_point_process(
            fitted.params,
            _regular_covariance(fitted, method),
            checked_threshold,
            k,
            series_length,
            block_size,
        )
        # of the process at λ = k/N
        nll = fitted.nll - k * float(np.log(block_size * k / series_length)) + k
        fitted = ParameterFit(
            params=params, covariance=covariance, nll=nll, at_boundary=fitted.at_boundary
        )
    if block_size is None:
        model_name = "gpd"
    else:
        model_name = "point_process"
    source = _FitSource(
        model=model_name,
        method=method,
        total=series_length,
        confidence_level=level,
        backend=backend_used,
        threshold=checked_threshold,
        block_size=block_size,
        grid=cell_width,
    )
    tail_fit = _assemble_fit(fitted, exceedances, source)
    # the largest values, for the bootstrap, stay outside what `to_dict` carries
    return replace(tail_fit, top=values_a_bootstrap_reaches(series, k))


def _grid_width_of(
    exceedances: Floats,
    grid: Any,
    method: str,
    backend: str | None,
) -> float | None:
    """Width of the grid of the exceedances; None where they are taken as they are."""
    if grid is None:
        return None
    if not isinstance(grid, str):
        cell_width = checks.check_number("grid", grid, low=0, open_low=True, cure="0.01, or 'auto'")
        checks.check_that(
            method == "mle", "grid", grid, "None or 'auto' with L-moments or a penalty"
        )
        cell_numbers = (exceedances - exceedances[0]) / cell_width
        if np.abs(cell_numbers - np.round(cell_numbers)).max() > OFF_GRID:
            got = f"{cell_width:g}, of which the values are no multiples"
            raise InputError("grid", got=got, allowed="the width of their grid", cure="grid='auto'")
    else:
        checks.check_choice("grid", grid, ("auto",))
        if (
            method != "mle"
            or (current_backend() if backend is None else backend) == "r"
            or not may_be_rounded(exceedances)
        ):
            return None
        cell_width = grid_width(exceedances)
    # from the first on: multiples of the width may all end in a half, which rounding would merge
    if cell_width:
        n_cells = np.unique(np.round((exceedances - exceedances[0]) / cell_width)).size
    else:
        n_cells = LEAST_CELLS
    if n_cells < LEAST_CELLS:
        got = f"{exceedances.size} exceedances on {n_cells} cells of width {cell_width:g}"
        allowed = (
            f"at least {LEAST_CELLS} distinct values above it: fewer say too little of a shape"
        )
        cure = "a lower threshold, finer scores, or empirical_return_level(x, m)"
        raise InputError("threshold", got=got, allowed=allowed, cure=cure)
    return cell_width or None


@dataclass(frozen=True)
class _FitSource:
    """What is known of a fit beside its estimates: model and method, the series, who estimated."""

    model: str
    method: str
    total: int
    confidence_level: float
    backend: str
    threshold: float | None = None
    block_size: float | None = None
    grid: float | None = None


def _assemble_fit(fitted: ParameterFit, sample: Floats, source: _FitSource) -> EvtFit:
    """The fit as it is kept, with what is known of the series."""
    parameter_names = ("location", "scale", "shape")[-fitted.params.size :]
    params = dict(zip(parameter_names, map(float, fitted.params), strict=True))
    return EvtFit(
        model=source.model,
        params=params,
        covariance=_regular_covariance(fitted, source.method),
        nll=fitted.nll,
        sample=sample,
        n_total=source.total,
        threshold=source.threshold,
        block_size=source.block_size,
        method=source.method,
        regular=_is_regular(fitted, source.method),
        at_boundary=fitted.at_boundary,
        confidence_level=source.confidence_level,
        backend=source.backend,
        grid=source.grid,
    )


def _need_covariates(formulas: dict[str, str]) -> None:
    """Raise where a formula speaks of covariates and there are none."""
    for parameter, formula in formulas.items():
        is_constant = isinstance(formula, str) and formula == "~ 1"
        checks.check_that(
            is_constant, parameter, formula, "'~ 1' without covariates", "covariates=frame"
        )


def _checked_level(
    method: Any,
    confidence_level: float,
    backend: Any,
    *,
    covariates: bool = False,
) -> float:
    """The confidence level, where method and back end go together, and with covariates if there are
    some.
    """
    checks.check_choice("method", method, ("mle", "lmoments", "coles_dixon"))
    checks.check_choice("backend", backend, (None, *BACKENDS))
    if backend is None:
        backend_used = current_backend()
    else:
        backend_used = backend
    go_together = method != "coles_dixon" or backend_used != "r"
    checks.check_that(
        go_together,
        "backend",
        backend_used,
        "'scipy' or 'auto' with method='coles_dixon', which R lacks",
    )
    interval_level = checks.check_confidence_level(confidence_level)
    if covariates:
        checks.check_that(method == "mle", "method", method, "'mle' with covariates")
        allowed = "'scipy' with covariates: extRemes is compared in the tests"
        checks.check_that(backend != "r", "backend", backend, allowed)
    return interval_level


def _regular_covariance(fitted: ParameterFit, method: str) -> Floats:
    """The covariance of a regular fit, NaN otherwise."""
    n_parameters = fitted.params.size
    if fitted.covariance is None or not _is_regular(fitted, method):
        return np.full((n_parameters, n_parameters), np.nan)
    return fitted.covariance


def _is_regular(fitted: ParameterFit, method: str) -> bool:
    """Whether standard errors exist: ξ > −1/2 for the likelihood, ξ < 1/2 for L-moments."""
    shape = float(fitted.params[-1])
    if method == "lmoments":
        return shape < 0.5
    return shape > REGULAR_ABOVE and not fitted.at_boundary
