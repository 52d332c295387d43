"""The contract of the two back ends: the same functions, arguments and return types.

A back end is a module (`scipy_backend`, `r_backend`) with the functions of `Kernel`. It estimates
parameters and, by maximum likelihood, their covariance, from plain arrays. Everything that must not differ
is decided outside, once, for both:

* validation, the threshold and which values exceed it, warnings about ties (`checks`);
* whether a fit is regular, and that an irregular one has no standard errors (`fit`);
* the point process: the generalised Pareto fit transformed, with the Poisson variance of the rate
  (`point_process`);
* standard errors of L-moment estimates: the jackknife (`lmoments`);
* every interval, test, goodness of fit and bootstrap (`level_interval`, `delta`, `bootstrap`, …): extRemes'
  own
  intervals are wrong in known ways. Profiles are computed from the data around *our* maximum of the
  likelihood;
* the comparison of an R fit with its SciPy twin: a negative log-likelihood higher by more than 1e-6 is
  reported with
  both values, and ``backend="auto"`` then returns the SciPy fit (`fit`).

A back end receives finite float64 arrays, at least ten values that are not all equal. Excesses are x − u >
0 in the units of the data: standardising (by the mean or median excess; by median and spread) is the back
end's business and must make the answer equivariant. `ξ` is positive for heavy tails.

An R back end must reject what `extRemes` returns by failure — a negative log-likelihood ≥ 1e9, standard
errors of 2e-8 or 2e-6 in standardised units — with `BackendError`; the caller then uses the SciPy twin
(``"auto"``) or lets the error pass (``"r"``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["FloatArray", "Kernel", "ParameterFit"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ParameterFit:
    """Estimates of one model.

    Attributes
    ----------
    params : ndarray of float, shape (p,)
        (σ, ξ) for excesses, (μ, σ, ξ) for block maxima; in the units of the data.
    covariance : ndarray of float, shape (p, p), or None
        Inverse observed information, all entries NaN where it does not exist (ξ ≤ −1/2). None for
        L-moments: the caller computes it from the data.
    nll : float
        Negative log-likelihood at `params`, in the units of the data (+inf where a value lies outside the
        support, as can happen to L-moments).
    at_boundary : bool
        ξ = −1 was returned because no interior maximum of the likelihood is higher: the end point is the
        largest value. Always False for L-moments.
    """

    params: FloatArray
    covariance: FloatArray | None
    nll: float
    at_boundary: bool = False


class Kernel(Protocol):
    """What `scipy_backend` and `r_backend` provide, as module-level functions."""

    def version(self) -> str:
        """Name and versions for `Result.backend`: ``"scipy 1.17.1"``, ``"r: extRemes 2.2.1"``."""
        ...

    def gpd_mle(self, excesses: FloatArray) -> ParameterFit:
        """Maximum likelihood for excesses over a threshold; `excesses` of shape (k,), all positive.

        R: ``extRemes::fevd(y / median(y), threshold = 0, type = "GP", time.units = "years", initial =
        <L-moments, |shape| >= 0.01>, optim.args = list(control = list(reltol = 1e-14)))``, scale and
        covariance multiplied back. Agreement asked: negative log-likelihood 1e-9, parameters 1e-5 standard
        errors, standard errors 1e-3 (ξ > −.3) and 1e-2 (ξ > −.45).
        """
        ...

    def gev_mle(self, maxima: FloatArray) -> ParameterFit:
        """Maximum likelihood for block maxima, shape (n,). R: ``fevd(type = "GEV")``, standardised."""
        ...

    def gpd_lmoments(self, excesses: FloatArray) -> ParameterFit:
        """L-moments of excesses: κ = l₁/l₂ − 2. R: ``fevd(method = "Lmoments")``. Agreement asked: 1e-8."""
        ...

    def gev_lmoments(self, maxima: FloatArray) -> ParameterFit:
        """L-moments of block maxima with Hosking's approximation for κ. R: as above."""
        ...
