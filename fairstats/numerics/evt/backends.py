"""Who estimates the parameters: SciPy or R; R's fit must be no worse than its SciPy twin.

Both back ends have the same functions. They get finite arrays of ten unequal values or more
(excesses x − u > 0), standardise them so that the answer is equivariant, and estimate parameters
and covariance; what must not differ (thresholds, ties, regularity, intervals, tests) is decided
outside, once. R must agree to 1e-9 in the negative log-likelihood, 1e-5 standard errors in the
parameters, 1e-3 (ξ > −.3) and 1e-2 (ξ > −.45) in these, 1e-8 in L-moments. The care that R's
packages need (a start at the SciPy twin's estimate, restarts, vetted results) is in ``r/R/evt.R``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy

from fairstats.ground import rsession
from fairstats.ground.backends import current_backend, label_of_r, resolve
from fairstats.ground.errors import BackendError, DataWarning, InputError, caution
from fairstats.ground.rprobe import probe_r
from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.gev import fit_gev_samples
from fairstats.numerics.evt.gpd import fit_gpd_samples
from fairstats.numerics.evt.likelihood import Samples
from fairstats.numerics.evt.tail import ParameterFit

#: An R fit's negative log-likelihood may be higher than its SciPy twin's, and its standard errors
#: off, by so much.
_WORSE_LIKELIHOOD = 1e-6
_STANDARD_ERROR_OFF = 0.05


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
        return ParameterFit.of(
            fit_gpd_samples(Samples.from_excesses(excesses[None, :]), penalised=True)
        )

    def gev_coles_dixon(self, maxima: Floats) -> ParameterFit:
        """Penalised likelihood of the generalised extreme value distribution."""
        return self.gev_mle(maxima, penalised=True)

    def gev_mle(self, maxima: Floats, *, penalised: bool = False) -> ParameterFit:
        """Maximum likelihood of the generalised extreme value distribution.

        Raises InputError where the likelihood has no maximum, so that no back end may return one.
        """
        sample_fits = fit_gev_samples(Samples.from_maxima(maxima[None, :]), penalised=penalised)
        if sample_fits.unbounded[0]:
            reason = "it rises without bound towards heavy tails that start at the smallest value"
            got = f"{maxima.size} values whose likelihood has no maximum: {reason}"
            allowed = "maxima whose likelihood has one: ties at the smallest value may spoil it"
            cure = "method='coles_dixon' or 'lmoments', more blocks, or values that are not rounded"
            raise InputError("block_maxima", got=got, allowed=allowed, cure=cure)
        return ParameterFit.of(sample_fits)

    def gpd_lmoments(self, excesses: Floats) -> ParameterFit:
        """L-moment estimates of the generalised Pareto distribution."""
        mean_excess = float(excesses.mean())
        l1, l2, _ = law.sample_lmoments(np.sort(excesses / mean_excess))
        params = law.gpd_from_lmoments(l1, l2) * np.array([mean_excess, 1.0])
        return ParameterFit(params, None, -float(law.gpd_logpdf(excesses, *params).sum()))

    def gev_lmoments(self, maxima: Floats) -> ParameterFit:
        """L-moment estimates of the generalised extreme value distribution."""
        mean_maximum = float(maxima.mean())
        largest_distance = float(np.abs(maxima - mean_maximum).max())
        params = law.gev_from_lmoments(
            *law.sample_lmoments(np.sort((maxima - mean_maximum) / largest_distance))
        )
        params = params * np.array([largest_distance, largest_distance, 1.0]) + np.array(
            [mean_maximum, 0.0, 0.0]
        )
        return ParameterFit(params, None, -float(law.gev_logpdf(maxima, *params).sum()))


scipy_backend = ScipyBackend()


@dataclass(frozen=True)
class RBackend:
    """With R: extRemes, or evd on request; L-moments are extRemes' all the same."""

    source: Literal["extRemes", "evd"] = "extRemes"

    def version(self) -> str:
        """Name and version for `Result.backend`: ``"r: extRemes 2.2.1"``."""
        return label_of_r(self.source)

    def gpd_mle(self, excesses: Floats, twin: ParameterFit | None = None) -> ParameterFit:
        """Maximum likelihood over ξ ≥ −1, started at the twin's estimate.

        `BackendError` if the package finds no maximum, or its standard errors are artefacts.
        """
        return self._fit_mle("gpd_in_numbers", 2, excesses, twin)

    def gev_mle(self, maxima: Floats, twin: ParameterFit | None = None) -> ParameterFit:
        """Maximum likelihood for block maxima; arguments as in `gpd_mle`."""
        return self._fit_mle("gev_in_numbers", 3, maxima, twin)

    def gpd_lmoments(self, excesses: Floats, twin: ParameterFit | None = None) -> ParameterFit:
        """L-moments of excesses by extRemes."""
        return self._fit_lmoments("fs_fit_gpd", excesses)

    def gev_lmoments(self, maxima: Floats, twin: ParameterFit | None = None) -> ParameterFit:
        """L-moments of block maxima by extRemes."""
        return self._fit_lmoments("fs_fit_gev", maxima)

    def _fit_lmoments(self, function: str, values: Floats) -> ParameterFit:
        r_result: dict[str, Any] = rsession.call(function, values, "lmoments", "extRemes")
        return ParameterFit(
            np.asarray(r_result["estimate"], dtype=np.float64), None, float(r_result["nll"])
        )

    def _fit_mle(
        self,
        function: str,
        n_params: int,
        values: Floats,
        twin: ParameterFit | None,
    ) -> ParameterFit:
        """Maximum likelihood by an R package, from the twin's estimate, with its covariance."""
        start_params = None if twin is None else twin.params
        r_result: dict[str, Any] = rsession.call(function, values, self.source, start_params)
        numbers = np.asarray(r_result["numbers"], dtype=np.float64)
        params = numbers[:n_params]
        covariance = numbers[n_params:-3].reshape(n_params, n_params)
        nll, regular, at_boundary = numbers[-3:].tolist()
        if not np.isfinite(nll) or nll >= 1e9:
            raise BackendError(
                f"{self.source} found no maximum of the likelihood (negative log-likelihood"
                f" {nll:g})"
            )
        if regular and not np.isfinite(covariance).all():
            raise BackendError(f"{self.source}: {r_result['notes'] or 'no standard errors'}")
        return ParameterFit(
            params=params, covariance=covariance, nll=nll, at_boundary=bool(at_boundary)
        )


