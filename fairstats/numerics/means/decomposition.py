"""A gap between two groups, split by the regression of one of them (Oaxaca 1973, Blinder 1973).

With m(x) the mean of y given circumstances x in the reference, by a linear or logistic regression of
its rows, and Ē_g, Ē_r means over the group's and the reference's rows,

    A = Ē_g y,      B = Ē_g m(x),      C = Ē_r y = Ē_r m(x),

the gap A − C is the sum of what the circumstances explain, B − C, and of the rest, A − B. B is the
standardised value (g-formula): the reference's regression at the group's circumstances. Where x has
an indicator for every stratum, B is the reference's rates at the group's case mix (Kitagawa 1955).

Every value is linear in the rows up to smaller terms. With weights w, residuals e = y − m, working
variances v = dm/dη, H = Σ_r w v x xᵀ and D = Ē_g v x,

    A:  w(y − A)/W_g of the group's rows,      C:  w(y − C)/W_r of the reference's,
    B:  w(m − B)/W_g of the group's rows,      w e DᵀH⁻¹x/(1 − h) of the reference's,

h = w v xᵀH⁻¹x (HC3: MacKinnon & White 1985). The covariance of A, B, C is the sum of their products,
over clusters those of the sums in each. So it holds whatever the law of y given x, and counts that
circumstances are drawn, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.progress import each_of
from fairstats.numerics.means.resampling import Draws, Units

Regression = Literal["linear", "logistic"]
#: A direction of the circumstances with less of their spread than this share is none.
_NO_SPREAD = 1e-9
#: Shares by the regression nearer to 0 or 1 than this have no finite logit.
_SEPARATED = 1e-8


@dataclass(frozen=True, eq=False)
class GroupRows:
    """Rows of one group.

    Attributes
    ----------
    y : ndarray of float, shape (n,)
        The outcome.
    circumstances : ndarray of float, shape (n, p)
        Without a column of ones.
    weight : ndarray of float, shape (n,)
    unit : ndarray of int, shape (n,)
        Sampling unit of each row.
    """

    y: Floats
    circumstances: Floats
    weight: Floats
    unit: NDArray[np.int64]

    @property
    def effective_units(self) -> float:
        """(Σd)²/Σd² of the weights d of the units."""
        totals = np.bincount(np.unique(self.unit, return_inverse=True)[1], weights=self.weight)
        return float(totals.sum() ** 2 / (totals**2).sum())

    @classmethod
    def together(cls, groups: Sequence[GroupRows]) -> GroupRows:
        """The rows of several groups."""
        return cls(
            y=np.concatenate([rows.y for rows in groups]),
            circumstances=np.concatenate([rows.circumstances for rows in groups]),
            weight=np.concatenate([rows.weight for rows in groups]),
            unit=np.concatenate([rows.unit for rows in groups]),
        )

    def resample(self, rng: np.random.Generator) -> GroupRows:
        """As many units, drawn with replacement; a unit that is drawn twice is two."""
        units = Units.of_rows(np.arange(self.y.size), np.unique(self.unit, return_inverse=True)[1])
        drawn = rng.integers(0, units.size, units.size)
        rows = units.take(drawn)
        lengths = np.diff(units.starts)[drawn]
        return GroupRows(
            y=self.y[rows],
            circumstances=self.circumstances[rows],
            weight=self.weight[rows],
            unit=np.repeat(np.arange(units.size), lengths),
        )


@dataclass(frozen=True, eq=False)
class Split:
    """Values A, B and C, their covariance, and degrees of freedom of each of the three contrasts.

    Attributes
    ----------
    values : ndarray of float, shape (3,)
    covariance : ndarray of float, shape (3, 3)
    degrees_of_freedom : dict
        "gap", "explained", "rest" → Satterthwaite's.
    """

    values: Floats
    covariance: Floats
    degrees_of_freedom: dict[str, float]

    def contrast(self, part: str) -> tuple[float, float]:
        """A part of the gap and its standard error."""
        coefficients = COEFFICIENTS[part]
        variance = float(coefficients @ self.covariance @ coefficients)
        return float(coefficients @ self.values), float(np.sqrt(max(variance, 0.0)))


#: Part of the gap → its coefficients of A, B and C.
COEFFICIENTS = {
    "gap": np.array([1.0, 0.0, -1.0]),
    "explained": np.array([0.0, 1.0, -1.0]),
    "rest": np.array([1.0, -1.0, 0.0]),
}


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions in which the circumstances of the reference vary.

    Attributes
    ----------
    mean, scale : ndarray of float, shape (p,)
        By which circumstances are standardised.
    vectors : ndarray of float, shape (p, q)
        Orthonormal, of standardised circumstances.
    sizes : ndarray of float, shape (q,)
        Standard deviations along them.
    """

    mean: Floats
    scale: Floats
    vectors: Floats
    sizes: Floats

    @classmethod
    def of(cls, circumstances: Floats) -> Directions:
        """Of the rows of the reference, shape (n, p)."""
        mean = circumstances.mean(axis=0)
        spread = np.sqrt(((circumstances - mean) ** 2).mean(axis=0))
        varies = spread > _NO_SPREAD * np.maximum(np.abs(mean), 1e-300)
        scale = np.where(varies, spread, 1.0)
        standardised = np.where(varies, (circumstances - mean) / scale, 0.0)
        _, sizes, vectors = np.linalg.svd(standardised, full_matrices=False)
        has_spread = sizes > _NO_SPREAD * max(float(sizes.max(initial=0.0)), 1e-300)
        return cls(
            mean, scale, vectors[has_spread].T, sizes[has_spread] / np.sqrt(len(circumstances))
        )

    def design(self, circumstances: Floats) -> Floats:
        """A column of ones, and uncorrelated columns of the spread 1, shape (n, 1 + q)."""
        columns = (circumstances - self.mean) / self.scale @ self.vectors / self.sizes
        return np.column_stack([np.ones(len(columns)), columns])

    def reach(self, circumstances: Floats) -> bool:
        """Whether all rows are combinations of those of the reference.

        Others have a value that none of its rows has, as a department that it is not in.
        """
        standardised = (circumstances - self.mean) / self.scale
        left = standardised - standardised @ self.vectors @ self.vectors.T
        return bool((np.abs(left) <= 1e-6 * (1 + np.abs(standardised))).all())


