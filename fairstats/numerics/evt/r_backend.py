"""The back end with R: the functions of `tail` by extRemes, or by evd on request.

The care that they need (standardised data, a start at the estimate of the SciPy twin, restarts where the
package does not confirm it, results that are vetted) is in the project's R code, ``r/R/evt.R``.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from fairstats.ground import rsession
from fairstats.ground.errors import BackendError
from fairstats.ground.rprobe import probe_r
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.tail import ParameterFit

Source = Literal["extRemes", "evd"]


def version(source: Source = "extRemes") -> str:
    """Name and version for `Result.backend`: ``"r: extRemes 2.2.1"``."""
    return f"r: {source} {probe_r().packages.get(source, '')}".strip()


def gpd_mle(
    excesses: Floats, twin: ParameterFit | None = None, *, source: Source = "extRemes"
) -> ParameterFit:
    """Maximum likelihood for excesses over a threshold, by extRemes or evd, started at the twin's estimate.

    Over ξ ≥ −1: the edge, where no interior maximum is higher. `BackendError` if the package finds no
    maximum, or its standard errors are artefacts.
    """
    return _mle("fs_fit_gpd", excesses, twin, source)


def gev_mle(maxima: Floats, twin: ParameterFit | None = None, *, source: Source = "extRemes") -> ParameterFit:
    """Maximum likelihood for block maxima; arguments as in `gpd_mle`."""
    return _mle("fs_fit_gev", maxima, twin, source)


def gpd_lmoments(excesses: Floats, twin: ParameterFit | None = None) -> ParameterFit:
    """L-moments of excesses by extRemes."""
    return _lmoments(rsession.call("fs_fit_gpd", excesses, "lmoments", "extRemes"))


def gev_lmoments(maxima: Floats, twin: ParameterFit | None = None) -> ParameterFit:
    """L-moments of block maxima by extRemes."""
    return _lmoments(rsession.call("fs_fit_gev", maxima, "lmoments", "extRemes"))


def _mle(function: str, values: Floats, twin: ParameterFit | None, source: Source) -> ParameterFit:
    start = None if twin is None else twin.params
    found: dict[str, Any] = rsession.call(function, values, "mle", source, start=start)
    covariance = np.asarray(found["covariance"], dtype=np.float64)
    nll = float(found["nll"])
    if not np.isfinite(nll) or nll >= 1e9:
        raise BackendError(f"{source} found no maximum of the likelihood (negative log-likelihood {nll:g})")
    if found["regular"] and not np.isfinite(covariance).all():
        raise BackendError(f"{source}: {found['notes'] or 'no standard errors'}")
    params = np.asarray(found["estimate"], dtype=np.float64)
    return ParameterFit(params, covariance, nll, bool(found["at_boundary"]))


def _lmoments(found: dict[str, Any]) -> ParameterFit:
    return ParameterFit(np.asarray(found["estimate"], dtype=np.float64), None, float(found["nll"]))


#: The same functions with evd; L-moments are extRemes' all the same.
BY_EVD = SimpleNamespace(
    gpd_mle=partial(gpd_mle, source="evd"),
    gev_mle=partial(gev_mle, source="evd"),
    gpd_lmoments=gpd_lmoments,
    gev_lmoments=gev_lmoments,
    version=partial(version, "evd"),
)
