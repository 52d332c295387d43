"""Calibration of one group by logistic regression on the logit of its scores.

    logit P(y = 1) = α + β·logit(s),      or with the slope 1:      logit P(y = 1) = α + logit(s),

fitted by statsmodels' `GLM` to counts per score, or to rows with weights w.
A calibrated score has β = 1, and α = 0 in the second.

Of rows with weights or clusters the variance is that of the jackknife over the N sampling units u,
rows or clusters, whose coefficients are found by one step of Newton: with x the regressors, p the
fitted risks, s_u = Σ w·x·(y − p) and H_u = Σ w·p·(1 − p)·x·xᵀ over the rows of a unit,

    d_u = (H − H_u)⁻¹·s_u,      Var = (N − 1)/N·Σ d_u²,      H = Σ H_u.

Without H_u in the brackets and with N/(N − 1) it is the sandwich of R's `survey::svyglm`, which is
too small where few units have much weight. Degrees of freedom of Student's t: the smaller of
Kish's number of units less the coefficients, and (Σ d²)²/Σ d⁴, the number of units that the
variance rests on.

A group beside all rows, its own among them: with d_u of the group's regression and D_u of that of all
rows, the difference of the coefficients moves by d_u − D_u of a unit of the group and by D_u of any
other, and has by the jackknife within groups, whose sizes are fixed,

    Var = Σ_g (N_g − 1)/N_g·Σ_u (t_u − t̄_g)²,      t_u = d_u − D_u in the group, D_u elsewhere.

The bias of the estimate is, to the first order, with V its covariance matrix and w the weights,

    b = −½·H⁻¹·Σ w·p·(1 − p)·(1 − 2p)·(xᵀ·V·x)·x                  (Cox and Snell)

which nobody takes away from one group's coefficient; of a sum over strata it is taken away as far
as one regression of all their rows would not have it.

References: Cox (1958), Two further applications of a model for binary regression, Biometrika 45;
Cox, Snell (1968), A general definition of residuals, JRSS B 30, 248–275;
Bell, McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage
samples, Survey Methodology 28, 169–181.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from fairstats.ground.checks import Floats

_MOST_STEPS = 100
#: A slope or intercept beyond this separates the labels: there is no finite estimate.
_LARGEST = 50.0
#: Share of the determinant of the information that must be left without any unit.
_LEAST_INFORMATION = 1e-9


@dataclass(frozen=True)
class Coefficient:
    """An estimate with its standard error, NaN where the labels are separated.

    `df`: degrees of freedom of Student's t; infinite for normal limits; `bias`: of the estimate, to
    the first order; `units`, `steps`: of rows in clusters, these in ascending order, and what the
    estimate moves by without each.
    """

    estimate: float
    std_error: float
    df: float = math.inf
    bias: float = 0.0
    units: NDArray[np.intp] | None = field(default=None, compare=False, repr=False)
    steps: Floats | None = field(default=None, compare=False, repr=False)


#: What a regression does not answer.
_NOTHING = Coefficient(estimate=math.nan, std_error=math.nan)


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of one group; arrays of shape (k,).

    `scores`: in (0, 1); `labels`: 0 or 1; `weights`: 0 or above; `unit`: the cluster of each, None
    where rows are independent.
    """

    scores: Floats
    labels: Floats
    weights: Floats
    unit: NDArray[np.intp] | None = None


@dataclass(frozen=True, eq=False)
class RowsOfAll:
    """Rows of all groups; arrays of shape (k,).

    As `WeightedRows`, with the `group` of each, and the `number` of rows that each stands for, which
    are units of their own.
    """

    scores: Floats
    labels: Floats
    weights: Floats
    group: NDArray[np.intp]
    number: Floats
    unit: NDArray[np.intp] | None = None


def slope_beside_all(rows: RowsOfAll, group: int) -> Coefficient:
    """β of a group less that of all rows."""
    design = np.column_stack([np.ones(rows.scores.size), logit(rows.scores)])
    return _beside_all(design, np.zeros(rows.scores.size), rows, group)


def intercept_beside_all(rows: RowsOfAll, group: int) -> Coefficient:
    """α with the slope 1 of a group, less that of all rows."""
    return _beside_all(np.ones((rows.scores.size, 1)), logit(rows.scores), rows, group)


