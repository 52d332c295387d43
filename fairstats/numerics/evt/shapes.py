"""Test of the shape of a tail; at 0 it gives the exponential fit of excesses, or the Gumbel fit of maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairstats.ground.checks import check_number
from fairstats.ground.results import Comparison
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.distributions import Floats, exponential_scale_partials, power_ratio
from fairstats.numerics.evt.gev import GevLikelihood
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE, ProfilePoints, shape_profile
from fairstats.numerics.evt.tail import FittedTail, TailTest, to_point_process


@serialisable
@dataclass(frozen=True)
class ShapeTest(TailTest):
    """Likelihood-ratio test of a shape.

    Attributes
    ----------
    null : float
        The shape tested.
    params : dict of str to float
        Estimates with that shape: at 0 the exponential fit of excesses, the Gumbel fit of block maxima.
    nll : float
        Their negative log-likelihood.
    statistic, pvalue : float
        Twice the fall of the log-likelihood, and its probability under χ² of one degree of freedom.
    n_exceedances : int
    model, backend : str
    """

    title: ClassVar[str] = "Test of the shape"

    null: float
    params: dict[str, float]
    nll: float
    statistic: float
    pvalue: float
    n_exceedances: int
    model: str
    backend: str

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The only row."""
        return (self.row(f"shape = {self.null:g}", self.n_exceedances, "likelihood ratio"),)

    def sentences(self) -> list[str]:
        """The p-value in words, then the fit with that shape."""
        return [f"Likelihood ratio test of the shape {self.null:g}: p = {self.pvalue:.3g}.", *self.notes()]

    def notes(self) -> list[str]:
        """The fit with that shape."""
        fitted = ", ".join(f"{name} {value:.4g}" for name, value in self.params.items() if name != "shape")
        return [f"With that shape: {fitted}; log L = {-self.nll:.6g}."]


def shape_test(fit: FittedTail, null: float = 0.0) -> ShapeTest:
    """Likelihood-ratio test of a shape, by default ξ = 0: an exponential tail, or Gumbel maxima.

    Parameters
    ----------
    null : float
        ξ > −1/2: below, the likelihood is not regular, and χ² no law of its ratio.

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
    (1.018, 0.648)
    """
    from scipy.special import chdtrc

    fit.need_likelihood()
    xi = check_number("null", null, low=REGULAR_ABOVE, high=10.0, open_low=True, cure="0, exponential")
    standard = fit.likelihood().standard
    points = shape_profile(standard, np.zeros(1, dtype=np.intp), np.array([xi]), standard.fits.nu)
    deviance = max(2.0 * float(points.value[0] - standard.minimum()[0]), 0.0)
    params = dict(zip(fit.params, map(float, _params(fit, points, xi)), strict=True))
    return ShapeTest(
        null=xi, params=params, nll=fit.nll + 0.5 * deviance, statistic=deviance,
        pvalue=float(chdtrc(1.0, deviance)), model=fit.model, **fit.source,
    )  # fmt: skip


def _params(fit: FittedTail, points: ProfilePoints, xi: float) -> Floats:
    """Estimates at a point of the profile, in the units of the data."""
    tail = fit.likelihood()
    nu, samples = points.nu, tail.standard.samples
    if isinstance(tail.standard, GevLikelihood):
        v = exponential_scale_partials(samples.y, points.theta)[0][0]
        log_q = -np.log(np.exp(-nu * v).mean())  # the location is the level with the log period 0
        location = samples.centre + samples.unit * power_ratio(log_q / nu, points.theta)
        return np.array([location[0], samples.unit[0] * np.exp(xi * log_q) / nu[0], xi])
    excess = np.array([samples.unit[0] / nu[0], xi])
    if fit.block_size is None:
        return excess
    size = fit.origin, fit.n_exceedances, fit.n_total, fit.block_size
    return to_point_process(excess, np.zeros((2, 2)), *size)[0]
