"""The back end without R: the functions of `contract.Kernel`, by the vectorised fits of `gpd` and `gev`."""

from __future__ import annotations

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.numerics.evt.contract import FloatArray, ParameterFit
from fairstats.numerics.evt.distributions import gev_logpdf, gpd_logpdf
from fairstats.numerics.evt.gev import GevSamples, fit_gev_samples
from fairstats.numerics.evt.gpd import GpdSamples, fit_gpd_samples
from fairstats.numerics.evt.lmoments import gev_from_lmoments, gpd_from_lmoments, sample_lmoments

__all__ = ["gev_lmoments", "gev_mle", "gpd_lmoments", "gpd_mle", "version"]


def version() -> str:
    """Name and version for `Result.backend`."""
    import scipy

    return f"scipy {scipy.__version__}"


def gpd_mle(excesses: FloatArray) -> ParameterFit:
    """Maximum likelihood of the generalised Pareto distribution; see `contract.Kernel.gpd_mle`."""
    fits = fit_gpd_samples(GpdSamples.from_excesses(excesses[None, :]))
    return ParameterFit(
        np.array([fits.scale[0], fits.shape[0]]),
        fits.covariance[0],
        float(fits.nll[0]),
        bool(fits.at_boundary[0]),
    )


def gev_mle(maxima: FloatArray) -> ParameterFit:
    """Maximum likelihood of the generalised extreme value distribution.

    Raises
    ------
    InputError
        Where the likelihood has no maximum, so that no back end may return one.
    """
    fits = fit_gev_samples(GevSamples.from_maxima(maxima[None, :]))
    if fits.unbounded[0]:
        raise InputError(
            "block_maxima",
            got=f"{maxima.size} values whose likelihood has no maximum: it rises without bound towards heavy "
            "tails that start at the smallest value",
            allowed="maxima whose likelihood has one: ties at the smallest value may spoil it",
            cure="method='lmoments', more blocks, or values that are not rounded",
        )
    return ParameterFit(
        np.array([fits.location[0], fits.scale[0], fits.shape[0]]),
        fits.covariance[0],
        float(fits.nll[0]),
        bool(fits.at_boundary[0]),
    )


def gpd_lmoments(excesses: FloatArray) -> ParameterFit:
    """L-moment estimates of the generalised Pareto distribution."""
    unit = float(excesses.mean())
    l1, l2, _ = sample_lmoments(np.sort(excesses / unit))
    params = gpd_from_lmoments(l1, l2) * np.array([unit, 1.0])
    return ParameterFit(params, None, -float(gpd_logpdf(excesses, *params).sum()))


def gev_lmoments(maxima: FloatArray) -> ParameterFit:
    """L-moment estimates of the generalised extreme value distribution."""
    centre = float(maxima.mean())
    unit = float(np.abs(maxima - centre).max())
    params = gev_from_lmoments(*sample_lmoments(np.sort((maxima - centre) / unit)))
    params = params * np.array([unit, unit, 1.0]) + np.array([centre, 0.0, 0.0])
    return ParameterFit(params, None, -float(gev_logpdf(maxima, *params).sum()))
