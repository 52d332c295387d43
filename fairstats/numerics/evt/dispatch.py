"""Which back end fits, what happens when R fails, and that R's fit is no worse than its SciPy twin."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import numpy as np

from fairstats.ground.backends import current_backend, resolve
from fairstats.ground.errors import BackendError
from fairstats.ground.rprobe import probe_r
from fairstats.numerics.evt import scipy_backend
from fairstats.numerics.evt.checks import warn
from fairstats.numerics.evt.contract import FloatArray, Kernel, ParameterFit
from fairstats.numerics.evt.lmoments import jackknife_covariance

__all__ = ["fit_parameters"]

#: An R fit may have a negative log-likelihood higher than its SciPy twin by this much.
_WORSE = 1e-6
#: Standard errors of R that differ by more than this share are taken for numerical failure.
_OFF = 0.05


def _kernel(backend: str, method: str) -> Kernel:
    """The back end's module: ours, or R's with extRemes.

    Where R is asked for by name and has no extRemes, evd fits in its place (it has no L-moments).
    """
    if backend == "scipy":
        return scipy_backend
    packages = ["extRemes"]
    if backend == "r" and method == "mle":
        installed = probe_r().packages
        packages = ["evd"] if "evd" in installed and "extRemes" not in installed else packages
    if resolve(backend, purpose="extreme value fits", r_packages=packages) == "scipy":
        return scipy_backend
    module: Any = import_module("fairstats.numerics.evt.r_backend")
    return cast(Kernel, module.BY_EVD if packages == ["evd"] else module)


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
    backend = current_backend() if backend is None else backend
    kernel = _kernel(backend, method)
    function = f"{family}_{method}"
    fitted: ParameterFit = getattr(scipy_backend, function)(
        values
    )  # first: it sees where there is no maximum
    if kernel is not scipy_backend:
        found = _by_r(kernel, function, values, fitted if method == "mle" else None, required=backend == "r")
        fitted, kernel = (fitted, scipy_backend) if found is None else (found, kernel)
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


def _by_r(
    kernel: Kernel, function: str, values: FloatArray, twin: ParameterFit | None, *, required: bool
) -> ParameterFit | None:
    """R's fit; None, with a warning, where it fails or is worse than its twin and is not required."""
    who, kept = kernel.version(), "R's fit is returned, as asked" if required else "SciPy's fit is returned"
    try:
        fitted: ParameterFit = getattr(kernel, function)(values)
    except BackendError as error:
        if required:
            raise
        warn(f"R could not fit ({error}); {kept}")
        return None
    if twin is None:
        return fitted
    off = _standard_errors_off(fitted, twin)
    if fitted.nll > twin.nll + _WORSE:
        warn(f"{who} reached a negative log-likelihood of {fitted.nll:.9g}, SciPy {twin.nll:.9g}: {kept}")
    elif off > _OFF:
        warn(
            f"standard errors of {who}, by differences of a fixed step, are {100 * off:.0f}% off SciPy's, "
            f"from the formula: {kept}"
        )
    else:
        return fitted
    return fitted if required else None


def _standard_errors_off(fitted: ParameterFit, twin: ParameterFit) -> float:
    """Largest relative difference of the standard errors; 0 where one of the fits has none."""
    if fitted.covariance is None or twin.covariance is None:
        return 0.0
    ours, theirs = np.diagonal(twin.covariance), np.diagonal(fitted.covariance)
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return 0.0
    return float(np.abs(np.sqrt(theirs / ours) - 1.0).max())
