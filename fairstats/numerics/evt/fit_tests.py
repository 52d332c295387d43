"""Anderson–Darling and Cramér–von Mises tests of a fitted tail, with p-values from a parametric bootstrap.

The parameters are estimated from the same data, so that tables for known parameters do not apply
(Choulakian & Stephens 2001): every simulated sample is fitted, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.randomness import as_generator
from fairstats.ground.results import Result, check_choice
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.bootstrap import ExcessBatch, fit_excess_batch, fit_maxima_batch
from fairstats.numerics.evt.checks import as_count
from fairstats.numerics.evt.distributions import exponential_scale, random_excesses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.numerics.evt.result import EvtFit

    Floats = NDArray[np.float64]

__all__ = ["STATISTICS", "GoodnessOfFit", "excess_pvalue", "goodness_of_fit"]

#: Survival probabilities below e^−36 are rounding; at ξ = −1 the largest value has none.
_FARTHEST = 36.0


@serialisable
@dataclass(frozen=True)
class GoodnessOfFit(Result):
    """Test that a sample comes from the fitted model.

    Attributes
    ----------
    statistic_name : {"anderson_darling", "cramer_von_mises"}
    statistic : float
        A² or W².
    pvalue : float
        (1 + #{simulated ≥ observed})/(B + 1).
    n_exceedances, n_resamples : int
    seed : int or None
    model, backend : str
    """

    title: ClassVar[str] = "Goodness of fit"

    statistic_name: str
    statistic: float
    pvalue: float
    n_exceedances: int
    n_resamples: int
    seed: int | None
    model: str
    backend: str

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        return [
            {
                "metric": f"{self.model} fit",
                "statistic": self.statistic,
                "pvalue": self.pvalue,
                "n": self.n_exceedances,
                "method": f"{self.statistic_name}, parametric bootstrap",
                "backend": self.backend,
            }
        ]

    def notes(self) -> list[str]:
        """What a large p-value means."""
        return [
            f"{self.n_resamples} simulated samples, each fitted. A large p-value is no proof of the model, a "
            "small one speaks against it."
        ]


def anderson_darling(log_cdf: Floats, log_sf: Floats) -> Floats:
    """A² = −n − mean of (2i − 1)(log F(x₍ᵢ₎) + log(1 − F(x₍ₙ₊₁₋ᵢ₎))), samples ascending on the last axis."""
    n = log_cdf.shape[-1]
    weight = (2.0 * np.arange(1, n + 1) - 1.0) / n
    return np.asarray(-n - (weight * (log_cdf + log_sf[..., ::-1])).sum(-1))


def cramer_von_mises(log_cdf: Floats, log_sf: Floats) -> Floats:
    """W² = 1/(12n) + Σ(F(x₍ᵢ₎) − (2i − 1)/(2n))²; samples ascending along the last axis."""
    n = log_cdf.shape[-1]
    middle = (2.0 * np.arange(1, n + 1) - 1.0) / (2.0 * n)
    return np.asarray(1.0 / (12.0 * n) + ((np.exp(log_cdf) - middle) ** 2).sum(-1))


STATISTICS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "anderson_darling": anderson_darling,
    "cramer_von_mises": cramer_von_mises,
}


def goodness_of_fit(
    fit: EvtFit, statistic: str = "anderson_darling", *, n_resamples: int = 999, rng: Any = None
) -> GoodnessOfFit:
    """Test that the sample of a fit comes from its model.

    Parameters
    ----------
    fit : EvtFit
    statistic : {"anderson_darling", "cramer_von_mises"}
        A² looks more at the tails than W².
    n_resamples : int
        Simulated samples, at least 19.
    rng : None, int or Generator

    Returns
    -------
    GoodnessOfFit

    References
    ----------
    Choulakian, V. and Stephens, M. A. (2001). Goodness-of-fit tests for the generalized Pareto distribution.
    Technometrics 43, 478–484.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> from fairstats.numerics.evt.fit_tests import goodness_of_fit
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> goodness_of_fit(fit_gpd(x, threshold=2.0, backend="scipy"), rng=1).pvalue > 0.05
    True
    """
    check_choice("statistic", statistic, tuple(STATISTICS))
    replicates = as_count("n_resamples", n_resamples, least=19)
    generator, seed = as_generator(rng)
    if fit.model == "gev":
        observed, simulated = _maxima_statistics(fit, statistic, replicates, generator)
        simulated = simulated[~np.isnan(simulated)]
        pvalue = (1.0 + float((simulated >= observed).sum())) / (simulated.size + 1.0)
    else:
        scale, shape = fit.excess_params
        excesses = fit.sample - fit.origin
        observed, pvalue = excess_pvalue(
            excesses, float(scale), float(shape), statistic, replicates, generator, fit.method
        )
    return GoodnessOfFit(
        statistic, observed, pvalue, fit.n_exceedances, replicates, seed, fit.model, fit.backend
    )


def excess_pvalue(
    excesses: Floats,
    scale: float,
    shape: float,
    statistic: str,
    replicates: int,
    rng: np.random.Generator,
    method: str = "mle",
) -> tuple[float, float]:
    """Statistic and p-value of ascending excesses with the parameters fitted to them."""
    measure = STATISTICS[statistic]
    observed = float(measure(*_excess_logs(excesses[None, :], np.array([scale]), np.array([shape])))[0])
    simulated = random_excesses(rng, (replicates, excesses.size), scale, shape)
    simulated.sort(axis=1)
    batch = ExcessBatch(simulated, np.full(replicates, float(excesses.size)), np.zeros(replicates))
    fitted = fit_excess_batch(batch, method)
    values = measure(*_excess_logs(simulated, *fitted))
    return observed, (1.0 + float((values >= observed).sum())) / (replicates + 1.0)


def _excess_logs(excesses: Floats, scale: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """Log distribution and log survival function of each row under its own parameters."""
    e = np.minimum(exponential_scale(excesses / scale[:, None], shape[:, None]), _FARTHEST)
    e = np.maximum(e, 1e-300)
    return np.log(-np.expm1(-e)), -e


def _maxima_statistics(
    fit: EvtFit, statistic: str, replicates: int, rng: np.random.Generator
) -> tuple[float, Floats]:
    measure = STATISTICS[statistic]
    params = tuple(np.array([value]) for value in fit.params.values())
    observed = float(measure(*_maxima_logs(fit.sample[None, :], *params))[0])
    simulated = np.sort(fit.quantile(rng.random((replicates, fit.n_exceedances))), axis=1)
    return observed, measure(*_maxima_logs(simulated, *fit_maxima_batch(simulated, fit.method)))


def _maxima_logs(maxima: Floats, location: Floats, scale: Floats, shape: Floats) -> tuple[Floats, Floats]:
    z = (maxima - location[:, None]) / scale[:, None]
    e = np.clip(exponential_scale(z, shape[:, None]), -6.5, _FARTHEST)
    log_cdf = -np.exp(-e)
    return log_cdf, np.log(-np.expm1(log_cdf))
