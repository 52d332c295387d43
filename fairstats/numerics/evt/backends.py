"""Who estimates the parameters: SciPy or R; R's fit must be no worse than its SciPy twin.

Both back ends have the same functions. They get finite arrays of ten unequal values or more (excesses x − u > 0),
standardise them so that the answer is equivariant, and estimate parameters and covariance; what must not differ
(thresholds, ties, regularity, intervals, tests) is decided outside, once. R must agree to 1e-9 in the negative
log-likelihood, 1e-5 standard errors in the parameters, 1e-3 (ξ > −.3) and 1e-2 (ξ > −.45) in these, 1e-8 in L-moments.
The care that R's packages need (a start at the SciPy twin's estimate, restarts, vetted results) is in ``r/R/evt.R``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy

from fairstats.ground import rsession
from fairstats.ground.backends import current_backend, resolve
from fairstats.ground.errors import BackendError, DataWarning, InputError, caution
from fairstats.ground.rprobe import probe_r
from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.gev import fit_gev_samples
from fairstats.numerics.evt.gpd import fit_gpd_samples
from fairstats.numerics.evt.likelihood import Samples
from fairstats.numerics.evt.tail import ParameterFit

#: An R fit's negative log-likelihood may be higher than its SciPy twin's, and its standard errors off, by so much.
_WORSE, _OFF = 1e-6, 0.05


class ScipyBackend:
    """Without R: the vectorised fits of `gpd` and `gev`."""

    def version(self) -> str:
        """Name and version for `Result.backend`."""
        return f"scipy {scipy.__version__}"

    def gpd_mle(self, excesses: Floats) -> ParameterFit:
        """Maximum likelihood of the generalised Pareto distribution."""
        return ParameterFit.of(fit_gpd_samples(Samples.from_excesses(excesses[None, :])))

    def gpd_coles_dixon(self, excesses: Floats) -> ParameterFit:
        """Penalised likelihood of the generalised Pareto distribution."""
        return ParameterFit.of(fit_gpd_samples(Samples.from_excesses(excesses[None, :]), penalised=True))

    def gev_coles_dixon(self, maxima: Floats) -> ParameterFit:
        """Penalised likelihood of the generalised extreme value distribution."""
        return self.gev_mle(maxima, penalised=True)

    def gev_mle(self, maxima: Floats, *, penalised: bool = False) -> ParameterFit:
        """Maximum likelihood of the generalised extreme value distribution.

        Raises InputError where the likelihood has no maximum, so that no back end may return one.
        """
        fits = fit_gev_samples(Samples.from_maxima(maxima[None, :]), penalised=penalised)
        if fits.unbounded[0]:
            why = "it rises without bound towards heavy tails that start at the smallest value"
            got = f"{maxima.size} values whose likelihood has no maximum: {why}"
            allowed = "maxima whose likelihood has one: ties at the smallest value may spoil it"
            cure = "method='coles_dixon' or 'lmoments', more blocks, or values that are not rounded"
            raise InputError("block_maxima", got=got, allowed=allowed, cure=cure)
        return ParameterFit.of(fits)

    def gpd_lmoments(self, excesses: Floats) -> ParameterFit:
        """L-moment estimates of the generalised Pareto distribution."""
        unit = float(excesses.mean())
        l1, l2, _ = law.sample_lmoments(np.sort(excesses / unit))
        params = law.gpd_from_lmoments(l1, l2) * np.array([unit, 1.0])
        return ParameterFit(params, None, -float(law.gpd_logpdf(excesses, *params).sum()))

    def gev_lmoments(self, maxima: Floats) -> ParameterFit:
        """L-moment estimates of the generalised extreme value distribution."""
        centre = float(maxima.mean())
        unit = float(np.abs(maxima - centre).max())
        params = law.gev_from_lmoments(*law.sample_lmoments(np.sort((maxima - centre) / unit)))
        params = params * np.array([unit, unit, 1.0]) + np.array([centre, 0.0, 0.0])
        return ParameterFit(params, None, -float(law.gev_logpdf(maxima, *params).sum()))


scipy_backend = ScipyBackend()


@dataclass(frozen=True)
class RBackend:
    """With R: extRemes, or evd on request; L-moments are extRemes' all the same."""

    source: Literal["extRemes", "evd"] = "extRemes"

    def version(self) -> str:
        """Name and version for `Result.backend`: ``"r: extRemes 2.2.1"``."""
        return f"r: {self.source} {probe_r().packages.get(self.source, '')}".strip()

    def gpd_mle(self, excesses: Floats, twin: ParameterFit | None = None) -> ParameterFit:
        """Maximum likelihood over ξ ≥ −1, started at the twin's estimate.

        `BackendError` if the package finds no maximum, or its standard errors are artefacts.
        """
        return self._mle("fs_fit_gpd", excesses, twin)

    def gev_mle(self, maxima: Floats, twin: ParameterFit | None = None) -> ParameterFit:
        """Maximum likelihood for block maxima; arguments as in `gpd_mle`."""
        return self._mle("fs_fit_gev", maxima, twin)

    def gpd_lmoments(self, excesses: Floats, twin: ParameterFit | None = None) -> ParameterFit:
        """L-moments of excesses by extRemes."""
        return self._lmoments("fs_fit_gpd", excesses)

    def gev_lmoments(self, maxima: Floats, twin: ParameterFit | None = None) -> ParameterFit:
        """L-moments of block maxima by extRemes."""
        return self._lmoments("fs_fit_gev", maxima)

    def _lmoments(self, function: str, values: Floats) -> ParameterFit:
        found: dict[str, Any] = rsession.call(function, values, "lmoments", "extRemes")
        return ParameterFit(np.asarray(found["estimate"], dtype=np.float64), None, float(found["nll"]))

    def _mle(self, function: str, values: Floats, twin: ParameterFit | None) -> ParameterFit:
        start = None if twin is None else twin.params
        found: dict[str, Any] = rsession.call(function, values, "mle", self.source, start=start)
        covariance = np.asarray(found["covariance"], dtype=np.float64)
        nll = float(found["nll"])
        if not np.isfinite(nll) or nll >= 1e9:
            raise BackendError(f"{self.source} found no maximum of the likelihood (negative log-likelihood {nll:g})")
        if found["regular"] and not np.isfinite(covariance).all():
            raise BackendError(f"{self.source}: {found['notes'] or 'no standard errors'}")
        params = np.asarray(found["estimate"], dtype=np.float64)
        return ParameterFit(params, covariance, nll, bool(found["at_boundary"]))


