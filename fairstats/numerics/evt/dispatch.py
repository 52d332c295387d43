"""Which back end fits, what happens when R fails, and that R's fit is no worse than its SciPy twin."""

from __future__ import annotations

from importlib import import_module
from typing import cast

import numpy as np

from fairstats.ground.backends import resolve
from fairstats.ground.errors import BackendError
from fairstats.numerics.evt import scipy_backend
from fairstats.numerics.evt.checks import warn
from fairstats.numerics.evt.contract import FloatArray, Kernel, ParameterFit
from fairstats.numerics.evt.lmoments import jackknife_covariance

__all__ = ["fit_parameters"]

#: An R fit may have a negative log-likelihood higher than its SciPy twin by this much.
_WORSE = 1e-6


def _kernel(backend: str | None) -> Kernel:
    """The back end's module."""
    if resolve(backend, purpose="extreme value fits", r_packages=["extRemes"]) == "scipy":
        return scipy_backend
    return cast(Kernel, import_module("fairstats.numerics.evt.r_backend"))


def fit_parameters(
    family: str, values: FloatArray, method: str, backend: str | None
) -> tuple[ParameterFit, str]:
    """Estimates, standard errors included, and what computed them.

    Parameters
    ----------
    family : {"gpd", "gev"}
    values : ndarray of float, shape (n,)
        Excesses or block maxima.
    method : {"mle", "lmoments"}
    backend : {None, "auto", "r", "scipy"}

    Raises
    ------
    BackendError
        R was asked for and failed.
    """
    kernel = _kernel(backend)
    function = f"{family}_{method}"
    try:
        fitted: ParameterFit = getattr(kernel, function)(values)
    except BackendError as error:
        if backend == "r" or kernel is scipy_backend:
            raise
        warn(f"R could not fit ({error}); SciPy's fit is returned")
        kernel = scipy_backend
        fitted = getattr(kernel, function)(values)
    if kernel is not scipy_backend and method == "mle":
        twin: ParameterFit = getattr(scipy_backend, function)(values)
        if fitted.nll > twin.nll + _WORSE:
            kept = "R's fit is returned, as asked" if backend == "r" else "SciPy's fit is returned"
            warn(
                f"{kernel.version()} reached a negative log-likelihood of {fitted.nll:.9g}, SciPy "
                f"{twin.nll:.9g}: {kept}"
            )
            if backend != "r":
                fitted, kernel = twin, scipy_backend
    if fitted.covariance is None:
        covariance = jackknife_covariance(values, family)
        fitted = ParameterFit(fitted.params, covariance, fitted.nll, fitted.at_boundary)
    if fitted.at_boundary:
        warn(
            "the likelihood has no maximum with ξ > −1: the shape is set to −1 and the end point to the "
            "largest value. Report that value, or lower the threshold"
        )
    if not np.isfinite(fitted.nll):
        warn("a value lies beyond the end point of the L-moment fit: its likelihood is 0")
    return fitted, kernel.version()