def _beside_all(design: Floats, offset: Floats, rows: RowsOfAll, group: int) -> Coefficient:
    """The difference of the last coefficients."""
    used = rows.weights > 0
    unit = np.arange(used.size) if rows.unit is None else rows.unit
    _, first_rows, units = np.unique(unit[used], return_index=True, return_inverse=True)
    group_of_unit = rows.group[used][first_rows]
    number = rows.number[used][first_rows]
    own = rows.group == group
    estimates = []
    moved = np.zeros(first_rows.size)
    for chosen, sign in ((own & used, 1.0), (used, -1.0)):
        weights = rows.weights[chosen] / rows.weights[chosen].mean()
        counted = weights * rows.number[chosen]
        fitted = _fit_model(rows.labels[chosen], design[chosen], offset[chosen], counted)
        if fitted is None:
            return _NOTHING
        # every unit of all rows has a place: those that this regression has not move nothing
        places = units[chosen[used]]
        steps = _steps_of_units(
            design[chosen],
            weights,
            rows.labels[chosen],
            expit(design[chosen] @ fitted.params + offset[chosen]),
            places,
            number,
        )
        if steps is None:
            return _NOTHING
        estimates.append(float(fitted.params[-1]))
        moved += sign * steps
    variance = 0.0
    squares_of_variance = 0.0
    for each in np.unique(group_of_unit).tolist():
        members = group_of_unit == each
        count = float(number[members].sum())
        centred = moved[members] - float(number[members] @ moved[members]) / count
        terms = (count - 1) / count * centred**2
        variance += float(number[members] @ terms)
        squares_of_variance += float(number[members] @ terms**2)
    if not variance > 0:
        return _NOTHING
    unit_weights = np.bincount(units, rows.weights[used])[group_of_unit == group]
    of_group = number[group_of_unit == group]
    effective = float(of_group @ unit_weights) ** 2 / float(of_group @ unit_weights**2)
    return Coefficient(
        estimate=estimates[0] - estimates[1],
        std_error=math.sqrt(variance),
        df=max(min(effective - design.shape[1], variance**2 / squares_of_variance), 1.0),
        units=unit[used][first_rows],
        steps=moved,
    )


def _steps_of_units(
    regressors: Floats,
    weights: Floats,
    labels: Floats,
    risks: Floats,
    units: NDArray[np.intp],
    number: Floats,
) -> Floats | None:
    """What the last coefficient moves by without each unit, 0 of units without rows; `number` of
    units that each stands for, shape (N,). None where too little information is left.
    """
    n_units = number.size
    n_columns = regressors.shape[1]
    of_rows = (weights * (labels - risks))[:, None] * regressors
    in_rows = weights * risks * (1 - risks)
    scores = np.empty((n_units, n_columns))
    information = np.empty((n_units, n_columns, n_columns))
    for row in range(n_columns):
        scores[:, row] = np.bincount(units, of_rows[:, row], n_units)
        for column in range(n_columns):
            products = in_rows * regressors[:, row] * regressors[:, column]
            information[:, row, column] = np.bincount(units, products, n_units)
    total = (number[:, None, None] * information).sum(axis=0)
    left_over = total - information
    shares_left = np.linalg.det(left_over) / np.linalg.det(total)
    if shares_left.min() < _LEAST_INFORMATION:
        return None
    steps = np.linalg.solve(left_over, scores[:, :, None])[:, :, 0]
    return np.asarray(steps[:, -1])


def calibration_slope(scores: Floats, negatives: Any, positives: Any) -> Coefficient:
    """β, from rows of both labels per score in (0, 1)."""
    design = np.column_stack([np.ones(scores.size), logit(scores)])
    return _fit(design, np.zeros(scores.size), negatives, positives)


def calibration_intercept(scores: Floats, negatives: Any, positives: Any) -> Coefficient:
    """α with the slope 1, from rows of both labels per score in (0, 1)."""
    return _fit(np.ones((scores.size, 1)), logit(scores), negatives, positives)


def weighted_slope(rows: WeightedRows) -> Coefficient:
    """β of rows with weights or clusters."""
    design = np.column_stack([np.ones(rows.scores.size), logit(rows.scores)])
    return _fit_weighted(design, np.zeros(rows.scores.size), rows)


def weighted_intercept(rows: WeightedRows) -> Coefficient:
    """α with the slope 1, of rows with weights or clusters."""
    return _fit_weighted(np.ones((rows.scores.size, 1)), logit(rows.scores), rows)