def split_gap(group: GroupRows, reference: GroupRows, regression: Regression) -> Split | str:
    """A, B, C of a group and its reference, with their covariance; or why there are none."""
    directions = Directions.of(reference.circumstances)
    if not directions.reach(group.circumstances):
        return "has circumstances that no row of the reference has"
    of_group = directions.design(group.circumstances)
    of_reference = directions.design(reference.circumstances)
    coefficients = _fit(reference.y, of_reference, reference.weight, regression)
    if coefficients is None:
        return "the logistic regression of the reference has no finite coefficients"
    expected_group, slope_group = _mean_and_slope(of_group @ coefficients, regression)
    expected, slope = _mean_and_slope(of_reference @ coefficients, regression)

    group_share = group.weight / group.weight.sum()
    reference_share = reference.weight / reference.weight.sum()
    value_group = float(group_share @ group.y)
    value_expected = float(group_share @ expected_group)
    value_reference = float(reference_share @ reference.y)

    information = (of_reference * (reference.weight * slope)[:, None]).T @ of_reference
    inverse = np.linalg.inv(information)
    leverage = reference.weight * slope * ((of_reference @ inverse) * of_reference).sum(axis=1)
    residual = (reference.y - expected) / np.maximum(1 - leverage, 1e-6)
    towards = (group_share * slope_group) @ of_group @ inverse
    influence_group = np.zeros((group.y.size, 3))
    influence_group[:, 0] = group_share * (group.y - value_group)
    influence_group[:, 1] = group_share * (expected_group - value_expected)
    influence_reference = np.zeros((reference.y.size, 3))
    influence_reference[:, 1] = reference.weight * residual * (of_reference @ towards)
    influence_reference[:, 2] = reference_share * (reference.y - value_reference)

    influence = np.concatenate([influence_group, influence_reference])
    units = np.unique(np.concatenate([group.unit, reference.unit]), return_inverse=True)[1]
    sizes = [group.y.size, reference.y.size]
    is_of_group = np.repeat([True, False], sizes)
    sums = np.zeros((units.max() + 1, 3))
    np.add.at(sums, units, influence)
    covariance = sums.T @ sums
    of_each = []
    for side, rows in ((is_of_group, group), (~is_of_group, reference)):
        of_side = np.zeros_like(sums)
        np.add.at(of_side, units[side], influence[side])
        effective = rows.effective_units
        factor = effective / max(effective - 1, 1.0)
        part = of_side.T @ of_side * (factor - 1)
        covariance = covariance + part
        of_each.append((of_side.T @ of_side * factor, effective))
    n_used = of_reference.shape[1]
    degrees = {}
    for part_name, weights in COEFFICIENTS.items():
        variances = [float(weights @ matrix @ weights) for matrix, _ in of_each]
        frees = [max(of_each[0][1] - 1, 1.0), max(of_each[1][1] - n_used, 1.0)]
        whole = sum(variances) ** 2
        parts = sum(v**2 / free for v, free in zip(variances, frees, strict=True))
        degrees[part_name] = whole / parts if parts > 0 else np.inf
    return Split(
        values=np.array([value_group, value_expected, value_reference]),
        covariance=covariance,
        degrees_of_freedom=degrees,
    )