def _choose_backend(backend: str, method: str) -> Any:
    """The back end: ours, or R's with extRemes.

    Where R is asked for by name and lacks that, evd (no L-moments).
    """
    if backend == "scipy" or method == "coles_dixon":
        return scipy_backend
    source: Literal["extRemes", "evd"] = "extRemes"
    if backend == "r" and method == "mle":
        installed = probe_r().packages
        if "evd" in installed and "extRemes" not in installed:
            source = "evd"
    chosen_backend = resolve(backend, purpose="extreme value fits", r_packages=[source])
    if chosen_backend == "scipy":
        return scipy_backend
    return RBackend(source)


def fit_parameters(
    family: str,
    values: Floats,
    method: str,
    backend: str | None,
) -> tuple[ParameterFit, str]:
    """Estimates of a family ("gpd", "gev") by a method, and what computed them.

    BackendError where R was asked for.
    """
    if backend is None:
        backend = current_backend()
    fitting_backend = _choose_backend(backend, method)
    function = f"{family}_{method}"  # SciPy first, which sees where there is no maximum
    fitted: ParameterFit = getattr(scipy_backend, function)(values)
    if fitting_backend is not scipy_backend:
        r_fit = _fit_by_r(
            fitting_backend,
            function,
            values,
            fitted if method == "mle" else None,
            required=backend == "r",
        )
        if r_fit is None:
            fitting_backend = scipy_backend
        else:
            fitted = r_fit
    if fitted.covariance is None:
        covariance = law.jackknife_covariance(values, family)
        fitted = ParameterFit(
            params=fitted.params,
            covariance=covariance,
            nll=fitted.nll,
            at_boundary=fitted.at_boundary,
        )
    if fitted.at_boundary:
        boundary_in_words = "the shape is set to −1 and the end point to the largest value"
        cure = "Report that value, or lower the threshold"
        caution(
            f"the likelihood has no maximum with ξ > −1: {boundary_in_words}. {cure}", DataWarning
        )
    if not np.isfinite(fitted.nll):
        caution(
            "a value lies beyond the end point of the L-moment fit: its likelihood is 0",
            DataWarning,
        )
    return fitted, fitting_backend.version()


def _fit_by_r(
    kernel: Any,
    function: str,
    values: Floats,
    twin: ParameterFit | None,
    *,
    required: bool,
) -> ParameterFit | None:
    """R's fit; None, with a warning, where it fails or is worse than its twin and is not
    required.
    """
    r_version = kernel.version()
    if required:
        outcome = "R's fit is returned, as asked"
    else:
        outcome = "SciPy's fit is returned"
    try:
        fitted: ParameterFit = getattr(kernel, function)(values, twin)
    except BackendError as error:
        if required:
            raise
        caution(f"R could not fit ({error}); {outcome}", DataWarning)
        return None
    if twin is None:
        largest_error = 0.0
    else:
        largest_error = _standard_errors_off(fitted, twin)
    if twin is not None and fitted.nll > twin.nll + _WORSE_LIKELIHOOD:
        complaint = f"{r_version} reached a negative log-likelihood of {fitted.nll:.9g}, SciPy {twin.nll:.9g}"
    elif largest_error > _STANDARD_ERROR_OFF:
        errors_in_words = f"standard errors of {r_version}, by differences of a fixed step,"
        complaint = (
            f"{errors_in_words} are {100 * largest_error:.0f}% off SciPy's, from the formula"
        )
    else:
        return fitted
    caution(f"{complaint}: {outcome}", DataWarning)
    return fitted if required else None


def _standard_errors_off(fitted: ParameterFit, twin: ParameterFit) -> float:
    """Largest relative difference of the standard errors; 0 where one of the fits has none."""
    if fitted.covariance is None or twin.covariance is None:
        return 0.0
    scipy_variances = np.diagonal(twin.covariance)
    r_variances = np.diagonal(fitted.covariance)
    if not (np.isfinite(scipy_variances).all() and np.isfinite(r_variances).all()):
        return 0.0
    return float(np.abs(np.sqrt(r_variances / scipy_variances) - 1.0).max())
