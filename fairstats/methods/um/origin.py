"""Where a posterior comes from: folds and correlations, or a sampler and its diagnostics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CrossValidation", "Diagnostics", "VarianceRatio"]


@serialisable
@dataclass(frozen=True, eq=False)
class VarianceRatio:
    """r_s = Var[A1] / Var[A0], the method under test over the reference, per group.

    Attributes
    ----------
    metric : str
        The metric that the variances are of, computed per group.
    reference : str
        The reference algorithm A0.
    values : ndarray of float, shape (2, J, 2, G)
        The metric by algorithm (reference, method), half split, half and group; empty where r was given.
    ratio : ndarray of float, shape (G,)
        NaN where a variance is 0.
    low, high : ndarray of float, shape (G,)
        Jackknife interval over the J half splits; NaN where r was given or J is 1.
    confidence_level : float
    """

    metric: str
    reference: str
    values: NDArray[np.float64]
    ratio: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float = 0.95


@serialisable
@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Folds, correlations and effective counts of a K-fold cross-validation.

    Attributes
    ----------
    folds : int
        K.
    fold_cells : ndarray of float, shape (K, G, 4)
        Counts of each fold in the order tp, tn, fp, fn.
    correlation : str
        Strategy.
    rho : ndarray of float, shape (G,)
        Correlation; under the range strategies the one that gives the same effective counts.
    factor : ndarray of float, shape (G,)
        Effective counts over summed counts, 1/(1 + (K−1)ρ) or its average.
    clipped : ndarray of float, shape (G,)
        Share of the range of ρ that had to be clipped to [0, 1); 0 or 1 for a single value.
    variance_ratio : VarianceRatio or None
        Under the relative strategies.
    estimator : str
    """

    folds: int
    fold_cells: NDArray[np.float64]
    correlation: str
    rho: NDArray[np.float64]
    factor: NDArray[np.float64]
    clipped: NDArray[np.float64]
    variance_ratio: VarianceRatio | None = None
    estimator: str = ""

    def to_rows(self, groups: tuple[str, ...]) -> list[dict[str, Any]]:
        """One row per group: correlation, factor, variance ratio with its interval."""
        ratio = self.variance_ratio
        return [
            {
                "group": group,
                "correlation": self.correlation,
                "rho": float(self.rho[g]),
                "factor": float(self.factor[g]),
                "clipped": float(self.clipped[g]),
                "variance_ratio": float(ratio.ratio[g]) if ratio else float("nan"),
                "ratio_low": float(ratio.low[g]) if ratio else float("nan"),
                "ratio_high": float(ratio.high[g]) if ratio else float("nan"),
            }
            for g, group in enumerate(groups)
        ]


@serialisable
@dataclass(frozen=True)
class Diagnostics:
    """Convergence of a sampler.

    Attributes
    ----------
    rhat : float
        Largest potential scale reduction over the parameters.
    ess : float
        Smallest bulk effective sample size.
    divergences : int
    chains, draws : int
        Of the sampler, after warm-up.
    sampler : str
    """

    rhat: float
    ess: float
    divergences: int
    chains: int
    draws: int
    sampler: str

    @property
    def converged(self) -> bool:
        """r-hat ≤ 1.01, at least 100 effective draws per chain, no divergence (Vehtari et al. 2021)."""
        return self.rhat <= 1.01 and self.ess >= 100 * self.chains and self.divergences == 0