def _fit(design: Floats, offset: Floats, negatives: Any, positives: Any) -> Coefficient:
    """The last coefficient."""
    rows = np.column_stack([positives, negatives]).astype(np.float64)
    used = rows.sum(axis=1) > 0
    fitted = _fit_model(rows[used], design[used], offset[used])
    if fitted is None:
        return _NOTHING
    regressors = design[used]
    risks = expit(regressors @ fitted.params + offset[used])
    covariance = np.asarray(fitted.cov_params())
    return Coefficient(
        estimate=float(fitted.params[-1]),
        std_error=float(fitted.bse[-1]),
        bias=_bias(regressors, rows[used].sum(axis=1), risks, covariance),
    )


def _bias(regressors: Floats, weights: Floats, risks: Floats, covariance: Floats) -> float:
    """B of the last coefficient."""
    in_rows = weights * risks * (1 - risks)
    information = regressors.T @ (in_rows[:, None] * regressors)
    spread = ((regressors @ covariance) * regressors).sum(axis=1)
    curvature = (in_rows * (1 - 2 * risks) * spread) @ regressors
    return float(-np.linalg.solve(information, curvature)[-1] / 2)


def _fit_weighted(design: Floats, offset: Floats, rows: WeightedRows) -> Coefficient:
    """The last coefficient, with the standard error of the jackknife."""
    used = rows.weights > 0
    if not used.any():
        return _NOTHING
    regressors = design[used]
    # their scale changes nothing but the digits of the fit
    weights = rows.weights[used] / rows.weights[used].mean()
    labels = rows.labels[used]
    fitted = _fit_model(labels, regressors, offset[used], weights)
    if fitted is None:
        return _NOTHING
    units = unit = np.arange(labels.size)
    if rows.unit is not None:
        units, unit = np.unique(rows.unit[used], return_inverse=True)
    unit_weights = np.bincount(unit, weights)
    n_units = unit_weights.size
    risks = expit(regressors @ fitted.params + offset[used])
    of_rows = (weights * (labels - risks))[:, None] * regressors
    in_rows = weights * risks * (1 - risks)
    n_columns = regressors.shape[1]
    scores = np.empty((n_units, n_columns))
    information = np.empty((n_units, n_columns, n_columns))
    for row in range(n_columns):
        scores[:, row] = np.bincount(unit, of_rows[:, row], n_units)
        for column in range(n_columns):
            products = in_rows * regressors[:, row] * regressors[:, column]
            information[:, row, column] = np.bincount(unit, products, n_units)
    total = information.sum(axis=0)
    left_over = total - information
    shares_left = np.linalg.det(left_over) / np.linalg.det(total)
    if shares_left.min() < _LEAST_INFORMATION:
        return _NOTHING
    steps_of_all = np.linalg.solve(left_over, scores[:, :, None])[:, :, 0]
    steps = steps_of_all[:, -1]
    effective_units = float(unit_weights.sum()) ** 2 / float(unit_weights @ unit_weights)
    squares = steps**2
    if not squares.any():
        return _NOTHING
    units_of_variance = float(squares.sum()) ** 2 / float(squares @ squares)
    return Coefficient(
        estimate=float(fitted.params[-1]),
        std_error=math.sqrt((n_units - 1) / n_units * float(squares.sum())),
        bias=_bias(
            regressors,
            weights,
            risks,
            (n_units - 1) / n_units * (steps_of_all.T @ steps_of_all),
        ),
        df=max(min(effective_units - n_columns, units_of_variance), 1.0),
        units=units,
        steps=steps,
    )


def _fit_model(labels: Floats, design: Floats, offset: Floats, weights: Any = None) -> Any:
    """The fitted regression; None where there is none, or it separates the labels."""
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import ConvergenceWarning, PerfectSeparationWarning

    if np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    model = sm.GLM(
        labels, design, family=sm.families.Binomial(), offset=offset, freq_weights=weights
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # what these warn of is answered: no coefficient
        warnings.simplefilter("ignore", PerfectSeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = model.fit(maxiter=_MOST_STEPS, tol=1e-12)
    is_separated = np.abs(fitted.params).max() > _LARGEST
    if is_separated or not fitted.converged or not np.isfinite(fitted.bse[-1]):
        return None
    return fitted
