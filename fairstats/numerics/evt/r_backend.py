"""The back end with R: the functions of `contract.Kernel` by extRemes, or by evd on request.

The care that they need (standardised data, good starts, restarts, results that are vetted) is in the
project's R code, ``r/R/evt.R``; only numbers come back through the door.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from fairstats.ground import rsession
from fairstats.ground.errors import BackendError
from fairstats.ground.rprobe import probe_r
from fairstats.numerics.evt.contract import FloatArray, ParameterFit

__all__ = ["BY_EVD", "gev_lmoments", "gev_mle", "gpd_lmoments", "gpd_mle", "version"]

Source = Literal["extRemes", "evd"]


def version(source: Source = "extRemes") -> str:
    """Name and version for `Result.backend`: ``"r: extRemes 2.2.1"``."""
    return f"r: {source} {probe_r().packages.get(source, '')}".strip()


def gpd_mle(excesses: FloatArray, *, source: Source = "extRemes") -> ParameterFit:
    """Maximum likelihood for excesses: see `contract.Kernel.gpd_mle`.

    Parameters
    ----------
    excesses : array, shape (k,)
        Positive.
    source : {"extRemes", "evd"}, default "extRemes"
        R package that fits.

    Raises
    ------
    BackendError
        If the package finds no maximum with ξ > −1, or its standard errors are artefacts.
    """
    return _mle(rsession.call("gpd_fit", excesses, "mle", source), source)


def gev_mle(maxima: FloatArray, *, source: Source = "extRemes") -> ParameterFit:
    """Maximum likelihood for block maxima: see `contract.Kernel.gev_mle`; arguments as in `gpd_mle`."""
    return _mle(rsession.call("gev_fit", maxima, "mle", source), source)


def gpd_lmoments(excesses: FloatArray) -> ParameterFit:
    """L-moments of excesses by extRemes: see `contract.Kernel.gpd_lmoments`."""
    return _lmoments(rsession.call("gpd_fit", excesses, "lmoments", "extRemes"))


def gev_lmoments(maxima: FloatArray) -> ParameterFit:
    """L-moments of block maxima by extRemes: see `contract.Kernel.gev_lmoments`."""
    return _lmoments(rsession.call("gev_fit", maxima, "lmoments", "extRemes"))


def _mle(found: dict[str, Any], source: Source) -> ParameterFit:
    covariance = np.asarray(found["covariance"], dtype=np.float64)
    nll = float(found["nll"])
    if not np.isfinite(nll) or nll >= 1e9:
        raise BackendError(f"{source} found no maximum of the likelihood (negative log-likelihood {nll:g})")
    if found["regular"] and not np.isfinite(covariance).all():
        raise BackendError(f"{source}: {found['notes'] or 'no standard errors'}")
    return ParameterFit(np.asarray(found["estimate"], dtype=np.float64), covariance, nll)


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
