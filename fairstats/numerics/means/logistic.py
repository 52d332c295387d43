"""Calibration of one group by logistic regression on the logit of its scores.

    logit P(y = 1) = α + β·logit(s),      or with the slope 1:      logit P(y = 1) = α + logit(s),

fitted by statsmodels' `GLM` to counts per score.
A calibrated score has β = 1, and α = 0 in the second.

Reference: Cox (1958), Two further applications of a model for binary regression, Biometrika 45.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from fairstats.ground.checks import Floats

_MOST_STEPS = 100
#: A slope or intercept beyond this separates the labels: there is no finite estimate.
_LARGEST = 50.0


@dataclass(frozen=True)
class Coefficient:
    """An estimate with its standard error, NaN where the labels are separated."""

    estimate: float
    std_error: float


def calibration_slope(scores: Floats, negatives: Any, positives: Any) -> Coefficient:
    """β, from rows of both labels per score in (0, 1)."""
    design = np.column_stack([np.ones(scores.size), logit(scores)])
    return _fit(design, np.zeros(scores.size), negatives, positives)


def calibration_intercept(scores: Floats, negatives: Any, positives: Any) -> Coefficient:
    """α with the slope 1, from rows of both labels per score in (0, 1)."""
    return _fit(np.ones((scores.size, 1)), logit(scores), negatives, positives)


def _fit(design: Floats, offset: Floats, negatives: Any, positives: Any) -> Coefficient:
    """The last coefficient."""
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import ConvergenceWarning, PerfectSeparationWarning

    rows = np.column_stack([positives, negatives]).astype(np.float64)
    used = rows.sum(axis=1) > 0
    nothing = Coefficient(estimate=math.nan, std_error=math.nan)
    if np.linalg.matrix_rank(design[used]) < design.shape[1]:
        return nothing
    model = sm.GLM(rows[used], design[used], family=sm.families.Binomial(), offset=offset[used])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # what these warn of is answered: no coefficient
        warnings.simplefilter("ignore", PerfectSeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = model.fit(maxiter=_MOST_STEPS, tol=1e-12)
    is_separated = np.abs(fitted.params).max() > _LARGEST
    if is_separated or not fitted.converged or not np.isfinite(fitted.bse[-1]):
        return nothing
    return Coefficient(estimate=float(fitted.params[-1]), std_error=float(fitted.bse[-1]))
