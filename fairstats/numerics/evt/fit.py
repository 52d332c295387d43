"""The three fits: excesses over a threshold, block maxima, and the point process of exceedances."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from fairstats.ground.backends import BACKENDS
from fairstats.ground.results import check_choice, check_confidence_level
from fairstats.numerics.evt.bootstrap import values_a_bootstrap_reaches
from fairstats.numerics.evt.checks import (
    as_maxima,
    as_positive,
    as_series,
    as_threshold,
    exceedances_of,
    warn_of_ties,
)
from fairstats.numerics.evt.contract import FloatArray, ParameterFit
from fairstats.numerics.evt.dispatch import fit_parameters
from fairstats.numerics.evt.gpd import REGULAR_ABOVE
from fairstats.numerics.evt.point_process import point_process_nll, to_point_process
from fairstats.numerics.evt.result import EvtFit

__all__ = ["fit_gev", "fit_gpd", "fit_point_process"]

#: L-moments have a finite variance below this shape.
_LMOMENTS_BELOW = 0.5

Method = Literal["mle", "lmoments"]


def fit_gpd(
    x: Any,
    threshold: float,
    *,
    method: Method = "mle",
    confidence_level: float = 0.95,
    backend: str | None = None,
) -> EvtFit:
    """Fit the generalised Pareto distribution to the excesses over a threshold.

    P(X − u > y | X > u) = (1 + ξy/σ)^(−1/ξ), exp(−y/σ) at ξ = 0. Heavy tails have ξ > 0; ξ < 0 has the
    upper end point u − σ/ξ.

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series, exceeding or not: N gives the rate of exceedances.
    threshold : float
        u, in the units of x. At least ten values exceed it.
    method : {"mle", "lmoments"}
        Maximum likelihood, or L-moments (Hosking & Wallis 1987), which are defined for ξ < 1.
    confidence_level : float
        Of the intervals in the table.
    backend : {None, "auto", "r", "scipy"}
        What estimates the parameters; intervals are computed here for both. "auto": extRemes where R has it,
        else SciPy. "r": extRemes, or evd where only that is installed.

    Returns
    -------
    EvtFit
        With `params` "scale" and "shape".

    Raises
    ------
    InputError
        Values that are no finite numbers, fewer than ten exceedances, or exceedances that are all equal.
    BackendError
        The back end asked for cannot be used.

    Warns
    -----
    DataWarning
        Tied values; a shape at the edge ξ = −1; an R fit that fails, has a lower likelihood than its SciPy
        twin, or standard errors more than 5% off.

    Notes
    -----
    The likelihood is maximised over ξ ≥ −1. For ξ < −1 it grows without bound as the end point approaches
    the largest value; where no interior maximum is higher than the best point with ξ = −1, that point is
    returned (σ = largest excess, `at_boundary`), and the fit has no standard errors. For ξ ≤ −1/2 the
    maximum exists but is not regular (Smith 1985): `regular` is False, and neither standard errors nor
    delta intervals are given.

    References
    ----------
    Coles, S. (2001). An Introduction to Statistical Modeling of Extreme Values, chapter 4.
    Grimshaw, S. D. (1993). Computing maximum likelihood estimates for the generalized Pareto distribution.
    Technometrics 35, 185–191.
    Smith, R. L. (1985). Maximum likelihood estimation in a class of nonregular cases. Biometrika 72, 67–90.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> fit = fit_gpd(x, threshold=2.0, backend="scipy")
    >>> fit.n_exceedances, round(fit.scale, 3), round(fit.shape, 3)
    (253, 0.987, 0.031)
    >>> low, high = fit.return_level(1000).interval
    >>> bool(low < np.log(1000) < high)
    True
    """
    series, u = as_series("x", x), as_threshold(threshold)
    level = _checked(method, confidence_level, backend)
    above = exceedances_of(series, u)
    warn_of_ties(above, "exceedances")
    fitted, used = fit_parameters("gpd", above - u, method, backend)
    fit = EvtFit(
        model="gpd",
        params={"scale": float(fitted.params[0]), "shape": float(fitted.params[1])},
        covariance=_covariance(fitted, method),
        nll=fitted.nll,
        sample=above,
        n_total=series.size,
        threshold=u,
        block_size=None,
        method=method,
        regular=_is_regular(fitted, method),
        at_boundary=fitted.at_boundary,
        confidence_level=level,
        backend=used,
    )
    return _with_series(fit, series)


def fit_point_process(
    x: Any,
    threshold: float,
    block_size: float,
    *,
    method: Method = "mle",
    confidence_level: float = 0.95,
    backend: str | None = None,
) -> EvtFit:
    """Fit the point process of exceedances; its parameters are those of the maxima of blocks.

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    threshold : float
        u, in the units of x. At least ten values exceed it.
    block_size : float
        Observations in a block. The location is the level that a block's maximum exceeds with probability 1
        − 1/e: the return level of `block_size` observations.
    method, confidence_level, backend
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
    `fairstats.numerics.evt.point_process`): nothing is fitted twice, and no back end can miss it.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_point_process
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> fit = fit_point_process(x, threshold=2.0, block_size=500, backend="scipy")
    >>> round(abs(fit.location - fit.return_level(500).estimate), 10)
    0.0
    """
    series, u = as_series("x", x), as_threshold(threshold)
    size = as_positive("block_size", block_size, "the number of observations in a block, e.g. 365")
    level = _checked(method, confidence_level, backend)
    above = exceedances_of(series, u)
    warn_of_ties(above, "exceedances")
    fitted, used = fit_parameters("gpd", above - u, method, backend)
    params, covariance = to_point_process(
        fitted.params, _covariance(fitted, method), u, above.size, series.size, size
    )
    fit = EvtFit(
        model="point_process",
        params=dict(zip(("location", "scale", "shape"), map(float, params), strict=True)),
        covariance=covariance,
        nll=point_process_nll(fitted.nll, above.size, series.size, size),
        sample=above,
        n_total=series.size,
        threshold=u,
        block_size=size,
        method=method,
        regular=_is_regular(fitted, method),
        at_boundary=fitted.at_boundary,
        confidence_level=level,
        backend=used,
    )
    return _with_series(fit, series)


def fit_gev(
    block_maxima: Any,
    *,
    method: Method = "mle",
    confidence_level: float = 0.95,
    backend: str | None = None,
) -> EvtFit:
    """Fit the generalised extreme value distribution to block maxima.

    P(M ≤ x) = exp(−(1 + ξ(x − μ)/σ)^(−1/ξ)).

    Parameters
    ----------
    block_maxima : array-like, shape (n,)
        One value per block, at least ten.
    method, confidence_level, backend
        As for `fit_gpd`.

    Returns
    -------
    EvtFit
        With `params` "location", "scale" and "shape". Return levels are in blocks: the level of m blocks is
        exceeded by a block's maximum with probability 1/m.

    Raises
    ------
    InputError, BackendError
        As for `fit_gpd`; maxima whose likelihood has no maximum.

    Notes
    -----
    As for `fit_gpd`, the likelihood is maximised over ξ ≥ −1, and ξ ≤ −1/2 is not regular. It has no bound
    for ξ → ∞ either, with a scale that shrinks around the smallest value, so that its highest local maximum
    is the estimate. A few values, or ties at the smallest, may leave none: that is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gev
    >>> maxima = np.random.default_rng(1).gumbel(10.0, 2.0, size=200)
    >>> fit = fit_gev(maxima, backend="scipy")
    >>> {name: round(value, 2) for name, value in fit.params.items()}
    {'location': 9.98, 'scale': 1.94, 'shape': -0.04}
    """
    maxima = as_maxima(block_maxima)
    level = _checked(method, confidence_level, backend)
    warn_of_ties(maxima, "block maxima")
    fitted, used = fit_parameters("gev", maxima, method, backend)
    return EvtFit(
        model="gev",
        params=dict(zip(("location", "scale", "shape"), map(float, fitted.params), strict=True)),
        covariance=_covariance(fitted, method),
        nll=fitted.nll,
        sample=maxima,
        n_total=maxima.size,
        threshold=None,
        block_size=None,
        method=method,
        regular=_is_regular(fitted, method),
        at_boundary=fitted.at_boundary,
        confidence_level=level,
        backend=used,
    )


def _checked(method: Any, confidence_level: float, backend: Any) -> float:
    check_choice("method", method, ("mle", "lmoments"))
    check_choice("backend", backend, (None, *BACKENDS))
    return check_confidence_level(confidence_level)


def _covariance(fitted: ParameterFit, method: str) -> FloatArray:
    """The covariance of a regular fit, NaN otherwise."""
    p = fitted.params.size
    if fitted.covariance is None or not _is_regular(fitted, method):
        return np.full((p, p), np.nan)
    return fitted.covariance


def _is_regular(fitted: ParameterFit, method: str) -> bool:
    """Whether standard errors exist: ξ > −1/2 for the likelihood, ξ < 1/2 for L-moments."""
    shape = float(fitted.params[-1])
    if method == "lmoments":
        return shape < _LMOMENTS_BELOW
    return shape > REGULAR_ABOVE and not fitted.at_boundary


def _with_series(fit: EvtFit, series: FloatArray) -> EvtFit:
    """Keep the largest values for the bootstrap, outside what `to_dict` carries."""
    object.__setattr__(fit, "top", values_a_bootstrap_reaches(series, fit.n_exceedances))
    return fit
