"""The back end without R: the functions of `tail`, by the vectorised fits of `gpd` and `gev`."""

from __future__ import annotations

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.numerics.evt.distributions import (
    Floats,
    gev_from_lmoments,
    gev_logpdf,
    gpd_from_lmoments,
    gpd_logpdf,
    sample_lmoments,
)
from fairstats.numerics.evt.gev import fit_gev_samples
from fairstats.numerics.evt.gpd import fit_gpd_samples
from fairstats.numerics.evt.likelihood import SampleFits, Samples
from fairstats.numerics.evt.tail import ParameterFit


def version() -> str:
    """Name and version for `Result.backend`."""
    import scipy

    return f"scipy {scipy.__version__}"


def gpd_mle(excesses: Floats) -> ParameterFit:
    """Maximum likelihood of the generalised Pareto distribution."""
    return _only(fit_gpd_samples(Samples.from_excesses(excesses[None, :])))


def gpd_coles_dixon(excesses: Floats) -> ParameterFit:
    """Penalised likelihood of the generalised Pareto distribution."""
    return _only(fit_gpd_samples(Samples.from_excesses(excesses[None, :]), penalised=True))


def gev_coles_dixon(maxima: Floats) -> ParameterFit:
    """Penalised likelihood of the generalised extreme value distribution."""
    return gev_mle(maxima, penalised=True)


def gev_mle(maxima: Floats, *, penalised: bool = False) -> ParameterFit:
    """Maximum likelihood of the generalised extreme value distribution.

    Raises InputError where the likelihood has no maximum, so that no back end may return one.
    """
    fits = fit_gev_samples(Samples.from_maxima(maxima[None, :]), penalised=penalised)
    if fits.unbounded[0]:
        raise InputError(
            "block_maxima",
            got=f"{maxima.size} values whose likelihood has no maximum: it rises without bound towards heavy "
            "tails that start at the smallest value",
            allowed="maxima whose likelihood has one: ties at the smallest value may spoil it",
            cure="method='coles_dixon' or 'lmoments', more blocks, or values that are not rounded",
        )
    return _only(fits)


def _only(fits: SampleFits) -> ParameterFit:
    """The fit of the only sample."""
    return ParameterFit(fits.params[0], fits.covariance[0], float(fits.nll[0]), bool(fits.at_boundary[0]))


def gpd_lmoments(excesses: Floats) -> ParameterFit:
    """L-moment estimates of the generalised Pareto distribution."""
    unit = float(excesses.mean())
    l1, l2, _ = sample_lmoments(np.sort(excesses / unit))
    params = gpd_from_lmoments(l1, l2) * np.array([unit, 1.0])
    return ParameterFit(params, None, -float(gpd_logpdf(excesses, *params).sum()))


def gev_lmoments(maxima: Floats) -> ParameterFit:
    """L-moment estimates of the generalised extreme value distribution."""
    centre = float(maxima.mean())
    unit = float(np.abs(maxima - centre).max())
    params = gev_from_lmoments(*sample_lmoments(np.sort((maxima - centre) / unit)))
    params = params * np.array([unit, unit, 1.0]) + np.array([centre, 0.0, 0.0])
    return ParameterFit(params, None, -float(gev_logpdf(maxima, *params).sum()))