def _kernel(backend: str, method: str) -> Any:
    """The back end: ours, or R's with extRemes; where R is asked for by name and lacks that, evd (no L-moments)."""
    if backend == "scipy" or method == "coles_dixon":
        return scipy_backend
    source: Literal["extRemes", "evd"] = "extRemes"
    if backend == "r" and method == "mle":
        installed = probe_r().packages
        source = "evd" if "evd" in installed and "extRemes" not in installed else source
    chosen = resolve(backend, purpose="extreme value fits", r_packages=[source])
    return scipy_backend if chosen == "scipy" else RBackend(source)


def fit_parameters(family: str, values: Floats, method: str, backend: str | None) -> tuple[ParameterFit, str]:
    """Estimates of a family ("gpd", "gev") by a method, and what computed them; BackendError where R was asked for."""
    backend = current_backend() if backend is None else backend
    kernel = _kernel(backend, method)
    function = f"{family}_{method}"  # SciPy first, which sees where there is no maximum
    fitted: ParameterFit = getattr(scipy_backend, function)(values)
    if kernel is not scipy_backend:
        found = _by_r(kernel, function, values, fitted if method == "mle" else None, required=backend == "r")
        fitted, kernel = (fitted, scipy_backend) if found is None else (found, kernel)
    if fitted.covariance is None:
        covariance = law.jackknife_covariance(values, family)
        fitted = ParameterFit(fitted.params, covariance, fitted.nll, fitted.at_boundary)
    if fitted.at_boundary:
        set_to = "the shape is set to −1 and the end point to the largest value"
        cure = "Report that value, or lower the threshold"
        caution(f"the likelihood has no maximum with ξ > −1: {set_to}. {cure}", DataWarning)
    if not np.isfinite(fitted.nll):
        caution("a value lies beyond the end point of the L-moment fit: its likelihood is 0", DataWarning)
    return fitted, kernel.version()


def _by_r(
    kernel: Any, function: str, values: Floats, twin: ParameterFit | None, *, required: bool
) -> ParameterFit | None:
    """R's fit; None, with a warning, where it fails or is worse than its twin and is not required."""
    who, kept = kernel.version(), "R's fit is returned, as asked" if required else "SciPy's fit is returned"
    try:
        fitted: ParameterFit = getattr(kernel, function)(values, twin)
    except BackendError as error:
        if required:
            raise
        caution(f"R could not fit ({error}); {kept}", DataWarning)
        return None
    off = 0.0 if twin is None else _standard_errors_off(fitted, twin)
    if twin is not None and fitted.nll > twin.nll + _WORSE:
        worse = f"{who} reached a negative log-likelihood of {fitted.nll:.9g}, SciPy {twin.nll:.9g}"
    elif off > _OFF:
        differences = f"standard errors of {who}, by differences of a fixed step,"
        worse = f"{differences} are {100 * off:.0f}% off SciPy's, from the formula"
    else:
        return fitted
    caution(f"{worse}: {kept}", DataWarning)
    return fitted if required else None


def _standard_errors_off(fitted: ParameterFit, twin: ParameterFit) -> float:
    """Largest relative difference of the standard errors; 0 where one of the fits has none."""
    if fitted.covariance is None or twin.covariance is None:
        return 0.0
    ours, theirs = np.diagonal(twin.covariance), np.diagonal(fitted.covariance)
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return 0.0
    return float(np.abs(np.sqrt(theirs / ours) - 1.0).max())