def draw_splits(
    split: Split,
    group: GroupRows,
    reference: GroupRows,
    regression: Regression,
    n_resamples: int,
    rng: np.random.Generator,
) -> dict[str, Draws]:
    """Draws of every part of a gap, with the variances of all; NaN where there is no regression."""
    values = {part: np.full(n_resamples, np.nan) for part in COEFFICIENTS}
    variances = {part: np.full(n_resamples, np.nan) for part in COEFFICIENTS}
    for draw in each_of(range(n_resamples), "bootstrap of a decomposition"):
        group_rows = group.resample(rng)
        other = reference.resample(rng)
        # units of both are different units
        other = replace(other, unit=other.unit + group_rows.unit.max() + 1)
        again = split_gap(group_rows, other, regression)
        if isinstance(again, str):
            continue
        for part in COEFFICIENTS:
            value, std_error = again.contrast(part)
            if std_error > 0:
                values[part][draw] = value
                variances[part][draw] = std_error**2
    draws = {}
    for part in COEFFICIENTS:
        value, std_error = split.contrast(part)
        draws[part] = Draws(
            value=value,
            variance=std_error**2,
            values=values[part],
            variances=variances[part],
            changes=np.zeros(0),
        )
    return draws


def _mean_and_slope(linear: Floats, regression: Regression) -> tuple[Floats, Floats]:
    """M and dm/dη at the linear predictor η."""
    if regression == "linear":
        return linear, np.ones_like(linear)
    share = scipy.special.expit(linear)
    return share, share * (1 - share)


def _fit(y: Floats, design: Floats, weight: Floats, regression: Regression) -> Floats | None:
    """Coefficients: by weighted least squares, or of a logistic regression by statsmodels.

    None where the latter has none that are finite.
    """
    if regression == "linear":
        # a bootstrap has thousands of these, and statsmodels answers in milliseconds
        root = np.sqrt(weight)
        return np.asarray(np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0])
    import statsmodels.api as sm

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(y, design, family=sm.families.Binomial(), freq_weights=weight)
        try:
            fit = model.fit(tol=1e-13, maxiter=200)
        except (np.linalg.LinAlgError, ValueError):
            return None
    coefficients = np.asarray(fit.params, dtype=np.float64)
    share = scipy.special.expit(design @ coefficients)
    if not (fit.converged and share.min() > _SEPARATED and share.max() < 1 - _SEPARATED):
        return None
    return coefficients
